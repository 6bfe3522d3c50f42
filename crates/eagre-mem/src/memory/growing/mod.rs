//! A byte buffer that grows where a plain pointer touches it.
//!
//! Its addresses are reserved up to a limit and belong to a trap. The touch of a slot without a block is a fault, which
//! takes a zeroed block from the pool and maps it there (`faults.rs`). Touches of slots with a block cost nothing.
//!
//! # Safety
//! The faults are resolved by the same rules, and with the same throw-away pages after a failure, as those of streams.

mod backing;
mod faults;

use super::error::{RewireError, RewireErrorKind};
use super::mapping_budget;
use super::pool::Pool;
use super::slots::Slots;
use crate::mover::Engine;
use crate::sys::process;
use crate::trap::registry::{self, Registration};
use crate::trap::{self, Context, End, Ready, Resolve};
use crate::units::{BlockSize, Bytes};
use backing::Backing;
use std::fmt;
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// The most it can be told to hold.
const MOST_BYTES: u64 = 1 << 45;

/// An output buffer of unknown size for code that takes a plain pointer, such as a decoder of a C library.
///
/// Such code cannot ask for more room while it runs. A `malloc` must guess its output beforehand; this buffer has addresses up to
/// a limit, which cost nothing, and takes memory from its pool where the pointer is touched, block by block.
///
/// ```
/// # use eagre_mem::{GrowingBuffer, Pool, BlockSize};
/// /// A run-length decoder: it knows a pointer, and says afterwards how much it has written.
/// ///
/// /// # Safety
/// /// There is room at `to` for all runs.
/// unsafe fn decode(runs: &[(u8, usize)], to: *mut u8) -> usize {
///     let mut length = 0;
///     for &(byte, count) in runs {
///         // SAFETY: the caller's contract.
///         unsafe { to.add(length).write_bytes(byte, count) };
///         length += count;
///     }
///     length
/// }
///
/// let mut output = GrowingBuffer::new(&Pool::shared(BlockSize::DEFAULT)?, 1 << 30)?;
/// // SAFETY: within the limit of 1 GiB.
/// let length = output.scope(|to| unsafe { decode(&[(b'a', 3_000_000), (b'b', 2_000_000)], to) })?;
/// assert_eq!(output.bytes(length)?[2_999_999..][..2], *b"ab");
/// // Three blocks of 2 MiB hold it; nobody had to guess.
/// assert_eq!(output.held(), 6 << 20);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Bytes that nobody has written read as zero. Under the trap `pager`, copying system calls (`read`, `recv` …) may write past what
/// has memory; under `signal` they get `EFAULT` there. A vector that its owner fills is a [`RewiredVec`](super::RewiredVec), which
/// needs no trap.
///
/// A forked child has no part in it.
pub struct GrowingBuffer {
    /// Shared, since to move a `Box` asserts that nobody else points into it.
    backing: Arc<Backing>,
    context: Context,
    /// `None` once the buffer is being dropped.
    registration: Option<Registration>,
}

// SAFETY: the memory is the buffer's own; the registration is only dropped.
unsafe impl Send for GrowingBuffer {}
// SAFETY: what `&GrowingBuffer` does, faults may do at any time: it is made for many threads.
unsafe impl Sync for GrowingBuffer {}

impl GrowingBuffer {
    /// An empty buffer for at most `limit` bytes, rounded up to whole blocks, out of `pool`. It takes addresses only.
    ///
    /// # Errors
    /// [`NoTrap`](RewireErrorKind::NoTrap), [`OutOfAddresses`](RewireErrorKind::OutOfAddresses),
    /// [`OutOfMappings`](RewireErrorKind::OutOfMappings), [`OutOfMemory`](RewireErrorKind::OutOfMemory),
    /// [`Forked`](RewireErrorKind::Forked), [`System`](RewireErrorKind::System).
    pub fn new(pool: &Pool, limit: u64) -> Result<GrowingBuffer, RewireError> {
        process::remember();
        pool.0.check_here()?;
        pool.0.check_moves()?;
        let no_addresses = |why: String| RewireError::new(RewireErrorKind::OutOfAddresses, why);
        if limit > MOST_BYTES {
            return Err(no_addresses(format!("{limit} bytes are more than {}", Bytes(MOST_BYTES))));
        }
        if matches!(pool.0.engine(), Engine::Copy) {
            return Err(RewireError::new(RewireErrorKind::NoTrap, "the pool is for the trap `off`"));
        }
        let system = |errno| RewireError::new(RewireErrorKind::System, errno);
        let context = trap::context_of(pool.0.engine().uffd()).map_err(system)?;
        // Before the addresses and their mapping, which would have to be given back.
        let table = Backing::table(pool.0.block, limit)?;
        mapping_budget::claim(1)?;
        let backing = Backing::new(pool.0.clone(), context, table).map(Arc::new).map_err(|refusal| {
            mapping_budget::release(1);
            RewireError::from_addresses(limit, refusal)
        })?;
        let resolver = Arc::as_ptr(&backing) as *const dyn Resolve;
        // SAFETY: `drop` ends the registration before it frees the backing.
        let registration = unsafe { Registration::new(backing.addresses(), resolver, End::Writer) };
        if registration.is_none() {
            // SAFETY: nobody has seen it.
            unsafe { backing.unmap() };
            mapping_budget::release(1);
            return Err(no_addresses(format!("{} ranges with pointers are in use", registry::CAPACITY)));
        }
        Ok(GrowingBuffer { backing, context, registration })
    }

    /// An empty buffer that may take all of its pool.
    ///
    /// # Errors
    /// As [`GrowingBuffer::new`].
    pub fn in_pool(pool: &Pool) -> Result<GrowingBuffer, RewireError> {
        GrowingBuffer::new(pool, Slots::default_bytes(pool))
    }

    /// Runs `code` on a pointer to byte 0, which may touch any byte below [`GrowingBuffer::limit`].
    ///
    /// # Errors
    /// If the limit, the pool or memory ends: [`Full`](RewireErrorKind::Full),
    /// [`OutOfBlocks`](RewireErrorKind::OutOfBlocks), [`OutOfMemory`](RewireErrorKind::OutOfMemory),
    /// [`OutOfMappings`](RewireErrorKind::OutOfMappings). The code knows nothing of it and runs on, on throw-away pages,
    /// for as many bytes beyond the limit as there are below it; what `code` returned is dropped. The first error stays
    /// until [`GrowingBuffer::clear`]. [`Forked`](RewireErrorKind::Forked).
    pub fn scope<R>(&mut self, code: impl FnOnce(*mut u8) -> R) -> Result<R, RewireError> {
        self.backing.check()?;
        let ready = Ready::new(self.context).map_err(|errno| RewireError::new(RewireErrorKind::System, errno))?;
        let value = code(self.as_ptr().as_ptr());
        drop(ready);
        self.backing.check().map(|()| value)
    }

    /// The address of byte 0. It may be touched inside of [`GrowingBuffer::scope`]; what is touched within the limit
    /// stays as long as the buffer is not cleared.
    pub fn as_ptr(&self) -> NonNull<u8> {
        let start = ptr::with_exposed_provenance_mut(self.backing.start());
        // SAFETY: nothing is mapped at address 0.
        unsafe { NonNull::new_unchecked(start) }
    }

    /// The first `len` bytes. Slots that nobody has touched get their blocks now, all zeros.
    ///
    /// # Errors
    /// As [`GrowingBuffer::scope`].
    pub fn bytes(&mut self, len: usize) -> Result<&mut [u8], RewireError> {
        self.backing.check()?;
        self.backing.bring_all(len as u64)?;
        // SAFETY: all of it is there now, zeroed or written by the buffer's own users, whom the exclusive borrow excludes.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.as_ptr().as_ptr(), len) })
    }

    /// The most bytes it can hold.
    pub fn limit(&self) -> u64 {
        self.backing.limit()
    }

    /// The bytes of memory it holds: whole blocks.
    pub fn held(&self) -> u64 {
        self.backing.held()
    }

    /// The unit in which it grows.
    pub fn block_size(&self) -> BlockSize {
        self.backing.block()
    }

    /// Gives all its blocks back to the pool and forgets an error: an empty buffer at the same address.
    pub fn clear(&mut self) {
        self.backing.clear();
    }
}

impl fmt::Debug for GrowingBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GrowingBuffer")
            .field("start", &self.as_ptr())
            .field("held", &self.held())
            .field("limit", &self.limit())
            .finish()
    }
}

impl Drop for GrowingBuffer {
    fn drop(&mut self) {
        if !self.backing.is_here() {
            return;
        }
        self.registration = None;
        self.backing.clear();
        // SAFETY: withdrawn and empty, and no borrow outlives the buffer.
        unsafe { self.backing.unmap() };
        mapping_budget::release(1);
    }
}
