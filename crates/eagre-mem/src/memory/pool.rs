//! The pool: a fixed budget of physical blocks, the only place memory comes from.
//!
//! A pool is one reservation in which each block has a home, and is known by its number. While a stream holds a block its pages
//! are somewhere in the stream's ranges and its home is empty; given back, they are at home again. First touch is expensive (the kernel zeroes, a virtual machine's host may have to find the
//! memory), so blocks are kept for the life of the pool and handed out last in, first out: the one given back last is
//! the one still in the cache.
//!
//! Taking and giving happen in fault handlers. Hence no lock: two stacks of block numbers, linked through one array,
//! whose heads carry a tag against the ABA problem (Treiber, IBM RJ 5118, 1986).
//!
//! *Committing* comes before taking: a stream asks for its whole allowance at its first block and gets all or nothing,
//! so that streams cannot starve one another half way.

use super::homes::Homes;
use crate::heap::{self, Shared};
use crate::mover::{Engine, Mover};
use crate::sys::{Errno, Refusal, facts, map, process};
use crate::units::{BlockSize, Bytes};
use std::fmt;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::*};
use std::sync::{Mutex, PoisonError};

/// A budget of blocks that many streams may share. Cloning it gives another handle to the same pool.
#[derive(Clone)]
pub struct Pool(pub(crate) Shared<Blocks>);

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stats = self.stats();
        f.debug_struct("Pool").field("block", &self.0.block).field("stats", &stats).finish()
    }
}

/// What a pool holds at a moment, in blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolStats {
    /// The most it will ever hold.
    pub budget: u32,
    /// Promised to streams that have begun.
    pub committed: u32,
    /// With streams now.
    pub taken: u32,
    /// Backed by memory, with streams or waiting here.
    pub resident: u32,
}

impl Pool {
    /// What the pool holds now.
    pub fn stats(&self) -> PoolStats {
        let blocks = &self.0;
        PoolStats {
            budget: blocks.budget,
            committed: blocks.committed.load(Relaxed),
            taken: blocks.taken.load(Relaxed),
            resident: blocks.resident.load(Relaxed),
        }
    }

    /// The size of its blocks.
    pub fn block_size(&self) -> BlockSize {
        self.0.block
    }

    /// Gives the memory of all waiting blocks back to the system. They are backed again when next needed. While all blocks of the
    /// pool are promised, their memory stays.
    pub fn trim(&self) {
        while self.0.holding_one(Blocks::trim_one) == Some(true) {}
    }
}

/// The number of a block in its pool.
pub(crate) type BlockId = u32;

/// The insides of a pool.
pub(crate) struct Blocks {
    pub(crate) block: BlockSize,
    budget: u32,
    homes: Homes,
    engine: Engine,
    /// Whose memory it is: a forked child has none of it.
    process: u32,
    links: Vec<AtomicU32>,
    /// Backed, at home, ready.
    waiting: Stack,
    /// At home but without memory.
    empty: Stack,
    /// Blocks from this one on were never used.
    fresh: AtomicU32,
    /// Whether a block may hold bytes of an earlier stream.
    dirty: Vec<AtomicBool>,
    committed: AtomicU32,
    taken: AtomicU32,
    resident: AtomicU32,
    /// Somebody knows the pages: each block keeps those it has.
    fixed: AtomicBool,
}

impl Blocks {
    /// A pool of at most `budget` blocks, fewer if the address space is short.
    pub(crate) fn new(block: BlockSize, budget: u32, engine: Engine) -> Result<Blocks, Refusal> {
        let asked = budget.max(1);
        let mut links = heap::several(asked as usize, || Ok::<_, Refusal>(AtomicU32::new(0)))?;
        let mut dirty = heap::several(asked as usize, || Ok::<_, Refusal>(AtomicBool::new(false)))?;
        let (homes, budget) = Homes::affordable(block, asked, engine)?;
        links.truncate(budget as usize);
        dirty.truncate(budget as usize);
        Ok(Blocks {
            block,
            budget,
            homes,
            engine,
            process: process::id(),
            links,
            waiting: Stack::new(),
            empty: Stack::new(),
            fresh: AtomicU32::new(0),
            dirty,
            committed: AtomicU32::new(0),
            taken: AtomicU32::new(0),
            resident: AtomicU32::new(0),
            fixed: AtomicBool::new(false),
        })
    }

    /// Puts memory behind all blocks. From now on none of them loses it.
    ///
    /// # Errors
    /// The system has none; then the blocks are free to lose theirs, as before.
    pub(super) fn back_all(&self) -> Result<(), Errno> {
        let before = self.fixed.swap(true, SeqCst);
        let backed = loop {
            match self.back_one() {
                Ok(Some(id)) => self.waiting.push(&self.links, id),
                Ok(None) => break Ok(()),
                Err(errno) => break Err(errno),
            }
        };
        backed.inspect_err(|_| self.fixed.store(before, SeqCst))
    }

    /// Whether each block keeps the memory it has.
    pub(super) fn is_fixed(&self) -> bool {
        self.fixed.load(SeqCst)
    }

    /// Whether a stream with this mover can use blocks of this pool: they come home as they went, unless they stay at home.
    pub(crate) fn serves(&self, engine: Engine) -> bool {
        let same = || {
            let descriptor = |engine: Engine| engine.uffd().map(ptr::from_ref);
            self.engine.mover() == engine.mover() && descriptor(self.engine) == descriptor(engine)
        };
        self.is_here() && (matches!(engine, Engine::Copy) || same())
    }

    /// Whether this is the process whose memory it is.
    pub(crate) fn is_here(&self) -> bool {
        self.process == process::id()
    }

    /// How its blocks come home.
    pub(crate) fn engine(&self) -> Engine {
        self.engine
    }

    /// Where a block is at home.
    #[inline]
    pub(crate) fn home(&self, id: BlockId) -> usize {
        self.homes.address(id)
    }

    /// Where blocks are at home, and what is behind that.
    pub(crate) fn homes(&self) -> &Homes {
        &self.homes
    }

    /// The most blocks it will ever hold.
    pub(crate) fn budget(&self) -> u32 {
        self.budget
    }

    /// Sets `count` blocks aside for one stream: all or none.
    pub(crate) fn commit(&self, count: u32) -> bool {
        let within = |committed: u32| committed.checked_add(count).filter(|&sum| sum <= self.budget);
        self.committed.fetch_update(SeqCst, SeqCst, within).is_ok()
    }

    /// What is committed, in words.
    pub(crate) fn promises(&self) -> String {
        let (committed, bytes) = (self.committed.load(Relaxed), u64::from(self.budget) * self.block.bytes() as u64);
        heap::text(format_args!(
            "{committed} of {} blocks of {} are promised ({} in all)",
            self.budget,
            self.block,
            Bytes(bytes)
        ))
    }

    /// Ends a commitment.
    pub(crate) fn uncommit(&self, count: u32) {
        self.committed.fetch_sub(count, SeqCst);
    }

    /// Does something with a block between the two stacks. Meanwhile the block is promised: otherwise a stream would not find the
    /// last one it was promised. `None` if all blocks are promised already.
    fn holding_one<R>(&self, work: impl FnOnce(&Blocks) -> R) -> Option<R> {
        self.commit(1).then(|| {
            let done = work(self);
            self.uncommit(1);
            done
        })
    }

    /// Gives the memory of a waiting block back to the system. False if there is none, or if the system keeps its memory.
    fn trim_one(&self) -> bool {
        if self.is_fixed() {
            return false;
        }
        let Some(id) = self.waiting.pop(&self.links) else { return false };
        // SAFETY: popped, so nobody else has it; nobody needs its contents.
        let discarded = unsafe {
            map::unlock(self.home(id), self.block.bytes());
            self.homes.discard(id)
        };
        if discarded.is_err() {
            // It still has its memory, and in it the bytes of its last owner.
            self.waiting.push(&self.links, id);
            return false;
        }
        self.resident.fetch_sub(1, Relaxed);
        self.empty.push(&self.links, id);
        true
    }

    /// Takes a block that is at home, and tells whether it may hold bytes of an earlier owner.
    pub(super) fn pop(&self) -> Result<(BlockId, bool), Errno> {
        let id = loop {
            let waiting = self.waiting.pop(&self.links);
            if let Some(id) = waiting.map_or_else(|| self.back_one(), |id| Ok(Some(id)))? {
                break id;
            }
            // A block that was promised is in one of the stacks at each moment. So others have moved it to the one looked at first.
            if self.taken.load(Relaxed) >= self.budget {
                return Err(Errno::NOMEM);
            }
        };
        let dirty = self.dirty[id as usize].swap(true, SeqCst);
        self.taken.fetch_add(1, Relaxed);
        Ok((id, dirty))
    }

    /// Backs one more block with memory and lets it wait. False if every block has its memory, or is promised.
    pub(crate) fn back_one_more(&self) -> Result<bool, Errno> {
        let backed = self.holding_one(|blocks| {
            let Some(id) = blocks.back_one()? else { return Ok(false) };
            blocks.waiting.push(&blocks.links, id);
            Ok(true)
        });
        backed.unwrap_or(Ok(false))
    }

    /// Backs a block that has no memory. `None` if there is none.
    fn back_one(&self) -> Result<Option<BlockId>, Errno> {
        let never_used = || {
            let below = |fresh: u32| (fresh < self.budget).then_some(fresh + 1);
            self.fresh.fetch_update(SeqCst, SeqCst, below).ok()
        };
        let Some(id) = self.empty.pop(&self.links).or_else(never_used) else { return Ok(None) };
        // SAFETY: the block is ours alone: popped, or never used by anyone.
        if let Err(error) = unsafe { self.homes.back(id) } {
            self.empty.push(&self.links, id);
            return Err(error);
        }
        self.dirty[id as usize].store(false, SeqCst);
        self.resident.fetch_add(1, Relaxed);
        Ok(Some(id))
    }

    /// Takes back a block that is at home.
    pub(super) fn push(&self, id: BlockId) {
        self.waiting.push(&self.links, id);
        self.taken.fetch_sub(1, Relaxed);
    }

    /// Takes back a block without memory.
    pub(super) fn push_empty(&self, id: BlockId) {
        self.resident.fetch_sub(1, Relaxed);
        self.empty.push(&self.links, id);
        self.taken.fetch_sub(1, Relaxed);
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        if !self.is_here() {
            return;
        }
        // SAFETY: streams hold the pool as long as they hold a block of it; nobody is left.
        unsafe { self.homes.unmap() };
    }
}

/// A stack of block numbers without locks.
struct Stack(AtomicU64);

impl Stack {
    const fn new() -> Stack {
        Stack(AtomicU64::new(0))
    }

    fn push(&self, links: &[AtomicU32], id: BlockId) {
        let mut head = self.0.load(Acquire);
        loop {
            links[id as usize].store(head as u32, Relaxed);
            let next = Self::tagged(head, id + 1);
            match self.0.compare_exchange_weak(head, next, AcqRel, Acquire) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    fn pop(&self, links: &[AtomicU32]) -> Option<BlockId> {
        let mut head = self.0.load(Acquire);
        loop {
            let id = (head as u32).checked_sub(1)?;
            let next = Self::tagged(head, links[id as usize].load(Relaxed));
            match self.0.compare_exchange_weak(head, next, AcqRel, Acquire) {
                Ok(_) => return Some(id),
                Err(now) => head = now,
            }
        }
    }

    /// The next head: a new tag above, the number plus one (0 for none) below.
    fn tagged(head: u64, link: u32) -> u64 {
        ((head >> 32).wrapping_add(1) << 32) | u64::from(link)
    }
}

/// What pools are shared by: the size of blocks, the mover, the descriptor and the process.
type Key = (BlockSize, Mover, usize, u32);
static POOLS: Mutex<Vec<(Key, Shared<Blocks>)>> = Mutex::new(Vec::new());

/// Whether it is a pool that streams share.
pub(super) fn is_shared(pool: &Shared<Blocks>) -> bool {
    POOLS.lock().unwrap_or_else(PoisonError::into_inner).iter().any(|(_, other)| Shared::is_same(pool, other))
}

/// The pool that streams share unless they are given their own: one for each descriptor and block size, kept for the
/// life of the process. Its budget is half of the memory this process may use, or `EAGRE_POOL` bytes.
pub(crate) fn shared(block: BlockSize, engine: Engine) -> Result<Shared<Blocks>, Refusal> {
    let descriptor = engine.uffd().map_or(0, |uffd| ptr::from_ref(uffd).addr());
    let key = (block, engine.mover(), descriptor, process::id());
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, pool)) = pools.iter().find(|(known, _)| *known == key) {
        return Ok(pool.clone());
    }
    let budget = shared_budget(block);
    let pool = Shared::new(Blocks::new(block, budget, engine)?)?;
    heap::push(&mut pools, (key, pool.clone()))?;
    Ok(pool)
}

/// How many blocks a shared pool may hold at most.
pub(crate) fn shared_budget(block: BlockSize) -> u32 {
    (budget_bytes() / block.bytes() as u64).clamp(1, 1 << 20) as u32
}

fn budget_bytes() -> u64 {
    crate::options::pool_bytes().unwrap_or_else(|| (facts::memory() / 2).min(affordable_addresses()))
}

/// Where addresses are short, streams need most of them.
fn affordable_addresses() -> u64 {
    facts::address_space().map_or(u64::MAX, |limit| limit / 8)
}

impl Blocks {
    /// Whether this is a shared pool, and short addresses (`ulimit -v`) made it as small as it is.
    pub(crate) fn is_short_of_addresses(&self) -> bool {
        let free = crate::options::pool_bytes().is_none() && affordable_addresses() < facts::memory() / 2;
        free && self.budget <= shared_budget(self.block)
    }
}

/// What makes a shared pool of `budget` blocks larger: whatever it was that made it small.
pub(crate) fn cure(block: BlockSize, budget: u32) -> &'static str {
    match crate::options::pool_bytes() {
        // The addresses of a larger one were refused.
        _ if budget < shared_budget(block) => facts::address_cure(),
        Some(_) => "raise EAGRE_POOL",
        None if affordable_addresses() < facts::memory() / 2 => facts::address_cure(),
        None => "raise EAGRE_POOL or the control group's limit",
    }
}

impl fmt::Display for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Blocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (budget, taken) = (self.budget, self.taken.load(Relaxed));
        let bytes = Bytes(u64::from(budget) * self.block.bytes() as u64);
        write!(f, "{taken} of {budget} blocks of {} taken ({bytes} in all)", self.block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::slot::Contents;

    #[test]
    fn blocks_come_back_last_in_first_out_and_zeroed() {
        let pool = Blocks::new(BlockSize::MIN, 4, Engine::Copy).unwrap();
        let take = || pool.take(Contents::Zeros).unwrap();
        let (first, second) = (take(), take());
        let bytes = |id: BlockId| {
            // SAFETY: the block is taken and nobody else uses it.
            unsafe {
                std::slice::from_raw_parts_mut(
                    ptr::with_exposed_provenance_mut::<u8>(pool.home(id)),
                    pool.block.bytes(),
                )
            }
        };
        bytes(first).fill(7);
        bytes(second).fill(9);
        pool.give(second);
        pool.give(first);
        let again = take();
        assert_eq!(again, first);
        assert!(bytes(again).iter().all(|&byte| byte == 0));
    }

    #[test]
    fn a_budget_is_a_budget() {
        let pool = Blocks::new(BlockSize::MIN, 3, Engine::Copy).unwrap();
        assert!(pool.commit(2) && !pool.commit(2) && pool.commit(1));
        pool.uncommit(2);
        assert!(pool.commit(2));
        let take = || pool.take_committed(Contents::Zeros);
        let all: Vec<_> = (0..3).map(|_| take().unwrap()).collect();
        assert!(take().is_err());
        pool.push_empty(all[1]);
        assert_eq!(take().unwrap(), all[1]);
    }

    /// Whatever is trimmed and populated meanwhile, and however full the pool is.
    #[test]
    fn a_promised_block_is_there() {
        for budget in [2, 3] {
            let pool = Pool(Shared::new(Blocks::new(BlockSize::MIN, budget, Engine::Copy).unwrap()).unwrap());
            assert!(pool.0.commit(2));
            let running = AtomicU32::new(2);
            std::thread::scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(|| {
                        let refused = (0..if cfg!(miri) { 20 } else { 50_000 }).find_map(|_| {
                            let taken = pool.0.take_committed(Contents::Leftovers);
                            taken.map(|id| pool.0.push(id)).err()
                        });
                        running.fetch_sub(1, SeqCst);
                        assert_eq!(refused, None, "{budget} blocks");
                    });
                }
                while running.load(SeqCst) != 0 {
                    pool.trim();
                    pool.populate(budget).unwrap();
                }
            });
            pool.0.uncommit(2);
            assert_eq!((pool.stats().taken, pool.stats().committed), (0, 0));
        }
    }

    #[test]
    fn many_threads_never_share_a_block() {
        let pool = Blocks::new(BlockSize::MIN, 6, Engine::Copy).unwrap();
        let held: Vec<AtomicBool> = (0..6).map(|_| AtomicBool::new(false)).collect();
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..if cfg!(miri) { 20 } else { 2000 } {
                        let a = pool.take(Contents::Zeros).unwrap();
                        let b = pool.take(Contents::Zeros).unwrap();
                        for id in [a, b] {
                            assert!(!held[id as usize].swap(true, SeqCst));
                        }
                        for id in [b, a] {
                            held[id as usize].store(false, SeqCst);
                            pool.give(id);
                        }
                    }
                });
            }
        });
    }
}
