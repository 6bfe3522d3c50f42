//! Invariant 6: a touch outside the window is a programming error: one line that says where and what to do, then the
//! default action. And what is not ours goes on as if we were not there.

use crate::common::child::{self, Case, Outcome};
use crate::common::{SMALL, small};
use eagre_mem::probe::Pair;
use eagre_mem::stream::{OnFailure, Reader, Writer};
use std::ptr;

pub(crate) const CASES: &[Case] = &[
    ("write_behind", write_behind),
    ("read_behind", read_behind),
    ("poison_read", poison_read),
    ("poison_write", poison_write),
    ("null", null),
    ("overflow", overflow),
    ("handler", handler),
    ("handler_after", handler_after),
    ("forked", forked),
];

#[track_caller]
fn died(outcome: &Outcome) {
    assert!(matches!(outcome.signal, Some(libc::SIGSEGV | libc::SIGBUS)), "{outcome:?}");
}

#[track_caller]
fn one_line(outcome: &Outcome, words: &[&str]) {
    died(outcome);
    let messages = outcome.messages();
    assert_eq!(messages.len(), 1, "{outcome:?}");
    words.iter().for_each(|word| assert!(messages[0].contains(word), "{word} is not in: {}", messages[0]));
}

each_pointer_pair! {
    fn invariant_6_writing_behind_the_window(pair) {
        let outcome = child::run("write_behind", pair);
        one_line(&outcome, &["stream tide", "write at offset 17", "bytes 720896 to 851968", "memcpy", "copy_in", "rewrite(L)"]);
    }
    fn invariant_6_reading_behind_the_window(pair) {
        let outcome = child::run("read_behind", pair);
        one_line(&outcome, &["stream tide", "read at offset 17", "outside the window", "lookback(M)"]);
    }
    fn invariant_6_touching_poison(pair) {
        for (case, word) in [("poison_read", "read after it failed"), ("poison_write", "written to after it failed")] {
            one_line(&child::run(case, pair), &["stream tide", word, "on_failure(Drain)"]);
        }
    }
    fn invariant_6_a_foreign_fault_is_not_ours(pair) {
        let outcome = child::run("null", pair);
        assert_eq!(outcome.signal, Some(libc::SIGSEGV));
        assert!(outcome.messages().is_empty(), "{outcome:?}");
    }
    fn invariant_6_a_stack_overflow_is_still_told(pair) {
        let outcome = child::run("overflow", pair);
        assert_eq!(outcome.signal, Some(libc::SIGABRT));
        assert!(outcome.stderr.contains("has overflowed its stack"), "{outcome:?}");
    }
    fn invariant_6_earlier_and_later_handlers_are_called(pair) {
        for case in ["handler", "handler_after"] {
            let outcome = child::run(case, pair);
            assert_eq!(outcome.signal, None, "{outcome:?}");
            assert!(outcome.stderr.contains("the other handler"), "{outcome:?}");
        }
    }
    fn invariant_6_a_forked_child_has_no_stream(pair) {
        let outcome = child::run("forked", pair);
        assert!(outcome.success && outcome.messages().is_empty(), "{outcome:?}");
    }
}

/// Four blocks written by pointer, of which the reader has seen the first two.
fn half_way(pair: Pair, what: OnFailure) -> (Writer, Reader) {
    let (mut writer, mut reader) = small(pair).name("tide").on_failure(what).open().unwrap().split();
    // SAFETY: ascending stores and loads.
    unsafe {
        writer.scope(|to| (0..4 * SMALL).step_by(64).for_each(|at| to.add(at).write(1))).unwrap();
        reader.scope(|from| (0..2 * SMALL).step_by(64).for_each(|at| assert_eq!(from.add(at).read(), 1))).unwrap();
    }
    (writer, reader)
}

fn write_behind(pair: Pair) {
    let (mut writer, mut reader) = half_way(pair, OnFailure::Drain);
    // Far enough for every mover to notice: `map` takes addresses back a few blocks late.
    for at in (4 * SMALL..13 * SMALL).step_by(64) {
        // SAFETY: ascending stores and loads; the reader is two blocks behind.
        unsafe {
            writer.scope(|to| to.add(at).write(1)).unwrap();
            reader.scope(|from| assert_eq!(from.add(at - 2 * SMALL).read(), 1)).unwrap();
        }
    }
    // SAFETY: none: this is the error under test, which ends the process.
    let _ = writer.scope(|to| unsafe { to.add(17).write_volatile(2) });
    panic!("still alive");
}

fn read_behind(pair: Pair) {
    let (mut writer, mut reader) = half_way(pair, OnFailure::Drain);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // SAFETY: ascending stores.
            writer.scope(|to| unsafe { (4 * SMALL..9 * SMALL).step_by(64).for_each(|at| to.add(at).write(1)) })
        });
        // SAFETY: block 4 is there only if block 0 was given back and used again; then the error under test.
        let _ = reader.scope(|from| unsafe {
            from.add(5 * SMALL).read_volatile();
            from.add(17).read_volatile()
        });
        panic!("still alive");
    });
}

fn poison_read(pair: Pair) {
    let (writer, mut reader) = half_way(pair, OnFailure::Poison);
    drop(writer);
    let raw = reader.as_ptr().unwrap().as_ptr();
    // SAFETY: none: this is the error under test.
    unsafe { raw.add(3 * SMALL).read_volatile() };
    panic!("still alive");
}

fn poison_write(pair: Pair) {
    let (mut writer, reader) = half_way(pair, OnFailure::Poison);
    drop(reader);
    let raw = writer.as_mut_ptr().unwrap().as_ptr();
    // SAFETY: none: this is the error under test.
    unsafe { raw.add(4 * SMALL).write_volatile(1) };
    panic!("still alive");
}

fn null(pair: Pair) {
    let _ends = half_way(pair, OnFailure::Drain);
    // SAFETY: none: an ordinary programming error of somebody else.
    unsafe { ptr::without_provenance::<u8>(8).read_volatile() };
    panic!("still alive");
}

fn overflow(pair: Pair) {
    let _ends = half_way(pair, OnFailure::Drain);
    #[allow(unconditional_recursion)]
    fn deeper(depth: u64) -> u64 {
        let pad = std::hint::black_box([depth; 100]);
        deeper(depth + 1) + pad[(depth % 100) as usize]
    }
    std::hint::black_box(deeper(0));
}

extern "C" fn other_handler(_: i32) {
    crate::common::say("the other handler");
    // SAFETY: ends the process.
    unsafe { libc::_exit(0) };
}

fn install_other() {
    // SAFETY: an all-zero sigaction with a handler of the plain signature.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = other_handler as *const () as usize;
        assert_eq!(libc::sigaction(libc::SIGSEGV, &action, ptr::null_mut()), 0);
    }
}

fn handler(pair: Pair) {
    install_other();
    null(pair);
}

/// A handler that came after ours, as Python's faulthandler does: opening and scopes put ours on top again.
fn handler_after(pair: Pair) {
    let (mut writer, mut reader) = half_way(pair, OnFailure::Drain);
    install_other();
    std::thread::scope(|scope| {
        // SAFETY: ascending stores and loads; they fault and must not reach the other handler.
        let write = |to: *mut u8| unsafe { (4 * SMALL..9 * SMALL).step_by(64).for_each(|at| to.add(at).write(1)) };
        scope.spawn(move || writer.scope(write).and_then(|()| writer.finish_at(9 * SMALL as u64)).unwrap());
        // SAFETY: as above.
        reader.scope(|from| unsafe { from.add(8 * SMALL).read() }).unwrap();
    });
    install_other();
    drop(small(pair).open().unwrap());
    // SAFETY: none: an ordinary programming error of somebody else, which ours passes on.
    unsafe { ptr::without_provenance::<u8>(8).read_volatile() };
    panic!("still alive");
}

fn forked(pair: Pair) {
    let (mut writer, _reader) = half_way(pair, OnFailure::Drain);
    let raw = writer.as_mut_ptr().unwrap().as_ptr();
    // SAFETY: the child makes one access and no call; the parent waits for it.
    unsafe {
        let child = libc::fork();
        if child == 0 {
            // Mapped in the parent, absent here: the child has no stream and must die of an ordinary fault.
            raw.add(3 * SMALL).write_volatile(1);
            libc::_exit(0);
        }
        let mut status = 0;
        assert_eq!(libc::waitpid(child, &mut status, 0), child);
        assert!(libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGSEGV, "{status:x}");
    }
}
