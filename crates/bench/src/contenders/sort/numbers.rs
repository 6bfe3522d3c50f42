//! The keys everybody sorts, and how one sees that they are sorted.
//!
//! Key number `i` follows from `i` alone, so that several threads can make them and nobody has to keep a copy. What was
//! sorted is judged by its order and by a digest: the sum over all keys of a mixture of their bits, which is the same
//! for every order of the same keys, and another one, but for a chance of 2^-64, for other keys.

use std::ops::Range;

use crate::catalogue::Pattern;

/// Something that is sorted.
pub(crate) trait Element: Copy + Send + Sync + 'static {
    /// The key of these bits that is number `index` of all.
    fn make(bits: u64, index: u64) -> Self;

    /// All of its bits, for the digest.
    fn word(self) -> u64;

    /// Whether it may stand before `next`.
    fn before(&self, next: &Self) -> bool;
}

macro_rules! number {
    ($type:ty, $bits:ident => $make:expr, $key:ident => $word:expr) => {
        impl Element for $type {
            #[inline]
            fn make($bits: u64, _: u64) -> $type {
                $make
            }

            #[inline]
            fn word(self) -> u64 {
                let $key = self;
                $word
            }

            #[inline]
            fn before(&self, next: &$type) -> bool {
                self <= next
            }
        }
    };
}

number!(u32, bits => bits as u32, key => u64::from(key));
number!(i32, bits => bits as i32, key => u64::from(key as u32));
number!(f32, bits => (bits as i32) as f32, key => u64::from(key.to_bits()));
number!(u64, bits => bits, key => key);
number!(i64, bits => bits as i64, key => key as u64);
// Numbers from -1 to 1.
number!(f64, bits => bits.cast_signed() as f64 / 2f64.powi(63), key => key.to_bits());

/// Pairs have a key and their number; mixed before they are joined, lest keys and numbers can trade places.
fn joined(key: u64, number: u64) -> u64 {
    mix(key).rotate_left(32) ^ number
}

macro_rules! pair {
    ($type:ty, $key:ident, $number:ident => $make:expr, $pair:ident => $parts:expr) => {
        impl Element for $type {
            #[inline]
            fn make($key: u64, $number: u64) -> $type {
                $make
            }

            #[inline]
            fn word(self) -> u64 {
                let $pair = self;
                let (key, number) = $parts;
                joined(key, number)
            }

            #[inline]
            fn before(&self, next: &$type) -> bool {
                self <= next
            }
        }
    };
}

pair!((u64, u64), key, number => (key, number), pair => pair);
pair!((u32, u32), key, number => (key as u32, number as u32), pair => (pair.0.into(), pair.1.into()));
pair!([u64; 2], key, number => [key, number], pair => (pair[0], pair[1]));
pair!(u128, key, number => u128::from(key) << 64 | u128::from(number), pair => ((pair >> 64) as u64, pair as u64));

/// Scatters bits: no sum of a few keys is the sum of a few others.
#[inline]
pub(crate) fn mix(word: u64) -> u64 {
    let word = (word ^ word >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word ^ word >> 32
}

/// A random number for each `index`.
#[inline]
fn random(index: u64) -> u64 {
    let word = mix(index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}

/// Fills `keys` with those of `pattern` from number `from` on, of `count` in all.
pub(crate) fn fill<T: Element>(pattern: Pattern, keys: &mut [T], from: u64, count: u64) {
    fn each<T: Element>(keys: &mut [T], from: u64, bits: impl Fn(u64) -> u64) {
        for (key, index) in keys.iter_mut().zip(from..) {
            *key = T::make(bits(index), index);
        }
    }
    match pattern {
        Pattern::Uniform => each(keys, from, random),
        Pattern::Exponential => each(keys, from, |i| random(i) >> (random(!i) >> 58)),
        Pattern::Zipf => each(keys, from, |i| ((random(i) >> 11) as f64 / (1u64 << 53) as f64 * 24.0).exp2() as u64),
        Pattern::Few => each(keys, from, |i| random(random(i) >> 56)),
        Pattern::Sorted => each(keys, from, |i| i),
        Pattern::Reversed => each(keys, from, |i| count - i),
        Pattern::Zeros => each(keys, from, |i| if random(!i).is_multiple_of(1000) { random(i) } else { 0 }),
        Pattern::Prefixes => each(keys, from, |i| random(i) & ((random(!i) & (u64::MAX / 255)) * 255)),
    }
}

/// What there is to see of sorted keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    /// What they are, in whatever order within their piece.
    pub digest: u64,
    /// Where one stands after a greater one.
    pub disorder: Option<usize>,
}

/// Looks at the keys of `range`, sorted in pieces of `piece`.
fn look_at<T: Element>(keys: &[T], piece: usize, range: Range<usize>) -> Look {
    let mut look = Look { digest: 0, disorder: None };
    let mut at = range.start;
    while at < range.end {
        let number = at / piece;
        let end = (number + 1).saturating_mul(piece).min(keys.len());
        let part = &keys[at..end.min(range.end)];
        let sum = part.iter().fold(0u64, |sum, key| sum.wrapping_add(mix(key.word())));
        look.digest = look.digest.wrapping_add(sum.wrapping_mul(2 * number as u64 + 1));
        // With the first key of the next part, if it belongs to the same piece.
        let further = &keys[at..(at + part.len() + 1).min(end)];
        if look.disorder.is_none() && !further.windows(2).all(|two| two[0].before(&two[1])) {
            look.disorder = further.windows(2).position(|two| !two[0].before(&two[1])).map(|i| at + i);
        }
        at += part.len();
    }
    look
}

/// So many keys a thread works on at a time.
const PORTION: usize = 1 << 16;

/// Fills all of `keys`, on every core.
pub(crate) fn fill_all<T: Element>(pattern: Pattern, keys: &mut [T]) {
    let (count, share) = (keys.len() as u64, share(keys.len()));
    std::thread::scope(|scope| {
        for (i, part) in keys.chunks_mut(share).enumerate() {
            scope.spawn(move || fill(pattern, part, (i * share) as u64, count));
        }
    });
}

/// Looks at all of `keys`, sorted in pieces of `piece`, on every core.
pub(crate) fn look<T: Element>(keys: &[T], piece: usize) -> Look {
    let share = share(keys.len());
    std::thread::scope(|scope| {
        let parts = (0..keys.len()).step_by(share).map(|at| at..(at + share).min(keys.len()));
        let looks: Vec<_> = parts.map(|part| scope.spawn(move || look_at(keys, piece, part))).collect();
        let looks = looks.into_iter().map(|look| match look.join() {
            Ok(look) => look,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        looks.fold(Look { digest: 0, disorder: None }, |a, b| Look {
            digest: a.digest.wrapping_add(b.digest),
            disorder: a.disorder.or(b.disorder),
        })
    })
}

/// The digest of `count` keys in pieces of `piece`, without an array of them.
pub(crate) fn digest<T: Element>(pattern: Pattern, count: usize, piece: usize) -> u64 {
    let mut keys = vec![T::make(0, 0); PORTION.min(count)];
    let mut digest = 0u64;
    for at in (0..count).step_by(PORTION) {
        let part = &mut keys[..PORTION.min(count - at)];
        fill(pattern, part, at as u64, count as u64);
        for (i, key) in part.iter().enumerate() {
            let weight = 2 * ((at + i) / piece) as u64 + 1;
            digest = digest.wrapping_add(mix(key.word()).wrapping_mul(weight));
        }
    }
    digest
}

/// What each core gets of `len` keys: whole portions.
fn share(len: usize) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    len.div_ceil(cores).next_multiple_of(PORTION)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATTERNS: [Pattern; 8] = [
        Pattern::Uniform,
        Pattern::Exponential,
        Pattern::Zipf,
        Pattern::Few,
        Pattern::Sorted,
        Pattern::Reversed,
        Pattern::Zeros,
        Pattern::Prefixes,
    ];

    #[test]
    fn sorted_keys_have_the_digest_of_the_unsorted_ones() {
        for pattern in PATTERNS {
            for piece in [1000, 4096, usize::MAX] {
                let mut keys = vec![(0u64, 0u64); 3 * PORTION + 17];
                fill_all(pattern, &mut keys);
                let expected = digest::<(u64, u64)>(pattern, keys.len(), piece);
                assert_eq!(look(&keys, piece).digest, expected, "{pattern:?}");
                keys.chunks_mut(piece).for_each(|piece| piece.sort());
                assert_eq!(look(&keys, piece), Look { digest: expected, disorder: None }, "{pattern:?}");
            }
        }
    }

    #[test]
    fn whatever_is_not_a_sorted_permutation_is_seen() {
        let mut right = vec![0u64; 2 * PORTION];
        fill_all(Pattern::Uniform, &mut right);
        let expected = digest::<u64>(Pattern::Uniform, right.len(), usize::MAX);
        right.sort_unstable();
        for at in [0, 1, PORTION - 1, PORTION, 2 * PORTION - 2] {
            let mut swapped = right.clone();
            swapped.swap(at, at + 1);
            assert_eq!(look(&swapped, usize::MAX), Look { digest: expected, disorder: Some(at) });
            let mut doubled = right.clone();
            doubled[at] = doubled[at + 1];
            assert_ne!(look(&doubled, usize::MAX).digest, expected);
            // The same sum of keys, and still in order.
            let mut moved = right.clone();
            (moved[at], moved[at + 1]) = (moved[at] + 1, moved[at + 1] - 1);
            assert_ne!(look(&moved, usize::MAX).digest, expected);
        }
        // Sorted across the border of two pieces: the keys are all there, but not each in its piece.
        assert_ne!(look(&right, PORTION).digest, digest::<u64>(Pattern::Uniform, right.len(), PORTION));
    }

    #[test]
    fn patterns_are_what_they_are_called() {
        let keys = |pattern| {
            let mut keys = vec![0u64; 1 << 16];
            fill_all(pattern, &mut keys);
            keys
        };
        let share = |pattern, is: fn(&u64) -> bool| {
            keys(pattern).iter().filter(|key| is(key)).count() as f64 / (1 << 16) as f64
        };
        assert!((share(Pattern::Uniform, |key| *key < 1 << 62) - 0.25).abs() < 0.01);
        assert!((share(Pattern::Exponential, |key| *key < 1 << 32) - 0.5).abs() < 0.02);
        assert!((share(Pattern::Zipf, |key| *key < 1 << 12) - 0.5).abs() < 0.01);
        assert!(keys(Pattern::Zipf).iter().all(|key| (1..1 << 24).contains(key)));
        assert!((share(Pattern::Zeros, |key| *key == 0) - 0.999).abs() < 0.001);
        assert!((share(Pattern::Prefixes, |key| *key < 1 << 56) - 0.5).abs() < 0.01);
        assert!((share(Pattern::Prefixes, |key| *key < 1 << 48) - 0.25).abs() < 0.01);
        let few: std::collections::HashSet<_> = keys(Pattern::Few).into_iter().collect();
        assert_eq!(few.len(), 256);
        assert!(keys(Pattern::Sorted).is_sorted() && keys(Pattern::Reversed).iter().rev().is_sorted());
    }
}
