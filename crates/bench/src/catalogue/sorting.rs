//! What is sorted, in what order it comes, and who sorts it.

use serde::{Deserialize, Serialize};

use crate::memory::Pages;

/// The share of the keys the trial is about.
pub(crate) const TRIAL: u64 = 16;

/// So many peers run after the trial,
pub(crate) const PEERS: usize = 3;

/// and none that was slower than this share of the best of them.
pub(crate) const SHARE: f64 = 0.6;

/// What is to be sorted, and by how many threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sorting {
    /// What a key is.
    pub keys: Keys,
    /// How they come.
    pub pattern: Pattern,
    /// How many are sorted at a time; all of them if there are fewer.
    pub piece: u64,
    /// How many threads may work on it.
    pub threads: usize,
    /// What the array lies on.
    pub pages: Pages,
    /// Fewer rounds than usual, where one takes long.
    pub rounds: Option<usize>,
}

/// What a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Keys {
    /// 32 bits.
    U32,
    /// 64 bits.
    U64,
    /// Floating point, without NaNs.
    F64,
    /// 64 bits and another 64 bits, which break ties.
    Pairs,
    /// 64 bits that are compared and 64 bits that say which came first: sorted stably, these are in order too.
    Stable,
}

/// How keys come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Pattern {
    /// Any number as likely as any other.
    Uniform,
    /// Any width as likely as any other.
    Exponential,
    /// Of 2^24 numbers the k-th about as often as 1/k.
    Zipf,
    /// One of 256 numbers.
    Few,
    /// In order.
    Sorted,
    /// In the opposite order.
    Reversed,
    /// All zero but one of a thousand.
    Zeros,
    /// Each byte as often zero as not: half of what shares a prefix shares the next byte too, however long it is.
    Prefixes,
}

/// Who sorts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum By {
    /// Eagre, within so much memory beside the keys.
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
    /// The same with its tuner for little memory.
    RdstLow,
    /// A function of a C++ library, by the beginning of its name.
    Foreign(Foreign),
    /// A library for Python.
    Python(Module),
}

/// How much memory Eagre may take beside the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Slack {
    /// What it takes if it is not told.
    Default,
    /// As much as it likes.
    Free,
    /// One part of so many of the keys' own memory.
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
