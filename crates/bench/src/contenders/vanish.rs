//! Vanishing arrays compared with preallocated memory: one array written or read through a plain pointer, and many arrays
//! that one loop writes to.
//!
//! All contenders run the same loops on preallocated huge pages. They differ in the memory behind the pointer. Memory is freed
//! after each run, so that large cases fit with any number of contenders.

use std::time::{Duration, Instant};

use eagre::{BlockSize, Mover, Pool, StreamPool, Trap, VanishingArray};

use crate::catalogue::{Behind, Half, Setting};
use crate::contenders::{Contender, Measured, Trouble};
use crate::kernels::{expected_sum, fill_at, sum_at};
use crate::memory::{Pages, Region};

/// One array, written and then read.
pub(crate) struct OneArray {
    behind: Behind,
    half: Half,
}

/// The loop of the Vortex paper that partitions keys by their highest bits: Algorithm 9.
pub(crate) struct Algorithm9 {
    behind: Behind,
    bits: u32,
}

impl OneArray {
    pub(crate) fn new(behind: Behind, half: Half) -> Result<OneArray, Trouble> {
        usable(behind).map(|()| OneArray { behind, half })
    }
}

impl Algorithm9 {
    pub(crate) fn new(behind: Behind, bits: u32) -> Result<Algorithm9, Trouble> {
        usable(behind).map(|()| Algorithm9 { behind, bits })
    }
}

impl Contender for OneArray {
    fn run(&mut self, size: u64) -> Result<Measured, Trouble> {
        let words = (size / 8) as usize;
        let (write, (read, sum)) = match self.behind {
            Behind::Plain => {
                let region = Region::touched(size as usize, Pages::Huge).map_err(memory)?;
                // SAFETY: the region has as many bytes.
                unsafe { (write(region.base().cast(), words), read(region.base().cast(), words)) }
            }
            Behind::Vanishing(setting) => {
                let pool = pool(setting, BlockSize::DEFAULT, size)?;
                let mut array = pool.array(words).map_err(memory)?;
                let to = array.writer().map_err(memory)?;
                // SAFETY: within the limit.
                let write = unsafe { write(to, words) };
                // The preparation for reading counts as reading.
                let start = Instant::now();
                array.finish(words);
                let from = array.reader().map_err(memory)?;
                let turned = start.elapsed();
                // SAFETY: as many words were written, and are read in order.
                let (took, sum) = unsafe { read(from, words) };
                (write, (turned + took, sum))
            }
        };
        let took = if self.half == Half::Write { write } else { read };
        Ok(Measured { expected: expected_sum(words as u64), ..Measured::alone(took, size, sum, words as u64) })
    }
}

/// # Safety
/// As [`fill_at`].
unsafe fn write(to: *mut u64, words: usize) -> Duration {
    let start = Instant::now();
    // SAFETY: the caller's contract.
    unsafe { fill_at(to, words, 0) };
    start.elapsed()
}

/// # Safety
/// As [`sum_at`].
unsafe fn read(from: *const u64, words: usize) -> (Duration, u64) {
    let start = Instant::now();
    // SAFETY: the caller's contract.
    let sum = unsafe { sum_at(from, words) };
    (start.elapsed(), sum)
}

impl Contender for Algorithm9 {
    fn run(&mut self, size: u64) -> Result<Measured, Trouble> {
        let keys = (size / 8) as usize;
        let mut input = Region::touched(size as usize, Pages::Huge).map_err(memory)?;
        let keys = &mut input.words_mut()[..keys];
        keys.iter_mut().enumerate().for_each(|(at, key)| *key = mixed(at as u64));
        let (count, shift) = (1 << self.bits, 64 - self.bits);
        // Uniform keys: no bucket gets an eighth more than its share, but for tiny cases.
        let room = keys.len() / count + keys.len() / count / 8 + 4096;
        let (took, lens, sum) = match self.behind {
            Behind::Plain => {
                let stride = (room * 8).next_multiple_of(4096) + LINES_APART * 64;
                let region = Region::touched(stride * count, Pages::Huge).map_err(memory)?;
                let starts: Vec<*mut u64> =
                    (0..count).map(|at| region.base().wrapping_add(at * stride).cast()).collect();
                let mut ends = starts.clone();
                // SAFETY: each bucket has room for its share.
                let took = unsafe { partition(keys, &mut ends, shift) };
                let lens = lengths(&starts, &ends);
                // SAFETY: as many keys were written.
                let sums = starts.iter().zip(&lens).map(|(&start, &len)| unsafe { checked(start, len) });
                (took, lens.clone(), sums.enumerate().try_fold(0u64, |sum, (at, keys)| add(sum, keys, at, shift))?)
            }
            Behind::Vanishing(setting) => {
                let block = if size < 64 << 20 { BlockSize::MIN } else { BlockSize::DEFAULT };
                // A block begun for each bucket, and one for each that its skew makes it begin.
                let pool = pool(setting, block, (room * 8 * count + 2 * block.bytes() * count) as u64)?;
                let mut buckets: Vec<VanishingArray<u64>> = pool.buckets(count, room).map_err(memory)?;
                let starts: Result<Vec<*mut u64>, _> = buckets.iter_mut().map(VanishingArray::writer).collect();
                let starts = starts.map_err(memory)?;
                let mut ends = starts.clone();
                // SAFETY: each bucket has room for its share.
                let took = unsafe { partition(keys, &mut ends, shift) };
                let lens = lengths(&starts, &ends);
                let mut sum = 0;
                for (at, (bucket, &len)) in buckets.iter_mut().zip(&lens).enumerate() {
                    bucket.finish(len);
                    let from = bucket.reader().map_err(memory)?;
                    // SAFETY: as many keys were written, and are read in order.
                    sum = add(sum, unsafe { checked(from, len) }, at, shift)?;
                    bucket.clear();
                }
                (took, lens, sum)
            }
        };
        let got: usize = lens.iter().sum();
        if got != keys.len() {
            return Err(Trouble::Wrong(format!("{got} keys of {}", keys.len())));
        }
        let expected = (0..keys.len() as u64).map(mixed).fold(0, u64::wrapping_add);
        Ok(Measured { expected, ..Measured::alone(took, size, sum, keys.len() as u64) })
    }
}

/// How far apart in a cache's sets the preallocated buckets begin: as far as those of a `StreamPool`.
const LINES_APART: usize = 129;

/// Uniform keys in no order (the finalizer of SplitMix; Steele, Lea, Flood, 2014).
fn mixed(at: u64) -> u64 {
    let mut key = at.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    key = (key ^ (key >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    key = (key ^ (key >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    key ^ (key >> 31)
}

/// Algorithm 9.
///
/// # Safety
/// Each pointer leads to room for the keys it gets.
#[inline(never)]
unsafe fn partition(keys: &[u64], ends: &mut [*mut u64], shift: u32) -> Duration {
    let start = Instant::now();
    let ends = ends.as_mut_ptr();
    for &key in keys {
        // SAFETY: the caller's contract.
        unsafe {
            let end = ends.add((key >> shift) as usize);
            (*end).write(key);
            *end = (*end).add(1);
        }
    }
    start.elapsed()
}

fn lengths(starts: &[*mut u64], ends: &[*mut u64]) -> Vec<usize> {
    starts.iter().zip(ends).map(|(&start, &end)| (end as usize - start as usize) / 8).collect()
}

/// The sum of a bucket's keys, the bits they all have, and the bits that any of them has.
///
/// # Safety
/// There are `len` keys, which may be read once, in order.
unsafe fn checked(from: *const u64, len: usize) -> (u64, u64, u64) {
    (0..len).fold((0u64, u64::MAX, 0), |(sum, all, any), at| {
        // SAFETY: the caller's contract.
        let key = unsafe { from.add(at).read() };
        (sum.wrapping_add(key), all & key, any | key)
    })
}

/// Sums a bucket if all its keys belong to it.
fn add(sum: u64, (keys, all, any): (u64, u64, u64), bucket: usize, shift: u32) -> Result<u64, Trouble> {
    if any >= all && (all >> shift != bucket as u64 || any >> shift != bucket as u64) {
        return Err(Trouble::Wrong(format!("a key in bucket {bucket} that is not its own")));
    }
    Ok(sum.wrapping_add(keys))
}

fn pair(setting: Setting) -> (Trap, Mover) {
    match setting {
        Setting::SignalRemap => (Trap::Signal, Mover::Remap),
        Setting::PagerMove => (Trap::Pager, Mover::Move),
        _ => (Trap::Signal, Mover::Move),
    }
}

fn usable(behind: Behind) -> Result<(), Trouble> {
    let Behind::Vanishing(setting) = behind else { return Ok(()) };
    let (trap, mover) = pair(setting);
    let made = Pool::new(BlockSize::DEFAULT, 1, Some(trap), Some(mover));
    made.map(|_| ()).map_err(|error| Trouble::Unavailable(error.to_string()))
}

/// A preallocated pool.
fn pool(setting: Setting, block: BlockSize, bytes: u64) -> Result<StreamPool, Trouble> {
    let blocks = bytes.div_ceil(block.bytes() as u64) as u32;
    let (trap, mover) = pair(setting);
    let pool = StreamPool::on(&Pool::new(block, blocks, Some(trap), Some(mover)).map_err(memory)?);
    pool.populate(bytes).map_err(memory)?;
    Ok(pool)
}

fn memory(why: impl std::fmt::Display) -> Trouble {
    Trouble::failed("memory", why)
}
