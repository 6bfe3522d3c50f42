//! The orders that keys can be in, and whether they are.

use super::{FileKey, PIECE, ReadError, each_piece};
use crate::Reader;
use std::cmp::Ordering;

/// Which order keys are to be in. By default ascending by the whole key, and equal keys may follow one another.
#[derive(Clone, Copy, Debug, Default)]
pub struct Order {
    /// Descending.
    pub reverse: bool,
    /// Equal keys are out of order.
    pub strict: bool,
    /// Pairs are ordered by their first part only.
    pub by_first: bool,
}

impl Order {
    /// How two keys compare: by their bits as [`sort`](mod@crate::sort) orders them.
    pub fn compare<K: FileKey>(self, a: K, b: K) -> Ordering {
        // Of a pair, the first part is the upper half of the key.
        let shift = if self.by_first && K::IS_PAIR { K::KEY_BITS / 2 } else { 0 };
        let ordering = (a.key() >> shift).cmp(&(b.key() >> shift));
        if self.reverse { ordering.reverse() } else { ordering }
    }

    fn allows<K: FileKey>(self, before: K, after: K) -> bool {
        match self.compare(before, after) {
            Ordering::Less => true,
            Ordering::Equal => !self.strict,
            Ordering::Greater => false,
        }
    }
}

/// Keeps of each run of keys that compare equal the first, at the front of the slice, and returns how many those are.
pub fn unique<K: FileKey>(keys: &mut [K], order: Order) -> usize {
    let mut kept = 0;
    for at in 0..keys.len() {
        if kept == 0 || order.compare(keys[kept - 1], keys[at]).is_ne() {
            keys[kept] = keys[at];
            kept += 1;
        }
    }
    kept
}

/// The first place where keys are out of order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Disorder<K> {
    /// The index of the key that may not follow the one before it.
    pub index: u64,
    /// The one before it.
    pub before: K,
    /// That key.
    pub key: K,
}

/// Reads a stream of keys until the first that is out of order; none if there is no such. Calls `progress` with the
/// number of bytes read so far.
///
/// # Errors
/// As [`read`](super::read()), but for memory.
pub fn check<K: FileKey>(
    from: &mut Reader,
    order: Order,
    mut progress: impl FnMut(u64),
) -> Result<Option<Disorder<K>>, ReadError> {
    let mut keys = vec![K::ZERO; PIECE / K::WIDTH];
    let mut last = None;
    let mut found = None;
    let mut index = 0;
    each_piece(from, K::WIDTH, |bytes, done| {
        let keys = &mut keys[..bytes.len() / K::WIDTH];
        K::decode(bytes, keys);
        found = first_disorder(last, keys, order, index);
        last = keys.last().copied();
        index += keys.len() as u64;
        progress(done);
        Ok(found.is_none())
    })?;
    Ok(found)
}

/// The first disorder in a piece that follows `last` and begins at `index`.
fn first_disorder<K: FileKey>(last: Option<K>, keys: &[K], order: Order, index: u64) -> Option<Disorder<K>> {
    let first = *keys.first()?;
    if let Some(before) = last.filter(|&before| !order.allows(before, first)) {
        return Some(Disorder { index, before, key: first });
    }
    let at = keys.array_windows().position(|&[before, after]| !order.allows(before, after))?;
    Some(Disorder { index: index + at as u64 + 1, before: keys[at], key: keys[at + 1] })
}
