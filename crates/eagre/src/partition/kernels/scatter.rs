//! Takes items to their buckets through small buffers, one for each bucket.
//!
//! Writing single items to hundreds of places would miss the caches and the TLB each time. So a few lines are collected
//! for each bucket, in the second-level cache, and written together:
//!
//! ```text
//! items ─▶ classify ─▶ buffers   a:|a a a ·|  b:|b · · ·|  c:|c c c c| full ─▶ │c c c c│c c c c│       │ room
//!                                                                                               ▲       ▲
//!                                                                                               to     end
//! ```
//!
//! The hot loop knows only the buffers, and keeps their addresses in registers: when they were read from memory for
//! each item, it was up to a fifth slower, depending on where the linker put it. A full buffer, of 64 numbers for
//! example, is written by a function of its own. If there is no room for a buffer, a [`Sink`] is asked, at most once
//! for each block.

use super::MAX_WAYS;
use super::classify::{Classify, STEP};
use super::stream::{self, LINE};
use crate::partition::Keyed;
use eagre_mem::heap::{self, Refused};
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// The size of a buffer in bytes. With 256 bytes it is a tenth slower, with 128 a third.
const BUFFER: usize = 512;
/// How far ahead items are prefetched, in bytes.
const AHEAD: usize = 1024;

/// How the buffers of a type look.
pub(super) struct Shape<T>(PhantomData<T>);

impl<T> Shape<T> {
    /// Items of a buffer.
    pub(super) const ITEMS: usize = {
        assert!(size_of::<T>() > 0, "items without a size cannot be told apart");
        assert!(
            size_of::<T>() <= 1 << 15 && align_of::<T>() <= LINE,
            "items of more than 32 KiB, or aligned to more than 64"
        );
        let least = BUFFER.div_ceil(size_of::<T>());
        // As many as fill whole lines, if those are not too many.
        let mut whole = 1;
        while !(whole * size_of::<T>()).is_multiple_of(LINE) {
            whole += 1;
        }
        let whole = least.next_multiple_of(whole);
        if whole * size_of::<T>() <= 4 * BUFFER { whole } else { least }
    };
    /// Bytes of a buffer.
    pub(super) const BYTES: usize = Self::ITEMS * size_of::<T>();
    /// Whether it is whole lines.
    const LINES: bool = Self::BYTES.is_multiple_of(LINE);
}

/// A piece of buffer.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(#[expect(dead_code, reason = "reached by pointer")] [MaybeUninit<u8>; LINE]);

/// Where the next buffer of a bucket goes.
#[derive(Clone, Copy)]
pub(super) struct Lane {
    /// At a multiple of a line, if buffers are whole lines.
    pub(super) to: *mut u8,
    pub(super) end: *mut u8,
}

// SAFETY: a lane leads to memory of its sink's, which goes where it goes.
unsafe impl Send for Lane {}

impl Lane {
    /// No room: the first full buffer goes to the sink.
    pub(super) const EMPTY: Lane = Lane { to: std::ptr::null_mut(), end: std::ptr::null_mut() };

    /// How many bytes there is room for.
    pub(super) fn room(&self) -> usize {
        self.end.addr() - self.to.addr()
    }
}

/// What knows where room is.
///
/// # Safety
/// It leaves a lane whose room may be written for as long as the sink lives, by nobody else.
pub(super) unsafe trait Sink {
    /// Writes the bytes of a buffer for which the lane has no room, and sees to it that there is room again. False if
    /// there is none to be had: then nothing has changed.
    ///
    /// # Safety
    /// `bytes` bytes from `from` may be read; the lane is that of this bucket, as the sink and the loop left it.
    unsafe fn take(&mut self, bucket: usize, from: *const u8, bytes: usize, lane: &mut Lane) -> bool;
}

/// Buffers, on their way to a sink.
pub(super) struct Scatter<T, S> {
    pub(super) sink: S,
    lanes: Vec<Lane>,
    /// How many items are in each buffer.
    filled: Vec<u32>,
    lines: Vec<Line>,
    items: PhantomData<T>,
}

/// The buffers and their fills, for the loop to have at hand.
#[derive(Clone, Copy)]
struct Places {
    filled: *mut u32,
    buffers: *mut u8,
}

/// Bytes that stayed in buffers, in the memory of these.
pub(crate) struct Left {
    lines: Vec<Line>,
    bytes: usize,
}

impl Left {
    pub(super) fn bytes(&self) -> &[MaybeUninit<u8>] {
        // SAFETY: so many were put to the front of the lines.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.bytes) }
    }
}

/// Some memory was not to be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoMemory;

impl From<Refused> for NoMemory {
    fn from(_: Refused) -> NoMemory {
        NoMemory
    }
}

impl<T: Keyed, S: Sink> Scatter<T, S> {
    /// Empty buffers for so many buckets.
    pub(super) fn new(ways: usize, sink: S) -> Result<Scatter<T, S>, NoMemory> {
        assert!((1..=MAX_WAYS).contains(&ways));
        let count = (ways * Shape::<T>::BYTES).div_ceil(LINE);
        let lines = heap::filled(count, Line([MaybeUninit::uninit(); LINE]))?;
        Ok(Scatter {
            sink,
            lanes: heap::filled(ways, Lane::EMPTY)?,
            filled: heap::filled(ways, 0)?,
            lines,
            items: PhantomData,
        })
    }

    /// The lane and the fill of a bucket, before the first item.
    pub(super) fn start(&mut self, bucket: usize) -> (&mut Lane, &mut u32) {
        (&mut self.lanes[bucket], &mut self.filled[bucket])
    }

    /// Takes items to their buckets, in order. If the sink has no room, some of them: none is lost, the last one taken
    /// is in a full buffer, and no more may come.
    ///
    /// Should a key be computed by code that panics, some items before it are taken: the first ones.
    pub(super) fn scatter<C: Classify>(&mut self, items: &[T], classify: &C) -> Result<(), NoMemory> {
        assert!(classify.ways() <= self.filled.len());
        let places = Places { filled: self.filled.as_mut_ptr(), buffers: self.lines.as_mut_ptr().cast() };
        let (steps, rest) = items.as_chunks::<STEP>();
        for step in steps {
            let ahead = step.as_ptr().cast::<u8>().wrapping_add(AHEAD);
            for line in (0..size_of_val(step).min(8 * LINE)).step_by(LINE) {
                stream::prefetch(ahead.wrapping_add(line));
            }
            if C::SEARCHES {
                for (item, bucket) in step.iter().zip(classify.buckets(step)) {
                    self.put(places, item, bucket)?;
                }
            } else {
                for item in step {
                    self.put(places, item, classify.bucket(item))?;
                }
            }
        }
        rest.iter().try_for_each(|item| self.put(places, item, classify.bucket(item)))
    }

    /// `places` are its own, `bucket` comes from a classifier.
    #[inline(always)]
    fn put(&mut self, places: Places, item: &T, bucket: usize) -> Result<(), NoMemory> {
        // SAFETY: a classifier gives no number of `ways` or more, and there are at least as many buffers. A buffer is
        // never left full, but where no more may come.
        unsafe {
            let filled = places.filled.add(bucket);
            let at = *filled as usize;
            debug_assert!(at < Shape::<T>::ITEMS);
            places.buffers.add(bucket * Shape::<T>::BYTES).cast::<T>().add(at).write(*item);
            *filled = at as u32 + 1;
            if at + 1 < Shape::<T>::ITEMS || flush(self, bucket) { Ok(()) } else { Err(NoMemory) }
        }
    }

    /// Ends it: `last` gets the sink and, bucket by bucket, what is in its buffer and its lane. What it does not take,
    /// it says so, comes back with the sink.
    pub(super) fn finish(
        mut self,
        mut last: impl FnMut(&mut S, usize, &[MaybeUninit<u8>], &mut Lane) -> bool,
    ) -> (S, Left) {
        stream::fence();
        let mut left = Left { bytes: 0, lines: self.lines };
        let buffers = left.lines.as_mut_ptr().cast::<MaybeUninit<u8>>();
        for (bucket, lane) in self.lanes.iter_mut().enumerate() {
            let bytes = self.filled[bucket] as usize * size_of::<T>();
            // SAFETY: within the buffers. What is left of those before lies before this one.
            unsafe {
                let buffer = buffers.add(bucket * Shape::<T>::BYTES);
                if !last(&mut self.sink, bucket, std::slice::from_raw_parts(buffer, bytes), lane) {
                    buffers.add(left.bytes).copy_from(buffer, bytes);
                    left.bytes += bytes;
                }
            }
        }
        (self.sink, left)
    }
}

/// Writes a full buffer. False if there is no room, and none to be had.
///
/// Out of line, and of the ABI of C, because such a function does not unwind: the loop may keep in registers what an
/// unwinding caller would have to find in memory.
///
/// # Safety
/// There is such a bucket, and its buffer is full.
#[inline(never)]
unsafe extern "C" fn flush<T: Keyed, S: Sink>(scatter: &mut Scatter<T, S>, bucket: usize) -> bool {
    let Scatter { sink, lanes, filled, lines, .. } = scatter;
    // SAFETY: the caller says there is such a bucket. A lane's room may be written.
    unsafe {
        let buffer = lines.as_ptr().cast::<u8>().add(bucket * Shape::<T>::BYTES);
        let lane = lanes.get_unchecked_mut(bucket);
        if lane.room() < Shape::<T>::BYTES {
            if !sink.take(bucket, buffer, Shape::<T>::BYTES, lane) {
                return false;
            }
        } else {
            if Shape::<T>::LINES {
                stream::lines(buffer, lane.to, Shape::<T>::BYTES);
            } else {
                lane.to.copy_from_nonoverlapping(buffer, Shape::<T>::BYTES);
            }
            lane.to = lane.to.add(Shape::<T>::BYTES);
        }
        *filled.get_unchecked_mut(bucket) = 0;
    }
    true
}
