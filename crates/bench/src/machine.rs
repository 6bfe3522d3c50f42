//! Where and when a measurement was taken.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// What about a machine changes its numbers.
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

    /// A name for files: processor, cores, memory.
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

/// Now, in UTC, as `2026-01-31T23:59:59Z`.
pub(crate) fn timestamp() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format_time(now.as_secs())
}

/// Seconds since 1970 as a date and a time.
fn format_time(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Days since 1 March of the year 0, in cycles of 400 years; a year that begins in March has its
    // leap day at the end, so month and day follow from the day of the year by one linear formula.
    let day = days + 719_468;
    let (cycle, day) = (day / 146_097, day % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) = match month {
        0..=9 => (year + 400 * cycle, month + 3),
        _ => (year + 400 * cycle + 1, month - 9),
    };
    let (hour, minute, second) = (rest / 3_600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, want) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_709_164_800, "2024-02-29T00:00:00Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(format_time(seconds), want);
        }
    }

    #[test]
    fn fields_and_slugs() {
        let text = "processor\t: 0\nmodel name\t: A (R) CPU @ 2.6 GHz\n";
        assert_eq!(field(text, "model name").as_deref(), Some("A (R) CPU @ 2.6 GHz"));
        assert_eq!(field(text, "bogus"), None);
        let machine = Machine { cpu: "A (R) CPU @ 2.6 GHz".into(), cores: 2, memory: 23 << 30, ..Machine::here() };
        assert_eq!(machine.slug(), "a-r-cpu-2-6-ghz-2c-23g");
    }
}
