//! Bytes as keys of some type, sorted in some way, or their places, or the smallest of them: as the standard library
//! has them.
//!
//! The first bytes say which type and what of it, vector instructions, threads and memory, and how often the keys are
//! repeated, with what added each time: large inputs come of few bytes.
#![no_main]

use std::cmp::Ordering;
use std::fmt::Debug;

use eagre::scan::Simd;
use eagre::sort::{Key, Sorter};
use libfuzzer_sys::fuzz_target;

/// How to sort, and what.
struct Way {
    sorter: Sorter<'static>,
    what: u8,
    repeat: usize,
    step: u64,
}

fuzz_target!(|input: ([u8; 4], u16, u64, &[u8])| {
    let ([kind, simd, threads, slack], repeat, step, bytes) = input;
    let mut sorter = Sorter::new().simd(Simd::ALL[simd as usize % 4]).threads(1 + threads as usize % 4);
    if slack > 0 {
        sorter = sorter.slack((slack as usize - 1) << 15);
    }
    // Up to some 100,000 keys of eight bytes.
    let repeat = (repeat as usize).min(800_000 / bytes.len().max(1)).max(1);
    let way = Way { sorter, what: kind / 11 % 3, repeat, step };
    match kind % 11 {
        0 => check(&way, keys::<4, u32>(&way, bytes, |number, _| number as u32), Ord::cmp),
        1 => check(&way, keys::<4, i32>(&way, bytes, |number, _| number as i32), Ord::cmp),
        2 => check(&way, keys::<4, f32>(&way, bytes, |number, _| f32::from_bits(number as u32)), f32::total_cmp),
        3 => check(&way, keys::<8, u64>(&way, bytes, |number, _| number), Ord::cmp),
        4 => check(&way, keys::<8, i64>(&way, bytes, |number, _| number as i64), Ord::cmp),
        5 => check(&way, keys::<8, f64>(&way, bytes, |number, _| f64::from_bits(number)), f64::total_cmp),
        6 => check(
            &way,
            keys::<8, (u32, u32)>(&way, bytes, |number, _| ((number >> 32) as u32, number as u32)),
            Ord::cmp,
        ),
        7 => check(
            &way,
            keys::<8, u128>(&way, bytes, |number, i| u128::from(number) << 64 | u128::from(i % 7)),
            Ord::cmp,
        ),
        8 => {
            check(&way, keys::<8, i128>(&way, bytes, |number, _| i128::from(number as i64) << (number & 63)), Ord::cmp)
        }
        9 => check(&way, keys::<8, (u64, u64)>(&way, bytes, |number, i| (number, i % 5)), Ord::cmp),
        _ => check(&way, keys::<2, u64>(&way, bytes, |number, _| number << 21), Ord::cmp),
    }
});

/// Keys made of numbers of `N` bytes, and which ones they are.
fn keys<const N: usize, K>(way: &Way, bytes: &[u8], make: impl Fn(u64, u64) -> K) -> Vec<K> {
    let numbers: Vec<u64> = bytes
        .as_chunks::<N>()
        .0
        .iter()
        .map(|chunk| chunk.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)))
        .collect();
    let rounds = (0..way.repeat as u64).map(|round| round.wrapping_mul(way.step));
    let all = rounds.flat_map(|add| numbers.iter().map(move |number| number.wrapping_add(add)));
    all.enumerate().map(|(i, number)| make(number, i as u64)).collect()
}

fn check<K: Key + Debug>(way: &Way, mut keys: Vec<K>, order: impl Fn(&K, &K) -> Ordering) {
    let mut expected = keys.clone();
    expected.sort_by(&order);
    let some = keys.len() / 3;
    match way.what {
        0 => way.sorter.sort(&mut keys).expect("there is memory"),
        1 => {
            let places = way.sorter.argsort(&keys).expect("there is memory");
            let stable = |pair: &[usize]| order(&keys[pair[0]], &keys[pair[1]]).then(pair[0].cmp(&pair[1])).is_lt();
            assert!(places.windows(2).all(stable), "{} places, {:?}", keys.len(), way.sorter);
            keys = places.into_iter().map(|place| keys[place]).collect();
        }
        _ => {
            way.sorter.smallest(&mut keys, some).expect("there is memory");
            keys[some..].sort_by(&order);
        }
    }
    let wrong = keys.iter().zip(&expected).position(|(got, expected)| order(got, expected).is_ne());
    assert_eq!(wrong, None, "{} keys, {:?}", keys.len(), way.sorter);
}
