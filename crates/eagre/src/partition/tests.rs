//! Every kind of item, split, size and layout against a partition that pushes to vectors.

use super::{Keyed, Layout, PartitionError, Partitioner, Partitions};
use eagre_mem::{BlockSize, Mover, Pool, RewireErrorKind, RewiredVec, Trap};
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};

const BLOCK: usize = BlockSize::MIN.bytes();

fn pool(blocks: u32) -> Pool {
    let (trap, mover) = if cfg!(miri) { (Some(Trap::Off), Some(Mover::Copy)) } else { (None, None) };
    Pool::new(BlockSize::MIN, blocks, trap, mover).unwrap()
}

/// A pseudorandom number for each index and seed.
fn random(at: usize, seed: u64) -> u64 {
    // Generators with neighbouring seeds begin alike.
    let seed = fastrand::Rng::with_seed(seed << 48 | at as u64).u64(..);
    fastrand::Rng::with_seed(seed).u64(..)
}

/// Whole items, each with its own bytes, made of a key and a number.
trait Sample: Keyed + PartialEq + Debug {
    fn sample(key: u64, number: usize) -> Self;

    /// A number that another item hardly has.
    fn fingerprint(&self) -> u128 {
        u128::from(self.key() ^ self.number().rotate_left(32)).wrapping_pow(3)
    }

    fn number(&self) -> u64 {
        0
    }
}

impl Sample for u8 {
    fn sample(key: u64, _: usize) -> u8 {
        (key >> 56) as u8
    }
}
impl Sample for i16 {
    fn sample(key: u64, _: usize) -> i16 {
        (key >> 48) as i16
    }
}
impl Sample for usize {
    fn sample(key: u64, _: usize) -> usize {
        key as usize
    }
}
impl Sample for u32 {
    fn sample(key: u64, _: usize) -> u32 {
        (key >> 32) as u32
    }
}
impl Sample for u64 {
    fn sample(key: u64, _: usize) -> u64 {
        key
    }
}
impl Sample for f64 {
    fn sample(key: u64, _: usize) -> f64 {
        key as i64 as f64
    }
}
impl Sample for (u32, u32) {
    fn sample(key: u64, number: usize) -> (u32, u32) {
        ((key >> 32) as u32, number as u32)
    }
    fn number(&self) -> u64 {
        self.1.into()
    }
}
impl Sample for (u32, u64) {
    fn sample(key: u64, number: usize) -> (u32, u64) {
        ((key >> 32) as u32, number as u64)
    }
    fn number(&self) -> u64 {
        self.1
    }
}
impl Sample for (u64, u32) {
    fn sample(key: u64, number: usize) -> (u64, u32) {
        (key, number as u32)
    }
    fn number(&self) -> u64 {
        self.1.into()
    }
}
impl Sample for (u64, u64) {
    fn sample(key: u64, number: usize) -> (u64, u64) {
        (key, number as u64)
    }
    fn number(&self) -> u64 {
        self.1
    }
}
impl<const N: usize> Sample for [u8; N] {
    fn sample(key: u64, number: usize) -> [u8; N] {
        let numbered = const {
            let (mut bytes, mut i) = ([0; N], 0);
            while i < N {
                bytes[i] = i as u8;
                i += 1;
            }
            bytes
        };
        let (bytes, begin) = ([key.to_be_bytes(), (number as u64).to_be_bytes()].concat(), N.min(16));
        let mut item = numbered;
        item[..begin].copy_from_slice(&bytes[..begin]);
        item
    }
    fn number(&self) -> u64 {
        self.iter().skip(8).take(8).fold(0, |number, &byte| number << 8 | u64::from(byte))
    }
}

/// A record with bytes that are nobody's.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Padded {
    flag: u8,
    key: u32,
    number: u16,
}

impl Keyed for Padded {
    const KEY_BITS: u32 = 32;
    fn key(&self) -> u64 {
        self.key.into()
    }
}
impl Sample for Padded {
    fn sample(key: u64, number: usize) -> Padded {
        Padded { flag: number as u8, key: (key >> 32) as u32, number: number as u16 }
    }
}

/// The oracle.
fn naive<T: Keyed>(items: &[T], ways: usize, bucket: impl Fn(u64) -> usize) -> Vec<Vec<T>> {
    let mut buckets = vec![Vec::new(); ways];
    for item in items {
        buckets[bucket(item.key())].push(*item);
    }
    buckets
}

fn same<T: Sample>(what: &str, parts: &Partitions<T>, expected: &[Vec<T>], any_order: bool) {
    assert_eq!(parts.ways(), expected.len(), "{what}");
    let mut offset = 0;
    for (bucket, expected) in expected.iter().enumerate() {
        assert_eq!(parts.offsets()[bucket], offset, "{what}, bucket {bucket}");
        offset += expected.len();
        if any_order {
            // Items with the same key differ in their number only, or not at all: compare what is added up.
            let sum = |items: &[T]| items.iter().fold(0u128, |sum, item| sum.wrapping_add(item.fingerprint()));
            assert_eq!(parts.bucket(bucket).len(), expected.len(), "{what}, bucket {bucket}");
            assert_eq!(sum(parts.bucket(bucket)), sum(expected), "{what}, bucket {bucket}");
        } else {
            assert!(parts.bucket(bucket) == expected, "{what}, bucket {bucket}");
        }
    }
    assert_eq!(parts.len(), offset, "{what}");
}

/// Partitions copies in every way there is.
fn check<T: Sample>(what: &str, how: &Partitioner, items: &[T], expected: &[Vec<T>]) {
    let blocks = (size_of_val(items).div_ceil(BLOCK) + 3 * expected.len() + 3) as u32;
    let pool = pool(2 * blocks);
    let threads: &[usize] = if cfg!(miri) { &[2] } else { &[1, 3] };
    for &threads in threads {
        for layout in [Layout::Apart, Layout::Dense, Layout::DenseAnyOrder] {
            let any = layout == Layout::DenseAnyOrder;
            let what = format!("{what}, {} items, {threads} threads, {layout:?}", items.len());
            let how = how.clone().threads(threads).layout(layout).pool(&pool);
            // Counted, and in chains.
            for slack in [Some(0), Some(usize::MAX)] {
                let how = Partitioner { slack, ..how.clone() };
                let parts = how.partition(items).unwrap();
                same(&format!("{what}, slack {slack:?}"), &parts, expected, any);
                if layout != Layout::Apart {
                    assert_eq!(parts.as_slice().unwrap().len(), items.len());
                    let (offsets, vector) = (parts.offsets(), parts.into_vec());
                    for (bucket, expected) in expected.iter().enumerate() {
                        assert!(any || vector[offsets[bucket]..offsets[bucket + 1]] == expected[..], "{what}");
                    }
                }
            }
            // In chains, and as their number suggests.
            for slack in [Some(usize::MAX), None] {
                if slack.is_none() && (any || threads == 1) {
                    continue;
                }
                let how = Partitioner { slack, ..how.clone() };
                let mut vector = vector_of(&pool, items);
                let parts = how.partition_vec(&mut vector).unwrap();
                same(&format!("{what}, vanishing, slack {slack:?}"), &parts, expected, any);
                assert_eq!((vector.len(), vector.capacity()), (0, 0), "{what}");
                vector.push(T::sample(1, 1));
                assert!(vector[..] == [T::sample(1, 1)], "the vector can be used again");
            }
        }
    }
    assert_eq!((pool.stats().taken, pool.stats().committed), (0, 0), "{what}: blocks have come back");
}

fn vector_of<T: Copy>(pool: &Pool, items: &[T]) -> RewiredVec<T> {
    let mut vector = RewiredVec::with_limit(pool, items.len().max(1)).unwrap();
    vector.extend_from_slice(items);
    vector
}

/// Every split of these keys.
fn check_splits<T: Sample>(what: &str, items: &[T], ways: &[usize]) {
    let bits = T::KEY_BITS;
    for &ways in ways {
        let expected = naive(items, ways, |key| ((u128::from(key) * ways as u128) >> bits) as usize);
        check(&format!("{what}, {ways} ways"), &Partitioner::new().ways(ways), items, &expected);
        // Miri has seen the other classifiers with numbers.
        if cfg!(miri) && size_of::<T>() != 8 {
            return;
        }
        // Boundaries that are keys, some of them twice.
        let step = (items.len() / ways).max(1);
        let mut boundaries: Vec<u64> =
            (1..ways).map(|i| items.get(i * step / 2).map_or(0, |item| item.key())).collect();
        boundaries.sort_unstable();
        let expected = naive(items, ways, |key| boundaries.partition_point(|&boundary| boundary <= key));
        check(&format!("{what}, {ways} boundaries"), &Partitioner::new().boundaries(&boundaries), items, &expected);
    }
    let expected = naive(items, 8, |key| (key >> 3) as usize % 8);
    check(&format!("{what}, 3 bits"), &Partitioner::new().bits(3, 3), items, &expected);
}

fn check_type<T: Sample>(name: &str, counts: &[usize], ways: &[usize]) {
    for &count in counts {
        let uniform: Vec<T> = (0..count).map(|i| T::sample(random(i, 7), i)).collect();
        check_splits(name, &uniform, ways);
    }
    if cfg!(miri) {
        return;
    }
    let count = counts.iter().copied().max().unwrap_or(0);
    let one: Vec<T> = (0..count).map(|i| T::sample(u64::MAX, i)).collect();
    check_splits(&format!("{name}, all in one"), &one, &ways[..1]);
    let skewed: Vec<T> = (0..count).map(|i| T::sample(random(i, 9) >> (random(i, 5) % 60), i)).collect();
    check_splits(&format!("{name}, skewed"), &skewed, &ways[..1]);
}

/// Around the borders of steps, buffers (512 bytes) and blocks, for so many bytes an item.
fn borders(size: usize) -> Vec<usize> {
    if cfg!(miri) {
        // Buffers are filled and begun. Large items lie in two blocks, and there is work for two threads.
        return vec![if size > 1000 { 20 } else { 250 }];
    }
    let around = |n: usize| [n.saturating_sub(1), n, n + 1];
    let mut counts = vec![0, 1, 2, 15, 16, 17];
    counts.extend([512, 1024, BLOCK, 4 * BLOCK].iter().flat_map(|&bytes| around(bytes / size)));
    counts
}

#[test]
fn numbers() {
    let ways: &[usize] = if cfg!(miri) { &[3] } else { &[2, 3] };
    check_type::<u64>("u64", &borders(8), ways);
    if !cfg!(miri) {
        check_type::<u32>("u32", &borders(4), &ways[..1]);
        check_type::<f64>("f64", &[20_000], &ways[..1]);
        check_type::<u8>("u8", &borders(1), &ways[1..]);
        check_type::<i16>("i16", &[20_000], &ways[1..]);
        check_type::<usize>("usize", &[20_000], &ways[1..]);
    }
}

#[cfg(not(miri))]
#[test]
fn pairs() {
    check_type::<(u32, u32)>("(u32, u32)", &borders(8), &[3]);
    check_type::<(u64, u64)>("(u64, u64)", &borders(16), &[3]);
    check_type::<(u32, u64)>("(u32, u64)", &[10_000], &[5]);
    check_type::<(u64, u32)>("(u64, u32)", &[10_000], &[5]);
}

#[test]
fn records() {
    if !cfg!(miri) {
        check_type::<[u8; 3]>("[u8; 3]", &borders(3), &[3]);
        check_type::<[u8; 12]>("[u8; 12]", &borders(12), &[5]);
        check_type::<[u8; 100]>("[u8; 100]", &borders(100), &[5]);
    }
    check_type::<[u8; 4001]>("[u8; 4001]", &borders(4001), &[5]);
    check_type::<Padded>("padded", &borders(size_of::<Padded>()), &[5]);
}

#[cfg(not(miri))]
#[test]
fn many_ways() {
    for ways in [1000, 1024] {
        check_type::<(u32, u32)>("(u32, u32)", &[100_000], &[ways]);
    }
}

/// An empty bucket does not hide the room around it.
#[test]
fn room_beside_an_empty_bucket_is_seen() {
    let pool = pool(20);
    let items: Vec<u64> = (0..15).map(|i| if i < 10 { i } else { 100 + i }).collect();
    let how = Partitioner::new().boundaries(&[20, 100]).threads(1).slack(usize::MAX).pool(&pool);
    let parts = how.clone().layout(Layout::Apart).partition(&items).unwrap();
    assert_eq!(parts.iter().map(<[u64]>::len).collect::<Vec<_>>(), [10, 0, 5]);
    assert_eq!(parts.as_slice(), None);
    let parts = how.layout(Layout::Dense).partition(&items).unwrap();
    assert_eq!(parts.as_slice(), Some(&items[..]));
    // Without a filled bucket before or after them, empty ones leave no room.
    let parts = Partitioner::new().boundaries(&[5, 120]).slack(usize::MAX).pool(&pool).partition(&items[10..]).unwrap();
    assert_eq!(parts.as_slice(), Some(&items[10..]));
}

/// A record whose key cannot be computed for some.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
struct Fragile(u64);

impl Keyed for Fragile {
    const KEY_BITS: u32 = 64;
    fn key(&self) -> u64 {
        assert!(self.0 % 10_007 != 5_000, "no key");
        self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

#[test]
fn a_panic_in_a_key_loses_nothing() {
    let pool = pool(200);
    let numbers = if cfg!(miri) { 4000..5100 } else { 0..50_000 };
    let items: Vec<Fragile> = numbers.map(Fragile).collect();
    for threads in [1, 3] {
        let how = Partitioner::new().ways(16).threads(threads).slack(usize::MAX).pool(&pool);
        assert!(catch_unwind(AssertUnwindSafe(|| how.partition(&items))).is_err());
        let mut vector = vector_of(&pool, &items);
        assert!(catch_unwind(AssertUnwindSafe(|| how.partition_vec(&mut vector))).is_err());
        vector.sort_by_key(|item| item.0);
        assert!(vector[..] == items[..], "{threads} threads");
    }
    assert_eq!(pool.stats().taken, 0);
}

#[test]
fn without_memory_nothing_is_lost() {
    const SIZE: usize = if cfg!(miri) { 1000 } else { 12 };
    let items: Vec<[u8; SIZE]> = (0..3 * BLOCK / SIZE + 5).map(|i| Sample::sample(random(i, 1), i)).collect();
    // Four blocks hold the items; 64 chains want one each.
    let blocks = if cfg!(miri) { 7..8 } else { 4..20 };
    for (blocks, threads) in blocks.flat_map(|blocks| [(blocks, 1), (blocks, 2)]) {
        let pool = pool(blocks);
        let mut vector = vector_of(&pool, &items);
        let how = Partitioner::new().ways(64).threads(threads).slack(usize::MAX);
        let Err(PartitionError::Memory(error)) = how.partition_vec(&mut vector) else { panic!("{blocks} blocks") };
        assert_eq!(error.kind(), RewireErrorKind::OutOfBlocks);
        let (mut got, mut expected) = (vector.to_vec(), items.clone());
        got.sort_unstable();
        expected.sort_unstable();
        assert!(got == expected, "{blocks} blocks");
        let Err(PartitionError::Memory(_)) = how.pool(&pool).partition(&items) else { panic!("{blocks} blocks") };
        drop(vector);
        assert_eq!(pool.stats().committed, 0);
    }
}

/// A vector that vanishes takes a block for each bucket more than it has, at most.
#[test]
fn the_pool_needs_the_slack_and_no_more() {
    let items: Vec<u64> = (0..if cfg!(miri) { 10_000 } else { 300_000 }).map(|i| random(i, 3)).collect();
    let blocks = size_of_val(&items[..]).div_ceil(BLOCK) as u32;
    let (ways, threads) = (8, if cfg!(miri) { 1 } else { 2 });
    let pool = pool(blocks + (ways * threads) as u32 + 1);
    let mut vector = vector_of(&pool, &items);
    let how = Partitioner::new().ways(ways).threads(threads).slack(ways * threads * BLOCK);
    let parts = how.layout(Layout::Dense).partition_vec(&mut vector).unwrap();
    assert_eq!(parts.len(), items.len());
    let mut vector = parts.into_vec();
    assert_eq!(pool.stats().taken, blocks);
    let none = Partitioner::new().ways(ways).slack(BLOCK).partition_vec(&mut vector).unwrap_err();
    let needed = (ways * BLOCK).min(size_of_val(&items[..]));
    assert_eq!(none, PartitionError::Slack { needed, allowed: BLOCK });
    assert_eq!(vector.len(), items.len());
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |how: Partitioner| how.pool(&pool(1)).partition(&[1u32]).unwrap_err();
    assert_eq!(refused(Partitioner::new().ways(1)), PartitionError::Ways(1));
    assert_eq!(refused(Partitioner::new().ways(1025)), PartitionError::Ways(1025));
    assert_eq!(refused(Partitioner::new().bits(30, 3)), PartitionError::Bits { shift: 30, bits: 3 });
    assert_eq!(refused(Partitioner::new().bits(0, 11)), PartitionError::Bits { shift: 0, bits: 11 });
    assert_eq!(refused(Partitioner::new().bits(u32::MAX, 1)), PartitionError::Bits { shift: u32::MAX, bits: 1 });
    assert_eq!(refused(Partitioner::new().boundaries(&[])), PartitionError::Ways(1));
    assert_eq!(refused(Partitioner::new().boundaries(&[1, 3, 2])), PartitionError::Unsorted(1));
    let many = vec![0; 1024];
    assert_eq!(refused(Partitioner::new().boundaries(&many)), PartitionError::Ways(1025));
}

/// A key that is another one each time.
#[derive(Clone, Copy, Debug)]
struct Unsteady(u64);

impl Keyed for Unsteady {
    const KEY_BITS: u32 = 64;
    fn key(&self) -> u64 {
        use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
        static CALLS: AtomicU64 = AtomicU64::new(0);
        random(CALLS.fetch_add(1, Relaxed) as usize, self.0)
    }
}

#[test]
fn keys_that_change_are_noticed() {
    let items: Vec<Unsteady> = (0..if cfg!(miri) { 1000 } else { 5000 }).map(Unsteady).collect();
    let parts = Partitioner::new().ways(64).threads(1).slack(0).pool(&pool(100)).partition(&items);
    assert_eq!(parts.unwrap_err(), PartitionError::KeysChanged);
}
