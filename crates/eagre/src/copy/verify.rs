//! Reading a copy back.
//!
//! Each piece has a checksum of its own, taken from memory before it is written, so that pieces may be carried in any order,
//! a difference has a place, and the source is read once.
//!
//! What comes back has to come from the device:
//!
//! ```text
//! written past the page cache       the write has returned, so the device has the bytes, and no page of ours has them:
//!                                   read back past the cache while later pieces are still on their way (`pieces`)
//! written through the page cache    made durable first, then dropped from the cache, then read back past it: at the end
//! ```
//!
//! A cache inside the device may answer in both cases. No reader can tell, and waiting for the last piece would not help:
//! the device may keep any of them.

use std::fs::File;
use std::io;
use std::num::NonZeroUsize;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread;

use rustix::fs::{self, Advice, OFlags, fadvise};
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

use super::CopyError;
use crate::file::cache::{self, ALIGN, Buffer};

/// A disk that is read needs as many requests in flight as make it busy.
const THREADS: usize = 4;

/// What a piece was.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sum {
    pub(super) offset: u64,
    pub(super) len: usize,
    sum: u128,
}

/// What all pieces were: 32 bytes for each, 16 MiB for a terabyte.
pub(super) type Sums = Vec<Sum>;

impl Sum {
    pub(super) fn of(offset: u64, bytes: &[u8]) -> Sum {
        Sum { offset, len: bytes.len(), sum: xxh3_128(bytes) }
    }
}

/// Checksums of what comes from front to back in portions of any size, cut into pieces that can be read back past the cache.
pub(super) struct Run {
    piece: usize,
    offset: u64,
    len: usize,
    hasher: Xxh3,
    sums: Sums,
}

impl Run {
    pub(super) fn new(piece: usize) -> Run {
        Run { piece, offset: 0, len: 0, hasher: Xxh3::new(), sums: Sums::new() }
    }

    pub(super) fn push(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (now, rest) = bytes.split_at(bytes.len().min(self.piece - self.len));
            self.hasher.update(now);
            self.len += now.len();
            if self.len == self.piece {
                self.cut();
            }
            bytes = rest;
        }
    }

    pub(super) fn finish(mut self) -> Sums {
        if self.len > 0 {
            self.cut();
        }
        self.sums
    }

    fn cut(&mut self) {
        self.sums.push(Sum { offset: self.offset, len: self.len, sum: self.hasher.digest128() });
        self.offset += self.len as u64;
        self.len = 0;
        self.hasher.reset();
    }
}

/// The way back from a target.
pub(super) struct Back<'f> {
    file: &'f File,
    direct: Option<File>,
}

impl<'f> Back<'f> {
    /// What is read back was not read by anybody who counts: a copy may have got the time of its last access already.
    pub(super) fn of(file: &'f File) -> Back<'f> {
        let _ = fs::fcntl_getfl(file).and_then(|flags| fs::fcntl_setfl(file, flags | OFlags::NOATIME));
        let direct = cache::past(file, OFlags::RDONLY | OFlags::NOATIME);
        Back { file, direct: direct.or_else(|| cache::past(file, OFlags::RDONLY)) }
    }

    /// Whether what is read comes past the page cache.
    pub(super) fn is_direct(&self) -> bool {
        self.direct.is_some()
    }

    /// Reads a piece back and compares.
    pub(super) fn check(&self, sum: &Sum, buffer: &mut Buffer) -> Result<(), CopyError> {
        let same = self.read(sum, buffer).map_err(CopyError::Target)?.is_some_and(|bytes| xxh3_128(bytes) == sum.sum);
        if same { Ok(()) } else { Err(CopyError::Mismatch(sum.offset)) }
    }

    /// The bytes of a piece, unless the file ends before.
    fn read<'b>(&self, sum: &Sum, buffer: &'b mut Buffer) -> io::Result<Option<&'b [u8]>> {
        // The device reads whole units; the file may end in the last of them.
        let bytes = buffer.bytes(sum.len.next_multiple_of(ALIGN));
        let mut done = 0;
        while done < sum.len {
            let at = sum.offset + done as u64;
            let direct = self.direct.as_ref().filter(|_| at.is_multiple_of(ALIGN as u64) && done.is_multiple_of(ALIGN));
            let read = match direct.map(|direct| direct.read_at(&mut bytes[done..], at)) {
                // A disk with larger units, or a file system that changed its mind.
                Some(Err(error)) if error.kind() == io::ErrorKind::InvalidInput => None,
                other => other,
            };
            match read.unwrap_or_else(|| self.file.read_at(&mut bytes[done..sum.len], at)) {
                Ok(0) => return Ok(None),
                Ok(read) => done += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Some(&bytes[..sum.len]))
    }
}

/// Compares `file`, which is to be `length` bytes long and is durable, with what pieces of it were.
pub(super) fn check(sums: &[Sum], file: &File, length: u64) -> Result<(), CopyError> {
    let found = file.metadata().map_err(CopyError::Target)?.len();
    if found != length {
        return Err(CopyError::Mismatch(found.min(length)));
    }
    if sums.is_empty() {
        return Ok(());
    }
    // What is still in the page cache says nothing about the disk.
    let _ = fadvise(file, 0, None, Advice::DontNeed);
    let back = Back::of(file);
    let largest = sums.iter().map(|sum| sum.len).max().unwrap_or(0);
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let work = || {
        let mut buffer = Buffer::new(largest).map_err(CopyError::Target)?;
        while !stop.load(Relaxed)
            && let Some(sum) = sums.get(next.fetch_add(1, Relaxed))
        {
            back.check(sum, &mut buffer).inspect_err(|_| stop.store(true, Relaxed))?;
        }
        Ok(())
    };
    // In memory, more threads than processors only take turns.
    let most = if back.is_direct() { THREADS } else { thread::available_parallelism().map_or(1, NonZeroUsize::get) };
    let threads = sums.len().min(most.min(THREADS));
    super::pieces::on_threads(threads, &work, work).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_that_changed_on_the_disk_is_found() {
        let file = tempfile::tempfile().unwrap();
        let bytes: Vec<u8> = (0..3_000_000u32).map(|i| (i % 251) as u8).collect();
        file.write_all_at(&bytes, 0).unwrap();
        let sums: Sums = bytes.chunks(1 << 20).enumerate().map(|(i, piece)| Sum::of((i as u64) << 20, piece)).collect();
        check(&sums, &file, 3_000_000).unwrap();
        file.write_all_at(b"x", 1_500_000).unwrap();
        file.sync_all().unwrap();
        assert!(matches!(check(&sums, &file, 3_000_000), Err(CopyError::Mismatch(0x10_0000))));
        file.write_all_at(&bytes[1_500_000..1_500_001], 1_500_000).unwrap();
        file.set_len(2_999_999).unwrap();
        assert!(matches!(check(&sums, &file, 3_000_000), Err(CopyError::Mismatch(2_999_999))));
        // Each piece by itself, as pieces are checked while others are written.
        let back = Back::of(&file);
        let mut buffer = Buffer::new(1 << 20).unwrap();
        let results: Vec<_> = sums.iter().map(|sum| back.check(sum, &mut buffer)).collect();
        assert!(matches!(results[..], [Ok(()), Ok(()), Err(CopyError::Mismatch(0x20_0000))]), "{results:?}");
    }

    #[test]
    fn portions_of_any_size_make_the_same_pieces() {
        let bytes: Vec<u8> = (0..100_000u32).map(|i| (i % 241) as u8).collect();
        for portion in [1, 1000, 4096, 5000, 16_384, 99_999, 100_000] {
            let mut run = Run::new(8192);
            bytes.chunks(portion).for_each(|portion| run.push(portion));
            let sums = run.finish();
            assert_eq!(sums.len(), 13);
            for (sum, piece) in sums.iter().zip(bytes.chunks(8192)) {
                assert_eq!((sum.len, sum.sum), (piece.len(), xxh3_128(piece)));
            }
            assert!(sums.windows(2).all(|two| two[0].offset + two[0].len as u64 == two[1].offset));
        }
    }
}
