//! The addresses of a growing buffer and the blocks behind them.

use crate::heap::{self, Refused, Shared};
use crate::memory::error::{RewireError, RewireErrorKind};
use crate::memory::pool::Blocks;
use crate::memory::reservation::Reservation;
use crate::memory::slot::{Contents, Shortage, Slot};
use crate::memory::watched_range;
use crate::mover::{Engine, Prepare};
use crate::sys::Refusal;
use crate::trap::Context;
use crate::trap::claim::Claim;
use crate::units::{BlockSize, Bytes};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::*};

/// The addresses of a buffer and the blocks behind them.
pub(super) struct Backing {
    pub(super) range: Reservation,
    /// Blocks it may hold.
    slots: usize,
    /// For each slot one more than the number of its block, or 0.
    table: Vec<AtomicU32>,
    held: AtomicU32,
    pool: Shared<Blocks>,
    pub(super) context: Context,
    pub(super) prepare: Prepare,
    /// What one more block may cost in mappings.
    mappings: u64,
    pub(super) claim: Claim,
    /// The first failure, as [`Shortage::word`]. 0 while all is well.
    pub(super) failure: AtomicU64,
    /// The chunks that got throw-away pages last, one past their numbers.
    pub(super) drained: [AtomicU64; 2],
    /// A touch in front of the buffer has been reported.
    pub(super) reported: AtomicBool,
}

impl Backing {
    /// The table of a buffer of at most `limit` bytes.
    pub(super) fn table(block: BlockSize, limit: u64) -> Result<Vec<AtomicU32>, Refused> {
        heap::several(limit.max(1).div_ceil(block.bytes() as u64) as usize, || Ok(AtomicU32::new(0)))
    }

    pub(super) fn new(pool: Shared<Blocks>, context: Context, table: Vec<AtomicU32>) -> Result<Backing, Refusal> {
        let (block, slots) = (pool.block, table.len());
        // As many addresses again for code that runs on after a failure.
        let (range, prepare) = watched_range::reserve(2 * slots * block.bytes(), context, block)?;
        let alone = matches!(context, Context::Signal(None)) || prepare == Prepare::Open;
        Ok(Backing {
            range,
            slots,
            table,
            held: AtomicU32::new(0),
            pool,
            context,
            prepare,
            mappings: if alone { 2 } else { 0 },
            claim: Claim::default(),
            failure: AtomicU64::new(0),
            drained: [const { AtomicU64::new(0) }; 2],
            reported: AtomicBool::new(false),
        })
    }

    pub(super) fn addresses(&self) -> Range<usize> {
        self.range.addresses()
    }

    pub(super) fn start(&self) -> usize {
        self.range.start()
    }

    pub(super) fn block(&self) -> BlockSize {
        self.pool.block
    }

    pub(super) fn limit(&self) -> u64 {
        self.slots as u64 * self.block().bytes() as u64
    }

    pub(super) fn held(&self) -> u64 {
        u64::from(self.held.load(SeqCst)) * self.block().bytes() as u64
    }

    pub(super) fn is_here(&self) -> bool {
        self.pool.is_here()
    }

    pub(super) fn engine(&self) -> Engine {
        self.pool.engine()
    }

    pub(super) fn address(&self, index: usize) -> usize {
        self.range.start() + index * self.block().bytes()
    }

    fn slot_at(&self, index: usize) -> Slot {
        let (address, engine) = (self.address(index), self.engine());
        Slot { address, engine, prepare: self.prepare, mappings: self.mappings }
    }

    /// Puts a zeroed block into a slot that has none.
    pub(super) fn bring(&self, index: usize) -> Result<(), Shortage> {
        let _one_at_a_time = self.claim.take();
        let Some(entry) = self.table.get(index) else { return Err(Shortage::of(RewireErrorKind::Full)) };
        if entry.load(SeqCst) != 0 {
            return Ok(());
        }
        // SAFETY: the slot is ours and empty, and the claim keeps others out.
        let id = unsafe { self.pool.take_into(self.slot_at(index), Contents::Zeros) }?;
        entry.store(id + 1, SeqCst);
        self.held.fetch_add(1, SeqCst);
        Ok(())
    }

    /// Brings all blocks of the first `len` bytes.
    pub(super) fn bring_all(&self, len: u64) -> Result<(), RewireError> {
        if len > self.limit() {
            return Err(self.error(Shortage::of(RewireErrorKind::Full)));
        }
        for index in 0..len.div_ceil(self.block().bytes() as u64) as usize {
            self.bring(index).map_err(|shortage| self.error(shortage))?;
        }
        Ok(())
    }

    /// The first failure, if there was one.
    pub(super) fn check(&self) -> Result<(), RewireError> {
        self.pool.check_here()?;
        Shortage::from_word(self.failure.load(SeqCst)).map_or(Ok(()), |shortage| Err(self.error(shortage)))
    }

    fn error(&self, shortage: Shortage) -> RewireError {
        match shortage.kind {
            RewireErrorKind::Full => {
                RewireError::new(shortage.kind, format_args!("{} bytes ({})", self.limit(), Bytes(self.limit())))
            }
            _ => self.pool.error(shortage),
        }
    }

    /// Whether a block is in a slot.
    pub(super) fn holds(&self, index: usize) -> bool {
        self.table.get(index).is_some_and(|entry| entry.load(SeqCst) != 0)
    }

    /// Gives back all blocks and throw-away pages, and forgets the failure.
    pub(super) fn clear(&self) {
        if !self.is_here() {
            return;
        }
        let _one_at_a_time = self.claim.take();
        for chunk in &self.drained {
            self.drop_zeros(chunk.swap(0, SeqCst));
        }
        for (index, entry) in self.table.iter().enumerate().rev() {
            let Some(id) = entry.swap(0, SeqCst).checked_sub(1) else { continue };
            // SAFETY: the block is ours, and nobody needs its contents: the buffer is not borrowed.
            unsafe { self.pool.give_back(id, self.slot_at(index)) };
            self.held.fetch_sub(1, SeqCst);
        }
        self.failure.store(0, SeqCst);
    }

    /// Gives the addresses back.
    ///
    /// # Safety
    /// Nothing refers to them, and this is the last call.
    pub(super) unsafe fn unmap(&self) {
        // SAFETY: the caller's contract.
        unsafe { self.range.unmap() };
    }
}
