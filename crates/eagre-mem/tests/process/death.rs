//! An end whose other process is gone gets an error at once, whenever and however that happens.

use crate::common::{Rng, SMALL, check, check_through, put, put_through};
use crate::peer::{Part, Peer};
use crate::watched;
use eagre_mem::BlockSize;
use eagre_mem::process::{Connection, Options, Reader, Writer};
use eagre_mem::stream::{StreamError, StreamErrorKind};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::process::CommandExt;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::time::Duration;

pub(crate) const PARTS: &[Part] = &[
    ("write for ever", |connection, way| {
        drop(write(&mut Writer::join(connection).unwrap(), way, &AtomicBool::new(false)))
    }),
    ("read for ever", |connection, way| drop(read(&mut Reader::join(connection).unwrap(), way))),
    ("write then exec", write_then_exec),
    ("write then fork", write_then_fork),
    ("read then drop", read_then_drop),
    ("read then fail", read_then_fail),
    ("write then drop", write_then_drop),
    ("write then fail", write_then_fail),
    ("write and finish", write_and_finish),
    ("end before joining", |_, _| ()),
    ("join and time out", join_and_time_out),
];

fn small() -> Options {
    Options::new().block_size(BlockSize::MIN)
}

/// Writes until the stream fails. Code on a pointer does not know; `stop` tells it when that is sure.
fn write(writer: &mut Writer, way: &str, stop: &AtomicBool) -> StreamError {
    if way == "pointer" {
        let written = writer.scope(|to| {
            let mut at = 0;
            while !stop.load(SeqCst) {
                // SAFETY: forward, in small steps.
                unsafe { put_through(to, at, at + SMALL as u64, 10_007) };
                at += SMALL as u64;
            }
        });
        return written.unwrap_err();
    }
    loop {
        let at = writer.position();
        let room = match writer.reserve(1) {
            Ok(room) => room,
            Err(error) => return error,
        };
        put(at, room);
        let all = room.len();
        writer.commit(all);
    }
}

/// Reads until the stream fails; every byte must be right.
fn read(reader: &mut Reader, way: &str) -> StreamError {
    if way == "pointer" {
        let read = reader.scope(|from| {
            let mut at = 0;
            // A stream that has failed reads as zeros. No byte of the oracle is zero.
            // SAFETY: forward, in small steps; a block comes whole.
            while unsafe { from.add(at as usize).read_volatile() } != 0 {
                // SAFETY: as above.
                unsafe { check_through(from, at, at + SMALL as u64, 9_001) };
                at += SMALL as u64;
            }
        });
        return read.unwrap_err();
    }
    loop {
        let at = reader.position();
        let bytes = match reader.fill(1) {
            Ok([]) => panic!("the stream has an end"),
            Ok(bytes) => bytes,
            Err(error) => return error,
        };
        check(at, bytes);
        let all = bytes.len();
        reader.consume(all);
    }
}

/// Fills and gives on so many blocks.
fn write_blocks(writer: &mut Writer, count: usize) {
    for _ in 0..count {
        let at = writer.position();
        let room = writer.reserve(SMALL).unwrap();
        put(at, &mut room[..SMALL]);
        writer.commit(SMALL);
    }
}

fn read_blocks(reader: &mut Reader, count: usize) {
    for _ in 0..count {
        let at = reader.position();
        let bytes = reader.fill(SMALL).unwrap();
        check(at, &bytes[..SMALL]);
        reader.consume(SMALL);
    }
}

/// The other process has ended without a word.
#[track_caller]
fn assert_died(error: &StreamError, kind: StreamErrorKind) {
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.to_string().contains("its process has ended"), "{error}");
}

fn rounds() -> usize {
    if std::env::var_os("EAGRE_LONG").is_some() { 250 } else { 25 }
}

/// The ways of both ends in a round, whether the other process is killed only when the stream flows, and after which pause. Any
/// step will do, that of its start too.
fn round(rng: &mut Rng, round: usize) -> (&'static str, &'static str, bool, Duration) {
    let way = |bit: usize| ["explicit", "pointer"][round >> bit & 1];
    let flows = round & 4 != 0;
    (way(0), way(1), flows, Duration::from_micros(rng.below(if flows { 2_000 } else { 12_000 })))
}

#[test]
fn a_reader_whose_writer_is_killed_at_any_step() {
    let _dog = watched("a_reader_whose_writer_is_killed_at_any_step");
    let mut rng = Rng::new(2401);
    for number in 0..rounds() * 2 {
        let (ours, theirs, flows, pause) = round(&mut rng, number);
        let (peer, connection) = Peer::start("write for ever", theirs);
        let mut reader = small().reader(connection).unwrap();
        while flows && !reader.wait(Duration::from_secs(1)) {}
        let killer = std::thread::spawn(move || {
            std::thread::sleep(pause);
            peer.signal(libc::SIGKILL);
            peer.ends()
        });
        assert_died(&read(&mut reader, ours), StreamErrorKind::WriterGone);
        assert_eq!(killer.join().unwrap(), Some(libc::SIGKILL));
    }
}

#[test]
fn a_writer_whose_reader_is_killed_at_any_step() {
    let _dog = watched("a_writer_whose_reader_is_killed_at_any_step");
    let mut rng = Rng::new(2402);
    for number in 0..rounds() * 2 {
        let (ours, theirs, flows, pause) = round(&mut rng, number);
        let (peer, connection) = Peer::start("read for ever", theirs);
        let mut writer = small().writer(connection).unwrap();
        let stop = AtomicBool::new(false);
        let (begin, begun) = std::sync::mpsc::channel();
        let error = std::thread::scope(|scope| {
            let stop = &stop;
            scope.spawn(move || {
                begun.recv().unwrap();
                std::thread::sleep(pause);
                peer.signal(libc::SIGKILL);
                assert_eq!(peer.ends(), Some(libc::SIGKILL));
                stop.store(true, SeqCst);
            });
            if !flows {
                begin.send(()).unwrap();
            }
            if ours == "explicit" {
                if flows {
                    // More than there is room for: the reader has read.
                    write_blocks(&mut writer, 7);
                    begin.send(()).unwrap();
                }
                return write(&mut writer, ours, stop);
            }
            let written = writer.scope(|to| {
                let mut at = 0;
                while !stop.load(SeqCst) {
                    // SAFETY: forward, in small steps.
                    unsafe { put_through(to, at, at + SMALL as u64, 10_007) };
                    at += SMALL as u64;
                    if flows && at == 7 * SMALL as u64 {
                        begin.send(()).unwrap();
                    }
                }
                // Once more than there is room for, so that it notices.
                // SAFETY: as above.
                unsafe { put_through(to, at, at + 6 * SMALL as u64, 10_007) };
            });
            written.unwrap_err()
        });
        assert_died(&error, StreamErrorKind::ReaderGone);
    }
}

fn write_then_exec(connection: Connection, _: &str) {
    let mut writer = Writer::join(connection).unwrap();
    write_blocks(&mut writer, 3);
    // Another program now has this process's number.
    let error = std::process::Command::new("sleep").arg("1000").exec();
    panic!("{error}");
}

#[test]
fn a_process_that_runs_another_program_is_gone() {
    let _dog = watched("a_process_that_runs_another_program_is_gone");
    let (mut peer, connection) = Peer::start("write then exec", "");
    let mut reader = small().reader(connection).unwrap();
    read_blocks(&mut reader, 3);
    assert_died(&reader.fill(1).unwrap_err(), StreamErrorKind::WriterGone);
    assert!(peer.lives());
}

/// Ends while a child that it has forked has the connection still.
fn write_then_fork(connection: Connection, _: &str) {
    let socket = connection.as_fd().as_raw_fd();
    let mut writer = Writer::join(connection).unwrap();
    write_blocks(&mut writer, 3);
    // SAFETY: the child makes system calls only, and does not outlive the connection.
    unsafe {
        if libc::fork() == 0 {
            let mut byte = 0u8;
            while libc::recv(socket, (&raw mut byte).cast(), 1, 0) > 0 {}
            libc::_exit(0);
        }
        libc::kill(libc::getpid(), libc::SIGKILL);
    }
}

#[test]
fn a_process_whose_forked_child_lives_on_is_gone() {
    let _dog = watched("a_process_whose_forked_child_lives_on_is_gone");
    let (peer, connection) = Peer::start("write then fork", "");
    let mut reader = small().reader(connection).unwrap();
    read_blocks(&mut reader, 3);
    assert_died(&reader.fill(1).unwrap_err(), StreamErrorKind::WriterGone);
    assert_eq!(peer.ends(), Some(libc::SIGKILL));
}

#[test]
fn a_process_that_is_stopped_is_waited_for() {
    let _dog = watched("a_process_that_is_stopped_is_waited_for");
    for way in ["explicit", "pointer"] {
        let length = 300 * SMALL as u64;
        let (peer, connection) = Peer::start("write", &format!("{way} {length}"));
        let mut reader = small().reader(connection).unwrap();
        read_blocks(&mut reader, 20);
        peer.stop();
        let mut left = 6;
        while reader.wait(Duration::from_millis(1)) {
            read_blocks(&mut reader, 1);
            left -= 1;
            assert!(left > 0, "a stopped process writes");
        }
        peer.signal(libc::SIGCONT);
        let rest = length - reader.position();
        read_blocks(&mut reader, rest as usize / SMALL);
        assert!(reader.fill(1).unwrap().is_empty());
        peer.succeeds();
    }
}

fn read_then_drop(connection: Connection, _: &str) {
    read_blocks(&mut Reader::join(connection).unwrap(), 2);
}

fn read_then_fail(connection: Connection, _: &str) {
    let mut reader = Reader::join(connection).unwrap();
    read_blocks(&mut reader, 2);
    reader.fail("the table is full");
    assert_eq!(reader.fill(1).unwrap_err().detail(), Some("the table is full"));
}

fn write_then_drop(connection: Connection, _: &str) {
    write_blocks(&mut Writer::join(connection).unwrap(), 2);
}

fn write_then_fail(connection: Connection, _: &str) {
    let mut writer = Writer::join(connection).unwrap();
    write_blocks(&mut writer, 2);
    writer.fail("disk é is full");
}

#[test]
fn an_end_that_is_dropped_or_fails_fails_the_other() {
    let _dog = watched("an_end_that_is_dropped_or_fails_fails_the_other");
    for (part, kind, detail) in [
        ("read then drop", StreamErrorKind::ReaderGone, None),
        ("read then fail", StreamErrorKind::ReaderGone, Some("the table is full")),
        ("write then drop", StreamErrorKind::WriterGone, None),
        ("write then fail", StreamErrorKind::WriterFailed, Some("disk é is full")),
    ] {
        let (peer, connection) = Peer::start(part, "");
        let error = if part.starts_with("read") {
            write(&mut small().writer(connection).unwrap(), "explicit", &AtomicBool::new(false))
        } else {
            read(&mut small().reader(connection).unwrap(), "explicit")
        };
        assert_eq!((error.kind(), error.detail()), (kind, detail), "{part}: {error}");
        peer.succeeds();
    }
}

fn write_and_finish(connection: Connection, _: &str) {
    let mut writer = Writer::join(connection).unwrap();
    write_blocks(&mut writer, 2);
    writer.finish().unwrap();
}

#[test]
fn what_was_finished_is_read_when_the_writer_is_gone() {
    let _dog = watched("what_was_finished_is_read_when_the_writer_is_gone");
    let (peer, connection) = Peer::start("write and finish", "");
    let mut reader = small().reader(connection).unwrap();
    peer.succeeds();
    read_blocks(&mut reader, 2);
    assert!(reader.fill(1).unwrap().is_empty());
    // The other way round: all is written before anybody joins.
    let (ours, theirs) = Connection::pair().unwrap();
    let mut writer = small().writer(ours).unwrap();
    write_blocks(&mut writer, 3);
    writer.finish().unwrap();
    drop(writer);
    let mut reader = Reader::join(theirs).unwrap();
    read_blocks(&mut reader, 3);
    assert!(reader.take().unwrap().is_none());
}

#[test]
fn a_reader_that_leaves_at_the_end_has_missed_nothing() {
    let _dog = watched("a_reader_that_leaves_at_the_end_has_missed_nothing");
    for (missing, fine) in [(0, true), (1, false)] {
        let (ours, theirs) = Connection::pair().unwrap();
        let mut writer = small().writer(ours).unwrap();
        let mut reader = Reader::join(theirs).unwrap();
        write_blocks(&mut writer, 3);
        read_blocks(&mut reader, 3 - missing);
        drop(reader);
        assert_eq!(
            writer.finish().map_err(|error| error.kind()),
            if fine { Ok(()) } else { Err(StreamErrorKind::ReaderGone) }
        );
    }
}

#[test]
fn nobody_joins_and_nobody_makes() {
    let _dog = watched("nobody_joins_and_nobody_makes");
    let (peer, connection) = Peer::start("end before joining", "");
    // It may have ended before the stream is made, or after that.
    match small().reader(connection) {
        Ok(mut reader) => assert_died(&read(&mut reader, "explicit"), StreamErrorKind::WriterGone),
        Err(error) => assert!(error.to_string().contains("no connection to the other process"), "{error}"),
    }
    peer.succeeds();
    let (peer, connection) = Peer::start("end before joining", "");
    let error = Reader::join(connection).unwrap_err().to_string();
    assert!(error.contains("has ended, or closed its connection"), "{error}");
    peer.succeeds();
}

fn join_and_time_out(connection: Connection, _: &str) {
    let mut writer = Writer::join(connection).unwrap();
    write_blocks(&mut writer, 1);
    // Until the reader's patience has ended; then the next blocks fail.
    let error = write(&mut writer, "explicit", &AtomicBool::new(false));
    assert_eq!(error.kind(), StreamErrorKind::TimedOut, "{error}");
}

#[test]
fn a_wait_that_takes_too_long_fails_both() {
    let _dog = watched("a_wait_that_takes_too_long_fails_both");
    let (peer, connection) = Peer::start("join and time out", "");
    // The writer waits for this end, which does nothing.
    let mut reader = small().timeout(Duration::from_millis(20)).reader(connection).unwrap();
    peer.succeeds();
    assert_eq!(read(&mut reader, "explicit").kind(), StreamErrorKind::TimedOut);
}

#[test]
fn a_stream_that_is_cancelled_fails_for_both() {
    let _dog = watched("a_stream_that_is_cancelled_fails_for_both");
    for way in ["explicit", "pointer"] {
        let (ours, theirs) = Connection::pair().unwrap();
        let mut writer = small().writer(ours).unwrap();
        let mut reader = Reader::join(theirs).unwrap();
        let control = reader.control();
        std::thread::scope(|scope| {
            // Each waits for the other, or comes to the error before.
            let reading = scope.spawn(move || {
                let error = read(&mut reader, way);
                drop(reader);
                error.kind()
            });
            write_blocks(&mut writer, 4);
            control.cancel();
            assert_eq!(write(&mut writer, "explicit", &AtomicBool::new(false)).kind(), StreamErrorKind::Cancelled);
            assert_eq!(reading.join().unwrap(), StreamErrorKind::Cancelled);
        });
        // Nobody is left.
        control.cancel();
    }
}

#[test]
fn an_end_in_a_forked_child_is_none() {
    let _dog = watched("an_end_in_a_forked_child_is_none");
    let (ours, theirs) = Connection::pair().unwrap();
    let mut writer = small().writer(ours).unwrap();
    let mut reader = Reader::join(theirs).unwrap();
    write_blocks(&mut writer, 2);
    // SAFETY: the child makes a call that fails at once, and ends.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let forked = writer.try_take().is_err();
        // SAFETY: ends the child.
        unsafe { libc::_exit(i32::from(!forked)) };
    }
    let mut status = 0;
    // SAFETY: our own child; the call fills the status.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0);
    write_blocks(&mut writer, 1);
    read_blocks(&mut reader, 3);
}
