//! Where vanishing arrays live: addresses that faults find, from when they are reserved until the last array is gone.

use super::course::Windows;
use super::ground::Ground;
use super::{Plain, VanishingArray};
use crate::memory::error::{RewireError, RewireErrorKind};
use crate::memory::mapping_budget;
use crate::memory::pool::Pool;
use crate::mover::Engine;
use crate::sys::process;
use crate::trap::registry::{self, Place, Target};
use crate::trap::{self, Context, End, Resolve};
use crate::units::Bytes;
use std::sync::Arc;

/// The most addresses some arrays take together.
const MOST_BYTES: u64 = 1 << 46;

/// What the arrays that were made together stand on.
pub(super) struct Home {
    pub(super) ground: Arc<Ground>,
    /// The range's place in the registry, and what that points to; `None` without a trap. Shared, as the ground is: to
    /// move a `Box` asserts that nobody else points into it.
    registered: Option<(Place, Arc<Target>)>,
}

impl Home {
    /// For `count` arrays of at most `limit` values.
    pub(super) fn new<T: Plain>(
        pool: &Pool,
        count: usize,
        limit: usize,
        windows: Windows,
    ) -> Result<Home, RewireError> {
        process::remember();
        pool.0.check_here()?;
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
        let skew = if count == 1 { 0 } else { Ground::most_skew(block) as u64 };
        let all = bytes.saturating_add(skew + block.bytes() as u64).saturating_mul(count as u64);
        if all > MOST_BYTES {
            return Err(no_addresses(format!("{count} times {bytes} bytes are more than {}", Bytes(MOST_BYTES))));
        }
        let blocks = (bytes + skew).div_ceil(block.bytes() as u64).max(1) as u32;
        mapping_budget::claim(1)?;
        let ground =
            Ground::new(pool.0.clone(), context, count, value, blocks, windows).map(Arc::new).map_err(|refusal| {
                mapping_budget::release(1);
                RewireError::from_addresses(all, refusal)
            })?;
        let mut home = Home { ground, registered: None };
        if context.is_some() {
            let resolver = Arc::as_ptr(&home.ground) as *const dyn Resolve;
            let target = Arc::new(Target::new(resolver, End::Writer));
            // SAFETY: ground and target live, and stay where they are, until `drop` has withdrawn the place and found it
            // quiet.
            let Some(place) = (unsafe { registry::register(home.ground.addresses(), Arc::as_ptr(&target)) }) else {
                return Err(no_addresses(format!("{} ranges with pointers are in use", registry::CAPACITY)));
            };
            home.registered = Some((place, target));
        }
        Ok(home)
    }

    /// Makes sure that pointers work: there is a trap, its handler is in force, and it is our process.
    pub(super) fn ready(&self) -> Result<(), RewireError> {
        self.ground.pool.check_here()?;
        match self.ground.context {
            None => Err(RewireError::new(RewireErrorKind::NoTrap, "the pool is for the trap `off`")),
            Some(Context::Off) => Err(RewireError::new(RewireErrorKind::NoTrap, "the trap is `off`")),
            Some(_) => trap::guard().map_err(|errno| RewireError::new(RewireErrorKind::System, errno)),
        }
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if !self.ground.pool.is_here() {
            return;
        }
        if let Some((place, _target)) = self.registered.take() {
            registry::withdraw(&place);
            // A fault that is being resolved at this moment does not wait for anyone.
            while !registry::is_quiet(&place) {
                std::thread::yield_now();
            }
        }
        // SAFETY: withdrawn, and every array has given its blocks back before it let go of its home.
        unsafe { self.ground.unmap() };
        mapping_budget::release(1);
    }
}
