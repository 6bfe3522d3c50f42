//! Streams that are opened, used, fail and are closed, again and again: each way to fail, on every pair, by calls and by
//! pointer in turn.

use super::frame::{Ends, For, Scenario};
use super::taken::{again_and_again, some_rounds};
use super::util::*;
use eagre_mem::stream::{Reader, StreamErrorKind, Writer};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

const fn scenario(name: &'static str, run: fn()) -> Scenario {
    Scenario::new(name, For::Every, Ends::Well, run)
}

pub(crate) const SCENARIOS: &[Scenario] = &[
    scenario("failing::writer_says_so_again_and_again", says_so),
    scenario("failing::writer_panics_again_and_again", panics),
    scenario("failing::cancelled_again_and_again", cancelled),
    scenario("failing::timed_out_again_and_again", timed_out),
    scenario("failing::reader_gone_again_and_again", reader_gone),
    scenario("failing::callback_fails_again_and_again", callback_fails),
    Scenario::new("failing::read_past_the_end_again_and_again", For::Pointers, Ends::Well, past_the_end),
];

/// Whether this round uses pointers: every other one, where there are any.
fn by_pointer(round: usize) -> bool {
    round % 2 == 1 && has_pointers()
}

/// Reads the next byte, which will not come, and returns why.
fn read(reader: &mut Reader, round: usize) -> StreamErrorKind {
    let error = if by_pointer(round) {
        // SAFETY: the first byte of a stream that drains.
        reader.scope(|from| unsafe { from.read_volatile() }).unwrap_err()
    } else {
        reader.fill(1).unwrap_err()
    };
    error.kind()
}

/// Writes more than a stream holds that nobody reads, and returns why that cannot be.
fn write(writer: &mut Writer, round: usize) -> StreamErrorKind {
    const BLOCKS: usize = 8;
    let error = if by_pointer(round) {
        // SAFETY: ascending stores in a stream that drains.
        writer.scope(|to| unsafe { (0..BLOCKS).for_each(|at| to.add(at * BLOCK).write_volatile(1)) }).unwrap_err()
    } else {
        (0..BLOCKS)
            .try_for_each(|at| writer.advance_to((at * BLOCK) as u64).and_then(|()| writer.copy_in(&[1])))
            .unwrap_err()
    };
    error.kind()
}

fn says_so() {
    again_and_again(some_rounds(), |round| {
        let (mut writer, mut reader) = ends("says so");
        writer.copy_in(&[1]).unwrap();
        writer.fail("as expected");
        assert_eq!(read(&mut reader, round), StreamErrorKind::WriterFailed);
    });
}

fn panics() {
    again_and_again(some_rounds(), |round| {
        let (mut writer, mut reader) = ends("panics");
        let panicked = catch_unwind(AssertUnwindSafe(move || {
            if by_pointer(round) {
                let _ = writer.scope(|_| resume_unwind(Box::new("as expected")));
            }
            let _writer = writer;
            resume_unwind(Box::new("as expected"));
        }));
        assert!(panicked.is_err());
        assert_eq!(read(&mut reader, round), StreamErrorKind::WriterGone);
    });
}

fn cancelled() {
    again_and_again(some_rounds(), |round| {
        let (mut writer, mut reader) = ends("cancelled");
        writer.control().cancel();
        assert_eq!(
            (read(&mut reader, round), write(&mut writer, round)),
            (StreamErrorKind::Cancelled, StreamErrorKind::Cancelled)
        );
    });
}

fn timed_out() {
    again_and_again(some_rounds(), |round| {
        let builder = small("timed out").timeout(Duration::from_micros(1));
        let (mut writer, mut reader) = builder.open().unwrap().split();
        // The end that waits.
        match round % 4 {
            0 | 1 => assert_eq!(read(&mut reader, round), StreamErrorKind::TimedOut),
            _ => assert_eq!(write(&mut writer, round), StreamErrorKind::TimedOut),
        }
    });
}

fn reader_gone() {
    again_and_again(some_rounds(), |round| {
        let (mut writer, reader) = ends("reader gone");
        drop(reader);
        assert_eq!(write(&mut writer, round), StreamErrorKind::ReaderGone);
    });
}

fn callback_fails() {
    // What the allocator keeps for each new thread, 64 MiB of addresses, is not the stream's.
    // SAFETY: a plain setting.
    unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
    again_and_again(some_rounds(), |round| {
        let source = |_: u64, _: &mut [u8]| Err(std::io::Error::other("as expected"));
        let mut reader = small("callback").source(source).unwrap();
        assert_eq!(read(&mut reader, round), StreamErrorKind::WriterFailed);
    });
}

fn past_the_end() {
    again_and_again(some_rounds(), |_| {
        let (mut writer, mut reader) = ends("past the end");
        writer.finish_at(1).unwrap();
        // SAFETY: beyond the end of a stream that drains.
        let read = reader.scope(|from| unsafe { from.add(3 * BLOCK).read_volatile() });
        assert_eq!(read.unwrap_err().kind(), StreamErrorKind::PastEnd);
    });
}
