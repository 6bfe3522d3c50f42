//! Sorting: keys, their distribution, and the sorts.

use serde::{Deserialize, Serialize};

use crate::memory::Pages;

/// The trial sorts one part in this many of the keys.
pub(crate) const TRIAL: u64 = 16;

/// At most this many peers run after the trial.
pub(crate) const PEERS: usize = 3;

/// A peer runs after the trial only if it reaches this share of the best peer's speed.
pub(crate) const SHARE: f64 = 0.6;

/// What is sorted, and with how many threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sorting {
    /// What a key is.
    pub keys: Keys,
    /// How they are distributed.
    pub pattern: Pattern,
    /// How many are sorted at a time; all if there are fewer.
    pub piece: u64,
    /// How many threads may work on it.
    pub threads: usize,
    /// The pages of the array.
    pub pages: Pages,
    /// Fewer rounds than usual, if a round takes long.
    pub rounds: Option<usize>,
}

/// What a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Keys {
    /// 32 bits.
    U32,
    /// 64 bits.
    U64,
    /// 64-bit floating point, without NaNs.
    F64,
    /// Two numbers of 64 bits; the second breaks ties.
    Pairs,
    /// Two numbers of 64 bits: the first is compared, the second is the position. After a stable sort, equal first numbers
    /// have ascending positions.
    Stable,
}

/// How keys are distributed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Pattern {
    /// All numbers equally likely.
    Uniform,
    /// All bit widths equally likely.
    Exponential,
    /// The k-th of 2^24 numbers with a probability of about 1/k (Zipf).
    Zipf,
    /// One of 256 numbers.
    Few,
    /// Ascending.
    Sorted,
    /// Descending.
    Reversed,
    /// Zero, but for one in a thousand.
    Zeros,
    /// Each byte is zero with a probability of one half: half of the keys with a common prefix also share the next byte.
    Prefixes,
}

/// A sort.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum By {
    /// Eagre, with this much extra memory.
    Eagre(Slack),
    /// `slice::sort_unstable`.
    StdUnstable,
    /// `slice::sort`.
    StdStable,
    /// `rayon`'s parallel unstable sort.
    RayonUnstable,
    /// The crate `radsort`.
    Radsort,
    /// The crate `voracious_radix_sort`.
    Voracious,
    /// The crate `rdst`.
    Rdst,
    /// The crate `rdst` with its low-memory tuner.
    RdstLow,
    /// A C++ library.
    Foreign(Foreign),
    /// A library for Python.
    Python(Module),
}

/// How much memory Eagre may take in addition to the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Slack {
    /// The default.
    Default,
    /// No limit.
    Free,
    /// One part in this many of the memory of the keys.
    Part(u32),
}

/// A sort written in C++.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Foreign {
    /// Highway's.
    Vqsort,
    /// Intel's, which is also NumPy's.
    X86SimdSort,
    /// In-place parallel super scalar samplesort.
    Ips4o,
    /// Boost's radix hybrid.
    Spreadsort,
    /// Boost's pattern-defeating quicksort.
    Pdqsort,
    /// Boost's parallel sort in place.
    BlockIndirect,
    /// Boost's stable merge sort.
    Spinsort,
}

/// A sort used from Python.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Module {
    /// `numpy.ndarray.sort`, in place.
    Numpy,
    /// `polars.Series.sort`, into a new series.
    Polars,
}
