//! Physical memory, and the overcommit policy of the kernel.

use super::fact::{Fact, Group, Value};
use super::host::Host;

pub(super) fn facts(host: &Host) -> Vec<Fact> {
    let page = rustix::param::page_size() as u64;
    vec![
        amount(host, "memory.total", "total", "MemTotal"),
        amount(host, "memory.available", "available now", "MemAvailable"),
        amount(host, "memory.swap", "swap", "SwapTotal"),
        Fact::new(Group::Memory, "memory.page_size", "page size", Value::Bytes(page)),
        overcommit(host),
    ]
}

fn amount(host: &Host, name: &'static str, label: &'static str, key: &str) -> Fact {
    let bytes = host.kilobytes("/proc/meminfo", key);
    Fact::new(Group::Memory, name, label, bytes.map_or(Value::Unknown, Value::Bytes))
}

fn overcommit(host: &Host) -> Fact {
    let mode = host.number("/proc/sys/vm/overcommit_memory");
    let text = match mode {
        Some(0) => "heuristic (0)",
        Some(1) => "always (1)",
        Some(2) => "never (2)",
        _ => "unknown",
    };
    let fact = Fact::new(Group::Memory, "memory.overcommit", "overcommit", text);
    if mode != Some(2) {
        return fact;
    }
    let left = host
        .kilobytes("/proc/meminfo", "CommitLimit")
        .zip(host.kilobytes("/proc/meminfo", "Committed_AS"))
        .map(|(limit, used)| limit.saturating_sub(used) >> 20);
    let left = left.map_or(String::new(), |mib| format!(" ({mib} MiB are left)"));
    fact.limited(format!(
        "every writable page counts against the commit limit{left}, whether it is touched or not; streams need little, but large arrays may be refused"
    ))
    .cure("sudo sysctl vm.overcommit_memory=0, or raise vm.overcommit_ratio")
}

#[cfg(test)]
mod tests {
    use super::super::fact::Verdict;
    use super::super::host::tests::made_up;
    use super::*;

    #[test]
    fn strict_overcommit_is_said_with_what_is_left() {
        let (_root, host) = made_up(&[
            ("/proc/sys/vm/overcommit_memory", "2\n"),
            ("/proc/meminfo", "CommitLimit: 4096 kB\nCommitted_AS: 1024 kB\n"),
        ]);
        let fact = overcommit(&host);
        assert_eq!(fact.verdict, Verdict::Limited);
        assert!(fact.why.unwrap().contains("(3 MiB are left)"));
    }

    #[test]
    fn amounts_are_bytes() {
        let (_root, host) = made_up(&[("/proc/meminfo", "MemTotal: 4 kB\nSwapTotal: 0 kB\n")]);
        let values: Vec<_> = facts(&host).into_iter().map(|fact| fact.value).collect();
        assert_eq!(values[..3], [Value::Bytes(4096), Value::Unknown, Value::Bytes(0)]);
    }
}
