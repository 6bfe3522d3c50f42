//! What an end tells of itself: counts, failures, windows.

use crate::common::{SMALL, put_through};
use crate::watched;
use eagre_mem::BlockSize;
use eagre_mem::End;
use eagre_mem::process::{Connection, Options, Reader, Writer};
use eagre_mem::stream::{EndStats, StreamErrorKind, Wait, wait_report};
use std::time::{Duration, Instant};

const BLOCK: u64 = SMALL as u64;

fn both() -> (Writer, Reader) {
    let (ours, theirs) = Connection::pair().unwrap();
    let writer = Options::new().block_size(BlockSize::MIN).lookback(2).writer(ours).unwrap();
    (writer, Reader::join(theirs).unwrap())
}

#[test]
fn each_end_counts_what_it_does() {
    let _dog = watched("each_end_counts_what_it_does");
    let (mut writer, mut reader) = both();
    let (written, read) = (writer.control(), reader.control());
    writer.copy_in(&[7; 3 * SMALL + 5]).unwrap();
    let mut bytes = [0; SMALL + 9];
    assert_eq!(reader.copy_out(&mut bytes).unwrap(), bytes.len());

    let stats = written.stats().unwrap();
    assert_eq!((stats.writer.blocks, stats.writer.position, stats.published), (4, 3 * BLOCK + 5, 3));
    assert_eq!((stats.writer.faults, stats.writer.waits, stats.reader), (0, 0, EndStats::default()));
    assert_eq!((stats.held, stats.most), (6, 6));
    assert!(stats.capacity >= 64 << 20 && stats.capacity == read.stats().unwrap().capacity);
    let stats = read.stats().unwrap();
    assert_eq!((stats.reader.blocks, stats.reader.position, stats.released), (2, BLOCK + 9, 1));
    assert!(stats.published == 3 && stats.writer == EndStats::default());
    assert_eq!(reader.lookback(), 2);

    drop((writer, reader));
    assert!(written.stats().is_none() && !written.is_open() && written.failure().is_none());
}

#[test]
fn a_pointer_counts_its_faults_and_a_wait_its_time() {
    let _dog = watched("a_pointer_counts_its_faults_and_a_wait_its_time");
    let (mut writer, mut reader) = both();
    let (written, read) = (writer.control(), reader.control());
    let blocks = 20;
    std::thread::scope(|scope| {
        let reading = scope.spawn(move || {
            let mut bytes = vec![0; 20 * SMALL];
            let done = reader.copy_out(&mut bytes).unwrap();
            (reader, done)
        });
        // SAFETY: forward, in small steps.
        writer.scope(|to| unsafe { put_through(to, 0, blocks * BLOCK, 1000) }).unwrap();
        writer.finish_at(blocks * BLOCK).unwrap();
        let (reader, done) = reading.join().unwrap();
        assert_eq!(done as u64, blocks * BLOCK);
        let stats = written.stats().unwrap();
        // Blocks are moved from the second lap on.
        assert!(stats.writer.faults >= blocks && stats.writer.moves > 0, "{stats:?}");
        let waited = read.stats().unwrap().reader;
        assert_eq!(waited.waits == 0, waited.wait_ns == 0, "{waited:?}");
        drop(reader);
    });
}

#[test]
fn a_control_tells_of_its_end_only() {
    let _dog = watched("a_control_tells_of_its_end_only");
    let (mut writer, mut reader) = both();
    let (written, read) = (writer.control(), reader.control());
    assert!(written == writer.control() && written.clone() == written && written != read);
    assert!(written.failure().is_none());
    writer.fail("the disk is on fire");
    assert_eq!(written.failure().unwrap().kind(), StreamErrorKind::WriterFailed);
    // The other end has not looked yet.
    assert!(read.failure().is_none());
    reader.fill(0).unwrap_err();
    assert_eq!(read.failure().unwrap().detail(), Some("the disk is on fire"));
}

#[test]
fn only_the_block_taken_last_can_be_put_back() {
    let _dog = watched("only_the_block_taken_last_can_be_put_back");
    let ((mut writer, _reader), (mut other, _other)) = (both(), both());
    let (first, second, foreign) = (writer.take().unwrap(), writer.take().unwrap(), other.take().unwrap());
    assert!(writer.is_last_taken(&second) && !writer.is_last_taken(&first) && !writer.is_last_taken(&foreign));
    writer.put_back(second);
    assert!(writer.is_last_taken(&first));
    writer.put_back(first);
    other.put_back(foreign);
}

/// What the report says of an end, once it waits.
fn wait_of(name: &str, end: End) -> Wait {
    loop {
        let found = wait_report().into_iter().find(|wait| wait.stream == name && wait.waiting == end);
        match found {
            Some(wait) => return wait,
            None => std::thread::yield_now(),
        }
    }
}

#[test]
fn who_waits_is_reported() {
    let _dog = watched("who_waits_is_reported");
    for end in [End::Writer, End::Reader] {
        let name = format!("reported {end}");
        let (ours, theirs) = Connection::pair().unwrap();
        let options = Options::new().block_size(BlockSize::MIN).name(&name);
        let (mut writer, mut reader) = (options.writer(ours).unwrap(), Reader::join(theirs).unwrap());
        let said = std::thread::scope(|scope| {
            if end == End::Reader {
                let reading = scope.spawn(move || {
                    reader.copy_out(&mut [0; 2 * SMALL]).unwrap();
                    reader
                });
                let wait = wait_of(&name, end);
                writer.copy_in(&[0; 2 * SMALL]).unwrap();
                drop(reading.join().unwrap());
                wait
            } else {
                let writing = scope.spawn(move || {
                    writer.copy_in(&[0; 6 * SMALL]).unwrap();
                    writer
                });
                let wait = wait_of(&name, end);
                reader.copy_out(&mut [0; SMALL]).unwrap();
                drop(writing.join().unwrap());
                wait
            }
        });
        let what = if end == End::Reader { "to be published by the writer" } else { "to be released by the reader" };
        assert!(said.block == 0 && said.to_string().contains(&format!("for block 0 {what}")), "{said}");
        assert!(wait_report().iter().all(|wait| wait.stream != name), "still reported");
    }
}

#[test]
fn a_wait_in_pieces_is_one_wait() {
    let _dog = watched("a_wait_in_pieces_is_one_wait");
    let (hour, second) = (Duration::from_secs(3600), Duration::from_secs(1));
    let open = |name: &str, limit: Duration| {
        let (ours, theirs) = Connection::pair().unwrap();
        let writer = Options::new().block_size(BlockSize::MIN).name(name).timeout(limit).writer(ours).unwrap();
        (writer, Reader::join(theirs).unwrap())
    };
    let (mut writer, mut reader) = open("waits in pieces", hour);
    let started = Instant::now().checked_sub(second).unwrap();
    assert!(!reader.wait_since(started, Duration::from_millis(1)) && writer.wait_since(started, hour));
    assert!(wait_report().iter().all(|wait| wait.stream != "waits in pieces"), "still reported");
    std::thread::scope(|scope| {
        let reading = scope.spawn(|| reader.wait_since(started, hour) && reader.take().unwrap().is_some());
        let wait = wait_of("waits in pieces", End::Reader);
        assert!(wait.block == 0 && wait.since >= second, "{wait}");
        writer.copy_in(&[9; SMALL]).unwrap();
        assert!(reading.join().unwrap());
    });
    // The time limit ends it, and only a wait in pieces. The other end gets to know.
    let (mut writer, mut reader) = open("waits too long", second);
    assert!(!reader.wait(Duration::from_millis(1)) && reader.control().failure().is_none());
    assert!(reader.wait_since(started, hour));
    assert_eq!(reader.take().unwrap_err().kind(), StreamErrorKind::TimedOut);
    assert_eq!(writer.copy_in(&[0; 6 * SMALL]).unwrap_err().kind(), StreamErrorKind::TimedOut);
    let (_writer, reader) = open("waits long enough", Duration::from_millis(2));
    let started = Instant::now();
    while !reader.wait_since(started, Duration::from_millis(1)) {}
    assert_eq!(reader.control().failure().unwrap().kind(), StreamErrorKind::TimedOut);
}
