//! How fast scanning could be at best: what this machine reads from memory, and from the disk a file is on.
//!
//! Each takes a tenth of a second or a little more, and is disturbed by whatever else the machine does. To be compared
//! with a scan made a moment before.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use rustix::fs::OFlags;

use super::kernels::Kernels;
use crate::file::cache::{self, Buffer};
use crate::{BlockSize, Pipe, Pool, Trap, WriteBlock};

/// How long is measured.
const LONG: Duration = Duration::from_millis(100);
/// How many blocks of 64 MiB are read from memory: several times what caches hold.
const BLOCKS: u32 = 4;
/// How large the requests to a disk are, and how many are under way.
const REQUEST: u64 = 1 << 20;
const REQUESTS: u64 = 4;

/// Bytes a second that so many threads read from memory in huge pages, counting a byte in them.
///
/// # Errors
/// 256 MiB cannot be had, or threads cannot.
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

/// Bytes a second that come from the disk `file` is on: large requests past the page cache, several under way, for
/// parts of this same file from its beginning.
///
/// # Errors
/// The file system has no such requests, or the file cannot be opened again.
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

/// Lets threads do numbered pieces of work, each of which says how many bytes it was, until time is up.
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
    fn so_has_a_disk() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(8 * REQUEST).unwrap();
        match disk(&file) {
            Ok(rate) => assert!(rate > 0.0, "{rate}"),
            Err(error) => eprintln!("skipped: {error}"),
        }
    }
}
