//! The source of facts: a root directory, real or made up for a test.
//!
//! Everything is read from small text files that the kernel provides. A file that is missing or does not parse gives
//! `None`. Old kernels, containers and hardened systems hide any of them, and the doctor must work there too.

use std::path::{Path, PathBuf};

/// A machine as a tree of files.
pub(super) struct Host {
    root: PathBuf,
}

impl Host {
    /// This machine.
    pub(super) fn this() -> Self {
        Self::at(Path::new("/"))
    }

    /// A machine whose `/proc`, `/sys` and `/dev` are under `root`.
    pub(super) fn at(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// The real path of an absolute path of the machine.
    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// The text of a file without surrounding white space.
    pub(super) fn text(&self, path: &str) -> Option<String> {
        let bytes = std::fs::read(self.path(path)).ok()?;
        Some(String::from_utf8_lossy(&bytes).trim().to_owned())
    }

    /// The number in a file that contains one number.
    pub(super) fn number(&self, path: &str) -> Option<u64> {
        self.text(path)?.parse().ok()
    }

    /// The value of `key` in a file with lines `key: value` or `key value`, such as `/proc/meminfo`.
    pub(super) fn field(&self, path: &str, key: &str) -> Option<String> {
        self.text(path)?.lines().find_map(|line| {
            let rest = line.trim_start().strip_prefix(key)?;
            let value = rest.trim_start().strip_prefix(':').or_else(|| {
                // Without a colon, the key must be followed by white space. Otherwise `MemTotal` would match
                // `MemTotalX`.
                rest.starts_with(char::is_whitespace).then_some(rest)
            })?;
            Some(value.trim().to_owned())
        })
    }

    /// The value of a field that is given in `kB`, in bytes.
    pub(super) fn kilobytes(&self, path: &str, key: &str) -> Option<u64> {
        let value = self.field(path, key)?;
        let kilobytes: u64 = value.split_whitespace().next()?.parse().ok()?;
        kilobytes.checked_mul(1024)
    }

    /// The selected word of a file such as `always [madvise] never`.
    pub(super) fn choice(&self, path: &str) -> Option<String> {
        let text = self.text(path)?;
        let (_, rest) = text.split_once('[')?;
        let (word, _) = rest.split_once(']')?;
        Some(word.to_owned())
    }

    /// The names in a directory, sorted. Empty if it does not exist.
    pub(super) fn names(&self, path: &str) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.path(path)) else {
            return Vec::new();
        };
        let mut names: Vec<String> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// Whether this process has a capability, given by its number.
    pub(super) fn capable(&self, capability: u32) -> Option<bool> {
        let effective = self.field("/proc/self/status", "CapEff")?;
        let mask = u64::from_str_radix(&effective, 16).ok()?;
        Some(mask >> capability & 1 == 1)
    }
}

/// Machines made up for tests.
#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A machine with these files.
    pub(in super::super) fn made_up(files: &[(&str, &str)]) -> (tempfile::TempDir, Host) {
        let root = tempfile::tempdir().unwrap();
        let host = Host::at(root.path());
        for (path, text) in files {
            let path = host.path(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        (root, host)
    }

    #[test]
    fn fields_choices_and_capabilities_parse() {
        let (_root, host) = made_up(&[
            ("/proc/meminfo", "MemTotalX: 1 kB\nMemTotal:       2048 kB\n"),
            ("/proc/self/status", "Name:\tx\nCapEff:\t0000000000080000\n"),
            ("/sys/thp", "always [madvise] never\n"),
            ("/sys/stat", "usage_usec 7\n"),
        ]);
        assert_eq!(host.kilobytes("/proc/meminfo", "MemTotal"), Some(2 << 20));
        assert_eq!(host.choice("/sys/thp").as_deref(), Some("madvise"));
        assert_eq!(host.field("/sys/stat", "usage_usec").as_deref(), Some("7"));
        assert_eq!(host.field("/sys/stat", "usage"), None);
        assert_eq!(host.capable(19), Some(true));
        assert_eq!(host.capable(21), Some(false));
        assert_eq!(host.number("/nowhere"), None);
        assert_eq!(host.names("/proc"), ["meminfo", "self"]);
    }
}
