//! What this machine can do for Eagre, and what would let it do more.
//!
//! Eagre works everywhere but not everywhere equally well: it depends on the kernel, on what an ordinary
//! user may do with page faults, on huge pages, on limits. [`examine`] looks at all of it and returns a
//! [`Diagnosis`]: a list of [`Fact`]s. Each carries a value, a [`Verdict`], and, where the verdict is not
//! [`Ok`](Verdict::Ok), the reason and a cure a person can paste into a shell.
//!
//! Nothing is changed, and every fact is read from a file of `/proc`, `/sys` or `/dev`, or from a limit of
//! this process. So facts say what *should* work.
//!
//! One file per subject, each a function from the host to facts. A host is a root
//! directory: tests hand in a made-up one, so old kernels, containers and misers are all in the suite.

mod cgroup;
mod cpu;
mod fact;
mod faults;
mod host;
mod huge;
mod kernel;
mod limits;
mod memory;

pub use fact::{Fact, Group, Value, Verdict};

/// What [`examine`] found.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Diagnosis {
    /// The facts, grouped (all facts of a [`Group`] follow one another).
    pub facts: Vec<Fact>,
}

impl Diagnosis {
    /// The fact with this name, for example `memory.total`.
    #[must_use]
    pub fn fact(&self, name: &str) -> Option<&Fact> {
        self.facts.iter().find(|fact| fact.name == name)
    }
}

/// Examines this machine, as this process sees it.
#[must_use]
pub fn examine() -> Diagnosis {
    let host = host::Host::this();
    let subjects = [kernel::facts, faults::facts, memory::facts, huge::facts, limits::facts, cgroup::facts, cpu::facts];
    Diagnosis { facts: subjects.iter().flat_map(|subject| subject(&host)).collect() }
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
        for subject in
            [kernel::facts, faults::facts, memory::facts, huge::facts, limits::facts, cgroup::facts, cpu::facts]
        {
            let _ = subject(&host);
        }
    }
}
