//! Verifying a copy by reading it back.
//!
//! Each piece has its own checksum, which is computed in memory before the piece is written. So pieces can be copied in
//! any order, the offset of a difference is known, and the source is read only once.
//!
//! The bytes must be read from the device:
//!
//! ```text
//! written past the page cache       when the write returns, the device has the bytes and the page cache does not:
//!                                   read back past the cache while later pieces are copied (`pieces`)
//! written through the page cache    made durable, dropped from the cache, and read back past it, at the end
//! ```
//!
//! In both cases a cache inside the device may answer. A reader cannot tell. Waiting for the last piece would not help,
//! because the device may keep any piece in its cache.

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

/// How many requests in flight keep a disk busy with reading.
const THREADS: usize = 4;

/// The checksum of a piece.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sum {
    pub(super) offset: u64,
    pub(super) len: usize,
    sum: u128,
}

/// The checksums of all pieces: 32 bytes per piece, 16 MiB per terabyte.
pub(super) type Sums = Vec<Sum>;

impl Sum {
    pub(super) fn of(offset: u64, bytes: &[u8]) -> Sum {
        Sum { offset, len: bytes.len(), sum: xxh3_128(bytes) }
    }
}

/// Computes the checksums of bytes that arrive from front to back in portions of any size. It cuts them into pieces
/// that can be read back past the cache.
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

/// Reads a target back.
pub(super) struct Back<'f> {
    file: &'f File,
    direct: Option<File>,
}

impl<'f> Back<'f> {
    /// Opens the file for reading back. The access time must not change, because a copy may have its final one already.
    pub(super) fn of(file: &'f File) -> Back<'f> {
        let _ = fs::fcntl_getfl(file).and_then(|flags| fs::fcntl_setfl(file, flags | OFlags::NOATIME));
        let direct = cache::past(file, OFlags::RDONLY | OFlags::NOATIME);
        Back { file, direct: direct.or_else(|| cache::past(file, OFlags::RDONLY)) }
    }

    /// Whether reads go past the page cache.
    pub(super) fn is_direct(&self) -> bool {
        self.direct.is_some()
    }

    /// Reads a piece back and compares its checksum.
    pub(super) fn check(&self, sum: &Sum, buffer: &mut Buffer) -> Result<(), CopyError> {
        let same = self.read(sum, buffer).map_err(CopyError::Target)?.is_some_and(|bytes| xxh3_128(bytes) == sum.sum);
        if same { Ok(()) } else { Err(CopyError::Mismatch(sum.offset)) }
    }

    /// The bytes of a piece. `None` if the file ends before that.
    fn read<'b>(&self, sum: &Sum, buffer: &'b mut Buffer) -> io::Result<Option<&'b [u8]>> {
        // The device reads whole units. The file may end inside the last one.
        let bytes = buffer.bytes(sum.len.next_multiple_of(ALIGN));
        let mut done = 0;
        while done < sum.len {
            let at = sum.offset + done as u64;
            let direct = self.direct.as_ref().filter(|_| at.is_multiple_of(ALIGN as u64) && done.is_multiple_of(ALIGN));
            let read = match direct.map(|direct| direct.read_at(&mut bytes[done..], at)) {
                // The disk has larger units, or the file system no longer supports direct reads.
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

/// Compares `file`, which must be durable and `length` bytes long, with the checksums of its pieces.
pub(super) fn check(sums: &[Sum], file: &File, length: u64) -> Result<(), CopyError> {
    let found = file.metadata().map_err(CopyError::Target)?.len();
    if found != length {
        return Err(CopyError::Mismatch(found.min(length)));
    }
    if sums.is_empty() {
        return Ok(());
    }
    // Bytes in the page cache would prove nothing about the disk.
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
    // In memory, more threads than processors would only take turns.
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
        // Each piece alone, because pieces are checked while others are written.
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
