use super::super::faulty::{Faults, Faulty, pattern};
use super::*;
use crate::Pipe;
use std::io::Write;
use std::os::unix::fs::FileExt;

const BLOCK: usize = BlockSize::MIN.bytes();
const PIECE: usize = 16 << 10;

/// Writes `bytes` through a faulty device. Returns the length or the error of the helper, and the result of the writer.
fn write_through(file: &File, bytes: &[u8], faults: Faults) -> (io::Result<u64>, Result<(), StreamError>) {
    let (mut writer, reader) = Pipe::builder().block_size(BlockSize::MIN).open().unwrap().split();
    let device = file.try_clone().unwrap();
    let helper = std::thread::spawn(move || {
        let ahead = Ahead::new(device.try_clone().unwrap());
        let transfer = Transfer::new(Box::new(Faulty::new(&device, faults)), PIECE);
        pump(reader, transfer, Some(ahead), &Task::write(Path::new("some file")))
    });
    let wrote = writer.copy_in(bytes).and_then(|()| writer.finish());
    if wrote.is_err() {
        drop(writer);
    }
    (helper.join().unwrap(), wrote)
}

#[test]
fn every_byte_gets_to_its_place_whatever_the_device_does() {
    for len in [0, 1, 511, 512, 4097, PIECE, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 7 * BLOCK + 12_345] {
        let bytes = pattern(len);
        for seed in 0..6 {
            for alignment in [1, 512, 4096] {
                let file = tempfile::tempfile().unwrap();
                let faults = Faults { seed, alignment, ..Faults::default() };
                let (written, wrote) = write_through(&file, &bytes, faults);
                assert_eq!((written.unwrap(), wrote), (len as u64, Ok(())));
                let mut got = vec![0; len];
                file.read_exact_at(&mut got, 0).unwrap();
                assert!(got == bytes, "{len} bytes, seed {seed}, alignment {alignment}");
            }
        }
    }
}

#[test]
fn a_disk_that_is_full_is_an_error_at_both_ends() {
    let bytes = pattern(30 * BLOCK);
    for bad in [0, BLOCK as u64 + 512, 29 * BLOCK as u64] {
        for seed in 0..4 {
            let file = tempfile::tempfile().unwrap();
            let faults = Faults { seed, alignment: 512, bad: Some((bad, libc::ENOSPC)), ..Faults::default() };
            let (written, wrote) = write_through(&file, &bytes, faults);
            let error = written.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::StorageFull);
            assert!(error.to_string().starts_with("write: some file: No space left on device at byte "), "{error}");
            // At the very end, the writer may have finished before the error.
            if bad < 20 * BLOCK as u64 {
                let error = wrote.unwrap_err();
                assert_eq!((error.kind(), error.os_error()), (StreamErrorKind::Io, Some(libc::ENOSPC)));
            }
        }
    }
}

#[test]
fn a_device_that_dies_is_an_error() {
    let bytes = pattern(30 * BLOCK);
    for dies_after in [0, 1, 9] {
        let faults = Faults { seed: 1, dies_after: Some(dies_after), ..Faults::default() };
        let (written, wrote) = write_through(&tempfile::tempfile().unwrap(), &bytes, faults);
        assert_eq!(written.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        assert_eq!(wrote.unwrap_err().kind(), StreamErrorKind::Io);
    }
}

#[test]
fn room_is_set_aside_ahead() {
    let file = tempfile::tempfile().unwrap();
    let mut ahead = Ahead::new(file.try_clone().unwrap());
    ahead.reach(1);
    let first = file.metadata().unwrap().len();
    ahead.reach(Ahead::FIRST + 1);
    // On a file system without allocation, the writes extend the file.
    assert!(first == 0 || (first == Ahead::FIRST && file.metadata().unwrap().len() == 3 * Ahead::FIRST));
}

#[test]
fn a_dropped_writer_leaves_no_file() {
    let room = tempfile::tempdir().unwrap();
    for bytes in [0, 100, 3 * BlockSize::DEFAULT.bytes()] {
        let mut writer = WriteOptions::new().create(room.path().join("file")).unwrap();
        writer.write_all(&pattern(bytes)).unwrap();
        drop(writer);
        assert_eq!(std::fs::read_dir(room.path()).unwrap().count(), 0);
    }
}

#[test]
fn a_file_finished_unseen_appears_when_committed() {
    let room = tempfile::tempdir().unwrap();
    let path = room.path().join("file");
    let bytes = pattern(BLOCK + 7);
    let mut writer = WriteOptions::new().create(&path).unwrap();
    writer.write_all(&bytes).unwrap();
    let output = writer.finish_unseen().unwrap();
    assert_eq!(std::fs::read_dir(room.path()).unwrap().count(), 0);
    output.commit().unwrap();
    assert!(std::fs::read(&path).unwrap() == bytes);
    let mut writer = WriteOptions::new().create(&path).unwrap();
    writer.write_all(b"other").unwrap();
    drop(writer.finish_unseen().unwrap());
    assert!(std::fs::read(&path).unwrap() == bytes);
    assert_eq!(std::fs::read_dir(room.path()).unwrap().count(), 1);
}
