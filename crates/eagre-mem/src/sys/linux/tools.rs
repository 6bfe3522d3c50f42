//! Tools that run this process one thread at a time.
//!
//! Under them a thread that stops in a page fault stops all others, the pager too, and no signal gets through: valgrind
//! gives its one lock to the next thread in system calls only, rr lets a thread run until it comes to one.

/// Such a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    /// Besides, it reports each touch of an absent page as an error of the program.
    Valgrind,
    /// The record and replay debugger.
    Rr,
}

/// The tool that runs this process.
pub(crate) fn tool() -> Option<Tool> {
    if on_valgrind() {
        Some(Tool::Valgrind)
    } else if std::env::var_os("RUNNING_UNDER_RR").is_some() {
        Some(Tool::Rr)
    } else {
        None
    }
}

/// `RUNNING_ON_VALGRIND` (valgrind.h): instructions that do nothing on a processor and that valgrind knows for a
/// question.
fn on_valgrind() -> bool {
    const RUNNING_ON_VALGRIND: usize = 0x1001;
    let question = [RUNNING_ON_VALGRIND, 0, 0, 0, 0, 0];
    let mut answer = 0usize;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: four rotations that add up to two whole turns, and an exchange of a register with itself; valgrind reads
    // the array and sets the answer.
    unsafe {
        std::arch::asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            in("rax") question.as_ptr(),
            inout("rdx") answer,
            options(nostack, readonly),
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        std::arch::asm!(
            "ror x12, x12, #3",
            "ror x12, x12, #13",
            "ror x12, x12, #51",
            "ror x12, x12, #61",
            "orr x10, x10, x10",
            in("x4") question.as_ptr(),
            inout("x3") answer,
            options(nostack, readonly),
        );
    }
    // The question is only asked in assembler, which is not there for other processors.
    std::hint::black_box(&question);
    std::mem::take(&mut answer) != 0
}
