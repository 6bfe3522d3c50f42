//! Which records there are, whatever their order.

use std::ops::{Add, AddAssign};

use xxhash_rust::xxh3::xxh3_128;

use super::{Format, Malformed};

/// The number of records and a sum over them, neither of which depends on their order. Rows of records with the same
/// checksum are permutations of each other, unless somebody took pains to make them look so.
///
/// ```
/// use eagre::records::{Checksum, Lines, checksum};
///
/// let lines = Lines::default();
/// let whole = checksum(&lines, b"one\ntwo\none\n")?;
/// assert_eq!(whole, checksum(&lines, b"one\none\n")? + checksum(&lines, b"two")?);
/// assert_ne!(whole, checksum(&lines, b"one\ntwo\ntwo\n")?);
/// # Ok::<(), eagre::records::Malformed>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checksum {
    /// How many records there are.
    pub records: u64,
    /// The sum of the XXH3 of each record, of 128 bits. The byte that ends a line does not count: the last line may lack it.
    pub sum: u128,
}

impl Checksum {
    /// Adds a whole record.
    #[inline]
    pub fn include<F: Format + ?Sized>(&mut self, format: &F, record: &[u8]) {
        let counted = match format.terminator() {
            Some(end) => record.strip_suffix(&[end]).unwrap_or(record),
            None => record,
        };
        self.records += 1;
        self.sum = self.sum.wrapping_add(xxh3_128(counted));
    }
}

impl AddAssign for Checksum {
    fn add_assign(&mut self, other: Checksum) {
        self.records = self.records.wrapping_add(other.records);
        self.sum = self.sum.wrapping_add(other.sum);
    }
}

impl Add for Checksum {
    type Output = Checksum;

    fn add(mut self, other: Checksum) -> Checksum {
        self += other;
        self
    }
}

/// The checksum of whole records one after the other. Checksums of several rows add up.
///
/// # Errors
/// [`Malformed`] if no record begins at some place, or if the last one is cut short.
pub fn checksum<F: Format + ?Sized>(format: &F, records: &[u8]) -> Result<Checksum, Malformed> {
    let (mut sum, mut rest) = (Checksum::default(), records);
    while !rest.is_empty() {
        let length = format.length(rest, true)?.unwrap_or(rest.len());
        let (record, behind) = rest.split_at(length);
        sum.include(format, record);
        rest = behind;
    }
    Ok(sum)
}
