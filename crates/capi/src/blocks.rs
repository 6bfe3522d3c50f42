//! Blocks taken from an end, to be filled or used several at a time.

use crate::arguments::{exclusive, shared, take};
use crate::ends::{AnyControl, AnyReadBlock, AnyWriteBlock, Either, either};
use crate::options::EAGRE_UNKNOWN;
use crate::status::{status, value};
use std::ffi::c_void;
use std::ptr::{null, null_mut};

/// A block taken from a writer. It may travel to another thread.
pub struct EagreWriteBlock {
    pub(crate) stream: AnyControl,
    pub(crate) block: AnyWriteBlock,
}

/// A block taken from a reader. It may travel to another thread.
pub struct EagreReadBlock {
    pub(crate) stream: AnyControl,
    pub(crate) block: AnyReadBlock,
}

/// The bytes of a block to fill, and how many they are (unless size is null). What they hold has no meaning. Valid
/// until the block is completed. Null if block is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_write_block_data(block: *mut EagreWriteBlock, size: *mut usize) -> *mut c_void {
    value(null_mut(), || {
        // SAFETY: the caller's promise.
        let (block, size) = unsafe { (exclusive(block, "block")?, size.as_mut()) };
        let bytes = either!(&mut block.block, block => block.as_mut_slice());
        if let Some(size) = size {
            *size = bytes.len();
        }
        Ok(bytes.as_mut_ptr().cast())
    })
}

/// Where a block begins in the stream, in bytes. EAGRE_UNKNOWN if block is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_write_block_offset(block: *const EagreWriteBlock) -> u64 {
    // SAFETY: the caller's promise.
    value(EAGRE_UNKNOWN, || Ok(either!(unsafe { &shared(block, "block")?.block }, block => block.offset())))
}

/// Gives a block up without completing it, which fails the stream: the reader gets EAGRE_WRITER_GONE. Null is nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_write_block_abandon(block: *mut EagreWriteBlock) {
    status(|| {
        // SAFETY: the caller's promise.
        drop(unsafe { take(block) });
        Ok(())
    });
}

/// The bytes of a block to read, and how many they are (unless size is null); the last one of a stream may be short.
/// Valid until the block is released. Null if block is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_read_block_data(block: *const EagreReadBlock, size: *mut usize) -> *const c_void {
    value(null(), || {
        // SAFETY: the caller's promise.
        let (block, size) = unsafe { (shared(block, "block")?, size.as_mut()) };
        let bytes = either!(&block.block, block => block.as_slice());
        if let Some(size) = size {
            *size = bytes.len();
        }
        Ok(bytes.as_ptr().cast())
    })
}

/// Where a block begins in the stream, in bytes. EAGRE_UNKNOWN if block is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_read_block_offset(block: *const EagreReadBlock) -> u64 {
    // SAFETY: the caller's promise.
    value(EAGRE_UNKNOWN, || Ok(either!(unsafe { &shared(block, "block")?.block }, block => block.offset())))
}

/// Gives a block up without releasing it, once its reader is closed. Before that the stream would stop when the window
/// is full. Null is nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_read_block_abandon(block: *mut EagreReadBlock) {
    status(|| {
        // SAFETY: the caller's promise.
        drop(unsafe { take(block) });
        Ok(())
    });
}
