//! What Eagre can do on this machine, and what would let it do more.
//!
//! Eagre works everywhere, but its speed and abilities depend on the kernel, on what an ordinary user may do with page
//! faults, on huge pages, and on limits. [`examine`] checks all of these and returns a [`Diagnosis`]:
//!
//! - the *pairs* of trap and mover. Each was tested with a small stream and real page faults, so the result is certain.
//! - *facts*, read from `/proc`, `/sys`, `/dev` and the limits of this process. They tell what should work, and why a
//!   pair does not. Each [`Fact`] has a value and a [`Verdict`]. If the verdict is not [`Ok`](Verdict::Ok), it also has
//!   a reason and a cure, which often can be pasted into a shell.
//! - the *settings* in the environment.
//!
//! The machine is not changed. Testing a pair does what opening a stream does: it installs a signal handler, or starts
//! the pager thread.
//!
//! Each subject has a file with a function from the host to facts. A host is a root directory. Tests use made-up
//! directories, so the suite covers old kernels, containers and low limits.

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
mod network;
#[cfg(all(target_os = "linux", not(miri)))]
mod processes;
mod streams;

use crate::{Trap, probe};

pub use crate::probe::{Pair, PairStatus};
pub use available::{Available, Bound, available_memory};
pub use fact::{Fact, Group, Value, Verdict};
pub use streams::{SettingValue, system_calls};

/// The result of [`examine`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Diagnosis {
    /// All pairs of trap and mover, the best first.
    pub pairs: Vec<PairStatus>,
    /// The pair that streams use by default. `None` if no stream can be opened.
    pub default: Option<Pair>,
    /// The facts, ordered by [`Group`].
    pub facts: Vec<Fact>,
    /// The environment variables that Eagre reads.
    pub settings: Vec<SettingValue>,
}

impl Diagnosis {
    /// The fact with this name, for example `memory.total`.
    #[must_use]
    pub fn fact(&self, name: &str) -> Option<&Fact> {
        self.facts.iter().find(|fact| fact.name == name)
    }

    /// Whether streams can be used through pointers by default.
    #[must_use]
    pub fn has_pointers(&self) -> bool {
        self.default.is_some_and(|pair| pair.trap != Trap::Off)
    }
}

/// The functions that examine a host.
const SUBJECTS: [fn(&host::Host) -> Vec<Fact>; 8] = [
    kernel::facts,
    faults::facts,
    memory::facts,
    huge::facts,
    limits::facts,
    network::facts,
    cgroup::facts,
    cpu::facts,
];

/// Examines this machine from the point of view of this process.
#[must_use]
pub fn examine() -> Diagnosis {
    let host = host::Host::this();
    let opened = streams::Opened::by_default();
    let mut facts = streams::facts(&opened);
    #[cfg(all(target_os = "linux", not(miri)))]
    facts.extend(processes::facts(&eagre_mem::process::examine()));
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
