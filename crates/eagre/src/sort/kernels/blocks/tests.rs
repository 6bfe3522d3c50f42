use super::super::classifier::Radix;
use super::super::first::by_first;
use super::*;
use crate::sort::bounds::Bounds;
use crate::sort::progress::Monitor;

/// A small shape, and those for words of this type. Miri has time for the first only.
fn shapes<W>() -> impl Iterator<Item = Shape> {
    let shapes = [Shape { fan: 8, block: 4 }, Shape::in_memory::<W>(), Shape::in_cache::<W>(1, 1)];
    shapes.into_iter().take(if cfg!(miri) { 1 } else { 3 })
}

fn threads() -> impl Iterator<Item = usize> {
    [1, 2, 7].into_iter().take(if cfg!(miri) { 2 } else { 3 })
}

fn number(i: usize) -> u64 {
    (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Splits words by their keys between these bounds, and checks the buckets.
fn check<W: Word>(words: &mut [W], bounds: Bounds, bits: u32, shape: Shape, threads: usize) {
    let n = words.len();
    let mut starts = [0; FAN + 1];
    let mut blocks = Blocks::new(shape, n, threads).unwrap();
    let monitor = Monitor::new(None, n, size_of::<W>(), 1);
    let radix = Radix::new(bounds, bits);
    assert!(blocks.split(Level::best(), words, &radix, &mut starts, monitor.reporter(0)));
    let fan = Classifier::<W>::fan(&radix);
    for (rank, ends) in starts[..=fan].windows(2).enumerate() {
        assert!(words[ends[0]..ends[1]].iter().all(|word| radix.rank_of(word.key()) == rank));
    }
    assert_eq!((starts[0], starts[fan]), (0, n));
}

/// Every word is in its bucket, and no word is lost, wherever the range ends and however many threads there are.
#[test]
fn splits_into_buckets() {
    for shape in shapes::<u64>() {
        let block = shape.block;
        for threads in threads() {
            let sizes = [1, block - 1, block, block + 1, 3 * block, 5 * block - 7, 9 * block + 1];
            for n in sizes {
                for bits in [1, 3, 8].into_iter().filter(|&bits| 1 << bits <= shape.fan) {
                    // All in one bucket, in two, and anywhere.
                    for spread in [0, 1 << 63, u64::MAX] {
                        let mut words: Vec<u64> = (0..n).map(|i| number(i) & (spread | 0xffff)).collect();
                        let mut expected = words.clone();
                        check(&mut words, Bounds::of_bits(64), bits, shape, threads);
                        words.sort_unstable();
                        expected.sort_unstable();
                        assert!(words == expected, "{n} words, {bits} bits, {threads} threads");
                    }
                }
            }
        }
    }
}

/// As many ways as possible, with blocks for memory and for the cache.
#[test]
#[cfg_attr(miri, ignore = "many thousand words")]
fn splits_into_many_buckets() {
    let shape = Shape::in_memory::<u64>();
    assert_eq!((shape.fan, shape.block), (FAN, 256));
    for shape in [shape, Shape::in_cache::<u64>(1 << 20, 1408)] {
        for threads in [1, 2] {
            let mut words: Vec<u64> = (0..700_001).map(number).collect();
            let mut expected = words.clone();
            check(&mut words, Bounds::of_bits(64), 9, shape, threads);
            words.sort_unstable();
            expected.sort_unstable();
            assert!(words == expected, "{threads} threads");
        }
    }
}

/// Words with equal keys keep their order: with so many stripes that their buffers have more words than fit before a
/// bucket's first block, and with a block that the end of the range cuts; also words whose size is no power of two,
/// with padding, and without a number in them.
#[test]
fn keeps_the_order() {
    keeps_the_order_with(|i| i as u32);
    keeps_the_order_with(|i| ["a", "word"][i % 2]);
    if !cfg!(miri) {
        keeps_the_order_with(|i| i);
        keeps_the_order_with(|i| [i; 2]);
        keeps_the_order_with(|i| [i; 4]);
        keeps_the_order_with(|i| [i; 7]);
    }
}

fn keeps_the_order_with<V: Copy + PartialEq + Send + Sync + 'static>(payload: fn(usize) -> V) {
    for shape in shapes::<(u64, V)>() {
        let block = shape.block;
        for threads in threads() {
            let sizes = [20 * block + 5, block - 1, 3 * block, 60 * block - 1];
            for n in sizes.into_iter().take(if cfg!(miri) { 2 } else { 4 }) {
                for bits in [1, 3, 9].into_iter().filter(|&bits| 1 << bits <= shape.fan) {
                    // Digits begin anywhere in their circle.
                    for low in [0, 77 << 56] {
                        let mut pairs: Vec<(u64, V)> = (0..n).map(|i| (number(i).max(low), payload(i))).collect();
                        let bounds = Bounds { low: low.into(), high: u64::MAX.into() };
                        let radix = Radix::new(bounds, bits);
                        let mut expected = pairs.clone();
                        expected.sort_by_key(|pair| radix.rank_of(pair.0.into()));
                        check(by_first(&mut pairs).unwrap(), bounds, bits, shape, threads);
                        assert!(pairs == expected, "{n} words, {bits} bits from {low}, {threads} threads");
                    }
                }
            }
        }
    }
}
