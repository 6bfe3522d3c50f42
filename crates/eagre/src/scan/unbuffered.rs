//! Files past the page cache: pieces are the blocks of a stream that is filled from the disk.
//!
//! The stream keeps several requests on their way, whatever the threads here do. They take its blocks in turn, in the
//! order of their numbers, and give them back in any.

use std::fs::File;
use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::plan::Extent;
use super::source::{Seen, Source, cut};
use crate::file::{Caching, ReadOptions};
use crate::{Pipe, ReadBlock, Reader, StreamError, StreamErrorKind};

/// More threads than this wait for the disk, and each keeps a block of memory.
pub(super) const THREADS: usize = 8;

/// A file that comes from its disk block by block.
pub(super) struct Unbuffered<'a> {
    file: &'a File,
    state: Mutex<State>,
    /// A block was taken or given back.
    changed: Condvar,
}

struct State {
    reader: Reader,
    /// The number of the block that comes next.
    next: u64,
}

impl<'a> Unbuffered<'a> {
    /// Begins to read. Blocks are taken and given back, so the stream needs no addresses, however large the file.
    ///
    /// # Errors
    /// No stream, or no first block: the pool may be promised to others. The file can be read in other ways then.
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

    /// The stream's errors tell of a stream; the caller knows of a file only.
    fn in_words_of_the_file(&self, error: StreamError) -> io::Error {
        match (error.os_error(), io::Error::from(error)) {
            (Some(number), _) => io::Error::from_raw_os_error(number),
            (None, error) if error.kind() == io::ErrorKind::UnexpectedEof => cut(self.file),
            (None, error) => error,
        }
    }

    /// Takes block `number` when it is its turn, and room in the window.
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

/// A block, given back when it is done with, be it by a panic.
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
