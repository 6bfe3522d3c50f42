//! The reading end.

use super::connection::Connection;
use super::control::Control;
use super::core::{Touching, User};
use super::open::join;
use super::wait::Missed;
use super::writer::{pointer, scope};
use crate::heap::Shared;
use crate::stream::protocol::Completion;
use crate::stream::{OpenError, StreamError, StreamErrorKind};
use crate::trap::End;
use crate::units::BlockSize;
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::*;
use std::time::{Duration, Instant};

/// The reading end of a stream between processes: a pointer, or explicit calls, or one after the other. Its calls are those of
/// [`stream::Reader`](crate::stream::Reader).
///
/// Dropped before the stream's end, the writer gets an error. Bytes that are lent lie in memory that the writing process has mapped as
/// well: see [what it can do](super#what-the-other-process-can-do).
pub struct Reader {
    core: User,
    completion: Option<Completion>,
    /// How many bytes the last `fill` gave.
    filled: usize,
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("stream", &self.name()).field("position", &self.position()).finish()
    }
}

impl Reader {
    /// Joins a stream that the other process has made with [`Options::writer`](super::Options::writer). Waits until it has.
    ///
    /// # Errors
    /// [`OpenError::Unavailable`]: the other process is gone, or what it sent is no stream; [`OpenError::Setting`]: it is a
    /// reader as well; [`OpenError::Resources`].
    pub fn join(connection: Connection) -> Result<Reader, OpenError> {
        join(connection, End::Reader).map(Reader::new)
    }

    pub(super) fn new(core: User) -> Reader {
        Reader { core, completion: None, filled: 0 }
    }

    fn error(&self, kind: StreamErrorKind) -> StreamError {
        StreamError::new(kind, &self.core.config.name, None)
    }

    /// Blocks taken are still out; or the stream has failed.
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

    /// M, the lookback, as the process that made the stream has said: how many blocks behind its furthest read it may still touch. So
    /// many blocks and one may be taken at a time.
    pub fn lookback(&self) -> u32 {
        self.core.config.windows.lookback
    }

    /// The pointer to byte 0 of the stream. Reading through it consumes the stream.
    ///
    /// Valid until this end is dropped. A read may touch the furthest block read so far, the `M` blocks before it, and anything
    /// after it up to the end and the zero byte that follows it. One that comes later goes unnoticed if it is less than `K` blocks
    /// behind the furthest, where `K` is the number of blocks: then it may see newer bytes. From there on it ends the process with a message.
    /// Prefer [`Reader::scope`], which also tells of failures.
    ///
    /// # Errors
    /// [`StreamErrorKind::NoPointer`] if `EAGRE_TRAP` is `off`. [`StreamErrorKind::OutOfMemory`] if addresses are short.
    /// [`StreamErrorKind::System`] if the handler cannot be installed.
    pub fn as_ptr(&mut self) -> Result<NonNull<u8>, StreamError> {
        pointer(&self.core)
    }

    /// Runs `read` with the pointer to byte 0 of the stream.
    ///
    /// If the stream fails meanwhile, `read` runs on over zeros and its value is dropped. The fault signals are unblocked in this
    /// thread for as long as it runs. System calls that are given addresses without a block get `EFAULT`.
    ///
    /// # Errors
    /// Why the stream failed; those of [`Reader::as_ptr`].
    pub fn scope<T>(&mut self, read: impl FnOnce(*const u8) -> T) -> Result<T, StreamError> {
        scope(&self.core, |pointer| read(pointer.as_ptr()))
    }

    /// How many bytes have been consumed, or declared read by [`Reader::advance_to`].
    pub fn position(&self) -> u64 {
        self.core.position.load(Relaxed)
    }

    /// Declares that a pointer has read everything before `offset`: blocks before it go back to the writer, and the
    /// explicit interface goes on from there.
    ///
    /// # Errors
    /// [`StreamErrorKind::InvalidLength`] if `offset` lies in front of what has been given back.
    pub fn advance_to(&mut self, offset: u64) -> Result<(), StreamError> {
        if offset < self.core.config.block.start_of(self.core.given.load(SeqCst)) {
            return Err(self.error(StreamErrorKind::InvalidLength));
        }
        self.advance(offset);
        Ok(())
    }

    /// The position is `offset`; blocks before it go back to the writer.
    fn advance(&self, offset: u64) {
        self.core.position.store(offset, SeqCst);
        self.core.give(self.core.config.block.block_of(offset).min(self.core.taken.load(SeqCst)));
    }

    /// The length of the stream in bytes, once the writer has finished.
    pub fn length(&self) -> Option<u64> {
        // An error is said by the call that needs a block.
        let _ = self.core.look();
        self.core.known_length()
    }

    /// Brings in a block; false if the stream ends before it.
    fn bring(&self, block: u64) -> Result<bool, StreamError> {
        self.unless_past_end(self.core.bring(Touching::explicit(block)).map(|()| true))
    }

    fn unless_past_end(&self, brought: Result<bool, Missed>) -> Result<bool, StreamError> {
        match brought {
            Err(Missed::PastEnd) => Ok(false),
            other => other.map_err(|missed| self.core.missed(missed)),
        }
    }

    /// The next bytes: at least `bytes` of them (0 counts as 1) in one contiguous slice, fewer only where the stream
    /// ends, none at its end. Waits for the writer. [`Reader::consume`] says how many are done with.
    ///
    /// # Errors
    /// The stream's failure. [`StreamErrorKind::TooLarge`] if the bytes would span more than the window's `M + 1` blocks.
    /// [`StreamErrorKind::BehindWindow`] if a pointer has read ahead, and [`Reader::advance_to`] has not said how far.
    pub fn fill(&mut self, bytes: usize) -> Result<&[u8], StreamError> {
        if self.completion.is_some_and(|completion| completion.span() > 0) {
            return Err(self.busy());
        }
        self.filled = 0;
        let block = self.core.config.block;
        let position = self.position();
        let wanted = match self.core.known_length() {
            Some(length) if position >= length => return Ok(&[]),
            Some(length) => (bytes.max(1) as u64).min(length - position),
            None => bytes.max(1) as u64,
        };
        let (first, mut last) = (block.block_of(position), block.block_of(position + wanted - 1));
        if last - first > self.core.behind() {
            return Err(self.error(StreamErrorKind::TooLarge));
        }
        for number in first..=last {
            if !self.bring(number)? {
                if number == first {
                    return Ok(&[]);
                }
                last = number - 1;
                break;
            }
        }
        let offset = block.within(position);
        let there = (last - first + 1) as usize * block.bytes() - offset;
        // Known by now if the end lies in these blocks.
        let until_end = self.core.known_length().map_or(u64::MAX, |length| length.saturating_sub(position));
        self.filled = usize::try_from(until_end).map_or(there, |left| left.min(there));
        // SAFETY: the reader holds blocks `first` to `last`, which are contiguous in the ring; nobody in this process writes there, and
        // the writing process does not before they are released, for which `self` is needed. One that does breaks the contract that the
        // module states.
        Ok(unsafe { std::slice::from_raw_parts(self.core.memory(first, offset), self.filled) })
    }

    /// The first `bytes` bytes of what `fill` gave are done with. Blocks behind them go back to the writer.
    ///
    /// # Panics
    /// If `bytes` is more than `fill` gave.
    pub fn consume(&mut self, bytes: usize) {
        assert!(bytes <= self.filled, "consume of {bytes} bytes, {} filled", self.filled);
        self.filled -= bytes;
        self.advance(self.position() + bytes as u64);
    }

    /// Copies the next bytes out, however many they are. Fewer than asked for only at the end of the stream.
    ///
    /// # Errors
    /// The stream's failure; some bytes may have been consumed.
    pub fn copy_out(&mut self, bytes: &mut [u8]) -> Result<usize, StreamError> {
        let mut done = 0;
        while done < bytes.len() {
            let there = self.fill(0)?;
            if there.is_empty() {
                break;
            }
            let now = there.len().min(bytes.len() - done);
            bytes[done..done + now].copy_from_slice(&there[..now]);
            self.consume(now);
            done += now;
        }
        Ok(done)
    }

    /// Takes the next block, to be used while others are in use: up to `M + 1` at a time, released in any order.
    /// `None` at the end of the stream. The position must be at the start of a block.
    ///
    /// # Errors
    /// The stream's failure. [`StreamErrorKind::Busy`] if `M + 1` blocks are out, or the position is inside a block.
    pub fn take(&mut self) -> Result<Option<ReadBlock>, StreamError> {
        self.take_if(Reader::bring)
    }

    /// As [`Reader::take`], but does not wait: `None` at the end of the stream, and also if the writer has not finished
    /// the next block yet.
    ///
    /// # Errors
    /// As [`Reader::take`].
    pub fn try_take(&mut self) -> Result<Option<ReadBlock>, StreamError> {
        self.take_if(|reader, block| reader.unless_past_end(reader.core.try_bring(Touching::explicit(block))))
    }

    /// Waits until [`Reader::take`] or [`Reader::fill`] would not wait (the next block is there, or the stream has ended), but not
    /// longer than `limit`. False if the time is up. True as well if the stream has failed: the next call says why.
    pub fn wait(&self, limit: Duration) -> bool {
        self.core.wait_within(limit, None)
    }

    /// As [`Reader::wait`], for a caller that waits in pieces and looks at something else in between: it has waited for this block since
    /// `started`. That is what reports say, and what counts for the stream's time limit: when it is over, the stream has failed.
    pub fn wait_since(&self, started: Instant, limit: Duration) -> bool {
        self.core.wait_within(limit, Some(started.elapsed()))
    }

    fn take_if(
        &mut self,
        bring: impl Fn(&Reader, u64) -> Result<bool, StreamError>,
    ) -> Result<Option<ReadBlock>, StreamError> {
        let (block, position) = (self.core.config.block, self.position());
        let span = self.completion.map_or(0, |completion| completion.span());
        if span == 0 && self.core.known_length().is_some_and(|length| position >= length) {
            return Ok(None);
        }
        if span > self.core.behind() || (span == 0 && block.within(position) != 0) {
            return Err(self.busy());
        }
        let mut completion = match self.completion {
            Some(completion) if span > 0 => completion,
            _ => Completion::starting_at(block.block_of(position)),
        };
        let number = completion.next();
        let start = block.start_of(number);
        if self.core.known_length().is_some_and(|length| start >= length) || !bring(self, number)? {
            return Ok(None);
        }
        let until_end = self.core.known_length().map_or(u64::MAX, |length| length.saturating_sub(start));
        let len = usize::try_from(until_end).map_or(block.bytes(), |left| left.min(block.bytes()));
        if len == 0 {
            return Ok(None);
        }
        completion.handed_out();
        self.completion = Some(completion);
        Ok(Some(ReadBlock { core: self.core.clone(), number, len }))
    }

    /// A block taken is done with. Blocks go back to the writer in order, whatever the order of release.
    ///
    /// # Panics
    /// If the block was taken from another stream.
    pub fn release_block(&mut self, block: ReadBlock) {
        assert!(Shared::is_same(&block.core, &self.core), "a block of another stream");
        if let Some(completion) = &mut self.completion {
            let done = completion.finished(block.number);
            let position = self.core.config.block.start_of(done);
            let position = self.core.known_length().map_or(position, |length| position.min(length));
            self.core.position.store(position, SeqCst);
            self.core.give(done);
        }
    }

    /// Fails the stream: the writer gets [`StreamErrorKind::ReaderGone`] with the first 512 bytes of this message.
    pub fn fail(&mut self, message: &str) {
        self.core.fail_with(StreamErrorKind::ReaderGone, 0, message);
    }

    /// How far it has been read, as far as is known: of a pointer, only its blocks.
    fn read_so_far(&self) -> u64 {
        match self.position() {
            0 if self.core.pointer.get().is_some() => self.core.config.block.start_of(self.core.taken.load(SeqCst)),
            position => position,
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if self.core.is_here() && self.length().is_none() {
            // A writer that ends the stream just there has lost nothing.
            self.core.own_half().length.store(self.read_so_far() + 1, SeqCst);
            self.core.fail((StreamErrorKind::ReaderGone, End::Reader).into());
        }
    }
}

impl io::Read for Reader {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        let there = self.fill(0)?;
        let now = there.len().min(bytes.len());
        bytes[..now].copy_from_slice(&there[..now]);
        self.consume(now);
        Ok(now)
    }
}

impl io::BufRead for Reader {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        Ok(self.fill(0)?)
    }

    fn consume(&mut self, bytes: usize) {
        Reader::consume(self, bytes);
    }
}

/// A block taken from a reader, to be given back with [`Reader::release_block`]. May travel to another thread.
///
/// Dropped otherwise, it stays out, and the stream stops when the window is full.
pub struct ReadBlock {
    core: User,
    number: u64,
    len: usize,
}

impl std::fmt::Debug for ReadBlock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReadBlock").field("offset", &self.offset()).field("len", &self.len).finish()
    }
}

impl ReadBlock {
    /// Where the block begins in the stream.
    pub fn offset(&self) -> u64 {
        self.core.config.block.start_of(self.number)
    }

    /// The bytes of the block; the last one of a stream may be short. They lie in memory that the writing process has mapped as well:
    /// see [what it can do](super#what-the-other-process-can-do).
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: the reader holds the block until it is released, which takes this value; the memory lives as long as `core`, and the
        // writing process does not write there before, as the module states.
        unsafe { std::slice::from_raw_parts(self.core.memory(self.number, 0), self.len) }
    }
}
