//! Partitioning: distributes items to buckets by their keys, in one pass.
//!
//! Partitioning into ordinary arrays needs a counting pass, or a reallocation whenever a bucket fills. Here a bucket
//! grows by another block of a pool, and at the end the blocks of all buckets are rewired to consecutive addresses. So
//! items that can be read only once are partitioned as fast as if the sizes of all buckets were known. The input may
//! vanish as it is read: its blocks become blocks of the buckets.
//!
//! Within a bucket items keep their order, whatever the number of threads, unless [`Layout::DenseAnyOrder`] is chosen.
//!
//! ```
//! use eagre::partition::Partitioner;
//!
//! let numbers: Vec<u32> = (0..1000).map(|i: u32| i.wrapping_mul(2_654_435_761)).collect();
//! let parts = Partitioner::new().ways(4).partition(&numbers)?;
//! assert!(parts.bucket(1).iter().all(|number| number >> 30 == 1));
//!
//! let small_and_large = Partitioner::new().boundaries(&[1 << 20]).partition(&numbers)?;
//! assert!(small_and_large.bucket(0).iter().all(|&number| number < 1 << 20));
//! # Ok::<(), eagre::partition::PartitionError>(())
//! ```

mod chained;
mod error;
#[allow(unsafe_code, reason = "loops whose bounds are proved once and not per item, and memory seen as items")]
mod kernels;
mod partitions;
#[cfg(test)]
mod tests;

pub use crate::keys::Keyed;
pub use error::PartitionError;
pub use partitions::Partitions;

use crate::sort::Level;
use chained::Chained;
use eagre_mem::heap::{self, Shared};
use eagre_mem::{BlockSize, Pool, RewireError, RewiredVec, threads};
use kernels::MAX_WAYS;
use kernels::classify::{Bits, Boundaries, Classify, Ranges};
use kernels::placed::counted;
use kernels::view::Filled;

/// Where buckets lie in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Layout {
    /// Each bucket begins with a block of its own. Nothing is copied, and there is room after each bucket. (If items
    /// are counted first, because they are few for so many ways, there is no room between buckets.)
    #[default]
    Apart,
    /// The buckets form one array.
    Dense,
    /// The buckets form one array, and the items of a bucket are in any order. At most about a block of each bucket is
    /// copied.
    DenseAnyOrder,
}

/// The rule that assigns items to buckets.
#[derive(Clone, Debug)]
enum Split {
    Ways(usize),
    Bits {
        shift: u32,
        bits: u32,
    },
    /// `None` if memory for them was refused.
    Boundaries(Option<Shared<Vec<u64>>>),
}

/// With fewer bytes for each of them, threads cost more time than they save.
const WORTH_A_THREAD: usize = if cfg!(test) { 1 << 12 } else { 1 << 20 };

/// Options of a partition, and the ways to partition.
#[derive(Clone, Debug)]
pub struct Partitioner {
    split: Split,
    /// The most threads; 0 means as many as the process may use.
    threads: usize,
    pool: Option<Pool>,
    layout: Layout,
    slack: Option<usize>,
}

impl Default for Partitioner {
    fn default() -> Partitioner {
        Partitioner::new()
    }
}

impl Partitioner {
    /// Partitions into 256 ranges of keys of equal width, on as many threads as the process may use.
    pub fn new() -> Partitioner {
        Partitioner { split: Split::Ways(256), threads: 0, pool: None, layout: Layout::Apart, slack: None }
    }

    /// Partitions into `ways` ranges of keys of equal width, 2 to 1024. A power of two means the highest bits of the
    /// key.
    pub fn ways(mut self, ways: usize) -> Partitioner {
        self.split = Split::Ways(ways);
        self
    }

    /// Partitions by `bits` bits of the key, 1 to 10, above the `shift` lowest.
    pub fn bits(mut self, shift: u32, bits: u32) -> Partitioner {
        self.split = Split::Bits { shift, bits };
        self
    }

    /// Partitions by boundaries, 1 to 1023 in ascending order: bucket `i` begins with boundary `i - 1` and ends before
    /// boundary `i`. Boundaries are keys as [`Keyed::key`] returns them: for signed and floating-point numbers,
    /// `number.key()`.
    pub fn boundaries(mut self, boundaries: &[u64]) -> Partitioner {
        self.split = Split::Boundaries(heap::copied(boundaries).and_then(Shared::new).ok());
        self
    }

    /// Uses at most so many threads. 0, the default, means as many as the process may use.
    pub fn threads(mut self, threads: usize) -> Partitioner {
        self.threads = threads;
        self
    }

    /// Takes blocks from this pool instead of the one that all share. The pool of a vector that vanishes is its own.
    pub fn pool(mut self, pool: &Pool) -> Partitioner {
        self.pool = Some(pool.clone());
        self
    }

    /// Says where the buckets lie in memory.
    pub fn layout(mut self, layout: Layout) -> Partitioner {
        self.layout = layout;
        self
    }

    /// Takes at most so many bytes of memory beside the items, and half a MiB for each thread.
    ///
    /// One pass takes a block for each bucket and thread. If that is more than allowed, items in a slice are counted
    /// first, which takes no memory. For a vector that vanishes, fewer threads are used; if that is not enough, its
    /// items are counted and copied, which takes as much memory as they do; and if that is too much, it is an error.
    ///
    /// The default is as many bytes as the items have. For a vector that vanishes, it is a quarter of that, or what one
    /// thread takes if that is more.
    pub fn slack(mut self, bytes: usize) -> Partitioner {
        self.slack = Some(bytes);
        self
    }

    /// Partitions a slice. The buckets have copies of its items.
    ///
    /// # Errors
    /// [`PartitionError`].
    ///
    /// # Panics
    /// If [`Keyed::key`] does.
    pub fn partition<T: Keyed>(&self, items: &[T]) -> Result<Partitions<T>, PartitionError> {
        self.classified::<T, _>(Slice(items))
    }

    /// Partitions the items of a vector. The vector vanishes as it is read, and is empty afterwards. Its blocks become
    /// the buckets.
    ///
    /// # Errors
    /// [`PartitionError`]. The vector still has all items, in some order, at the addresses it had, and its
    /// [`limit`](RewiredVec::limit). There is one exception: items are lost if the system refuses to map blocks back
    /// because others have meanwhile used up its mappings. This cannot happen with the movers `move` and `copy`.
    ///
    /// # Panics
    /// If [`Keyed::key`] does. The vector still has all items then. Also if a block cannot be taken because it is
    /// pinned, and the blocks before it cannot go back: see [`RewiredVec::take_blocks`].
    pub fn partition_vec<T: Keyed>(&self, items: &mut RewiredVec<T>) -> Result<Partitions<T>, PartitionError> {
        self.classified::<T, _>(Vanishing(items))
    }

    /// Runs a job with the classifier that is asked for.
    fn classified<T: Keyed, J: Job<T>>(&self, job: J) -> Result<Partitions<T>, PartitionError> {
        Level::chosen().map_err(|_| PartitionError::Environment)?;
        let filled = match &self.split {
            &Split::Bits { shift, bits } => {
                if !(1..=10).contains(&bits) || shift.checked_add(bits).is_none_or(|end| end > T::KEY_BITS) {
                    return Err(PartitionError::Bits { shift, bits });
                }
                job.run(self, &Bits::new(shift, bits))
            }
            &Split::Ways(ways) => {
                if !(2..=MAX_WAYS).contains(&ways) {
                    return Err(PartitionError::Ways(ways));
                }
                if ways.is_power_of_two() && ways.ilog2() <= T::KEY_BITS {
                    job.run(self, &Bits::new(T::KEY_BITS - ways.ilog2(), ways.ilog2()))
                } else {
                    job.run(self, &Ranges::new(T::KEY_BITS, ways))
                }
            }
            Split::Boundaries(boundaries) => {
                let boundaries = boundaries.as_ref().ok_or(PartitionError::OutOfHeap)?;
                if !(1..MAX_WAYS).contains(&boundaries.len()) {
                    return Err(PartitionError::Ways(boundaries.len() + 1));
                }
                if let Some(number) = boundaries.windows(2).position(|pair| pair[0] > pair[1]) {
                    return Err(PartitionError::Unsorted(number));
                }
                job.run(self, &Boundaries::new(boundaries)?)
            }
        };
        filled.map(Partitions::new)
    }

    /// How many threads to use for so many bytes.
    fn threads_for(&self, bytes: usize) -> usize {
        let threads = if self.threads == 0 { threads::available().get() } else { self.threads };
        threads.min(bytes / WORTH_A_THREAD).max(1)
    }

    fn chained<'p, C: Classify>(&self, classify: &'p C, pool: &'p Pool, threads: usize) -> Chained<'p, C> {
        Chained { classify, pool, threads, layout: self.layout }
    }

    /// The pool to take blocks from.
    fn blocks(&self) -> Result<Pool, PartitionError> {
        match &self.pool {
            Some(pool) => Ok(pool.clone()),
            None => Ok(Pool::shared(BlockSize::DEFAULT).map_err(RewireError::from)?),
        }
    }
}

/// Items to partition.
trait Job<T> {
    fn run<C: Classify>(self, how: &Partitioner, classify: &C) -> Result<Filled<T>, PartitionError>;
}

/// Items that are only read.
struct Slice<'a, T>(&'a [T]);

impl<T: Keyed> Job<T> for Slice<'_, T> {
    fn run<C: Classify>(self, how: &Partitioner, classify: &C) -> Result<Filled<T>, PartitionError> {
        let (pool, bytes) = (how.blocks()?, size_of_val(self.0));
        let threads = how.threads_for(bytes);
        let chains = classify.ways().saturating_mul(threads).saturating_mul(pool.block_size().bytes());
        // For one array, reading all items twice costs less than copying them again.
        let dense = how.layout == Layout::Dense && !C::SEARCHES && how.slack.is_none();
        if chains <= how.slack.unwrap_or(bytes) && !dense {
            how.chained(classify, &pool, threads).copy(self.0)
        } else {
            counted(self.0, classify, threads, &pool)
        }
    }
}

/// Items of a vector that vanishes.
struct Vanishing<'a, T>(&'a mut RewiredVec<T>);

impl<T: Keyed> Job<T> for Vanishing<'_, T> {
    fn run<C: Classify>(self, how: &Partitioner, classify: &C) -> Result<Filled<T>, PartitionError> {
        let (pool, bytes) = (self.0.pool(), size_of_val(&**self.0));
        let one = classify.ways().saturating_mul(pool.block_size().bytes());
        let allowed = how.slack.unwrap_or((bytes / 4).max(one.min(bytes)));
        let threads = how.threads_for(bytes);
        if one <= allowed {
            return how.chained(classify, &pool, threads.min(allowed / one)).vanish(self.0);
        }
        if bytes > allowed {
            return Err(PartitionError::Slack { needed: one.min(bytes), allowed });
        }
        let filled = counted(self.0, classify, threads, &pool)?;
        self.0.clear();
        self.0.shrink_to_fit();
        Ok(filled)
    }
}
