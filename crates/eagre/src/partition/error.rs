//! Why items could not be partitioned.

use super::kernels::MAX_WAYS;
use super::kernels::scatter::NoMemory;
use crate::sort::Level;
use eagre_mem::RewireError;
use eagre_mem::heap::Refused;
use std::fmt;

/// Why items could not be partitioned. The items are where they were. A vector that was to vanish has them at the
/// addresses it had, perhaps in another order; [`Partitioner::partition_vec`](super::Partitioner::partition_vec) names
/// the exception.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PartitionError {
    /// The number of ways is not between 2 and 1024.
    Ways(usize),
    /// Keys do not have these bits, or they make too many ways.
    Bits {
        /// The lowest bit.
        shift: u32,
        /// How many bits.
        bits: u32,
    },
    /// The boundaries are not in ascending order: the one with this index is larger than the next one.
    Unsorted(usize),
    /// Partitioning needs more memory beside the items than allowed.
    Slack {
        /// The fewest bytes that suffice.
        needed: usize,
        /// The bytes that are allowed.
        allowed: usize,
    },
    /// The pool has no more blocks, or the system refused memory or its rewiring.
    Memory(RewireError),
    /// The system refused memory for buffers.
    OutOfHeap,
    /// [`Keyed::key`](super::Keyed::key) returned different keys for the same item.
    KeysChanged,
    /// `EAGRE_SIMD` has a value that does not exist or that the processor does not have. The message says which.
    Environment,
}

impl fmt::Display for PartitionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "partition: ")?;
        match self {
            PartitionError::Ways(ways) => write!(f, "{ways} ways; 2 to {MAX_WAYS} are possible"),
            PartitionError::Bits { shift, bits } => {
                write!(f, "{bits} bits above the lowest {shift}; 1 to 10 bits that keys have are possible")
            }
            PartitionError::Unsorted(number) => {
                write!(f, "boundary {number} is larger than the next one; sort the boundaries")
            }
            PartitionError::Slack { needed, allowed } => write!(
                f,
                "{needed} bytes beside the items are needed, {allowed} allowed; allow more slack, or use fewer ways, \
                 fewer threads, or a pool with smaller blocks"
            ),
            PartitionError::Memory(error) => error.fmt(f),
            PartitionError::OutOfHeap => write!(f, "no memory for buffers; use less"),
            PartitionError::KeysChanged => {
                write!(f, "keys change while they are read; compute them from the item only")
            }
            PartitionError::Environment => f.write_str(Level::chosen().err().unwrap_or("EAGRE_SIMD")),
        }
    }
}

impl std::error::Error for PartitionError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            PartitionError::Memory(error) => Some(error),
            _ => None,
        }
    }
}

impl From<RewireError> for PartitionError {
    fn from(error: RewireError) -> PartitionError {
        PartitionError::Memory(error)
    }
}

impl From<Refused> for PartitionError {
    fn from(_: Refused) -> PartitionError {
        PartitionError::OutOfHeap
    }
}

impl From<NoMemory> for PartitionError {
    fn from(NoMemory: NoMemory) -> PartitionError {
        PartitionError::OutOfHeap
    }
}
