//! A moment in a file in memory, while a private mapping of it is stored to.

use std::ffi::c_void;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::rc::Rc;

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap};

use super::PAGE;
use super::kept::{Array, Moment, memory};
use super::sum;
use crate::contenders::Trouble;
use crate::memory::{Pages, Region, bytes_of, words_of};

/// An array behind a private mapping.
pub(super) struct Private {
    /// Addresses on which the file is mapped.
    region: Region,
    file: Rc<File>,
    bytes: usize,
}

/// The file.
struct InFile {
    file: Rc<File>,
    bytes: usize,
}

impl Private {
    pub(super) fn new(bytes: usize) -> Result<Private, Trouble> {
        let file: OwnedFd = memfd_create(c"bench", MemfdFlags::CLOEXEC).map_err(memory)?;
        ftruncate(&file, bytes as u64).map_err(memory)?;
        let file = Rc::new(File::from(file));
        let zeros = vec![0; 2 << 20];
        (0..bytes).step_by(zeros.len()).try_for_each(|at| file.write_all_at(&zeros, at as u64)).map_err(memory)?;
        let array = Private { region: Region::map(bytes, Pages::Small).map_err(memory)?, file, bytes };
        array.map()?;
        Ok(array)
    }

    /// Maps the file as it is now.
    fn map(&self) -> Result<(), Trouble> {
        let (prot, flags) =
            (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE | MapFlags::FIXED | MapFlags::NORESERVE);
        // SAFETY: in place of our own region, whose contents are in the file.
        unsafe { mmap(self.region.base().cast::<c_void>(), self.bytes, prot, flags, &*self.file, 0) }
            .map_err(memory)?;
        Ok(())
    }

    /// The pages that were stored to, which are no pages of the file any more.
    fn stored(&self) -> Result<Vec<usize>, Trouble> {
        const PRESENT: u64 = 1 << 63;
        const OF_FILE: u64 = 1 << 61;
        let pagemap = File::open("/proc/self/pagemap").map_err(memory)?;
        let mut entries = vec![0; self.bytes / 4096 * 8];
        pagemap.read_exact_at(&mut entries, (self.region.base() as u64) / 4096 * 8).map_err(memory)?;
        let entries = words_of(&entries)?;
        let stored = entries.iter().enumerate().filter(|(_, entry)| *entry & PRESENT != 0 && *entry & OF_FILE == 0);
        Ok(stored.map(|(page, _)| page).collect())
    }
}

impl Array for Private {
    fn words(&self) -> &[u64] {
        &self.region.words()[..self.bytes / 8]
    }

    fn words_mut(&mut self) -> &mut [u64] {
        &mut self.region.words_mut()[..self.bytes / 8]
    }

    fn take(&mut self) -> Result<Box<dyn Moment>, Trouble> {
        self.all_ended()?;
        Ok(Box::new(InFile { file: self.file.clone(), bytes: self.bytes }))
    }

    fn all_ended(&mut self) -> Result<(), Trouble> {
        for page in self.stored()? {
            let words = &self.region.words()[page * PAGE..(page + 1) * PAGE];
            self.file.write_all_at(bytes_of(words), page as u64 * 4096).map_err(memory)?;
        }
        self.map()
    }
}

impl Moment for InFile {
    fn sum(&mut self) -> Result<u64, Trouble> {
        let mut bytes = vec![0; self.bytes];
        self.file.read_exact_at(&mut bytes, 0).map_err(memory)?;
        words_of(&bytes).map(sum)
    }

    fn end(self: Box<Self>) -> Result<(), Trouble> {
        Ok(())
    }
}
