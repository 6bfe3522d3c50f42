//! Kernels for words with keys of up to 64 bits, in 512-bit registers.
//!
//! | file | what |
//! |---|---|
//! | [`lanes`] | words as 64-bit lanes and back |
//! | [`network`] | eight columns of words, each sorted by vertical minima and maxima |
//! | [`leaf`] | a radix step into small buckets, sorted as columns, eight at a time |
//! | [`registers`] | few words, sorted without leaving the registers |
//! | [`quick`] | quicksort, for what the leaf cannot take |

mod lanes;
mod leaf;
mod network;
mod quick;
mod registers;

pub(super) use leaf::leaf;
pub(super) use quick::by_comparison;
pub(super) use registers::FEW;

/// Whether the processor has what this file needs.
pub(super) fn available() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt")
}

/// Compiles `work` for such a processor, and runs it.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn run<R>(work: impl FnOnce() -> R) -> R {
    work()
}
