//! How a stream is to be: the one struct that C fills.

use crate::arguments;
use crate::pair::{EagreMover, EagreTrap, block_size, mover, trap};
use crate::pool::EagrePool;
use crate::status::{EagreStatus, Fault, status};
use crate::versioned::{self, Versioned};
use eagre::{OnFailure, Pipe, PipeBuilder};
use std::ffi::c_char;
use std::fmt::Arguments;
use std::mem::{offset_of, size_of};
use std::time::Duration;

/// The version of EagreOptions in this header.
pub const EAGRE_OPTIONS_VERSION: u32 = 1;

/// A length that is not known.
pub const EAGRE_UNKNOWN: u64 = u64::MAX;

/// EagreOptions.flags: every block is new memory from the system, given back behind the reader. Slow; for comparisons.
pub const EAGRE_FRESH: u32 = 1;

/// EagreOptions.flags: bytes that the writer leaves out inside a block it touches read as zero. Without it only whole
/// blocks that are left out do.
pub const EAGRE_SPARSE: u32 = 2;

/// EagreOptions.flags: after the stream has failed, touching its pointer is an error (a signal; EFAULT from a system
/// call). Without it the pointer gets throw-away pages, and the code on it runs to its end.
pub const EAGRE_POISON: u32 = 4;

/// EagreOptions.flags, for eagre_open_source: the callback is asked only for blocks the reader has touched, not ahead.
pub const EAGRE_ON_DEMAND: u32 = 8;

/// EagreOptions.flags: pointers are needed. Where no trap works that gives them, opening fails with EAGRE_UNAVAILABLE.
/// Without it the stream opens for explicit calls, and its pointers are null. For code that does not look.
pub const EAGRE_POINTERS: u32 = 16;

const FLAGS: u32 = EAGRE_FRESH | EAGRE_SPARSE | EAGRE_POISON | EAGRE_ON_DEMAND | EAGRE_POINTERS;

/// How a stream is to be.
///
/// Fill it with eagre_options_default, then change what should be different. Programs compiled with an older, smaller
/// EagreOptions go on working with newer libraries. A program compiled with a newer, larger one works with an older
/// library as long as the fields that one does not know are zero; else it gets EAGRE_WRONG_VERSION.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct EagreOptions {
    /// The size of this struct in bytes.
    pub size: u32,
    /// EAGRE_OPTIONS_VERSION.
    pub version: u32,
    /// A name for messages and reports, or null: the library makes one up. Copied.
    pub name: *const c_char,
    /// The unit that moves, in bytes: a power of two from 64 KiB to 64 MiB. 0: the default, 2 MiB.
    pub block_size: u64,
    /// L: how many blocks behind its furthest write the writer may still touch. 0 to 60, default 1. A writer on a
    /// pointer needs at least 1, and as many as its longest single memcpy spans.
    pub rewrite: u32,
    /// M: how many blocks behind its furthest read the reader may still touch. 0 to 60, default 1. A reader on a
    /// pointer needs at least 1.
    pub lookback: u32,
    /// N: how many finished blocks may wait between the ends. 1 to 60. 0: the default, a few.
    pub read_ahead: u32,
    /// EAGRE_FRESH, EAGRE_SPARSE, EAGRE_POISON, EAGRE_ON_DEMAND and EAGRE_POINTERS, added up. Default 0.
    pub flags: u32,
    /// The most bytes the stream can carry: its address space. The stream gets as much, or opening fails. 0: the default,
    /// 1 TiB, or less where addresses are limited or many streams are open; eagre_control_capacity tells.
    pub capacity: u64,
    /// The length of the stream in bytes if it is known beforehand: the reader can ask for it at once, and finishing
    /// with another length is an error. EAGRE_UNKNOWN, the default, if not.
    pub length: u64,
    /// The longest time one end may wait for the other, in nanoseconds. 0, the default: for ever.
    pub timeout_ns: u64,
    /// An EagreTrap.
    pub trap: i32,
    /// An EagreMover.
    pub mover: i32,
    /// Where the memory comes from, or null: a pool shared by all streams of the same kind in this process.
    pub pool: *const EagrePool,
}

// SAFETY: numbers and pointers, with size and version first.
unsafe impl Versioned for EagreOptions {
    const NAME: &'static str = "EagreOptions";
    const FILLED_BY: &'static str = "eagre_options_default";
    const VERSION: u32 = EAGRE_OPTIONS_VERSION;
    const SMALLEST: usize = offset_of!(EagreOptions, pool) + size_of::<*const EagrePool>();
    const DEFAULT: EagreOptions = EagreOptions {
        size: size_of::<EagreOptions>() as u32,
        version: EAGRE_OPTIONS_VERSION,
        name: std::ptr::null(),
        block_size: 0,
        rewrite: 1,
        lookback: 1,
        read_ahead: 0,
        flags: 0,
        capacity: 0,
        length: EAGRE_UNKNOWN,
        timeout_ns: 0,
        trap: EagreTrap::Default as i32,
        mover: EagreMover::Default as i32,
        pool: std::ptr::null(),
    };
}

impl EagreOptions {
    /// The stream these options ask for.
    ///
    /// # Safety
    /// As [`versioned::read`]; the name is null or a C string, the pool null or a pool.
    pub(crate) unsafe fn builder(from: *const EagreOptions) -> Result<PipeBuilder, Fault> {
        // SAFETY: the caller's promise.
        let options = unsafe { versioned::read(from)? };
        let setting =
            |text: Arguments<'_>| Fault::new(EagreStatus::EagreSetting, format_args!("cannot open a stream: {text}"));
        if options.flags & !FLAGS != 0 {
            return Err(setting(format_args!("unknown flags {:#x}", options.flags & !FLAGS)));
        }
        let flag = |flag: u32| options.flags & flag != 0;
        let on_failure = if flag(EAGRE_POISON) { OnFailure::Poison } else { OnFailure::Drain };
        let mut builder = Pipe::builder()
            .block_size(block_size(options.block_size)?)
            .rewrite(options.rewrite)
            .lookback(options.lookback)
            .recycle(!flag(EAGRE_FRESH))
            .sparse(flag(EAGRE_SPARSE))
            .on_failure(on_failure)
            .on_demand(flag(EAGRE_ON_DEMAND));
        // SAFETY: the caller's promise.
        if let Some(name) = unsafe { arguments::text(options.name) } {
            builder = builder.name(&name);
        }
        if flag(EAGRE_POINTERS) {
            builder = builder.pointers();
        }
        if options.read_ahead != 0 {
            builder = builder.read_ahead(options.read_ahead);
        }
        if options.capacity != 0 {
            builder = builder.capacity(options.capacity);
        }
        if options.length != EAGRE_UNKNOWN {
            builder = builder.length(options.length);
        }
        if options.timeout_ns != 0 {
            builder = builder.timeout(Duration::from_nanos(options.timeout_ns));
        }
        if let Some(trap) = trap(options.trap)? {
            builder = builder.trap(trap);
        }
        if let Some(mover) = mover(options.mover)? {
            builder = builder.mover(mover);
        }
        // SAFETY: the caller's promise.
        if let Some(pool) = unsafe { options.pool.as_ref() } {
            builder = builder.pool(&pool.0);
        }
        Ok(builder)
    }

    /// The length these options announce, if they do.
    ///
    /// # Safety
    /// As [`versioned::read`].
    pub(crate) unsafe fn length(from: *const EagreOptions) -> Result<Option<u64>, Fault> {
        // SAFETY: the caller's promise.
        let options = unsafe { versioned::read(from)? };
        Ok((options.length != EAGRE_UNKNOWN).then_some(options.length))
    }
}

/// Fills options with the defaults. Call it as eagre_options_default(&options, sizeof options).
///
/// Fails with EAGRE_INVALID if options is null, EAGRE_WRONG_VERSION if size is not that of an EagreOptions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_options_default(options: *mut EagreOptions, size: usize) -> EagreStatus {
    // SAFETY: the caller's promise.
    status(|| unsafe { versioned::fill(options, size) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A struct of a later version, with a field more.
    #[repr(C)]
    struct Later {
        options: EagreOptions,
        more: u64,
    }

    #[test]
    fn a_later_struct_is_taken_if_its_news_are_not_used() {
        let mut later = Later { options: EagreOptions::DEFAULT, more: 7 };
        let at = (&raw mut later).cast::<EagreOptions>();
        // SAFETY: as large as it says.
        unsafe {
            assert_eq!(eagre_options_default(at, size_of::<Later>()), EagreStatus::EagreOk);
            assert_eq!((later.options.size as usize, later.more), (size_of::<Later>(), 0));
            assert!(EagreOptions::builder(at).is_ok());
            (&raw mut (*at.cast::<Later>()).more).write(1);
            assert_eq!(EagreOptions::builder(at).unwrap_err().status, EagreStatus::EagreWrongVersion);
        }
    }

    #[test]
    fn the_first_version_keeps_its_size() {
        // 64-bit systems. If this fails, old programs stop working.
        assert_eq!(EagreOptions::SMALLEST, 80);
    }
}
