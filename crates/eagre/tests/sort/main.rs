//! One suite for sorting: every type of key, pattern and size around a border, with every set of vector instructions
//! that the processor has, number of threads and amount of memory, against the standard library.
//!
//! Few keys are sorted in every way. Many are sorted in one way for each pattern, another one each time, so that the
//! ways are spread over types, sizes and patterns.

mod environment;
mod keys;
mod order;
mod patterns;

use eagre::scan::Simd;
use eagre::sort::Sorter;

use keys::Case;
use patterns::{PATTERNS, Pattern, seeded};

/// Vector instructions, threads, memory beside the keys.
type Way = (Simd, usize, Option<usize>);

/// The vector instructions that sorting uses and the processor has.
fn levels() -> impl Iterator<Item = Simd> {
    Simd::ALL.into_iter().filter(|simd| simd.is_available() && *simd != Simd::Neon)
}

/// All ways, any two in a row as different as can be.
fn ways() -> Vec<Way> {
    let mut ways = Vec::new();
    for slack in [None, Some(0), Some(3 << 20), Some(2 << 20)] {
        for threads in [1, 2, 4, 3] {
            ways.extend(levels().map(|simd| (simd, threads, slack)));
        }
    }
    ways
}

/// Sorts a copy in one way. The same order as the standard library's, to the bit: keys that are equal are the same.
fn check<K: Case>(what: &str, keys: &[K], expected: &[K], way: Way) {
    let (simd, threads, slack) = way;
    let sorter = Sorter::new().simd(simd).threads(threads);
    let sorter = slack.map_or(sorter, |bytes| sorter.slack(bytes));
    let mut got = keys.to_vec();
    sorter.sort(&mut got).expect("there is memory");
    let wrong = got.iter().zip(expected).position(|(got, expected)| got.order(expected).is_ne());
    assert_eq!(wrong, None, "{what}: {} {}, {way:?}", keys.len(), std::any::type_name::<K>());
}

/// Keys of a pattern, as they are and sorted by the standard library.
fn make<K: Case>(pattern: Pattern, n: usize, seed: u64) -> (Vec<K>, Vec<K>) {
    let random = &mut seeded(seed);
    let mut next = |i| {
        let number = pattern(random, i, n as u64);
        K::make(number, random)
    };
    let keys: Vec<K> = (0..n as u64).map(&mut next).collect();
    let mut expected = keys.clone();
    expected.sort_by(K::order);
    (keys, expected)
}

/// Borders of registers, of networks, of what a quicksort takes at once, and of leaves on the stack.
fn few_keys<K: Case>() {
    let mut sizes: Vec<usize> = (0..=18).collect();
    for border in [32, 64, 128, 256, 512] {
        sizes.extend([border - 1, border, border + 1]);
    }
    if cfg!(miri) {
        sizes.retain(|size| [0, 2, 33, 65].contains(size));
    }
    for &n in &sizes {
        for (seed, (what, pattern)) in PATTERNS.iter().enumerate().filter(|(i, _)| !cfg!(miri) || i % 5 == 0) {
            let (keys, expected) = make::<K>(*pattern, n, seed as u64);
            for simd in levels() {
                check(what, &keys, &expected, (simd, 1, None));
            }
        }
    }
}

/// Borders of leaves for each width of key, of leaves that are alone, of blocks; and sizes in between.
fn many_keys<K: Case>() {
    let ways = ways();
    let mut next = size_of::<K>();
    let leaves = [704, 1408, 2816, 5632, 11_264].iter().flat_map(|&border| [border - 1, border, border + 1]);
    for n in leaves.filter(|&n| !cfg!(miri) || n == 703) {
        for (seed, (what, pattern)) in PATTERNS.iter().enumerate().filter(|(i, _)| !cfg!(miri) || i % 14 == 0) {
            let (keys, expected) = make::<K>(*pattern, n, seed as u64);
            next += 1;
            check(what, &keys, &expected, ways[next % ways.len()]);
        }
    }
    let block = 4096 / size_of::<K>();
    let whole = [65_535, 65_536, 65_537, 70_001, 100 * block - 1, 100 * block, 100 * block + 1, 131_073, 300_007];
    let leaves = [32_767, 32_768, 32_769, 45_056, 45_057, 90_112, 90_113];
    let sizes = whole.into_iter().chain(leaves);
    // Without optimisation each takes a while.
    let every = if cfg!(debug_assertions) { 9 } else { 1 };
    for (i, n) in sizes.enumerate().filter(|_| !cfg!(miri)) {
        for (seed, (what, pattern)) in PATTERNS.iter().enumerate().skip((i + size_of::<K>()) % every).step_by(every) {
            let (keys, expected) = make::<K>(*pattern, n, seed as u64);
            next += 1;
            check(what, &keys, &expected, ways[next % ways.len()]);
        }
    }
}

macro_rules! suites {
    ($($name:ident: $type:ty;)*) => { $(
        #[test]
        fn $name() {
            few_keys::<$type>();
            many_keys::<$type>();
        }
    )* };
}

suites! {
    u8s: u8;
    i8s: i8;
    u16s: u16;
    i16s: i16;
    u32s: u32;
    i32s: i32;
    f32s: f32;
    u64s: u64;
    i64s: i64;
    f64s: f64;
    u128s: u128;
    i128s: i128;
    pairs_of_32: (u32, u32);
    pairs_of_64: (u64, u64);
}

/// They are sorted as the numbers of the same width.
#[test]
fn numbers_as_wide_as_an_address() {
    few_keys::<usize>();
    few_keys::<isize>();
}

/// Floating-point numbers that compare as their bits do, and such that do not: with zeros of both signs, with NaNs, with
/// infinities.
#[test]
fn real_numbers() {
    let odd: [&[f64]; 4] =
        [&[], &[-0.0, 0.0], &[f64::INFINITY, f64::NEG_INFINITY, f64::MAX], &[-0.0, f64::NAN, -f64::NAN]];
    let sizes: &[usize] = if cfg!(miri) { &[40] } else { &[1, 3, 40, 127, 128, 300, 5000, 70_001] };
    for &n in sizes {
        for odd in odd {
            let mut random = seeded(n as u64);
            for one_of in [1, 100, n + 1] {
                let mut next = || match odd.get(random.usize(..odd.len().max(1))) {
                    Some(&odd) if random.usize(..one_of) == 0 => odd,
                    _ => random.f64() - 0.5,
                };
                let keys: Vec<f64> = (0..n).map(|_| next()).collect();
                let mut expected = keys.clone();
                expected.sort_by(f64::total_cmp);
                for simd in levels() {
                    check("real numbers", &keys, &expected, (simd, 1, None));
                }
            }
        }
    }
}

/// Keys in a window of half their bits, wherever it is, and just beyond; pairs that differ in few bits of both parts.
#[test]
#[cfg_attr(miri, ignore = "many thousand keys")]
fn keys_of_few_bits() {
    fn window<K: Case + Copy>(n: usize, make: impl Fn(&mut fastrand::Rng) -> K) {
        let mut random = seeded(3);
        let keys: Vec<K> = (0..n).map(|_| make(&mut random)).collect();
        let mut expected = keys.clone();
        expected.sort_by(K::order);
        for simd in levels() {
            check("few bits", &keys, &expected, (simd, 1 + n % 2, None));
        }
    }
    for n in [127, 128, 129, 1000] {
        for range in [1u64 << 8, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 32) + 1, 1 << 33] {
            for low in [0, 5, (1 << 32) - 7, 1 << 63, u64::MAX - range + 1] {
                window::<u64>(n, |random| low + random.u64(..range));
                window::<i64>(n, |random| (low.wrapping_sub(range / 2)).wrapping_add(random.u64(..range)) as i64);
            }
            for bits in [0, 1, 20, 32, 44, 63] {
                let other = random_mask(bits);
                window::<(u64, u64)>(n, |random| (7 << 60 | random.u64(..range), random.u64(..) & other));
                window::<u128>(n, |random| u128::from(random.u64(..) & other) << 64 | u128::from(random.u64(..range)));
                window::<(u32, u32)>(n, |random| {
                    (random.u64(..range.min(1 << 32)) as u32, random.u32(..) & other as u32)
                });
                window::<i128>(n, |random| i128::from(random.u64(..range)) - i128::from(range / 2));
            }
        }
    }
}

/// Many of them, with one thread and two.
#[test]
#[cfg_attr(miri, ignore = "many thousand keys")]
fn many_keys_of_few_bits() {
    let mut random = seeded(5);
    let keys: Vec<(u64, u64)> = (0..300_001).map(|i| (random.u64(..1 << 30), i)).collect();
    let mut expected = keys.clone();
    expected.sort();
    for simd in levels() {
        for threads in [1, 2] {
            check("few bits", &keys, &expected, (simd, threads, None));
        }
    }
}

/// A number with so many bits set, all over.
fn random_mask(bits: u32) -> u64 {
    (0..bits).fold(0, |mask, i| mask | 1 << (i * 37 % 64))
}

/// A sorted front and whatever behind it.
#[test]
#[cfg_attr(miri, ignore = "many thousand keys")]
fn a_front_in_order() {
    fn front<K: Case>() {
        for n in [128, 129, 1000, 5000] {
            for front in [n / 4, n * 3 / 8 + 1, n / 2, n * 3 / 4 + 1, n - 1] {
                for back in 0..3 {
                    let mut random = seeded(n as u64);
                    let mut keys: Vec<K> = (0..n).map(|_| K::make(random.u64(..), &mut seeded(1))).collect();
                    keys[..front].sort_by(K::order);
                    match back {
                        0 => keys[front..].sort_by(K::order),
                        1 => keys[front..].sort_by(|a, b| b.order(a)),
                        _ => {}
                    }
                    let mut expected = keys.clone();
                    expected.sort_by(K::order);
                    for simd in levels() {
                        check("a front", &keys, &expected, (simd, 1, None));
                        check("a front", &keys, &expected, (simd, 2, Some(1000)));
                    }
                }
            }
        }
    }
    front::<u32>();
    front::<u64>();
    front::<f64>();
    front::<(u64, u64)>();
    front::<u8>();
}

/// Narrow keys that several threads count, with memory for all counters, for those of one thread, and for none.
#[test]
#[cfg_attr(miri, ignore = "millions of keys")]
fn many_narrow_keys() {
    fn many<K: Case>() {
        for (i, (what, pattern)) in PATTERNS.iter().enumerate().step_by(5) {
            let (keys, expected) = make::<K>(*pattern, 2_200_003, i as u64);
            for (threads, slack) in [(3, None), (3, Some(600 << 10)), (2, Some(0))] {
                check(what, &keys, &expected, (Simd::Portable, threads, slack));
            }
        }
    }
    many::<u8>();
    many::<i16>();
}

/// So many that they are split before a worker takes them, whatever the threads.
#[test]
#[cfg_attr(miri, ignore = "millions of keys")]
fn more_than_a_worker_takes() {
    fn many<K: Case>(n: usize, every: usize) {
        let ways = ways();
        for (i, (what, pattern)) in PATTERNS.iter().enumerate().step_by(every) {
            let (keys, expected) = make::<K>(*pattern, n, 7);
            check(what, &keys, &expected, ways[(3 * i) % ways.len()]);
            check(what, &keys, &expected, ways[(7 * i + 11) % ways.len()]);
        }
    }
    // Without optimisation each takes a while.
    if cfg!(debug_assertions) {
        many::<u64>(1_200_003, 5);
        many::<u32>(2_300_003, 9);
        many::<f32>(2_300_003, 11);
        many::<u128>(600_011, 9);
    } else {
        many::<u64>(5_000_001, 1);
        many::<u32>(5_000_001, 1);
        many::<f32>(5_000_001, 2);
        many::<u128>(2_500_001, 2);
    }
}
