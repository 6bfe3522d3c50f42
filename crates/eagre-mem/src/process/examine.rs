//! What streams between processes find on this machine, tried out.

use super::connection::folder;
use crate::memory::reservation::Reservation;
use crate::memory::shared::SharedBlocks;
use crate::sys::shared::{self, Access};
use crate::sys::{process, socket};
use crate::units::{BlockSize, HUGE_PAGE};
use std::path::PathBuf;

/// What works here. What does not says why.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Abilities {
    /// Memory for a stream: a memfd, sealed against shrinking. Without it there are no such streams.
    pub memory: Result<(), String>,
    /// Its pages can be made huge. Without, a stream that is long is slower.
    pub huge_pages: Result<(), String>,
    /// The end of another process is seen by its number (pidfd). Without, only by its connection, which a forked child may keep open.
    pub pidfd: Result<(), String>,
    /// Where names are. Without, only who is passed a descriptor is reached.
    pub names: Result<PathBuf, String>,
}

/// Tries what streams between processes need. Nothing stays.
#[must_use]
pub fn examine() -> Abilities {
    let blocks = SharedBlocks::new(BlockSize::DEFAULT, 1).map_err(|error| error.to_string());
    Abilities {
        huge_pages: blocks.as_ref().map_err(String::clone).and_then(collapses),
        memory: blocks.map(drop),
        pidfd: socket::open_process(process::id()).map(drop).map_err(|errno| format!("pidfd_open: {errno}")),
        names: folder().map_err(|error| error.reason().to_owned()),
    }
}

/// Whether a block becomes a huge page.
fn collapses(blocks: &SharedBlocks) -> Result<(), String> {
    let len = BlockSize::DEFAULT.bytes();
    let range = Reservation::aligned(len, HUGE_PAGE).map_err(|refusal| refusal.to_string())?;
    // SAFETY: our own range, which nobody else has seen, and which is gone when this returns.
    unsafe {
        let mapped = blocks.map(0..1, range.start(), Access::ReadWrite).map_err(|errno| format!("mmap: {errno}"));
        let collapsed = mapped.and_then(|()| {
            shared::collapse(range.start(), len).map_err(|errno| format!("madvise(MADV_COLLAPSE): {errno}"))
        });
        range.unmap();
        collapsed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_streams_stand_on_is_there() {
        let found = examine();
        assert_eq!(found.memory, Ok(()));
        // The others depend on the kernel and on who this is: each is there, or says why not.
        for why in [found.huge_pages.err(), found.pidfd.err(), found.names.err()].into_iter().flatten() {
            assert!(!why.is_empty());
        }
    }
}
