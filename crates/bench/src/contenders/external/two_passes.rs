//! What a device could give a sort of two passes: all bytes read, written, read and written again, past the page cache.
//!
//! Several threads keep the device busy; reading and writing do not overlap, which would gain nothing on the devices known.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::input;
use crate::catalogue::{FileSort, Sorter};
use crate::contenders::{Contender, Measured, Trouble};
use crate::corpus::Store;
use crate::memory::{Pages, Region, bytes_of_mut};

/// Threads at once, and bytes each of them moves at a time.
const REQUESTS: u64 = 4;
const PIECE: u64 = 1 << 20;

/// What O_DIRECT wants lengths to be multiples of.
const PAGE: u64 = 4096;

/// Moves all bytes as often as a sort of two passes does.
pub(super) struct TwoPasses {
    pub sort: FileSort,
    pub store: Arc<Store>,
}

impl Contender for TwoPasses {
    fn run(&mut self, size: u64) -> Result<Measured, Trouble> {
        let (_, made) = input(Sorter::TwoPasses, &self.sort, &self.store, size)?;
        let runs = self.store.temporary(self.sort.place)?.join("runs");
        let output = self.store.output(self.sort.place)?;
        // What is left behind the last whole page does not matter.
        let bytes = made.bytes / PAGE * PAGE;
        let start = Instant::now();
        let passes = [(&made.path, &runs), (&runs, &output)];
        let moved = passes.iter().try_fold(0, |sum, (from, to)| Ok(sum + read(from, bytes)? + write(to, bytes)?));
        let took = start.elapsed();
        // Gone before the next contender's clock starts.
        self.store.temporary(self.sort.place)?;
        self.store.output(self.sort.place)?;
        let moved = moved.map_err(|e: io::Error| match e.raw_os_error() {
            Some(libc::EINVAL) => Trouble::Unavailable("this file system has no O_DIRECT".into()),
            _ => Trouble::failed("two passes", e),
        })?;
        Ok(Measured {
            took,
            amount: bytes,
            threads: self.sort.threads,
            answer: moved,
            expected: 4 * bytes,
            process: None,
            counters: vec![],
            timeline: vec![],
        })
    }
}

/// Reads so many bytes of the file at `path`.
fn read(path: &Path, bytes: u64) -> io::Result<u64> {
    let file = File::options().read(true).custom_flags(libc::O_DIRECT).open(path)?;
    each_piece(bytes, |piece, at| file.read_exact_at(piece, at))
}

/// Writes so many bytes to a new file at `path`, to the device.
fn write(path: &Path, bytes: u64) -> io::Result<u64> {
    let file = File::options().write(true).create_new(true).custom_flags(libc::O_DIRECT).open(path)?;
    // Room that is set aside is written by several threads at once.
    rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, bytes)?;
    let written = each_piece(bytes, |piece, at| file.write_all_at(piece, at))?;
    file.sync_all()?;
    Ok(written)
}

/// Does `work` with each piece of a file, by several threads; how many bytes that were.
fn each_piece(bytes: u64, work: impl Fn(&mut [u8], u64) -> io::Result<()> + Sync) -> io::Result<u64> {
    let next = AtomicU64::new(0);
    let some = || -> io::Result<u64> {
        let mut buffer = Region::touched(PIECE as usize, Pages::Small)?;
        let mut done = 0;
        loop {
            let at = next.fetch_add(PIECE, Ordering::Relaxed);
            if at >= bytes {
                return Ok(done);
            }
            let piece = &mut bytes_of_mut(buffer.words_mut())[..PIECE.min(bytes - at) as usize];
            work(piece, at)?;
            done += piece.len() as u64;
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..REQUESTS).map(|_| scope.spawn(some)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or(Err(io::ErrorKind::Other.into()))).sum()
    })
}
