//! Regular file to regular file: several threads, each with one piece at a time.
//!
//! ```text
//! file      |==data==|....hole....|=======data=======|
//! pieces    |--|--|--|            |--|--|--|--|--|--|-|      cut at multiples of the piece's size
//! threads     take the next one, read it, write it at the same offset
//! ```

use std::fs::{File, Metadata};
use std::io;
use std::num::NonZeroUsize;
use std::os::unix::fs::MetadataExt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;

use rustix::fs::{OFlags, SeekFrom, seek};
use rustix::io::Errno;

use super::ends::{Buffer, Sink, Source, past_the_cache};
use super::verify::{Sum, Sums};
use super::{CopyError, Plan};
use crate::file::output::Output;

/// Past the page cache, a piece is a request to the disk, and as many are in flight as there are threads: one reads while
/// the other writes. With four, and with larger pieces, reads and writes were in each other's way.
const DIRECT_PIECE: usize = 2 << 20;
const DIRECT_THREADS: usize = 2;
/// In memory, a piece stays in a second-level cache between being read and being written.
const CACHED_PIECE: usize = 512 << 10;
const CACHED_THREADS: usize = 2;
/// A file smaller than that is not worth going past the page cache.
const LEAST_DIRECT: u64 = 1 << 20;

/// Carries all data of the source, and returns how many bytes that were.
pub(super) fn carry(
    source: &File,
    metadata: &Metadata,
    output: &Output,
    sums: Option<&mut Sums>,
    progress: &mut dyn FnMut(u64),
) -> Result<(u64, Plan), CopyError> {
    let bytes = metadata.len();
    let stretches = data(source, metadata).map_err(CopyError::Source)?;
    let total: u64 = stretches.iter().map(|(_, len)| len).sum();
    let large = |access| (total >= LEAST_DIRECT).then_some(access);
    let sink = Sink {
        file: output.file(),
        direct: large(OFlags::WRONLY).and_then(|access| past_the_cache(output.file(), access)),
    };
    let source =
        Source { file: source, direct: large(OFlags::RDONLY).and_then(|access| past_the_cache(source, access)) };
    sink.make_room(bytes, &stretches).map_err(CopyError::Target)?;

    let (piece, most) = match sink.direct {
        Some(_) => (DIRECT_PIECE, DIRECT_THREADS),
        None => (CACHED_PIECE, thread::available_parallelism().map_or(1, NonZeroUsize::get).min(CACHED_THREADS)),
    };
    let threads = (total.div_ceil(piece as u64) as usize).clamp(1, most);
    let plan =
        Plan::Pieces { threads, piece, direct_read: source.direct.is_some(), direct_write: sink.direct.is_some() };
    let queue = Queue { stretches, piece: piece as u64, next: Mutex::new((0, 0)) };
    let work =
        Work { source, sink, queue, done: AtomicU64::new(0), stop: AtomicBool::new(false), keep: sums.is_some() };
    let buffer = Buffer::new(piece).map_err(CopyError::Source)?;
    let carried: Vec<_> = thread::scope(|scope| {
        // Where there are no more threads, or buffers for them, fewer do it.
        let help = || Buffer::new(piece).map_or_else(|_| Ok(Vec::new()), |buffer| work.carry(buffer, &mut |_| ()));
        let spawn = |_| thread::Builder::new().spawn_scoped(scope, help).ok();
        let helpers: Vec<_> = (1..threads).map_while(spawn).collect();
        let own = work.carry(buffer, progress);
        let joined = helpers.into_iter().map(|helper| helper.join().unwrap_or_else(|_| Err(panicked())));
        std::iter::once(own).chain(joined).collect()
    });
    let mut all = Vec::new();
    for sums in carried {
        all.extend(sums?);
    }
    if let Some(sums) = sums {
        sums.extend(all);
    }
    Ok((total, plan))
}

fn panicked() -> CopyError {
    CopyError::Target(io::Error::other("a thread panicked"))
}

/// What the threads share.
struct Work<'f> {
    source: Source<'f>,
    sink: Sink<'f>,
    queue: Queue,
    done: AtomicU64,
    /// One of them has failed.
    stop: AtomicBool,
    /// Whether checksums are wanted.
    keep: bool,
}

impl Work<'_> {
    fn carry(&self, mut buffer: Buffer, progress: &mut dyn FnMut(u64)) -> Result<Vec<Sum>, CopyError> {
        let mut sums = Vec::new();
        while !self.stop.load(Relaxed)
            && let Some((offset, len)) = self.queue.take()
        {
            let bytes = buffer.bytes(len);
            let carried = self.source.read(bytes, offset).map_err(CopyError::Source);
            let carried = carried.and_then(|()| self.sink.write(bytes, offset).map_err(CopyError::Target));
            if carried.is_err() {
                self.stop.store(true, Relaxed);
            }
            carried?;
            if self.keep {
                sums.push(Sum::of(offset, bytes));
            }
            progress(self.done.fetch_add(len as u64, Relaxed) + len as u64);
        }
        Ok(sums)
    }
}

/// Gives out pieces.
struct Queue {
    stretches: Vec<(u64, u64)>,
    piece: u64,
    /// The stretch, and how much of it is given out.
    next: Mutex<(usize, u64)>,
}

impl Queue {
    fn take(&self) -> Option<(u64, usize)> {
        let mut next = self.next.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let (start, len) = *self.stretches.get(next.0)?;
        let offset = start + next.1;
        let now = (self.piece - offset % self.piece).min(len - next.1);
        next.1 += now;
        if next.1 == len {
            *next = (next.0 + 1, 0);
        }
        Some((offset, now as usize))
    }
}

/// The stretches of a file that hold data: offsets and lengths.
fn data(file: &File, metadata: &Metadata) -> io::Result<Vec<(u64, u64)>> {
    let length = metadata.len();
    let whole = vec![(0, length)];
    // As many blocks as bytes: no holes.
    if metadata.blocks().saturating_mul(512) >= length {
        return Ok(whole);
    }
    let mut stretches = Vec::new();
    let mut at = 0;
    while at < length {
        let start = match seek(file, SeekFrom::Data(at)) {
            Ok(start) => start.min(length),
            // Only a hole is left.
            Err(Errno::NXIO) => break,
            // The file system does not tell.
            Err(Errno::INVAL | Errno::OPNOTSUPP) => return Ok(whole),
            Err(error) => return Err(error.into()),
        };
        let end = match seek(file, SeekFrom::Hole(start)) {
            Ok(end) => end.min(length),
            Err(Errno::NXIO) => break,
            Err(error) => return Err(error.into()),
        };
        if end > start {
            stretches.push((start, end - start));
        }
        at = end;
    }
    Ok(stretches)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_the_stretches_and_are_cut_at_multiples() {
        let queue = Queue { stretches: vec![(3, 10), (20, 1), (32, 16)], piece: 8, next: Mutex::new((0, 0)) };
        let pieces: Vec<_> = std::iter::from_fn(|| queue.take()).collect();
        assert_eq!(pieces, [(3, 5), (8, 5), (20, 1), (32, 8), (40, 8)]);
    }
}
