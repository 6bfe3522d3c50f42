//! What the system says of this process.

use std::os::unix::fs::MetadataExt;
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
    /// Memory behind Eagre's descriptors, KiB.
    pub(crate) shared: u64,
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
            shared: taken().0 >> 10,
            tables: status("VmPTE:"),
            mappings: std::fs::read_to_string("/proc/self/maps").unwrap().lines().count() as u64,
            descriptors: std::fs::read_dir("/proc/self/fd").unwrap().count() as u64,
        }
    }

    /// The worse of two in every respect.
    pub(crate) fn max(self, other: Footprint) -> Footprint {
        Footprint {
            rss: self.rss.max(other.rss),
            shared: self.shared.max(other.shared),
            tables: self.tables.max(other.tables),
            mappings: self.mappings.max(other.mappings),
            descriptors: self.descriptors.max(other.descriptors),
        }
    }
}

/// Memory behind descriptors of this process, in bytes, and its mappings.
pub(crate) fn taken() -> (u64, usize) {
    let memory = std::fs::read_dir("/proc/self/fd").unwrap().filter_map(|entry| {
        let path = entry.unwrap().path();
        let named = std::fs::read_link(&path).is_ok_and(|to| to.to_string_lossy().starts_with("/memfd:eagre"));
        if named { std::fs::metadata(&path).ok() } else { None }
    });
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    (memory.map(|file| file.blocks() * 512).sum(), maps.lines().filter(|line| line.contains("memfd:eagre")).count())
}

/// From here on, memory with a descriptor gets nothing more.
pub(crate) fn refuse_memory() {
    // SAFETY: system calls on this process alone.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        assert_eq!(libc::setrlimit(libc::RLIMIT_FSIZE, &none), 0);
    }
}
