//! Descending, and NaN behind all numbers, against the standard library.

use eagre::sort::{Key, SliceSort, Sorter};
use std::cmp::Ordering;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::patterns::seeded;

const SIZES: [usize; 8] = [0, 1, 2, 20, 300, 3000, 40_000, 200_000];

/// Numbers with everything that is special about them; the indices tell equal ones apart.
fn reals(n: usize) -> Vec<f64> {
    let mut random = seeded(n as u64);
    let special =
        [0.0, -0.0, f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::from_bits(0xfff0_0000_0000_0123)];
    let number = |random: &mut fastrand::Rng| match random.usize(..16) {
        few if few < special.len() => special[few],
        few if few < 10 => random.i32(-9..9).into(),
        _ => f64::from_bits(random.u64(..)),
    };
    (0..n).map(|_| number(&mut random)).collect()
}

/// What `nan_last` says: numbers as `<` has them, then NaN.
fn numeric(one: f64, two: f64, descending: bool) -> Ordering {
    let numbers = if descending { two.partial_cmp(&one) } else { one.partial_cmp(&two) };
    numbers.unwrap_or_else(|| one.is_nan().cmp(&two.is_nan()))
}

fn same_bits(one: &[f64], two: &[f64]) -> bool {
    let bits = |reals: &[f64]| {
        let mut bits: Vec<u64> = reals.iter().map(|real| real.to_bits()).collect();
        bits.sort_unstable();
        bits
    };
    bits(one) == bits(two)
}

#[test]
fn nan_comes_last_both_ways() {
    for n in SIZES {
        for (descending, threads) in [(false, 1), (true, 1), (false, 2), (true, 2)] {
            let sorter = Sorter::new().threads(threads).nan_last(true).descending(descending);
            let reals = reals(n);
            let mut got = reals.clone();
            sorter.sort(&mut got).unwrap();
            assert!(same_bits(&got, &reals));
            assert!(got.is_sorted_by(|&one, &two| numeric(one, two, descending).is_le()), "{n} {descending}");
            let mut halves: Vec<f32> = reals.iter().map(|&real| real as f32).collect();
            sorter.sort(&mut halves).unwrap();
            assert!(halves.is_sorted_by(|&one, &two| numeric(one.into(), two.into(), descending).is_le()));

            // Equal numbers, and NaN, stay in the order they are in.
            let mut expected: Vec<usize> = (0..n).collect();
            expected.sort_by(|&one, &two| numeric(reals[one], reals[two], descending));
            assert!(sorter.argsort(&reals).unwrap() == expected, "{n} {descending}");
            let mut pairs: Vec<(f64, usize)> = reals.iter().copied().zip(0..).collect();
            sorter.sort_pairs(&mut pairs).unwrap();
            assert!(pairs.iter().map(|pair| pair.1).eq(expected.iter().copied()), "{n} {descending}");
            assert!(pairs.iter().all(|&(real, index)| real.to_bits() == reals[index].to_bits()));
            let mut indices: Vec<usize> = (0..n).collect();
            sorter.sort_by_key(&mut indices, |&index| reals[index]).unwrap();
            assert!(indices == expected, "{n} {descending}");
        }
    }
}

#[test]
fn smallest_and_largest_leave_nan_out() {
    for n in SIZES {
        let reals = reals(n);
        let mut expected: Vec<f64> = reals.iter().copied().filter(|real| !real.is_nan()).collect();
        expected.sort_by(f64::total_cmp);
        for k in [0, 1, 7, n / 3, n] {
            let sorter = Sorter::new().nan_last(true);
            let few = k.min(expected.len());
            let (mut low, mut high) = (reals.clone(), reals.clone());
            sorter.smallest(&mut low, k).unwrap();
            sorter.largest(&mut high, k).unwrap();
            let equal = |one: &f64, two: &f64| one.to_bits() == two.to_bits();
            assert!(low[..few].iter().zip(&expected).all(|(one, two)| equal(one, two)), "{k} of {n}");
            assert!(high[..few].iter().zip(expected.iter().rev()).all(|(one, two)| equal(one, two)), "{k} of {n}");
            assert!(same_bits(&low, &reals) && same_bits(&high, &reals));
        }
    }
}

fn descends<K: Key>(compare: impl Fn(&K, &K) -> Ordering, key: impl Fn(u128) -> K) {
    for n in SIZES {
        let mut random = seeded(n as u64 + 1);
        let keys: Vec<K> = (0..n).map(|_| key(random.u128(..) >> random.u32(..128))).collect();
        let mut expected = keys.clone();
        expected.sort_by(|one, two| compare(two, one));
        for threads in [1, 2] {
            let sorter = Sorter::new().threads(threads).descending(true);
            let mut got = keys.clone();
            sorter.sort(&mut got).unwrap();
            assert!(got.iter().zip(&expected).all(|(one, two)| compare(one, two).is_eq()), "{n}");
        }
    }
}

/// Items with equal keys stay in the order they are in.
fn descends_stably<K: Key>(compare: impl Fn(&K, &K) -> Ordering, key: impl Fn(u128) -> K) {
    for n in SIZES {
        let mut random = seeded(n as u64 + 2);
        let keys: Vec<K> = (0..n).map(|_| key(random.u128(..) >> random.u32(..128))).collect();
        for threads in [1, 2] {
            let sorter = Sorter::new().threads(threads).descending(true);
            let mut pairs: Vec<(K, usize)> = keys.iter().copied().zip(0..).collect();
            let mut stable = pairs.clone();
            stable.sort_by(|one, two| compare(&two.0, &one.0));
            sorter.sort_pairs(&mut pairs).unwrap();
            assert!(pairs.iter().map(|pair| pair.1).eq(stable.iter().map(|pair| pair.1)), "{n}");
            assert!(sorter.argsort(&keys).unwrap().into_iter().eq(stable.iter().map(|pair| pair.1)), "{n}");
        }
    }
}

#[test]
fn every_key_descends() {
    descends::<u8>(Ord::cmp, |bits| bits as u8);
    descends::<i16>(Ord::cmp, |bits| bits as i16);
    descends::<u32>(Ord::cmp, |bits| bits as u32);
    descends::<i64>(Ord::cmp, |bits| bits as i64);
    descends::<u128>(Ord::cmp, |bits| bits);
    descends::<(u32, u32)>(Ord::cmp, |bits| (bits as u32 % 9, (bits >> 32) as u32));
    descends::<(u64, u64)>(Ord::cmp, |bits| (bits as u64 % 9, (bits >> 64) as u64));
    descends::<f32>(f32::total_cmp, |bits| f32::from_bits(bits as u32));
    descends::<f64>(f64::total_cmp, |bits| f64::from_bits(bits as u64));
    descends_stably::<i64>(Ord::cmp, |bits| bits as i64 % 5000);
    descends_stably::<(u32, u32)>(Ord::cmp, |bits| (bits as u32 % 9, (bits >> 32) as u32 % 9));
}

/// Whatever the hook does, no key is another one.
#[test]
#[cfg_attr(miri, ignore = "a million pairs")]
fn a_hook_that_panics_leaves_the_keys_as_they_are() {
    let mut random = seeded(3);
    let before: Vec<(u64, u64)> = (0..1 << 20).map(|i| (random.u64(..), i)).collect();
    let mut pairs = before.clone();
    let panics = |_| -> ControlFlow<()> { panic!("as planned") };
    let sorter = Sorter::new().descending(true).progress(&panics);
    assert!(catch_unwind(AssertUnwindSafe(|| sorter.sort_pairs(&mut pairs))).is_err());
    pairs.sort_unstable_by_key(|pair| pair.1);
    assert!(pairs == before);
}

#[test]
fn slices_have_the_sort_as_a_method() {
    let mut random = seeded(5);
    let mut keys: Vec<i32> = (0..5000).map(|_| random.i32(..)).collect();
    let mut expected = keys.clone();
    expected.sort();
    keys.eagre_sort();
    assert_eq!(keys, expected);
    let mut texts: Vec<String> = keys.iter().map(|key| format!("{key:b}")).collect();
    let mut stable = texts.clone();
    stable.sort_by_key(|text| text.len());
    texts.eagre_sort_by_key(|text| text.len());
    assert_eq!(texts, stable);
}
