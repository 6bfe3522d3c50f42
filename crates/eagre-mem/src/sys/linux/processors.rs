//! How many processors this process may use: those of its affinity mask, and no more than the quota of its control group
//! pays for.
//!
//! It is [`std::thread::available_parallelism`] without memory of the heap, and with version 1 of control groups where they
//! are usually mounted only.

use rustix::fs::{Mode, OFlags};
use std::ffi::CStr;

/// Where groups of version 2 are.
const TWO: &str = "/sys/fs/cgroup";
/// Where those of version 1 with quotas are.
const ONE: [&str; 2] = ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"];

/// How many there are; at least one.
pub(crate) fn count() -> usize {
    let allowed = match rustix::thread::sched_getaffinity(None) {
        Ok(set) => set.count() as usize,
        // There are more processors than the mask has bits.
        // SAFETY: only asks.
        Err(_) => usize::try_from(unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) }).unwrap_or(1),
    };
    allowed.min(quota()).max(1)
}

/// What the control groups allow.
fn quota() -> usize {
    let mut text = [0; 8192];
    let groups = read(c"/proc/self/cgroup", &mut text).unwrap_or_default();
    // A line is `number:controllers:/path`. With both versions mounted, the first one has the processors.
    let group = |wanted: fn(&str) -> bool| {
        groups.lines().find_map(|line| {
            let mut fields = line.splitn(3, ':').skip(1);
            fields.next().filter(|controllers| wanted(controllers))?;
            fields.next()
        })
    };
    if let Some(path) = group(|controllers| controllers.split(',').any(|one| one == "cpu")) {
        return ONE.into_iter().map(|mount| on_the_way_up(mount, path, of_one)).min().unwrap_or(usize::MAX);
    }
    group(str::is_empty).map_or(usize::MAX, |path| on_the_way_up(TWO, path, of_two))
}

/// The least quota of a group and those above it.
fn on_the_way_up(mount: &str, path: &str, quota: fn(&str) -> Option<usize>) -> usize {
    let mut whole = [0; LONGEST];
    let Some(mut folder) = join(&mut whole, mount, path.trim_end_matches('/')) else { return usize::MAX };
    let mut least = usize::MAX;
    loop {
        least = least.min(quota(folder).unwrap_or(usize::MAX));
        match folder.rsplit_once('/') {
            Some((above, _)) if above.len() >= mount.len() => folder = above,
            _ => return least,
        }
    }
}

/// Of a group of version 2: `cpu.max` has the time and the period, or `max`.
fn of_two(folder: &str) -> Option<usize> {
    let mut text = [0; 64];
    let (time, period) = read_in(folder, "/cpu.max", &mut text)?.split_once(' ')?;
    ratio(time, period)
}

/// Of a group of version 1: a time of -1 means none.
fn of_one(folder: &str) -> Option<usize> {
    let (mut time, mut period) = ([0; 64], [0; 64]);
    ratio(read_in(folder, "/cpu.cfs_quota_us", &mut time)?, read_in(folder, "/cpu.cfs_period_us", &mut period)?)
}

fn ratio(time: &str, period: &str) -> Option<usize> {
    time.trim().parse::<usize>().ok()?.checked_div(period.trim().parse().ok()?)
}

/// No path is longer.
const LONGEST: usize = 4096;

fn join<'a>(to: &'a mut [u8; LONGEST], first: &str, last: &str) -> Option<&'a str> {
    let to = to.get_mut(..first.len() + last.len())?;
    to[..first.len()].copy_from_slice(first.as_bytes());
    to[first.len()..].copy_from_slice(last.as_bytes());
    std::str::from_utf8(to).ok()
}

/// The text of a small file in a folder.
fn read_in<'a>(folder: &str, name: &str, to: &'a mut [u8]) -> Option<&'a str> {
    let mut path = [0; LONGEST];
    // Behind the path there are zeros.
    let length = join(&mut path, folder, name)?.len();
    read(CStr::from_bytes_with_nul(path.get(..=length)?).ok()?, to)
}

/// As much of a file as there is room for.
fn read<'a>(path: &CStr, to: &'a mut [u8]) -> Option<&'a str> {
    let file = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let mut length = 0;
    while length < to.len() {
        match rustix::io::read(&file, &mut to[length..]).ok()? {
            0 => break,
            more => length += more,
        }
    }
    std::str::from_utf8(&to[..length]).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_as_the_standard_library_says() {
        let (here, there) = (count(), std::thread::available_parallelism().unwrap().get());
        // The standard library stops where the folder of the group is not to be seen: in a container whose groups are named as
        // the host names them. The quotas above it hold all the same.
        assert!((1..=there).contains(&here), "{here} of {there}");
        let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let seen = |mount: &str, path: &str| std::path::Path::new(mount).join(path.trim_start_matches('/')).is_dir();
        let all_seen = groups.lines().all(|line| {
            let [controllers, path] = line.splitn(3, ':').skip(1).collect::<Vec<_>>()[..] else { return false };
            match controllers {
                "" => seen(TWO, path),
                _ => !controllers.split(',').any(|one| one == "cpu") || ONE.iter().any(|mount| seen(mount, path)),
            }
        });
        match all_seen {
            true => assert_eq!(here, there),
            false => eprintln!("skipped: the folder of this process's control group is not to be seen here"),
        }
    }

    #[test]
    fn the_least_quota_on_the_way_up_counts() {
        let root = tempfile::tempdir().unwrap();
        let mount = root.path().to_str().unwrap();
        std::fs::create_dir_all(root.path().join("slice/app")).unwrap();
        let put = |path: &str, text: &str| std::fs::write(root.path().join(path), text).unwrap();
        put("slice/app/cpu.max", "max 100000\n");
        put("slice/cpu.max", "250000 100000\n");
        assert_eq!(on_the_way_up(mount, "/slice/app", of_two), 2);
        assert_eq!(on_the_way_up(mount, "/", of_two), usize::MAX);
        put("cpu.max", "100000 100000\n");
        assert_eq!(on_the_way_up(mount, "/slice/app", of_two), 1);
        put("slice/app/cpu.cfs_quota_us", "-1\n");
        put("slice/app/cpu.cfs_period_us", "100000\n");
        assert_eq!(on_the_way_up(mount, "/slice/app", of_one), usize::MAX);
        put("slice/cpu.cfs_quota_us", "300000\n");
        put("slice/cpu.cfs_period_us", "100000\n");
        assert_eq!(on_the_way_up(mount, "/slice/app/", of_one), 3);
    }
}
