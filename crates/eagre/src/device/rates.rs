//! Rates between the measured ones.

use super::profile::{Access, Measured};

/// The answer if nothing was measured, in bytes per second: a disk without moving parts, which is neither fast nor slow.
const UNKNOWN: f64 = 500e6;

/// As [`Profile::rate`](super::Profile::rate).
pub(super) fn rate(measured: &[Measured], access: Access, request: u64, depth: u32) -> f64 {
    let alone = |other| rate(measured, other, request, depth);
    match on_grid(measured, access, request, depth) {
        Some(found) if access == Access::RandomRead => found.min(ceiling(measured, Access::SequentialRead, found)),
        Some(found) if access == Access::RandomWrite => found.min(ceiling(measured, Access::SequentialWrite, found)),
        Some(found) => found,
        None => match access {
            Access::SequentialRead | Access::SequentialWrite => UNKNOWN,
            Access::RandomRead => alone(Access::SequentialRead) / 10.0,
            Access::RandomWrite => alone(Access::RandomRead),
            Access::DurableWrite | Access::WriteBesideRead => alone(Access::SequentialWrite) / 2.0,
            Access::ReadBesideWrite => alone(Access::SequentialRead) / 2.0,
            Access::CachedRead => 4e9,
            Access::CachedGather => 1e9,
        },
    }
}

/// The best measured rate of a sequential access. `found` if there is none.
fn ceiling(measured: &[Measured], access: Access, found: f64) -> f64 {
    let rates = measured.iter().filter(|measured| measured.access == access).map(|measured| measured.rate);
    rates.reduce(f64::max).unwrap_or(found)
}

/// The rate between the measured request sizes and depths.
fn on_grid(measured: &[Measured], access: Access, request: u64, depth: u32) -> Option<f64> {
    let of = || measured.iter().filter(move |measured| measured.access == access);
    let depths = || of().map(|measured| measured.depth);
    let row = |depth: u32| at_depth(of().filter(move |measured| measured.depth == depth), access, request);
    let (below, above) = (depths().filter(|&d| d <= depth).max(), depths().filter(|&d| d >= depth).min());
    match (below, above) {
        (Some(low), Some(high)) => {
            let (a, b) = (row(low)?, row(high)?);
            Some(between((f64::from(low), a), (f64::from(high), b), f64::from(depth)))
        }
        (Some(low), None) => row(low),
        (None, Some(high)) => Some(row(high)? * f64::from(depth) / f64::from(high)),
        (None, None) => None,
    }
}

/// The rate between the measured request sizes of one depth.
fn at_depth<'a>(row: impl Iterator<Item = &'a Measured> + Clone, access: Access, request: u64) -> Option<f64> {
    let below = row.clone().filter(|measured| measured.request <= request).max_by_key(|measured| measured.request);
    let above = row.filter(|measured| measured.request >= request).min_by_key(|measured| measured.request);
    let as_long = |near: &Measured| near.rate * request as f64 / near.request as f64;
    match (below, above) {
        (Some(low), Some(high)) => {
            Some(between((low.request as f64, low.rate), (high.request as f64, high.rate), request as f64))
        }
        // A request that costs a fixed time: the device has not been seen to be busy with its bytes.
        (Some(low), None) if access == Access::RandomRead || access == Access::RandomWrite => Some(as_long(low)),
        (Some(low), None) => Some(low.rate),
        (None, Some(high)) => Some(as_long(high)),
        (None, None) => None,
    }
}

/// A straight line between the logarithms.
fn between(low: (f64, f64), high: (f64, f64), at: f64) -> f64 {
    if low.0 >= high.0 {
        return low.1;
    }
    let part = (at / low.0).ln() / (high.0 / low.0).ln();
    low.1 * (high.1 / low.1).powf(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) {
        assert!((a / b - 1.0).abs() < 1e-9, "{a} {b}");
    }

    #[test]
    fn measured_points_are_met_and_others_lie_between() {
        use Access::RandomRead;
        let measured = [
            Measured::new(RandomRead, 1000, 1, 10e6),
            Measured::new(RandomRead, 16000, 1, 40e6),
            Measured::new(RandomRead, 1000, 4, 20e6),
            Measured::new(RandomRead, 16000, 4, 80e6),
        ];
        for point in measured {
            near(rate(&measured, RandomRead, point.request, point.depth), point.rate);
        }
        near(rate(&measured, RandomRead, 4000, 1), 20e6);
        near(rate(&measured, RandomRead, 1000, 2), 10e6 * 2f64.sqrt());
        // Beyond the grid: as long as the nearest request, and no deeper than the deepest.
        near(rate(&measured, RandomRead, 100, 1), 1e6);
        near(rate(&measured, RandomRead, 32000, 64), 160e6);
    }

    #[test]
    fn random_requests_are_never_faster_than_sequential_ones() {
        let measured = [
            Measured::new(Access::RandomRead, 4096, 16, 300e6),
            Measured::new(Access::SequentialRead, 1 << 20, 4, 1e9),
        ];
        near(rate(&measured, Access::RandomRead, 1 << 20, 16), 1e9);
        near(rate(&measured, Access::SequentialRead, 4 << 20, 4), 1e9);
        near(rate(&measured, Access::SequentialRead, 1 << 20, 1), 0.25e9);
    }

    #[test]
    fn what_was_not_measured_is_estimated() {
        let measured = [Measured::new(Access::SequentialWrite, 1 << 20, 4, 2e9)];
        near(rate(&measured, Access::DurableWrite, 1 << 20, 4), 1e9);
        near(rate(&measured, Access::WriteBesideRead, 1 << 20, 4), 1e9);
        for access in Access::ALL {
            assert!(rate(&[], access, 100, 1) > 0.0, "{access}");
        }
    }
}
