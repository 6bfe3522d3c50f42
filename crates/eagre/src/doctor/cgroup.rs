//! The limits of the control group of this process: memory and processor time.
//!
//! Containers and services are limited by control groups only. A program that asks only for the machine's resources
//! takes too much memory and is killed, or starts sixteen threads for the time of one processor. Version 2 has one
//! tree. Version 1 has one tree per controller, and some machines run both. A limit binds everything below it, so the
//! effective limit is the smallest between this group and the root:
//!
//! ```text
//! /proc/self/cgroup      0::/user.slice/app           the path of the group in each tree
//! /proc/self/mountinfo   … /sys/fs/cgroup … cgroup2   where that tree is mounted, and from which path on
//! ```

use super::fact::{Fact, Group, Value};
use super::host::Host;

/// Version 1 states the absence of a limit as the largest number of whole pages.
const NO_LIMIT: u64 = 1 << 62;

pub(super) fn facts(host: &Host) -> Vec<Fact> {
    let groups = Groups::of(host);
    vec![
        Fact::new(Group::Cgroup, "cgroup.version", "version", groups.version()),
        memory(host, groups.memory_limit(host)),
        cpus(groups.cpu_quota(host), super::cpu::online(host)),
    ]
}

fn memory(host: &Host, limit: Option<u64>) -> Fact {
    let value = limit.map_or(Value::Unlimited, Value::Bytes);
    let fact = Fact::new(Group::Cgroup, "cgroup.memory", "memory", value);
    match (limit, host.kilobytes("/proc/meminfo", "MemTotal")) {
        (Some(limit), Some(total)) if limit < total => fact
            .limited("this is less than the machine has; page cache, page tables and shared memory count too")
            .cure("raise MemoryMax= of the service, or --memory of the container"),
        _ => fact,
    }
}

fn cpus(quota: Option<f64>, online: Option<u64>) -> Fact {
    let value = quota.map_or(Value::Unlimited, Value::Cpus);
    let fact = Fact::new(Group::Cgroup, "cgroup.cpus", "processors", value);
    match (quota, online) {
        (Some(quota), Some(online)) if quota < online as f64 => fact
            .limited("this is a quota of processor time; more threads than this only wait for one another")
            .cure("raise CPUQuota= of the service, or --cpus of the container"),
        _ => fact,
    }
}

/// The directories of the control groups of this process, innermost first.
#[derive(Debug, Default)]
pub(super) struct Groups {
    /// Those of version 2.
    unified: Vec<String>,
    /// Those of the memory controller of version 1.
    memory: Vec<String>,
    /// Those of the processor controller of version 1.
    cpu: Vec<String>,
}

impl Groups {
    pub(super) fn of(host: &Host) -> Self {
        let mounts = host.text("/proc/self/mountinfo").unwrap_or_default();
        let groups = host.text("/proc/self/cgroup").unwrap_or_default();
        let mut found = Self::default();
        // Lines are `number:controllers:path`; version 2 has number 0 and no controllers.
        for line in groups.lines() {
            let mut parts = line.splitn(3, ':').skip(1);
            let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else {
                continue;
            };
            let has = |name| controllers.split(',').any(|controller| controller == name);
            if controllers.is_empty() {
                found.unified = folders(&mounts, None, path);
            }
            if has("memory") {
                found.memory = folders(&mounts, Some("memory"), path);
            }
            if has("cpu") {
                found.cpu = folders(&mounts, Some("cpu"), path);
            }
        }
        found
    }

    fn version(&self) -> &'static str {
        let first = !self.memory.is_empty() || !self.cpu.is_empty();
        match (first, !self.unified.is_empty()) {
            (true, true) => "1 and 2",
            (true, false) => "1",
            (false, true) => "2",
            (false, false) => "none",
        }
    }

    fn memory_limit(&self, host: &Host) -> Option<u64> {
        // `max`, which means no limit, does not parse as a number.
        let unified = self.unified.iter().map(|folder| format!("{folder}/memory.max"));
        let first = self.memory.iter().map(|folder| format!("{folder}/memory.limit_in_bytes"));
        unified.chain(first).filter_map(|file| host.number(&file)).filter(|&limit| limit < NO_LIMIT).min()
    }

    /// How much memory the tightest group has left: its limit, less the memory in use except for file pages that can be
    /// dropped.
    pub(super) fn memory_left(&self, host: &Host) -> Option<u64> {
        let left = |folder: &String, limit: &str, used: &str, droppable: &[&str]| {
            let limit = host.number(&format!("{folder}/{limit}")).filter(|&limit| limit < NO_LIMIT)?;
            let used = host.number(&format!("{folder}/{used}"))?;
            let stat = format!("{folder}/memory.stat");
            let files = droppable.iter().filter_map(|key| host.field(&stat, key)?.parse::<u64>().ok()).sum();
            Some(limit.saturating_sub(used.saturating_sub(files)))
        };
        let unified = self
            .unified
            .iter()
            .filter_map(|folder| left(folder, "memory.max", "memory.current", &["inactive_file", "active_file"]));
        let first = self.memory.iter().filter_map(|folder| {
            let files = ["total_inactive_file", "total_active_file"];
            left(folder, "memory.limit_in_bytes", "memory.usage_in_bytes", &files)
        });
        unified.chain(first).min()
    }

    fn cpu_quota(&self, host: &Host) -> Option<f64> {
        let unified = self.unified.iter().filter_map(|folder| {
            let text = host.text(&format!("{folder}/cpu.max"))?;
            let (quota, period) = text.split_once(' ')?;
            ratio(quota.parse().ok()?, period.parse().ok()?)
        });
        let first = self.cpu.iter().filter_map(|folder| {
            // -1 means no quota, and does not parse.
            let quota = host.number(&format!("{folder}/cpu.cfs_quota_us"))?;
            ratio(quota, host.number(&format!("{folder}/cpu.cfs_period_us"))?)
        });
        unified.chain(first).min_by(f64::total_cmp)
    }
}

fn ratio(quota: u64, period: u64) -> Option<f64> {
    (period > 0).then(|| quota as f64 / period as f64)
}

/// The directories from a group up to the root of its mounted tree, innermost first. `controller` is `None` for version
/// 2.
fn folders(mounts: &str, controller: Option<&str>, path: &str) -> Vec<String> {
    let Some((root, point)) = mounts.lines().find_map(|line| mount(line, controller)) else {
        return Vec::new();
    };
    // A container often sees only its own part of the tree, mounted from `root` on. But the path of the group still
    // counts from the real root. If the two do not match, only the mount point is usable.
    let inside = path.strip_prefix(root.trim_end_matches('/')).unwrap_or("");
    let mut parts: Vec<&str> = inside.split('/').filter(|part| !part.is_empty()).collect();
    if parts.contains(&"..") {
        parts.clear();
    }
    let mut folders = vec![point.to_owned()];
    for part in parts {
        folders.push(format!("{}/{part}", folders[folders.len() - 1]));
    }
    folders.reverse();
    folders
}

/// The mounted root and the mount point of a line of `mountinfo`, if it is the tree of this controller: `31 23 0:28
/// ROOT POINT options… - TYPE source super-options`.
fn mount<'a>(line: &'a str, controller: Option<&str>) -> Option<(&'a str, &'a str)> {
    let (before, after) = line.split_once(" - ")?;
    let mut before = before.split(' ').skip(3);
    let (root, point) = (before.next()?, before.next()?);
    let mut after = after.split(' ');
    let (kind, options) = (after.next()?, after.nth(1)?);
    let wanted = match controller {
        None => kind == "cgroup2",
        Some(name) => kind == "cgroup" && options.split(',').any(|option| option == name),
    };
    wanted.then_some((root, point))
}

#[cfg(test)]
mod tests {
    use super::super::fact::Verdict;
    use super::super::host::tests::made_up;
    use super::*;

    const V2: &str = "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n";

    #[test]
    fn the_tightest_limit_on_the_way_up_counts() {
        let (_root, host) = made_up(&[
            ("/proc/self/mountinfo", V2),
            ("/proc/self/cgroup", "0::/slice/app\n"),
            ("/proc/meminfo", "MemTotal: 8388608 kB\n"),
            ("/sys/devices/system/cpu/online", "0-3\n"),
            ("/sys/fs/cgroup/slice/app/memory.max", "max\n"),
            ("/sys/fs/cgroup/slice/memory.max", "1073741824\n"),
            ("/sys/fs/cgroup/slice/app/cpu.max", "150000 100000\n"),
            ("/sys/fs/cgroup/slice/cpu.max", "max 100000\n"),
        ]);
        let facts = facts(&host);
        assert_eq!(facts[0].value, Value::from("2"));
        assert_eq!(facts[1].value, Value::Bytes(1 << 30));
        assert_eq!(facts[1].verdict, Verdict::Limited);
        assert_eq!(facts[2].value, Value::Cpus(1.5));
        assert_eq!(facts[2].verdict, Verdict::Limited);
        assert_eq!(cpus(Some(4.0), Some(4)).verdict, Verdict::Ok);
    }

    #[test]
    fn version_one_has_a_tree_for_each_controller() {
        let (_root, host) = made_up(&[
            (
                "/proc/self/mountinfo",
                "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
                 35 31 0:32 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
            ),
            ("/proc/self/cgroup", "4:memory:/docker/abc\n2:cpu,cpuacct:/\n"),
            ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "536870912\n"),
            ("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n"),
            ("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
        ]);
        let facts = facts(&host);
        assert_eq!(facts[0].value, Value::from("1"));
        assert_eq!(facts[1].value, Value::Bytes(512 << 20));
        assert_eq!(facts[2].value, Value::Unlimited);
    }

    #[test]
    fn no_limit_is_unlimited() {
        let (_root, host) = made_up(&[
            ("/proc/self/mountinfo", "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"),
            ("/proc/self/cgroup", "4:memory:/x/y\n"),
            ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
        ]);
        assert_eq!(facts(&host)[1].value, Value::Unlimited);
    }

    #[test]
    fn a_path_outside_our_view_falls_back_to_the_mount_point() {
        assert_eq!(folders(V2, None, "/../other"), ["/sys/fs/cgroup"]);
        assert_eq!(folders(V2, None, "/a/b"), ["/sys/fs/cgroup/a/b", "/sys/fs/cgroup/a", "/sys/fs/cgroup"]);
        assert!(folders("", None, "/a").is_empty());
    }
}
