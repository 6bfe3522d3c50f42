//! Parts of records that are keys: bytes and numbers, ascending and descending.

use std::str::FromStr;

/// A part of a record that is a key, or one of several.
///
/// Written `OFFSET:LENGTH` for bytes, or `OFFSET:TYPE` for a number: `u16`, `i32le`, `f64be`, …, least significant byte
/// first unless `be` follows. A final `:r` or `:desc` makes it descending.
///
/// ```
/// use eagre::records::{KeyKind, KeyRange};
///
/// let key: KeyRange = "8:i32be:desc".parse()?;
/// assert_eq!((key.offset, key.length, key.kind, key.descending), (8, 4, KeyKind::Signed { big_endian: true }, true));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyRange {
    /// Where it begins in the record, in bytes.
    pub offset: usize,
    /// How many bytes it has. Numbers have 1, 2, 4 or 8; floating-point numbers 4 or 8.
    pub length: usize,
    /// What the bytes are.
    pub kind: KeyKind,
    /// Whether the largest comes first.
    pub descending: bool,
}

/// What the bytes of a [`KeyRange`] are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// Bytes, compared from the first on.
    Bytes,
    /// A number without a sign.
    Unsigned {
        /// Whether the most significant byte comes first.
        big_endian: bool,
    },
    /// A number in two's complement.
    Signed {
        /// Whether the most significant byte comes first.
        big_endian: bool,
    },
    /// A floating-point number of IEEE 754, in its total order: -NaN, -infinity, …, -0, 0, …, infinity, NaN.
    Float {
        /// Whether the most significant byte comes first.
        big_endian: bool,
    },
}

/// Where NaN stand among the numbers of a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Nan {
    /// Where the total order has them: with a sign before all numbers, without one behind them.
    #[default]
    BySign,
    /// All before all numbers, whatever the direction. They are equal, as -0 and 0 are.
    First,
    /// All behind all numbers, likewise.
    Last,
}

/// Whether bits without a sign are those of NaN: larger than those of infinity.
fn is_nan(magnitude: u128, bytes: usize) -> bool {
    magnitude > if bytes == 4 { f32::INFINITY.to_bits().into() } else { f64::INFINITY.to_bits().into() }
}

impl KeyRange {
    /// A range of bytes, ascending.
    #[must_use]
    pub const fn bytes(offset: usize, length: usize) -> KeyRange {
        KeyRange { offset, length, kind: KeyKind::Bytes, descending: false }
    }

    /// Where it ends in the record.
    #[must_use]
    pub const fn end(&self) -> usize {
        self.offset + self.length
    }

    /// The key as a number that sorts as it does. It has at most 16 bytes.
    #[inline]
    pub(super) fn number(&self, record: &[u8], nan: Nan) -> u128 {
        let bytes = &record[self.offset..self.end()];
        let little = matches!(
            self.kind,
            KeyKind::Unsigned { big_endian: false }
                | KeyKind::Signed { big_endian: false }
                | KeyKind::Float { big_endian: false }
        );
        let read = if little { little_endian(bytes) } else { big_endian(bytes) };
        let sign = 1 << (8 * self.length - 1);
        let ones = sign | (sign - 1);
        let turned = match self.kind {
            KeyKind::Signed { .. } => read ^ sign,
            KeyKind::Float { .. } if nan != Nan::BySign && is_nan(read & !sign, self.length) => {
                return if nan == Nan::First { 0 } else { ones };
            }
            // -0 as 0.
            KeyKind::Float { .. } if nan != Nan::BySign && read == sign => sign,
            // Negative numbers sort the other way round by their bits.
            KeyKind::Float { .. } if read & sign != 0 => read ^ ones,
            KeyKind::Float { .. } => read | sign,
            _ => read,
        };
        if self.descending { turned ^ ones } else { turned }
    }

    /// Appends the key to `key`, turned so that its bytes sort as it does.
    pub(super) fn append(&self, record: &[u8], nan: Nan, key: &mut Vec<u8>) {
        if nan != Nan::BySign && matches!(self.kind, KeyKind::Float { .. }) {
            let number = self.number(record, nan).to_be_bytes();
            return key.extend_from_slice(&number[number.len() - self.length..]);
        }
        let start = key.len();
        key.extend_from_slice(&record[self.offset..self.end()]);
        let key = &mut key[start..];
        let (KeyKind::Unsigned { big_endian } | KeyKind::Signed { big_endian } | KeyKind::Float { big_endian }) =
            self.kind
        else {
            return if self.descending {
                complement(key)
            };
        };
        if !big_endian {
            key.reverse();
        }
        match self.kind {
            KeyKind::Signed { .. } => key[0] ^= 0x80,
            // Negative numbers sort the other way round by their bits.
            KeyKind::Float { .. } if key[0] & 0x80 != 0 => complement(key),
            KeyKind::Float { .. } => key[0] |= 0x80,
            _ => {}
        }
        if self.descending {
            complement(key);
        }
    }
}

/// A number of at most 16 bytes.
#[inline(always)]
fn little_endian(bytes: &[u8]) -> u128 {
    match *bytes {
        [one] => one.into(),
        [a, b] => u16::from_le_bytes([a, b]).into(),
        [a, b, c, d] => u32::from_le_bytes([a, b, c, d]).into(),
        [a, b, c, d, e, f, g, h] => u64::from_le_bytes([a, b, c, d, e, f, g, h]).into(),
        _ => bytes.iter().rev().fold(0, |number, &byte| number << 8 | u128::from(byte)),
    }
}

/// The same, with the most significant byte first.
#[inline(always)]
fn big_endian(bytes: &[u8]) -> u128 {
    match (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
        // Two words that overlap.
        (Some(high), Some(low)) => {
            let above = 8 * (bytes.len() as u32 - 8);
            let low = u64::from_be_bytes(*low);
            u128::from(u64::from_be_bytes(*high)) << above | u128::from(low)
        }
        _ => bytes.iter().fold(0, |number, &byte| number << 8 | u128::from(byte)),
    }
}

fn complement(bytes: &mut [u8]) {
    bytes.iter_mut().for_each(|byte| *byte = !*byte);
}

impl FromStr for KeyRange {
    type Err = String;

    fn from_str(text: &str) -> Result<KeyRange, String> {
        let mut parts = text.split(':');
        let (Some(offset), Some(what)) = (parts.next(), parts.next()) else {
            return Err("a key is OFFSET:LENGTH or OFFSET:TYPE, such as 0:10 or 8:u64".to_owned());
        };
        let offset: usize = offset.parse().map_err(|_| format!("'{offset}' is no offset in bytes"))?;
        let descending = match (parts.next(), parts.next()) {
            (None, _) | (Some("a" | "asc"), None) => false,
            (Some("r" | "desc"), None) => true,
            (Some(other), None) => return Err(format!("'{other}' is neither asc nor desc")),
            _ => return Err("a key has three parts at most".to_owned()),
        };
        let (length, kind) = match what.parse() {
            Ok(length) => (length, KeyKind::Bytes),
            Err(_) => number(what).ok_or_else(|| {
                format!("'{what}' is neither a length nor a type: u, i or f, 8 to 64 bits, and le or be if wanted")
            })?,
        };
        if length == 0 {
            return Err("a key has a byte at least".to_owned());
        }
        offset.checked_add(length).ok_or_else(|| format!("'{offset}' is no offset in bytes"))?;
        Ok(KeyRange { offset, length, kind, descending })
    }
}

/// The length and kind of a type such as `u32be`.
pub(super) fn number(name: &str) -> Option<(usize, KeyKind)> {
    let (name, big_endian) = match name.strip_suffix("be") {
        Some(name) => (name, true),
        None => (name.strip_suffix("le").unwrap_or(name), false),
    };
    let bits = name.get(1..)?;
    let length = match bits {
        "8" => 1,
        "16" => 2,
        "32" => 4,
        "64" => 8,
        "128" => 16,
        _ => return None,
    };
    let kind = match name.as_bytes()[0] {
        b'u' => KeyKind::Unsigned { big_endian },
        b'i' => KeyKind::Signed { big_endian },
        b'f' if length == 4 || length == 8 => KeyKind::Float { big_endian },
        _ => return None,
    };
    Some((length, kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str, record: &[u8]) -> Vec<u8> {
        key_with(Nan::BySign, text, record)
    }

    fn key_with(nan: Nan, text: &str, record: &[u8]) -> Vec<u8> {
        let mut key = Vec::new();
        text.parse::<KeyRange>().unwrap().append(record, nan, &mut key);
        key
    }

    #[test]
    fn keys_sort_as_their_numbers() {
        let signed = [i32::MIN, -70_000, -1, 0, 1, 255, 256, 70_000, i32::MAX];
        let little: Vec<_> = signed.iter().map(|number| key("0:i32", &number.to_le_bytes())).collect();
        assert!(little.is_sorted_by(|a, b| a < b), "{little:?}");
        let big: Vec<_> = signed.iter().map(|number| key("0:i32be:desc", &number.to_be_bytes())).collect();
        assert!(big.is_sorted_by(|a, b| a > b), "{big:?}");

        let floats = [-f64::NAN, f64::NEG_INFINITY, -1.5, -1e-300, -0.0, 0.0, 1e-300, 1.5, f64::INFINITY, f64::NAN];
        let floats: Vec<_> = floats.iter().map(|number| key("0:f64", &number.to_le_bytes())).collect();
        assert!(floats.is_sorted_by(|a, b| a < b), "{floats:?}");

        let unsigned: Vec<_> =
            [0_u16, 1, 255, 256, 65535].iter().map(|n| key("0:u16le:asc", &n.to_le_bytes())).collect();
        assert!(unsigned.is_sorted_by(|a, b| a < b), "{unsigned:?}");
        assert_eq!(key("1:2", b"abcd"), b"bc");
        assert_eq!(key("1:2:r", b"abcd"), [!b'b', !b'c']);
    }

    /// In ascending and in descending order, with NaN of any sign and payload at the end that was asked for.
    #[test]
    fn nan_stand_where_they_are_put() {
        let numbers = [f64::NEG_INFINITY, -1.5, -1e-40, -0.0, 0.0, 1e-40, 1.5, f64::INFINITY];
        let nan = [f64::NAN, -f64::NAN, f64::from_bits(0x7ff0_0000_0000_0001), f64::from_bits(u64::MAX)];
        for (nan_at, ends) in [(Nan::First, "00000000"), (Nan::Last, "ffffffff")] {
            for direction in ["", ":desc"] {
                let double = |number: &f64| key_with(nan_at, &format!("0:f64be{direction}"), &number.to_be_bytes());
                let single =
                    |number: &f64| key_with(nan_at, &format!("0:f32{direction}"), &(*number as f32).to_le_bytes());
                for (of, width) in [(&double as &dyn Fn(&f64) -> Vec<u8>, 8), (&single, 4)] {
                    let keys: Vec<_> = numbers.iter().map(of).collect();
                    for (two, numbers) in keys.windows(2).zip(numbers.windows(2)) {
                        let ascending = numbers[0].partial_cmp(&numbers[1]).unwrap();
                        let wanted = if direction.is_empty() { ascending } else { ascending.reverse() };
                        assert_eq!(two[0].cmp(&two[1]), wanted, "{nan_at:?} {direction} {numbers:?}");
                    }
                    for nan in &nan {
                        let key = of(nan);
                        let shown: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
                        assert!(shown.starts_with(ends) && key.len() == width, "{nan_at:?} {direction}: {shown}");
                        assert!(keys.iter().all(|number| (key < *number) == (nan_at == Nan::First) && key != *number));
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_no_key_is_said() {
        for wrong in
            ["", "1", "x:1", "1:x", "1:u24", "1:f16", "1:0", "1:2:up", "1:2:r:r", "1:", "18446744073709551615:1"]
        {
            wrong.parse::<KeyRange>().expect_err(wrong);
        }
    }
}
