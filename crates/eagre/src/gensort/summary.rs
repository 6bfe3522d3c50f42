//! What can be said of records in a row, and of two rows together.

use std::fmt;

use super::{KEY, RECORD};

/// What `valsort` says of records in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// How many there are.
    pub records: u128,
    /// The sum of the CRC-32 of each record, whatever their order. `valsort` prints it in hexadecimal.
    pub checksum: u128,
    /// How many keys are equal to the key before.
    pub duplicates: u128,
    /// How many keys are less than the key before: none, if the records are sorted.
    pub unordered: u128,
    /// The first of those records, counted from 0.
    pub first_unordered: Option<u128>,
    /// The first and the last record, if there are any.
    ends: Option<([u8; RECORD], [u8; RECORD])>,
}

/// Bytes that are no summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SummaryError;

impl fmt::Display for SummaryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a summary: its counts contradict one another")
    }
}

impl std::error::Error for SummaryError {}

impl Default for Summary {
    fn default() -> Summary {
        Summary::new()
    }
}

impl Summary {
    /// The length of a summary in a file, in bytes.
    pub const BYTES: usize = 5 * 16 + 2 * RECORD;

    /// The summary of no records.
    #[must_use]
    pub const fn new() -> Summary {
        Summary { records: 0, checksum: 0, duplicates: 0, unordered: 0, first_unordered: None, ends: None }
    }

    /// The summary of records in a row.
    ///
    /// # Panics
    /// If the length of `records` is no multiple of [`RECORD`].
    #[must_use]
    pub fn of(records: &[u8]) -> Summary {
        let (records, rest) = records.as_chunks::<RECORD>();
        assert!(rest.is_empty(), "the length is a multiple of {RECORD}");
        let (Some(first), Some(last)) = (records.first(), records.last()) else { return Summary::new() };
        let mut before = key(first);
        let (mut checksum, mut duplicates, mut unordered) = (0u128, 0u64, 0u64);
        let mut first_unordered = None;
        for (at, record) in records.iter().enumerate() {
            checksum += u128::from(crc32fast::hash(record));
            let key = key(record);
            duplicates += u64::from(key == before);
            if key < before {
                unordered += 1;
                first_unordered.get_or_insert(at as u128);
            }
            before = key;
        }
        Summary {
            records: records.len() as u128,
            checksum,
            // The first key was compared with itself.
            duplicates: (duplicates - 1).into(),
            unordered: unordered.into(),
            first_unordered,
            ends: Some((*first, *last)),
        }
    }

    /// Whether no key is less than the one before.
    #[must_use]
    pub fn is_sorted(&self) -> bool {
        self.unordered == 0
    }

    /// The summary of these records and, behind them, those of `next`.
    #[must_use]
    pub fn append(mut self, next: &Summary) -> Summary {
        let Some((first, last)) = next.ends else { return self };
        let Some((start, end)) = self.ends else { return *next };
        let (before, after) = (key(&end), key(&first));
        // Summaries from a file may claim anything.
        let sum = |one: u128, other: u128, border| one.saturating_add(other).saturating_add(u128::from(border));
        self.duplicates = sum(self.duplicates, next.duplicates, before == after);
        self.unordered = sum(self.unordered, next.unordered, after < before);
        let border = (after < before).then_some(self.records);
        let within = next.first_unordered.map(|record| self.records.saturating_add(record));
        self.first_unordered = self.first_unordered.or(border).or(within);
        self.records = self.records.saturating_add(next.records);
        self.checksum = self.checksum.wrapping_add(next.checksum);
        self.ends = Some((start, last));
        self
    }

    /// The summary as `valsort -o` writes it: first unordered record, unordered records, records, duplicate keys and
    /// checksum, each as two words of 64 bits, the higher first and little-endian each; then the first and the last record.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Summary::BYTES] {
        let mut bytes = [0; Summary::BYTES];
        let first = self.first_unordered.unwrap_or(0);
        let numbers = [first, self.unordered, self.records, self.duplicates, self.checksum];
        for (to, number) in bytes.as_chunks_mut::<16>().0.iter_mut().zip(numbers) {
            to[..8].copy_from_slice(&((number >> 64) as u64).to_le_bytes());
            to[8..].copy_from_slice(&(number as u64).to_le_bytes());
        }
        if let Some((first, last)) = &self.ends {
            bytes[80..180].copy_from_slice(first);
            bytes[180..].copy_from_slice(last);
        }
        bytes
    }

    /// The summary that was written so.
    ///
    /// # Errors
    /// If its counts contradict one another: more unordered records than records, say.
    pub fn from_bytes(bytes: &[u8; Summary::BYTES]) -> Result<Summary, SummaryError> {
        let number = |at: usize| {
            let half = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
            u128::from(half(16 * at)) << 64 | u128::from(half(16 * at + 8))
        };
        let [first, unordered, records, duplicates, checksum] = [0, 1, 2, 3, 4].map(number);
        let borders = records.saturating_sub(1);
        let fits = unordered <= borders && duplicates <= borders - unordered && (unordered == 0 || first <= borders);
        if !fits || (unordered > 0 && first == 0) {
            return Err(SummaryError);
        }
        let record = |at: usize| bytes[at..at + RECORD].try_into().expect("a record");
        Ok(Summary {
            records,
            checksum,
            duplicates,
            unordered,
            first_unordered: (unordered > 0).then_some(first),
            ends: (records > 0).then(|| (record(80), record(180))),
        })
    }
}

/// The key of a record as a number that is ordered as its bytes are.
#[inline(always)]
fn key(record: &[u8; RECORD]) -> u128 {
    let (high, rest) = record.split_first_chunk::<8>().expect("longer than a key");
    let low = rest.first_chunk::<{ KEY - 8 }>().expect("longer than a key");
    u128::from(u64::from_be_bytes(*high)) << 16 | u128::from(u16::from_be_bytes(*low))
}
