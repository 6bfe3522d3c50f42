//! Invariant 7: who waits for whom is always answerable; an error only where one handle owns both ends.

use crate::common::child::{self, Case};
use crate::common::{SMALL, small};
use eagre_mem::probe::Pair;
use eagre_mem::stream::{PipeBuilder, StreamErrorKind, Wait, wait_report};
use eagre_mem::{End, Trap};
use std::io::{BufRead, BufReader};
use std::os::fd::FromRawFd;
use std::time::{Duration, Instant};

/// Looks until an end of the stream `name` waits. Waiting is the state under test; there is no other sign of it.
pub(crate) fn until_waiting(name: &str, end: End) -> Wait {
    loop {
        let found = wait_report().into_iter().find(|wait| wait.stream == name && wait.waiting == end);
        match found {
            Some(wait) => return wait,
            None => std::thread::yield_now(),
        }
    }
}

fn named(pair: Pair, name: &str) -> (PipeBuilder, String) {
    let name = format!("{name}, {pair}");
    (small(pair).name(&name), name)
}

each_pair! {
    fn invariant_7_a_waiting_reader_is_reported(pair) {
        for pointer in [false, pair.trap != Trap::Off] {
            let (builder, name) = named(pair, "reader waits");
            let (mut writer, mut reader) = builder.open().unwrap().split();
            std::thread::scope(|scope| {
                let reading = scope.spawn(|| match pointer {
                    // SAFETY: the first byte of a stream of one byte.
                    true => reader.scope(|from| unsafe { from.read() }).unwrap(),
                    false => reader.fill(1).unwrap()[0],
                });
                let wait = until_waiting(&name, End::Reader);
                assert_eq!((wait.block, wait.other_waits), (0, false));
                assert!(wait.to_string().contains("the reader has waited"), "{wait}");
                writer.copy_in(&[9]).unwrap();
                writer.finish().unwrap();
                assert_eq!(reading.join().unwrap(), 9);
            });
            assert!(wait_report().iter().all(|wait| wait.stream != name), "still reported");
        }
    }

    fn invariant_7_a_wait_with_a_limit_ends(pair) {
        let hour = Duration::from_secs(3600);
        let (builder, name) = named(pair, "waits for a while");
        let (mut writer, mut reader) = builder.open().unwrap().split();
        let control = reader.control();
        assert!(writer.wait(Duration::ZERO));
        for limit in [Duration::ZERO, Duration::from_millis(1)] {
            assert!(!reader.wait(limit));
        }
        assert!(wait_report().iter().all(|wait| wait.stream != name), "still reported");
        std::thread::scope(|scope| {
            let reading = scope.spawn(|| reader.wait(hour) && reader.take().unwrap().is_some());
            assert_eq!(until_waiting(&name, End::Reader).block, 0);
            writer.copy_in(&vec![9; SMALL]).unwrap();
            assert!(reading.join().unwrap());
            // The reader has the block, and gives none back: when the others are full, the writer waits.
            let writing = scope.spawn(|| {
                while writer.wait(Duration::ZERO) {
                    writer.copy_in(&vec![9; SMALL]).unwrap();
                }
                writer.wait(hour)
            });
            until_waiting(&name, End::Writer);
            // A failure ends the wait, and the next call says why.
            control.fail_reader("enough");
            assert!(writing.join().unwrap());
        });
        assert_eq!(writer.take().unwrap_err().kind(), StreamErrorKind::ReaderGone);
    }

    fn invariant_7_a_wait_in_pieces_is_one_wait(pair) {
        let (hour, second) = (Duration::from_secs(3600), Duration::from_secs(1));
        let (builder, name) = named(pair, "waits in pieces");
        let (mut writer, mut reader) = builder.timeout(hour).open().unwrap().split();
        let started = Instant::now().checked_sub(second).unwrap();
        assert!(!reader.wait_since(started, Duration::from_millis(1)) && writer.wait_since(started, hour));
        std::thread::scope(|scope| {
            let reading = scope.spawn(|| reader.wait_since(started, hour) && reader.take().unwrap().is_some());
            let wait = until_waiting(&name, End::Reader);
            assert!(wait.block == 0 && wait.since >= second, "{wait}");
            writer.copy_in(&vec![9; SMALL]).unwrap();
            assert!(reading.join().unwrap());
        });
        // The time limit ends it, and only a wait in pieces.
        let (_writer, mut reader) = named(pair, "waits too long").0.timeout(second).open().unwrap().split();
        assert!(!reader.wait(Duration::from_millis(1)) && reader.control().failure().is_none());
        assert!(reader.wait_since(started, hour));
        assert_eq!(reader.take().unwrap_err().kind(), StreamErrorKind::TimedOut);
        let (_writer, reader) = named(pair, "waits long enough").0.timeout(Duration::from_millis(2)).open().unwrap().split();
        let started = Instant::now();
        while !reader.wait_since(started, Duration::from_millis(1)) {}
        assert_eq!(reader.control().failure().unwrap().kind(), StreamErrorKind::TimedOut);
    }

    fn invariant_7_a_waiting_writer_is_reported(pair) {
        for pointer in [false, pair.trap != Trap::Off] {
            let (builder, name) = named(pair, "writer waits");
            let (mut writer, mut reader) = builder.open().unwrap().split();
            let length = 8 * SMALL;
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    match pointer {
                        // SAFETY: ascending stores.
                        true => writer.scope(|to| unsafe { (0..length).for_each(|at| to.add(at).write(3)) }).unwrap(),
                        false => writer.copy_in(&vec![3; length]).unwrap(),
                    }
                    writer.finish_at(length as u64).unwrap();
                });
                let wait = until_waiting(&name, End::Writer);
                // The writer holds L + 1, the reader has not looked: the first block must come back.
                assert_eq!(wait.block, 0, "{wait}");
                let mut all = vec![0; length];
                assert_eq!(reader.copy_out(&mut all).unwrap(), length);
                assert!(all.iter().all(|&byte| byte == 3));
            });
        }
    }

    fn invariant_7_one_handle_cannot_wait_for_itself(pair) {
        let mut pipe = small(pair).open().unwrap();
        let error = pipe.reader().fill(1).unwrap_err();
        assert_eq!(error.kind(), StreamErrorKind::Deadlock);

        let mut pipe = small(pair).open().unwrap();
        let error = pipe.writer().copy_in(&vec![1; 10 * SMALL]).unwrap_err();
        assert_eq!(error.kind(), StreamErrorKind::Deadlock);

        if pair.trap != Trap::Off {
            let mut pipe = small(pair).open().unwrap();
            // SAFETY: ascending stores.
            let wrote = pipe.writer().scope(|to| unsafe { (0..10 * SMALL).for_each(|at| to.add(at).write(1)) });
            assert_eq!(wrote.unwrap_err().kind(), StreamErrorKind::Deadlock);
            let mut pipe = small(pair).open().unwrap();
            // SAFETY: the first byte.
            let read = pipe.reader().scope(|from| unsafe { from.read() });
            assert_eq!(read.unwrap_err().kind(), StreamErrorKind::Deadlock);
        }
    }

    /// Within the windows one handle may well use both ends in turn.
    fn invariant_7_one_handle_taking_turns_is_no_deadlock(pair) {
        let mut pipe = small(pair).open().unwrap();
        for round in 0..20u8 {
            pipe.writer().copy_in(&vec![round; SMALL]).unwrap();
            let mut back = vec![0; SMALL];
            assert_eq!(pipe.reader().copy_out(&mut back).unwrap(), SMALL);
            assert!(back.iter().all(|&byte| byte == round));
        }
    }

    /// `EAGRE_WAIT_REPORT` says it on standard error without being asked.
    fn invariant_7_long_waits_are_told(pair) {
        let outcome = child::run_with("long_wait", pair, &[("EAGRE_WAIT_REPORT", "0.05")]);
        assert!(outcome.success, "{outcome:?}");
    }
}

pub(crate) const CASES: &[Case] = &[("long_wait", long_wait)];

/// The reader waits until standard error has told of it.
fn long_wait(pair: Pair) {
    let mut pipe = [0; 2];
    // SAFETY: the array takes two descriptors; standard error becomes one of them.
    let told = unsafe {
        assert_eq!(libc::pipe(pipe.as_mut_ptr()), 0);
        assert_eq!(libc::dup2(pipe[1], 2), 2);
        std::fs::File::from_raw_fd(pipe[0])
    };
    let (mut writer, mut reader) = small(pair).name("slow").open().unwrap().split();
    std::thread::scope(|scope| {
        let reading = scope.spawn(move || reader.fill(1).map(<[u8]>::len));
        let line = BufReader::new(told).lines().next().unwrap().unwrap();
        assert!(line.starts_with("eagre: stream slow: the reader has waited"), "{line}");
        writer.fail("long enough");
        assert_eq!(reading.join().unwrap().unwrap_err().kind(), StreamErrorKind::WriterFailed);
    });
}
