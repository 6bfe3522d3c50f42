//! Addresses without memory ([`reservation`]) and memory on a budget ([`pool`]).
//!
//! # Safety
//! Both own ranges of addresses and hand out their numbers; what may be read or written in them, and when, is decided
//! by the streams above.

pub(crate) mod pool;
pub(crate) mod reservation;
