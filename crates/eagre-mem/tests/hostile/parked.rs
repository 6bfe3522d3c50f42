//! Threads that wait in a fault while the other side goes away, panics, is cancelled, or is too slow.

use super::frame::{Ends, For, Scenario};
use super::util::*;
use eagre_mem::stream::{OnFailure, StreamErrorKind};
use std::time::Duration;

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("parked::writer_dropped", For::Pointers, Ends::Well, writer_dropped),
    Scenario::new("parked::reader_dropped", For::Pointers, Ends::Well, reader_dropped),
    Scenario::new("parked::writer_panics", For::Pointers, Ends::Well, writer_panics),
    Scenario::new("parked::reader_panics", For::Pointers, Ends::Well, reader_panics),
    Scenario::new("parked::panics_within_the_same_scope", For::Pointers, Ends::Well, panics_in_scope),
    Scenario::new("parked::cancelled", For::Pointers, Ends::Well, cancelled),
    Scenario::new("parked::timed_out", For::Pointers, Ends::Well, timed_out),
    Scenario::new("parked::one_handle_owns_both_ends", For::Pointers, Ends::Well, one_handle),
    Scenario::new("parked::both_ends_dropped_under_a_raw_pointer", For::Pointers, Ends::Well, both_dropped),
    Scenario::new("parked::many_threads_on_one_block", For::Pointers, Ends::Well, many),
    Scenario::new("parked::jump_ahead_is_not_forgotten", For::Pointers, Ends::Well, jump_ahead),
    Scenario::new("parked::main_returns", For::Pointers, Ends::Well, main_returns),
    Scenario::new("parked::poison_ends_a_system_call", For::Pager, Ends::Well, poisoned_call),
];

fn writer_dropped() {
    let (writer, reader) = ends("dropped");
    let thread = park("dropped", reader);
    drop(writer);
    assert_eq!(thread.join().unwrap(), Err(StreamErrorKind::WriterGone));
    streams_work();
}

/// A thread that writes until it must wait for the reader.
fn park_writer(name: &'static str, mut writer: eagre_mem::stream::Writer) -> std::thread::JoinHandle<StreamErrorKind> {
    let thread = std::thread::spawn(move || write_words(&mut writer, 40 * BLOCK / 8).unwrap_err().kind());
    until(|| waits(name, End::Writer));
    thread
}

fn reader_dropped() {
    let (writer, reader) = ends("dropped");
    let thread = park_writer("dropped", writer);
    drop(reader);
    assert_eq!(thread.join().unwrap(), StreamErrorKind::ReaderGone);
    streams_work();
}

fn writer_panics() {
    let (mut writer, reader) = ends("panics");
    let thread = park("panics", reader);
    let panics = std::thread::spawn(move || {
        writer.copy_in(&[1; 100]).unwrap();
        panic!("as expected");
    });
    assert!(panics.join().is_err());
    assert_eq!(thread.join().unwrap(), Err(StreamErrorKind::WriterGone));
    streams_work();
}

fn reader_panics() {
    let (writer, mut reader) = ends("panics");
    let thread = park_writer("panics", writer);
    let panics = std::thread::spawn(move || {
        reader.scope(|from| {
            // SAFETY: the first byte of the stream.
            assert_eq!(unsafe { from.read() }, 255, "as expected");
        })
    });
    assert!(panics.join().is_err());
    assert_eq!(thread.join().unwrap(), StreamErrorKind::ReaderGone);
    streams_work();
}

/// The end outlives the panic: it and its thread are as good as before.
fn panics_in_scope() {
    let (mut writer, mut reader) = ends("again");
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        writer.scope(|to| {
            // SAFETY: the first byte of the stream.
            unsafe { to.write(7) };
            panic!("as expected");
        })
    }));
    assert!(caught.is_err());
    writer.finish_at(1).unwrap();
    // SAFETY: the first byte of the stream.
    assert_eq!(reader.scope(|from| unsafe { from.read() }).unwrap(), 7);
}

fn cancelled() {
    let (writer, reader) = ends("cancelled");
    let control = writer.control();
    let thread = park("cancelled", reader);
    control.cancel();
    assert_eq!(thread.join().unwrap(), Err(StreamErrorKind::Cancelled));
    drop(writer);
}

fn timed_out() {
    let (_writer, mut reader) = small("slow").timeout(Duration::from_millis(20)).open().unwrap().split();
    // SAFETY: the first byte of the stream.
    let error = reader.scope(|from| unsafe { from.read_volatile() }).unwrap_err();
    assert_eq!(error.kind(), StreamErrorKind::TimedOut);
}

fn one_handle() {
    let mut pipe = small("alone").open().unwrap();
    // SAFETY: the first byte of the stream.
    let error = pipe.reader().scope(|from| unsafe { from.read_volatile() }).unwrap_err();
    assert_eq!(error.kind(), StreamErrorKind::Deadlock);
}

/// A raw pointer outlives both ends, against its contract, in a thread that waits in a fault. It gets a throw-away page
/// or a crash, and is not stuck: the child it happens in ends by itself.
fn both_dropped() {
    let child = fork_before_streams(|| {
        let (writer, mut reader) = ends("dropped");
        let from = Raw(reader.as_ptr().unwrap().as_ptr());
        // SAFETY: waits until both ends are gone; what it gets then is the question.
        let thread = std::thread::spawn(move || unsafe { from.read(0) });
        until(|| waits("dropped", End::Reader));
        drop(reader);
        drop(writer);
        let _ = thread.join();
        streams_work();
        0
    });
    let status = wait_for(child);
    let crashed = matches!(killed_by(status), libc::SIGSEGV | libc::SIGBUS);
    assert!(status == 0 || crashed, "status {status:#x}");
}

/// Forks while this process has one thread and no stream.
fn fork_before_streams(child: impl FnOnce() -> i32) -> i32 {
    fork(|| {
        end_if_it_hangs();
        child()
    })
}

fn many() {
    for _ in 0..20 {
        let (mut writer, mut reader) = ends("many");
        let from = Raw(reader.as_ptr().unwrap().as_ptr());
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..6)
                // SAFETY: bytes of the first block, which comes.
                .map(|at| scope.spawn(move || unsafe { from.read(at * 4096 * 2) }))
                .collect();
            until(|| waits("many", End::Reader));
            writer.copy_in(&[7; BLOCK]).unwrap();
            assert!(threads.into_iter().all(|thread| thread.join().unwrap() == 7));
        });
    }
}

/// A reader on a pointer asks for a block far ahead, and the writer publishes many small steps towards it: each one
/// wakes the wait, and none of them is lost.
fn jump_ahead() {
    const FAR: usize = 40;
    for _ in 0..20 {
        let (mut writer, mut reader) = ends("jump");
        std::thread::scope(|scope| {
            // SAFETY: a byte of the stream, ahead of all that was read.
            let far = scope.spawn(move || (reader.scope(|from| unsafe { from.add(FAR * BLOCK).read() }), reader));
            for _ in 0..=FAR {
                writer.copy_in(&[7; BLOCK]).unwrap();
            }
            assert_eq!(far.join().unwrap().0.unwrap(), 7);
        });
    }
}

/// The process ends, whoever waits.
fn main_returns() {
    let (writer, reader) = ends("left");
    let _thread = park("left", reader);
    std::mem::forget(writer);
}

fn poisoned_call() {
    let (writer, mut reader) = small("bitter").on_failure(OnFailure::Poison).open().unwrap().split();
    let from = Raw(reader.as_ptr().unwrap().as_ptr());
    let thread = std::thread::spawn(move || {
        let from = from;
        let mut pipe = [0; 2];
        // SAFETY: the array takes two descriptors; the bytes are the stream's, and never come.
        unsafe {
            assert_eq!(libc::pipe(pipe.as_mut_ptr()), 0);
            let written = libc::write(pipe[1], from.0.cast(), 4096);
            (written, *libc::__errno_location())
        }
    });
    until(|| waits("bitter", End::Reader));
    writer.control().cancel();
    assert_eq!(thread.join().unwrap(), (-1, libc::EFAULT));
}
