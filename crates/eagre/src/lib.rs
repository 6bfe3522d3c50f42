//! One plain pointer to data larger than memory.
//!
//! This crate is the safe half of Eagre: what people do with streams (count, and later find, copy,
//! partition and sort), and what this machine can do for them ([`doctor`]). All code that faults,
//! maps and moves memory lives one layer below, in [`mem`].
#![forbid(unsafe_code)]

pub mod count;
pub mod doctor;

pub use eagre_mem as mem;
