//! An allocator that refuses the allocation it is told to, and a loop that tells it each one in turn.
//!
//! Allocations are counted in all threads, from when a call under test begins until it returns. The one with the chosen
//! number is refused, or that one and all that follow. So a call is made as often as it allocates, and once more.

#[path = "../../../eagre-mem/tests/common/arguments.rs"]
mod arguments;

use arguments::Arguments;
use std::alloc::{GlobalAlloc, Layout, System};
use std::backtrace::Backtrace;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicUsize, Ordering::SeqCst};

#[global_allocator]
static ALLOCATOR: Refusing = Refusing;

struct Refusing;

/// Whether allocations are counted now.
static ARMED: AtomicBool = AtomicBool::new(false);
/// How many there were since.
static ASKED: AtomicUsize = AtomicUsize::new(0);
/// The numbers of those that are refused.
static FIRST: AtomicUsize = AtomicUsize::new(0);
static END: AtomicUsize = AtomicUsize::new(0);
/// How many were.
static REFUSED: AtomicUsize = AtomicUsize::new(0);
/// Pieces of the heap in use.
static LIVE: AtomicIsize = AtomicIsize::new(0);

thread_local! {
    /// This thread allocates for the test's own purposes.
    static EXEMPT: Cell<bool> = const { Cell::new(false) };
}

fn refuses(size: usize) -> bool {
    if !ARMED.load(SeqCst) || EXEMPT.get() {
        return false;
    }
    let number = ASKED.fetch_add(1, SeqCst);
    let refused = (FIRST.load(SeqCst)..END.load(SeqCst)).contains(&number);
    if refused {
        REFUSED.fetch_add(1, SeqCst);
        EXEMPT.set(true);
        if traced() {
            eprintln!("allocation {number}, of {size} bytes, is refused\n{}", Backtrace::force_capture());
        }
        EXEMPT.set(false);
    }
    refused
}

/// Whether to show who asked for what is refused. What shows it keeps some memory itself, so leaks are not looked for then.
fn traced() -> bool {
    std::env::var_os("EAGRE_TEST_BACKTRACE").is_some()
}

fn counted(place: *mut u8) -> *mut u8 {
    LIVE.fetch_add(isize::from(!place.is_null()), SeqCst);
    place
}

// SAFETY: the system's allocator does it all, or nobody does.
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's contract.
        if refuses(layout.size()) { std::ptr::null_mut() } else { counted(unsafe { System.alloc(layout) }) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's contract.
        if refuses(layout.size()) { std::ptr::null_mut() } else { counted(unsafe { System.alloc_zeroed(layout) }) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's contract.
        if refuses(size) { std::ptr::null_mut() } else { unsafe { System.realloc(place, layout, size) } }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        LIVE.fetch_sub(1, SeqCst);
        // SAFETY: the caller's contract.
        unsafe { System.dealloc(place, layout) }
    }
}

/// One turn of the loop.
pub(crate) struct Attempt(());

impl Attempt {
    /// Makes the call under test.
    pub(crate) fn call<R>(&self, call: impl FnOnce() -> R) -> R {
        ARMED.store(true, SeqCst);
        let result = call();
        ARMED.store(false, SeqCst);
        result
    }

    /// Whether an allocation was refused.
    pub(crate) fn refused(&self) -> bool {
        REFUSED.load(SeqCst) > 0
    }
}

/// Runs `attempt` without refusals, then with each allocation of its call refused in turn, by itself and with all that
/// follow, and looks whether something of the heap stays in use. What is kept for the life of the process must be there
/// after the first run.
pub(crate) fn each_allocation(what: &str, mut attempt: impl FnMut(&Attempt)) {
    for all_that_follow in [false, true] {
        let mut refuse = |first: usize, end: usize| {
            FIRST.store(first, SeqCst);
            END.store(end, SeqCst);
            ASKED.store(0, SeqCst);
            REFUSED.store(0, SeqCst);
            let before = LIVE.load(SeqCst);
            attempt(&Attempt(()));
            LIVE.load(SeqCst) - before
        };
        refuse(0, 0);
        for number in 0.. {
            let which = if all_that_follow { "and all that follow" } else { "alone" };
            let left = refuse(number, if all_that_follow { usize::MAX } else { number + 1 });
            assert!(
                left == 0 || traced(),
                "{what}: {left} pieces of the heap left when allocation {number} is refused {which}"
            );
            if REFUSED.load(SeqCst) == 0 {
                println!("{what}: {number} allocations refused, each {which}");
                break;
            }
        }
    }
}

/// Runs those of the tests that the command line asks for.
pub(crate) fn run(tests: &[(&str, fn())]) {
    let arguments = Arguments::of_this_program();
    let wanted: Vec<_> = tests.iter().filter(|(name, _)| arguments.want(name)).collect();
    arguments.none_is_a_mistake(wanted.len());
    for (name, test) in wanted {
        if arguments.list {
            println!("{name}: test");
            continue;
        }
        eprintln!("test {name}");
        test();
    }
}
