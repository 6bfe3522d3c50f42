//! How much more memory this process can take, and which limit is the tightest.
//!
//! Three limits apply, and the smallest counts: the memory of the machine, each control group from this one up to the
//! root, and the process's own limit of addresses. File pages that can be dropped count as free.

use rustix::process::{Resource, getrlimit};

use super::cgroup::Groups;
use super::host::Host;

/// What [`available_memory`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Available {
    /// The number of bytes.
    pub bytes: u64,
    /// The limit that is reached first.
    pub bound: Bound,
}

/// A limit of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Bound {
    /// The memory of the machine.
    Machine,
    /// The limit of a control group.
    ControlGroup,
    /// The address space of the process (`ulimit -v`).
    AddressSpace,
}

/// How much more memory this process can take. `None` if the system does not tell.
#[must_use]
pub fn available_memory() -> Option<Available> {
    available(&Host::this(), getrlimit(Resource::As).current)
}

fn available(host: &Host, addresses: Option<u64>) -> Option<Available> {
    let machine = host.kilobytes("/proc/meminfo", "MemAvailable");
    let group = Groups::of(host).memory_left(host);
    let taken = || host.kilobytes("/proc/self/status", "VmSize").unwrap_or(0);
    let addresses = addresses.map(|limit| limit.saturating_sub(taken()));
    let accounts =
        [(machine, Bound::Machine), (group, Bound::ControlGroup), (addresses, Bound::AddressSpace)].into_iter();
    accounts.filter_map(|(bytes, bound)| Some(Available { bytes: bytes?, bound })).min_by_key(|left| left.bytes)
}

#[cfg(test)]
mod tests {
    use super::super::host::tests::made_up;
    use super::*;

    const MACHINE: (&str, &str) = ("/proc/meminfo", "MemTotal: 8192 kB\nMemAvailable: 4096 kB\n");

    #[test]
    fn the_tightest_limit_counts() {
        let (_root, host) = made_up(&[MACHINE, ("/proc/self/status", "VmSize: 1024 kB\n")]);
        let machine = Available { bytes: 4 << 20, bound: Bound::Machine };
        assert_eq!(available(&host, None), Some(machine));
        assert_eq!(available(&host, Some(1 << 40)), Some(machine));
        let addresses = Available { bytes: 1 << 20, bound: Bound::AddressSpace };
        assert_eq!(available(&host, Some(2 << 20)), Some(addresses));
    }

    #[test]
    fn a_group_has_its_limit_less_what_cannot_be_dropped() {
        let (_root, host) = made_up(&[
            MACHINE,
            ("/proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
            ("/proc/self/cgroup", "0::/slice/app\n"),
            ("/sys/fs/cgroup/slice/memory.max", "3000000\n"),
            ("/sys/fs/cgroup/slice/memory.current", "2500000\n"),
            ("/sys/fs/cgroup/slice/memory.stat", "anon 1\ninactive_file 400000\nactive_file 100000\n"),
            ("/sys/fs/cgroup/slice/app/memory.max", "max\n"),
            ("/sys/fs/cgroup/slice/app/memory.current", "1\n"),
        ]);
        assert_eq!(available(&host, None), Some(Available { bytes: 1_000_000, bound: Bound::ControlGroup }));
    }

    #[test]
    fn version_one_files_give_the_same_answer() {
        let (_root, host) = made_up(&[
            MACHINE,
            ("/proc/self/mountinfo", "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"),
            ("/proc/self/cgroup", "4:memory:/\n"),
            ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "2000000\n"),
            ("/sys/fs/cgroup/memory/memory.usage_in_bytes", "1500000\n"),
            ("/sys/fs/cgroup/memory/memory.stat", "total_inactive_file 200000\n"),
        ]);
        assert_eq!(available(&host, None), Some(Available { bytes: 700_000, bound: Bound::ControlGroup }));
    }

    #[test]
    fn unknown_limits_give_none() {
        let (_root, host) = made_up(&[]);
        assert_eq!(available(&host, None), None);
    }
}
