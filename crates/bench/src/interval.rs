//! The median of several measurements, and the interval in which it lies.
//!
//! In every round a contender and its peer run one after the other, so their ratio does not depend on the speed of the
//! machine in that minute. The result is the median of these ratios. Its interval comes from order statistics and assumes no
//! distribution: the true median lies below the k-th smallest of `n` ratios only if fewer than `k` of them fell below it,
//! which is as likely as fewer than `k` heads in `n` coin tosses. The largest `k` with at most 5 % in each tail gives an
//! interval of at least 90 %; for 15 pairs it runs from the 4th to the 12th ratio.

use serde::Serialize;

/// The fewest values that have an interval of 90 %.
pub(crate) const FEWEST: usize = 5;

/// Each tail of the interval holds at most this.
const TAIL: f64 = 0.05;

/// A median and the interval it lies in with at least 90 % confidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Estimate {
    /// The median.
    pub median: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
    /// How many values it stands on.
    pub pairs: usize,
}

/// The middle of sorted values; the mean of the two middle ones when they are even in number.
fn middle(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[half] } else { f64::midpoint(sorted[half - 1], sorted[half]) }
}

/// How many values to leave out at each end: the largest `k` with `P(Bin(n, 1/2) < k) <= TAIL`.
fn trimmed(n: usize) -> usize {
    // P(X = 0) = 2^-n, and P(X = k + 1) = P(X = k) (n - k) / (k + 1).
    let mut term = 0.5f64.powi(n as i32);
    let mut below = 0.0;
    let mut k = 0;
    while k < n / 2 {
        below += term;
        if below > TAIL {
            break;
        }
        term *= (n - k) as f64 / (k + 1) as f64;
        k += 1;
    }
    k
}

/// Median and interval of `values`, or `None` of none. Up to four values have no 90 % interval:
/// theirs is everything they cover.
pub(crate) fn estimate(values: &[f64]) -> Option<Estimate> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    if n == 0 {
        return None;
    }
    let k = trimmed(n).max(1);
    Some(Estimate { median: middle(&sorted), low: sorted[k - 1], high: sorted[n - k], pairs: n })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tables of the sign test give these ranks for two-sided 90 % (k-th smallest to k-th largest).
    #[test]
    fn the_ranks_are_those_of_the_tables() {
        for (n, k) in
            [(5, 1), (6, 1), (7, 1), (8, 2), (10, 2), (11, 3), (12, 3), (15, 4), (16, 5), (20, 6), (25, 8), (30, 11)]
        {
            assert_eq!(trimmed(n), k, "n = {n}");
        }
        assert_eq!(trimmed(FEWEST), 1);
        for n in 1..FEWEST {
            assert_eq!(trimmed(n), 0, "n = {n}: 2^-n > 0.05");
        }
    }

    /// The rule said the slow way: count the outcomes of `n` throws.
    #[test]
    fn the_ranks_are_those_of_counting() {
        for n in 1..=16usize {
            let tail = |k: usize| {
                let fewer = (0u32..1 << n).filter(|t| (t.count_ones() as usize) < k);
                fewer.count() as f64 / (1u64 << n) as f64
            };
            let want = (0..=n / 2).rev().find(|k| tail(*k) <= TAIL).unwrap();
            assert_eq!(trimmed(n), want, "n = {n}");
        }
    }

    #[test]
    fn fifteen_values_by_hand() {
        let values: Vec<f64> = [9, 2, 14, 7, 1, 12, 5, 15, 3, 11, 8, 4, 13, 6, 10].map(f64::from).to_vec();
        let got = estimate(&values).unwrap();
        assert_eq!((got.low, got.median, got.high), (4.0, 8.0, 12.0));
        assert_eq!(got.pairs, 15);
    }

    #[test]
    fn even_and_small_numbers() {
        assert_eq!(estimate(&[]), None);
        let two = estimate(&[3.0, 1.0]).unwrap();
        assert_eq!((two.low, two.median, two.high), (1.0, 2.0, 3.0));
        assert_eq!(estimate(&[4.0, 1.0, 3.0, 2.0]).unwrap().median, 2.5);
    }

    /// The interval covers a known median as often as it claims, whatever the distribution.
    #[test]
    fn coverage_is_at_least_ninety_percent() {
        const SEED: u64 = 1;
        let mut random = fastrand::Rng::with_seed(SEED);
        let trials = 4000;
        let covered = (0..trials)
            .filter(|_| {
                // Skewed: the median of u^4 is 1/16.
                let values: Vec<f64> = (0..15).map(|_| random.f64().powi(4)).collect();
                let e = estimate(&values).unwrap();
                e.low <= 1.0 / 16.0 && 1.0 / 16.0 <= e.high
            })
            .count();
        let share = covered as f64 / trials as f64;
        assert!((0.95..0.98).contains(&share), "{share}; exact: 0.965; seed {SEED}");
    }
}
