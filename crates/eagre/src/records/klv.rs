//! Records of a key, the length of the value, and the value (WiscSort 3.7.3).

use std::str::FromStr;

use super::{Format, Malformed};

/// Records of a key of one size, the length of the value as a number, and the value.
///
/// Written `KEYLEN:LENBYTES`, with `le` or `be` behind it for the order of the length's bytes: `10:4`, `8:2be`. Without it
/// the least significant comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Klv {
    key: usize,
    length: usize,
    big_endian: bool,
}

impl Klv {
    /// Keys of `key` bytes and lengths of `length` bytes.
    ///
    /// # Errors
    /// One line: the key is empty, or a length has not 1 to 8 bytes.
    pub fn new(key: usize, length: usize, big_endian: bool) -> Result<Klv, String> {
        match (key, length) {
            (0, _) => Err("a key has a byte at least".to_owned()),
            (_, 1..=8) => Ok(Klv { key, length, big_endian }),
            _ => Err("a length has 1 to 8 bytes".to_owned()),
        }
    }

    /// The size of a key in bytes.
    #[must_use]
    pub fn key_bytes(&self) -> usize {
        self.key
    }

    /// The size of key and length in bytes.
    #[must_use]
    pub fn header_bytes(&self) -> usize {
        self.key + self.length
    }

    /// Writes the length of a value behind its key.
    pub fn put_length(&self, length: u64, bytes: &mut [u8]) {
        let bytes = &mut bytes[..self.length];
        if self.big_endian {
            bytes.copy_from_slice(&length.to_be_bytes()[8 - self.length..]);
        } else {
            bytes.copy_from_slice(&length.to_le_bytes()[..self.length]);
        }
    }

    #[inline]
    fn value(&self, header: &[u8]) -> u64 {
        let mut bytes = [0; 8];
        if self.big_endian {
            bytes[8 - self.length..].copy_from_slice(&header[self.key..]);
            u64::from_be_bytes(bytes)
        } else {
            bytes[..self.length].copy_from_slice(&header[self.key..]);
            u64::from_le_bytes(bytes)
        }
    }
}

impl FromStr for Klv {
    type Err = String;

    fn from_str(text: &str) -> Result<Klv, String> {
        let wrong = || format!("'{text}' is not KEYLEN:LENBYTES, such as 10:4 or 8:2be");
        let (key, length) = text.split_once(':').ok_or_else(wrong)?;
        let (length, big_endian) = match length.strip_suffix("be") {
            Some(length) => (length, true),
            None => (length.strip_suffix("le").unwrap_or(length), false),
        };
        Klv::new(key.parse().map_err(|_| wrong())?, length.parse().map_err(|_| wrong())?, big_endian)
    }
}

impl Format for Klv {
    #[inline]
    fn length(&self, bytes: &[u8], last: bool) -> Result<Option<usize>, Malformed> {
        let cut = |wanted: Option<u64>| match last {
            true => Err(Malformed::Truncated { bytes: bytes.len() as u64, wanted }),
            false => Ok(None),
        };
        let Some(header) = bytes.get(..self.header_bytes()) else { return cut(None) };
        let record = self.value(header).saturating_add(self.header_bytes() as u64);
        if record <= bytes.len() as u64 { Ok(Some(record as usize)) } else { cut(Some(record)) }
    }

    #[inline]
    fn key<'a>(&self, record: &'a [u8], _: &'a mut Vec<u8>) -> &'a [u8] {
        &record[..self.key]
    }

    fn key_size(&self) -> Option<usize> {
        Some(self.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_end_where_their_length_says() {
        for (text, header) in [("2:3", &b"kk\x05\0\0"[..]), ("2:3be", b"kk\0\0\x05"), ("2:1le", b"kk\x05")] {
            let format: Klv = text.parse().unwrap();
            let mut record = header.to_vec();
            assert_eq!(format.length(&record, false), Ok(None));
            format.length(&record, true).unwrap_err();
            record.extend_from_slice(b"value and more");
            assert_eq!(format.length(&record, true), Ok(Some(header.len() + 5)), "{text}");
            assert_eq!(format.key(&record, &mut Vec::new()), b"kk");
            let mut length = [0; 8];
            format.put_length(5, &mut length);
            assert_eq!(length[..header.len() - 2], header[2..]);
        }
        let endless: Klv = "1:8".parse().unwrap();
        assert_eq!(endless.length(&[0xff; 100], false), Ok(None));
        for wrong in ["", "1", "0:1", "1:0", "1:9", "1:2xe", "x:1"] {
            wrong.parse::<Klv>().expect_err(wrong);
        }
    }
}
