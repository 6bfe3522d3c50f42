//! Scales: which bucket of a base case a key goes to.
//!
//! A radix step ([`Digits`]) is for evenly distributed keys. Many keys are even on another scale. Counts and
//! measurements come in all *magnitudes*, and floating-point numbers may be even as *values* though their bits are not.
//! Each scale is monotone, whatever is rounded on the way, so that buckets are in the order of keys.

use super::super::classifier::Radix;
use super::super::probe::PROBE;
use super::lane::Number;
use crate::sort::bounds::Bounds;

/// Maps a key to its bucket.
pub(super) trait Scale<K>: Copy {
    /// Whether the buckets of many keys are computed before these are moved: by vectors, and with fewer wrong guesses
    /// of the processor about which counters are the same.
    const TOGETHER: bool = true;

    /// How many buckets there are.
    fn fan(self) -> usize;

    /// The bucket of a key, below the fan-out. Larger keys have the same bucket or a later one.
    fn bucket(self, key: K) -> usize;

    /// Each of so many first buckets has a single key.
    fn single(self) -> usize {
        0
    }
}

/// Some bits of the key.
#[derive(Clone, Copy)]
pub(super) struct Digits {
    shift: u32,
    low: usize,
    mask: usize,
}

impl Digits {
    #[inline(always)]
    pub(super) fn new(radix: &Radix) -> Digits {
        let (shift, low, mask) = radix.steps();
        Digits { shift, low, mask }
    }
}

impl<K: Number> Scale<K> for Digits {
    const TOGETHER: bool = false;

    #[inline(always)]
    fn fan(self) -> usize {
        self.mask + 1
    }

    #[inline(always)]
    fn bucket(self, key: K) -> usize {
        Number::digit(key, self.shift).wrapping_sub(self.low) & self.mask
    }
}

/// The bits of a floating-point number's mantissa.
const MANTISSA: u32 = f64::MANTISSA_DIGITS - 1;
/// How many of its highest bits are used: the logarithm has 2^[`STEPS`] steps between two powers of two.
const STEPS: u32 = 20;

/// The approximate logarithm of the distance from the smallest key, as the bits of a floating-point number give it.
///
/// A small power of two is added to distances, so that the first buckets have a single key each, or none. Words with
/// such keys cannot overflow.
#[derive(Clone, Copy)]
pub(super) struct Magnitude<K> {
    low: K,
    /// How many low bits of a distance are ignored.
    lost: u32,
    /// The power of two that is added.
    first: f64,
    /// Buckets for each 2^32 steps of the logarithm.
    factor: u32,
    last: u32,
    single: usize,
}

impl<K: Number> Magnitude<K> {
    /// So many buckets, fewer than there are possible keys.
    pub(super) fn new(known: Bounds, fan: usize) -> Magnitude<K> {
        let lost = known.width().saturating_sub(u64::BITS);
        let of = |first: u64| {
            let (low, last) = (K::new(known.low), fan as u32 - 1);
            let scale = Magnitude { low, lost, first: first as f64, factor: 0, last, single: 0 };
            let steps = u64::from(scale.logarithm(K::new(known.high))) + 1;
            Magnitude { factor: (((fan as u64) << 32) / steps).try_into().unwrap_or(u32::MAX), ..scale }
        };
        // The numbers from `first` to twice that are so many steps apart, and buckets are not farther apart.
        let has_single = |scale: &Magnitude<K>| u64::from(scale.factor >> (32 - STEPS)) >= scale.first as u64;
        let powers = (1..STEPS).map(|bits| of(1 << bits)).take_while(has_single);
        let scale = powers.last().unwrap_or(of(1));
        let single = has_single(&scale) && lost == 0;
        let first = K::new(known.low.wrapping_add(scale.first as u128));
        Magnitude { single: if single { scale.bucket(first) } else { 0 }, ..scale }
    }

    #[inline(always)]
    fn logarithm(self, key: K) -> u32 {
        let distance = Number::digit(key.minus(self.low), self.lost) as u64;
        (((distance as f64 + self.first).to_bits() - self.first.to_bits()) >> (MANTISSA - STEPS)) as u32
    }
}

impl<K: Number> Scale<K> for Magnitude<K> {
    #[inline(always)]
    fn fan(self) -> usize {
        self.last as usize + 1
    }

    #[inline(always)]
    fn bucket(self, key: K) -> usize {
        let bucket = (u64::from(self.logarithm(key)) * u64::from(self.factor)) >> 32;
        (bucket as u32).min(self.last) as usize
    }

    #[inline(always)]
    fn single(self) -> usize {
        self.single
    }
}

/// The value of a floating-point number.
#[derive(Clone, Copy)]
pub(super) struct Value {
    low: f64,
    factor: f64,
    last: usize,
}

impl Value {
    /// So many buckets. Returns `None` if a value is infinite or NaN, or if all values are too close.
    pub(super) fn new<K: Number>(known: Bounds, fan: usize) -> Option<Value> {
        let (low, high) = (K::new(known.low).value(), K::new(known.high).value());
        let factor = fan as f64 / (high - low);
        (factor.is_normal()).then_some(Value { low, factor, last: fan - 1 })
    }
}

impl<K: Number> Scale<K> for Value {
    #[inline(always)]
    fn fan(self) -> usize {
        self.last + 1
    }

    #[inline(always)]
    fn bucket(self, key: K) -> usize {
        // NaNs would be the smallest or the largest key, and there is no scale then.
        (((key.value() - self.low) * self.factor) as i64 as usize).min(self.last)
    }
}

/// Numbers that are even if the magnitudes of these keys are.
#[inline(always)]
pub(super) fn magnitudes(mut keys: [u64; PROBE]) -> [u64; PROBE] {
    let low = keys.iter().fold(u64::MAX, |low, &key| key.min(low));
    for key in &mut keys {
        *key = ((*key - low) as f64 + 1.0).to_bits();
    }
    keys
}

/// Numbers that are even if the values of these keys are. Infinite values make all numbers equal, and NaNs are ignored.
#[inline(always)]
pub(super) fn values<K: Number>(mut keys: [u64; PROBE]) -> [u64; PROBE] {
    let value = |key: u64| K::new(key.into()).value();
    let (low, high) = keys
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &key| (low.min(value(key)), high.max(value(key))));
    for key in &mut keys {
        *key = ((value(*key) - low) / (high - low) * (1u64 << 32) as f64) as u64;
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Buckets ascend with keys, from the smallest to the largest.
    fn ascends<K: Number>(scale: impl Scale<K>, known: Bounds, mut keys: Vec<u128>) {
        keys.extend([known.low, known.high]);
        keys.sort_unstable();
        let buckets: Vec<usize> = keys.iter().map(|&key| scale.bucket(K::new(key))).collect();
        assert!(buckets.is_sorted(), "{known:?}");
        assert_eq!(buckets[0], 0);
        // Rounded down on the way.
        assert!((scale.fan() - 2..scale.fan()).contains(&buckets[buckets.len() - 1]), "{known:?}: {buckets:?}");
    }

    /// The numbers beside all powers of two within bounds, counted from the smallest key.
    fn powers(known: Bounds) -> Vec<u128> {
        let near = |power: u128| [power - 1, power, power + 1, power + power / 3];
        let distances = (0..127).flat_map(|bits| near(1 << bits));
        distances.filter(|&distance| distance <= known.high - known.low).map(|distance| known.low + distance).collect()
    }

    fn magnitudes_ascend<K: Number>(fan: usize, known: Bounds) {
        let scale = Magnitude::<K>::new(known, fan);
        ascends(scale, known, powers(known));
        // Each of the first buckets has one key at most, and no smaller key is in a later bucket.
        let first: Vec<usize> = (0..).map(|i| scale.bucket(K::new(known.low + i))).take(scale.single + 1).collect();
        let within: Vec<usize> = first.into_iter().filter(|&bucket| bucket < scale.single).collect();
        assert!(within.windows(2).all(|two| two[0] < two[1]), "{known:?}, {fan}: {within:?}");
        assert!(scale.lost > 0 || known.high - known.low > 1 << 60 || fan < 100 || !within.is_empty());
    }

    #[test]
    fn magnitudes_of_any_range() {
        for fan in [17, 33, 128, 512, 2000, 4096] {
            for low in [0, 1, 12_345_678] {
                for bits in [13, 16, 24, 31] {
                    let known = Bounds { low, high: low + (1 << bits) + 77 };
                    magnitudes_ascend::<u32>(fan, known);
                    magnitudes_ascend::<u64>(fan, known);
                    magnitudes_ascend::<u128>(fan, known);
                }
                magnitudes_ascend::<u64>(fan, Bounds { low, high: u64::MAX.into() });
                magnitudes_ascend::<u128>(fan, Bounds { low, high: u128::MAX });
                magnitudes_ascend::<u128>(fan, Bounds { low: low << 90, high: u128::MAX >> 3 });
            }
            magnitudes_ascend::<u32>(fan, Bounds { low: 0, high: u32::MAX.into() });
            magnitudes_ascend::<u64>(fan, Bounds { low: u64::MAX as u128 - 5000, high: u64::MAX.into() });
            magnitudes_ascend::<u128>(fan, Bounds { low: u128::MAX - 5000, high: u128::MAX });
        }
    }

    fn key(value: f64) -> u128 {
        let bits = value.to_bits();
        u128::from(if bits >> 63 == 1 { !bits } else { bits ^ 1 << 63 })
    }

    #[test]
    fn values_ascend() {
        for (low, high) in [(-1.0, 1.0), (0.0, 1e-300), (-1e300, 7.0), (1e6, 1e6 + 1.0), (-0.0, 5e-310)] {
            let known = Bounds { low: key(low), high: key(high) };
            for fan in [17, 33, 4096] {
                let steps = (0..1000).map(|i| key(low + (high - low) * f64::from(i) / 1000.0));
                let Some(scale) = Value::new::<u64>(known, fan) else {
                    assert!(high - low < 1e-305);
                    continue;
                };
                ascends::<u64>(
                    scale,
                    known,
                    steps
                        .chain([key(0.0), key(-0.0)].into_iter().filter(|key| (known.low..=known.high).contains(key)))
                        .collect(),
                );
            }
        }
    }

    #[test]
    fn no_values_without_an_end() {
        let ends =
            [(f64::NEG_INFINITY, 0.0), (0.0, f64::INFINITY), (0.0, f64::NAN), (-f64::NAN, 0.0), (f64::MIN, f64::MAX)];
        for (low, high) in ends {
            assert!(Value::new::<u64>(Bounds { low: key(low), high: key(high) }, 100).is_none(), "{low}, {high}");
        }
    }
}
