//! Keys that were seen lately. Where few keys are distinct, most repeated records need no word.

use std::ops::Range;

use eagre_mem::heap::{self, Refused};

use super::Index;
use super::index::{IndexError, record_at};
use crate::records::{self, Format};

/// How many keys are remembered: the table stays in the cache.
const SLOTS: usize = 1 << BITS;
const BITS: u32 = 14;
/// No record begins here.
const NOTHING: usize = usize::MAX;

/// Where the last record of each hash begins. It is for one thread, which meets records in the order of the buffer.
pub(crate) struct Seen(Vec<usize>);

impl Seen {
    pub(crate) fn new() -> Result<Seen, Refused> {
        Ok(Seen(heap::filled(SLOTS, NOTHING)?))
    }

    /// Forgets everything: the buffer will have other records.
    pub(crate) fn forget(&mut self) {
        self.0.fill(NOTHING);
    }

    /// The slot of a key: of its first and last bytes, and its length.
    fn slot(&mut self, key: &[u8]) -> &mut usize {
        const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
        let ends = records::word(key, 0) ^ records::word(key, key.len().saturating_sub(16)).rotate_left(29);
        let mixed = ((ends >> 64) as u64).wrapping_mul(ODD) ^ ends as u64 ^ key.len() as u64;
        &mut self.0[(mixed.wrapping_mul(ODD) >> (u64::BITS - BITS)) as usize]
    }
}

/// What [`append_distinct`] found.
pub(crate) struct Found {
    /// The size of the longest record.
    pub(crate) longest: usize,
    /// The records, with those that were left out.
    pub(crate) records: usize,
}

/// As [`Index::append`], but records may be left out whose key is that of one before.
pub(crate) fn append_distinct<F: Format>(
    index: &Index,
    format: &F,
    bytes: &[u8],
    range: Range<usize>,
    words: &mut Vec<u128>,
    seen: &mut Seen,
) -> Result<Found, IndexError> {
    let (mut scratch, mut other) = (Vec::new(), Vec::new());
    let mut records = 0;
    let longest = index.append_if(format, bytes, range, words, |record, at| {
        records += 1;
        let key = format.key(record, &mut scratch);
        let slot = seen.slot(key);
        if *slot != NOTHING && format.key(record_at(format, bytes, *slot, usize::MAX), &mut other) == key {
            return false;
        }
        *slot = at;
        true
    })?;
    Ok(Found { longest, records })
}
