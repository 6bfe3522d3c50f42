//! What a stream has done so far, for C.

use crate::ends::{AnyControl, Either};
use crate::pair::{EagreMover, EagreTrap};
use crate::status::Fault;
use eagre::{Mover, Trap};
use std::mem::{offset_of, size_of};

/// The version of EagreStats in this header.
pub const EAGRE_STATS_VERSION: u32 = 2;

/// The size of the struct in the first version that had it. Never changes.
pub(crate) const EAGRE_STATS_SMALLEST: usize = offset_of!(EagreStats, most) + size_of::<u64>();

/// What a stream has done and holds. Fields a library does not know are zero.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct EagreStats {
    /// The size of this struct in bytes, as the caller has it.
    pub size: u32,
    /// The version the library has filled in.
    pub version: u32,
    /// The EagreTrap in force.
    pub trap: i32,
    /// The EagreMover in force.
    pub mover: i32,
    /// Blocks the writer has taken.
    pub writer_blocks: u64,
    /// Touches of the writer's pointer that stopped a thread.
    pub writer_faults: u64,
    /// Blocks moved to the writer's addresses.
    pub writer_moves: u64,
    /// Blocks replaced by another for the writer because they were pinned by I/O.
    pub writer_substituted: u64,
    /// Times the writer had to wait for the reader.
    pub writer_waits: u64,
    /// How long, together, in nanoseconds.
    pub writer_wait_ns: u64,
    /// Bytes committed through explicit calls, or declared written.
    pub writer_position: u64,
    /// Blocks the reader has taken.
    pub reader_blocks: u64,
    /// Touches of the reader's pointer that stopped a thread.
    pub reader_faults: u64,
    /// Blocks moved to the reader's addresses.
    pub reader_moves: u64,
    /// Blocks replaced by another for the reader because they were pinned by I/O.
    pub reader_substituted: u64,
    /// Times the reader had to wait for the writer.
    pub reader_waits: u64,
    /// How long, together, in nanoseconds.
    pub reader_wait_ns: u64,
    /// Bytes consumed through explicit calls, or declared read.
    pub reader_position: u64,
    /// Blocks the reader may read or has read.
    pub published: u64,
    /// Blocks the reader has given back.
    pub released: u64,
    /// Blocks of memory held now.
    pub held: u64,
    /// The most it may hold: N + L + M + 1.
    pub most: u64,
    /// The most bytes the stream can carry. Version 2.
    pub capacity: u64,
}

impl EagreStats {
    pub(crate) fn of(control: &AnyControl) -> Result<EagreStats, Fault> {
        let stats = control.stats()?;
        let (trap, mover) = match control {
            Either::Here(control) => (control.trap(), control.mover()),
            // Always: other traps do not see memory that two processes have.
            Either::Process(_) => (Trap::Signal, Mover::Remap),
        };
        let trap = match trap {
            Trap::Pager => EagreTrap::Pager,
            Trap::Signal => EagreTrap::Signal,
            _ => EagreTrap::Off,
        };
        let mover = match mover {
            Mover::Move => EagreMover::Move,
            Mover::Remap => EagreMover::Remap,
            Mover::Map => EagreMover::Map,
            _ => EagreMover::Copy,
        };
        Ok(EagreStats {
            size: size_of::<EagreStats>() as u32,
            version: EAGRE_STATS_VERSION,
            trap: trap as i32,
            mover: mover as i32,
            writer_blocks: stats.writer.blocks,
            writer_faults: stats.writer.faults,
            writer_moves: stats.writer.moves,
            writer_substituted: stats.writer.substituted,
            writer_waits: stats.writer.waits,
            writer_wait_ns: stats.writer.wait_ns,
            writer_position: stats.writer.position,
            reader_blocks: stats.reader.blocks,
            reader_faults: stats.reader.faults,
            reader_moves: stats.reader.moves,
            reader_substituted: stats.reader.substituted,
            reader_waits: stats.reader.waits,
            reader_wait_ns: stats.reader.wait_ns,
            reader_position: stats.reader.position,
            published: stats.published,
            released: stats.released,
            held: stats.held,
            most: stats.most,
            capacity: stats.capacity,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_version_keeps_its_size_and_has_no_padding() {
        assert_eq!(EAGRE_STATS_SMALLEST, 4 * 4 + 18 * 8);
        assert_eq!(size_of::<EagreStats>() % 8, 0);
    }
}
