//! Partitioning uniform keys by their highest bits, with one thread.
//!
//! All memory is preallocated and on huge pages, except the vectors and the chunks, which come from the allocator.
//! Peers with software write-combining use the same loop as Eagre: a buffer of 512 bytes per bucket, written with
//! non-temporal stores.
//! Every result is compared with the input, key by key and in order.

use std::alloc::{Layout as Shape, alloc, dealloc};
use std::time::{Duration, Instant};

use eagre::partition::{Layout, Partitioner};
use eagre::{BlockSize, Pool, RewiredVec};

use crate::catalogue::Buckets;
use crate::contenders::{Contender, Measured, Trouble};
use crate::memory::{Pages, Region};

/// Partitions in one way.
pub(crate) struct Partition {
    buckets: Buckets,
    bits: u32,
}

const BLOCK: usize = 2 << 20;
/// Keys in a buffer.
const BUFFER: usize = 64;
const CHUNK: usize = 64 << 10;

impl Partition {
    pub(crate) fn new(buckets: Buckets, bits: u32) -> Partition {
        Partition { buckets, bits }
    }
}

impl Contender for Partition {
    fn run(&mut self, size: u64) -> Result<Measured, Trouble> {
        let (n, ways, shift) = (size as usize, 1 << self.bits, 64 - self.bits);
        let blocks = (2 * n * 8 / BLOCK + 2 * ways + 4) as u32;
        let (took, right) = match self.buckets {
            Buckets::Eagre | Buckets::EagreDense | Buckets::EagreVanishing => {
                // As many small blocks where the case is small, so that the same code runs.
                let block = if n * 8 < ways * BLOCK { BlockSize::MIN } else { BlockSize::DEFAULT };
                let blocks = blocks.max((2 * n * 8 / block.bytes() + 2 * ways + 4) as u32);
                let pool = Pool::new(block, blocks, None, None).map_err(memory)?;
                pool.populate((2 * n * 8 / block.bytes() + ways + 2) as u32).map_err(memory)?;
                let mut keys: RewiredVec<u64> = RewiredVec::with_limit(&pool, n).map_err(memory)?;
                keys.extend((0..n).map(key));
                let how = Partitioner::new().ways(ways).threads(1).pool(&pool);
                let all = how.clone().slack(usize::MAX);
                let start = Instant::now();
                let parts = match self.buckets {
                    Buckets::Eagre => all.partition(&keys),
                    Buckets::EagreVanishing => all.partition_vec(&mut keys),
                    _ => how.layout(Layout::Dense).partition(&keys),
                };
                let took = start.elapsed();
                let parts = parts.map_err(memory)?;
                (took, matching(n, shift, parts.iter().map(|bucket| bucket.iter())))
            }
            Buckets::Vecs => {
                let keys = input(n)?;
                let mut vecs: Vec<Vec<u64>> = vec![Vec::new(); ways];
                let took = timed(|| keys.words()[..n].iter().for_each(|&key| vecs[(key >> shift) as usize].push(key)));
                (took, matching(n, shift, vecs.iter().map(|bucket| bucket.iter())))
            }
            Buckets::Chunks => {
                let keys = input(n)?;
                let mut chunks = Chunks::new(ways);
                let took = timed(|| {
                    let mut lanes = vec![Lane::NONE; ways];
                    let mut room = |bucket: usize, _: *mut u64| chunks.add(bucket);
                    let tails = combine(&keys.words()[..n], shift, &mut lanes, &mut room);
                    chunks.close(&lanes, tails);
                });
                (took, matching(n, shift, (0..ways).map(|bucket| chunks.keys(bucket))))
            }
            Buckets::Preallocated | Buckets::TwoPass | Buckets::TwoPassCombining => {
                let keys = input(n)?;
                let keys = &keys.words()[..n];
                let known = (self.buckets == Buckets::Preallocated).then(|| count(keys, shift, ways));
                // Buckets begin at cache lines.
                let mut out = Region::touched((n + ways * 8) * 8, Pages::Huge).map_err(memory)?;
                let mut starts = Vec::new();
                let mut counts = Vec::new();
                let took = timed(|| {
                    counts = known.unwrap_or_else(|| count(keys, shift, ways));
                    starts = places(&counts);
                    let to = out.words_mut();
                    if self.buckets == Buckets::TwoPass {
                        let mut ends = starts.clone();
                        for &key in keys {
                            let end = &mut ends[(key >> shift) as usize];
                            to[*end] = key;
                            *end += 1;
                        }
                        return;
                    }
                    let lane = |(&start, &count): (&usize, &usize)| {
                        // SAFETY: within the region.
                        unsafe { Lane { to: to.as_mut_ptr().add(start), end: to.as_mut_ptr().add(start + count) } }
                    };
                    let mut lanes: Vec<Lane> = starts.iter().zip(&counts).map(lane).collect();
                    let tails = combine(keys, shift, &mut lanes, &mut |_, _| unreachable!("there is room for all"));
                    for (lane, tail) in lanes.iter().zip(tails) {
                        // SAFETY: so much room is left.
                        unsafe { lane.to.copy_from_nonoverlapping(tail.as_ptr(), tail.len()) };
                    }
                });
                let bucket = |(&start, &count): (&usize, &usize)| out.words()[start..start + count].iter();
                (took, matching(n, shift, starts.iter().zip(&counts).map(bucket)))
            }
        };
        let expected = n as u64;
        Ok(Measured { expected, ..Measured::alone(took, size, right, size) })
    }
}

fn memory(why: impl std::fmt::Display) -> Trouble {
    Trouble::failed("memory", why)
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// Key number `at`: uniform, in no order (the finalizer of SplitMix; Steele, Lea, Flood, 2014).
fn key(at: usize) -> u64 {
    let mut key = (at as u64).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    key = (key ^ (key >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    key = (key ^ (key >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    key ^ (key >> 31)
}

fn input(n: usize) -> Result<Region, Trouble> {
    let mut region = Region::touched(n * 8, Pages::Huge).map_err(memory)?;
    region.words_mut()[..n].iter_mut().enumerate().for_each(|(at, slot)| *slot = key(at));
    Ok(region)
}

/// Counts the keys that are in the right place: each bucket must hold exactly its keys, in the order of the input.
fn matching<'k>(n: usize, shift: u32, buckets: impl Iterator<Item = impl Iterator<Item = &'k u64>>) -> u64 {
    let mut buckets: Vec<_> = buckets.collect();
    let right = (0..n).map(key).filter(|key| buckets[(key >> shift) as usize].next() == Some(key)).count();
    let over: usize = buckets.into_iter().map(Iterator::count).sum();
    (right - over.min(right)) as u64
}

fn count(keys: &[u64], shift: u32, ways: usize) -> Vec<usize> {
    let mut counts = vec![0; ways];
    keys.iter().for_each(|key| counts[(key >> shift) as usize] += 1);
    counts
}

/// The starts of the buckets, each at a cache line.
fn places(counts: &[usize]) -> Vec<usize> {
    let next = |at: &mut usize, &count: &usize| Some(std::mem::replace(at, (*at + count).next_multiple_of(8)));
    counts.iter().scan(0, next).collect()
}

/// The destination of the next buffer of a bucket.
#[derive(Clone, Copy)]
struct Lane {
    to: *mut u64,
    end: *mut u64,
}

impl Lane {
    const NONE: Lane = Lane { to: std::ptr::null_mut(), end: std::ptr::null_mut() };
}

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Buffer([u64; BUFFER]);

/// Partitions keys through buffers that are written when they are full; returns what is left in them. `more` makes room for
/// at least one buffer.
fn combine(
    keys: &[u64],
    shift: u32,
    lanes: &mut [Lane],
    more: &mut dyn FnMut(usize, *mut u64) -> Lane,
) -> Vec<Vec<u64>> {
    let mut buffers = vec![Buffer([0; BUFFER]); lanes.len()];
    let mut filled = vec![0u32; lanes.len()];
    assert!(lanes.len() == 1 << (64 - shift));
    for step in keys.chunks(16) {
        prefetch(step.as_ptr().wrapping_add(128));
        prefetch(step.as_ptr().wrapping_add(136));
        for &key in step {
            let bucket = (key >> shift) as usize;
            // SAFETY: there are as many buckets as the key's highest bits have values; a full buffer is written and
            // empty again at once; a lane has room for what is written to it.
            unsafe {
                let at = *filled.get_unchecked(bucket) as usize;
                let buffer = buffers.get_unchecked_mut(bucket);
                *buffer.0.get_unchecked_mut(at) = key;
                if at + 1 < BUFFER {
                    *filled.get_unchecked_mut(bucket) = at as u32 + 1;
                    continue;
                }
                let lane = lanes.get_unchecked_mut(bucket);
                if lane.end.addr() - lane.to.addr() < BUFFER * 8 {
                    *lane = more(bucket, lane.to);
                }
                write_past(&buffer.0, lane.to);
                lane.to = lane.to.add(BUFFER);
                *filled.get_unchecked_mut(bucket) = 0;
            }
        }
    }
    fence();
    buffers.iter().zip(&filled).map(|(buffer, &filled)| buffer.0[..filled as usize].to_vec()).collect()
}

/// Writes a buffer with non-temporal stores.
///
/// # Safety
/// There is room for it at `to`, a multiple of a line.
#[inline(always)]
unsafe fn write_past(buffer: &[u64; BUFFER], to: *mut u64) {
    #[cfg(target_arch = "x86_64")]
    for at in (0..BUFFER).step_by(2) {
        use std::arch::x86_64::{_mm_load_si128, _mm_stream_si128};
        // SAFETY: within the buffer and the room, both aligned to a line.
        unsafe { _mm_stream_si128(to.add(at).cast(), _mm_load_si128(buffer.as_ptr().add(at).cast())) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: the caller's contract.
    unsafe {
        to.copy_from_nonoverlapping(buffer.as_ptr(), BUFFER);
    }
}

fn fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has it.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

#[inline(always)]
fn prefetch(at: *const u64) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint; it does not fault.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// Buckets as lists of chunks from the allocator.
struct Chunks {
    buckets: Vec<Vec<*mut u64>>,
    /// Keys in the last chunk of each bucket, and what is in no chunk.
    ends: Vec<(usize, Vec<u64>)>,
}

impl Chunks {
    const SHAPE: Shape = match Shape::from_size_align(CHUNK, 64) {
        Ok(shape) => shape,
        Err(_) => panic!("a power of two"),
    };

    fn new(ways: usize) -> Chunks {
        Chunks { buckets: vec![Vec::new(); ways], ends: Vec::new() }
    }

    #[cold]
    #[inline(never)]
    fn add(&mut self, bucket: usize) -> Lane {
        // SAFETY: the shape is not empty.
        let chunk: *mut u64 = unsafe { alloc(Self::SHAPE) }.cast();
        assert!(!chunk.is_null(), "no memory for a chunk");
        self.buckets[bucket].push(chunk);
        // SAFETY: the end of the chunk.
        Lane { to: chunk, end: unsafe { chunk.add(CHUNK / 8) } }
    }

    fn close(&mut self, lanes: &[Lane], tails: Vec<Vec<u64>>) {
        let used = |lane: &Lane| CHUNK / 8 - (lane.end.addr() - lane.to.addr()) / 8;
        self.ends = lanes.iter().map(used).zip(tails).collect();
    }

    fn keys(&self, bucket: usize) -> impl Iterator<Item = &u64> {
        let (chunks, (last, tail)) = (&self.buckets[bucket], &self.ends[bucket]);
        let keys = move |(at, &chunk): (usize, &*mut u64)| {
            let len = if at + 1 < chunks.len() { CHUNK / 8 } else { *last };
            // SAFETY: a chunk of ours, of which so many keys are written.
            unsafe { std::slice::from_raw_parts(chunk, len) }.iter()
        };
        chunks.iter().enumerate().flat_map(keys).chain(tail)
    }
}

impl Drop for Chunks {
    fn drop(&mut self) {
        for &chunk in self.buckets.iter().flatten() {
            // SAFETY: allocated with this shape, and used by nobody any more.
            unsafe { dealloc(chunk.cast(), Self::SHAPE) };
        }
    }
}
