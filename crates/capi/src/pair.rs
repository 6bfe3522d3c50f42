//! What a pool and its streams have in common: trap, mover and the size of a block.

use crate::status::{EagreStatus, Fault};
use eagre::{BlockSize, Mover, Trap};

/// cbindgen:rename-all=QualifiedScreamingSnakeCase
/// How a touch of a stream pointer is noticed.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EagreTrap {
    /// What EAGRE_TRAP in the environment says, or the best that works here.
    Default = 0,
    /// Privileged userfaultfd: faults of user code and of copying system calls.
    Pager = 1,
    /// SIGSEGV: faults of user code. System calls on absent pages get EFAULT.
    Signal = 2,
    /// No faults and no pointers: reserve and commit, fill and consume.
    Off = 3,
}

/// cbindgen:rename-all=QualifiedScreamingSnakeCase
/// How a block changes its address.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EagreMover {
    /// What EAGRE_MOVER in the environment says, or the best that works with the trap.
    Default = 0,
    /// UFFDIO_MOVE.
    Move = 1,
    /// mremap.
    Remap = 2,
    /// Copying; only without faults.
    Copy = 3,
    /// Mapping shared memory; streams only. Faster, but what a late touch behind the window does may go unnoticed for some blocks.
    Map = 4,
}

pub(crate) fn block_size(bytes: u64) -> Result<BlockSize, Fault> {
    if bytes == 0 {
        return Ok(BlockSize::DEFAULT);
    }
    usize::try_from(bytes).ok().and_then(BlockSize::new).ok_or_else(|| {
        let text = format_args!("block_size is {bytes}: it must be a power of two from 64 KiB to 64 MiB");
        Fault::new(EagreStatus::EagreSetting, text)
    })
}

pub(crate) fn trap(value: i32) -> Result<Option<Trap>, Fault> {
    match value {
        0 => Ok(None),
        1 => Ok(Some(Trap::Pager)),
        2 => Ok(Some(Trap::Signal)),
        3 => Ok(Some(Trap::Off)),
        _ => {
            Err(Fault::new(EagreStatus::EagreSetting, format_args!("trap is {value}: it must be an EagreTrap, 0 to 3")))
        }
    }
}

pub(crate) fn mover(value: i32) -> Result<Option<Mover>, Fault> {
    match value {
        0 => Ok(None),
        1 => Ok(Some(Mover::Move)),
        2 => Ok(Some(Mover::Remap)),
        3 => Ok(Some(Mover::Copy)),
        4 => Ok(Some(Mover::Map)),
        _ => Err(Fault::new(
            EagreStatus::EagreSetting,
            format_args!("mover is {value}: it must be an EagreMover, 0 to 4"),
        )),
    }
}
