//! The writing end.

use super::control::Control;
use super::core::{Core, Touching};
use super::error::{Failure, StreamError, StreamErrorKind};
use super::lifecycle::User;
use super::pointer::{self, Scope};
use super::protocol::Completion;
use super::wait::Missed;
use crate::heap::Shared;
use crate::trap::End;
use std::io;
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering::*;
use std::time::{Duration, Instant};

/// The writing end of a stream: a pointer, or explicit calls, or one after the other.
///
/// Finish it when all is written. Dropped before, the reader gets an error and not a short stream.
pub struct Writer {
    user: User,
    completion: Option<Completion>,
    /// Stands in for a stretch of the window that is not contiguous.
    bounce: Vec<u8>,
    /// How many bytes the last `reserve` gave, and whether they are in `bounce`.
    reserved: usize,
    bounced: bool,
    finished: bool,
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").field("stream", &self.user.config.name).field("position", &self.position()).finish()
    }
}

impl Writer {
    pub(crate) fn new(core: &Shared<Core>) -> Writer {
        Writer {
            user: User::of(core),
            completion: None,
            bounce: Vec::new(),
            reserved: 0,
            bounced: false,
            finished: false,
        }
    }

    pub(crate) fn core(&self) -> &Shared<Core> {
        &self.user.0
    }

    fn error(&self, kind: StreamErrorKind) -> StreamError {
        StreamError::new(kind, &self.user.config.name, None)
    }

    /// Blocks taken are still out; or the stream has failed, which may be because one of them was dropped.
    fn busy(&self) -> StreamError {
        self.user.status.failure().map_or_else(|| self.error(StreamErrorKind::Busy), |failure| self.failed(failure))
    }

    fn failed(&self, failure: Failure) -> StreamError {
        self.user.error(failure)
    }

    /// A handle to watch and cancel the stream.
    pub fn control(&self) -> Control {
        Control(self.user.0.clone())
    }

    /// The pointer to byte 0 of the stream. Writing through it produces the stream.
    ///
    /// Valid until this end is dropped. A write may touch the furthest block written so far, the `L` blocks before it,
    /// and anything after it up to the capacity; a write further back ends the process with a message (the block has
    /// been published). Prefer [`Writer::scope`], which also tells of failures.
    ///
    /// This call puts the handler of SIGSEGV and SIGBUS on top of any that was installed since the stream was opened. A handler that is
    /// installed later, and does not pass on what it does not know, gets the faults of this pointer.
    ///
    /// # Errors
    /// [`StreamErrorKind::NoPointer`] if the stream's trap is `off`. [`StreamErrorKind::System`] if the handler cannot be installed.
    pub fn as_mut_ptr(&mut self) -> Result<NonNull<u8>, StreamError> {
        let pointer = self.pointer()?;
        pointer::check_handler(&self.user)?;
        self.user.raw.store(true, SeqCst);
        Ok(pointer)
    }

    fn pointer(&self) -> Result<NonNull<u8>, StreamError> {
        let start = self.user.own_address(End::Writer, 0).ok_or_else(|| self.user.no_pointer())?;
        NonNull::new(ptr::with_exposed_provenance_mut(start)).ok_or_else(|| self.user.no_pointer())
    }

    /// Runs `write` with the pointer to byte 0 of the stream.
    ///
    /// If the stream fails meanwhile, `write` runs on against throw-away pages and its value is dropped (see
    /// [`OnFailure`](super::OnFailure)). Under the `signal` trap the fault signals are unblocked in this thread for as
    /// long as it runs.
    ///
    /// # Errors
    /// Why the stream failed.
    pub fn scope<T>(&mut self, write: impl FnOnce(*mut u8) -> T) -> Result<T, StreamError> {
        let pointer = self.pointer()?;
        let scope = Scope::enter(&self.user)?;
        let value = write(pointer.as_ptr());
        scope.leave().map(|()| value)
    }

    /// How many bytes have been committed, or declared written by [`Writer::advance_to`].
    pub fn position(&self) -> u64 {
        self.user.side(End::Writer).position.load(Relaxed)
    }

    /// Declares that a pointer has written everything before `offset`: full blocks before it go to the reader, and the
    /// explicit interface goes on from there.
    ///
    /// # Errors
    /// [`StreamErrorKind::InvalidLength`] if `offset` lies in front of what has been published.
    pub fn advance_to(&mut self, offset: u64) -> Result<(), StreamError> {
        if offset < self.user.config.block.start_of(self.user.flow.load().published) {
            return Err(self.error(StreamErrorKind::InvalidLength));
        }
        self.user.side(End::Writer).position.store(offset, Relaxed);
        self.publish(self.user.config.block.block_of(offset));
        Ok(())
    }

    /// Whether the stream has been ended.
    pub(crate) fn is_finished(&self) -> bool {
        self.finished
    }

    fn check_idle(&self) -> Result<(), StreamError> {
        match &self.completion {
            Some(completion) if completion.span() > 0 => Err(self.busy()),
            _ if self.finished => Err(self.error(StreamErrorKind::InvalidLength)),
            _ => Ok(()),
        }
    }

    fn bring(&self, touching: Touching) -> Result<(), StreamError> {
        self.user.bring(touching).map_err(|missed| self.user.missed(missed))
    }

    /// Room for at least `bytes` contiguous bytes (0 counts as 1), more if that costs nothing. Waits for the reader.
    ///
    /// The slice holds bytes of no meaning; [`Writer::commit`] says how many of them are the stream's now.
    ///
    /// # Errors
    /// The stream's failure. [`StreamErrorKind::TooLarge`] if the bytes would span more than the window's `L + 1` blocks.
    /// [`StreamErrorKind::BehindWindow`] if a pointer has written ahead, and [`Writer::advance_to`] has not said how far.
    pub fn reserve(&mut self, bytes: usize) -> Result<&mut [u8], StreamError> {
        self.check_idle()?;
        let block = self.user.config.block;
        let (position, bytes) = (self.position(), bytes.max(1));
        let (first, last) = (block.block_of(position), block.block_of(position + bytes as u64 - 1));
        if last - first > u64::from(self.user.config.windows.rewrite) {
            return Err(self.error(StreamErrorKind::TooLarge));
        }
        for block in first..=last {
            self.bring(Touching::explicit(End::Writer, block))?;
        }
        let offset = block.within(position);
        self.reserved = ((last - first + 1) as usize * block.bytes()) - offset;
        self.bounced =
            !self.user.make_contiguous(End::Writer, first, last).map_err(|missed| self.user.missed(missed))?;
        if self.bounced {
            self.reserved = bytes;
            self.bounce.resize(bytes, 0);
            return Ok(&mut self.bounce);
        }
        // SAFETY: the writer holds blocks `first` to `last`, which lie one after the other; the bytes are initialised
        // (the pool zeroes) and nobody else touches them until they are published, for which `self` is needed.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.user.memory(first, offset), self.reserved) })
    }

    /// The first `bytes` bytes of the slice that `reserve` gave are the stream's now. Full blocks go to the reader.
    ///
    /// # Panics
    /// If `bytes` is more than was reserved.
    pub fn commit(&mut self, bytes: usize) {
        assert!(bytes <= self.reserved, "commit of {bytes} bytes, {} reserved", self.reserved);
        if self.bounced {
            self.scatter(bytes);
        }
        (self.reserved, self.bounced) = (0, false);
        let position = self.position() + bytes as u64;
        self.user.side(End::Writer).position.store(position, Relaxed);
        self.publish(self.user.config.block.block_of(position));
    }

    fn publish(&self, blocks: u64) {
        if self.user.flow.publish(blocks) {
            self.user.notify(End::Reader, false);
        }
    }

    /// Copies the first `bytes` bytes of the bounce buffer to where they belong.
    fn scatter(&mut self, bytes: usize) {
        let block = self.user.config.block;
        let (mut position, mut rest) = (self.position(), &self.bounce[..bytes]);
        while !rest.is_empty() {
            let offset = block.within(position);
            let (now, later) = rest.split_at(rest.len().min(block.bytes() - offset));
            // SAFETY: the writer holds the block since `reserve`, and `now` ends with it.
            unsafe {
                self.user.memory(block.block_of(position), offset).copy_from_nonoverlapping(now.as_ptr(), now.len())
            };
            (position, rest) = (position + now.len() as u64, later);
        }
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
    /// True as well if the stream has failed: the next call says why. For threads that have something else to do meanwhile.
    pub fn wait(&self, limit: Duration) -> bool {
        self.user.wait_within(End::Writer, limit, None)
    }

    /// As [`Writer::wait`], for a caller that waits in pieces and looks at something else in between: it has waited for this block since
    /// `started`. That is what reports say, and what counts for the stream's time limit: when it is over, the stream has failed.
    pub fn wait_since(&self, started: Instant, limit: Duration) -> bool {
        self.user.wait_within(End::Writer, limit, Some(started.elapsed()))
    }

    fn take_if(
        &mut self,
        bring: impl Fn(&Core, Touching) -> Result<bool, Missed>,
    ) -> Result<Option<WriteBlock>, StreamError> {
        let (block, position) = (self.user.config.block, self.position());
        let span = self.completion.map_or(0, |completion| completion.span());
        if self.finished || block.within(position) != 0 || span > u64::from(self.user.config.windows.rewrite) {
            return Err(self.busy());
        }
        if span == 0 {
            self.completion = Some(Completion::starting_at(block.block_of(position)));
        }
        let Some(completion) = &mut self.completion else { return Err(self.busy()) };
        let number = completion.next();
        let touching = Touching::explicit(End::Writer, number);
        let brought = bring(&self.user, touching);
        if !brought.map_err(|missed| self.user.missed(missed))? {
            return Ok(None);
        }
        completion.handed_out();
        let start = self.user.address(number);
        Ok(Some(WriteBlock { user: User::of(&self.user.0), number, start, completed: false }))
    }

    /// Whether `block` was taken from this writer, and is the one taken last of those that are out: what
    /// [`Writer::put_back`] takes.
    pub fn is_last_taken(&self, block: &WriteBlock) -> bool {
        let mut completion = self.completion;
        let last = completion.as_mut().is_some_and(|completion| completion.taken_back(block.number));
        Shared::is_same(&block.user.0, &self.user.0) && last
    }

    /// A block taken is not full, and will not be: it comes back with what it holds. The block taken last comes back
    /// first. If the bytes in it are the stream's last, [`Writer::finish_at`] says how many they are.
    ///
    /// # Panics
    /// If the block was taken from another stream, or one taken later is still out.
    pub fn put_back(&mut self, mut block: WriteBlock) {
        assert!(Shared::is_same(&block.user.0, &self.user.0), "a block of another stream");
        let last = self.completion.as_mut().is_some_and(|completion| completion.taken_back(block.number));
        assert!(last, "a block taken later is still out");
        block.completed = true;
    }

    /// A block taken is full. Blocks go to the reader in order, whatever the order of completion.
    ///
    /// # Panics
    /// If the block was taken from another stream.
    pub fn complete(&mut self, mut block: WriteBlock) {
        assert!(Shared::is_same(&block.user.0, &self.user.0), "a block of another stream");
        block.completed = true;
        if let Some(completion) = &mut self.completion {
            let done = completion.finished(block.number);
            self.user.side(End::Writer).position.store(self.user.config.block.start_of(done), Relaxed);
            self.publish(done);
        }
    }

    /// Ends the stream at the position.
    ///
    /// # Errors
    /// As [`Writer::finish_at`].
    pub fn finish(&mut self) -> Result<(), StreamError> {
        self.finish_at(self.position())
    }

    /// Ends the stream at `length` bytes, for a writer on a pointer. The rest of the last block reads as zero, at least
    /// one byte of it. May wait for the reader.
    ///
    /// # Errors
    /// The stream's failure; [`StreamErrorKind::InvalidLength`] if more was published, or another length announced, which
    /// fails the stream; [`StreamErrorKind::Busy`] if blocks taken are still out.
    pub fn finish_at(&mut self, length: u64) -> Result<(), StreamError> {
        self.check_idle()?;
        // What was reserved can no longer be committed.
        (self.reserved, self.bounced) = (0, false);
        let core = &*self.user;
        let block = core.config.block;
        let blocks = block.block_of(length) + 1;
        let announced = core.config.length.is_none_or(|announced| announced == length);
        if !announced || blocks <= core.flow.load().published {
            core.fail((StreamErrorKind::InvalidLength, End::Writer).into());
        }
        // What no one has touched yet, this touch brings in, zeroed.
        let last = Touching { zero: true, ..Touching::explicit(End::Writer, blocks - 1) };
        if let Err(missed) = core.bring(last) {
            let Missed::Failed(failure) = missed else { return Err(core.missed(missed)) };
            let read_to_its_end = failure.kind == StreamErrorKind::ReaderGone && core.was_read_to(length);
            if !read_to_its_end || !core.status.forgive(failure) {
                return Err(self.failed(failure));
            }
            // Nobody is left who could miss the last block.
            core.length.store(length, SeqCst);
            self.finished = true;
            return Ok(());
        }
        let offset = block.within(length);
        // SAFETY: the writer holds its last block until `finish` below.
        unsafe { core.memory(blocks - 1, offset).write_bytes(0, block.bytes() - offset) };
        core.side(End::Writer).position.store(length, Relaxed);
        core.length.store(length, SeqCst);
        core.flow.finish(blocks);
        self.finished = true;
        core.notify(End::Reader, false);
        Ok(())
    }

    /// Fails the stream: the reader gets [`StreamErrorKind::WriterFailed`] with this message.
    pub fn fail(&mut self, message: &str) {
        let failure = (StreamErrorKind::WriterFailed, End::Writer).into();
        if self.user.status.set_with(failure, message.to_owned()) {
            self.user.wake_all();
        }
    }
}

impl Writer {
    /// Fails the stream because a file did: the reader gets [`StreamErrorKind::Io`] with this message, which as an
    /// [`io::Error`] is of the kind of `error`.
    pub fn fail_io(&mut self, error: &io::Error, message: &str) {
        self.user.fail_io(End::Writer, error, message);
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if !self.finished {
            self.user.fail((StreamErrorKind::WriterGone, End::Writer).into());
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

/// A block taken from a writer, to be filled and completed. May travel to another thread.
///
/// Dropped without being completed it fails the stream.
pub struct WriteBlock {
    user: User,
    number: u64,
    start: usize,
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
        self.user.config.block.start_of(self.number)
    }

    /// Where its memory is, and how much of it there is.
    pub(crate) fn memory(&self) -> (usize, usize) {
        (self.start, self.user.config.block.bytes())
    }

    /// The bytes of the block; what they hold has no meaning.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: the writer holds the block until it is completed, which takes this value, and hands it out once. The
        // stream, and so its memory, lives as long as `user`.
        unsafe {
            std::slice::from_raw_parts_mut(ptr::with_exposed_provenance_mut(self.start), self.user.config.block.bytes())
        }
    }
}

impl Drop for WriteBlock {
    fn drop(&mut self) {
        if !self.completed {
            self.user.fail((StreamErrorKind::WriterGone, End::Writer).into());
        }
    }
}
