//! The backing of vanishing arrays, watched by a trap from when it is reserved until the last array is gone.

use super::backing::Backing;
use super::lifecycle::Windows;
use super::{Plain, VanishingArray};
use crate::memory::error::{RewireError, RewireErrorKind};
use crate::memory::mapping_budget;
use crate::memory::pool::Pool;
use crate::mover::Engine;
use crate::sys::process;
use crate::trap::registry::{self, Registration};
use crate::trap::{self, Context, End, Resolve};
use crate::units::Bytes;
use std::sync::Arc;

/// The most addresses some arrays take together.
const MOST_BYTES: u64 = 1 << 46;

/// The backing that arrays made together share.
pub(super) struct Watched {
    /// Shared, since to move a `Box` asserts that nobody else points into it.
    pub(super) backing: Arc<Backing>,
    /// `None` without a trap, and while this is being dropped.
    registration: Option<Registration>,
}

impl Watched {
    /// For `count` arrays of at most `limit` values.
    pub(super) fn new<T: Plain>(
        pool: &Pool,
        count: usize,
        limit: usize,
        windows: Windows,
    ) -> Result<Watched, RewireError> {
        process::remember();
        pool.0.check_here()?;
        pool.0.check_moves()?;
        let system = |errno| RewireError::new(RewireErrorKind::System, errno);
        let no_addresses = |why: String| RewireError::new(RewireErrorKind::OutOfAddresses, why);
        let engine = pool.0.engine();
        let context = match engine {
            Engine::Copy => None,
            _ => Some(trap::context_of(engine.uffd()).map_err(system)?),
        };
        let block = pool.block_size();
        let value = VanishingArray::<T>::SIZE;
        let bytes = (limit as u64).saturating_mul(value as u64);
        let skew = if count == 1 { 0 } else { Backing::most_skew(block) as u64 };
        let all = bytes.saturating_add(skew + block.bytes() as u64).saturating_mul(count as u64);
        if all > MOST_BYTES {
            return Err(no_addresses(format!("{count} times {bytes} bytes are more than {}", Bytes(MOST_BYTES))));
        }
        let blocks = (bytes + skew).div_ceil(block.bytes() as u64).max(1) as u32;
        mapping_budget::claim(1)?;
        let backing =
            Backing::new(pool.0.clone(), context, count, value, blocks, windows).map(Arc::new).map_err(|refusal| {
                mapping_budget::release(1);
                RewireError::from_addresses(all, refusal)
            })?;
        let mut watched = Watched { backing, registration: None };
        if context.is_some() {
            let resolver = Arc::as_ptr(&watched.backing) as *const dyn Resolve;
            // SAFETY: `drop` ends the registration before it frees the backing.
            let registration = unsafe { Registration::new(watched.backing.addresses(), resolver, End::Writer) };
            if registration.is_none() {
                return Err(no_addresses(format!("{} ranges with pointers are in use", registry::CAPACITY)));
            }
            watched.registration = registration;
        }
        Ok(watched)
    }

    /// Makes sure that pointers work: there is a trap, its handler is in force, and it is our process.
    pub(super) fn ready(&self) -> Result<(), RewireError> {
        self.backing.pool.check_here()?;
        match self.backing.context {
            None => Err(RewireError::new(RewireErrorKind::NoTrap, "the pool is for the trap `off`")),
            Some(Context::Off) => Err(RewireError::new(RewireErrorKind::NoTrap, "the trap is `off`")),
            Some(_) => trap::install_handler().map_err(|errno| RewireError::new(RewireErrorKind::System, errno)),
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if !self.backing.pool.is_here() {
            return;
        }
        self.registration = None;
        // SAFETY: withdrawn, and every array has given its blocks back before it let go of this.
        unsafe { self.backing.unmap() };
        mapping_budget::release(1);
    }
}
