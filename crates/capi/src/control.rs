//! Watching and cancelling a stream from any thread.

use crate::arguments::{shared, take};
use crate::ends::{AnyControl, Either};
use crate::stats::{EAGRE_STATS_SMALLEST, EagreStats};
use crate::status::{EagreStatus, Fault, status, value};
use std::mem::size_of;

/// A handle to a stream that belongs to neither end. Any thread may use it, several at once, also when both ends are
/// closed. It does not keep the stream open. Between processes it knows nothing any more when this process's end is closed.
pub struct EagreControl(pub(crate) AnyControl);

/// Fails the stream: both ends get EAGRE_CANCELLED from their next call, or the one they wait in.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_control_cancel(control: *const EagreControl) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        unsafe { shared(control, "control")? }.0.cancel();
        Ok(())
    })
}

/// Whether the stream has failed, and how. Between processes, EAGRE_CLOSED if this process's end is closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_control_check(control: *const EagreControl) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let control = unsafe { &shared(control, "control")?.0 };
        match control.failure() {
            Some(failure) => Err(failure.into()),
            None => control.check_open(),
        }
    })
}

/// How many bytes the stream can carry; between processes, how many a pointer reaches, as the process that made the stream has said.
/// 0 if control is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_control_capacity(control: *const EagreControl) -> u64 {
    // SAFETY: the caller's promise.
    value(0, || match unsafe { &shared(control, "control")?.0 } {
        Either::Here(control) => Ok(control.capacity()),
        process => Ok(process.stats()?.capacity),
    })
}

/// What the stream has done and holds. Call it as eagre_control_stats(control, &stats, sizeof stats). Between processes, what this
/// process's end has done, and how far the other one is; the other counts are 0.
///
/// Fails with EAGRE_INVALID if a pointer is null, EAGRE_WRONG_VERSION if size is not that of an EagreStats, EAGRE_CLOSED between processes
/// if this process's end is closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_control_stats(
    control: *const EagreControl,
    stats: *mut EagreStats,
    size: usize,
) -> EagreStatus {
    status(|| {
        if !(EAGRE_STATS_SMALLEST..=4096).contains(&size) {
            let text = format_args!("{size} bytes is not the size of an EagreStats; pass sizeof stats");
            return Err(Fault::new(EagreStatus::EagreWrongVersion, text));
        }
        // SAFETY: the caller has a struct of `size` bytes there.
        let (control, to) = unsafe { (shared(control, "control")?, crate::arguments::bytes_mut(stats.cast(), size)?) };
        to.fill(0);
        let known = size.min(size_of::<EagreStats>());
        let now = EagreStats { size: size as u32, ..EagreStats::of(&control.0)? };
        // SAFETY: both are at least `known` bytes long, and the struct has no padding.
        unsafe { (&raw const now).cast::<u8>().copy_to_nonoverlapping(to.as_mut_ptr(), known) };
        Ok(())
    })
}

/// Frees the handle; the stream goes on. Null is nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_control_close(control: *mut EagreControl) {
    status(|| {
        // SAFETY: the caller's promise.
        drop(unsafe { take(control) });
        Ok(())
    });
}
