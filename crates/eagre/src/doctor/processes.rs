//! Streams between processes: what they need was tried out.

use eagre_mem::process::Abilities;

use super::fact::{Fact, Group, Value};

pub(super) fn facts(found: &Abilities) -> Vec<Fact> {
    let fact = |name, label, works: bool| Fact::new(Group::Processes, name, label, Value::Flag(works));
    let memory = fact("processes.memory", "sealed shared memory", found.memory.is_ok());
    let memory = match &found.memory {
        Ok(()) => memory,
        Err(why) => memory
            .missing(format!("there are no streams between processes: {why}"))
            .cure("let this process call memfd_create, fallocate and fcntl (seccomp filter), with 2 MiB of memory"),
    };
    let huge = fact("processes.huge_pages", "its pages become huge", found.huge_pages.is_ok());
    let huge = match &found.huge_pages {
        Ok(()) => huge,
        Err(why) => huge
            .limited(format!("long streams are slower on pages of 4 KiB: {why}"))
            .cure("run Linux 6.1 or later; or see 'shared memory' under huge pages; or wait until a huge page is free"),
    };
    let pidfd = fact("processes.pidfd", "the end of a process is seen", found.pidfd.is_ok());
    let pidfd = match &found.pidfd {
        Ok(()) => pidfd,
        Err(why) => pidfd
            .limited(format!("only by its connection, which a forked child may keep open: {why}"))
            .cure("run Linux 5.3 or later, and let this process call pidfd_open (seccomp filter)"),
    };
    let folder = found.names.as_ref().map_or(Value::Unknown, |folder| folder.display().to_string().into());
    let names = Fact::new(Group::Processes, "processes.names", "names are in", folder);
    let names = match &found.names {
        Ok(_) => names,
        Err(why) => {
            let (why, cure) = why.split_once("; ").unwrap_or((why, "set XDG_RUNTIME_DIR"));
            names.limited(format!("other processes are not reached by name: {why}")).cure(cure)
        }
    };
    vec![memory, huge, pidfd, names]
}

#[cfg(test)]
mod tests {
    use super::super::fact::Verdict;
    use super::*;

    #[test]
    fn what_is_refused_has_a_reason_and_a_cure() {
        let mut found = eagre_mem::process::examine();
        found.memory = Err("memfd_create: not permitted".into());
        found.huge_pages = Err("madvise(MADV_COLLAPSE): invalid".into());
        found.pidfd = Err("pidfd_open: no such call".into());
        found.names = Err("/run/user/5 is not a folder of this user; set XDG_RUNTIME_DIR to one".into());
        let facts = facts(&found);
        let verdicts: Vec<_> = facts.iter().map(|fact| fact.verdict).collect();
        assert_eq!(verdicts, [Verdict::Missing, Verdict::Limited, Verdict::Limited, Verdict::Limited]);
        for (fact, why) in facts.iter().zip(["memfd_create", "MADV_COLLAPSE", "pidfd_open", "/run/user/5"]) {
            assert!(fact.why.as_ref().is_some_and(|text| text.contains(why)) && fact.cure.is_some(), "{fact:?}");
        }
        assert_eq!(facts[3].cure.as_deref(), Some("set XDG_RUNTIME_DIR to one"));
    }

    #[test]
    fn what_works_is_ok() {
        let mut found = eagre_mem::process::examine();
        found.memory = Ok(());
        (found.huge_pages, found.pidfd, found.names) = (Ok(()), Ok(()), Ok("/run/user/5/eagre".into()));
        let facts = facts(&found);
        assert!(facts.iter().all(|fact| fact.verdict == Verdict::Ok));
        assert_eq!(facts[3].value, Value::Text("/run/user/5/eagre".into()));
    }
}
