//! Many arrays on one pool: the partition loop of the Vortex paper, and a sort that recurses over it.

use crate::common::*;
use crate::{assert_empty, pool, sized_pool};
use eagre_mem::{BlockSize, StreamPool, VanishingArray};

/// Algorithm 9 of the paper: no bounds, no blocks, no calls.
///
/// # Safety
/// `from` points to `len` keys, and each bucket to room for those it gets.
unsafe fn partition(from: *const u64, len: usize, bucket: *mut *mut u64, shift: u32) {
    for at in 0..len {
        // SAFETY: the caller's contract.
        unsafe {
            let key = *from.add(at);
            let end = bucket.add((key >> shift) as usize);
            **end = key;
            *end = (*end).add(1);
        }
    }
}

/// Partitions through pointers and tells the buckets what they got.
fn partition_into(from: *const u64, len: usize, buckets: &mut [VanishingArray<u64>], shift: u32) {
    let starts: Vec<*mut u64> = buckets.iter_mut().map(|bucket| bucket.writer().unwrap()).collect();
    let mut ends = starts.clone();
    // SAFETY: every bucket has room for all keys.
    unsafe { partition(from, len, ends.as_mut_ptr(), shift) };
    for ((bucket, start), end) in buckets.iter_mut().zip(starts).zip(ends) {
        // SAFETY: both are of this bucket.
        bucket.finish(unsafe { end.offset_from(start) } as usize);
    }
}

fn keys(pool: &StreamPool, count: usize, key: impl Fn(usize) -> u64) -> VanishingArray<u64> {
    let mut input = pool.array::<u64>(count).unwrap();
    let to = input.writer().unwrap();
    // SAFETY: within the limit.
    (0..count).for_each(|at| unsafe { to.add(at).write(key(at)) });
    input.finish(count);
    input
}

fn random(seed: u64) -> u64 {
    fastrand::Rng::with_seed(seed).u64(..)
}

/// Uniform, skewed, all the same, few.
const SHAPES: [fn(usize) -> u64; 4] = [
    |at| random(at as u64),
    |at| random(at as u64) >> (random(at as u64 + 1) % 40),
    |_| 0xABCD_EF01_2345_6789,
    |at| (random(at as u64) % 3) << 62,
];

each_pointer_pool_pair! {
    fn algorithm_9(pair) {
        const WORDS: usize = 100 * SMALL / 8;
        for (bits, shape) in [(8, SHAPES[0]), (5, SHAPES[1]), (8, SHAPES[2]), (2, SHAPES[3])] {
            // The data once, a block begun for each bucket and its skew, and the windows: the input vanishes.
            let pool = pool(pair, 100 + (1 << bits) + 6);
            let mut input = keys(&pool, WORDS, shape);
            let mut buckets = pool.buckets::<u64>(1 << bits, WORDS).unwrap();
            partition_into(input.reader().unwrap(), WORDS, &mut buckets, 64 - bits);
            input.clear();
            let mut right = vec![Vec::new(); 1 << bits];
            (0..WORDS).map(shape).for_each(|key| right[(key >> (64 - bits)) as usize].push(key));
            for (number, (bucket, right)) in buckets.iter_mut().zip(right).enumerate() {
                let (from, len) = (bucket.reader().unwrap(), bucket.len());
                // SAFETY: in order.
                assert!((0..len).map(|at| unsafe { from.add(at).read() }).eq(right), "bucket {number}");
                bucket.clear();
            }
            assert_empty(&pool);
        }
    }

    fn on_huge_pages(pair) {
        const WORDS: usize = 12 * (2 << 20) / 8;
        let pool = sized_pool(pair, BlockSize::DEFAULT, 12 + 16 + 5);
        let mut input = keys(&pool, WORDS, SHAPES[0]);
        let mut buckets = pool.buckets::<u64>(16, WORDS).unwrap();
        partition_into(input.reader().unwrap(), WORDS, &mut buckets, 60);
        input.clear();
        let mut sum = 0u64;
        for (number, bucket) in buckets.iter_mut().enumerate() {
            let (from, len) = (bucket.reader().unwrap(), bucket.len());
            for at in 0..len {
                // SAFETY: in order.
                let key = unsafe { from.add(at).read() };
                assert_eq!(key >> 60, number as u64);
                sum = sum.wrapping_add(key);
            }
            bucket.clear();
        }
        assert_eq!(sum, (0..WORDS).map(SHAPES[0]).fold(0, u64::wrapping_add));
    }

    /// The paper's sort: the input vanishes into buckets, each bucket into those of the next level, which are the same for all
    /// of them, and the sorted keys grow where the input was.
    fn a_recursive_sort(pair) {
        const WORDS: usize = 64 * SMALL / 8;
        for shape in SHAPES {
            let pool = pool(pair, 64 + 64 + 64 + 8);
            let mut array = keys(&pool, WORDS, shape);
            let mut first = pool.buckets::<u64>(64, WORDS).unwrap();
            let mut second = pool.buckets::<u64>(64, WORDS).unwrap();
            partition_into(array.reader().unwrap(), WORDS, &mut first, 58);
            array.reset();
            let (to, mut sorted) = (array.writer().unwrap(), 0);
            for (high, bucket) in first.iter_mut().enumerate() {
                let (from, len) = (bucket.reader().unwrap(), bucket.len());
                partition_low(from, len, &mut second, high as u64);
                bucket.clear();
                for low in &mut second {
                    let start = sorted;
                    let from = low.reader().unwrap();
                    for at in 0..low.len() {
                        // SAFETY: in order; and the output is no longer than the input was.
                        unsafe { to.add(sorted).write(from.add(at).read()) };
                        sorted += 1;
                    }
                    low.reset();
                    // SAFETY: written a moment ago, and not being read.
                    unsafe { std::slice::from_raw_parts_mut(to.add(start), sorted - start) }.sort_unstable();
                }
            }
            array.finish(sorted);
            let mut right: Vec<u64> = (0..WORDS).map(shape).collect();
            right.sort_unstable();
            let from = array.reader().unwrap();
            // SAFETY: in order.
            assert!((0..sorted).map(|at| unsafe { from.add(at).read() }).eq(right));
            drop((array, first, second));
            assert_empty(&pool);
        }
    }
}

/// Partitions the keys of one bucket by their next six bits.
fn partition_low(from: *const u64, len: usize, buckets: &mut [VanishingArray<u64>], high: u64) {
    let starts: Vec<*mut u64> = buckets.iter_mut().map(|bucket| bucket.writer().unwrap()).collect();
    let mut ends = starts.clone();
    for at in 0..len {
        // SAFETY: in order; every bucket has room for all keys.
        unsafe {
            let key = from.add(at).read();
            let end = &mut ends[((key >> 52) ^ (high << 6)) as usize];
            end.write(key);
            *end = end.add(1);
        }
    }
    for ((bucket, start), end) in buckets.iter_mut().zip(starts).zip(ends) {
        // SAFETY: both are of this bucket.
        bucket.finish(unsafe { end.offset_from(start) } as usize);
    }
}

/// Buckets that grow at the same speed do not compete for the same sets of a cache.
#[test]
fn buckets_begin_at_different_sets() {
    let pair = eagre_mem::probe::PAIRS[0];
    if let Some(why) = refusal(pair) {
        return say(&format!("skipped: {pair}: {why}"));
    }
    for (block, sets) in [(BlockSize::DEFAULT, 1024), (BlockSize::MIN, 512)] {
        let mut buckets = sized_pool(pair, block, 4).buckets::<u64>(512, 1000).unwrap();
        let mut used = vec![0; sets];
        for bucket in &mut buckets {
            used[bucket.writer().unwrap() as usize / 64 % sets] += 1;
        }
        assert!(used.iter().all(|&arrays| arrays <= 1), "{block}");
    }
}
