//! Vectors that nobody knows the length of: word after word is appended, one call each.
//!
//! Every run starts with an empty vector and ends with a full one; making the memory that is *there beforehand* (the
//! plain buffer, the blocks of the chain, the pool) is not timed, growing is. Memory is given up after each run, so that
//! large cases fit whatever the number of contenders.

use std::ffi::c_void;
use std::io;
use std::time::{Duration, Instant};

use eagre::{BlockSize, Pool, RewiredVec};
use rustix::mm::{Advice, MapFlags, MremapFlags, ProtFlags, madvise, mmap_anonymous, mremap, munmap};

use crate::contenders::{Contender, Measured, Trouble};
use crate::kernels::{Tally, word};
use crate::memory::{Pages, Region};

/// What it grows on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Growth {
    /// Memory for all of it, there beforehand: does not grow.
    Plain,
    /// Rewired blocks of a pool, there beforehand; a `push` a word.
    Rewired,
    /// The same through `Extend`.
    RewiredExtend,
    /// Rewired blocks that the system must make first.
    RewiredFresh,
    /// `Vec`, a `push` a word.
    Vec,
    /// `Vec` with room for all of it, not touched yet.
    VecReserved,
    /// A mapping that doubles with `mremap`, huge pages asked for.
    Mremap,
    /// A list of 2 MiB blocks, there beforehand.
    Chain,
}

/// Fills one of them.
pub(crate) struct Grow(pub(crate) Growth);

const BLOCK: usize = 2 << 20;

impl Contender for Grow {
    fn run(&mut self, size: u64) -> Result<Measured, Trouble> {
        let words = size / 8;
        let mut tally = Tally::default();
        let took = match self.0 {
            Growth::Plain => {
                let mut region = Region::touched(size as usize, Pages::Huge).map_err(memory)?;
                let took = timed(|| {
                    for (at, slot) in region.words_mut()[..words as usize].iter_mut().enumerate() {
                        *slot = word(at as u64);
                    }
                });
                tally.add(&region.words()[..words as usize]);
                took
            }
            Growth::Rewired | Growth::RewiredExtend | Growth::RewiredFresh => {
                let blocks = (size as usize).div_ceil(BLOCK) as u32;
                let pool = Pool::new(BlockSize::DEFAULT, blocks, None, None).map_err(memory)?;
                if self.0 != Growth::RewiredFresh {
                    pool.populate(blocks).map_err(memory)?;
                }
                let mut vector = RewiredVec::in_pool(&pool).map_err(memory)?;
                let took = timed(|| match self.0 {
                    Growth::RewiredExtend => vector.extend((0..words).map(word)),
                    _ => (0..words).for_each(|at| vector.push(word(at))),
                });
                tally.add(&vector);
                took
            }
            Growth::Vec | Growth::VecReserved => {
                let mut vector = match self.0 {
                    Growth::VecReserved => Vec::with_capacity(words as usize),
                    _ => Vec::new(),
                };
                let took = timed(|| (0..words).for_each(|at| vector.push(word(at))));
                tally.add(&vector);
                took
            }
            Growth::Mremap => {
                let mut vector = Doubling::new().map_err(memory)?;
                let mut grown = Ok(());
                let took = timed(|| grown = (0..words).try_for_each(|at| vector.push(word(at))));
                grown.map_err(memory)?;
                tally.add(vector.words());
                took
            }
            Growth::Chain => {
                let region = Region::touched(size as usize, Pages::Huge).map_err(memory)?;
                let mut chain = Chain::new(region);
                let took = timed(|| (0..words).for_each(|at| chain.push(word(at))));
                chain.pieces().for_each(|piece| tally.add(piece));
                took
            }
        };
        Ok(Measured::alone(took, size, tally.answer()?, words))
    }
}

fn memory(why: impl std::fmt::Display) -> Trouble {
    Trouble::failed("memory", why)
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// A vector of words on one mapping that doubles in place or elsewhere.
struct Doubling {
    start: *mut u64,
    len: usize,
    capacity: usize,
}

impl Doubling {
    fn new() -> io::Result<Doubling> {
        let (prot, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE | MapFlags::NORESERVE);
        // SAFETY: a new mapping at an address of the kernel's choice.
        let start = unsafe { mmap_anonymous(std::ptr::null_mut(), BLOCK, prot, flags)? }.cast::<u64>();
        // SAFETY: its own mapping.
        let _ = unsafe { madvise(start.cast::<c_void>(), BLOCK, Advice::LinuxHugepage) };
        Ok(Doubling { start, len: 0, capacity: BLOCK / 8 })
    }

    #[inline]
    fn push(&mut self, word: u64) -> io::Result<()> {
        if self.len == self.capacity {
            self.double()?;
        }
        // SAFETY: within the mapping.
        unsafe { self.start.add(self.len).write(word) };
        self.len += 1;
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn double(&mut self) -> io::Result<()> {
        let (old, new) = (self.capacity * 8, self.capacity * 16);
        // SAFETY: the whole mapping is this vector's, and nothing borrows it.
        self.start = unsafe { mremap(self.start.cast::<c_void>(), old, new, MremapFlags::MAYMOVE)? }.cast::<u64>();
        self.capacity *= 2;
        Ok(())
    }

    fn words(&self) -> &[u64] {
        // SAFETY: the words written so far.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}

impl Drop for Doubling {
    fn drop(&mut self) {
        // SAFETY: its own mapping, borrowed by nobody.
        let _ = unsafe { munmap(self.start.cast::<c_void>(), self.capacity * 8) };
    }
}

/// A list of blocks: what one writes who must not copy and has no rewiring. Its words are not contiguous.
struct Chain {
    region: Region,
    /// The blocks in use, by number; taken in the order in which a free list that has been used a while gives them.
    blocks: Vec<usize>,
    free: Vec<usize>,
    end: *mut u64,
    room: usize,
}

impl Chain {
    fn new(region: Region) -> Chain {
        let count = region.len() / BLOCK;
        Chain { region, blocks: Vec::new(), free: (0..count).rev().collect(), end: std::ptr::null_mut(), room: 0 }
    }

    #[inline]
    fn push(&mut self, word: u64) {
        if self.room == 0 {
            self.next_block();
        }
        // SAFETY: there is room in the last block.
        unsafe {
            self.end.write(word);
            self.end = self.end.add(1);
        }
        self.room -= 1;
    }

    #[cold]
    #[inline(never)]
    fn next_block(&mut self) {
        let Some(block) = self.free.pop() else { panic!("the region holds the whole case") };
        self.blocks.push(block);
        // SAFETY: a block of the region, which no one else uses.
        self.end = unsafe { self.region.base().add(block * BLOCK) }.cast::<u64>();
        self.room = BLOCK / 8;
    }

    fn pieces(&self) -> impl Iterator<Item = &[u64]> {
        let per_block = BLOCK / 8;
        self.blocks.iter().enumerate().map(move |(at, &block)| {
            let full = at + 1 < self.blocks.len();
            let len = if full { per_block } else { per_block - self.room };
            &self.region.words()[block * per_block..][..len]
        })
    }
}
