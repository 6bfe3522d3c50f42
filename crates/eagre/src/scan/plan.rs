//! How an input is brought to a scan, and why so.
//!
//! | plan | how | good for |
//! |---|---|---|
//! | `map` | the file's pages where the kernel keeps them | files in the page cache: nothing is copied |
//! | `read` | copied into a small buffer that stays in the cache of its processor | small files; files kept in small pages, which are dear to map; files half in memory |
//! | `direct` | past the page cache | large files on disk: they would only drive out what is there |
//! | `stream` | as it comes | pipes, terminals, and whatever has no size |

use std::fmt;
use std::fs::{File, Metadata};
use std::io::Seek;
use std::str::FromStr;

use eagre_mem::Mapping;

use crate::file::cache::{self, LEAST_TO_SCAN, Warmth, lives_in_memory};

/// In memory file systems, a fault that maps less than this costs more than copying the same: it brings pages that the
/// kernel looks up one by one. Files on disks are kept in larger pieces, which are cheap to map 64 KiB at a time too.
const COARSE: u64 = 96 << 10;

/// What a thread should have to do, at least.
const ENOUGH_FOR_ONE: u64 = 2 << 20;

/// How an input is brought to a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Plan {
    /// Mapped, where the kernel keeps it.
    Map,
    /// Read into small buffers.
    Read,
    /// Read past the page cache.
    Direct,
    /// Taken as it comes, by one thread.
    Stream,
}

impl Plan {
    /// All of them.
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
    /// How it is brought.
    pub plan: Plan,
    /// By how many threads.
    pub threads: usize,
    /// Why so. Its `Display` is a sentence without capital and stop.
    pub why: Why,
}

/// Why a plan was chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Why {
    /// It is no regular file, or a file whose size says nothing.
    NoSize,
    /// It is a stream of this process.
    Stream,
    /// So little is left of it.
    Small {
        /// In bytes.
        size: u64,
    },
    /// All of it, or nearly, is in the page cache.
    Cached {
        /// From 0 to 1.
        fraction: f64,
    },
    /// It lives in memory (tmpfs), but in pages that are dear to map.
    SmallPages {
        /// How many bytes one page fault brings.
        grain: u64,
    },
    /// Some of it is in the page cache, some is not.
    HalfCached {
        /// From 0 to 1.
        fraction: f64,
    },
    /// It is on its disk.
    Cold {
        /// From 0 to 1.
        fraction: f64,
    },
    /// Nobody knows what the page cache holds of it.
    Unknown,
    /// It was asked for.
    Forced,
    /// The plan that would suit it cannot be had: it cannot be mapped, or there are no streams.
    NotPossible {
        /// That plan.
        wanted: Plan,
    },
}

impl Why {
    /// Whether it means that the input comes from memory, so that memory is what limits its speed.
    #[must_use]
    pub fn in_memory(self) -> bool {
        matches!(self, Why::Cached { .. } | Why::SmallPages { .. })
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |fraction: f64| (fraction * 100.0).round();
        match *self {
            Why::NoSize => f.write_str("it is no regular file, or one whose size says nothing"),
            Why::Stream => f.write_str("it is made as it is read"),
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
                write!(f, "only {} % of it is in the page cache, so the disk decides", percent(fraction))
            }
            Why::Unknown => f.write_str("the kernel does not say how much of it is in memory"),
            Why::Forced => f.write_str("it was asked for"),
            Why::NotPossible { wanted } => write!(f, "plan {wanted} would suit it but cannot be had"),
        }
    }
}

/// What a file's descriptor says about what is left of it.
#[derive(Clone, Copy)]
pub(super) struct Extent {
    /// Where it begins: the file's position.
    pub(super) start: u64,
    /// Where the file ends now.
    pub(super) end: u64,
}

/// The extent of a regular file that is large enough to plan for; else the reason why not.
pub(super) fn extent(mut file: &File) -> Result<Extent, Why> {
    let size = file.metadata().ok().filter(Metadata::is_file).map(|metadata| metadata.len()).ok_or(Why::NoSize)?;
    // Small as a whole: where its position is makes no difference. Also the files of /proc and /sys, whose size of
    // nothing or one page is not true.
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
    // A thread that starts costs as much as reading a MiB or so.
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

/// How much of a file one page fault maps: the kernel keeps files in pieces of 4 KiB to 2 MiB, as large as they were
/// read or written in. Tried in the middle; `None` if the file cannot be mapped.
fn grain(file: &File, extent: &Extent) -> Option<u64> {
    const TRIED: u64 = 2 << 20;
    let start = (extent.start + (extent.end - extent.start) / 2) / TRIED * TRIED;
    let length = TRIED.min(extent.end - start);
    let faults = Mapping::new(file, start, length as usize).ok()?.populate(0..length as usize);
    Some(length / faults.max(1))
}

/// What `EAGRE_PLAN` says.
pub(super) fn from_environment() -> Result<Option<Plan>, String> {
    eagre_mem::options::plan(|text| text.parse().ok())
}
