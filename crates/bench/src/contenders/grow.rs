//! Vectors of unknown length: words are appended, one call per word.
//!
//! Every run starts with an empty vector and ends with a full one. Growing is timed; making preallocated memory (the plain
//! buffer, the blocks of the chain, the pool) is not. Memory is freed after each run, so that large cases fit with any number
//! of contenders.
//!
//! Contenders that take memory from the system while they grow need a warm *machine*: as much memory as the case takes is
//! touched and freed first, until that gets no faster. The host of a virtual machine takes unused memory back within
//! seconds, and making a page again takes it twenty times as long as zeroing one. Without this warm-up the speed of a
//! contender mainly depends on who ran before it, and how long ago.
//!
//! Each loop is a function of its own with a local vector, so that the compiler keeps the vector in registers. Inside a large
//! function it runs out of them, and one more instruction in a loop of seven is measurable.

use std::ffi::c_void;
use std::io;
use std::marker::PhantomData;
use std::ptr;
use std::time::{Duration, Instant};

use eagre::{BlockSize, Pool, RewiredVec};
use rustix::mm::{Advice, MapFlags, MremapFlags, ProtFlags, madvise, mmap_anonymous, mremap, munmap};

use crate::catalogue::Growth;
use crate::contenders::{Contender, Measured, Trouble};
use crate::kernels::{Tally, word};
use crate::memory::{Pages, Region};

impl Growth {
    /// Whether memory is made while it grows.
    fn takes_from_the_system(self) -> bool {
        use Growth::*;
        match self {
            Plain | Rewired | RewiredAppender | RewiredExtend | Chain => false,
            RewiredFresh | Vec | VecReserved | Mremap | Realloc => true,
        }
    }
}

/// Fills a vector that grows this way.
pub(crate) struct Grow(pub(crate) Growth);

const BLOCK: usize = 2 << 20;

impl Contender for Grow {
    fn run(&mut self, size: u64) -> Result<Measured, Trouble> {
        let mut tally = Tally::default();
        let words = size / 8;
        if self.0.takes_from_the_system() {
            warm_up(size as usize)?;
        }
        let took = match self.0 {
            Growth::Plain => plain(words, &mut tally),
            Growth::Rewired => pool(size, true).and_then(|pool| push_rewired(&pool, words, &mut tally)),
            Growth::RewiredAppender => pool(size, true).and_then(|pool| append_rewired(&pool, words, &mut tally)),
            Growth::RewiredExtend => pool(size, true).and_then(|pool| extend_rewired(&pool, words, &mut tally)),
            Growth::RewiredFresh => pool(size, false).and_then(|pool| push_rewired(&pool, words, &mut tally)),
            Growth::Vec => Ok(push_vec(0, words, &mut tally)),
            Growth::VecReserved => Ok(push_vec(words as usize, words, &mut tally)),
            Growth::Mremap => push_doubling::<Mapped>(words, &mut tally),
            Growth::Realloc => push_doubling::<Allocated>(words, &mut tally),
            Growth::Chain => push_chain(words, &mut tally),
        };
        Ok(Measured::alone(took?, size, tally.answer()?, words))
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

/// Touches and frees so many bytes, several times: the kernel need not hand out the same pages again at once.
fn warm_up(bytes: usize) -> Result<(), Trouble> {
    let mut before = Duration::MAX;
    for _ in 0..4 {
        let start = Instant::now();
        drop(Region::touched(bytes, Pages::Huge).map_err(memory)?);
        let took = start.elapsed();
        if took > before / 4 * 3 {
            break;
        }
        before = took;
    }
    Ok(())
}

/// A pool for so many bytes, preallocated or not.
fn pool(bytes: u64, there: bool) -> Result<Pool, Trouble> {
    let blocks = bytes.div_ceil(BLOCK as u64) as u32;
    let pool = Pool::new(BlockSize::DEFAULT, blocks, None, None).map_err(memory)?;
    if there {
        pool.populate(blocks).map_err(memory)?;
    }
    Ok(pool)
}

#[inline(never)]
fn plain(words: u64, tally: &mut Tally) -> Result<Duration, Trouble> {
    let mut region = Region::touched(words as usize * 8, Pages::Huge).map_err(memory)?;
    let buffer = &mut region.words_mut()[..words as usize];
    let took = timed(|| buffer.iter_mut().enumerate().for_each(|(at, slot)| *slot = word(at as u64)));
    tally.add(buffer);
    Ok(took)
}

#[inline(never)]
fn push_rewired(pool: &Pool, words: u64, tally: &mut Tally) -> Result<Duration, Trouble> {
    let mut vector = RewiredVec::in_pool(pool).map_err(memory)?;
    let took = timed(|| (0..words).for_each(|at| vector.push(word(at))));
    tally.add(&vector);
    Ok(took)
}

fn append_rewired(pool: &Pool, words: u64, tally: &mut Tally) -> Result<Duration, Trouble> {
    let mut vector = RewiredVec::in_pool(pool).map_err(memory)?;
    let took = timed(|| append(&mut vector, words));
    tally.add(&vector);
    Ok(took)
}

#[inline(never)]
fn append(vector: &mut RewiredVec<u64>, words: u64) {
    let mut end = vector.appender();
    (0..words).for_each(|at| end.push(word(at)));
}

#[inline(never)]
fn extend_rewired(pool: &Pool, words: u64, tally: &mut Tally) -> Result<Duration, Trouble> {
    let mut vector = RewiredVec::in_pool(pool).map_err(memory)?;
    let took = timed(|| vector.extend((0..words).map(word)));
    tally.add(&vector);
    Ok(took)
}

#[inline(never)]
fn push_vec(capacity: usize, words: u64, tally: &mut Tally) -> Duration {
    let mut vector = Vec::with_capacity(capacity);
    let took = timed(|| (0..words).for_each(|at| vector.push(word(at))));
    tally.add(&vector);
    took
}

#[inline(never)]
fn push_doubling<M: Memory>(words: u64, tally: &mut Tally) -> Result<Duration, Trouble> {
    let mut vector = Doubling::<M>::new().map_err(memory)?;
    let mut grown = Ok(());
    let took = timed(|| grown = (0..words).try_for_each(|at| vector.push(word(at))));
    grown.map_err(memory)?;
    tally.add(vector.words());
    Ok(took)
}

#[inline(never)]
fn push_chain(words: u64, tally: &mut Tally) -> Result<Duration, Trouble> {
    let mut list = List::new(Region::touched(words as usize * 8, Pages::Huge).map_err(memory)?);
    let mut chain = Chain::new(&mut list);
    let took = timed(|| (0..words).for_each(|at| chain.push(word(at))));
    chain.pieces().for_each(|piece| tally.add(piece));
    Ok(took)
}

/// Memory that can be enlarged, in place or by moving.
trait Memory {
    /// Allocates `bytes`, or returns null.
    fn get(bytes: usize) -> *mut u64;
    /// Enlarges it to `new` bytes and keeps the contents. On failure returns null and leaves it as it was.
    ///
    /// # Safety
    /// `start` is an allocation of `old` bytes that nothing else uses.
    unsafe fn enlarge(start: *mut u64, old: usize, new: usize) -> *mut u64;
    /// Frees it.
    ///
    /// # Safety
    /// As above, and it is not used again.
    unsafe fn give_up(start: *mut u64, bytes: usize);
}

/// A mapping of huge pages, enlarged with `mremap`.
struct Mapped;

impl Memory for Mapped {
    fn get(bytes: usize) -> *mut u64 {
        let (prot, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE | MapFlags::NORESERVE);
        // SAFETY: a new mapping at an address of the kernel's choice, and advice on it.
        unsafe {
            let Ok(start) = mmap_anonymous(ptr::null_mut(), bytes, prot, flags) else { return ptr::null_mut() };
            let _ = madvise(start, bytes, Advice::LinuxHugepage);
            start.cast::<u64>()
        }
    }

    unsafe fn enlarge(start: *mut u64, old: usize, new: usize) -> *mut u64 {
        // SAFETY: the caller's own mapping.
        let larger = unsafe { mremap(start.cast::<c_void>(), old, new, MremapFlags::MAYMOVE) };
        larger.map_or(ptr::null_mut(), |start| start.cast::<u64>())
    }

    unsafe fn give_up(start: *mut u64, bytes: usize) {
        // SAFETY: the caller's own mapping.
        let _ = unsafe { munmap(start.cast::<c_void>(), bytes) };
    }
}

/// The C library's memory; the GNU one enlarges large pieces with `mremap`.
struct Allocated;

impl Memory for Allocated {
    fn get(bytes: usize) -> *mut u64 {
        // SAFETY: asks for memory.
        unsafe { libc::malloc(bytes) }.cast::<u64>()
    }

    unsafe fn enlarge(start: *mut u64, _: usize, new: usize) -> *mut u64 {
        // SAFETY: the caller's own allocation.
        unsafe { libc::realloc(start.cast::<c_void>(), new) }.cast::<u64>()
    }

    unsafe fn give_up(start: *mut u64, _: usize) {
        // SAFETY: the caller's own allocation.
        unsafe { libc::free(start.cast::<c_void>()) };
    }
}

/// A vector of words on memory that doubles in place or elsewhere.
struct Doubling<M: Memory> {
    start: *mut u64,
    len: usize,
    capacity: usize,
    memory: PhantomData<M>,
}

impl<M: Memory> Doubling<M> {
    fn new() -> io::Result<Doubling<M>> {
        let start = M::get(BLOCK);
        if start.is_null() {
            return Err(io::Error::last_os_error());
        }
        Ok(Doubling { start, len: 0, capacity: BLOCK / 8, memory: PhantomData })
    }

    #[inline]
    fn push(&mut self, word: u64) -> io::Result<()> {
        if self.len == self.capacity {
            // SAFETY: the whole of it is this vector's, and nothing borrows it.
            let larger = unsafe { double::<M>(self.start, self.capacity * 8) };
            if larger.is_null() {
                return Err(io::Error::last_os_error());
            }
            self.start = larger;
            self.capacity *= 2;
        }
        // SAFETY: within the memory.
        unsafe { self.start.add(self.len).write(word) };
        self.len += 1;
        Ok(())
    }

    fn words(&self) -> &[u64] {
        // SAFETY: the words written so far.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}

/// Takes no reference to the vector and does not unwind, so that a loop of pushes keeps the vector in registers.
///
/// # Safety
/// As [`Memory::enlarge`].
#[cold]
#[inline(never)]
unsafe extern "C" fn double<M: Memory>(start: *mut u64, bytes: usize) -> *mut u64 {
    // SAFETY: the caller's promise.
    unsafe { M::enlarge(start, bytes, 2 * bytes) }
}

impl<M: Memory> Drop for Doubling<M> {
    fn drop(&mut self) {
        // SAFETY: its own memory, borrowed by nobody.
        unsafe { M::give_up(self.start, self.capacity * 8) };
    }
}

/// A list of blocks: growth without copies and without rewiring. Its words are not contiguous.
struct Chain<'l> {
    /// Where the next word goes, and where the last block ends.
    next: *mut u64,
    until: *mut u64,
    list: &'l mut List,
}

/// The blocks of a chain, by number.
struct List {
    region: Region,
    used: Vec<usize>,
    /// In the order in which a free list returns them after some use.
    free: Vec<usize>,
}

impl List {
    fn new(region: Region) -> List {
        let free = (0..region.len() / BLOCK).rev().collect();
        List { region, used: Vec::new(), free }
    }
}

impl<'l> Chain<'l> {
    fn new(list: &'l mut List) -> Chain<'l> {
        Chain { next: ptr::null_mut(), until: ptr::null_mut(), list }
    }

    #[inline]
    fn push(&mut self, word: u64) {
        if self.next == self.until {
            self.next = next_block(self.list);
            self.until = self.next.wrapping_add(BLOCK / 8);
        }
        // SAFETY: there is room in the last block.
        unsafe {
            self.next.write(word);
            self.next = self.next.add(1);
        }
    }

    fn pieces(&self) -> impl Iterator<Item = &[u64]> {
        let (per_block, List { region, used, .. }) = (BLOCK / 8, &*self.list);
        let room = (self.until as usize - self.next as usize) / 8;
        used.iter().enumerate().map(move |(at, &block)| {
            let full = at + 1 < used.len();
            let len = if full { per_block } else { per_block - room };
            &region.words()[block * per_block..][..len]
        })
    }
}

/// Takes no reference to the chain and does not unwind.
#[cold]
#[inline(never)]
extern "C" fn next_block(list: &mut List) -> *mut u64 {
    let Some(block) = list.free.pop() else { panic!("the region holds the whole case") };
    list.used.push(block);
    // SAFETY: a block of the region, which no one else uses.
    unsafe { list.region.base().add(block * BLOCK) }.cast::<u64>()
}
