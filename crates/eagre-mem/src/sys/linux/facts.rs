//! What the kernel says of this machine and this process.

use super::map;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The memory this process may count on: the machine's, or the control group's limit if that is less.
pub(crate) fn memory() -> u64 {
    let total = first_number("/proc/meminfo", "MemTotal:").map_or(1 << 30, |kib| kib << 10);
    [cgroup_limit("/sys/fs/cgroup", "memory.max"), cgroup_limit("/sys/fs/cgroup/memory", "memory.limit_in_bytes")]
        .into_iter()
        .flatten()
        .fold(total, u64::min)
}

/// The most addresses this process may have (`ulimit -v`), or should take where reserving them is slow, if there is a limit.
pub(crate) fn address_space() -> Option<u64> {
    let limit = rustix::process::getrlimit(rustix::process::Resource::As).current;
    if reserving_is_slow() { Some(limit.map_or(MODEST, |limit| limit.min(MODEST))) } else { limit }
}

/// How many addresses a process should take where reserving them is slow.
const MODEST: u64 = 32 << 30;

/// Whether it takes long to reserve addresses. An emulator of user programs (qemu-user) keeps a record of every page: a TiB
/// takes it half a minute, where a kernel takes microseconds.
fn reserving_is_slow() -> bool {
    const TRIED: usize = 1 << 30;
    const LONG: Duration = Duration::from_millis(2);
    static DEAR: OnceLock<bool> = OnceLock::new();
    let takes_long = || {
        let started = Instant::now();
        let reserved = map::reserve(TRIED, crate::units::PAGE);
        if let Ok(start) = reserved {
            // SAFETY: reserved a moment ago, and nobody has seen it.
            let _ = unsafe { map::unmap(start, TRIED, crate::units::PAGE) };
        }
        reserved.is_ok() && started.elapsed() > LONG
    };
    // Once may be an accident: another process had its turn.
    *DEAR.get_or_init(|| (0..3).all(|_| takes_long()))
}

/// What gives this process more addresses: whichever limit it has come to.
pub(crate) fn address_cure() -> &'static str {
    let mappings = std::fs::read_to_string("/proc/self/maps").map_or(0, |maps| maps.lines().count() as u64);
    match address_space() {
        _ if mappings + 16 > most_mappings() => "raise vm.max_map_count",
        Some(_) => "raise `ulimit -v`",
        None => "raise `ulimit -v` or vm.max_map_count",
    }
}

/// The most mappings a process may have.
pub(crate) fn most_mappings() -> u64 {
    let text = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap_or_default();
    text.trim().parse().unwrap_or(65_530)
}

/// The limit of this process's control group, or of any group above it, whichever is least.
fn cgroup_limit(root: &str, file: &str) -> Option<u64> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let mut least = None;
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (fields.next(), fields.next(), fields.next()) else { continue };
        let ours = controllers.is_empty() || controllers.split(',').any(|name| name == "memory");
        if !ours {
            continue;
        }
        let mut path = path.trim_end_matches('/');
        loop {
            let read = std::fs::read_to_string(format!("{root}{path}/{file}"));
            if let Some(limit) = read.ok().and_then(|text| text.trim().parse::<u64>().ok()) {
                least = Some(least.map_or(limit, |least: u64| least.min(limit)));
            }
            match path.rfind('/') {
                Some(cut) => path = &path[..cut],
                None => break,
            }
        }
    }
    least
}

/// The number after `key` in a file of `key value` lines.
fn first_number(path: &str, key: &str) -> Option<u64> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(key))?;
    line[key.len()..].split_whitespace().next()?.parse().ok()
}

/// Whether the kernel is this version or later.
pub(crate) fn kernel_at_least(major: u32, minor: u32) -> bool {
    let name = rustix::system::uname();
    let release = name.release().to_string_lossy();
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|digits| digits.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= (major, minor)
}
