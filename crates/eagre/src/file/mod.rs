//! Files.

pub mod residency;
