//! The loop in which partitioning spends its time, and all of its unsafe code.
//!
//! | kernel | what it does |
//! |---|---|
//! | [`classify`] | which bucket an item belongs to |
//! | [`scatter`] | takes items to their buckets through small buffers |
//! | [`stream`] | writes a full buffer past the caches |
//! | [`chains`] | the destination of buffers without counting: blocks, one after the other |
//! | [`placed`] | the destination of buffers after counting |
//! | [`assemble`] | makes one piece of memory of chains |
//! | [`view`] | memory as items |

pub(crate) mod assemble;
pub(crate) mod chains;
pub(crate) mod classify;
pub(crate) mod placed;
pub(crate) mod remains;
pub(crate) mod scatter;
mod stream;
pub(crate) mod view;

/// The most ways.
pub(crate) const MAX_WAYS: usize = 1024;
