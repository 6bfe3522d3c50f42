//! What can go wrong with rewired memory, each with its cure.

#![forbid(unsafe_code)]

use super::block::Block;
use crate::heap::{self, Refused};
use crate::sys::{Errno, Refusal};
use crate::units::Bytes;
use std::fmt;

/// Why memory could not be rewired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RewireErrorKind {
    /// There is no pool to take blocks from.
    NoPool,
    /// Nothing notices the touch of a pointer: the pool was made for the trap `off`.
    NoTrap,
    /// The reservation has no slot left: the limit it was made with is reached.
    Full,
    /// The pool's budget is used up.
    OutOfBlocks,
    /// The machine, or the control group, has no memory left.
    OutOfMemory,
    /// The process has no addresses left.
    OutOfAddresses,
    /// The process has about as many mappings as the kernel allows.
    OutOfMappings,
    /// A page of the block is pinned by I/O or locked (`mlock`), or was shared by a fork.
    Pinned,
    /// The pool's blocks move, or others share it: nobody can be told where they are.
    Moves,
    /// The slot holds a block already.
    Occupied,
    /// The block belongs to another pool.
    OtherPool,
    /// A forked child has no part in its parent's memory.
    Forked,
    /// The operating system refused.
    System,
}

impl RewireErrorKind {
    /// In words that need no memory of their own: a fault handler may have to say it.
    pub(super) fn why_and_cure(self) -> (&'static str, &'static str) {
        use RewireErrorKind::*;
        match self {
            NoPool => ("no pool to take blocks from", "`eagre doctor` tells the cure"),
            NoTrap => ("nothing notices a touch here", "use a RewiredVec, or a pool for another trap and mover"),
            Full => ("the reservation is full", "make it with a higher limit"),
            OutOfBlocks => ("the pool's budget is used up", "raise EAGRE_POOL, or make the pool with a larger budget"),
            OutOfMemory => ("no memory left", "use less, or raise `ulimit -v` or the control group's limit"),
            OutOfAddresses => ("no addresses left", "raise `ulimit -v`, or ask for less"),
            OutOfMappings => ("too many mappings", "raise vm.max_map_count, or use larger blocks or the mover `move`"),
            Pinned => ("a block is pinned by I/O, or locked", "wait until the I/O has ended, or munlock it"),
            Moves => ("blocks of this pool do not stay where they are", "make a pool of its own, for the mover `map`"),
            Occupied => ("the slot holds a block", "unmap it first"),
            OtherPool => ("the block belongs to another pool", "map it in a region of its own pool"),
            Forked => ("a forked child has no part in its parent's memory", "make a region in the child"),
            System => ("the operating system refused", "see its message"),
        }
    }
}

/// Memory could not be rewired. What was rewired before is as it was, unless the call says otherwise.
#[derive(Debug, PartialEq, Eq)]
pub struct RewireError {
    kind: RewireErrorKind,
    detail: String,
    cure: &'static str,
}

impl RewireError {
    /// Where the heap has no memory for the detail, it is missing.
    pub(crate) fn new(kind: RewireErrorKind, detail: impl fmt::Display) -> RewireError {
        RewireError { kind, detail: heap::text(detail), cure: kind.why_and_cure().1 }
    }

    /// The same where another cure helps.
    pub(super) fn cured_by(self, cure: &'static str) -> RewireError {
        RewireError { cure, ..self }
    }

    /// Addresses for `bytes` were refused.
    pub(crate) fn from_addresses(bytes: u64, refusal: Refusal) -> RewireError {
        match refusal.is_shortage() {
            true => RewireError::new(
                RewireErrorKind::OutOfAddresses,
                format_args!("{} were refused: {refusal}", Bytes(bytes)),
            ),
            false => RewireError::new(RewireErrorKind::System, refusal),
        }
    }

    /// Memory with a descriptor was refused: `bytes` of it, for what `whose` says.
    pub(super) fn from_memory(whose: &str, bytes: u64, refusal: Refusal) -> RewireError {
        let short = refusal.is_shortage() || refusal.errno == Errno::NOSPC;
        let kind = if short { RewireErrorKind::OutOfMemory } else { RewireErrorKind::System };
        RewireError::new(kind, format_args!("{} {whose} were refused: {refusal}", Bytes(bytes)))
    }

    /// What happened.
    pub fn kind(&self) -> RewireErrorKind {
        self.kind
    }
}

impl Clone for RewireError {
    fn clone(&self) -> RewireError {
        RewireError { kind: self.kind, detail: heap::text(&self.detail), cure: self.cure }
    }
}

impl From<Refused> for RewireError {
    fn from(refused: Refused) -> RewireError {
        RewireError::new(RewireErrorKind::OutOfMemory, refused)
    }
}

impl fmt::Display for RewireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (why, _) = self.kind.why_and_cure();
        write!(f, "rewired memory: {why}: {}; {}", self.detail, self.cure)
    }
}

impl std::error::Error for RewireError {}

impl From<RewireError> for std::io::Error {
    fn from(error: RewireError) -> Self {
        use RewireErrorKind::*;
        use std::io::ErrorKind as Io;
        let kind = match error.kind {
            OutOfBlocks | OutOfMemory | OutOfAddresses | OutOfMappings => Io::OutOfMemory,
            Full => Io::FileTooLarge,
            NoPool | NoTrap => Io::Unsupported,
            Occupied | OtherPool => Io::InvalidInput,
            Pinned => Io::ResourceBusy,
            Moves | Forked | System => Io::Other,
        };
        std::io::Error::new(kind, error)
    }
}

/// A block could not be mapped; here it is again.
#[derive(Debug)]
pub struct NotMapped {
    /// The block, with the bytes it had.
    pub block: Block,
    /// Why.
    pub error: RewireError,
}

impl fmt::Display for NotMapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for NotMapped {}
