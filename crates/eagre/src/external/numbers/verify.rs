//! Keys as records, whose order and checksum are verified as those of all records are.

use std::io;
use std::marker::PhantomData;

use crate::keys::{FileKey, Order};
use crate::records::{Checksum, Fixed, Format, Malformed};

/// Records that are keys.
pub(super) struct KeyRecords<K> {
    records: Fixed,
    order: Order,
    keys: PhantomData<fn() -> K>,
}

impl<K: FileKey> KeyRecords<K> {
    pub(super) fn new(order: Order) -> io::Result<KeyRecords<K>> {
        let records = Fixed::new(K::WIDTH, &[]).map_err(io::Error::other)?;
        Ok(KeyRecords { records, order, keys: PhantomData })
    }

    /// Adds keys of a file to a checksum.
    pub(super) fn include(&self, keys: &[u8], sum: &mut Checksum) {
        for key in keys.chunks_exact(K::WIDTH) {
            sum.include(&self.records, key);
        }
    }

    /// A number in the order of the keys, or in the reverse of a descending one: whoever compares records turns that again.
    fn bits(&self, record: &[u8]) -> u128 {
        let mut key = [K::default()];
        K::decode(record, &mut key);
        let bits = self.order.bits(key[0]);
        if self.order.reverse { !bits } else { bits }
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
