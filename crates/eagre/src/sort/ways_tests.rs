//! Stable, indirect and partial sorting, on every level and number of threads, with little memory and much, against the
//! standard library.

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::kernels::Level;
use super::order::SortOrder;
use super::patterns::{PATTERNS, seeded};
use super::{Key, Sorter};
use crate::scan::kernels::Simd;

/// Every level, with one thread and several, with much memory and little.
fn sorters(len: usize) -> impl Iterator<Item = Sorter<'static>> {
    let middle = Level::up_to(Simd::Avx2);
    let ends = [Level::Portable, Level::best()];
    let plans = [(1, None), (3, None), (1, Some(3 << 20)), (1, Some(0)), (2, Some(40_000))];
    let plans = plans.into_iter().filter(move |&(threads, _)| threads == 1 || len > 70_000);
    plans.flat_map(move |(threads, slack)| {
        // The level between them differs in its base cases only, so one setting will do.
        let middle = (threads == 1 && slack.is_none() && !ends.contains(&middle)).then_some(middle);
        let levels = ends.into_iter().take(if ends[0] == ends[1] { 1 } else { 2 }).chain(middle);
        levels.map(move |level| Sorter { level: Ok(level), threads, slack, hook: None, order: SortOrder::default() })
    })
}

fn sizes() -> Vec<usize> {
    if cfg!(miri) {
        return vec![0, 1, 2, 17, 70, 200];
    }
    let mut sizes = vec![0, 1, 2, 3, 8, 16, 17, 31, 64, 127, 128, 129, 700, 705, 1408, 1409, 2816, 2817, 5000];
    if !cfg!(debug_assertions) {
        sizes.extend([30_000, 65_536, 65_537, 100_000, 600_011]);
    }
    sizes
}

/// Numbers of every pattern and size.
fn inputs() -> impl Iterator<Item = (&'static str, Vec<u64>)> {
    let mut random = seeded(7);
    sizes()
        .into_iter()
        .flat_map(|n| PATTERNS.iter().map(move |&pattern| (n, pattern)))
        .map(move |(n, (what, pattern))| (what, (0..n as u64).map(|i| pattern(&mut random, i, n as u64)).collect()))
}

fn pairs_keep_their_order<K: Key, V: Copy + Send + Sync + PartialEq + Debug + 'static>(
    make: impl Fn(u64) -> K,
    value: impl Fn(usize) -> V,
) {
    for (what, numbers) in inputs() {
        let pairs: Vec<(K, V)> = numbers.iter().enumerate().map(|(i, &number)| (make(number), value(i))).collect();
        let mut expected = pairs.clone();
        expected.sort_by_key(|pair| pair.0.key());
        for sorter in sorters(pairs.len()) {
            let mut sorted = pairs.clone();
            sorter.sort_pairs(&mut sorted).unwrap();
            let same = |(a, b): (&(K, V), &(K, V))| a.0.key() == b.0.key() && a.1 == b.1;
            let first = sorted.iter().zip(&expected).position(|pairs| !same(pairs));
            assert_eq!(first, None, "{what}: {} of {}, {sorter:?}", pairs.len(), size_of::<(K, V)>());
        }
    }
}

#[test]
fn pairs_of_64() {
    pairs_keep_their_order(|number| number, |i| i);
}

#[test]
fn pairs_of_32() {
    pairs_keep_their_order(|number| (number >> 32) as u32 ^ number as u32, |i| i as u32);
}

#[test]
fn pairs_with_narrow_keys() {
    pairs_keep_their_order(|number| (number >> 56) as u8 ^ number as u8, |i| i as u32);
    pairs_keep_their_order(|number| (number >> 48) as i16 ^ number as i16, |i| i as u16);
}

#[test]
fn pairs_with_floats() {
    pairs_keep_their_order(f64::from_bits, |i| [i as u8, (i >> 8) as u8, (i >> 16) as u8]);
}

#[test]
fn pairs_with_wide_keys() {
    pairs_keep_their_order(|number| (u128::from(number) << 40) - (u128::from(number) >> 60), |i| i);
}

#[test]
fn pairs_of_many_bytes() {
    pairs_keep_their_order(|number| number, |i| [i; 7]);
    pairs_keep_their_order(|number| number, |i| [i; 13]);
}

/// Large enough to be split in place, by one thread and by several; and more stripes than there is room for the words
/// of their buffers before the first block.
#[test]
#[cfg_attr(miri, ignore = "many words")]
fn many_pairs() {
    let mut random = seeded(8);
    // In any case so many that several threads share them.
    let n = if cfg!(debug_assertions) { 150_001 } else { 1_500_001 };
    for (what, pattern) in PATTERNS {
        let pairs: Vec<(u64, u64)> = (0..n).map(|i| (pattern(&mut random, i, n), i)).collect();
        let mut expected = pairs.clone();
        expected.sort_by_key(|pair| pair.0);
        for (threads, slack) in [(1, 4 << 20), (2, 64 << 20), (7, 64 << 20)] {
            let mut sorted = pairs.clone();
            Sorter::new().threads(threads).slack(slack).sort_pairs(&mut sorted).unwrap();
            let first = sorted.iter().zip(&expected).position(|(a, b)| a != b);
            assert_eq!(first, None, "{what}: {n} with {threads} threads");
        }
    }
}

#[test]
fn records_by_key() {
    for (what, numbers) in inputs() {
        let texts: Vec<String> = numbers.iter().enumerate().map(|(i, number)| format!("{number} {i}")).collect();
        let key = |text: &String| text.split(' ').next().and_then(|number| number.parse::<u64>().ok()).unwrap();
        let mut expected = texts.clone();
        expected.sort_by_key(key);
        for sorter in sorters(texts.len()) {
            let mut sorted = texts.clone();
            let mut calls = 0;
            let count = |text: &String| {
                calls += 1;
                key(text)
            };
            sorter.sort_by_cached_key(&mut sorted, count).unwrap();
            assert!(sorted == expected, "{what}: {} with {sorter:?}", texts.len());
            assert_eq!(calls, texts.len());
            // With so little memory that takes long.
            if sorter.slack == Some(0) && texts.len() > 3000 {
                continue;
            }
            let mut sorted = texts.clone();
            sorter.sort_by_key(&mut sorted, key).unwrap();
            assert!(sorted == expected, "{what}: {} in pieces, with {sorter:?}", texts.len());
        }
    }
}

#[test]
fn places_of_keys() {
    for (what, numbers) in inputs() {
        let mut expected: Vec<usize> = (0..numbers.len()).collect();
        expected.sort_by_key(|&i| numbers[i]);
        for sorter in sorters(numbers.len()) {
            assert!(sorter.argsort(&numbers).unwrap() == expected, "{what}: {} with {sorter:?}", numbers.len());
            let mut places = vec![0; numbers.len()];
            sorter.argsort_into(&numbers, &mut places).unwrap();
            assert!(places.iter().map(|&place| place as usize).eq(expected.iter().copied()), "{what}: with {sorter:?}");
        }
    }
}

/// What the first places hold, that nothing is lost, and that the rest does not depend on the number of threads.
#[test]
fn smallest_and_largest() {
    let large = if cfg!(miri) { 1100 } else { 140_001 };
    let mut random = seeded(9);
    for n in sizes().into_iter().chain([large]) {
        // Without optimisation that takes long.
        let every = if n == large && cfg!(debug_assertions) { 12 } else { 1 };
        for (what, pattern) in PATTERNS.iter().step_by(every) {
            let numbers: Vec<u64> = (0..n as u64).map(|i| pattern(&mut random, i, n as u64)).collect();
            let mut ascending = numbers.clone();
            ascending.sort_unstable();
            for k in [0, 1, 10, n / 100, n / 8, n / 2, n - n / 3, n.saturating_sub(1), n, n + 1]
                .into_iter()
                .step_by(every.min(2))
            {
                let mut rest = None;
                for sorter in sorters(n) {
                    let mut got = numbers.clone();
                    sorter.smallest(&mut got, k).unwrap();
                    let first = k.min(n);
                    assert!(got[..first] == ascending[..first], "{what}: the smallest {k} of {n} with {sorter:?}");
                    let whole = rest.get_or_insert_with(|| got.clone());
                    assert!(*whole == got, "{what}: behind the smallest {k} of {n} with {sorter:?}");
                    got.sort_unstable();
                    assert!(got == ascending, "{what}: the smallest {k} of {n} with {sorter:?}");

                    sorter.largest(&mut got, k).unwrap();
                    let largest = ascending.iter().rev().take(first);
                    assert!(got[..first].iter().eq(largest), "{what}: the largest {k} of {n} with {sorter:?}");
                    got.sort_unstable();
                    assert!(got == ascending, "{what}: the largest {k} of {n} with {sorter:?}");
                }
            }
        }
    }
}

/// Narrow keys, many of which are the same.
#[test]
fn smallest_and_largest_narrow_keys() {
    let mut random = seeded(10);
    for n in [5, 1500, if cfg!(miri) { 1600 } else { 140_001 }] {
        let keys: Vec<u8> = (0..n).map(|_| random.u8(..) >> random.u32(0..8)).collect();
        let mut ascending = keys.clone();
        ascending.sort();
        for k in [0, 1, 10, n / 100, n / 2, n] {
            let first = k.min(n);
            let mut got = keys.clone();
            Sorter::new().threads(2).smallest(&mut got, k).unwrap();
            assert!(got[..first] == ascending[..first], "the smallest {k} of {n}");
            Sorter::new().threads(2).largest(&mut got, k).unwrap();
            assert!(got[..first].iter().eq(ascending.iter().rev().take(first)), "the largest {k} of {n}");
            got.sort();
            assert!(got == ascending, "{k} of {n}");
        }
    }
}

/// A key function that panics loses no element. With cached keys, each element stays where it was.
#[test]
fn panics_of_keys() {
    let numbers: Vec<u64> = (0..300).map(|i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 50).collect();
    let texts: Vec<String> = numbers.iter().map(u64::to_string).collect();
    let mut sorted_texts = texts.clone();
    sorted_texts.sort_unstable();
    let mut panics = 0;
    // With room for 16 keys the others are merged, and their keys are asked for often.
    for (slack, fail_at) in (0..).step_by(7).take(600).flat_map(|fail_at| [(Some(0), fail_at), (None, fail_at)]) {
        let sorter = Sorter { slack, ..Sorter::new() };
        for cached in [false, true] {
            let mut items = texts.clone();
            let mut calls = 0;
            let key = |text: &String| {
                calls += 1;
                if calls > fail_at {
                    resume_unwind(Box::new("as the test wants"));
                }
                text.parse::<u64>().unwrap()
            };
            let sort = || match cached {
                false => sorter.sort_by_key(&mut items, key),
                true => sorter.sort_by_cached_key(&mut items, key),
            };
            let panicked = catch_unwind(AssertUnwindSafe(sort)).is_err();
            panics += usize::from(panicked);
            assert!(!(cached && panicked) || items == texts);
            assert!(panicked || items.is_sorted_by_key(|text| text.parse::<u64>().unwrap()));
            items.sort_unstable();
            assert!(items == sorted_texts, "a panic at call {fail_at} lost something");
        }
    }
    assert!(panics > 700, "{panics} panics only");
}

/// NaNs and zeros have their places: those of `total_cmp`.
#[test]
fn floats_in_total_order() {
    let floats = [0.0, f64::NAN, -0.0, -f64::NAN, 1.0, f64::NEG_INFINITY, -1.0, f64::INFINITY];
    let mut expected: Vec<usize> = (0..floats.len()).collect();
    expected.sort_by(|&a, &b| floats[a].total_cmp(&floats[b]));
    assert_eq!(Sorter::new().argsort(&floats).unwrap(), expected);
    let mut largest = floats;
    Sorter::new().largest(&mut largest, 2).unwrap();
    assert!(largest[0].is_nan() && largest[1] == f64::INFINITY);
}
