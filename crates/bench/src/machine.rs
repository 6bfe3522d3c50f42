//! Where and when a measurement was taken.

use std::fs;
use std::sync::LazyLock;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

/// The properties of a machine that affect results.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Machine {
    /// The processor's name.
    pub cpu: String,
    /// The cores this process may use.
    pub cores: usize,
    /// Sizes of the first core's caches, as the kernel writes them.
    pub caches: Vec<String>,
    /// Memory in bytes.
    pub memory: u64,
    /// Operating system and its release.
    pub kernel: String,
    /// `transparent_hugepage/enabled`.
    pub huge_pages: String,
    /// Whether it is a virtual machine, as far as the processor says.
    pub virtual_machine: bool,
}

/// A file's contents without the line end; empty if there is none.
fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

/// The value of the first `key : value` or `key value` line.
fn field(text: &str, key: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let rest = line.strip_prefix(key)?.trim_start().strip_prefix(':')?;
        Some(rest.trim().to_owned())
    })
}

impl Machine {
    /// This machine.
    pub(crate) fn here() -> Machine {
        let cpuinfo = read("/proc/cpuinfo");
        let uname = rustix::system::uname();
        let caches = (0..8)
            .filter_map(|i| {
                let dir = format!("/sys/devices/system/cpu/cpu0/cache/index{i}");
                let (level, size) = (read(&format!("{dir}/level")), read(&format!("{dir}/size")));
                let kind = read(&format!("{dir}/type"));
                (!size.is_empty() && kind != "Instruction").then(|| format!("L{level} {size}"))
            })
            .collect();
        let memory =
            field(&read("/proc/meminfo"), "MemTotal").and_then(|v| v.trim_end_matches(" kB").parse::<u64>().ok());
        let flags = field(&cpuinfo, "flags").unwrap_or_default();
        Machine {
            cpu: field(&cpuinfo, "model name").unwrap_or_else(|| std::env::consts::ARCH.into()),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            caches,
            memory: memory.unwrap_or(0) << 10,
            kernel: format!("{} {}", uname.sysname().to_string_lossy(), uname.release().to_string_lossy()),
            huge_pages: read("/sys/kernel/mm/transparent_hugepage/enabled"),
            virtual_machine: flags.split(' ').any(|flag| flag == "hypervisor"),
        }
    }

    /// A file name of processor, cores and memory.
    pub(crate) fn slug(&self) -> String {
        let gib = self.memory.div_ceil(1 << 30);
        let text = format!("{}-{}c-{gib}g", self.cpu, self.cores).to_lowercase();
        let mut slug = String::new();
        for c in text.chars() {
            if c.is_ascii_alphanumeric() {
                slug.push(c);
            } else if !slug.ends_with('-') {
                slug.push('-');
            }
        }
        slug.trim_matches('-').to_owned()
    }

    /// One line for people.
    pub(crate) fn line(&self) -> String {
        format!(
            "{}, {} cores, {}, {} GiB, {}{}, huge pages {}",
            self.cpu,
            self.cores,
            self.caches.join(" "),
            self.memory.div_ceil(1 << 30),
            self.kernel,
            if self.virtual_machine { ", virtual" } else { "" },
            self.huge_pages,
        )
    }
}

/// This build of the program: a digest of its file. Empty if it cannot be read.
pub(crate) fn build() -> String {
    static BUILD: LazyLock<String> = LazyLock::new(|| {
        let digest = |bytes: Vec<u8>| format!("{:016x}", xxhash_rust::xxh3::xxh3_64(&bytes));
        fs::read("/proc/self/exe").map(digest).unwrap_or_default()
    });
    BUILD.clone()
}

/// Now, in UTC, as `2026-01-31T23:59:59Z`.
pub(crate) fn timestamp() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_and_slugs() {
        let text = "processor\t: 0\nmodel name\t: A (R) CPU @ 2.6 GHz\n";
        assert_eq!(field(text, "model name").as_deref(), Some("A (R) CPU @ 2.6 GHz"));
        assert_eq!(field(text, "bogus"), None);
        let machine = Machine { cpu: "A (R) CPU @ 2.6 GHz".into(), cores: 2, memory: 23 << 30, ..Machine::here() };
        assert_eq!(machine.slug(), "a-r-cpu-2-6-ghz-2c-23g");
    }
}
