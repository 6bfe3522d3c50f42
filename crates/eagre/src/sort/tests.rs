//! Every kind of key, pattern and size, on every level and number of threads, against the standard library.

use std::fmt::Debug;

use super::kernels::Level;
use super::{Key, Sorter};

/// A source of numbers that depends on its seed only.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }
}

/// Sorts copies on every level, with one thread and several, with much memory beside them and little.
fn check<K: Key + Debug>(what: &str, keys: &[K]) {
    let mut expected = keys.to_vec();
    expected.sort_by_key(|key| key.key());
    let expected: Vec<u128> = expected.iter().map(|key| key.key()).collect();
    let mut levels = vec![Level::Portable, Level::best()];
    levels.dedup();
    for level in levels {
        for (threads, slack) in [(1, None), (3, None), (8, Some(6 << 20)), (1, Some(2 << 20)), (2, Some(0))] {
            if threads > 1 && keys.len() < 70_000 {
                continue;
            }
            let mut got = keys.to_vec();
            Sorter { level, threads: Some(threads), slack, hook: None }.sort(&mut got).unwrap();
            let got: Vec<u128> = got.iter().map(|key| key.key()).collect();
            let first = got.iter().zip(&expected).position(|(got, expected)| got != expected);
            assert_eq!(first, None, "{what}: {} of {}, {level:?}, {threads} threads", keys.len(), size_of::<K>());
        }
    }
}

/// Number `i` of `n` in a pattern, as a number of 64 bits.
type Pattern = fn(&mut Random, u64, u64) -> u64;

const PATTERNS: &[(&str, Pattern)] = &[
    ("uniform", |random, _, _| random.next()),
    ("zeros", |_, _, _| 0),
    ("largest", |_, _, _| u64::MAX),
    ("almost all zeros", |random, _, _| if random.below(100) == 0 { random.next() } else { 0 }),
    ("ascending", |_, i, _| i << 20),
    ("descending", |_, i, n| (n - i) << 13),
    ("nearly ascending", |random, i, _| if random.below(1000) == 0 { random.next() >> 20 } else { i << 20 }),
    ("sawtooth", |_, i, _| i % 1000),
    ("two values", |random, _, _| random.below(2) << 63),
    ("few values", |random, _, _| random.below(50).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
    ("low bits", |random, _, _| random.next() >> 50),
    ("one byte in the middle", |random, _, _| random.next() & 0xff_0000_0000),
    ("any width", |random, _, _| {
        let width = random.below(64);
        random.next() >> width
    }),
    ("clumps", |random, _, _| (random.below(8) << 61) + random.below(1 << 12)),
    ("each prefix twice", |random, _, _| {
        let bit = random.below(64);
        (1 << bit) | random.below(2)
    }),
    ("organ pipes", |_, i, n| i.min(n - i)),
];

/// Sizes around every border: of networks, of leaves in the first-level cache and alone, of blocks.
fn sizes() -> Vec<usize> {
    let mut sizes: Vec<usize> = (0..=20).collect();
    for border in [32, 64, 128, 256, 512, 2816, 5632, 8192] {
        sizes.extend([border - 1, border, border + 1]);
    }
    if cfg!(miri) {
        sizes.retain(|&size| [0, 1, 2, 3, 20, 33, 65, 257].contains(&size));
    } else if !cfg!(debug_assertions) {
        sizes.extend([65_535, 65_536, 65_537, 90_000, 131_072 + 511, 262_144, 300_001]);
    }
    sizes
}

/// All patterns and sizes of one kind of key, made from a number.
fn suite<K: Key + Debug>(make: impl Fn(u64, &mut Random) -> K) {
    let mut random = Random(1);
    for n in sizes() {
        for (what, pattern) in PATTERNS {
            let keys: Vec<K> = (0..n as u64)
                .map(|i| {
                    let number = pattern(&mut random, i, n as u64);
                    make(number, &mut random)
                })
                .collect();
            check(what, &keys);
        }
    }
}

macro_rules! suites {
    ($($name:ident: $make:expr;)*) => { $(
        #[test]
        fn $name() {
            suite($make);
        }
    )* };
}

suites! {
    u64s: |number, _| number;
    i64s: |number, _| number as i64;
    f64s: |number, _| f64::from_bits(number);
    u32s: |number, _| (number >> 32) as u32 ^ number as u32;
    i32s: |number, _| (number >> 32) as i32;
    f32s: |number, _| f32::from_bits((number >> 32) as u32 ^ number as u32);
    u128s: |number, random| u128::from(number) << 64 | u128::from(random.next() >> 60);
    i128s: |number, _| i128::from(number as i64) * 3;
    pairs_of_32: |number, random| ((number >> 32) as u32, random.next() as u32);
    pairs_of_64: |number, random| (number, random.below(3));
}

/// The orders are those the documentation names.
#[test]
fn the_order_is_the_standard_librarys() {
    let special = [0.0, -0.0, 1.5, -1.5, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -f64::NAN, f64::MIN_POSITIVE];
    let mut floats = special.repeat(30);
    let mut expected = floats.clone();
    expected.sort_by(f64::total_cmp);
    Sorter::new().sort(&mut floats).unwrap();
    let bits = |floats: &[f64]| floats.iter().map(|float| float.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&floats), bits(&expected));

    let mut singles: Vec<f32> = special.repeat(30).iter().map(|&float| float as f32).collect();
    let mut expected = singles.clone();
    expected.sort_by(f32::total_cmp);
    Sorter::new().sort(&mut singles).unwrap();
    let bits = |floats: &[f32]| floats.iter().map(|float| float.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&singles), bits(&expected));

    let mut random = Random(2);
    let mut pairs: Vec<(u32, u32)> = (0..1000).map(|_| (random.below(9) as u32, random.next() as u32)).collect();
    let mut signed: Vec<i64> = (0..1000).map(|_| random.next() as i64).collect();
    let (mut sorted_pairs, mut sorted_signed) = (pairs.clone(), signed.clone());
    sorted_pairs.sort();
    sorted_signed.sort();
    Sorter::new().sort(&mut pairs).unwrap();
    Sorter::new().sort(&mut signed).unwrap();
    assert_eq!((pairs, signed), (sorted_pairs, sorted_signed));
}

/// So many small numbers that their bucket overflows, but not so many that the leaf gives up.
#[test]
fn leaves_with_full_buckets() {
    fn overflow<K: Key + Debug>(make: impl Fn(u32) -> K) {
        let keys: Vec<K> =
            (0..129).map(|i| make(if i < 65 { (i * 7) % 9 } else { i << 24 | 0x800_0000 | i })).collect();
        check("a full bucket", &keys);
    }
    overflow(|i| u64::from(i) << 32);
    overflow(|i| i64::from(i) << 32);
    overflow(|i| f64::from_bits(u64::from(i) << 32));
    overflow(|i| (i, i % 3));
    overflow(|i| i);
    overflow(|i| i as i32);
    overflow(f32::from_bits);
}

/// Large enough to be split in place by one thread as well, and more than once.
#[test]
#[cfg_attr(miri, ignore = "millions of words")]
fn large() {
    let mut random = Random(3);
    // Without optimisation that takes long.
    let (n, every) = if cfg!(debug_assertions) { (1_100_003, 6) } else { (5_000_001, 1) };
    for (what, pattern) in PATTERNS.iter().step_by(every) {
        let keys: Vec<u64> = (0..n).map(|i| pattern(&mut random, i, n)).collect();
        check(what, &keys);
    }
}
