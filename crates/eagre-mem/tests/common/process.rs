//! What the system says of this process.

use std::time::Duration;

/// A field of `/proc/self/status`, in KiB.
fn status(field: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|line| line.starts_with(field)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// The processor time that this process has used.
pub(crate) fn time() -> Duration {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call fills it.
    assert_eq!(unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut now) }, 0);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// What this process costs at a moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Footprint {
    /// Anonymous memory, KiB.
    pub(crate) rss: u64,
    /// Page tables, KiB.
    pub(crate) tables: u64,
    /// Mappings.
    pub(crate) mappings: u64,
    /// Open descriptors.
    pub(crate) descriptors: u64,
}

impl Footprint {
    pub(crate) fn now() -> Footprint {
        Footprint {
            rss: status("RssAnon:"),
            tables: status("VmPTE:"),
            mappings: std::fs::read_to_string("/proc/self/maps").unwrap().lines().count() as u64,
            descriptors: std::fs::read_dir("/proc/self/fd").unwrap().count() as u64,
        }
    }

    /// The worse of two in every respect.
    pub(crate) fn max(self, other: Footprint) -> Footprint {
        Footprint {
            rss: self.rss.max(other.rss),
            tables: self.tables.max(other.tables),
            mappings: self.mappings.max(other.mappings),
            descriptors: self.descriptors.max(other.descriptors),
        }
    }
}
