//! Keys of runs, and the bits that order them.

use std::io;

use super::merge::{Bits, Source};
use crate::external::run::Content;
use crate::keys::{FileKey, Order};

/// How many bytes of keys a run has decoded at a time. Those of all runs stay in the cache.
pub(super) const PIECE: usize = 32 << 10;

/// The keys of a run.
pub(super) struct Keys(pub(super) Content);

impl<K: FileKey> Source<K> for Keys {
    fn next(&mut self, keys: &mut Vec<K>) -> io::Result<()> {
        let bytes = self.0.fill(K::WIDTH)?;
        let whole = bytes.len().min(PIECE) / K::WIDTH * K::WIDTH;
        keys.resize(whole / K::WIDTH, K::default());
        K::decode(&bytes[..whole], keys);
        self.0.consume(whole);
        Ok(())
    }
}

/// The bits of keys of at most 64 bits, and of the first parts of pairs, in an order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Narrow(pub(super) Order);

impl Narrow {
    /// Whether these bits are all that order the keys.
    pub(super) fn suffices<K: FileKey>(self) -> bool {
        K::KEY_BITS <= 64 || K::IS_PAIR && self.0.by_first
    }
}

impl<K: FileKey> Bits<K> for Narrow {
    type Number = u64;
    const LARGEST: u64 = u64::MAX;

    #[inline(always)]
    fn of(self, key: K) -> u64 {
        self.0.bits(key) as u64
    }
}

/// The bits of all other keys.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wide(pub(super) Order);

impl<K: FileKey> Bits<K> for Wide {
    type Number = u128;
    const LARGEST: u128 = u128::MAX;

    #[inline(always)]
    fn of(self, key: K) -> u128 {
        self.0.bits(key)
    }
}
