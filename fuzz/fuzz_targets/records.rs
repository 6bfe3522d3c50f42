//! Bytes as records of every format, as they come from a reader in portions of any size: the same as going through all of
//! them at once, and an error where that finds one.
//!
//! The first bytes say which format, in which order, and how large the portions are.
#![no_main]

use std::io::{self, Read};

use eagre::records::{CheckError, Checker, Fixed, Format, KeyRange, Klv, Lines, Malformed, checksum};
use libfuzzer_sys::fuzz_target;

/// Gives as many bytes at a time as the sizes say, again and again.
struct Portions<'a> {
    bytes: &'a [u8],
    sizes: &'a [u8],
    at: usize,
}

impl Read for Portions<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let size = self.sizes.get(self.at % self.sizes.len().max(1)).map_or(1, |&size| usize::from(size) + 1);
        self.at += 1;
        let size = size.min(to.len());
        self.bytes.read(&mut to[..size])
    }
}

fuzz_target!(|input: ([u8; 4], &[u8], &[u8])| {
    let ([kind, one, other, order], sizes, bytes) = input;
    let way = Way { descending: order & 1 != 0, unique: order & 2 != 0, sizes, bytes };
    match kind % 4 {
        0 => {
            let size = usize::from(one) + 1;
            let from = usize::from(other) % size;
            let range = KeyRange::bytes(from, 1 + usize::from(order) % (size - from));
            way.check(&Fixed::new(size, &[range]).expect("the key is inside"));
        }
        1 => {
            let length = 1 + usize::from(other) % 8;
            way.check(&Klv::new(1 + usize::from(one) % 20, length, kind >= 128).expect("sizes are right"));
        }
        2 => way.check(&Lines::ended_by(one)),
        _ => {
            let types = ["u8", "i16", "u32", "f32", "i64", "f64", "u128", "i128", "u32:u32", "u64:u64", "i64be:f32be"];
            way.check(&Fixed::numbers(types[usize::from(one) % types.len()]).expect("a type"));
        }
    }
});

struct Way<'a> {
    descending: bool,
    unique: bool,
    sizes: &'a [u8],
    bytes: &'a [u8],
}

impl Way<'_> {
    fn check<F: Format>(&self, format: &F) {
        let (mut at, mut keys, mut expected) = (0, Vec::new(), Ok(()));
        while at < self.bytes.len() {
            match format.length(&self.bytes[at..], true) {
                Ok(length) => {
                    let length = length.expect("nothing follows");
                    let record = &self.bytes[at..at + length];
                    keys.push((format.key(record, &mut Vec::new()).to_vec(), at as u64));
                    at += length;
                }
                Err(why) => {
                    expected = Err((keys.len() as u64, at as u64, why));
                    break;
                }
            }
        }
        let source = Portions { bytes: self.bytes, sizes: self.sizes, at: 0 };
        let found = Checker::new(format).descending(self.descending).unique(self.unique).read(source);
        let found = match (found, expected) {
            (Ok(found), Ok(())) => found,
            (Err(CheckError::Malformed { record, offset, why, .. }), Err(expected)) => {
                let Malformed::Truncated { .. } = why else { panic!("{why}") };
                return assert_eq!((record, offset, why), expected);
            }
            (found, expected) => panic!("{found:?} instead of {expected:?}"),
        };
        let (mut duplicates, mut unordered, mut first) = (0, 0, None);
        for (number, two) in keys.windows(2).enumerate() {
            let order = if self.descending { two[1].0.cmp(&two[0].0) } else { two[0].0.cmp(&two[1].0) };
            duplicates += u64::from(order.is_eq());
            unordered += u64::from(order.is_gt());
            if order.is_gt() || self.unique && order.is_eq() {
                first.get_or_insert((number as u64 + 1, two[1].1));
            }
        }
        assert_eq!(found.checksum, checksum(format, self.bytes).expect("all are whole"));
        assert_eq!((found.bytes, found.checksum.records), (self.bytes.len() as u64, keys.len() as u64));
        assert_eq!((found.duplicates, found.unordered), (duplicates, unordered));
        assert_eq!(found.first_unordered.map(|place| (place.record, place.offset)), first);
    }
}
