//! Random numbers that are computed from their position, and skewed ones.

use std::f64::consts::LN_2;

/// What numbers are for: a stream for one use says nothing of another.
#[derive(Clone, Copy)]
pub(super) enum Use {
    /// The bytes of the file.
    Bytes = 1,
    /// The bytes of one record.
    Record,
    /// How often its key occurs.
    Rank,
    /// The key with some rank.
    Key,
    /// The length of a record.
    Length,
}

/// An odd number without a pattern in its bits: the golden ratio.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// A sequence of random words, entered anywhere (SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom number
/// generators", 2014).
#[derive(Clone, Copy)]
pub(super) struct Stream(u64);

impl Stream {
    pub(super) fn new(seed: u64, purpose: Use) -> Stream {
        Stream(mix(seed ^ mix(purpose as u64)))
    }

    /// The stream with a number, one of many.
    #[inline(always)]
    pub(super) fn of(self, number: u64) -> Stream {
        Stream(mix(self.word(number)))
    }

    #[inline(always)]
    pub(super) fn word(self, at: u64) -> u64 {
        mix(self.0.wrapping_add(STEP.wrapping_mul(at)))
    }

    /// A number below `limit`, from one word.
    #[inline(always)]
    pub(super) fn below(self, at: u64, limit: u64) -> u64 {
        ((u128::from(self.word(at)) * u128::from(limit)) >> 64) as u64
    }

    /// The bytes of the stream from `at` on.
    #[inline]
    pub(super) fn fill(self, at: u64, to: &mut [u8]) {
        let (mut word, begun) = (at / 8, (at % 8) as usize);
        let mut rest = to;
        if begun > 0 {
            let (head, behind) = rest.split_at_mut((8 - begun).min(rest.len()));
            head.copy_from_slice(&self.word(word).to_le_bytes()[begun..][..head.len()]);
            rest = behind;
            word += 1;
        }
        let (whole, tail) = rest.as_chunks_mut::<8>();
        for bytes in whole {
            *bytes = self.word(word).to_le_bytes();
            word += 1;
        }
        let length = tail.len();
        tail.copy_from_slice(&self.word(word).to_le_bytes()[..length]);
    }
}

#[inline(always)]
fn mix(mut word: u64) -> u64 {
    word = (word ^ word >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    word = (word ^ word >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ word >> 31
}

/// A fraction from 0 to just below 1.
#[inline(always)]
pub(super) fn fraction(word: u64) -> f64 {
    (word >> 11) as f64 / (1u64 << 53) as f64
}

/// Ranks from 1 to a largest one; rank k comes with a probability in proportion to 1/k (Zipf's law with exponent 1).
///
/// A number whose logarithm is uniform is rounded down to k with a probability in proportion to ln(1 + 1/k). That is at
/// least 1/k times ln 2, so some are rejected. Only sums, products and quotients are computed: they are the same on every
/// machine.
#[derive(Clone, Copy)]
pub(super) struct Zipf {
    most: u64,
    /// How many bits the largest rank has.
    bits: u32,
}

impl Zipf {
    pub(super) fn new(most: u64) -> Zipf {
        let most = most.max(1);
        Zipf { most, bits: 64 - most.leading_zeros() }
    }

    pub(super) fn rank(self, stream: Stream) -> u64 {
        let mut at = 0;
        loop {
            let logarithm = u128::from(stream.word(at)) * u128::from(self.bits);
            let rank = (exp2(fraction(logarithm as u64)) * (1u64 << (logarithm >> 64)) as f64) as u64;
            let chance = fraction(stream.word(at + 1));
            // k times ln(1 + 1/k) is less than 1, so most are accepted without computing it.
            let accepted = || chance < LN_2 || chance * rank as f64 * ln_above(rank) < LN_2;
            if rank <= self.most && accepted() {
                return rank;
            }
            at += 2;
        }
    }
}

/// 2^x for x from 0 to 1: from a table, and by its series for the rest of x.
#[inline(always)]
fn exp2(x: f64) -> f64 {
    const POWERS: [f64; 256] = {
        let mut powers = [1.0; 256];
        let mut at = 0;
        while at < powers.len() {
            powers[at] = exp(LN_2 * at as f64 / 256.0, 16);
            at += 1;
        }
        powers
    };
    let steps = x * 256.0;
    let whole = steps as usize;
    POWERS[whole % 256] * exp((steps - whole as f64) * (LN_2 / 256.0), 4)
}

/// e^x, by so many terms of its series.
#[inline(always)]
const fn exp(x: f64, terms: usize) -> f64 {
    let (mut sum, mut n) = (1.0, terms);
    while n > 0 {
        sum = 1.0 + sum * x * (1.0 / n as f64);
        n -= 1;
    }
    sum
}

/// ln(1 + 1/k), by the series of the inverse hyperbolic tangent.
#[inline(always)]
fn ln_above(rank: u64) -> f64 {
    /// 1 / (2n + 1)
    const TERMS: [f64; 9] = {
        let mut terms = [1.0; 9];
        let mut n = 1;
        while n < terms.len() {
            terms[n] = 1.0 / (2 * n + 1) as f64;
            n += 1;
        }
        terms
    };
    let x = 1.0 / (2.0 * rank as f64 + 1.0);
    let square = x * x;
    2.0 * x * TERMS.iter().rev().fold(0.0, |sum, term| term + sum * square)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_part_of_a_stream_is_a_part_of_it() {
        let stream = Stream::new(3, Use::Bytes).of(8);
        let mut whole = [0; 100];
        stream.fill(0, &mut whole);
        for at in 0..30 {
            for length in 0..70 {
                let mut part = vec![0; length];
                stream.fill(at as u64, &mut part);
                assert_eq!(part, whole[at..at + length]);
            }
        }
    }

    #[test]
    fn series_are_what_the_library_says() {
        for step in 0..1000 {
            let x = f64::from(step) / 1000.0;
            assert!((exp2(x) - x.exp2()).abs() < 1e-9, "{x}");
        }
        for rank in [1, 2, 3, 10, 1000, 1 << 40] {
            let expected = (1.0 / rank as f64).ln_1p();
            assert!((ln_above(rank) / expected - 1.0).abs() < 1e-6, "{rank}");
        }
    }

    #[test]
    fn ranks_follow_the_law() {
        for most in [1u64, 2, 3, 100, 5000] {
            let (zipf, stream) = (Zipf::new(most), Stream::new(1, Use::Rank));
            let count = 200_000;
            let mut seen = vec![0u32; most as usize + 1];
            (0..count).for_each(|number| seen[zipf.rank(stream.of(number)) as usize] += 1);
            let sum: f64 = (1..=most).map(|rank| 1.0 / rank as f64).sum();
            assert_eq!(seen[0], 0);
            for rank in 1..=most.min(10) {
                let expected = count as f64 / (rank as f64 * sum);
                let off = (f64::from(seen[rank as usize]) - expected).abs();
                assert!(
                    off < 5.0 * expected.sqrt() + 1.0,
                    "rank {rank} of {most}: {} of {expected}",
                    seen[rank as usize]
                );
            }
        }
        // The largest there is.
        let zipf = Zipf::new(u64::MAX);
        assert!((0..1000).any(|number| zipf.rank(Stream::new(2, Use::Rank).of(number)) > 1 << 50));
    }
}
