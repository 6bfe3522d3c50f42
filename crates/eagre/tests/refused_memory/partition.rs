//! Partitioning: items that stay and items that vanish, by chains and by counting, with one thread and two.

use eagre::partition::{Keyed, Layout, PartitionError, Partitioner, Partitions};
use eagre::{BlockSize, Pool, RewireErrorKind, RewiredVec};

use crate::refusing::each_allocation;

pub(crate) const TESTS: &[(&str, fn())] = &[
    ("partition::slices", slices),
    ("partition::vectors", vectors),
    ("partition::boundaries", boundaries),
    ("partition::shared_pool", shared_pool),
];

/// What one thread gets, and two.
const BYTES: [usize; 2] = [400 << 10, 2 << 20];
const WAYS: usize = 5;

/// A pseudorandom number for each index.
fn random(i: usize) -> u64 {
    // Generators with neighbouring seeds begin alike.
    let seed = fastrand::Rng::with_seed(i as u64).u64(..);
    fastrand::Rng::with_seed(seed).u64(..)
}

trait Sample: Keyed + PartialEq {
    fn sample(number: usize) -> Self;
    /// A number that another item hardly has.
    fn mark(&self) -> u64;
}

impl Sample for u64 {
    fn sample(number: usize) -> u64 {
        random(number)
    }

    fn mark(&self) -> u64 {
        *self ^ self.rotate_left(17).wrapping_mul(*self)
    }
}

/// An item of which no block holds a whole number.
#[derive(Clone, Copy, PartialEq)]
struct Odd {
    key: u64,
    number: [u64; 2],
}

impl Keyed for Odd {
    const KEY_BITS: u32 = 64;

    fn key(&self) -> u64 {
        self.key
    }
}

impl Sample for Odd {
    fn sample(number: usize) -> Odd {
        Odd { key: random(number), number: [number as u64, !number as u64] }
    }

    fn mark(&self) -> u64 {
        (self.key ^ self.number[0] ^ !self.number[1].rotate_left(7)).wrapping_mul(self.key)
    }
}

/// The same for the same items in whatever order.
fn marks<T: Sample>(items: &[T]) -> (usize, u64) {
    (items.len(), items.iter().fold(0, |sum, item| sum.wrapping_add(item.mark())))
}

fn pool() -> Pool {
    Pool::new(BlockSize::MIN, 200, None, None).unwrap()
}

fn bucket(key: u64) -> usize {
    ((u128::from(key) * WAYS as u128) >> 64) as usize
}

fn buckets<T: Sample>(input: &[T]) -> Vec<Vec<T>> {
    let mut buckets = vec![Vec::new(); WAYS];
    input.iter().for_each(|item| buckets[bucket(item.key())].push(*item));
    buckets
}

/// Whether each item is in its bucket, in the order of the input or in any.
fn check<T: Sample>(parts: &Partitions<T>, expected: &[Vec<T>], any_order: bool) {
    assert_eq!(parts.ways(), WAYS);
    for (got, expected) in parts.iter().zip(expected) {
        assert!(if any_order { marks(got) == marks(expected) } else { got == expected });
    }
}

fn is_refusal(error: &PartitionError) -> bool {
    match error {
        PartitionError::OutOfHeap => true,
        PartitionError::Memory(error) => error.kind() == RewireErrorKind::OutOfMemory,
        _ => false,
    }
}

/// With each layout, by chains and by counting.
fn ways_of(pool: &Pool, threads: usize) -> [(&'static str, bool, Partitioner); 4] {
    let plain = Partitioner::new().ways(WAYS).threads(threads).pool(pool).slack(4 << 20);
    [
        ("apart", false, plain.clone()),
        ("dense", false, plain.clone().layout(Layout::Dense)),
        ("dense, any order", true, plain.clone().layout(Layout::DenseAnyOrder)),
        ("counted", false, plain.slack(1)),
    ]
}

fn slice_of<T: Sample>(what: &str) {
    let pool = pool();
    for (threads, bytes) in [1, 2].into_iter().zip(BYTES) {
        let input: Vec<T> = (0..bytes / size_of::<T>() + 1).map(T::sample).collect();
        let expected = buckets(&input);
        for (layout, any_order, partitioner) in ways_of(&pool, threads) {
            each_allocation(&format!("partition: {what}, {layout}, {threads} threads"), |attempt| {
                match attempt.call(|| partitioner.partition(&input)) {
                    Ok(parts) => check(&parts, &expected, any_order),
                    Err(error) => assert!(attempt.refused() && is_refusal(&error), "{error}"),
                }
                assert_eq!(pool.stats().taken, 0, "blocks left");
            });
        }
    }
}

fn slices() {
    slice_of::<u64>("numbers");
    slice_of::<Odd>("odd items");
}

fn vector_of<T: Sample>(what: &str) {
    let pool = pool();
    for (threads, bytes) in [1, 2].into_iter().zip(BYTES) {
        let input: Vec<T> = (0..bytes / size_of::<T>() + 1).map(T::sample).collect();
        for (layout, any_order, mut partitioner) in ways_of(&pool, threads) {
            let mut input = &input[..];
            if layout == "counted" {
                // Too little for a block of each bucket, enough for a copy.
                input = &input[..10_000];
                partitioner = partitioner.slack(size_of_val(input));
            }
            let expected = buckets(input);
            each_allocation(&format!("partition_vec: {what}, {layout}, {threads} threads"), |attempt| {
                let mut vector = RewiredVec::with_limit(&pool, input.len() + 1).unwrap();
                vector.extend_from_slice(input);
                let start = vector.as_ptr();
                match attempt.call(|| partitioner.partition_vec(&mut vector)) {
                    Ok(parts) => {
                        assert!(vector.is_empty());
                        check(&parts, &expected, any_order);
                    }
                    Err(error) => {
                        assert!(attempt.refused() && is_refusal(&error), "{error}");
                        assert!(vector.as_ptr() == start, "items have another address");
                        assert!(marks(&vector) == marks(input), "not the same items");
                    }
                }
                drop(vector);
                assert_eq!(pool.stats().taken, 0, "blocks left");
            });
        }
    }
}

fn vectors() {
    vector_of::<u64>("numbers");
    vector_of::<Odd>("odd items");
}

fn boundaries() {
    let pool = pool();
    let input: Vec<u64> = (0..10_000).map(random).collect();
    let borders: Vec<u64> = (1..WAYS as u64).map(|i| (u64::MAX / WAYS as u64 + 1) * i).collect();
    each_allocation("partition: boundaries", |attempt| {
        let parts = attempt.call(|| {
            let partitioner = Partitioner::new().boundaries(&borders).threads(1).pool(&pool);
            partitioner.clone().partition(&input)
        });
        match parts {
            Ok(parts) => {
                let whole: Vec<Vec<u64>> = parts.iter().map(<[u64]>::to_vec).collect();
                let within = |number: usize, key: u64| borders.partition_point(|&border| border <= key) == number;
                assert!(whole.iter().enumerate().all(|(number, keys)| keys.iter().all(|&key| within(number, key))));
                let mut all = whole.concat();
                all.sort_unstable();
                let mut expected = input.clone();
                expected.sort_unstable();
                assert!(all == expected);
            }
            Err(error) => assert!(attempt.refused() && is_refusal(&error), "{error}"),
        }
    });
}

/// The pool that all share, as many threads as there are, and what comes of the parts.
fn shared_pool() {
    let input: Vec<u64> = (0..BYTES[1] / 8).map(random).collect();
    each_allocation("partition: the shared pool", |attempt| {
        let partitioner = Partitioner::new().ways(WAYS).layout(Layout::Dense);
        match attempt.call(|| {
            partitioner.partition(&input).map(|mut parts| {
                let items: usize = parts.iter_mut().map(|bucket| bucket.len()).sum();
                (items, parts.into_vec())
            })
        }) {
            Ok((items, vector)) => assert!(items == input.len() && vector.len() == items),
            Err(error) => assert!(attempt.refused() && is_refusal(&error), "{error}"),
        }
    });
}
