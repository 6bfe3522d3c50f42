//! Reading a copy back. Each piece has a checksum of its own, taken from memory on its way, so that pieces may be carried in
//! any order, and a difference has a place.

use std::fs::File;
use std::io;

use rustix::fs::{Advice, OFlags, fadvise};
use xxhash_rust::xxh3::xxh3_128;

use super::CopyError;
use super::ends::{Buffer, Source, past_the_cache};

/// What a piece was.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sum {
    offset: u64,
    len: usize,
    sum: u128,
}

/// What all pieces were: 32 bytes for each, 16 MiB for a terabyte.
pub(super) type Sums = Vec<Sum>;

impl Sum {
    pub(super) fn of(offset: u64, bytes: &[u8]) -> Sum {
        Sum { offset, len: bytes.len(), sum: xxh3_128(bytes) }
    }
}

/// Compares `file`, which is to be `length` bytes long and is on the disk, with what its pieces were.
pub(super) fn check(mut sums: Sums, file: &File, length: u64) -> Result<(), CopyError> {
    let found = file.metadata().map_err(CopyError::Target)?.len();
    if found != length {
        return Err(CopyError::Mismatch(found.min(length)));
    }
    sums.sort_unstable_by_key(|sum| sum.offset);
    // What is still in the page cache says nothing about the disk.
    let _ = fadvise(file, 0, None, Advice::DontNeed);
    let source = Source { file, direct: past_the_cache(file, OFlags::RDONLY) };
    let mut buffer = Buffer::new(sums.iter().map(|sum| sum.len).max().unwrap_or(0)).map_err(CopyError::Target)?;
    for sum in sums {
        let bytes = buffer.bytes(sum.len);
        match source.read(bytes, sum.offset) {
            Ok(()) if xxh3_128(bytes) == sum.sum => {}
            Ok(()) => return Err(CopyError::Mismatch(sum.offset)),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Err(CopyError::Mismatch(sum.offset)),
            Err(error) => return Err(CopyError::Target(error)),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    #[test]
    fn a_byte_that_changed_on_the_disk_is_found() {
        let file = tempfile::tempfile().unwrap();
        let bytes: Vec<u8> = (0..3_000_000u32).map(|i| (i % 251) as u8).collect();
        file.write_all_at(&bytes, 0).unwrap();
        file.sync_all().unwrap();
        let sums: Sums = bytes.chunks(1 << 20).enumerate().map(|(i, piece)| Sum::of((i as u64) << 20, piece)).collect();
        check(sums.clone(), &file, 3_000_000).unwrap();
        file.write_all_at(b"x", 1_500_000).unwrap();
        assert!(matches!(check(sums.clone(), &file, 3_000_000), Err(CopyError::Mismatch(0x10_0000))));
        file.write_all_at(&bytes[1_500_000..1_500_001], 1_500_000).unwrap();
        file.set_len(2_999_999).unwrap();
        assert!(matches!(check(sums, &file, 3_000_000), Err(CopyError::Mismatch(2_999_999))));
    }
}
