//! Keys of runs, and the bits that order them.

use std::io;

use super::merge::{Bits, Source};
use crate::external::run::Content;
use crate::keys::FileKey;

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

/// The bits of keys of at most 64 bits, and of the first parts of pairs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Narrow {
    pub(super) by_first: bool,
    pub(super) descending: bool,
}

impl Narrow {
    /// Whether these bits are all that order the keys.
    pub(super) fn suffices<K: FileKey>(self) -> bool {
        K::KEY_BITS <= 64 || K::IS_PAIR && self.by_first
    }
}

impl<K: FileKey> Bits<K> for Narrow {
    type Number = u64;
    const LARGEST: u64 = u64::MAX;

    #[inline(always)]
    fn of(self, key: K) -> u64 {
        // Of a pair, the first part is the upper half of the key.
        let bits = if K::IS_PAIR && self.by_first { key.key() >> (K::KEY_BITS / 2) } else { key.key() };
        if self.descending { !(bits as u64) } else { bits as u64 }
    }
}

/// The bits of all other keys.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wide {
    pub(super) descending: bool,
}

impl<K: FileKey> Bits<K> for Wide {
    type Number = u128;
    const LARGEST: u128 = u128::MAX;

    #[inline(always)]
    fn of(self, key: K) -> u128 {
        if self.descending { !key.key() } else { key.key() }
    }
}
