use super::super::faulty::{Faults, Faulty, pattern};
use super::*;
use crate::Pipe;
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

const BLOCK: usize = BlockSize::MIN.bytes();
const PIECE: usize = 16 << 10;

fn file(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    file
}

fn to_the_end(file: &File) -> Extent {
    Extent { from: 0, exactly: None, expected: file.metadata().unwrap().len() }
}

/// A file behind a faulty device, as a stream, read with blocks of 64 KiB.
fn read_through(file: &File, extent: Extent, faults: Faults) -> Reader {
    let (writer, reader) = Pipe::builder().block_size(BlockSize::MIN).open().unwrap().split();
    let device = file.try_clone().unwrap();
    std::thread::spawn(move || {
        let transfer = Transfer::new(Box::new(Faulty::new(&device, faults)), PIECE);
        pump(writer, transfer, &extent, &Task::read(Path::new("some file")));
    });
    reader
}

fn all_of(mut reader: Reader) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).map(|_| bytes)
}

#[test]
fn every_byte_arrives_in_order_whatever_the_device_does() {
    for len in [0, 1, 511, 512, 4097, PIECE, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 7 * BLOCK + 12_345] {
        let bytes = pattern(len);
        let file = file(&bytes);
        for seed in 0..6 {
            for alignment in [1, 512, 4096] {
                let faults = Faults { seed, alignment, ..Faults::default() };
                let got = all_of(read_through(&file, to_the_end(&file), faults)).unwrap();
                assert!(got == bytes, "{len} bytes, seed {seed}, alignment {alignment}: {} came", got.len());
            }
        }
    }
}

#[test]
fn a_part_of_a_file() {
    let bytes = pattern(5 * BLOCK + 77);
    let file = file(&bytes);
    for from in [0, 512, 3 * BLOCK] {
        for len in [0, 1, BLOCK, BLOCK + 600, 2 * BLOCK] {
            let expected = (bytes.len() - from) as u64;
            let extent = Extent { from: from as u64, exactly: Some(len as u64), expected };
            let faults = Faults { seed: len as u64, alignment: 512, ..Faults::default() };
            assert!(all_of(read_through(&file, extent, faults)).unwrap() == bytes[from..from + len], "{from} {len}");
        }
    }
}

#[test]
fn a_byte_that_cannot_be_read_is_an_error_that_names_it() {
    let file = file(&pattern(6 * BLOCK));
    for bad in [0, 1, 4096, BLOCK as u64 - 1, BLOCK as u64, 5 * BLOCK as u64 + 4097] {
        for seed in 0..4 {
            for alignment in [1, 512] {
                let faults = Faults { seed, alignment, bad: Some((bad, libc::EIO)), ..Faults::default() };
                let out = faults.out.clone();
                let mut reader = read_through(&file, to_the_end(&file), faults);
                let error = loop {
                    match reader.fill(1) {
                        Ok(bytes) => {
                            let len = bytes.len();
                            assert_ne!(len, 0, "the end, and no error");
                            reader.consume(len);
                        }
                        Err(error) => break error,
                    }
                };
                assert!(reader.position() <= bad);
                assert_eq!((error.kind(), error.os_error()), (StreamErrorKind::Io, Some(libc::EIO)));
                let at = bad - bad % alignment as u64;
                let text = error.to_string();
                // Bytes requested again for alignment are good up to the bad byte or its sector.
                let named: u64 = text.rsplit(' ').next().unwrap().parse().unwrap();
                assert!((at..=bad).contains(&named), "{text}, but {bad} is bad");
                assert_eq!(text, format!("read: some file: Input/output error at byte {named}"));
                drop(reader);
                wait_until(|| out.load(SeqCst) == 0);
            }
        }
    }
}

/// Waits until the helper thread has reached a state. The time does not matter.
fn wait_until(done: impl Fn() -> bool) {
    while !done() {
        std::thread::yield_now();
    }
}

#[test]
fn a_file_that_has_become_shorter_is_an_error() {
    for (has, had) in [(0, 1), (BLOCK, BLOCK + 1), (BLOCK + 100, 3 * BLOCK), (2 * BLOCK, 2 * BLOCK + 5)] {
        for exactly in [None, Some(had as u64)] {
            let file = file(&pattern(has));
            let extent = Extent { from: 0, exactly, expected: had as u64 };
            let faults = Faults { seed: 3, alignment: 512, ..Faults::default() };
            let error = all_of(read_through(&file, extent, faults)).unwrap_err();
            assert_eq!(error.kind(), Io::UnexpectedEof);
            assert_eq!(error.to_string(), format!("read: some file: ends at byte {has}, {had} were expected"));
        }
    }
}

#[test]
fn a_file_that_grows_is_read_to_its_new_end() {
    let mut saw_more = false;
    for (had, more) in [(0, 5), (BLOCK - 7, 100), (BLOCK, 3 * BLOCK), (3 * BLOCK + 9, 2 * BLOCK)] {
        for seed in 0..8 {
            let whole = pattern(had + more);
            let file = file(&whole[..had]);
            let grows = Some(Arc::new(whole[had..].to_vec()));
            let faults = Faults { seed, alignment: 512, grows, ..Faults::default() };
            let got = all_of(read_through(&file, to_the_end(&file), faults)).unwrap();
            // The end is the one at some moment of reading. No earlier byte is missing.
            assert!(got.len() >= had && whole.starts_with(&got), "{} of {had} + {more}", got.len());
            saw_more |= got.len() == whole.len();
        }
    }
    assert!(saw_more);
}

#[test]
fn a_device_that_dies_is_an_error() {
    let file = file(&pattern(9 * BLOCK));
    for dies_after in [0, 1, 7, 20] {
        let faults = Faults { seed: 1, dies_after: Some(dies_after), ..Faults::default() };
        let error = all_of(read_through(&file, to_the_end(&file), faults)).unwrap_err();
        assert_eq!(error.kind(), Io::PermissionDenied, "{error}");
    }
}

#[test]
fn what_is_interrupted_for_ever_is_an_error() {
    let file = file(&pattern(BLOCK));
    let faults = Faults { always: Some(libc::EINTR), ..Faults::default() };
    let error = all_of(read_through(&file, to_the_end(&file), faults)).unwrap_err();
    assert!(error.to_string().starts_with("read: some file: Interrupted system call at byte "), "{error}");
    // Otherwise `read_to_end` would have retried forever.
    assert_eq!(error.kind(), Io::Other);
}

#[test]
fn a_file_system_that_refuses_unbuffered_requests_after_all() {
    let bytes = pattern(5 * BLOCK + 3);
    let file = file(&bytes);
    let faults = Faults { seed: 9, alignment: 4096, refuses_direct: true, ..Faults::default() };
    assert!(all_of(read_through(&file, to_the_end(&file), faults)).unwrap() == bytes);
}

#[test]
fn a_reader_that_leaves_ends_it_and_everything_in_flight() {
    let file = file(&pattern(40 * BLOCK));
    for seed in 0..20 {
        let faults = Faults { seed, ..Faults::default() };
        let out = faults.out.clone();
        let (writer, mut reader) = Pipe::builder().block_size(BlockSize::MIN).open().unwrap().split();
        let (device, extent) = (file.try_clone().unwrap(), to_the_end(&file));
        let helper = std::thread::spawn(move || {
            let transfer = Transfer::new(Box::new(Faulty::new(&device, faults)), PIECE);
            pump(writer, transfer, &extent, &Task::read(Path::new("some file")));
        });
        let len = reader.fill(1).unwrap().len();
        reader.consume(len.min(seed as usize * 100));
        drop(reader);
        helper.join().unwrap();
        assert_eq!(out.load(SeqCst), 0);
    }
}
