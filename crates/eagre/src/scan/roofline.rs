//! The highest speed at which a scan can run: how fast this machine reads memory, and the disk a file is on.
//!
//! Each measurement takes a tenth of a second or a little more, and other work on the machine disturbs it. Compare the
//! result with a scan made just before.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use rustix::fs::OFlags;

use super::kernels::Kernels;
use crate::file::cache::{self, Buffer};
use crate::{BlockSize, Pipe, Pool, Trap, WriteBlock};

/// The duration of a measurement.
const LONG: Duration = Duration::from_millis(100);
/// The number of blocks of 64 MiB that are read from memory. Together they are several times as large as caches.
const BLOCKS: u32 = 4;
/// The size of requests to the disk, and how many are in flight.
const REQUEST: u64 = 1 << 20;
const REQUESTS: u64 = 4;

/// The rate, in bytes per second, at which `threads` threads count a byte in memory that consists of huge pages.
///
/// # Errors
/// The system refuses 256 MiB of memory, or the threads.
pub fn memory(threads: usize) -> io::Result<f64> {
    let kernels = Kernels::best();
    let other = |error: &dyn std::error::Error| io::Error::other(error.to_string());
    let pool = Pool::new(BlockSize::MAX, BLOCKS + 1, Some(Trap::Off), None).map_err(|error| other(&error))?;
    let pipe = Pipe::builder().pool(&pool).trap(Trap::Off).block_size(BlockSize::MAX);
    let pipe = pipe.rewrite(BLOCKS - 1).lookback(0).read_ahead(1).open().map_err(|error| other(&error))?;
    let (mut writer, _reader) = pipe.split();
    let taken: Result<Vec<WriteBlock>, _> = (0..BLOCKS).map(|_| writer.take()).collect();
    let mut taken = taken.map_err(|error| other(&error))?;
    let blocks: Vec<&[u8]> = taken
        .iter_mut()
        .map(|block| {
            block.as_mut_slice().fill(1);
            &*block.as_mut_slice()
        })
        .collect();
    let piece = |number: u64| {
        let (block, at) = (number as usize / 32 % blocks.len(), number as usize % 32 * (2 << 20));
        std::hint::black_box(kernels.count(b'\n', &blocks[block][at..at + (2 << 20)]));
        Ok(2 << 20)
    };
    rate(threads, || piece)
}

/// The rate, in bytes per second, at which the disk delivers the beginning of `file`. The requests are large, go past
/// the page cache, and several are in flight.
///
/// # Errors
/// The file system does not support requests past the page cache, or the file cannot be opened again.
pub fn disk(file: &File) -> io::Result<f64> {
    let direct = cache::reopen_past(file, OFlags::RDONLY)?;
    let requests = (direct.metadata()?.len() / REQUEST).max(1);
    rate(REQUESTS as usize, || {
        let mut buffer = Buffer::new(REQUEST as usize);
        let direct = &direct;
        move |number| {
            let bytes = buffer.as_mut().map_err(|error| error.kind())?.bytes(REQUEST as usize);
            Ok(direct.read_at(bytes, number % requests * REQUEST)? as u64)
        }
    })
}

/// Runs numbered jobs on several threads until the time is up. Each job returns how many bytes it processed.
fn rate<W: FnMut(u64) -> io::Result<u64>>(threads: usize, worker: impl Fn() -> W + Sync) -> io::Result<f64> {
    let (next, bytes) = (AtomicU64::new(0), AtomicU64::new(0));
    let started = Instant::now();
    std::thread::scope(|scope| {
        let work = || {
            let mut work = worker();
            while started.elapsed() < LONG {
                bytes.fetch_add(work(next.fetch_add(1, Relaxed))?, Relaxed);
            }
            Ok(())
        };
        let spawn = |_| std::thread::Builder::new().spawn_scoped(scope, work);
        let helpers = (1..threads).map(spawn).collect::<io::Result<Vec<_>>>()?;
        let own: io::Result<()> = work();
        helpers.into_iter().map(|helper| helper.join().unwrap_or(Ok(()))).fold(own, Result::and)
    })?;
    Ok(bytes.into_inner() as f64 / started.elapsed().as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_has_a_speed() {
        match memory(1) {
            Ok(rate) => assert!(rate > 1e6, "{rate}"),
            Err(error) => eprintln!("skipped: {error}"),
        }
    }

    #[test]
    fn a_disk_has_a_speed() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(8 * REQUEST).unwrap();
        match disk(&file) {
            Ok(rate) => assert!(rate > 0.0, "{rate}"),
            Err(error) => eprintln!("skipped: {error}"),
        }
    }
}
