//! What this machine can do for Eagre, and what would let it do more.
//!
//! Eagre works everywhere but not everywhere equally well: it depends on the kernel, on what an ordinary user may do
//! with page faults, on huge pages, on limits. [`examine`] looks at all of it and returns a [`Diagnosis`]:
//!
//! - the *pairs* of trap and mover, each tried with a small stream and real faults: what they say is so;
//! - *facts*, read from `/proc`, `/sys` and `/dev` and from the limits of this process: what should work, and why a
//!   pair does not. Each [`Fact`] carries a value, a [`Verdict`], and, where the verdict is not [`Ok`](Verdict::Ok),
//!   the reason and a cure a person can paste into a shell;
//! - the *settings* in the environment.
//!
//! Nothing is changed. Trying a pair does what opening a stream does: it installs a signal handler, or starts the
//! pager thread.
//!
//! One file per subject, each a function from the host to facts. A host is a root directory: tests hand in a made-up
//! one, so old kernels, containers and misers are all in the suite.

mod available;
mod cgroup;
mod cpu;
mod fact;
mod faults;
mod host;
mod huge;
mod kernel;
mod limits;
mod memory;
mod streams;

use crate::{Trap, probe};

pub use crate::probe::{Pair, PairStatus};
pub use available::{Available, Bound, available_memory};
pub use fact::{Fact, Group, Value, Verdict};
pub use streams::{SettingValue, system_calls};

/// What [`examine`] found.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Diagnosis {
    /// All pairs of trap and mover, best first.
    pub pairs: Vec<PairStatus>,
    /// The pair that streams get by default; `None` if none opens.
    pub default: Option<Pair>,
    /// The facts, grouped (all facts of a [`Group`] follow one another).
    pub facts: Vec<Fact>,
    /// The environment variables Eagre reads.
    pub settings: Vec<SettingValue>,
}

impl Diagnosis {
    /// The fact with this name, for example `memory.total`.
    #[must_use]
    pub fn fact(&self, name: &str) -> Option<&Fact> {
        self.facts.iter().find(|fact| fact.name == name)
    }

    /// Whether streams have pointers by default.
    #[must_use]
    pub fn has_pointers(&self) -> bool {
        self.default.is_some_and(|pair| pair.trap != Trap::Off)
    }
}

/// What there is to know of a host.
const SUBJECTS: [fn(&host::Host) -> Vec<Fact>; 7] =
    [kernel::facts, faults::facts, memory::facts, huge::facts, limits::facts, cgroup::facts, cpu::facts];

/// Examines this machine, as this process sees it.
#[must_use]
pub fn examine() -> Diagnosis {
    let host = host::Host::this();
    let opened = streams::Opened::by_default();
    let mut facts = streams::facts(&opened);
    facts.extend(SUBJECTS.iter().flat_map(|subject| subject(&host)));
    Diagnosis {
        pairs: probe::examine(),
        default: opened.ok().map(|opened| opened.pair),
        facts,
        settings: streams::settings(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_can_be_examined() {
        let diagnosis = examine();
        let total = diagnosis.fact("memory.total").expect("every machine has memory");
        assert!(matches!(total.value, Value::Bytes(n) if n > 1 << 20));
        assert!(diagnosis.fact("no.such.fact").is_none());
    }

    #[test]
    fn names_are_unique_and_every_shortcoming_has_a_reason() {
        let diagnosis = examine();
        let mut names: Vec<_> = diagnosis.facts.iter().map(|fact| fact.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), diagnosis.facts.len());
        for fact in &diagnosis.facts {
            assert_eq!(fact.verdict == Verdict::Ok, fact.why.is_none(), "{fact:?}");
        }
    }

    #[test]
    fn groups_are_not_interleaved() {
        let mut groups: Vec<_> = examine().facts.iter().map(|fact| fact.group).collect();
        groups.dedup();
        let mut unique = groups.clone();
        unique.sort();
        unique.dedup();
        assert_eq!(unique.len(), groups.len(), "{groups:?}");
    }

    #[test]
    fn an_empty_host_is_examined_without_a_panic() {
        let root = tempfile::tempdir().unwrap();
        let host = host::Host::at(root.path());
        for subject in SUBJECTS {
            let _ = subject(&host);
        }
    }
}
