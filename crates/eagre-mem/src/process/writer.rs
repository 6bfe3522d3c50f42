//! The writing end.

use super::connection::Connection;
use super::control::Control;
use super::core::{Core, Touching, User};
use super::open::join;
use super::wait::Missed;
use crate::heap::Shared;
use crate::stream::protocol::Completion;
use crate::stream::{OpenError, StreamError, StreamErrorKind};
use crate::trap::{self, End, Ready};
use crate::units::BlockSize;
use std::io;
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering::*;
use std::time::{Duration, Instant};

/// The writing end of a stream between processes: a pointer, or explicit calls, or one after the other. Its calls are those of
/// [`stream::Writer`](crate::stream::Writer).
///
/// Finish it when all is written. Dropped before, the reader gets an error and not a short stream. Once it has finished this
/// process may end: the reader has the memory.
pub struct Writer {
    core: User,
    completion: Option<Completion>,
    /// How many bytes the last `reserve` gave.
    reserved: usize,
    finished: bool,
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").field("stream", &self.name()).field("position", &self.position()).finish()
    }
}

impl Writer {
    /// Joins a stream that the other process has made with [`Options::reader`](super::Options::reader). Waits until it has.
    ///
    /// # Errors
    /// [`OpenError::Unavailable`]: the other process is gone, or what it sent is no stream; [`OpenError::Setting`]: it is a
    /// writer as well; [`OpenError::Resources`].
    pub fn join(connection: Connection) -> Result<Writer, OpenError> {
        join(connection, End::Writer).map(Writer::new)
    }

    pub(super) fn new(core: User) -> Writer {
        Writer { core, completion: None, reserved: 0, finished: false }
    }

    fn error(&self, kind: StreamErrorKind) -> StreamError {
        StreamError::new(kind, &self.core.config.name, None)
    }

    /// Blocks taken are still out; or the stream has failed, which may be because one of them was dropped.
    fn busy(&self) -> StreamError {
        self.core.status.failure().map_or_else(|| self.error(StreamErrorKind::Busy), |failure| self.core.error(failure))
    }

    /// A handle to cancel the stream from another thread.
    pub fn control(&self) -> Control {
        Control::of(&self.core)
    }

    /// The stream's name, as the process that made it has said.
    pub fn name(&self) -> &str {
        &self.core.config.name
    }

    /// The size of a block.
    pub fn block_size(&self) -> BlockSize {
        self.core.config.block
    }

    /// How many bytes its pointer reaches, as the process that made the stream has said ([`Options::capacity`](super::Options::capacity)).
    /// Past them and a guard there is other memory of this process.
    pub fn capacity(&self) -> u64 {
        self.core.capacity()
    }

    /// The pointer to byte 0 of the stream. Writing through it produces the stream.
    ///
    /// Valid until this end is dropped. A write may touch the furthest block written so far, the `L` blocks before it, and anything
    /// after it. One that comes later goes unnoticed if it is less than `K` blocks behind the furthest, where `K` is the number of
    /// blocks: then the reader may see it, or not; no other block changes. From there on it ends the process with a message. Prefer
    /// [`Writer::scope`], which also tells of failures.
    ///
    /// # Errors
    /// [`StreamErrorKind::NoPointer`] if `EAGRE_TRAP` is `off`. [`StreamErrorKind::OutOfMemory`] if addresses are short.
    /// [`StreamErrorKind::System`] if the handler cannot be installed.
    pub fn as_mut_ptr(&mut self) -> Result<NonNull<u8>, StreamError> {
        pointer(&self.core)
    }

    /// Runs `write` with the pointer to byte 0 of the stream.
    ///
    /// If the stream fails meanwhile, `write` runs on against throw-away pages and its value is dropped. The fault signals are
    /// unblocked in this thread for as long as it runs. System calls that are given addresses without a block get `EFAULT`.
    ///
    /// # Errors
    /// Why the stream failed; those of [`Writer::as_mut_ptr`].
    pub fn scope<T>(&mut self, write: impl FnOnce(*mut u8) -> T) -> Result<T, StreamError> {
        scope(&self.core, |pointer| write(pointer.as_ptr()))
    }

    /// How many bytes have been committed, or declared written by [`Writer::advance_to`].
    pub fn position(&self) -> u64 {
        self.core.position.load(Relaxed)
    }

    /// Declares that a pointer has written everything before `offset`: full blocks before it go to the reader, and the
    /// explicit interface goes on from there.
    ///
    /// # Errors
    /// [`StreamErrorKind::InvalidLength`] if `offset` lies in front of what has been published.
    pub fn advance_to(&mut self, offset: u64) -> Result<(), StreamError> {
        if offset < self.core.config.block.start_of(self.core.given.load(SeqCst)) {
            return Err(self.error(StreamErrorKind::InvalidLength));
        }
        self.advance(offset);
        Ok(())
    }

    /// The position is `offset`; full blocks before it go to the reader.
    fn advance(&self, offset: u64) {
        self.core.position.store(offset, Relaxed);
        self.core.give(self.core.config.block.block_of(offset).min(self.core.taken.load(SeqCst)));
    }

    fn check_idle(&self) -> Result<(), StreamError> {
        match &self.completion {
            Some(completion) if completion.span() > 0 => Err(self.busy()),
            _ if self.finished => Err(self.error(StreamErrorKind::InvalidLength)),
            _ => Ok(()),
        }
    }

    /// Room for at least `bytes` bytes (0 counts as 1) in one contiguous slice, to be filled from the start. Waits for the
    /// reader. The slice may be longer; what it holds has no meaning. [`Writer::commit`] says how much was filled.
    ///
    /// # Errors
    /// The stream's failure. [`StreamErrorKind::TooLarge`] if the bytes would span more than the window's `L + 1` blocks.
    /// [`StreamErrorKind::BehindWindow`] if a pointer has written ahead, and [`Writer::advance_to`] has not said how far.
    pub fn reserve(&mut self, bytes: usize) -> Result<&mut [u8], StreamError> {
        self.check_idle()?;
        let block = self.core.config.block;
        let (position, bytes) = (self.position(), bytes.max(1));
        let (first, last) = (block.block_of(position), block.block_of(position + bytes as u64 - 1));
        if last - first > self.core.behind() {
            return Err(self.error(StreamErrorKind::TooLarge));
        }
        for number in first..=last {
            self.core.bring(Touching::explicit(number)).map_err(|missed| self.core.missed(missed))?;
        }
        let offset = block.within(position);
        self.reserved = (last - first + 1) as usize * block.bytes() - offset;
        // SAFETY: the writer holds blocks `first` to `last`, which are contiguous in the ring and initialised; in this process nobody
        // else touches them until they are published, for which `self` is needed. Another process that does breaks the contract that the
        // module states.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.core.memory(first, offset), self.reserved) })
    }

    /// The first `bytes` bytes of the slice that `reserve` gave are the stream's now. Full blocks go to the reader.
    ///
    /// # Panics
    /// If `bytes` is more than was reserved.
    pub fn commit(&mut self, bytes: usize) {
        assert!(bytes <= self.reserved, "commit of {bytes} bytes, {} reserved", self.reserved);
        self.reserved = 0;
        self.advance(self.position() + bytes as u64);
    }

    /// Appends `bytes`, however many they are.
    ///
    /// # Errors
    /// The stream's failure; some of the bytes may have been appended.
    pub fn copy_in(&mut self, mut bytes: &[u8]) -> Result<(), StreamError> {
        while !bytes.is_empty() {
            let room = self.reserve(0)?;
            let now = room.len().min(bytes.len());
            room[..now].copy_from_slice(&bytes[..now]);
            self.commit(now);
            bytes = &bytes[now..];
        }
        Ok(())
    }

    /// Takes the next block, to be filled while others are being filled: up to `L + 1` at a time, completed in any
    /// order. The position must be at the start of a block.
    ///
    /// # Errors
    /// The stream's failure. [`StreamErrorKind::Busy`] if `L + 1` blocks are out, or the position is inside a block.
    pub fn take(&mut self) -> Result<WriteBlock, StreamError> {
        let taken = self.take_if(|core, touching| core.bring(touching).map(|()| true))?;
        taken.ok_or_else(|| self.busy())
    }

    /// As [`Writer::take`], but does not wait: `None` if the reader must give a block back first.
    ///
    /// # Errors
    /// As [`Writer::take`].
    pub fn try_take(&mut self) -> Result<Option<WriteBlock>, StreamError> {
        self.take_if(Core::try_bring)
    }

    /// Waits until [`Writer::take`] or [`Writer::reserve`] would not wait, but not longer than `limit`. False if the time is up.
    /// True as well if the stream has failed: the next call says why.
    pub fn wait(&self, limit: Duration) -> bool {
        self.core.wait_within(limit, None)
    }

    /// As [`Writer::wait`], for a caller that waits in pieces and looks at something else in between: it has waited for this block since
    /// `started`. That is what reports say, and what counts for the stream's time limit: when it is over, the stream has failed.
    pub fn wait_since(&self, started: Instant, limit: Duration) -> bool {
        self.core.wait_within(limit, Some(started.elapsed()))
    }

    fn take_if(
        &mut self,
        bring: impl Fn(&Core, Touching) -> Result<bool, Missed>,
    ) -> Result<Option<WriteBlock>, StreamError> {
        let (block, position) = (self.core.config.block, self.position());
        let span = self.completion.map_or(0, |completion| completion.span());
        if self.finished || block.within(position) != 0 || span > self.core.behind() {
            return Err(self.busy());
        }
        let mut completion = match self.completion {
            Some(completion) if span > 0 => completion,
            _ => Completion::starting_at(block.block_of(position)),
        };
        let number = completion.next();
        let brought = bring(&self.core, Touching::explicit(number));
        if !brought.map_err(|missed| self.core.missed(missed))? {
            return Ok(None);
        }
        completion.handed_out();
        self.completion = Some(completion);
        Ok(Some(WriteBlock { core: self.core.clone(), number, completed: false }))
    }

    /// A block taken is full. Blocks go to the reader in order, whatever the order of completion.
    ///
    /// # Panics
    /// If the block was taken from another stream.
    pub fn complete(&mut self, mut block: WriteBlock) {
        assert!(Shared::is_same(&block.core, &self.core), "a block of another stream");
        block.completed = true;
        if let Some(completion) = &mut self.completion {
            let done = completion.finished(block.number);
            self.advance(self.core.config.block.start_of(done));
        }
    }

    /// Whether [`Writer::put_back`] takes this block: it is this stream's, and none was taken later that is still out.
    pub fn is_last_taken(&self, block: &WriteBlock) -> bool {
        let mut completion = self.completion;
        let last = completion.as_mut().is_some_and(|completion| completion.taken_back(block.number));
        Shared::is_same(&block.core, &self.core) && last
    }

    /// A block taken is not full, and will not be: it comes back with what it holds. The block taken last comes back
    /// first. If the bytes in it are the stream's last, [`Writer::finish_at`] says how many they are.
    ///
    /// # Panics
    /// If the block was taken from another stream, or one taken later is still out.
    pub fn put_back(&mut self, mut block: WriteBlock) {
        assert!(Shared::is_same(&block.core, &self.core), "a block of another stream");
        let last = self.completion.as_mut().is_some_and(|completion| completion.taken_back(block.number));
        assert!(last, "a block taken later is still out");
        block.completed = true;
    }

    /// Ends the stream at the position.
    ///
    /// # Errors
    /// As [`Writer::finish_at`].
    pub fn finish(&mut self) -> Result<(), StreamError> {
        self.finish_at(self.position())
    }

    /// Ends the stream at `length` bytes, for a writer on a pointer. The rest of the last block reads as zero, at least
    /// one byte of it. May wait for the reader to give a block back, not for it to read all.
    ///
    /// # Errors
    /// The stream's failure; [`StreamErrorKind::InvalidLength`] if more was published, which fails the stream;
    /// [`StreamErrorKind::Busy`] if blocks taken are still out.
    pub fn finish_at(&mut self, length: u64) -> Result<(), StreamError> {
        self.check_idle()?;
        self.reserved = 0;
        let core = &*self.core;
        let block = core.config.block;
        let blocks = block.block_of(length) + 1;
        if blocks <= core.given.load(SeqCst) {
            core.fail((StreamErrorKind::InvalidLength, End::Writer).into());
        }
        // What no one has touched yet, this touch brings in, zeroed.
        if let Err(missed) = core.bring(Touching { zero: true, ..Touching::explicit(blocks - 1) }) {
            let Missed::Failed(failure) = missed else { return Err(core.missed(missed)) };
            // Nobody is left who could miss the last block.
            let read_to_its_end = core.other_half().length.load(SeqCst) == length + 1;
            if failure.kind == StreamErrorKind::ReaderGone && read_to_its_end && core.status.forgive(failure) {
                self.finished = true;
                return Ok(());
            }
            return Err(core.error(failure));
        }
        let offset = block.within(length);
        // SAFETY: the writer holds its last block until it is given on below.
        unsafe { core.memory(blocks - 1, offset).write_bytes(0, block.bytes() - offset) };
        core.position.store(length, Relaxed);
        // Before the last block: who sees that must see where it ends.
        core.own_half().length.store(length + 1, SeqCst);
        core.give(blocks);
        self.finished = true;
        Ok(())
    }

    /// Fails the stream: the reader gets [`StreamErrorKind::WriterFailed`] with the first 512 bytes of this message.
    pub fn fail(&mut self, message: &str) {
        self.core.fail_with(StreamErrorKind::WriterFailed, 0, message);
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if !self.finished {
            self.core.fail((StreamErrorKind::WriterGone, End::Writer).into());
        }
    }
}

impl io::Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        let room = self.reserve(0)?;
        let now = room.len().min(bytes.len());
        room[..now].copy_from_slice(&bytes[..now]);
        self.commit(now);
        Ok(now)
    }

    /// Does nothing: bytes reach the reader in whole blocks, the last ones when the stream is finished.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The pointer of an end.
pub(super) fn pointer(core: &Core) -> Result<NonNull<u8>, StreamError> {
    core.check().map_err(|missed| core.missed(missed))?;
    let start = core.pointer()?;
    let system = |errno: crate::sys::Errno| {
        StreamError::new(StreamErrorKind::System, &core.config.name, Some(errno.to_string()))
    };
    trap::reinstall_handler(core.context()).map_err(system)?;
    NonNull::new(ptr::with_exposed_provenance_mut(start))
        .ok_or_else(|| StreamError::new(StreamErrorKind::NoPointer, &core.config.name, None))
}

/// Runs a closure on the pointer of an end.
pub(super) fn scope<T>(core: &Core, run: impl FnOnce(NonNull<u8>) -> T) -> Result<T, StreamError> {
    let pointer = pointer(core)?;
    let system = |errno: crate::sys::Errno| {
        StreamError::new(StreamErrorKind::System, &core.config.name, Some(errno.to_string()))
    };
    let _ready = Ready::new(core.context()).map_err(system)?;
    let value = run(pointer);
    core.check().map(|()| value).map_err(|missed| core.missed(missed))
}

/// A block taken from a writer, to be filled and completed. May travel to another thread.
///
/// Dropped without being completed it fails the stream.
pub struct WriteBlock {
    core: User,
    number: u64,
    completed: bool,
}

impl std::fmt::Debug for WriteBlock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WriteBlock").field("offset", &self.offset()).finish()
    }
}

impl WriteBlock {
    /// Where the block begins in the stream.
    pub fn offset(&self) -> u64 {
        self.core.config.block.start_of(self.number)
    }

    /// The bytes of the block; what they hold has no meaning.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: the writer holds the block until it is completed, which takes this value, and hands it out once. The
        // memory lives as long as `core`. The reading process has nothing to do there, as the module states.
        unsafe { std::slice::from_raw_parts_mut(self.core.memory(self.number, 0), self.core.config.block.bytes()) }
    }
}

impl Drop for WriteBlock {
    fn drop(&mut self) {
        if !self.completed {
            self.core.fail((StreamErrorKind::WriterGone, End::Writer).into());
        }
    }
}
