//! A range of addresses whose touches come to a trap.

use super::reservation::Reservation;
use crate::mover::Prepare;
use crate::sys::{Errno, Refusal};
use crate::trap::Context;
use crate::units::BlockSize;

/// Reserves `len` bytes with guards, and registers and opens them as the trap wants it (see the table of [`Prepare`]). The owner
/// registers a resolver for them.
pub(super) fn reserve(len: usize, context: Context, block: BlockSize) -> Result<(Reservation, Prepare), Refusal> {
    let range = Reservation::guarded(len, block)?;
    match prepare(&range, context, block) {
        Ok(prepare) => Ok((range, prepare)),
        Err(refusal) => {
            // SAFETY: just made, and nobody has seen it.
            unsafe { range.unmap() };
            Err(refusal)
        }
    }
}

fn prepare(range: &Reservation, context: Context, block: BlockSize) -> Result<Prepare, Refusal> {
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
