//! Records of one size.

use super::key_range::Nan;
use super::{Format, KeyKind, KeyRange, Malformed, word};

/// Records of one size, whose keys are ranges of bytes or numbers.
///
/// ```
/// use eagre::records::{Fixed, Format, KeyRange};
///
/// let format = Fixed::new(8, &[KeyRange::bytes(2, 3)]).unwrap();
/// assert_eq!(format.key(b"abcdefgh", &mut Vec::new()), b"cde");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fixed {
    size: usize,
    keys: Vec<KeyRange>,
    key_size: usize,
    nan: Nan,
    /// The key as it stands in the record, if it does.
    plain: Option<Plain>,
}

/// A key that stands in the record as it is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Plain {
    start: usize,
    end: usize,
    /// The bits of the key in the 16 bytes at its start.
    mask: u128,
}

impl Plain {
    fn new(start: usize, length: usize) -> Plain {
        let behind = u128::MAX.checked_shr(8 * length.min(16) as u32).unwrap_or(0);
        Plain { start, end: start + length, mask: !behind }
    }
}

impl Fixed {
    /// Records of the sort benchmark: 100 bytes, of which the first 10 are the key.
    #[must_use]
    pub fn gensort() -> Fixed {
        let (keys, plain) = (vec![KeyRange::bytes(0, 10)], Some(Plain::new(0, 10)));
        Fixed { size: 100, keys, key_size: 10, nan: Nan::default(), plain }
    }

    /// Records of `size` bytes. The first key counts most. Without a key, the whole record is the key.
    ///
    /// # Errors
    /// One line: the size is 0, or a key is empty or ends behind the record.
    pub fn new(size: usize, keys: &[KeyRange]) -> Result<Fixed, String> {
        if size == 0 {
            return Err("a record has a byte at least".to_owned());
        }
        if keys.iter().any(|key| key.length == 0) {
            return Err("a key has a byte at least".to_owned());
        }
        if let Some(outside) = keys.iter().find(|key| key.end() > size) {
            return Err(format!("a key ends at byte {}, but a record has {size}", outside.end()));
        }
        let keys = if keys.is_empty() { vec![KeyRange::bytes(0, size)] } else { keys.to_vec() };
        let plain = match keys[..] {
            [
                KeyRange {
                    offset,
                    length,
                    kind: KeyKind::Bytes | KeyKind::Unsigned { big_endian: true },
                    descending: false,
                },
            ] => Some(Plain::new(offset, length)),
            _ => None,
        };
        let key_size = keys.iter().map(|key| key.length).sum();
        Ok(Fixed { size, keys, key_size, nan: Nan::default(), plain })
    }

    /// Numbers, or pairs of them, as files of numbers hold them: `u64`, `f32`, `u32:u32`, …, least significant byte first
    /// unless `be` follows. Numbers have up to 128 bits. Pairs are ordered by their first part, then by their second.
    ///
    /// # Errors
    /// One line: that is no type of numbers.
    pub fn numbers(types: &str) -> Result<Fixed, String> {
        let (mut size, mut keys) = (0, Vec::new());
        for name in types.split(':') {
            let (length, kind) = super::key_range::number(name)
                .ok_or_else(|| format!("'{name}' is no type: u, i or f, and 8 to 128 bits"))?;
            keys.push(KeyRange { offset: size, length, kind, descending: false });
            size += length;
        }
        Fixed::new(size, &keys)
    }

    /// Puts NaN of each floating-point key behind all its numbers, whether that key is descending or not. Then NaN equals
    /// NaN, and -0 equals 0. `descending` says that the records as a whole are sorted or checked in descending order:
    /// then NaN come last there. `None` if no key is a floating-point number.
    ///
    /// ```
    /// use eagre::records::{Fixed, Format};
    ///
    /// let format = Fixed::numbers("f64")?.nan_last(false).ok_or("no numbers")?;
    /// let key = |number: f64| format.prefix(&number.to_le_bytes(), &mut Vec::new());
    /// assert!(key(-f64::NAN) == key(f64::NAN) && key(f64::NAN) > key(f64::INFINITY));
    /// # Ok::<(), String>(())
    /// ```
    #[must_use]
    pub fn nan_last(mut self, descending: bool) -> Option<Fixed> {
        self.nan = if descending { Nan::First } else { Nan::Last };
        self.keys.iter().any(|key| matches!(key.kind, KeyKind::Float { .. })).then_some(self)
    }

    /// The size of a record in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }
}

impl Format for Fixed {
    #[inline]
    fn length(&self, bytes: &[u8], last: bool) -> Result<Option<usize>, Malformed> {
        if bytes.len() >= self.size {
            return Ok(Some(self.size));
        }
        if last {
            return Err(Malformed::Truncated { bytes: bytes.len() as u64, wanted: Some(self.size as u64) });
        }
        Ok(None)
    }

    #[inline]
    fn key<'a>(&self, record: &'a [u8], scratch: &'a mut Vec<u8>) -> &'a [u8] {
        if let Some(Plain { start, end, .. }) = self.plain {
            return &record[start..end];
        }
        scratch.clear();
        self.keys.iter().for_each(|key| key.append(record, self.nan, scratch));
        scratch
    }

    #[inline]
    fn prefix(&self, record: &[u8], scratch: &mut Vec<u8>) -> u128 {
        if let Some(Plain { start, mask, .. }) = self.plain
            && let Some(bytes) = record.get(start..).and_then(|rest| rest.first_chunk())
        {
            return u128::from_be_bytes(*bytes) & mask;
        }
        self.prefix_of_parts(record, scratch)
    }

    fn key_size(&self) -> Option<usize> {
        Some(self.key_size)
    }

    fn record_size(&self) -> Option<usize> {
        Some(self.size)
    }
}

impl Fixed {
    #[inline(never)]
    fn prefix_of_parts(&self, record: &[u8], scratch: &mut Vec<u8>) -> u128 {
        if self.key_size > 16 {
            return word(self.key(record, scratch), 0);
        }
        let mut prefix = 0;
        for key in &self.keys {
            // Shifted by 128 bits, nothing would be left.
            prefix = if key.length == 16 { 0 } else { prefix << (8 * key.length) } | key.number(record, self.nan);
        }
        prefix << (128 - 8 * self.key_size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_the_front_of_the_keys() {
        let mut random = fastrand::Rng::with_seed(7);
        for keys in [
            "0:1",
            "3:10",
            "0:16",
            "0:17",
            "5:3:r",
            "1:u8",
            "1:i16",
            "2:u16be:r",
            "4:i32",
            "4:f32:r",
            "4:f32be",
            "8:u64",
            "8:i64be",
            "8:f64",
            "3:i64:r 11:f64be",
            "0:3 3:u32 9:i64be:r",
            "0:u128",
            "2:i128be:r",
            "0:8 8:9",
        ] {
            let keys: Vec<KeyRange> = keys.split(' ').map(|key| key.parse().unwrap()).collect();
            let format = Fixed::new(20, &keys).unwrap();
            let last = [false, true].map(|descending| format.clone().nan_last(descending));
            for format in last.into_iter().flatten().chain([format]) {
                for _ in 0..100 {
                    // Few bytes, so that some are NaN.
                    let record: [u8; 20] = std::array::from_fn(|_| *random.choice(&[0xff, 0xff, 0x7f, 0, 3]).unwrap());
                    let (mut one, mut other) = (Vec::new(), Vec::new());
                    assert_eq!(format.prefix(&record, &mut one), word(format.key(&record, &mut other), 0), "{keys:?}");
                }
            }
        }
    }

    #[test]
    fn numbers_are_ordered_as_they_are() {
        let sorted = |types: &str, bytes: &[Vec<u8>]| {
            let format = Fixed::numbers(types).unwrap();
            let prefixes: Vec<_> = bytes.iter().map(|record| format.prefix(record, &mut Vec::new())).collect();
            assert!(prefixes.is_sorted_by(|a, b| a < b), "{types}: {prefixes:x?}");
        };
        sorted("i8", &[-128i8, -1, 0, 1, 127].map(|number| number.to_le_bytes().to_vec()));
        sorted("i128", &[i128::MIN, -1, 0, 1 << 70, i128::MAX].map(|number| number.to_le_bytes().to_vec()));
        sorted("f64", &[-f64::NAN, -1.5, -0.0, 0.0, 1e-9, 2.0, f64::NAN].map(|number| number.to_le_bytes().to_vec()));
        let pair = |one: u32, other: u32| [one.to_le_bytes(), other.to_le_bytes()].concat();
        sorted("u32:u32", &[pair(1, 900), pair(2, 0), pair(2, 256), pair(256, 1)]);
        for wrong in ["", "u7", "u64:", "f128", "x"] {
            Fixed::numbers(wrong).expect_err(wrong);
        }
        Fixed::new(4, &[KeyRange::bytes(1, 0)]).unwrap_err();
    }
}
