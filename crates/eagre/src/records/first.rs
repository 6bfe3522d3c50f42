//! The first records of a source, such as the header of a CSV file.

use std::io::{self, ErrorKind, Read};

use eagre_mem::heap;

use super::Format;

/// Takes the first `count` records out of `source`, or all if it has fewer. Not a byte more is read, so what reads on finds
/// the next record. The last one ends with its [terminator](Format::terminator), even if the source lacks it.
///
/// ```
/// use eagre::records::{Lines, take_first};
///
/// let mut source = &b"name,size\nb,2\na,1\n"[..];
/// assert_eq!(take_first(&Lines::default(), &mut source, 1)?, b"name,size\n");
/// assert_eq!(source, b"b,2\na,1\n");
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// Those of reading; `InvalidData` for bytes that are no record; `OutOfMemory`.
pub fn take_first(format: &(impl Format + ?Sized), mut source: impl Read, count: usize) -> io::Result<Vec<u8>> {
    let malformed = |why| io::Error::new(ErrorKind::InvalidData, why);
    let (mut records, mut begin, mut byte) = (Vec::new(), 0, [0]);
    for _ in 0..count {
        loop {
            match source.read(&mut byte) {
                Ok(0) if begin == records.len() => return Ok(records),
                Ok(0) => {
                    format.length(&records[begin..], true).map_err(malformed)?;
                    records.extend(format.terminator());
                    return Ok(records);
                }
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            heap::push(&mut records, byte[0]).map_err(|_| ErrorKind::OutOfMemory)?;
            let may_end = format.terminator().is_none_or(|end| end == byte[0]);
            if may_end && format.length(&records[begin..], false).map_err(malformed)?.is_some() {
                begin = records.len();
                break;
            }
        }
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::{Fixed, Lines, TextOrder};

    #[test]
    fn nothing_behind_them_is_read() {
        let csv = TextOrder::new().csv(true).build().unwrap();
        let fixed = Fixed::new(3, &[]).unwrap();
        let formats: [(&dyn Format, &str, usize, &str, &str); 9] = [
            (&csv, "\"a\nb\",c\nd\ne", 1, "\"a\nb\",c\n", "d\ne"),
            (&csv, "\"a\nb\",c\nd\ne", 2, "\"a\nb\",c\nd\n", "e"),
            (&Lines::default(), "a\nb", 2, "a\nb\n", ""),
            (&Lines::default(), "a\nb", 9, "a\nb\n", ""),
            (&Lines::default(), "a\nb\n", 2, "a\nb\n", ""),
            (&Lines::default(), "\na", 1, "\n", "a"),
            (&Lines::default(), "a", 0, "", "a"),
            (&Lines::default(), "", 1, "", ""),
            (&fixed, "abcdef", 1, "abc", "def"),
        ];
        for (format, text, count, first, rest) in formats {
            let mut source = text.as_bytes();
            assert_eq!(take_first(format, &mut source, count).unwrap(), first.as_bytes(), "{text:?}");
            assert_eq!(source, rest.as_bytes(), "{text:?}");
        }
        for (format, text) in [(&csv as &dyn Format, "\"a\n"), (&fixed, "ab")] {
            assert_eq!(take_first(format, text.as_bytes(), 1).unwrap_err().kind(), ErrorKind::InvalidData);
        }
    }
}
