//! Files as streams, and files that appear complete or not at all.

pub mod output;
pub mod residency;
