//! What can be said of records in a row, and of two rows together.

use std::cmp::Ordering;

use eagre_mem::heap::{self, Refused};

use crate::records::{Checksum, Format, Malformed};

/// What a file of records holds.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Checked {
    /// How many records there are, and which, whatever their order.
    pub checksum: Checksum,
    /// How many bytes they have.
    pub bytes: u64,
    /// How many keys are equal to the key before.
    pub duplicates: u64,
    /// How many keys come before the key before: none, if the records are sorted.
    pub unordered: u64,
    /// The first record that is out of order. Where keys must be unique, that may be one with the key of the record
    /// before.
    pub first_unordered: Option<Place>,
    /// The first and the last key, if there are any.
    ends: Option<(Vec<u8>, Vec<u8>)>,
}

/// Where a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place {
    /// How many records lie before it.
    pub record: u64,
    /// How many bytes lie before it.
    pub offset: u64,
}

/// The order in which records should be.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Order {
    pub(super) descending: bool,
    pub(super) unique: bool,
}

/// What stands at the front of some bytes.
pub(super) struct Walked {
    /// All that is known of the whole records.
    pub(super) run: Checked,
    /// Why no record begins behind them, if none can.
    pub(super) malformed: Option<Malformed>,
}

impl Checked {
    /// Whether all records are in the order that was asked for.
    #[must_use]
    pub fn is_sorted(&self) -> bool {
        self.first_unordered.is_none()
    }

    /// The keys of the first record and of the last one, if there are any.
    #[must_use]
    pub fn ends(&self) -> Option<(&[u8], &[u8])> {
        self.ends.as_ref().map(|(first, last)| (&first[..], &last[..]))
    }

    fn place(&self) -> Place {
        Place { record: self.checksum.records, offset: self.bytes }
    }

    /// Notes how the key of the record at `place` compares with the key before.
    #[inline]
    fn compared(&mut self, before: Ordering, order: Order, place: impl FnOnce() -> Place) {
        let before = if order.descending { before.reverse() } else { before };
        let fits = match before {
            Ordering::Less => true,
            Ordering::Equal => {
                self.duplicates += 1;
                !order.unique
            }
            Ordering::Greater => {
                self.unordered += 1;
                false
            }
        };
        if !fits && self.first_unordered.is_none() {
            self.first_unordered = Some(place());
        }
    }

    /// Adds the records that follow.
    pub(super) fn append(&mut self, order: Order, next: Checked) {
        let Some((first, last)) = next.ends else { return };
        let border = self.place();
        self.ends = Some(match self.ends.take() {
            None => (first, last),
            Some((start, end)) => {
                self.compared(end.cmp(&first), order, || border);
                (start, last)
            }
        });
        let within = next
            .first_unordered
            .map(|place| Place { record: border.record + place.record, offset: border.offset + place.offset });
        self.first_unordered = self.first_unordered.or(within);
        self.checksum += next.checksum;
        self.bytes += next.bytes;
        self.duplicates += next.duplicates;
        self.unordered += next.unordered;
    }
}

/// Appends bytes to those of a record that has begun.
pub(super) fn extend(open: &mut Vec<u8>, bytes: &[u8]) -> Result<(), Refused> {
    open.try_reserve(bytes.len()).map_err(|_| Refused { bytes: bytes.len() })?;
    open.extend_from_slice(bytes);
    Ok(())
}

/// Looks at the whole records at the front of `bytes`. If `last`, nothing follows `bytes`.
pub(super) fn walk<F: Format + ?Sized>(
    format: &F,
    order: Order,
    bytes: &[u8],
    last: bool,
    scratch: &mut [Vec<u8>; 2],
) -> Result<Walked, Refused> {
    // The prefix holds all of a short key.
    let decides = format.key_size().is_some_and(|size| size <= 16);
    let [scratch, other] = scratch;
    let (mut run, mut malformed, mut at) = (Checked::default(), None, 0);
    let mut before: Option<(&[u8], u128)> = None;
    let mut first: &[u8] = &[];
    while at < bytes.len() {
        let length = match format.length(&bytes[at..], last) {
            Ok(Some(length)) => length,
            Ok(None) => break,
            Err(why) => {
                malformed = Some(why);
                break;
            }
        };
        let record = &bytes[at..at + length];
        let prefix = format.prefix(record, scratch);
        match before {
            Some((before, its_prefix)) => {
                let mut compared = its_prefix.cmp(&prefix);
                if compared.is_eq() && !decides {
                    compared = format.key(before, scratch).cmp(format.key(record, other));
                }
                let record = run.checksum.records;
                run.compared(compared, order, || Place { record, offset: at as u64 });
            }
            None => first = record,
        }
        run.checksum.include(format, record);
        before = Some((record, prefix));
        at += length;
    }
    run.bytes = at as u64;
    if let Some((last, _)) = before {
        let first = heap::copied(format.key(first, scratch))?;
        run.ends = Some((first, heap::copied(format.key(last, scratch))?));
    }
    Ok(Walked { run, malformed })
}
