//! Sorting: every way to ask for it, with one thread and two, and keys for every plan.

use eagre::sort::{Key, Progress, SortError, Sorter, sort};
use std::ops::ControlFlow;

use crate::refusing::{Attempt, each_allocation};

pub(crate) const TESTS: &[(&str, fn())] = &[
    ("sort", whole),
    ("sort::pairs", pairs),
    ("sort::by_key", by_key),
    ("sort::places", places),
    ("sort::few", few),
    ("sort::without_an_error", without_an_error),
];

/// A pseudorandom number for each index.
fn random(i: u64) -> u64 {
    // Generators with neighbouring seeds begin alike.
    let seed = fastrand::Rng::with_seed(i).u64(..);
    fastrand::Rng::with_seed(seed).u64(..)
}

type Pattern = fn(u64, u64) -> u64;

/// Keys for each plan.
const PATTERNS: &[(&str, Pattern)] = &[
    ("random", |i, _| random(i)),
    ("one of a thousand is not zero", |i, _| if random(i).is_multiple_of(1000) { random(i + 7) } else { 0 }),
    ("few", |i, _| random(random(i) % 200)),
    ("any width", |i, _| random(i) >> (random(i + 1) >> 58)),
    ("in order but for the last", |i, n| if i + 1 == n { 0 } else { i }),
];

/// More than a leaf, for one thread, and enough for two.
const MANY: [u64; 2] = [40_001, 262_145];

fn keys(pattern: Pattern, n: u64) -> Vec<u64> {
    (0..n).map(|i| pattern(i, n)).collect()
}

/// Calls `sort` with each of its allocations refused. It ends with the elements as `expected`, or with an error and all
/// of them in some order, which `in_order` changes to the expected one.
fn each<T: Copy + PartialEq>(
    what: &str,
    input: &[T],
    in_order: impl Fn(&mut [T]),
    sort: impl Fn(&mut [T]) -> Result<(), SortError>,
) {
    let mut expected = input.to_vec();
    in_order(&mut expected);
    let mut got = input.to_vec();
    each_allocation(what, |attempt: &Attempt| {
        got.copy_from_slice(input);
        match attempt.call(|| sort(&mut got)) {
            Ok(()) => assert!(got == expected, "{what}: not in order"),
            Err(SortError::Memory { bytes }) => {
                assert!(attempt.refused() && bytes > 0);
                if got != input {
                    in_order(&mut got);
                    assert!(got == expected, "{what}: not the same elements");
                }
            }
            Err(other) => panic!("{what}: {other:?}"),
        }
    });
}

fn check<K: Key + Ord>(what: &str, sorter: Sorter<'_>, input: &[K]) {
    let what = format!("sort: {what}, {} of {}", input.len(), std::any::type_name::<K>());
    each(&what, input, <[K]>::sort_unstable, |keys| sorter.sort(keys));
}

fn whole() {
    for (threads, n) in [1, 2].into_iter().zip(MANY) {
        let sorter = Sorter::new().threads(threads);
        for &(what, pattern) in PATTERNS {
            check(&format!("{what}, {threads} threads"), sorter, &keys(pattern, n));
        }
        let narrow: Vec<u32> = keys(|i, _| random(i), 2 * n).into_iter().map(|key| key as u32).collect();
        check("32 bits", sorter, &narrow);
        let counted: Vec<u16> = keys(|i, _| random(i), 4 * n).into_iter().map(|key| key as u16).collect();
        check("16 bits", sorter, &counted);
        let pairs: Vec<(u64, u64)> = keys(|i, _| random(i) % 1000, n / 2 + 1).into_iter().zip(0..).collect();
        check("pairs", sorter, &pairs);
        let go_on = |_: Progress| ControlFlow::Continue(());
        check("with a hook", sorter.progress(&go_on), &keys(|i, _| random(i), n));
    }
    check("more than fit the cache", Sorter::new().threads(1), &keys(|i, _| random(i), 1_100_000));
    check("backwards, read by two threads", Sorter::new().threads(2), &keys(|i, n| n - i, 1_100_000));
}

fn pairs() {
    for (threads, n) in [1, 2].into_iter().zip(MANY) {
        for &(what, pattern) in PATTERNS {
            let input: Vec<(u64, u32)> = keys(pattern, n / 2 + 1).into_iter().zip(0..).collect();
            let what = format!("sort_pairs: {what}, {threads} threads");
            each(&what, &input, <[_]>::sort_unstable, |pairs| Sorter::new().threads(threads).sort_pairs(pairs));
        }
    }
}

fn by_key() {
    // Of those with equal keys, the one that was first comes first.
    let in_order = |items: &mut [[u64; 3]]| items.sort_unstable_by_key(|item| (item[1], item[0]));
    for (threads, n) in [1, 2].into_iter().zip(MANY) {
        let input: Vec<[u64; 3]> = (0..n / 2 + 1).map(|i| [i, random(i) % 5000, 0]).collect();
        let sorter = Sorter::new().threads(threads);
        each(&format!("sort_by_cached_key: {threads} threads"), &input, in_order, |items| {
            sorter.sort_by_cached_key(items, |item| item[1])
        });
        for (what, sorter) in [("", sorter), ("in pieces, ", sorter.slack(400_000))] {
            each(&format!("sort_by_key: {what}{threads} threads"), &input, in_order, |items| {
                sorter.sort_by_key(items, |item| item[1])
            });
        }
    }
}

fn places() {
    for (threads, n) in [1, 2].into_iter().zip(MANY) {
        let input = keys(|i, _| random(i) % 5000, n / 2 + 1);
        let mut expected: Vec<usize> = (0..input.len()).collect();
        expected.sort_by_key(|&place| input[place]);
        let narrow: Vec<u32> = expected.iter().map(|&place| place as u32).collect();
        let sorter = Sorter::new().threads(threads);
        each_allocation(&format!("argsort: {threads} threads"), |attempt| {
            match attempt.call(|| sorter.argsort(&input)) {
                Ok(places) => assert!(places == expected),
                Err(error) => assert!(attempt.refused() && matches!(error, SortError::Memory { .. })),
            }
        });
        let mut places = vec![7; input.len()];
        each_allocation(&format!("argsort_into: {threads} threads"), |attempt| {
            places.fill(7);
            match attempt.call(|| sorter.argsort_into(&input, &mut places)) {
                Ok(()) => assert!(places == narrow),
                Err(error) => {
                    assert!(attempt.refused() && matches!(error, SortError::Memory { .. }));
                    assert!(places.iter().all(|&place| place == 7), "the buffer is not as it was");
                }
            }
        });
    }
}

fn few() {
    // More than a stripe: several threads filter.
    let input = keys(|i, _| random(i), 140_001);
    let mut expected = input.clone();
    expected.sort_unstable();
    let mut got = input.clone();
    for (k, threads, largest) in [(100, 1, false), (100, 2, true), (70_000, 1, true), (70_000, 2, false)] {
        let sorter = Sorter::new().threads(threads);
        each_allocation(&format!("the {k} smallest or largest: {threads} threads"), |attempt| {
            got.copy_from_slice(&input);
            let result =
                attempt.call(|| if largest { sorter.largest(&mut got, k) } else { sorter.smallest(&mut got, k) });
            match result {
                Ok(()) if largest => assert!(got[..k].iter().eq(expected.iter().rev().take(k))),
                Ok(()) => assert!(got[..k] == expected[..k]),
                Err(error) => assert!(attempt.refused() && matches!(error, SortError::Memory { .. })),
            }
            got.sort_unstable();
            assert!(got == expected, "not the same keys");
        });
    }
}

/// It sorts without memory where there is none.
fn without_an_error() {
    let input = keys(|i, _| random(i), MANY[1]);
    let mut expected = input.clone();
    expected.sort_unstable();
    let mut got = input.clone();
    each_allocation("sort, which has no error", |attempt| {
        got.copy_from_slice(&input);
        attempt.call(|| sort(&mut got));
        assert!(got == expected);
    });
}
