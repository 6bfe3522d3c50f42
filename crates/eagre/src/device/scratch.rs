//! Files to measure with. They have no name, so nothing is left behind, however the process ends.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{Advice, FallocateFlags, OFlags, fadvise, fallocate};

use crate::file::Output;
use crate::file::cache;

/// A scratch file, open twice.
pub(super) struct Scratch {
    /// Keeps the file: without a name, or with a hidden one that goes with it.
    output: Output,
    /// Past the page cache, where that is possible.
    direct: Option<File>,
}

impl Scratch {
    /// An empty file in `directory`, which must have room for `bytes` bytes.
    pub(super) fn new(directory: &Path, bytes: u64) -> io::Result<Scratch> {
        let output = Output::create(directory.join(".eagre-device"))?;
        output.check_room(bytes)?;
        let direct = cache::alignment(output.file()).and_then(|_| cache::reopen_past(output.file(), OFlags::RDWR).ok());
        Ok(Scratch { output, direct })
    }

    /// The file through the page cache.
    pub(super) fn cached(&self) -> &File {
        self.output.file()
    }

    /// The file past the page cache, if that is possible; otherwise through it.
    pub(super) fn direct(&self) -> &File {
        self.direct.as_ref().unwrap_or(self.cached())
    }

    /// Whether the page cache can be bypassed.
    pub(super) fn is_direct(&self) -> bool {
        self.direct.is_some()
    }

    /// Goes through the page cache from now on.
    pub(super) fn give_up_direct(&mut self) {
        self.direct = None;
    }

    /// Makes the file empty, and allocates space for `bytes` bytes, as the writers of Eagre do.
    pub(super) fn restart(&self, bytes: u64) -> io::Result<()> {
        self.cached().set_len(0)?;
        // Not every file system can.
        let _ = fallocate(self.cached(), FallocateFlags::empty(), 0, bytes);
        Ok(())
    }

    /// Drops the file from the page cache, as far as its pages are written.
    pub(super) fn forget(&self) {
        let _ = fadvise(self.cached(), 0, None, Advice::DontNeed);
    }
}
