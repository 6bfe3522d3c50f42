//! How an input is brought to a scan, and why so.
//!
//! | plan | how | good for |
//! |---|---|---|
//! | `map` | the file's pages where the kernel keeps them | files in the page cache: nothing is copied |
//! | `read` | copied into a small buffer that stays in the cache of its processor | small files; pages of 4 KiB, which are dear to map; files half in memory |
//! | `direct` | past the page cache | large files on disk: they would only drive out what is there |
//! | `stream` | as it comes | pipes, terminals, and whatever has no size |

use std::fmt;
use std::fs::{File, Metadata};
use std::io::Seek;
use std::num::NonZeroUsize;
use std::str::FromStr;

use crate::file::residency::residency;

/// Less than this is read at once by the calling thread: it would take as long to map it, or to start a thread.
pub(super) const SMALL: u64 = 2 << 20;

/// What a thread should have to do, at least.
const ENOUGH_FOR_ONE: u64 = 2 << 20;

/// A file that is in memory to this part is taken for one that is.
const WARM: f64 = 0.9;
/// A file that is in memory to less than this part is taken for one that is not.
const COLD: f64 = 0.5;

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
    pub threads: NonZeroUsize,
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
    /// It lives in memory and nowhere else, in pages that are dear to map.
    Tmpfs,
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
    /// It could not be mapped.
    NotMappable,
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
            Why::Tmpfs => f.write_str("it lives in memory in pages of 4 KiB, which are copied faster than mapped"),
            Why::HalfCached { fraction } => {
                write!(f, "{} % of it is in the page cache, and reading ahead brings the rest", percent(fraction))
            }
            Why::Cold { fraction } => {
                write!(f, "only {} % of it is in the page cache, so the disk decides", percent(fraction))
            }
            Why::Unknown => f.write_str("the kernel does not say how much of it is in memory"),
            Why::Forced => f.write_str("it was asked for"),
            Why::NotMappable => f.write_str("it could not be mapped"),
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
    if size < SMALL {
        return Err(Why::Small { size });
    }
    let start = file.stream_position().map_err(|_| Why::NoSize)?;
    let size = size.saturating_sub(start);
    if size < SMALL { Err(Why::Small { size }) } else { Ok(Extent { start, end: start + size }) }
}

/// Chooses a plan for a file of this extent.
pub(super) fn choose(file: &File, extent: &Extent, threads: NonZeroUsize, forced: Option<Plan>) -> Choice {
    let (plan, why) = match forced {
        Some(plan) => (plan, Why::Forced),
        None => by_residency(file, extent),
    };
    // A thread that starts costs as much as reading a MiB or so.
    let worth = (extent.end - extent.start) / ENOUGH_FOR_ONE;
    let threads = threads.min(NonZeroUsize::new(worth as usize).unwrap_or(NonZeroUsize::MIN));
    Choice { plan, threads, why }
}

fn by_residency(file: &File, extent: &Extent) -> (Plan, Why) {
    if is_tmpfs(file) {
        return (Plan::Read, Why::Tmpfs);
    }
    let Some(residency) = residency(file, extent.start, extent.end - extent.start) else {
        return (Plan::Read, Why::Unknown);
    };
    match residency.fraction() {
        fraction if fraction >= WARM => (Plan::Map, Why::Cached { fraction }),
        fraction if fraction >= COLD => (Plan::Read, Why::HalfCached { fraction }),
        fraction => (Plan::Direct, Why::Cold { fraction }),
    }
}

fn is_tmpfs(file: &File) -> bool {
    const TMPFS: u64 = 0x0102_1994;
    rustix::fs::fstatfs(file).is_ok_and(|system| system.f_type as u64 == TMPFS)
}

/// What `EAGRE_PLAN` says.
pub(super) fn from_environment() -> Result<Option<Plan>, String> {
    eagre_mem::options::plan(|text| text.parse().ok())
}
