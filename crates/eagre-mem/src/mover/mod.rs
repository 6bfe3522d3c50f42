//! How a block changes its address.
//!
//! # Safety
//! A move takes the pages at one address of ours to another. The rules that make it sound are the caller's: both
//! ranges belong to one stream (or its pool), nobody reads or writes the source while it moves, and nothing is behind
//! the destination.

use crate::sys::{Errno, map, uffd::Uffd};
use std::fmt;
use std::ptr;
use std::str::FromStr;

/// How a block changes its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mover {
    /// `UFFDIO_MOVE` (kernel 6.8): the page-table entries change hands, mappings do not.
    Move,
    /// `mremap`: older kernels; mappings change hands.
    Remap,
    /// Blocks of memory with a descriptor, which stay where they are and are mapped where they are needed. Addresses behind a
    /// window are taken back a few blocks at a time, for both ends together: that interrupts the other processor a fraction as
    /// often, but a touch behind the window may go unnoticed for some blocks, and pinned pages are not seen.
    Map,
    /// Blocks stay where they are, and bytes are copied where one address range must span two of them.
    Copy,
}

impl fmt::Display for Mover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mover::Move => "move",
            Mover::Remap => "remap",
            Mover::Map => "map",
            Mover::Copy => "copy",
        })
    }
}

impl FromStr for Mover {
    type Err = ();
    fn from_str(name: &str) -> Result<Mover, ()> {
        match name {
            "move" => Ok(Mover::Move),
            "remap" => Ok(Mover::Remap),
            "map" => Ok(Mover::Map),
            "copy" => Ok(Mover::Copy),
            _ => Err(()),
        }
    }
}

/// What a slot in a range needs before a block can move into it.
///
/// A huge page stays whole only where no page table is yet, and the touch that calls for it may have left one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prepare {
    /// Nothing: blocks of small pages; or a range of huge pages that is only read, where the kernel reports a missing
    /// page before it makes a table for it.
    Nothing,
    /// The range is closed ahead of the window and opened block by block: a touch of what is closed makes no table.
    Open,
    /// The range is open all over, and the touch has left an empty table, which is dropped.
    DropTables,
}

/// A mover ready for use.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Engine {
    /// See [`Mover::Move`].
    Move(&'static Uffd),
    /// See [`Mover::Remap`].
    Remap,
    /// See [`Mover::Map`].
    Map,
    /// See [`Mover::Copy`].
    Copy,
}

impl Engine {
    /// The descriptor through which pages move.
    pub(crate) fn uffd(self) -> Option<&'static Uffd> {
        match self {
            Engine::Move(uffd) => Some(uffd),
            Engine::Remap | Engine::Map | Engine::Copy => None,
        }
    }

    /// Whether blocks stay at home and get further addresses.
    #[inline]
    pub(crate) fn maps(self) -> bool {
        matches!(self, Engine::Map)
    }

    /// Which mover this is.
    pub(crate) fn mover(self) -> Mover {
        match self {
            Engine::Move(_) => Mover::Move,
            Engine::Remap => Mover::Remap,
            Engine::Map => Mover::Map,
            Engine::Copy => Mover::Copy,
        }
    }

    /// Moves a block into a stream's reservation, from an address that `source` moves blocks to: if a page in the midst of it
    /// refuses, the others go back there. Not for [`Engine::Map`], whose blocks stay where they are.
    ///
    /// # Errors
    /// `EBUSY` if a page of it is pinned for I/O or was shared by a fork: the block stays where it is.
    ///
    /// # Safety
    /// See the module; `to` lies in a reservation registered with this engine's descriptor.
    #[inline]
    pub(crate) unsafe fn into_range(
        self,
        source: Engine,
        from: usize,
        to: usize,
        len: usize,
        prepare: Prepare,
    ) -> Result<(), Errno> {
        // SAFETY: the caller owns both ranges, and nothing is behind `to`.
        unsafe {
            match self {
                Engine::Move(uffd) => {
                    match prepare {
                        Prepare::Nothing => {}
                        Prepare::Open => map::open(to, len)?,
                        Prepare::DropTables => map::discard(to, len)?,
                    }
                    uffd.move_pages(from, to, len, source.uffd().unwrap_or(uffd))
                }
                Engine::Remap => map::remap(from, to, len),
                Engine::Map => Err(Errno::NOSYS),
                Engine::Copy => copy(from, to, len),
            }
        }
    }

    /// Moves a block home to its pool, from where `source` moves blocks to.
    ///
    /// # Errors
    /// As for [`Engine::into_range`].
    ///
    /// # Safety
    /// See the module; `to` is the home of a block in a pool made for this engine.
    pub(crate) unsafe fn into_pool(self, source: Engine, from: usize, to: usize, len: usize) -> Result<(), Errno> {
        // SAFETY: the caller owns both ranges; a pool is open, and an empty home in it has no page tables.
        unsafe {
            match self {
                Engine::Move(uffd) => uffd.move_pages(from, to, len, source.uffd().unwrap_or(uffd)),
                Engine::Remap => map::remap(from, to, len),
                Engine::Map => Err(Errno::NOSYS),
                Engine::Copy => copy(from, to, len),
            }
        }
    }
}

impl Engine {
    /// Takes back a block whose owner has given it up, with the memory it had, locked or not. False if that is pinned:
    /// then the pins keep it until they end, and the block has none.
    ///
    /// # Safety
    /// As for [`Engine::into_pool`], and nobody needs the contents.
    pub(crate) unsafe fn take_back(self, source: Engine, from: usize, to: usize, len: usize) -> bool {
        // SAFETY: the caller's contract.
        unsafe {
            if self.into_pool(source, from, to, len).is_ok() {
                return true;
            }
            map::unlock(from, len);
            if self.into_pool(source, from, to, len).is_ok() {
                return true;
            }
            let _ = map::discard(from, len);
        }
        false
    }
}

/// Throw-away pages: for pointers whose owner has failed, and whose code is to run to its end.
impl Engine {
    /// Puts throw-away zeros behind a range.
    ///
    /// # Safety
    /// The range belongs to the caller, and no block is in it.
    pub(crate) unsafe fn put_zeros(self, start: usize, len: usize, prepare: Prepare) -> Result<(), Errno> {
        // SAFETY: the caller's contract.
        unsafe {
            match self {
                Engine::Move(uffd) => {
                    if prepare == Prepare::Open {
                        map::open(start, len)?;
                    }
                    uffd.zero(start, len)
                }
                Engine::Remap | Engine::Map => map::open_fresh(start, len),
                Engine::Copy => Err(Errno::NOSYS),
            }
        }
    }

    /// Takes them away again: a touch is a fault as before.
    ///
    /// # Safety
    /// The range belongs to the caller, and holds throw-away pages or nothing.
    pub(crate) unsafe fn drop_zeros(self, start: usize, len: usize) -> Result<(), Errno> {
        // SAFETY: the caller's contract.
        unsafe {
            match self {
                Engine::Remap | Engine::Map => map::close(start, len),
                _ => map::discard(start, len),
            }
        }
    }
}

/// Moves a block by copying it: new memory at `to`, none at `from` afterwards.
///
/// # Safety
/// See the module.
unsafe fn copy(from: usize, to: usize, len: usize) -> Result<(), Errno> {
    // SAFETY: the caller owns both ranges, which are apart; nobody reads or writes either meanwhile.
    unsafe {
        map::open(to, len)?;
        map::populate(to, len)?;
        let source = ptr::with_exposed_provenance::<u8>(from);
        ptr::with_exposed_provenance_mut::<u8>(to).copy_from_nonoverlapping(source, len);
        // Locked memory stays: the block has moved all the same.
        let _ = map::discard(from, len);
    }
    Ok(())
}
