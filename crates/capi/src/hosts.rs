//! Streams between hosts: the crate `eagre-net`, or a stand-in that says so where the library was built without it.

#[cfg(not(feature = "network"))]
mod absent;
#[cfg(feature = "network")]
mod present;

#[cfg(not(feature = "network"))]
pub(crate) use absent::{Connector, Listener, NetworkReader, NetworkWriter, Offer, Options, Transfer};
#[cfg(feature = "network")]
pub(crate) use present::{Connector, Listener, NetworkReader, NetworkWriter, Offer, Options, Transfer};

use eagre::PipeBuilder;
use std::borrow::Cow;
use std::path::Path;
use std::time::Duration;

/// How the two sides know each other.
#[cfg_attr(not(feature = "network"), allow(dead_code, reason = "the stand-in does not look at it"))]
pub(crate) enum Secret<'a> {
    /// They need not, on loopback.
    Loopback,
    Token(&'a [u8]),
    TokenFile(&'a Path),
    /// The file of this side's key, and the fingerprints of others.
    Keys(&'a Path, Vec<String>),
    /// They do not.
    InsecurePlain,
}

/// What a stream was that has been carried to its end.
pub(crate) struct Carried {
    pub(crate) bytes: u64,
    pub(crate) digest: [u8; 32],
}

/// What C asks for.
#[cfg_attr(not(feature = "network"), allow(dead_code, reason = "the stand-in does not look at it"))]
pub(crate) struct Wanted<'a> {
    pub(crate) secret: Secret<'a>,
    pub(crate) retry: Duration,
    pub(crate) silence: Duration,
    pub(crate) window: Option<usize>,
    pub(crate) block_size: Option<eagre::BlockSize>,
    pub(crate) length: Option<u64>,
    pub(crate) limit: Option<u64>,
    pub(crate) stream: Option<PipeBuilder>,
    pub(crate) rdma: Option<Cow<'a, str>>,
}
