//! Addresses without memory ([`reservation`]), memory on a budget ([`pool`]), and files in memory ([`mapping`]).
//!
//! # Safety
//! The first two own ranges of addresses and hand out their numbers; what may be read or written in them, and when, is
//! decided by the streams above. A mapping lends its bytes itself.

pub(crate) mod mapping;
pub(crate) mod pool;
pub(crate) mod reservation;
