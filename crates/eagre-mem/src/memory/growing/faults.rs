//! What happens when a growing buffer is touched. Code here runs in signal handlers and in the pager, by the rules at
//! the top of `crate::trap`.

use crate::heap::Shared;
use crate::memory::error::{RewireError, RewireErrorKind};
use crate::memory::pool::Blocks;
use crate::memory::reservation::Reservation;
use crate::memory::slot::{Contents, Shortage, Slot};
use crate::mover::{Engine, Prepare};
use crate::sys::report::Line;
use crate::sys::{Errno, Refusal};
use crate::trap::claim::Claim;
use crate::trap::{Answer, Context, End, Resolve};
use crate::units::{BlockSize, Bytes};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::*};

/// The addresses of a buffer and the blocks behind them.
pub(in crate::memory) struct Backing {
    range: Reservation,
    /// Blocks it may hold.
    slots: usize,
    /// For each slot one more than the number of its block, or 0.
    table: Box<[AtomicU32]>,
    held: AtomicU32,
    pool: Shared<Blocks>,
    context: Context,
    prepare: Prepare,
    /// What one more block may cost in mappings.
    mappings: u64,
    claim: Claim,
    /// The first failure, as [`Shortage::word`]. 0 while all is well.
    failure: AtomicU64,
    /// The chunks that got throw-away pages last, one past their numbers.
    drained: [AtomicU64; 2],
    /// A touch in front of the buffer has been reported.
    reported: AtomicBool,
}

impl Backing {
    pub(super) fn new(pool: Shared<Blocks>, context: Context, limit: u64) -> Result<Backing, Refusal> {
        let block = pool.block;
        let slots = limit.max(1).div_ceil(block.bytes() as u64) as usize;
        // As many addresses again for code that runs on after a failure.
        let range = Reservation::guarded(2 * slots * block.bytes(), block)?;
        let prepared = Self::prepare(&range, context, block);
        if prepared.is_err() {
            // SAFETY: just made, and nobody has seen it.
            unsafe { range.unmap() };
        }
        let prepare = prepared?;
        let alone = matches!(context, Context::Signal(None)) || prepare == Prepare::Open;
        Ok(Backing {
            range,
            slots,
            table: (0..slots).map(|_| AtomicU32::new(0)).collect(),
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

    /// Registers and opens the range as its trap wants it (see the table of [`Prepare`]).
    pub(in crate::memory) fn prepare(
        range: &Reservation,
        context: Context,
        block: BlockSize,
    ) -> Result<Prepare, Refusal> {
        let Some(uffd) = context.uffd() else { return Ok(Prepare::Nothing) };
        // SAFETY: our own range.
        unsafe { uffd.register(range.start(), range.len())? };
        match context {
            Context::Signal(_) if block.is_huge() || !range.open_all() => Ok(Prepare::Open),
            Context::Signal(_) => Ok(Prepare::Nothing),
            // The pager hears of open addresses only.
            _ if !range.open_all() => Err(Refusal { call: "mprotect", errno: Errno::NOMEM }),
            _ if block.is_huge() => Ok(Prepare::DropTables),
            _ => Ok(Prepare::Nothing),
        }
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

    fn engine(&self) -> Engine {
        self.pool.engine()
    }

    fn address(&self, index: usize) -> usize {
        self.range.start() + index * self.block().bytes()
    }

    fn slot_at(&self, index: usize) -> Slot {
        let (address, engine) = (self.address(index), self.engine());
        Slot { address, engine, prepare: self.prepare, mappings: self.mappings }
    }

    /// Puts a zeroed block into a slot that has none.
    fn bring(&self, index: usize) -> Result<(), Shortage> {
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

    /// Resolves the touch of an address: a block, or, once that has failed, throw-away pages.
    fn resolve(&self, address: usize) -> Answer {
        let Some(offset) = address.checked_sub(self.range.start()) else {
            self.report_before(address);
            return Answer::Fatal;
        };
        let index = self.block().block_of(offset as u64) as usize;
        if self.failure.load(SeqCst) == 0 {
            match self.bring(index) {
                Ok(()) => return Answer::Resolved,
                Err(shortage) => {
                    let _ = self.failure.compare_exchange(0, shortage.word(), SeqCst, SeqCst);
                }
            }
        }
        if self.drain(index).is_ok() { Answer::Resolved } else { Answer::Fatal }
    }

    /// Says once that the buffer was touched in front of its first byte.
    fn report_before(&self, address: usize) {
        if !self.reported.swap(true, SeqCst) {
            Line::new()
                .text("eagre: growing buffer: touched ")
                .number((self.range.start() - address) as u64)
                .text(" bytes before byte 0; it has nothing in front of it: look for a negative index")
                .send();
        }
    }

    /// Puts throw-away pages into a slot; the last two such slots keep theirs, an instruction may need both.
    fn drain(&self, index: usize) -> Result<(), Errno> {
        let _one_at_a_time = self.claim.take();
        if self.holds(index) {
            return Ok(());
        }
        let len = self.block().bytes();
        // SAFETY: a slot of our own range without a block.
        unsafe { self.engine().put_zeros(self.address(index), len, self.prepare)? };
        let [last, before] = &self.drained;
        let this = index as u64 + 1;
        let previous = last.load(SeqCst);
        if previous != this {
            let oldest = before.swap(previous, SeqCst);
            last.store(this, SeqCst);
            if oldest != this {
                self.drop_zeros(oldest);
            }
        }
        Ok(())
    }

    fn holds(&self, index: usize) -> bool {
        self.table.get(index).is_some_and(|entry| entry.load(SeqCst) != 0)
    }

    fn drop_zeros(&self, chunk: u64) {
        let Some(index) = chunk.checked_sub(1) else { return };
        // SAFETY: throw-away pages are in a slot without a block; a touch of it drains it anew.
        let _ = unsafe { self.engine().drop_zeros(self.address(index as usize), self.block().bytes()) };
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

// SAFETY: `resolve` reaches the claim (a futex), the pool's stacks and memory system calls: nothing that allocates, or
// that user code may hold.
unsafe impl Resolve for Backing {
    fn touch(&self, _end: End, address: usize) -> Answer {
        // Beside the pager, a signal means what it does elsewhere, but for the guard in front, which it does not watch.
        if !matches!(self.context, Context::Signal(_)) && address >= self.range.start() {
            return Answer::Fatal;
        }
        self.resolve(address)
    }

    fn touch_from_pager(&self, _end: End, address: usize) -> Answer {
        let answer = self.resolve(address);
        // SAFETY: a page of our own range, which is registered.
        unsafe { self.context.wake(address, answer) };
        answer
    }
}
