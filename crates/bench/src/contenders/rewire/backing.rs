//! Blocks, and the ways to give them addresses.

use std::ffi::c_void;
use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsFd, OwnedFd};

use eagre::{Block, BlockSize, Pool, ViewArray, ViewOptions};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap};

use crate::catalogue::{FilePages, Fill, Wiring};
use crate::contenders::Trouble;
use crate::contenders::primitive::{Mremap, Primitive, UffdioMove};
use crate::kernels::fill;
use crate::memory::{Pages, Region};

/// A huge page.
const HUGE: usize = 2 << 20;

/// Blocks, filled, and the addresses they are to have.
pub(super) struct Backing {
    block: usize,
    /// Where the blocks come together.
    slots: Region,
    blocks: Blocks,
}

enum Blocks {
    Copied(Region),
    Fresh,
    Directory {
        blocks: Region,
        directory: Vec<*const u64>,
    },
    Moved {
        blocks: Region,
        by: Box<dyn Primitive>,
    },
    Eagre {
        blocks: Vec<Option<Block>>,
        region: eagre::Region,
    },
    Viewed {
        array: ViewArray<u64>,
        view: Option<eagre::View<u64>>,
    },
    /// The first mapping of the file lives as long as it does.
    File {
        file: OwnedFd,
        _whole: Region,
        fill: Fill,
    },
}

fn failed(why: impl std::fmt::Display) -> Trouble {
    Trouble::failed("memory", why)
}

/// No mapping more: this machine's limit, and nobody's mistake.
fn mapping(error: Errno) -> Trouble {
    match error {
        Errno::NOMEM => Trouble::Unavailable("mmap: out of memory or mappings (vm.max_map_count)".into()),
        other => failed(other),
    }
}

impl Backing {
    /// `count` blocks of `block` bytes with the known words in them.
    pub(super) fn new(wiring: Wiring, block: usize, count: usize) -> Result<Backing, Trouble> {
        let len = block * count;
        let filled = |pages| {
            let mut region = Region::map(len, pages)?;
            fill(region.words_mut(), 0);
            Ok(region)
        };
        let filled = |pages| filled(pages).map_err(|e: io::Error| failed(e));
        let slots = |pages| Region::map(len, pages).map_err(failed);
        let moved = |pages, mut by: Box<dyn Primitive>| {
            let (blocks, slots) = (filled(pages)?, slots(pages)?);
            for region in [&blocks, &slots] {
                by.prepare(region).map_err(failed)?;
            }
            Ok((slots, Blocks::Moved { blocks, by }))
        };
        let (slots, blocks) = match wiring {
            Wiring::Copied(pages) => (Region::touched(len, pages).map_err(failed)?, Blocks::Copied(filled(pages)?)),
            Wiring::Fresh(pages) => (slots(pages)?, Blocks::Fresh),
            Wiring::Directory => {
                let directory = Vec::with_capacity(count);
                (slots(Pages::Huge)?, Blocks::Directory { blocks: filled(Pages::Huge)?, directory })
            }
            Wiring::Mremap(pages) => moved(pages, Box::new(Mremap))?,
            Wiring::UffdioMove(pages) => moved(pages, Box::new(UffdioMove::open()?))?,
            Wiring::Eagre => (slots(Pages::Small)?, Backing::of_eagre(block, count)?),
            Wiring::View => {
                let mut array = ViewOptions::new().block(block).array::<u64>(count).map_err(failed)?;
                fill(array.write(..).map_err(failed)?, 0);
                (slots(Pages::Small)?, Blocks::Viewed { array, view: None })
            }
            Wiring::File { pages, fill } => {
                let (file, whole) = file(pages, block, len)?;
                (slots(Pages::Small)?, Blocks::File { file, _whole: whole, fill })
            }
        };
        Ok(Backing { block, slots, blocks })
    }

    fn of_eagre(block: usize, count: usize) -> Result<Blocks, Trouble> {
        let size = BlockSize::new(block).ok_or_else(|| Trouble::Unavailable(format!("no blocks of {block} bytes")))?;
        let pool = Pool::new(size, count as u32, None, None).map_err(failed)?;
        let region = eagre::Region::new(&pool, count).map_err(failed)?;
        let make = |number: usize| {
            let mut taken = pool.take().map_err(failed)?;
            fill(crate::memory::words_of_mut(&mut taken)?, (number * block / 8) as u64);
            Ok(Some(taken))
        };
        Ok(Blocks::Eagre { blocks: (0..count).map(make).collect::<Result<_, Trouble>>()?, region })
    }

    /// Wires block `order[i]` to slot `i`, for every slot. Once.
    pub(super) fn wire(&mut self, order: &[usize]) -> Result<View<'_>, Trouble> {
        let (block, base) = (self.block, self.slots.base());
        let slot = |number: usize| base.wrapping_add(number * block);
        match &mut self.blocks {
            Blocks::Fresh => {}
            Blocks::Copied(blocks) => {
                for (to, from) in order.iter().enumerate() {
                    // SAFETY: one of the blocks and one of the slots, which are apart.
                    unsafe { slot(to).copy_from_nonoverlapping(blocks.base().add(from * block), block) };
                }
            }
            Blocks::Directory { blocks, directory } => {
                directory.extend(
                    order.iter().map(|from| blocks.base().wrapping_add(from * block).cast::<u64>().cast_const()),
                );
            }
            Blocks::Moved { blocks, by } => {
                for (to, from) in order.iter().enumerate() {
                    // SAFETY: one of the blocks and one of the slots, which nobody else uses.
                    unsafe { by.transfer(slot(to), blocks.base().add(from * block), block) }.map_err(moving)?;
                }
            }
            Blocks::Eagre { blocks, region } => {
                for (to, &from) in order.iter().enumerate() {
                    let Some(block) = blocks[from].take() else { return Err(failed("an order that is none")) };
                    region.map(to, block).map_err(failed)?;
                }
            }
            Blocks::Viewed { array, view } => *view = Some(array.view(order).map_err(failed)?),
            Blocks::File { file, fill, .. } => {
                for (to, from) in order.iter().enumerate() {
                    // SAFETY: one of the slots, which nobody borrows.
                    unsafe { map_at(slot(to), block, &*file, (from * block) as u64, *fill) }.map_err(mapping)?;
                }
            }
        }
        let words = order.len() * block / 8;
        let shape = match &self.blocks {
            Blocks::Directory { directory, .. } => Shape::Directory(directory, (block / 8).trailing_zeros()),
            Blocks::Eagre { region, .. } => Shape::Flat(region.as_ptr().as_ptr().cast::<u64>()),
            // No row writes to it.
            Blocks::Viewed { view: Some(view), .. } => Shape::Flat(view.as_ptr().cast_mut()),
            _ => Shape::Flat(base.cast::<u64>()),
        };
        Ok(View { shape, words, memory: PhantomData })
    }
}

/// What a system call that moves pages says.
fn moving(error: io::Error) -> Trouble {
    match Errno::from_io_error(&error) {
        Some(Errno::NOMEM) => mapping(Errno::NOMEM),
        _ => failed(error),
    }
}

/// Maps a block of a file at a slot.
///
/// # Safety
/// The slot is `len` bytes of the caller's own mapping, which nobody borrows.
unsafe fn map_at(slot: *mut u8, len: usize, file: impl AsFd, offset: u64, fill: Fill) -> Result<(), Errno> {
    let flags = match fill {
        Fill::Lazily => MapFlags::SHARED | MapFlags::FIXED,
        Fill::AtOnce => MapFlags::SHARED | MapFlags::FIXED | MapFlags::POPULATE,
    };
    // SAFETY: the caller's promise.
    unsafe { mmap(slot.cast::<c_void>(), len, ProtFlags::READ | ProtFlags::WRITE, flags, file, offset) }.map(drop)
}

/// A file in memory with the known words in it, and a mapping of all of it.
fn file(pages: FilePages, block: usize, len: usize) -> Result<(OwnedFd, Region), Trouble> {
    let mut flags = MemfdFlags::CLOEXEC;
    if pages == FilePages::Hugetlb {
        if block < HUGE {
            return Err(Trouble::Unavailable("blocks smaller than a huge page cannot be mapped".into()));
        }
        flags |= MemfdFlags::HUGETLB;
    }
    let unavailable = |e: Errno| Trouble::Unavailable(format!("memfd: {e}"));
    let file = memfd_create("blocks", flags).map_err(unavailable)?;
    ftruncate(&file, len.next_multiple_of(HUGE) as u64).map_err(unavailable)?;
    let mut whole = Region::map(len.next_multiple_of(HUGE), Pages::Huge).map_err(failed)?;
    // SAFETY: the region's own addresses, which nobody borrows.
    match unsafe { map_at(whole.base(), len.next_multiple_of(HUGE), &file, 0, Fill::Lazily) } {
        // Mapping them sets them aside, so that a touch finds them.
        Err(Errno::NOMEM) if pages == FilePages::Hugetlb => {
            return Err(Trouble::Unavailable("too few reserved huge pages (vm.nr_hugepages)".into()));
        }
        other => other.map_err(failed)?,
    }
    fill(&mut whole.words_mut()[..len / 8], 0);
    if pages == FilePages::Collapsed {
        collapse(&whole, len.next_multiple_of(HUGE))?;
    }
    Ok((file, whole))
}

/// Has the kernel make huge pages of small ones, now.
fn collapse(region: &Region, len: usize) -> Result<(), Trouble> {
    /// Since Linux 6.1; not among the advice of the libraries used here.
    const MADV_COLLAPSE: libc::c_int = 25;
    for at in (0..len).step_by(HUGE) {
        // SAFETY: the region's own mapping; contents do not change.
        if unsafe { libc::madvise(region.base().add(at).cast::<c_void>(), HUGE, MADV_COLLAPSE) } != 0 {
            let why = io::Error::last_os_error();
            return Err(Trouble::Unavailable(format!("MADV_COLLAPSE: {why}")));
        }
    }
    Ok(())
}

/// Wired blocks as one array of words.
pub(super) struct View<'b> {
    shape: Shape<'b>,
    words: usize,
    memory: PhantomData<&'b mut Backing>,
}

#[derive(Clone, Copy)]
enum Shape<'b> {
    /// Contiguous addresses.
    Flat(*mut u64),
    /// The addresses of blocks of two to this power of words.
    Directory(&'b [*const u64], u32),
}

impl View<'_> {
    pub(super) fn len(&self) -> usize {
        self.words
    }

    #[inline]
    fn address(&self, index: usize) -> *mut u64 {
        debug_assert!(index < self.words);
        match self.shape {
            Shape::Flat(base) => base.wrapping_add(index),
            Shape::Directory(directory, shift) => {
                directory[index >> shift].wrapping_add(index & ((1 << shift) - 1)).cast_mut()
            }
        }
    }

    #[inline]
    pub(super) fn word(&self, index: usize) -> u64 {
        assert!(index < self.words);
        // SAFETY: inside the slots, each of which holds a block.
        unsafe { self.address(index).read() }
    }

    #[inline]
    pub(super) fn write(&mut self, index: usize, word: u64) {
        assert!(index < self.words);
        // SAFETY: as above, and borrowed by nobody else.
        unsafe { self.address(index).write(word) };
    }

    /// All of it in pieces that are contiguous.
    pub(super) fn pieces(&self) -> impl Iterator<Item = &[u64]> {
        let piece = match self.shape {
            Shape::Flat(_) => self.words,
            Shape::Directory(_, shift) => 1 << shift,
        };
        // SAFETY: contiguous words of the slots, borrowed with the view.
        (0..self.words).step_by(piece).map(move |at| unsafe { std::slice::from_raw_parts(self.address(at), piece) })
    }
}
