//! Crashes that are not ours look the way they would without us; those that are say why first.

use super::frame::{Ends, For, Scenario};
use super::util::*;
use eagre_mem::stream::OnFailure;
use std::hint::black_box;

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("crash::null_pointer", For::Pointers, Ends::By(libc::SIGSEGV), null_pointer),
    Scenario::new("crash::null_pointer_within_a_scope", For::Pointers, Ends::By(libc::SIGSEGV), null_in_scope),
    Scenario::new("crash::past_the_end_of_a_mapped_file", For::Pointers, Ends::By(libc::SIGBUS), mapped_file),
    Scenario::new("crash::stack_overflow_on_main", For::Pointers, Ends::By(libc::SIGABRT), overflow_on_main)
        .says(&["has overflowed its stack"]),
    Scenario::new("crash::stack_overflow_in_a_thread", For::Pointers, Ends::By(libc::SIGABRT), overflow_in_thread)
        .says(&["thread 'deep' (", "has overflowed its stack"]),
    Scenario::new("crash::stack_overflow_within_a_scope", For::Pointers, Ends::By(libc::SIGABRT), overflow_in_scope)
        .says(&["has overflowed its stack"]),
    Scenario::new("crash::signal_sent_by_kill", For::Pointers, Ends::By(libc::SIGSEGV), sent),
    Scenario::new("crash::abort_while_threads_wait", For::Pointers, Ends::By(libc::SIGABRT), abort_while_parked),
    Scenario::new("crash::null_pointer_while_threads_wait", For::Pointers, Ends::By(libc::SIGSEGV), null_while_parked),
    Scenario::new("crash::write_behind_the_window", For::Pointers, Ends::ByFault, behind)
        .says(&["eagre: stream narrow: write at offset 0: outside the window, bytes 655360 to 786432", "rewrite(L)"]),
    Scenario::new("crash::poison", For::Pointers, Ends::ByFault, poison)
        .says(&["eagre: stream bitter: read after it failed: cancelled; on_failure(Drain)"]),
];

fn touch_null() {
    // SAFETY: none: this is the crash.
    unsafe { black_box(std::ptr::null::<u8>()).read_volatile() };
}

fn null_pointer() {
    streams_work();
    touch_null();
}

fn null_in_scope() {
    let (mut writer, _reader) = ends("scope");
    let _ = writer.scope(|to| {
        // SAFETY: the first byte of the stream.
        unsafe { to.write(1) };
        touch_null();
    });
}

/// A fault with SIGBUS that is not ours.
fn mapped_file() {
    streams_work();
    // SAFETY: a file of our own without a byte, mapped and touched: the touch is the crash.
    unsafe {
        let file = libc::memfd_create(c"empty".as_ptr(), 0);
        assert!(file >= 0);
        let start = libc::mmap(std::ptr::null_mut(), 4096, libc::PROT_READ, libc::MAP_SHARED, file, 0);
        assert_ne!(start, libc::MAP_FAILED);
        start.cast::<u8>().read_volatile();
    }
}

#[allow(unconditional_recursion)]
fn dig(depth: u64) -> u64 {
    let hole = black_box([depth; 64]);
    dig(depth + 1) + black_box(hole)[7]
}

fn overflow_on_main() {
    streams_work();
    dig(0);
}

fn overflow_in_thread() {
    streams_work();
    let _ = std::thread::Builder::new().name("deep".into()).stack_size(256 << 10).spawn(|| dig(0)).unwrap().join();
}

/// The scope may have put an alternate stack of ours in force: the message must come all the same.
fn overflow_in_scope() {
    let (mut writer, _reader) = ends("scope");
    std::thread::scope(|scope| {
        scope.spawn(move || {
            writer.scope(|to| {
                // SAFETY: the first byte of the stream.
                unsafe { to.write(1) };
                dig(0)
            })
        });
    });
}

/// Twice: with or without us, Rust's own handler takes the first one to be a fault, and waits for it to come back.
fn sent() {
    streams_work();
    for _ in 0..2 {
        // SAFETY: sends a signal to this thread.
        unsafe { libc::raise(libc::SIGSEGV) };
    }
}

fn abort_while_parked() {
    let (_writer, reader) = ends("parked");
    let _thread = park("parked", reader);
    std::process::abort();
}

fn null_while_parked() {
    let (_writer, reader) = ends("parked");
    let _thread = park("parked", reader);
    touch_null();
}

/// Four blocks, a window of two: block 0 has been published, and once the reader has it, it is out of reach.
fn behind() {
    let (mut writer, mut reader) = small("narrow").read_ahead(4).open().unwrap().split();
    let _ = writer.scope(|to| {
        // Far enough for every mover to notice: `map` takes addresses back a few blocks late.
        for at in 0..12 {
            // SAFETY: ascending, within the capacity; the reader is two blocks behind.
            unsafe {
                to.add(at * BLOCK).write(1);
                if at >= 2 {
                    reader.scope(|from| from.add((at - 2) * BLOCK).read_volatile()).unwrap();
                }
            }
        }
        // SAFETY: outside of the window: this is the crash.
        unsafe { to.write(1) };
    });
}

fn poison() {
    let (writer, mut reader) = small("bitter").on_failure(OnFailure::Poison).open().unwrap().split();
    let _ = reader.scope(|from| {
        writer.control().cancel();
        // SAFETY: a failed stream that poisons: this is the crash.
        unsafe { from.read_volatile() }
    });
}
