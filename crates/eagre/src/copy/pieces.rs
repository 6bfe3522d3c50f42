//! Copies a regular file to a regular file: several threads, each with one piece at a time.
//!
//! ```text
//! file      |==data==|....hole....|=======data=======|
//! pieces    |--|--|--|            |--|--|--|--|--|--|-|      cut at multiples of the piece size
//! threads     take the next piece, read it, write it at the same offset; or read back a piece that was written
//! ```

use std::collections::VecDeque;
use std::fs::{File, Metadata};
use std::io;
use std::num::NonZeroUsize;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use rustix::fs::{OFlags, SeekFrom, seek};
use rustix::io::Errno;

use super::ends::{Sink, Source, Written};
use super::verify::{Back, Sum, Sums};
use super::{CopyError, Method};
use crate::file::cache::{self, Buffer, LEAST_TO_COPY};
use crate::file::output::Output;

/// Past the page cache, a piece is a request to the disk, and there are as many requests in flight as threads: one
/// thread reads while the other writes. With four threads, and with larger pieces, reads and writes disturbed one
/// another.
const DIRECT_PIECE: usize = 2 << 20;
const DIRECT_THREADS: usize = 2;
/// Two more threads for reading back.
const VERIFIED_THREADS: usize = 4;
/// How many pieces may wait to be read back before a thread turns to them.
const LAG: usize = 8;
/// In memory, a piece stays in a second-level cache between reading and writing.
const CACHED_PIECE: usize = 512 << 10;
const CACHED_THREADS: usize = 2;

/// Copies all data of the source, and returns the number of bytes. Pieces that could not be read back on the way are
/// added to `sums`.
pub(super) fn carry(
    source: &File,
    metadata: &Metadata,
    output: &Output,
    sums: Option<&mut Sums>,
    progress: &mut dyn FnMut(u64),
) -> Result<(u64, Method), CopyError> {
    let bytes = metadata.len();
    let stretches = data(source, metadata).map_err(CopyError::Source)?;
    let total: u64 = stretches.iter().map(|(_, len)| len).sum();
    let large = |access| (total >= LEAST_TO_COPY).then_some(access);
    let sink = Sink {
        file: output.file(),
        direct: large(OFlags::WRONLY).and_then(|access| cache::past(output.file(), access)),
    };
    let source = Source { file: source, direct: large(OFlags::RDONLY).and_then(|access| cache::past(source, access)) };
    sink.make_room(bytes, &stretches).map_err(CopyError::Target)?;
    let back = sums.as_ref().filter(|_| sink.direct.is_some()).map(|_| Back::of(output.file()));
    let back = back.filter(Back::is_direct);

    let (piece, most) = match (&sink.direct, &back) {
        (Some(_), None) => (DIRECT_PIECE, DIRECT_THREADS),
        (Some(_), Some(_)) => (DIRECT_PIECE, VERIFIED_THREADS),
        (None, _) => (CACHED_PIECE, thread::available_parallelism().map_or(1, NonZeroUsize::get).min(CACHED_THREADS)),
    };
    let threads = (total.div_ceil(piece as u64) as usize).clamp(1, most);
    let method = Method::Pieces {
        threads,
        piece,
        direct_read: source.direct.is_some(),
        direct_write: sink.direct.is_some(),
        read_back: back.is_some(),
    };
    // A small file should not cost memory that it does not use.
    let room = piece.min(stretches.iter().map(|(_, len)| *len).max().unwrap_or(0) as usize);
    let queue = Queue { stretches, piece: piece as u64, next: Mutex::new((0, 0)) };
    let work = Work {
        source,
        sink,
        queue,
        back,
        unchecked: Mutex::default(),
        done: AtomicU64::new(0),
        stop: AtomicBool::new(false),
        keep: sums.is_some(),
        room,
    };
    let all = on_threads(threads, &|| work.carry(&mut |_| ()), || work.carry(progress));
    let late = all.into_iter().collect::<Result<Vec<_>, _>>()?;
    if let Some(sums) = sums {
        sums.extend(late.into_iter().flatten());
    }
    Ok((total, method))
}

/// Runs `other` on the other threads and `own` on this one. If the system refuses threads, there are fewer.
pub(super) fn on_threads<T: Send>(
    threads: usize,
    other: &(dyn Fn() -> Result<T, CopyError> + Sync),
    own: impl FnOnce() -> Result<T, CopyError>,
) -> Vec<Result<T, CopyError>> {
    thread::scope(|scope| {
        let spawn = |_| thread::Builder::new().spawn_scoped(scope, other).ok();
        let helpers: Vec<_> = (1..threads).map_while(spawn).collect();
        let own = own();
        let joined = helpers.into_iter().map(|helper| helper.join().unwrap_or_else(|_| Err(panicked())));
        std::iter::once(own).chain(joined).collect()
    })
}

pub(super) fn panicked() -> CopyError {
    CopyError::Target(io::Error::other("a thread panicked"))
}

/// The state that the threads share.
struct Work<'f> {
    source: Source<'f>,
    sink: Sink<'f>,
    queue: Queue,
    /// How to read pieces back from the device, if that is wanted.
    back: Option<Back<'f>>,
    /// Pieces that are on the device and were not read back yet.
    unchecked: Mutex<VecDeque<Sum>>,
    done: AtomicU64,
    /// Whether a thread has failed.
    stop: AtomicBool,
    /// Whether to compute checksums.
    keep: bool,
    /// The size of the largest piece in bytes.
    room: usize,
}

impl Work<'_> {
    /// Copies pieces, and reads others back, until nothing is left. Returns the pieces that must still be read back.
    fn carry(&self, progress: &mut dyn FnMut(u64)) -> Result<Sums, CopyError> {
        let done = self.go_on(progress);
        if done.is_err() {
            self.stop.store(true, Relaxed);
        }
        done
    }

    fn go_on(&self, progress: &mut dyn FnMut(u64)) -> Result<Sums, CopyError> {
        let mut buffer = Buffer::new(self.room).map_err(CopyError::Target)?;
        let mut late = Sums::new();
        while !self.stop.load(Relaxed) {
            let len = if let Some(sum) = self.unchecked(LAG) {
                self.check(&sum, &mut buffer)?
            } else if let Some((offset, len)) = self.queue.take() {
                let bytes = buffer.bytes(len);
                self.source.read(bytes, offset).map_err(CopyError::Source)?;
                // The checksum is taken before the write, so it is that of the bytes to be written.
                let sum = self.keep.then(|| Sum::of(offset, bytes));
                let written = self.sink.write(bytes, offset).map_err(CopyError::Target)?;
                match sum {
                    Some(sum) if written == Written::Device && self.back.is_some() => {
                        lock(&self.unchecked).push_back(sum);
                        continue;
                    }
                    sum => late.extend(sum),
                }
                len
            } else if let Some(sum) = self.unchecked(0) {
                self.check(&sum, &mut buffer)?
            } else {
                break;
            };
            progress(self.done.fetch_add(len as u64, Relaxed) + len as u64);
        }
        Ok(late)
    }

    /// The piece that has waited longest to be read back, if more than `lag` pieces wait.
    fn unchecked(&self, lag: usize) -> Option<Sum> {
        let mut waiting = lock(&self.unchecked);
        if waiting.len() > lag { waiting.pop_front() } else { None }
    }

    fn check(&self, sum: &Sum, buffer: &mut Buffer) -> Result<usize, CopyError> {
        if let Some(back) = &self.back {
            back.check(sum, buffer)?;
        }
        Ok(sum.len)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Hands out pieces.
struct Queue {
    stretches: Vec<(u64, u64)>,
    piece: u64,
    /// The current stretch, and how much of it was handed out.
    next: Mutex<(usize, u64)>,
}

impl Queue {
    fn take(&self) -> Option<(u64, usize)> {
        let mut next = lock(&self.next);
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

/// The stretches of a file that hold data, as offsets and lengths.
fn data(file: &File, metadata: &Metadata) -> io::Result<Vec<(u64, u64)>> {
    let length = metadata.len();
    let whole = vec![(0, length)];
    // There are as many blocks as bytes, so there are no holes.
    if metadata.blocks().saturating_mul(512) >= length {
        return Ok(whole);
    }
    let mut stretches = Vec::new();
    let mut at = 0;
    while at < length {
        let start = match seek(file, SeekFrom::Data(at)) {
            Ok(start) => start.min(length),
            // The rest is a hole.
            Err(Errno::NXIO) => break,
            // The file system does not support the query.
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
    use std::os::unix::fs::FileExt;

    /// The copy of `content`, read back from a file with `on_disk`.
    fn carried(content: &[u8], on_disk: &[u8]) -> Option<Result<Sums, CopyError>> {
        let [source, target, disk] = [(); 3].map(|()| tempfile::tempfile().unwrap());
        source.write_all_at(content, 0).unwrap();
        disk.write_all_at(on_disk, 0).unwrap();
        let Some(direct) = cache::past(&target, OFlags::WRONLY) else {
            eprintln!("skipped: there is no way past the page cache here");
            return None;
        };
        let stretches = vec![(0, content.len() as u64)];
        let work = Work {
            source: Source { file: &source, direct: None },
            sink: Sink { file: &target, direct: Some(direct) },
            queue: Queue { stretches, piece: 64 << 10, next: Mutex::new((0, 0)) },
            back: Some(Back::of(&disk)),
            unchecked: Mutex::default(),
            done: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            keep: true,
            room: 64 << 10,
        };
        let mut done = 0;
        let late = work.carry(&mut |bytes| done = bytes);
        assert!(late.is_err() || done == content.len() as u64);
        let mut copy = vec![0; done as usize];
        target.read_exact_at(&mut copy, 0).unwrap();
        assert!(late.is_err() || copy == content);
        Some(late)
    }

    /// Pieces on the device are read back on the way. Only the last one, which is in the page cache, is left.
    #[test]
    fn pieces_are_read_back_on_the_way() {
        let content: Vec<u8> = (0..(3 << 20) + 77_u32).map(|at| (at % 253) as u8).collect();
        let Some(late) = carried(&content, &content) else { return };
        assert_eq!(late.unwrap().iter().map(|sum| (sum.offset, sum.len)).collect::<Vec<_>>(), [(3 << 20, 77)]);
        for at in [0, 1_000_000, 3 << 20] {
            let mut damaged = content.clone();
            damaged[at] ^= 1;
            let late = carried(&content, &damaged).unwrap();
            let piece = at as u64 & !0xffff;
            match late {
                Err(CopyError::Mismatch(offset)) => assert_eq!(offset, piece),
                // This piece is checked when the file is complete.
                Ok(late) => assert!(late.iter().any(|sum| sum.offset == piece), "{at}"),
                other => panic!("{other:?}"),
            }
        }
        // The file ends too early.
        assert!(matches!(carried(&content, &content[..70_000]).unwrap(), Err(CopyError::Mismatch(0x1_0000))));
    }

    #[test]
    fn pieces_cover_the_stretches_and_are_cut_at_multiples() {
        let queue = Queue { stretches: vec![(3, 10), (20, 1), (32, 16)], piece: 8, next: Mutex::new((0, 0)) };
        let pieces: Vec<_> = std::iter::from_fn(|| queue.take()).collect();
        assert_eq!(pieces, [(3, 5), (8, 5), (20, 1), (32, 8), (40, 8)]);
    }
}
