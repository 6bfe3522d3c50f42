//! Records of one size.

use super::{Format, KeyKind, KeyRange, Malformed};

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
    /// The key as it stands in the record, if it does.
    plain: Option<(usize, usize)>,
}

impl Fixed {
    /// Records of the sort benchmark: 100 bytes, of which the first 10 are the key.
    #[must_use]
    pub fn gensort() -> Fixed {
        Fixed { size: 100, keys: vec![KeyRange::bytes(0, 10)], key_size: 10, plain: Some((0, 10)) }
    }

    /// Records of `size` bytes. The first key counts most. Without a key, the whole record is the key.
    ///
    /// # Errors
    /// One line: the size is 0, or a key ends behind the record.
    pub fn new(size: usize, keys: &[KeyRange]) -> Result<Fixed, String> {
        if size == 0 {
            return Err("a record has a byte at least".to_owned());
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
            ] => Some((offset, offset + length)),
            _ => None,
        };
        let key_size = keys.iter().map(|key| key.length).sum();
        Ok(Fixed { size, keys, key_size, plain })
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
        if let Some((start, end)) = self.plain {
            return &record[start..end];
        }
        scratch.clear();
        self.keys.iter().for_each(|key| key.append(record, scratch));
        scratch
    }

    fn key_size(&self) -> Option<usize> {
        Some(self.key_size)
    }

    fn record_size(&self) -> Option<usize> {
        Some(self.size)
    }

    fn boundary(&self, _: &[u8], at: usize) -> Option<usize> {
        Some(at.next_multiple_of(self.size))
    }
}
