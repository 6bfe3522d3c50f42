//! Whether keys are in order, and in which order they should be.

use super::file::{PIECE, each_piece};
use super::{FileKey, ReadError};
use crate::Reader;
use crate::sort::SortOrder;
use std::cmp::Ordering;

/// An order of keys. The default is ascending by the whole key, with equal keys allowed.
///
/// ```
/// use eagre::keys::{Order, unique};
///
/// let mut by_first = Order::default();
/// by_first.by_first = true;
/// let mut pairs = [(1u32, 9u32), (1, 8), (2, 0)];
/// assert_eq!(unique(&mut pairs, by_first), 2);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Order {
    /// The order is descending.
    pub reverse: bool,
    /// A key that equals the one before it is out of order.
    pub strict: bool,
    /// Only the first parts of pairs are compared.
    pub by_first: bool,
    /// NaN come behind all numbers, in a descending order too; then NaN equals NaN, and -0 equals 0.
    pub nan_last: bool,
}

impl Order {
    /// Compares two keys in this order. Floating-point numbers are in their total order, as in
    /// [`sort`](mod@crate::sort), unless NaN come last.
    pub fn compare<K: FileKey>(self, a: K, b: K) -> Ordering {
        self.bits(a).cmp(&self.bits(b))
    }

    /// A number that comes the earlier in this order the smaller it is, and is the same for equal keys.
    #[inline(always)]
    pub(crate) fn bits<K: FileKey>(self, key: K) -> u128 {
        let order = SortOrder { descending: self.reverse, nan_last: self.nan_last && K::REAL };
        // Of a pair, the first part is the upper half of the key.
        let shift = if self.by_first && K::IS_PAIR { K::KEY_BITS / 2 } else { 0 };
        order.key(key).key() >> shift
    }

    fn allows<K: FileKey>(self, before: K, after: K) -> bool {
        match self.compare(before, after) {
            Ordering::Less => true,
            Ordering::Equal => !self.strict,
            Ordering::Greater => false,
        }
    }
}

/// Moves the first key of each run of equal keys to the front of the slice, and returns how many these are. What
/// follows them has no meaning.
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

/// The first key that is out of order.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Disorder<K> {
    /// How many keys lie before it.
    pub index: u64,
    /// The key before it.
    pub before: K,
    /// The key itself.
    pub key: K,
}

/// Reads a stream of keys up to the first one that is out of order. Returns `None` if all keys are in order. Calls
/// `progress` with the number of bytes read so far.
///
/// # Errors
/// Those of [`read`](super::read()), except [`ReadError::Memory`].
pub fn check<K: FileKey>(
    from: &mut Reader,
    order: Order,
    mut progress: impl FnMut(u64),
) -> Result<Option<Disorder<K>>, ReadError> {
    let mut keys = vec![K::default(); PIECE / K::WIDTH];
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

/// Finds the first key that is out of order in a piece. The piece follows the key `last`, and begins at `index`.
fn first_disorder<K: FileKey>(last: Option<K>, keys: &[K], order: Order, index: u64) -> Option<Disorder<K>> {
    let first = *keys.first()?;
    if let Some(before) = last.filter(|&before| !order.allows(before, first)) {
        return Some(Disorder { index, before, key: first });
    }
    let at = keys.windows(2).position(|two| !order.allows(two[0], two[1]))?;
    Some(Disorder { index: index + at as u64 + 1, before: keys[at], key: keys[at + 1] })
}
