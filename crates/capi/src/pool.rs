//! Pools of their own for some streams.

use crate::arguments::{Place, take};
use crate::pair::{block_size, mover, trap};
use crate::status::{EagreStatus, status};
use eagre::Pool;

/// A budget of memory that some streams share. Handles may be used by several threads at once.
pub struct EagrePool(pub(crate) Pool);

/// Makes a pool of at most budget blocks of block_size bytes (0: 2 MiB), for streams of the same trap (an EagreTrap) and
/// mover (an EagreMover). Name it in EagreOptions.pool. Close it with eagre_pool_close.
///
/// A stream holds at most read_ahead + rewrite + lookback + 1 blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_pool_open(
    block_size: u64,
    budget: u32,
    trap: i32,
    mover: i32,
    pool: *mut *mut EagrePool,
) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let place = unsafe { Place::new(pool, "pool")? };
        place.put(EagrePool(Pool::new(self::block_size(block_size)?, budget, self::trap(trap)?, self::mover(mover)?)?));
        Ok(())
    })
}

/// Gives up a pool. Its streams keep it alive, so this may be called as soon as they are open. Null is nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_pool_close(pool: *mut EagrePool) {
    status(|| {
        // SAFETY: the caller's promise.
        drop(unsafe { take(pool) });
        Ok(())
    });
}
