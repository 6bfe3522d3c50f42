//! Why items could not be partitioned.

use super::kernels::MAX_WAYS;
use super::kernels::scatter::NoMemory;
use eagre_mem::RewireError;
use eagre_mem::heap::Refused;
use std::fmt;

/// Items could not be partitioned. They are where they were; a vector that was to vanish holds them at the addresses it
/// had, perhaps in another order. For what may then be lost, see
/// [`Partitioner::partition_vec`](super::Partitioner::partition_vec).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PartitionError {
    /// So many ways are not possible.
    Ways(usize),
    /// Keys have not that many bits, or that is too many ways.
    Bits {
        /// The lowest bit.
        shift: u32,
        /// How many bits.
        bits: u32,
    },
    /// A boundary is smaller than the one before it, the one with this number.
    Unsorted(usize),
    /// It takes more memory beside the items than allowed, both in bytes.
    Slack {
        /// The least that would do.
        needed: usize,
        /// What is allowed.
        allowed: usize,
    },
    /// Memory could not be had or rewired.
    Memory(RewireError),
    /// The heap has no room for buffers.
    OutOfHeap,
    /// The keys of items were not the same when they were asked for again.
    KeysChanged,
    /// `EAGRE_SIMD` has a value that does not exist or that the processor does not have. The message says which.
    Environment(&'static str),
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
            PartitionError::Environment(why) => f.write_str(why),
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
