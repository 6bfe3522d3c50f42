//! What is asked of a contender: a figure, what it is held against, and how good it has to be.
//!
//! ```text
//! figure               against                       good is
//! rate                 a peer, the best of several,  more
//!                      a roofline, nothing
//! processor time       a peer, the best of several   less
//! memory               nothing: so many MiB          less
//! ```
//!
//! A ratio is formed round by round, of runs that were neighbours in time. The *best of several peers* is the one
//! whose median over all counted rounds is best; the ratios are then formed with that one. The choice is made from the
//! rounds that are judged, so what error it has is in the peer's favour, never in ours. The alternative, the best peer
//! of each round, would compare one contender with the luckiest of many.

/// A figure of a contender that can be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Figure {
    /// What the row is about, in its unit per second.
    Rate,
    /// Seconds of processor time for each gigabyte (or million rows, or move), user and system.
    Processor,
    /// The peak of the memory the contender's process took for itself, in MiB.
    Memory,
}

/// Which side of a goal is the good one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bound {
    /// The figure should reach the goal.
    AtLeast,
    /// The figure should stay within it.
    AtMost,
}

/// What a figure is divided by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Against {
    /// The same figure of this contender.
    Peer(&'static str),
    /// The same figure of the best of these.
    Best(&'static [&'static str]),
    /// What memory gives to as many reading threads.
    MemoryReads,
    /// Nothing: the figure is its own measure.
    Itself,
}

/// What is asked of a contender.
#[derive(Clone, Copy)]
pub(crate) struct Target {
    /// Of whom.
    pub contender: &'static str,
    /// Which figure.
    pub figure: Figure,
    /// Divided by what.
    pub against: Against,
    /// In which case; `None`: in each.
    pub case: Option<&'static str>,
    /// The value that separates success from failure.
    pub must: Option<f64>,
    /// The value we would like.
    pub aim: Option<f64>,
}

impl Figure {
    /// Whether more of it is better.
    pub(crate) const fn bound(self) -> Bound {
        match self {
            Figure::Rate => Bound::AtLeast,
            Figure::Processor | Figure::Memory => Bound::AtMost,
        }
    }
}

impl Bound {
    /// As formulas write it.
    pub(crate) const fn sign(self) -> &'static str {
        match self {
            Bound::AtLeast => ">=",
            Bound::AtMost => "<=",
        }
    }

    /// The better one of two figures.
    pub(crate) fn better(self, a: f64, b: f64) -> bool {
        match self {
            Bound::AtLeast => a > b,
            Bound::AtMost => a < b,
        }
    }
}

impl Against {
    /// The contenders it names.
    pub(crate) fn peers(&self) -> &[&'static str] {
        match self {
            Against::Peer(peer) => std::slice::from_ref(peer),
            Against::Best(peers) => peers,
            Against::MemoryReads | Against::Itself => &[],
        }
    }
}

impl Target {
    const fn new(contender: &'static str, figure: Figure, against: Against, must: Option<f64>) -> Target {
        Target { contender, figure, against, case: None, must, aim: None }
    }

    /// The rate, at least `ratio` times that of `peer`.
    pub(crate) const fn must(contender: &'static str, ratio: f64, peer: &'static str) -> Target {
        Target::new(contender, Figure::Rate, Against::Peer(peer), Some(ratio))
    }

    /// The rate, if it can be had `ratio` times that of `peer`.
    pub(crate) const fn aim(contender: &'static str, ratio: f64, peer: &'static str) -> Target {
        Target::new(contender, Figure::Rate, Against::Peer(peer), None).aiming(ratio)
    }

    /// The rate, at least `ratio` times that of the best of `peers`.
    pub(crate) const fn must_best(contender: &'static str, ratio: f64, peers: &'static [&'static str]) -> Target {
        Target::new(contender, Figure::Rate, Against::Best(peers), Some(ratio))
    }

    /// The rate, at least `share` of what memory gives to as many reading threads.
    pub(crate) const fn roof(contender: &'static str, share: f64) -> Target {
        Target::new(contender, Figure::Rate, Against::MemoryReads, Some(share))
    }

    /// The rate itself, in the row's unit, at least `rate`.
    pub(crate) const fn rate(contender: &'static str, rate: f64) -> Target {
        Target::new(contender, Figure::Rate, Against::Itself, Some(rate))
    }

    /// Processor time, at most `ratio` times that of `peer`.
    pub(crate) const fn processor(contender: &'static str, ratio: f64, peer: &'static str) -> Target {
        Target::new(contender, Figure::Processor, Against::Peer(peer), Some(ratio))
    }

    /// Memory, at most so many MiB.
    pub(crate) const fn memory(contender: &'static str, mebibytes: f64) -> Target {
        Target::new(contender, Figure::Memory, Against::Itself, Some(mebibytes))
    }

    /// The same with a value to aim at.
    pub(crate) const fn aiming(self, value: f64) -> Target {
        Target { aim: Some(value), ..self }
    }

    /// The same in one case only.
    pub(crate) const fn at(self, case: &'static str) -> Target {
        Target { case: Some(case), ..self }
    }

    /// What is judged, in words: `a / b`, `a: processor time / b`, `a: memory, MiB`. `chosen` is the peer that turned
    /// out the best of several.
    pub(crate) fn subject(&self, chosen: Option<&str>) -> String {
        let figure = match self.figure {
            Figure::Rate => "",
            Figure::Processor => ": processor time",
            Figure::Memory => ": memory, MiB",
        };
        let against = match (self.against, chosen) {
            (Against::Peer(peer), _) => format!(" / {peer}"),
            (Against::Best(_), Some(peer)) => format!(" / {peer}, the best of its peers"),
            (Against::Best(peers), None) => format!(" / the best of {}", peers.join(", ")),
            (Against::MemoryReads, _) => " / memory reads".to_owned(),
            (Against::Itself, _) => String::new(),
        };
        format!("{}{figure}{against}", self.contender)
    }

    /// `>= 0.72 (aim 0.85)`, or the half of it there is.
    pub(crate) fn goals(&self) -> String {
        let sign = self.figure.bound().sign();
        match (self.must, self.aim) {
            (Some(must), Some(aim)) => format!("{sign} {must} (aim {aim})"),
            (Some(must), None) => format!("{sign} {must}"),
            (None, Some(aim)) => format!("aim {sign} {aim}"),
            (None, None) => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_read_as_sentences() {
        for (target, chosen, subject, goals) in [
            (Target::must("a", 2.5, "b").aiming(3.0), None, "a / b", ">= 2.5 (aim 3)"),
            (Target::aim("a", 1.0, "b"), None, "a / b", "aim >= 1"),
            (Target::must_best("a", 0.95, &["b", "c"]), None, "a / the best of b, c", ">= 0.95"),
            (Target::must_best("a", 0.95, &["b", "c"]), Some("c"), "a / c, the best of its peers", ">= 0.95"),
            (Target::processor("a", 1.1, "b"), None, "a: processor time / b", "<= 1.1"),
            (Target::memory("a", 16.0), None, "a: memory, MiB", "<= 16"),
            (Target::roof("a", 0.85), None, "a / memory reads", ">= 0.85"),
            (Target::rate("a", 60.0), None, "a", ">= 60"),
        ] {
            assert_eq!((target.subject(chosen).as_str(), target.goals().as_str()), (subject, goals));
        }
    }
}
