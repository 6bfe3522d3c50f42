//! How an input is brought to a scan, and why.
//!
//! | plan | how | good for |
//! |---|---|---|
//! | `map` | mapped: the pages of the page cache are scanned in place | files in the page cache: nothing is copied |
//! | `read` | copied into a small buffer that stays in the processor's cache | small files; files in small pages, which are slow to map; files that are partly in the page cache |
//! | `direct` | read past the page cache | large files on disk, which would evict other files from the cache |
//! | `stream` | read as it arrives | pipes, terminals, and whatever has no size |

use std::fmt;
use std::fs::{File, Metadata};
use std::io::Seek;
use std::str::FromStr;

use eagre_mem::Mapping;

use crate::file::cache::{self, LEAST_TO_SCAN, Warmth, lives_in_memory};

/// In a memory file system (tmpfs), a fault that maps less than this costs more than copying as many bytes, because the
/// kernel looks up the pages one by one. Files on disks are kept in larger units, which are cheap to map even 64 KiB at
/// a time.
const COARSE: u64 = 96 << 10;

/// The least number of bytes for each thread.
const ENOUGH_FOR_ONE: u64 = 2 << 20;

/// How an input is brought to a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Plan {
    /// Mapped, and scanned where the kernel keeps it.
    Map,
    /// Read into small buffers.
    Read,
    /// Read past the page cache.
    Direct,
    /// Read as it arrives, by one thread.
    Stream,
}

impl Plan {
    /// All plans.
    pub const ALL: [Plan; 4] = [Plan::Map, Plan::Read, Plan::Direct, Plan::Stream];
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Plan::Map => "map",
            Plan::Read => "read",
            Plan::Direct => "direct",
            Plan::Stream => "stream",
        })
    }
}

impl FromStr for Plan {
    type Err = ();
    fn from_str(name: &str) -> Result<Plan, ()> {
        Plan::ALL.into_iter().find(|plan| plan.to_string() == name).ok_or(())
    }
}

/// A plan for one input.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Choice {
    /// How the input is brought to the scan.
    pub plan: Plan,
    /// How many threads scan it.
    pub threads: usize,
    /// Why. Its `Display` is a clause without a capital letter and a full stop.
    pub why: Why,
}

/// Why a plan was chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Why {
    /// It is not a regular file, or its size cannot be trusted.
    NoSize,
    /// It is a stream of this process.
    Stream,
    /// Few bytes are left of it.
    Small {
        /// In bytes.
        size: u64,
    },
    /// All of it, or nearly all, is in the page cache.
    Cached {
        /// From 0 to 1.
        fraction: f64,
    },
    /// It lives in memory (tmpfs), but in pages that are slow to map.
    SmallPages {
        /// How many bytes one page fault maps.
        grain: u64,
    },
    /// Part of it is in the page cache.
    HalfCached {
        /// From 0 to 1.
        fraction: f64,
    },
    /// It is on disk.
    Cold {
        /// From 0 to 1.
        fraction: f64,
    },
    /// It is not known how much of it is in the page cache.
    Unknown,
    /// The plan was asked for.
    Forced,
    /// The best plan is not possible: the file cannot be mapped, or a stream cannot be opened.
    NotPossible {
        /// The best plan.
        wanted: Plan,
    },
}

impl Why {
    /// Whether the input comes from memory, so that memory limits the speed of the scan.
    #[must_use]
    pub fn in_memory(self) -> bool {
        matches!(self, Why::Cached { .. } | Why::SmallPages { .. })
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |fraction: f64| (fraction * 100.0).round();
        match *self {
            Why::NoSize => f.write_str("it is not a regular file, or its size cannot be trusted"),
            Why::Stream => f.write_str("its bytes are produced as they are read"),
            Why::Small { size } => write!(f, "{size} bytes are too few for a mapping or a second thread to pay"),
            Why::Cached { fraction } => {
                write!(f, "{} % of it is in the page cache, where a mapping reads it without a copy", percent(fraction))
            }
            Why::SmallPages { grain } => {
                write!(f, "it lives in memory, but one fault maps only {} KiB of it: copying is cheaper", grain >> 10)
            }
            Why::HalfCached { fraction } => {
                write!(f, "{} % of it is in the page cache, and reading ahead brings the rest", percent(fraction))
            }
            Why::Cold { fraction } => {
                write!(f, "only {} % of it is in the page cache, so it is read from the disk", percent(fraction))
            }
            Why::Unknown => f.write_str("the kernel does not say how much of it is in memory"),
            Why::Forced => f.write_str("it was asked for"),
            Why::NotPossible { wanted } => write!(f, "plan {wanted} would suit it but is not possible here"),
        }
    }
}

/// The part of a file that is left to scan.
#[derive(Clone, Copy)]
pub(super) struct Extent {
    /// Where it begins: the position of the file.
    pub(super) start: u64,
    /// Where the file ends now.
    pub(super) end: u64,
}

/// The extent of a regular file that is large enough to plan for, or the reason why not.
pub(super) fn extent(mut file: &File) -> Result<Extent, Why> {
    let size = file.metadata().ok().filter(Metadata::is_file).map(|metadata| metadata.len()).ok_or(Why::NoSize)?;
    // The whole file is small, so its position does not matter. This includes the files of `/proc` and `/sys`, which
    // claim to be empty or one page long.
    if size < LEAST_TO_SCAN {
        return Err(Why::Small { size });
    }
    let start = file.stream_position().map_err(|_| Why::NoSize)?;
    let size = size.saturating_sub(start);
    if size < LEAST_TO_SCAN { Err(Why::Small { size }) } else { Ok(Extent { start, end: start + size }) }
}

/// Chooses a plan for a file of this extent.
pub(super) fn choose(file: &File, extent: &Extent, threads: usize, forced: Option<Plan>) -> Choice {
    let (plan, why) = match forced {
        Some(plan) => (plan, Why::Forced),
        None => by_residency(file, extent),
    };
    // Starting a thread takes as long as reading about 1 MiB.
    let worth = (extent.end - extent.start) / ENOUGH_FOR_ONE;
    let threads = threads.min(worth as usize).max(1);
    Choice { plan, threads, why }
}

fn by_residency(file: &File, extent: &Extent) -> (Plan, Why) {
    match cache::warmth(file, extent.start, extent.end - extent.start) {
        None => (Plan::Read, Why::Unknown),
        Some(Warmth::Warm(fraction)) => match grain(file, extent) {
            None => (Plan::Read, Why::NotPossible { wanted: Plan::Map }),
            Some(grain) if grain < COARSE && lives_in_memory(file) => (Plan::Read, Why::SmallPages { grain }),
            Some(_) => (Plan::Map, Why::Cached { fraction }),
        },
        Some(Warmth::Half(fraction)) => (Plan::Read, Why::HalfCached { fraction }),
        Some(Warmth::Cold(fraction)) => (Plan::Direct, Why::Cold { fraction }),
    }
}

/// How many bytes of a file one page fault maps. The kernel keeps files in units of 4 KiB to 2 MiB, depending on how
/// they were read or written. This maps a range in the middle of the file and counts the faults. `None` if the file
/// cannot be mapped.
fn grain(file: &File, extent: &Extent) -> Option<u64> {
    const TRIED: u64 = 2 << 20;
    let start = (extent.start + (extent.end - extent.start) / 2) / TRIED * TRIED;
    let length = TRIED.min(extent.end - start);
    let faults = Mapping::new(file, start, length as usize).ok()?.populate(0..length as usize);
    Some(length / faults.max(1))
}

/// The value of `EAGRE_PLAN`.
pub(super) fn from_environment() -> Result<Option<Plan>, String> {
    eagre_mem::options::plan(|text| text.parse().ok())
}
