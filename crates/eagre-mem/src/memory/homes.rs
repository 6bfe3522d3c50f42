//! Homes: the addresses at which a pool has its blocks, and the memory behind them.
//!
//! Memory is of one of two kinds. *Anonymous* memory has one address: what moves a block away from home leaves its home empty.
//! Memory *with a descriptor* may have any number of addresses: a block stays at home for good, and is mapped where it is needed
//! besides ([`Homes::map`]). That is for streams with the mover `map`.
//!
//! Either way a block has memory from its first use on, until it is [discarded](Homes::discard).

use super::pool::BlockId;
use super::reservation;
use crate::heap;
use crate::mover::Engine;
use crate::sys::shared::{self, Access};
use crate::sys::uffd::Uffd;
use crate::sys::{Errno, Refusal, map};
use crate::units::BlockSize;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU8, Ordering::*};

/// The homes of a pool.
pub(crate) struct Homes {
    block: BlockSize,
    start: usize,
    count: u32,
    memory: Memory,
}

/// What is behind homes.
enum Memory {
    /// Registered with the descriptor, if there is one.
    Anonymous(Option<&'static Uffd>),
    /// With a descriptor; of each block, one of the states below.
    Shared { fd: OwnedFd, pages: Vec<AtomicU8> },
}

/// Small pages, as far as is known.
const SMALL: u8 = 0;
/// Huge pages.
const HUGE: u8 = 1;
/// Small pages, since the kernel had no huge ones.
const SMALL_FOR_GOOD: u8 = 2;

impl Homes {
    /// The homes of at most `asked` blocks, and of how many. Where the system gives fewer addresses, the pool takes half of what it
    /// could have: the streams need addresses too.
    ///
    /// # Errors
    /// The call that was refused.
    pub(super) fn affordable(block: BlockSize, asked: u32, engine: Engine) -> Result<(Homes, u32), Refusal> {
        let mut fitting = asked;
        let homes = loop {
            match Homes::new(block, fitting, engine) {
                Ok(homes) => break homes,
                Err(refusal) if fitting == 1 || !refusal.is_shortage() => return Err(refusal),
                Err(_) => fitting /= 2,
            }
        };
        if fitting == asked || fitting == 1 {
            return Ok((homes, fitting));
        }
        // SAFETY: made a moment ago, and nobody has seen it.
        unsafe { homes.unmap() };
        Homes::new(block, fitting / 2, engine).map(|homes| (homes, fitting / 2))
    }

    fn new(block: BlockSize, count: u32, engine: Engine) -> Result<Homes, Refusal> {
        let too_many = Refusal { call: "mmap", errno: Errno::NOMEM };
        let len = block.bytes().checked_mul(count as usize).ok_or(too_many)?;
        let memory = match engine.maps() {
            true => {
                let pages = heap::several(count as usize, || Ok::<_, Refusal>(AtomicU8::new(SMALL)))?;
                let fd = shared::create_sparse()?;
                shared::grow(&fd, len)?;
                Memory::Shared { fd, pages }
            }
            false => Memory::Anonymous(engine.uffd()),
        };
        // Small blocks may lie in huge pages together.
        let together = matches!(memory, Memory::Shared { .. }) && len >= BlockSize::DEFAULT.bytes();
        let align = if together { block.bytes().max(BlockSize::DEFAULT.bytes()) } else { block.bytes() };
        let homes = Homes { block, start: reservation::reserve(len, align)?, count, memory };
        homes.prepare(len).inspect_err(|_| {
            // SAFETY: made a moment ago, and nobody has seen it.
            unsafe { homes.unmap() }
        })?;
        Ok(homes)
    }

    /// Registers or maps all homes. Each opens when its block is first backed, so that a system that counts every open byte as
    /// memory (overcommit 2) counts those in use only, and a process that locks all it has (`mlockall`) gets no more: two
    /// mappings, whatever the budget.
    fn prepare(&self, len: usize) -> Result<(), Refusal> {
        // SAFETY: a range of our own, made a moment ago.
        unsafe {
            if let Memory::Shared { fd, .. } = &self.memory {
                shared::map(fd, 0, self.start, len, Access::Closed).map_err(Refusal::of("mmap"))?;
                map::unlock(self.start, len);
            }
            if self.block.is_huge() {
                map::want_huge(self.start, len);
            }
            match self.memory {
                Memory::Anonymous(Some(uffd)) => uffd.register(self.start, len),
                _ => Ok(()),
            }
        }
    }

    /// Where a block is at home.
    #[inline]
    pub(super) fn address(&self, id: BlockId) -> usize {
        self.start + self.offset(id)
    }

    #[inline]
    fn offset(&self, id: BlockId) -> usize {
        id as usize * self.block.bytes()
    }

    /// Puts memory of zeros behind the home of a block that has none.
    ///
    /// # Errors
    /// The system has none. Then the home is as empty as before.
    ///
    /// # Safety
    /// The block is the caller's.
    pub(super) unsafe fn back(&self, id: BlockId) -> Result<(), Errno> {
        let (home, len) = (self.address(id), self.block.bytes());
        match &self.memory {
            // SAFETY: the caller owns the block.
            Memory::Anonymous(None) => unsafe { map::open(home, len).and_then(|()| map::populate(home, len)) },
            // SAFETY: as above.
            Memory::Anonymous(Some(uffd)) => unsafe { self.back_registered(home, uffd) },
            Memory::Shared { fd, pages } => {
                let offset = self.offset(id);
                pages[id as usize].store(SMALL, Relaxed);
                // SAFETY: as above.
                unsafe {
                    shared::set_access(home, len, Access::ReadWrite)?;
                    // Through the mapping, which may give huge pages at once. What that could not do, the second call does, or says
                    // why.
                    let _ = map::populate(home, len);
                }
                let backed = shared::add_room(fd, offset..offset + len).map_err(|refusal| refusal.errno);
                backed.inspect_err(|_| {
                    let _ = shared::punch(fd, offset, len);
                })
            }
        }
    }

    /// A registered range takes no memory by itself: fills a mapping beside it and moves that in.
    ///
    /// # Safety
    /// As for [`Homes::back`].
    unsafe fn back_registered(&self, home: usize, uffd: &Uffd) -> Result<(), Errno> {
        let len = self.block.bytes();
        // SAFETY: the caller owns the block.
        unsafe { map::open(home, len)? };
        let beside = map::reserve(len, len)?;
        // SAFETY: a range of our own, and an empty home of a block of the caller's.
        unsafe {
            let filled = map::open(beside, len).and_then(|()| {
                if self.block.is_huge() {
                    map::want_huge(beside, len);
                }
                map::populate(beside, len)?;
                // If only a part of it came and cannot go back: home must be empty after an error.
                uffd.move_pages(beside, home, len, uffd).inspect_err(|_| {
                    let _ = map::discard(home, len);
                })
            });
            let _ = map::unmap(beside, len, len);
            filled
        }
    }

    /// Gives the memory of a block that is at home back to the system.
    ///
    /// # Errors
    /// The system keeps it, or some of it, and what it holds.
    ///
    /// # Safety
    /// The block is the caller's, and nobody needs its contents.
    pub(super) unsafe fn discard(&self, id: BlockId) -> Result<(), Errno> {
        match &self.memory {
            // SAFETY: the caller's contract.
            Memory::Anonymous(_) => unsafe { map::discard(self.address(id), self.block.bytes()) },
            Memory::Shared { fd, .. } => shared::punch(fd, self.offset(id), self.block.bytes()),
        }
    }

    /// Maps `count` blocks at other addresses besides, closed. Safe in handlers.
    ///
    /// # Errors
    /// `ENOMEM` where there are no mappings left. `ENOSYS` for anonymous memory.
    ///
    /// # Safety
    /// The range belongs to the caller, who gives up its contents.
    pub(crate) unsafe fn map(&self, id: BlockId, count: usize, address: usize) -> Result<(), Errno> {
        let Memory::Shared { fd, .. } = &self.memory else { return Err(Errno::NOSYS) };
        let len = count * self.block.bytes();
        // SAFETY: the caller's contract.
        unsafe { shared::map_piece(fd, self.offset(id), address, len, Access::Closed) }
    }

    /// Makes a block of huge pages, if it is not yet, and the kernel can. It takes some milliseconds, once; contents stay.
    /// Safe in handlers.
    #[inline]
    pub(crate) fn make_huge(&self, id: BlockId) {
        let Memory::Shared { pages, .. } = &self.memory else { return };
        let pages = &pages[id as usize];
        if self.block.is_huge() && pages.load(Relaxed) == SMALL {
            // SAFETY: a home of ours.
            let collapsed = unsafe { shared::collapse(self.address(id), self.block.bytes()) };
            pages.store(if collapsed.is_ok() { HUGE } else { SMALL_FOR_GOOD }, Relaxed);
        }
    }

    /// Makes all homes of huge pages, as far as the kernel can: all of them have memory.
    pub(super) fn make_all_huge(&self) {
        match self.block.is_huge() {
            true => (0..self.count).for_each(|id| self.make_huge(id)),
            false => {
                let huge = BlockSize::DEFAULT.bytes();
                let whole = self.count as usize * self.block.bytes() / huge * huge;
                for at in (0..whole).step_by(huge) {
                    // What it cannot do is left as it is.
                    // SAFETY: homes of ours.
                    let _ = unsafe { shared::collapse(self.start + at, huge) };
                }
            }
        }
    }

    /// Whether a block is known to be of huge pages.
    #[inline]
    pub(crate) fn is_huge(&self, id: BlockId) -> bool {
        matches!(&self.memory, Memory::Shared { pages, .. } if pages[id as usize].load(Relaxed) == HUGE)
    }

    /// Gives the addresses back, and the memory.
    ///
    /// # Safety
    /// No block is in use, and this is the last call.
    pub(super) unsafe fn unmap(&self) {
        // SAFETY: the caller's contract.
        let _ = unsafe { map::unmap(self.start, self.count as usize * self.block.bytes(), self.block.bytes()) };
    }
}
