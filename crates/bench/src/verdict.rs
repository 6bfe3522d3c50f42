//! Whether a measurement reaches its target.
//!
//! A target passes if the whole interval is on its good side, and fails if the whole interval is on its bad side.
//! Otherwise, or with too few rounds, the measurement cannot tell.

use serde::Serialize;

use crate::catalogue::Bound;
use crate::interval::Estimate;

/// Fewer rounds than this give no verdict, unless the case asks for fewer because it takes long.
pub(crate) const MIN_PAIRS: usize = 15;

/// What the measurement says about a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Verdict {
    /// The whole interval reaches the target.
    Pass,
    /// The whole interval misses it.
    Fail,
    /// The target lies inside the interval, or the pairs are too few, or one side could not run.
    CannotTell,
}

impl Verdict {
    /// As tables write it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Verdict::Pass => "pass",
            Verdict::Fail => "FAIL",
            Verdict::CannotTell => "cannot tell",
        }
    }
}

/// Whether what is estimated as `estimate` keeps to the `bound` at `target`; `enough` is how many pairs it takes to tell.
pub(crate) fn verdict(estimate: Option<&Estimate>, bound: Bound, target: f64, enough: usize) -> Verdict {
    // Four pairs have no interval of 90 %.
    let Some(estimate) = estimate.filter(|e| e.pairs >= enough.max(5)) else {
        return Verdict::CannotTell;
    };
    let keeps = |value: f64| match bound {
        Bound::AtLeast => value >= target,
        Bound::AtMost => value <= target,
    };
    match (keeps(estimate.low), keeps(estimate.high)) {
        (true, true) => Verdict::Pass,
        (false, false) => Verdict::Fail,
        _ => Verdict::CannotTell,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_ask_where_the_target_lies() {
        let e = |low, high, pairs| Estimate { median: f64::midpoint(low, high), low, high, pairs };
        for (estimate, at_least, at_most) in [
            (Some(e(2.5, 3.0, 15)), Verdict::Pass, Verdict::CannotTell),
            (Some(e(2.6, 3.0, 15)), Verdict::Pass, Verdict::Fail),
            (Some(e(2.0, 2.4, 15)), Verdict::Fail, Verdict::Pass),
            (Some(e(2.4, 2.6, 15)), Verdict::CannotTell, Verdict::CannotTell),
            (Some(e(2.0, 2.5, 15)), Verdict::CannotTell, Verdict::Pass),
            (Some(e(9.0, 9.0, 14)), Verdict::CannotTell, Verdict::CannotTell),
            (None, Verdict::CannotTell, Verdict::CannotTell),
        ] {
            assert_eq!(verdict(estimate.as_ref(), Bound::AtLeast, 2.5, MIN_PAIRS), at_least, "{estimate:?}");
            assert_eq!(verdict(estimate.as_ref(), Bound::AtMost, 2.5, MIN_PAIRS), at_most, "{estimate:?}");
        }
    }
}
