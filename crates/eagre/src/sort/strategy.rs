//! The strategy for a range that is too large for a base case.
//!
//! Nothing is done if the range is in order. Otherwise a sample decides. If one key dominates, the outliers are
//! extracted. If there are few distinct keys, they are counted. Otherwise the range is split by a radix step, the cheapest way,
//! if its buckets would be balanced; compared, if there are vectors and memory for that; or split by splitters from the sample.

use super::base_case::digits_pay;
use super::bounds::Bounds;
use super::kernels::classifier::Radix;
use super::kernels::extremes::extremes;
use super::kernels::presorted::{Order, order};
use super::kernels::tree::{self, Tree};
use super::kernels::{Level, Word};
use super::sample::{self, Sample};

/// The next step for a range.
#[expect(clippy::large_enum_variant, reason = "there is one at a time, and no memory but the stack")]
pub(super) enum Strategy<W> {
    /// The range is sorted.
    Sorted,
    /// The range is sorted backwards.
    Reverse,
    /// This word dominates: probably nearly all words equal it.
    Dominant(W),
    /// Count: probably there are few distinct words. This word may be frequent.
    Count(W),
    /// A radix step.
    Radix(Radix),
    /// Split by splitters.
    Tree(Tree),
    /// Compare.
    Compare,
}

/// What the next step may use.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// How many bits a radix step should use.
    pub(super) bits: u32,
    /// About how many ways to split by splitters.
    pub(super) ways: usize,
    /// The most ways to split by splitters: a power of two, up to [`tree::FAN`].
    pub(super) most_ways: usize,
    /// For about how many outliers there is scratch memory.
    pub(super) room: usize,
    /// So many words can be compared fast.
    pub(super) compared: usize,
    /// How many threads may help.
    pub(super) threads: usize,
    /// How often this range and its parts may still be split by splitters, or counted. Both rely on a sample, which can
    /// mislead. A radix step relies on nothing, and there are at most as many of them as a key has bits.
    pub(super) guesses: u32,
}

/// A radix step that splits this many ways is always good enough.
const MANY: usize = 64;
/// How many sampled keys there are for each bucket between two splitters.
const EACH_WAY: usize = 8;
/// The largest fraction of words that may be outliers in counting.
const RARE: f64 = 1.0 / 16.0;

/// Chooses the strategy for at least two words with keys within these bounds.
#[inline(never)]
pub(super) fn choose<W: Word>(level: Level, words: &[W], known: Bounds, limits: Limits) -> Strategy<W> {
    match order(level, words, limits.threads) {
        Order::Ascending => return Strategy::Sorted,
        Order::Descending => return Strategy::Reverse,
        Order::DescendingGroups | Order::Neither => {}
    }
    let radix = Radix::new(known, limits.bits);
    let even = |sample: &Sample, radix: &Radix| sample.ways(radix) >= (3 << limits.bits >> 3).min(MANY);
    let compared = words.len() <= limits.compared;
    // Narrow keys are compared nearly as fast as they are split.
    let digits = !compared || W::KEY_BITS > u32::BITS || digits_pay(level, words);
    let mut sample = Sample::draw(level, words, known, sample::FEW);
    // If few sampled keys are duplicates, the range does not consist of a few distinct keys.
    if digits && even(&sample, &radix) && sample.few(0.5).is_none() {
        return Strategy::Radix(radix);
    }
    if !compared {
        sample = Sample::draw(level, words, known, (EACH_WAY * limits.ways).max(sample::USUAL));
    } else if W::KEY_BITS > u32::BITS && sample.few(0.5).is_some() {
        // Of a few hundred distinct keys too many are single in a small sample. Narrow keys are compared as fast as counted.
        sample = Sample::draw(level, words, known, sample::USUAL);
    }
    // If there is no room for all outliers, counting finds out, usually early.
    let rare = if limits.room > 0 { RARE } else { 0.0 };
    if limits.guesses > 0
        && let Some((dominant, alone)) = sample.few(rare)
        && !W::STABLE
    {
        let prefix = sample.prefix();
        let found = words.iter().copied().find(|&word| prefix.of(word) == dominant);
        return match found {
            Some(word) if alone => Strategy::Dominant(word),
            _ => Strategy::Count(found.unwrap_or(words[0])),
        };
    }
    if compared {
        return Strategy::Compare;
    }
    if even(&sample, &radix) {
        return Strategy::Radix(radix);
    }
    // If a radix step would be unbalanced even within the bounds of the sample, the exact bounds cannot help.
    let seen = sample.bounds();
    if limits.guesses > 0
        && !even(&sample, &Radix::new(seen, limits.bits))
        && let Some(tree) = tree_of(level, &sample, known, limits)
    {
        return Strategy::Tree(tree);
    }
    let known = extremes(level, words, limits.threads);
    if known.low == known.high {
        return Strategy::Sorted;
    }
    let radix = Radix::new(known, limits.bits);
    if limits.guesses == 0 || radix.is_last() || even(&sample, &radix) {
        return Strategy::Radix(radix);
    }
    match tree_of(level, &sample, known, limits) {
        Some(tree) => Strategy::Tree(tree),
        None => Strategy::Radix(radix),
    }
}

/// Makes a tree for about `limits.ways` ways, or for fewer if these need too many splitters. Returns `None` if all
/// sampled keys are the same.
fn tree_of(level: Level, sample: &Sample, known: Bounds, limits: Limits) -> Option<Tree> {
    let Limits { mut ways, most_ways, .. } = limits;
    let mut splitters = [0; tree::FAN];
    loop {
        match sample.splitters(ways, &mut splitters) {
            0 => return None,
            count if count < most_ways => return Some(Tree::new(level, sample.prefix(), known, &splitters[..count])),
            // There are at most two splitters for each way.
            _ => ways = (ways * 2 / 3).max(most_ways / 2),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Sorter, range::GUESSES, worker::Room};
    use super::*;

    type Pattern = fn(u64, u64) -> u64;

    /// A pseudorandom number for each index.
    fn random(i: u64) -> u64 {
        // Generators with neighbouring seeds begin alike.
        let seed = fastrand::Rng::with_seed(i).u64(..);
        fastrand::Rng::with_seed(seed).u64(..)
    }

    const SKEWED: &[(&str, Pattern)] = &[
        ("any width", |i, _| random(i) >> (random(i + 1) >> 58)),
        ("zipf", |i, _| 2f64.powf((random(i) >> 40) as f64 / (1 << 20) as f64) as u64),
        ("half of them one key", |i, _| if random(i).is_multiple_of(2) { 1 << 40 } else { random(i + 7) }),
        ("one of a thousand is not zero", |i, _| if random(i).is_multiple_of(1000) { random(i + 7) } else { 0 }),
        (
            "one of thirty is not the largest",
            |i, _| if random(i).is_multiple_of(30) { random(i + 7) } else { u64::MAX },
        ),
        ("the dominant one after many others", |i, n| if i < n / 50 { random(i) } else { 9 }),
        ("few", |i, _| random(random(i) % 200)),
        ("few, and others", |i, _| if random(i).is_multiple_of(40) { random(i) } else { random(random(i) % 200) }),
        ("two clusters far apart", |i, _| random(i) << 63 | random(i) >> 34),
        ("forty bits shared", |i, _| 0x01_2345_6789 << 24 | random(i) >> 40),
        ("across a power of two", |i, _| (1 << 50) - 300 + random(i) % 1000),
        ("what a sample does not see", |i, n| if i.is_multiple_of(64) { random(i) } else { (i > n / 2).into() }),
        ("bytes half of which are zero", |i, _| random(i) & ((random(i + 7) & (u64::MAX / 255)) * 255)),
        ("organ pipes", |i, n| i.min(n - i)),
        ("backwards", |i, n| n - i / 2),
        ("all but the last in order", |i, n| if i + 1 == n { 0 } else { i }),
    ];

    /// Whatever the strategy, the words are sorted, with each number of threads.
    #[test]
    fn skewed_keys_are_sorted() {
        let sizes: &[u64] = match cfg!(debug_assertions) {
            _ if cfg!(miri) => &[3000],
            true => &[2816, 2817, 40_000, 60_000, 270_000],
            false => &[2816, 2817, 40_000, 65_537, 270_000, 524_289, 1_200_000, 2_300_000],
        };
        for &n in sizes {
            for (what, pattern) in SKEWED {
                let keys: Vec<u64> = (0..n).map(|i| pattern(i, n)).collect();
                let mut expected = keys.clone();
                expected.sort_unstable();
                for threads in 1..=4 {
                    let mut got = keys.clone();
                    Sorter::new().threads(threads).sort(&mut got).unwrap();
                    assert!(got == expected, "{n}, {what}, {threads} threads");
                }
                let mut pairs: Vec<(u64, u64)> = keys.iter().map(|&key| (key % 1000, key)).collect();
                let mut expected = pairs.clone();
                expected.sort_unstable();
                Sorter::new().threads(2).sort(&mut pairs).unwrap();
                assert!(pairs == expected, "{n} pairs, {what}");
            }
        }
    }

    /// Buckets without keys, beyond the largest number there is.
    #[test]
    #[cfg_attr(miri, ignore = "many thousand words")]
    fn keys_at_the_upper_end() {
        let mut pairs: Vec<(u128, usize)> = (0..20_000).map(|i| (u128::MAX - (i % 6) as u128, i)).collect();
        let mut expected = pairs.clone();
        expected.sort();
        Sorter::new().threads(1).sort_pairs(&mut pairs).unwrap();
        assert!(pairs == expected);
        let skewed = |i: u64| u128::MAX - u128::from(random(i) >> (random(i + 1) % 64));
        // Most far below the largest, some closer the fewer, few close to it.
        let in_parts = |i: u64| match random(i + 3) % 50 {
            0 => u128::MAX - u128::from(random(i) >> 20),
            1..4 => u128::MAX - ((1 << 49) - 1001) + u128::from(random(i) >> (16 + random(i + 1) % 30)),
            _ => u128::MAX - u128::from(random(i) >> 8),
        };
        for (n, key) in [(20_000, &skewed as &dyn Fn(u64) -> u128), (100_000, &in_parts), (1_300_000, &in_parts)] {
            let mut keys: Vec<u128> = (0..n).map(key).collect();
            let mut pairs: Vec<(u128, u64)> = keys.iter().copied().zip(0..).collect();
            let mut expected = keys.clone();
            expected.sort();
            Sorter::new().threads(1).sort(&mut keys).unwrap();
            assert!(keys == expected);
            Sorter::new().threads(1).sort_pairs(&mut pairs).unwrap();
            assert!(pairs.iter().map(|pair| pair.0).eq(expected));
        }
    }

    /// As many words as the scratch memory has room for, of half the size of the unit of that memory. They are too many
    /// for a base case and dense in the middle, so that no lookup table fits them.
    #[test]
    #[cfg_attr(miri, ignore = "many thousand words")]
    fn room_for_an_odd_number_of_words() {
        let distance = |i| random(i) as u32 >> (1 + random(i + 1) % 31);
        let sides = |i| if i % 2 == 0 { (1 << 31) + distance(i) } else { (1 << 31) - 1 - distance(i) };
        let keys: Vec<u32> = (0..100_001).map(sides).collect();
        let mut expected = keys.clone();
        expected.sort_unstable();
        let enough = Room::new::<u32>(Level::best(), keys.len(), keys.len()).bytes::<u32>();
        for slack in (enough - 64..enough + 64).step_by(4) {
            let mut got = keys.clone();
            Sorter::new().threads(1).slack(slack).sort(&mut got).unwrap();
            assert!(got == expected, "{slack}");
        }
    }

    /// Keys that agree in more and more bits, more than one worker sorts: each level of recursion takes little stack.
    #[test]
    #[cfg_attr(miri, ignore = "a million words")]
    fn a_small_stack_is_enough() {
        let stack = if cfg!(debug_assertions) { 1 << 21 } else { 1 << 19 };
        let sort = || {
            for guess in [0, 1, 63] {
                let key = |i| u128::from(random(i + 1) & guess) | 1 << (random(i) % 128);
                let mut keys: Vec<u128> = (0..1_500_000).map(key).collect();
                let mut expected = keys.clone();
                expected.sort_unstable();
                Sorter::new().threads(1).slack(2 << 20).sort(&mut keys).unwrap();
                assert!(keys == expected);
            }
        };
        std::thread::Builder::new().stack_size(stack).spawn(sort).unwrap().join().unwrap();
    }

    /// Each kind of input gets the strategy that is made for it.
    #[test]
    #[cfg_attr(miri, ignore = "a million words")]
    fn strategies_fit_the_keys() {
        let kind = |pattern: Pattern, compared: usize| {
            let words: Vec<u64> = (0..100_000).map(|i| pattern(i, 100_000)).collect();
            let room = words.len();
            let limits = Limits { bits: 8, ways: 64, most_ways: 256, room, compared, threads: 1, guesses: GUESSES };
            match choose(Level::best(), &words, Bounds::of_bits(64), limits) {
                Strategy::Sorted => "nothing",
                Strategy::Reverse => "reverse",
                Strategy::Dominant(_) => "dominant",
                Strategy::Count(_) => "tally",
                Strategy::Radix(_) => "radix",
                Strategy::Tree(_) => "tree",
                Strategy::Compare => "compare",
            }
        };
        for compared in [0, 100_000] {
            assert_eq!(kind(|i, _| random(i), compared), "radix");
            assert_eq!(kind(|i, _| i, compared), "nothing");
            assert_eq!(kind(|_, _| 7, compared), "nothing");
            assert_eq!(kind(|i, n| n - i, compared), "reverse");
        }
        let skewed = |name: &str| SKEWED.iter().find(|(what, _)| *what == name).unwrap().1;
        let of = |name: &str| kind(skewed(name), 0);
        assert_eq!(of("forty bits shared"), "radix");
        for name in ["few", "few, and others"] {
            assert_eq!(of(name), "tally", "{name}");
        }
        for name in ["one of a thousand is not zero", "one of thirty is not the largest"] {
            assert_eq!(of(name), "dominant", "{name}");
        }
        for name in
            ["any width", "zipf", "half of them one key", "two clusters far apart", "bytes half of which are zero"]
        {
            assert_eq!(of(name), "tree", "{name}");
            assert_eq!(kind(skewed(name), 100_000), "compare", "{name}");
        }
    }
}
