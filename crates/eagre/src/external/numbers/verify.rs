//! Keys as records, whose order and checksum are verified as those of all records are.

use std::io;
use std::marker::PhantomData;

use crate::keys::FileKey;
use crate::records::{Checksum, Fixed, Format, Malformed};

/// Records that are keys.
pub(super) struct KeyRecords<K> {
    records: Fixed,
    /// Whether only the first part of a pair is compared.
    by_first: bool,
    keys: PhantomData<fn() -> K>,
}

impl<K: FileKey> KeyRecords<K> {
    pub(super) fn new(by_first: bool) -> io::Result<KeyRecords<K>> {
        let records = Fixed::new(K::WIDTH, &[]).map_err(io::Error::other)?;
        Ok(KeyRecords { records, by_first, keys: PhantomData })
    }

    /// Adds keys of a file to a checksum.
    pub(super) fn include(&self, keys: &[u8], sum: &mut Checksum) {
        for key in keys.chunks_exact(K::WIDTH) {
            sum.include(&self.records, key);
        }
    }

    /// A number in the order of the keys.
    fn bits(&self, record: &[u8]) -> u128 {
        let mut key = [K::default()];
        K::decode(record, &mut key);
        // Of a pair, the first part is the upper half of the key.
        let shift = if self.by_first && K::IS_PAIR { K::KEY_BITS / 2 } else { 0 };
        key[0].key() >> shift
    }
}

impl<K: FileKey> Format for KeyRecords<K> {
    fn length(&self, bytes: &[u8], last: bool) -> Result<Option<usize>, Malformed> {
        self.records.length(bytes, last)
    }

    fn key<'a>(&self, record: &'a [u8], scratch: &'a mut Vec<u8>) -> &'a [u8] {
        scratch.clear();
        scratch.extend_from_slice(&self.bits(record).to_be_bytes());
        scratch
    }

    fn prefix(&self, record: &[u8], _: &mut Vec<u8>) -> u128 {
        self.bits(record)
    }

    fn key_size(&self) -> Option<usize> {
        Some(size_of::<u128>())
    }

    fn record_size(&self) -> Option<usize> {
        Some(K::WIDTH)
    }
}
