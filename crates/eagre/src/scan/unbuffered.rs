//! Files read past the page cache. The pieces are the blocks of a stream that is filled from the disk.
//!
//! The stream keeps several requests in flight, whatever the scanning threads do. They take its blocks in the order of
//! their numbers, and release them in any order.

use std::fs::File;
use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::plan::Extent;
use super::source::{Seen, Source, cut};
use crate::file::{Caching, ReadOptions};
use crate::{Pipe, ReadBlock, Reader, StreamError, StreamErrorKind};

/// More threads than this would only wait for the disk, and each keeps a block of memory.
pub(super) const THREADS: usize = 8;

/// A file that is read from its disk block by block.
pub(super) struct Unbuffered<'a> {
    file: &'a File,
    state: Mutex<State>,
    /// A block was taken or released.
    changed: Condvar,
}

struct State {
    reader: Reader,
    /// The number of the next block.
    next: u64,
}

impl<'a> Unbuffered<'a> {
    /// Begins to read. The blocks are taken by explicit calls, so the stream needs no addresses, however large the file
    /// is.
    ///
    /// # Errors
    /// The stream or its first block cannot be had, for example because the pool is promised to others. The file can
    /// then be read in another way.
    pub(super) fn new(file: &'a File, extent: &Extent, threads: usize) -> io::Result<Unbuffered<'a>> {
        // Each thread may hold a block, and one of them may be slow.
        let stream = Pipe::builder().lookback(threads as u32);
        let options = ReadOptions::new().caching(Caching::Unbuffered).from(extent.start).stream(stream).explicit();
        let mut reader = options.read(file.try_clone()?, "input")?;
        reader.fill(0)?;
        Ok(Unbuffered { file, state: Mutex::new(State { reader, next: 0 }), changed: Condvar::new() })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Turns an error of the stream into an error of the file, because the caller knows nothing of the stream.
    fn in_words_of_the_file(&self, error: StreamError) -> io::Error {
        match (error.os_error(), io::Error::from(error)) {
            (Some(number), _) => io::Error::from_raw_os_error(number),
            (None, error) if error.kind() == io::ErrorKind::UnexpectedEof => cut(self.file),
            (None, error) => error,
        }
    }

    /// Takes block `number` when it is its turn and the window has room.
    fn take(&self, number: u64) -> io::Result<Option<Taken<'_>>> {
        let mut state = self.lock();
        loop {
            if state.next == number {
                match state.reader.take() {
                    Err(busy) if busy.kind() == StreamErrorKind::Busy => {}
                    taken => {
                        state.next += 1;
                        self.changed.notify_all();
                        let taken = taken.map_err(|error| self.in_words_of_the_file(error))?;
                        return Ok(taken.map(|block| Taken { from: self, block: Some(block) }));
                    }
                }
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Source for Unbuffered<'_> {
    type Lane = ();

    fn lane(&self) {}

    fn look<T>(&self, (): &mut (), number: u64, look: impl FnOnce(u64, &[u8]) -> T) -> io::Result<Option<Seen<T>>> {
        let Some(taken) = self.take(number)? else { return Ok(None) };
        Ok(taken.block.as_ref().map(|block| {
            let bytes = block.as_slice();
            Seen { part: look(block.offset(), bytes), length: bytes.len(), last: false }
        }))
    }
}

/// A block that is released when dropped, also by a panic.
struct Taken<'a> {
    from: &'a Unbuffered<'a>,
    block: Option<ReadBlock>,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        if let Some(block) = self.block.take() {
            self.from.lock().reader.release_block(block);
            self.from.changed.notify_all();
        }
    }
}
