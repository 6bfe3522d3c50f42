//! Placeholder.
pub use eagre_mem as mem;
