//! The reading end.

use super::control::Control;
use super::core::{Core, Touching, UNKNOWN};
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

/// The reading end of a stream: a pointer, or explicit calls, or one after the other.
///
/// Dropped before the stream's end, the writer gets an error.
pub struct Reader {
    user: User,
    completion: Option<Completion>,
    /// Stands in for a stretch of the window that is not contiguous.
    bounce: Vec<u8>,
    /// How many bytes the last `fill` gave.
    filled: usize,
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("stream", &self.user.config.name).field("position", &self.position()).finish()
    }
}

impl Reader {
    pub(crate) fn new(core: &Shared<Core>) -> Reader {
        Reader { user: User::of(core), completion: None, bounce: Vec::new(), filled: 0 }
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

    /// The pointer to byte 0 of the stream. Reading through it consumes the stream.
    ///
    /// Valid until this end is dropped. A read may touch the furthest block read so far, the `M` blocks before it, and
    /// anything after it up to the end and the zero byte that follows it; a read further back ends the process with a
    /// message (the block has been given back). Prefer [`Reader::scope`], which also tells of failures.
    ///
    /// This call puts the handler of SIGSEGV and SIGBUS on top of any that was installed since the stream was opened. A handler that is
    /// installed later, and does not pass on what it does not know, gets the faults of this pointer.
    ///
    /// # Errors
    /// [`StreamErrorKind::NoPointer`] if the stream's trap is `off`. [`StreamErrorKind::System`] if the handler cannot be installed.
    pub fn as_ptr(&mut self) -> Result<NonNull<u8>, StreamError> {
        let pointer = self.pointer()?;
        pointer::check_handler(&self.user)?;
        self.user.raw.store(true, SeqCst);
        Ok(pointer)
    }

    fn pointer(&self) -> Result<NonNull<u8>, StreamError> {
        self.user.reads_by_pointer.store(true, Relaxed);
        let start = self.user.own_address(End::Reader, 0).ok_or_else(|| self.user.no_pointer())?;
        NonNull::new(ptr::with_exposed_provenance_mut(start)).ok_or_else(|| self.user.no_pointer())
    }

    /// Runs `read` with the pointer to byte 0 of the stream.
    ///
    /// If the stream fails meanwhile, `read` runs on over zeros and its value is dropped (see
    /// [`OnFailure`](super::OnFailure)). Under the `signal` trap the fault signals are unblocked in this thread for as
    /// long as it runs.
    ///
    /// # Errors
    /// Why the stream failed.
    pub fn scope<T>(&mut self, read: impl FnOnce(*const u8) -> T) -> Result<T, StreamError> {
        let pointer = self.pointer()?;
        let scope = Scope::enter(&self.user)?;
        let value = read(pointer.as_ptr());
        scope.leave().map(|()| value)
    }

    /// The first `length` bytes of the stream as one raw slice.
    ///
    /// # Errors
    /// As [`Reader::as_ptr`].
    ///
    /// # Safety
    /// Bytes behind the window are gone. A caller that makes a reference of this promises that the code which uses it reads
    /// forward and never further back than `M` blocks, that the stream has at least `length` bytes, and that this end
    /// outlives the reference.
    pub unsafe fn whole(&mut self, length: usize) -> Result<*const [u8], StreamError> {
        Ok(ptr::slice_from_raw_parts(self.as_ptr()?.as_ptr(), length))
    }

    /// How many bytes have been consumed, or declared read by [`Reader::advance_to`].
    pub fn position(&self) -> u64 {
        self.user.side(End::Reader).position.load(Relaxed)
    }

    /// Declares that a pointer has read everything before `offset`: blocks before it go back to the writer, and the
    /// explicit interface goes on from there.
    ///
    /// # Errors
    /// [`StreamErrorKind::InvalidLength`] if `offset` lies in front of what has been given back.
    pub fn advance_to(&mut self, offset: u64) -> Result<(), StreamError> {
        if offset < self.user.config.block.start_of(self.user.flow.load().released) {
            return Err(self.error(StreamErrorKind::InvalidLength));
        }
        self.user.side(End::Reader).position.store(offset, SeqCst);
        self.release(self.user.config.block.block_of(offset));
        Ok(())
    }

    /// The length of the stream in bytes, once the writer has finished or if it was announced at open.
    pub fn length(&self) -> Option<u64> {
        self.known_length().or(self.user.config.length)
    }

    fn known_length(&self) -> Option<u64> {
        let length = self.user.length.load(SeqCst);
        (length != UNKNOWN).then_some(length)
    }

    /// Brings in a block; false if the stream ends before it.
    fn bring(&self, block: u64) -> Result<bool, StreamError> {
        self.unless_past_end(self.user.bring(Touching::explicit(End::Reader, block)).map(|()| true))
    }

    fn unless_past_end(&self, brought: Result<bool, Missed>) -> Result<bool, StreamError> {
        match brought {
            Err(Missed::Failed(Failure { kind: StreamErrorKind::PastEnd, .. })) => Ok(false),
            other => other.map_err(|missed| self.user.missed(missed)),
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
        let block = self.user.config.block;
        let position = self.position();
        // Asked once: the writer may say so at any moment.
        let wanted = match self.known_length() {
            Some(length) if position >= length => {
                // All was published before the length was known, so no failure can have lost any of it.
                self.filled = 0;
                return Ok(&[]);
            }
            Some(length) => (bytes.max(1) as u64).min(length - position),
            None => bytes.max(1) as u64,
        };
        let (first, mut last) = (block.block_of(position), block.block_of(position + wanted - 1));
        if last - first > u64::from(self.user.config.windows.lookback) {
            return Err(self.error(StreamErrorKind::TooLarge));
        }
        for number in first..=last {
            if !self.bring(number)? {
                if number == first {
                    self.filled = 0;
                    return Ok(&[]);
                }
                last = number - 1;
                break;
            }
        }
        let offset = block.within(position);
        let there = ((last - first + 1) as usize * block.bytes()) - offset;
        // Known by now if the end lies in these blocks.
        let until_end = self.known_length().map_or(u64::MAX, |length| length.saturating_sub(position));
        self.filled = usize::try_from(until_end).map_or(there, |left| left.min(there));
        if self.user.make_contiguous(End::Reader, first, last).map_err(|missed| self.user.missed(missed))? {
            // SAFETY: the reader holds blocks `first` to `last`, which lie one after the other; they do not change until
            // they are released, for which `self` is needed.
            return Ok(unsafe { std::slice::from_raw_parts(self.user.memory(first, offset), self.filled) });
        }
        self.filled = self.filled.min(usize::try_from(wanted).unwrap_or(usize::MAX));
        self.gather();
        Ok(&self.bounce)
    }

    /// Copies `filled` bytes from where they are into the bounce buffer.
    fn gather(&mut self) {
        let block = self.user.config.block;
        self.bounce.clear();
        while self.bounce.len() < self.filled {
            let position = self.position() + self.bounce.len() as u64;
            let offset = block.within(position);
            let now = (self.filled - self.bounce.len()).min(block.bytes() - offset);
            // SAFETY: the reader holds the block, and `now` ends with it.
            let bytes = unsafe { std::slice::from_raw_parts(self.user.memory(block.block_of(position), offset), now) };
            self.bounce.extend_from_slice(bytes);
        }
    }

    /// The first `bytes` bytes of what `fill` gave are done with. Blocks behind them go back to the writer.
    ///
    /// # Panics
    /// If `bytes` is more than `fill` gave.
    pub fn consume(&mut self, bytes: usize) {
        assert!(bytes <= self.filled, "consume of {bytes} bytes, {} filled", self.filled);
        self.filled -= bytes;
        let position = self.position() + bytes as u64;
        self.user.side(End::Reader).position.store(position, SeqCst);
        self.release(self.user.config.block.block_of(position));
    }

    fn release(&self, blocks: u64) {
        if self.user.flow.release(blocks) {
            self.user.notify(End::Writer, false);
        }
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
        self.take_if(|reader, block| {
            reader.unless_past_end(reader.user.try_bring(Touching::explicit(End::Reader, block)))
        })
    }

    /// Waits until [`Reader::take`] or [`Reader::fill`] would not wait (the next block is there, or the stream has ended), but not
    /// longer than `limit`. False if the time is up. True as well if the stream has failed: the next call says why. For threads
    /// that have something else to do meanwhile.
    pub fn wait(&self, limit: Duration) -> bool {
        self.user.wait_within(End::Reader, limit, None)
    }

    /// As [`Reader::wait`], but ends as well when `other` holds; false if only that does. `other` is called many times and must be
    /// cheap; what it looks at is atomic ([`SeqCst`](std::sync::atomic::Ordering::SeqCst)), and whoever changes it calls
    /// [`Control::look_again`](super::Control::look_again) then.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
    /// use std::time::Duration;
    ///
    /// let (_writer, reader) = eagre_mem::stream::Pipe::open()?.split();
    /// let (control, enough) = (reader.control(), AtomicBool::new(false));
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| {
    ///         enough.store(true, SeqCst);
    ///         control.look_again();
    ///     });
    ///     assert!(!reader.wait_unless(Duration::MAX, &|| enough.load(SeqCst)));
    /// });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn wait_unless(&self, limit: Duration, other: &dyn Fn() -> bool) -> bool {
        self.user.wait_unless(End::Reader, limit, None, other)
    }

    /// As [`Reader::wait`], for a caller that waits in pieces and looks at something else in between: it has waited for this block since
    /// `started`. That is what reports say, and what counts for the stream's time limit: when it is over, the stream has failed.
    pub fn wait_since(&self, started: Instant, limit: Duration) -> bool {
        self.user.wait_within(End::Reader, limit, Some(started.elapsed()))
    }

    fn take_if(
        &mut self,
        bring: impl Fn(&Reader, u64) -> Result<bool, StreamError>,
    ) -> Result<Option<ReadBlock>, StreamError> {
        let (block, position) = (self.user.config.block, self.position());
        let span = self.completion.map_or(0, |completion| completion.span());
        if span == 0 && self.known_length().is_some_and(|length| position >= length) {
            return Ok(None);
        }
        if span > u64::from(self.user.config.windows.lookback) || (span == 0 && block.within(position) != 0) {
            return Err(self.busy());
        }
        let mut completion = match self.completion {
            Some(completion) if span > 0 => completion,
            _ => Completion::starting_at(block.block_of(position)),
        };
        let number = completion.next();
        let start = block.start_of(number);
        if self.known_length().is_some_and(|length| start >= length) || !bring(self, number)? {
            return Ok(None);
        }
        let until_end = self.known_length().map_or(u64::MAX, |length| length.saturating_sub(start));
        let len = usize::try_from(until_end).map_or(block.bytes(), |left| left.min(block.bytes()));
        if len == 0 {
            return Ok(None);
        }
        completion.handed_out();
        self.completion = Some(completion);
        let address = self.user.address(number);
        Ok(Some(ReadBlock { user: User::of(&self.user.0), number, address, len }))
    }

    /// A block taken is done with. Blocks go back to the writer in order, whatever the order of release.
    ///
    /// # Panics
    /// If the block was taken from another stream.
    pub fn release_block(&mut self, block: ReadBlock) {
        assert!(Shared::is_same(&block.user.0, &self.user.0), "a block of another stream");
        if let Some(completion) = &mut self.completion {
            let done = completion.finished(block.number);
            let position = self.user.config.block.start_of(done);
            let position = self.known_length().map_or(position, |length| position.min(length));
            self.user.side(End::Reader).position.store(position, SeqCst);
            self.release(done);
        }
    }

    /// Fails the stream: the writer gets [`StreamErrorKind::ReaderGone`] with this message.
    pub fn fail(&mut self, message: &str) {
        let failure = (StreamErrorKind::ReaderGone, End::Reader).into();
        if self.user.status.set_with(failure, message.to_owned()) {
            self.user.wake_all();
        }
    }
}

impl Reader {
    /// Fails the stream because a file did: the writer gets [`StreamErrorKind::Io`] with this message, which as an
    /// [`io::Error`] is of the kind of `error`.
    pub fn fail_io(&mut self, error: &io::Error, message: &str) {
        self.user.fail_io(End::Reader, error, message);
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if self.known_length().is_none() {
            self.user.fail((StreamErrorKind::ReaderGone, End::Reader).into());
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
    user: User,
    number: u64,
    address: usize,
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
        self.user.config.block.start_of(self.number)
    }

    /// Where its memory is, and how much of it there is: zeros from the end of the stream on.
    pub(crate) fn memory(&self) -> (usize, usize) {
        (self.address, self.user.config.block.bytes())
    }

    /// The bytes of the block; the last one of a stream may be short.
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: the reader holds the block until it is released, which takes this value; the stream, and so its
        // memory, lives as long as `user`.
        unsafe { std::slice::from_raw_parts(ptr::with_exposed_provenance(self.address), self.len) }
    }
}
