//! Limits that make a reservation, a stream or a registered buffer smaller than it could be.

use rustix::process::{Resource, getrlimit};

use super::fact::{Fact, Group, Value};
use super::host::Host;

/// The capability to lock any amount of memory.
const CAP_IPC_LOCK: u32 = 14;
/// The kernel's default for `vm.max_map_count`. A lower value is unusual.
const USUAL_MAPPINGS: u64 = 65_530;

pub(super) fn facts(host: &Host) -> Vec<Fact> {
    let soft = |resource| getrlimit(resource).current;
    vec![
        mappings(host),
        address_space(soft(Resource::As)),
        data(soft(Resource::Data)),
        locked(soft(Resource::Memlock), host.capable(CAP_IPC_LOCK) == Some(true)),
        files(soft(Resource::Nofile)),
    ]
}

fn mappings(host: &Host) -> Fact {
    let count = host.number("/proc/sys/vm/max_map_count");
    let fact =
        Fact::new(Group::Limits, "limits.mappings", "mappings per process", count.map_or(Value::Unknown, Value::Count));
    match count {
        Some(count) if count < USUAL_MAPPINGS => fact
            .limited("streams that move blocks by mremap use one mapping for each block they hold")
            .cure(format!("sudo sysctl vm.max_map_count={USUAL_MAPPINGS}")),
        _ => fact,
    }
}

fn bytes(limit: Option<u64>) -> Value {
    limit.map_or(Value::Unlimited, Value::Bytes)
}

fn address_space(limit: Option<u64>) -> Fact {
    let fact = Fact::new(Group::Limits, "limits.address_space", "address space", bytes(limit));
    match limit {
        None => fact,
        Some(_) => fact
            .limited("the address range of a stream is reduced until it fits, which limits the length of the stream")
            .cure("ulimit -v unlimited"),
    }
}

fn data(limit: Option<u64>) -> Fact {
    let fact = Fact::new(Group::Limits, "limits.data", "writable memory", bytes(limit));
    match limit {
        None => fact,
        Some(_) => fact
            .limited("writable memory counts against this limit, whether it is touched or not")
            .cure("ulimit -d unlimited"),
    }
}

fn locked(limit: Option<u64>, may_lock_anything: bool) -> Fact {
    let fact = Fact::new(Group::Limits, "limits.locked", "locked memory", bytes(limit));
    match limit {
        Some(bytes) if bytes < 64 << 20 && !may_lock_anything => fact
            .limited("buffers registered with the kernel or a network card count against this limit; larger ones are not registered")
            .cure("raise memlock in /etc/security/limits.conf (ulimit -l), or LimitMEMLOCK= of the service"),
        _ => fact,
    }
}

fn files(limit: Option<u64>) -> Fact {
    let fact =
        Fact::new(Group::Limits, "limits.open_files", "open files", limit.map_or(Value::Unlimited, Value::Count));
    match limit {
        Some(count) if count < 256 => {
            fact.limited("sorting on storage keeps many files open at a time").cure("ulimit -n 1024")
        }
        _ => fact,
    }
}

#[cfg(test)]
mod tests {
    use super::super::fact::Verdict;
    use super::super::host::tests::made_up;
    use super::*;

    #[test]
    fn limits_are_judged() {
        assert_eq!(address_space(None).verdict, Verdict::Ok);
        assert_eq!(address_space(None).value, Value::Unlimited);
        assert_eq!(address_space(Some(1 << 30)).verdict, Verdict::Limited);
        assert_eq!(data(Some(1 << 30)).verdict, Verdict::Limited);
        assert_eq!(locked(Some(8 << 20), false).verdict, Verdict::Limited);
        assert_eq!(locked(Some(8 << 20), true).verdict, Verdict::Ok);
        assert_eq!(files(Some(64)).verdict, Verdict::Limited);
        assert_eq!(files(Some(1024)).verdict, Verdict::Ok);
    }

    #[test]
    fn few_mappings_are_limited() {
        let (_root, host) = made_up(&[("/proc/sys/vm/max_map_count", "1000\n")]);
        assert_eq!(mappings(&host).verdict, Verdict::Limited);
        let (_root, host) = made_up(&[("/proc/sys/vm/max_map_count", "262144\n")]);
        assert_eq!(mappings(&host).verdict, Verdict::Ok);
    }
}
