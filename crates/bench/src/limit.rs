//! Limits of memory by the kernel: a control group for the processes of a contender.
//!
//! Unlike a program's own option, a control group also counts the page cache of what a process reads and writes, and it
//! kills who needs more. The memory of files on a tmpfs counts, too, so contenders that work there are not limited.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where groups are made and what their files are called: the first version of control groups, and the second.
const KINDS: [Kind; 2] = [
    Kind { root: "/sys/fs/cgroup/memory", limit: "memory.limit_in_bytes", events: "memory.oom_control" },
    Kind { root: "/sys/fs/cgroup", limit: "memory.max", events: "memory.events" },
];

struct Kind {
    root: &'static str,
    limit: &'static str,
    events: &'static str,
}

/// A group that may have so much memory; removed when it is dropped.
pub(crate) struct Limit {
    group: PathBuf,
    events: &'static str,
}

impl Limit {
    /// A limit of `bytes`, or `None` where this user may not set one.
    pub(crate) fn new(bytes: u64) -> Option<Limit> {
        KINDS.iter().find_map(|kind| {
            remove_leftovers(Path::new(kind.root));
            let group = Path::new(kind.root).join(format!("{PREFIX}{}", std::process::id()));
            fs::create_dir(&group).ok()?;
            // From here on it is removed again whatever happens.
            let limit = Limit { group, events: kind.events };
            fs::write(limit.group.join(kind.limit), bytes.to_string()).ok().map(|()| limit)
        })
    }

    /// `command`, to be run within the limit.
    pub(crate) fn around(&self, command: &Command) -> Command {
        const ENTER: &str = r#"echo $$ >"$0/cgroup.procs" && exec "$@""#;
        let mut around = Command::new("sh");
        around.args(["-c", ENTER]).arg(&self.group).arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => around.env(name, value),
                None => around.env_remove(name),
            };
        }
        if let Some(directory) = command.get_current_dir() {
            around.current_dir(directory);
        }
        around
    }

    /// Whether the kernel killed a process that needed more.
    pub(crate) fn killed(&self) -> bool {
        let events = fs::read_to_string(self.group.join(self.events)).unwrap_or_default();
        let count = events.lines().find_map(|line| line.strip_prefix("oom_kill "));
        count.is_some_and(|count| count.trim() != "0")
    }
}

impl Drop for Limit {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.group);
    }
}

/// What the names of groups begin with; the number of the process follows.
const PREFIX: &str = "eagre-bench-";

/// Removes the groups of processes that no longer exist.
fn remove_leftovers(root: &Path) {
    for entry in fs::read_dir(root).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.parse::<u32>().ok());
        if pid.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::child;

    #[test]
    fn who_needs_more_is_killed_and_who_does_not_is_not() {
        let Some(limit) = Limit::new(32 << 20) else { return eprintln!("skipped: no control groups for this user") };
        let mut little = Command::new("sh");
        little.args(["-c", "echo $WORD"]).env("WORD", "kept").current_dir("/");
        assert_eq!(child::run(&mut limit.around(&little)).unwrap().output, b"kept\n");
        assert!(!limit.killed());
        // A line without an end, which has to be in memory whole.
        let mut much = Command::new("sh");
        much.args(["-c", "head -c 200000000 /dev/zero | exec sort >/dev/null"]);
        assert!(child::run(&mut limit.around(&much)).is_err());
        assert!(limit.killed());
    }
}
