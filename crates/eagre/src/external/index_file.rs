//! The file format of an index: the keys of a file in order, and where their records are.
//!
//! ```text
//! | header: 64 bytes | entry | entry | ... |      entry: | key | offset | length |
//! ```
//!
//! All numbers have their least significant byte first.
//!
//! | byte | size | header |
//! |---|---|---|
//! | 0 | 8 | `EAGREIDX` |
//! | 8 | 2 | version: 1 |
//! | 10 | 2 | bytes of the key in an entry, K |
//! | 12 | 1 | bytes of the offset in an entry: 5, or 8 if the data have 2^40 bytes or more |
//! | 13 | 1 | bytes of the length in an entry: as many, or 0 if all records have one size |
//! | 14 | 1 | flags: 1, keys descend; 2, an entry has the whole key; 4, records end with the byte that follows |
//! | 15 | 1 | that byte |
//! | 16 | 8 | number of entries |
//! | 24 | 8 | size of all records, or 0 |
//! | 32 | 8 | size of the data |
//! | 40 | 8 | when the data were last modified: seconds since 1970 |
//! | 48 | 4 | and nanoseconds |
//! | 52 | 12 | zeros |
//!
//! The key is as [`Format::key`](crate::records::Format::key) has it: its bytes sort as `memcmp` compares. Keys of one size up to
//! [`WHOLE`] are whole. Of others an entry has the first 16 bytes, with zeros behind a shorter key. The order of the entries is
//! that of the whole keys.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};

use crate::records::Format;

const MAGIC: &[u8; 8] = b"EAGREIDX";
const VERSION: u16 = 1;
/// Keys of one size are whole in an index up to this size in bytes.
pub(super) const WHOLE: usize = 64;
/// What is kept of other keys.
const PREFIX: usize = 16;

const DESCENDING: u8 = 1;
const WHOLE_KEYS: u8 = 2;
const TERMINATED: u8 = 4;

/// What the front of an index says: how many entries follow, and what they are like.
///
/// # Format
/// 64 bytes of header, then entries of one size: the key or its beginning, the offset of its record, and the length of the
/// record unless all have one size. All numbers have their least significant byte first. The page
/// `docs/sorting-files.md` has a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexHeader {
    /// How many entries there are.
    pub records: u64,
    /// How many bytes of its key an entry has.
    pub key_bytes: usize,
    /// Whether that is the whole key.
    pub whole_keys: bool,
    /// Whether keys descend.
    pub descending: bool,
    /// The size of all records in bytes, if they have one size.
    pub record_size: Option<u64>,
    /// The byte that ends each record, and may be missing after the last one in the data.
    pub terminator: Option<u8>,
    /// The size of the data in bytes.
    pub data_bytes: u64,
    /// When the data were last modified: seconds since 1970, and nanoseconds.
    pub data_modified: (i64, u32),
    /// How many bytes an offset has.
    offset_bytes: usize,
}

/// An entry of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexEntry<'a> {
    /// The key or its beginning.
    pub key: &'a [u8],
    /// Where the record begins in the data, in bytes.
    pub offset: u64,
    /// The size of the record in bytes.
    pub length: u64,
}

impl IndexHeader {
    /// The size of a header in bytes.
    pub const BYTES: usize = 64;

    /// The header of an index of `data`, without entries.
    pub(super) fn of<F: Format>(format: &F, data: &File, descending: bool) -> io::Result<IndexHeader> {
        let metadata = data.metadata()?;
        let whole = format.key_size().filter(|&size| size <= WHOLE);
        Ok(IndexHeader {
            records: 0,
            key_bytes: whole.unwrap_or(PREFIX),
            whole_keys: whole.is_some(),
            descending,
            record_size: format.record_size().map(|size| size as u64),
            terminator: format.terminator(),
            data_bytes: metadata.len(),
            data_modified: (metadata.mtime(), metadata.mtime_nsec() as u32),
            offset_bytes: if metadata.len() < 1 << 40 { 5 } else { 8 },
        })
    }

    /// The header at the front of `file`.
    ///
    /// # Errors
    /// Those of reading; `InvalidData` if the file is no index, or has not as many entries as it says.
    pub fn read(file: &File) -> io::Result<IndexHeader> {
        let mut bytes = [0; IndexHeader::BYTES];
        let mut read = 0;
        while read < bytes.len() {
            match file.read_at(&mut bytes[read..], read as u64) {
                Ok(0) => break,
                Ok(more) => read += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let wrong = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
        let header = IndexHeader::parse(&bytes[..read]).map_err(wrong)?;
        let (found, wanted) = (file.metadata()?.len(), header.file_bytes());
        match wanted {
            Some(wanted) if wanted == found => Ok(header),
            Some(wanted) if wanted > found => {
                Err(wrong(format!("the index is cut short: it has {found} bytes of {wanted}")))
            }
            _ => Err(wrong(format!("the index is damaged: it has {found} bytes, and {} entries", header.records))),
        }
    }

    /// The header in `bytes`, or why they are none.
    fn parse(bytes: &[u8]) -> Result<IndexHeader, String> {
        let Some((magic, rest)) = bytes.split_first_chunk::<8>().filter(|(magic, _)| *magic == MAGIC) else {
            return Err("it is not an index; make one with 'eagre sort --index'".to_owned());
        };
        let Ok(bytes) = <&[u8; IndexHeader::BYTES]>::try_from(bytes) else {
            return Err(format!("the index is cut short: it has {} bytes", magic.len() + rest.len()));
        };
        let number = |at: usize, size: usize| number(&bytes[at..at + size]);
        let version = number(8, 2);
        if version != u64::from(VERSION) {
            return Err(format!("it is an index of version {version}, not {VERSION}"));
        }
        let (key_bytes, flags, record_size) = (number(10, 2) as usize, bytes[14], number(24, 8));
        let (offset_bytes, length_bytes) = (bytes[12], bytes[13]);
        let sizes = matches!(offset_bytes, 5 | 8) && length_bytes == if record_size == 0 { offset_bytes } else { 0 };
        let keys = if flags & WHOLE_KEYS == 0 { key_bytes == PREFIX } else { key_bytes <= WHOLE };
        let flags_known = flags & !(DESCENDING | WHOLE_KEYS | TERMINATED) == 0;
        if !sizes || !keys || !flags_known || bytes[52..] != [0; 12] {
            return Err("the index is damaged: its header makes no sense".to_owned());
        }
        Ok(IndexHeader {
            records: number(16, 8),
            key_bytes,
            whole_keys: flags & WHOLE_KEYS != 0,
            descending: flags & DESCENDING != 0,
            record_size: (record_size > 0).then_some(record_size),
            terminator: (flags & TERMINATED != 0).then_some(bytes[15]),
            data_bytes: number(32, 8),
            data_modified: (number(40, 8) as i64, number(48, 4) as u32),
            offset_bytes: offset_bytes.into(),
        })
    }

    /// The bytes of the header.
    pub(super) fn bytes(&self) -> [u8; IndexHeader::BYTES] {
        let mut bytes = [0; IndexHeader::BYTES];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..10].copy_from_slice(&VERSION.to_le_bytes());
        bytes[10..12].copy_from_slice(&(self.key_bytes as u16).to_le_bytes());
        bytes[12] = self.offset_bytes as u8;
        bytes[13] = self.length_bytes() as u8;
        let flag = |given: bool, flag: u8| if given { flag } else { 0 };
        bytes[14] = flag(self.descending, DESCENDING)
            | flag(self.whole_keys, WHOLE_KEYS)
            | flag(self.terminator.is_some(), TERMINATED);
        bytes[15] = self.terminator.unwrap_or(0);
        bytes[16..24].copy_from_slice(&self.records.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.record_size.unwrap_or(0).to_le_bytes());
        bytes[32..40].copy_from_slice(&self.data_bytes.to_le_bytes());
        bytes[40..48].copy_from_slice(&self.data_modified.0.to_le_bytes());
        bytes[48..52].copy_from_slice(&self.data_modified.1.to_le_bytes());
        bytes
    }

    fn length_bytes(&self) -> usize {
        if self.record_size.is_some() { 0 } else { self.offset_bytes }
    }

    /// The size of an entry in bytes.
    #[must_use]
    pub fn entry_bytes(&self) -> usize {
        self.key_bytes + self.offset_bytes + self.length_bytes()
    }

    /// The size of the whole index in bytes, unless it is more than a file can have.
    pub(super) fn file_bytes(&self) -> Option<u64> {
        self.records.checked_mul(self.entry_bytes() as u64)?.checked_add(IndexHeader::BYTES as u64)
    }

    /// The entry in `bytes`, which are [`entry_bytes`](Self::entry_bytes) bytes of the index. It may point anywhere, if the
    /// index is not to be trusted.
    ///
    /// # Panics
    /// There are fewer bytes.
    #[must_use]
    #[inline]
    pub fn entry<'a>(&self, bytes: &'a [u8]) -> IndexEntry<'a> {
        let (key, rest) = bytes.split_at(self.key_bytes);
        let (offset, rest) = rest.split_at(self.offset_bytes);
        let length = self.record_size.unwrap_or_else(|| number(&rest[..self.offset_bytes]));
        IndexEntry { key, offset: number(offset), length }
    }

    /// Appends an entry. Of a longer key, its beginning is kept.
    #[inline]
    pub(super) fn put(&self, key: &[u8], offset: u64, length: u64, out: &mut Vec<u8>) {
        let kept = key.len().min(self.key_bytes);
        out.extend_from_slice(&key[..kept]);
        out.resize(out.len() + self.key_bytes - kept, 0);
        out.extend_from_slice(&offset.to_le_bytes()[..self.offset_bytes]);
        out.extend_from_slice(&length.to_le_bytes()[..self.length_bytes()]);
    }
}

/// The number in up to 8 bytes.
#[inline]
fn number(bytes: &[u8]) -> u64 {
    let mut whole = [0; 8];
    whole[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(whole)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::records::{Fixed, Klv, Lines};

    fn data(bytes: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    #[test]
    fn headers_and_entries_come_back() {
        let file = data(&[7; 200]);
        let headers = [
            IndexHeader::of(&Fixed::gensort(), &file, true).unwrap(),
            IndexHeader::of(&Klv::new(65, 2, false).unwrap(), &file, false).unwrap(),
            IndexHeader::of(&Lines::default(), &file, false).unwrap(),
        ];
        assert_eq!(headers.map(|header| header.entry_bytes()), [10 + 5, 16 + 5 + 5, 16 + 5 + 5]);
        assert_eq!(headers.map(|header| header.whole_keys), [true, false, false]);
        for mut header in headers {
            header.records = 2;
            let mut bytes = header.bytes().to_vec();
            header.put(b"key", 100, header.record_size.unwrap_or(77), &mut bytes);
            header.put(&[9; 99], (1 << 40) - 1, header.record_size.unwrap_or(3), &mut bytes);
            assert_eq!(IndexHeader::read(&data(&bytes)).unwrap(), header);
            let entry = header.entry(&bytes[64..]);
            let mut key = b"key".to_vec();
            key.resize(header.key_bytes, 0);
            assert_eq!((entry.key, entry.offset), (&key[..], 100));
            assert_eq!(entry.length, header.record_size.unwrap_or(77));
            assert_eq!(header.entry(&bytes[64 + header.entry_bytes()..]).offset, (1 << 40) - 1);
        }
    }

    #[test]
    fn what_is_no_index_is_said() {
        let mut header = IndexHeader::of(&Lines::default(), &data(b"x"), false).unwrap();
        header.records = 1;
        let mut good = header.bytes().to_vec();
        header.put(b"x", 0, 1, &mut good);
        IndexHeader::read(&data(&good)).unwrap();
        let said = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut bytes = good.clone();
            change(&mut bytes);
            IndexHeader::read(&data(&bytes)).unwrap_err().to_string()
        };
        assert!(said(&|bytes| bytes.clear()).contains("not an index"));
        assert!(said(&|bytes| bytes[0] = b'e').contains("not an index"));
        assert!(said(&|bytes| bytes.truncate(40)).contains("cut short: it has 40 bytes"));
        assert!(said(&|bytes| bytes.truncate(80)).contains("cut short: it has 80 bytes of 90"));
        assert!(said(&|bytes| bytes.push(0)).contains("damaged: it has 91 bytes, and 1 entries"));
        assert!(said(&|bytes| bytes[8] = 2).contains("version 2, not 1"));
        for at in [10, 11, 12, 13, 14, 24, 60] {
            assert!(said(&|bytes| bytes[at] = 99).contains("makes no sense"), "{at}");
        }
        assert!(said(&|bytes| bytes[16..24].fill(0xff)).contains("damaged"));
    }
}
