//! How the keys of the grid are distributed: shapes that programs meet, their parameters drawn anew from each seed.
//!
//! A pattern gives numbers of a number of bits; what a kind of keys makes of them is its own matter. A pattern that is
//! [`Pattern::is_wide`] covers the whole range of a key, the others are numbers as programs count and measure them.

use fastrand::Rng as Random;

/// The k-th of 2^`bits` numbers with a probability of about 1/k.
fn zipf(random: &mut Random, bits: u32) -> u64 {
    (random.f64() * f64::from(bits)).exp2() as u64
}

/// A distribution of keys, and an order in which they come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pattern {
    Uniform,
    Ascending,
    Descending,
    OrganPipe,
    Sawtooth,
    Runs,
    NearlySorted,
    Equal,
    Two,
    Few,
    Zipf,
    HashedZipf,
    Zeros,
    Exponential,
    Gaussian,
    LogNormal,
    Ascii,
    Pointers,
    Clusters,
    Timestamps,
    Dense,
    Addresses,
}

use Pattern::*;

/// All patterns with their names.
pub(super) const ALL: [(Pattern, &str); 22] = [
    (Uniform, "uniform"),
    (Ascending, "ascending"),
    (Descending, "descending"),
    (OrganPipe, "organ-pipe"),
    (Sawtooth, "sawtooth"),
    (Runs, "runs"),
    (NearlySorted, "nearly-sorted"),
    (Equal, "equal"),
    (Two, "two-values"),
    (Few, "300-values"),
    (Zipf, "zipf"),
    (HashedZipf, "hashed-zipf"),
    (Zeros, "almost-zeros"),
    (Exponential, "exponential"),
    (Gaussian, "gaussian"),
    (LogNormal, "log-normal"),
    (Ascii, "ascii"),
    (Pointers, "pointers"),
    (Clusters, "clusters"),
    (Timestamps, "timestamps"),
    (Dense, "dense"),
    (Addresses, "ipv4"),
];

impl Pattern {
    /// The pattern's name.
    pub(super) fn name(self) -> &'static str {
        ALL.iter().find(|(pattern, _)| *pattern == self).map_or("", |(_, name)| name)
    }

    /// Whether numbers lie all over the range of a key: signed keys and floating-point numbers are on both sides of zero.
    pub(super) fn is_wide(self) -> bool {
        matches!(self, Uniform | Ascending | Descending | Runs | NearlySorted | Few | HashedZipf | Gaussian)
    }

    /// Fills `keys` with numbers of so many bits, 32 or 64.
    pub(super) fn fill(self, keys: &mut [u64], bits: u32, random: &mut Random) {
        let n = keys.len() as u64;
        let top = |number: u64| number >> (64 - bits);
        match self {
            Uniform => keys.fill_with(|| top(random.u64(..))),
            Ascending | Descending | NearlySorted | Runs => {
                keys.fill_with(|| top(random.u64(..)));
                let runs = if self == Runs { 2 + random.u64(..63) } else { 1 };
                keys.chunks_mut(n.div_ceil(runs) as usize).for_each(<[u64]>::sort_unstable);
                if self == Descending {
                    keys.reverse();
                }
                for _ in 0..if self == NearlySorted { n.div_ceil(200) } else { 0 } {
                    keys.swap(random.u64(..n) as usize, random.u64(..n) as usize);
                }
            }
            OrganPipe => (0..n).zip(keys).for_each(|(i, key)| *key = i.min(n - i)),
            Sawtooth => {
                // From a tooth of a few keys to one of many.
                let period = ((n as f64).powf(0.25 + 0.5 * random.f64())) as u64 + 2;
                (0..n).zip(keys).for_each(|(i, key)| *key = i % period);
            }
            Equal => keys.fill(top(random.u64(..))),
            Two | Few => {
                let values: Vec<u64> = (0..if self == Two { 2 } else { 300 }).map(|_| top(random.u64(..))).collect();
                keys.fill_with(|| values[random.u64(..values.len() as u64) as usize]);
            }
            Zipf => keys.fill_with(|| zipf(random, 20)),
            HashedZipf => {
                let salt = random.u64(..) | 1;
                keys.fill_with(|| top(zipf(random, 20).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_mul(salt)));
            }
            Zeros => keys.fill_with(|| if random.u64(..1000) == 0 { top(random.u64(..)) } else { 0 }),
            Exponential => keys.fill_with(|| top(random.u64(..)) >> random.u32(..bits)),
            Gaussian => {
                // Sums of uniform numbers, around the middle.
                let narrow = random.u64(..u64::from(bits) / 2);
                let half = 1u64 << (bits - 1);
                keys.fill_with(|| {
                    let sum = (0..6).map(|_| random.f64() - 0.5).sum::<f64>() / 3.0;
                    half.wrapping_add_signed((sum * half as f64) as i64 >> narrow)
                });
            }
            LogNormal => keys.fill_with(|| {
                let sum = (0..6).map(|_| random.f64() - 0.5).sum::<f64>();
                (f64::from(bits) * 0.35 + 2.5 * sum).exp2() as u64
            }),
            Ascii => {
                keys.fill_with(|| {
                    let letter = |random: &mut Random| b"etaoinshrdlcumwfgypbvkjxqz"[zipf(random, 4) as usize % 26];
                    let length = 2 + random.u64(..u64::from(bits) / 8 - 1) as u32;
                    (0..bits / 8).fold(0, |word, i| word << 8 | u64::from(if i < length { letter(random) } else { 0 }))
                });
            }
            Pointers => {
                let base = if bits == 64 { 0x7f00_0000_0000 + (random.u64(..1u64 << 20) << 12) } else { 0x4000_0000 };
                let range = 1u64 << if bits == 64 { 26 } else { 22 };
                keys.fill_with(|| base + 16 * random.u64(..range));
            }
            Clusters => {
                let common = random.u64(..);
                keys.fill_with(|| {
                    let mask = (random.u64(..) & (u64::MAX / 255)) * 255;
                    top((random.u64(..) & mask) | (common & !mask))
                });
            }
            Timestamps => {
                let (start, late) =
                    (if bits == 64 { 1_700_000_000_000 } else { 1_700_000_000 }, 2 + random.u64(..1000));
                (0..n).zip(keys).for_each(|(i, key)| *key = start + i + random.u64(..late));
            }
            Dense => keys.fill_with(|| random.u64(..n)),
            Addresses => keys.fill_with(|| {
                let address = zipf(random, 7) << 24 | zipf(random, 8) << 16 | random.u64(..1 << 16);
                (address & 0xffff_ffff) << (bits - 32)
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_what_they_are_called() {
        for bits in [32, 64] {
            for (pattern, name) in ALL {
                let made = |seed| {
                    let mut keys = vec![0; 10_000];
                    pattern.fill(&mut keys, bits, &mut Random::with_seed(seed));
                    keys
                };
                let keys = made(7);
                assert_eq!(keys, made(7), "{name}");
                assert!(bits == 64 || keys.iter().all(|key| *key < 1 << 32), "{name}");
                let distinct = keys.iter().collect::<std::collections::HashSet<_>>().len();
                match pattern {
                    Ascending => assert!(keys.is_sorted()),
                    Descending => assert!(keys.iter().rev().is_sorted()),
                    Runs => assert!((1..64).contains(&keys.windows(2).filter(|two| two[0] > two[1]).count())),
                    NearlySorted => assert!((1..=200).contains(&keys.windows(2).filter(|two| two[0] > two[1]).count())),
                    Equal => assert_eq!(distinct, 1),
                    Two => assert_eq!(distinct, 2),
                    Few => assert_eq!(distinct, 300),
                    _ => assert!(distinct > 2 && !keys.is_sorted(), "{name}: {distinct}"),
                }
            }
        }
    }
}
