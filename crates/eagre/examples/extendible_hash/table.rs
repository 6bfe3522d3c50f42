//! A hash table that grows by splitting one bucket at a time (extendible hashing: Fagin and others, 1979).
//!
//! ```text
//!   directory, by the lowest bits of the hash      buckets
//!   ...00 ─────────────────────────────────────▶  a
//!   ...01 ──────────┬──────────────────────────▶  b        one bit is enough for b so far
//!   ...10 ──────────┼──────────────────────────▶  c
//!   ...11 ──────────┘
//! ```
//!
//! A full bucket is split in two by one more bit of the hash. If it has only one entry, the directory is doubled first: its upper half
//! repeats the lower one, and then one entry changes. A directory in a `Vec` copies all of its entries for that. One in a
//! [`ViewArray`] maps the same memory once more, and only the block with the entry that changes is copied.

use eagre::{RewireError, ViewArray};

/// Which bucket each hash is in: a power of two of entries.
pub(crate) trait Directory {
    fn entries(&self) -> &[u64];

    /// Repeats all entries.
    fn double(&mut self) -> Result<(), RewireError>;

    /// Changes entry `first` and each `step`th from there on.
    fn set(&mut self, first: usize, step: usize, bucket: u64) -> Result<(), RewireError>;
}

impl Directory for Vec<u64> {
    fn entries(&self) -> &[u64] {
        self
    }

    fn double(&mut self) -> Result<(), RewireError> {
        self.extend_from_within(..);
        Ok(())
    }

    fn set(&mut self, first: usize, step: usize, bucket: u64) -> Result<(), RewireError> {
        self[first..].iter_mut().step_by(step).for_each(|entry| *entry = bucket);
        Ok(())
    }
}

impl Directory for ViewArray<u64> {
    fn entries(&self) -> &[u64] {
        self
    }

    fn double(&mut self) -> Result<(), RewireError> {
        self.extend_from_within(..)
    }

    fn set(&mut self, first: usize, step: usize, bucket: u64) -> Result<(), RewireError> {
        let (len, each) = (self.len(), self.block_len());
        let mut entry = first;
        while entry < len {
            let block = entry / each;
            let entries = self.write(block..=block)?;
            while entry < len && entry / each == block {
                entries[entry % each] = bucket;
                entry += step;
            }
        }
        Ok(())
    }
}

/// The keys that a bucket holds.
const KEYS: usize = 15;

/// Two arrays of 15 words and two words: four cache lines.
#[derive(Clone)]
struct Bucket {
    keys: [u64; KEYS],
    values: [u64; KEYS],
    len: usize,
    /// How many bits of the hash its keys have in common.
    bits: u32,
}

impl Bucket {
    fn new(bits: u32) -> Bucket {
        Bucket { keys: [0; KEYS], values: [0; KEYS], len: 0, bits }
    }

    fn find(&self, key: u64) -> Option<usize> {
        self.keys[..self.len].iter().position(|&other| other == key)
    }

    fn push(&mut self, key: u64, value: u64) {
        (self.keys[self.len], self.values[self.len]) = (key, value);
        self.len += 1;
    }
}

/// A hash table of words.
pub(crate) struct Table<D> {
    pub(crate) directory: D,
    buckets: Vec<Bucket>,
}

/// Spreads keys (the finalizer of MurmurHash3).
fn hash(key: u64) -> u64 {
    let key = (key ^ (key >> 33)).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    let key = (key ^ (key >> 33)).wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    key ^ (key >> 33)
}

impl<D: Directory> Table<D> {
    /// An empty table. All entries of the directory are zeros: they say the first bucket.
    pub(crate) fn new(directory: D) -> Table<D> {
        Table { directory, buckets: vec![Bucket::new(0)] }
    }

    fn entry(&self, key: u64) -> usize {
        hash(key) as usize & (self.directory.entries().len() - 1)
    }

    pub(crate) fn get(&self, key: u64) -> Option<u64> {
        let bucket = &self.buckets[self.directory.entries()[self.entry(key)] as usize];
        bucket.find(key).map(|at| bucket.values[at])
    }

    /// Returns how often the directory was doubled for it.
    pub(crate) fn insert(&mut self, key: u64, value: u64) -> Result<u32, RewireError> {
        let mut doubled = 0;
        loop {
            let entry = self.entry(key);
            let number = self.directory.entries()[entry] as usize;
            let bucket = &mut self.buckets[number];
            if let Some(at) = bucket.find(key) {
                bucket.values[at] = value;
                return Ok(doubled);
            }
            if bucket.len < KEYS {
                bucket.push(key, value);
                return Ok(doubled);
            }
            if 1 << bucket.bits == self.directory.entries().len() {
                self.directory.double()?;
                doubled += 1;
            }
            self.split(number, entry)?;
        }
    }

    /// Splits a bucket, which this entry says, by the next bit.
    fn split(&mut self, number: usize, entry: usize) -> Result<(), RewireError> {
        let old = self.buckets[number].clone();
        let bit = 1 << old.bits;
        self.directory.set(entry & (bit - 1) | bit, 2 * bit, self.buckets.len() as u64)?;
        let (mut low, mut high) = (Bucket::new(old.bits + 1), Bucket::new(old.bits + 1));
        for (&key, &value) in old.keys.iter().zip(&old.values) {
            let to = if hash(key) as usize & bit == 0 { &mut low } else { &mut high };
            to.push(key, value);
        }
        self.buckets[number] = low;
        self.buckets.push(high);
        Ok(())
    }
}
