//! What the receiver has already, file by file: how many bytes, and their digest.
#![forbid(unsafe_code)]

use std::io::{self, Read, Write};

use eagre::heap;

use super::wire;

/// The digest of some bytes (BLAKE3).
pub(super) type Digest = [u8; 32];

/// The first bytes of a file, as the receiver has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Have {
    pub(super) bytes: u64,
    pub(super) digest: Digest,
}

/// Writes what there is of each file, in the order of the list.
pub(super) fn write(to: &mut impl Write, haves: &[Option<Have>]) -> io::Result<()> {
    // The usual answer is short.
    if haves.iter().all(Option::is_none) {
        return to.write_all(b"-");
    }
    to.write_all(b"+")?;
    for have in haves {
        match have {
            None => to.write_all(b"-")?,
            Some(Have { bytes, digest }) => {
                to.write_all(b"+")?;
                to.write_all(&bytes.to_le_bytes())?;
                to.write_all(digest)?;
            }
        }
    }
    Ok(())
}

/// Reads what there is of each of `files` files.
///
/// # Errors
/// Those of reading. [`io::ErrorKind::InvalidData`] for anything else.
pub(super) fn read(from: &mut impl Read, files: usize) -> io::Result<Vec<Option<Have>>> {
    let mut haves = heap::filled(files, None)?;
    if flag(from)? {
        for have in &mut haves {
            if flag(from)? {
                *have = Some(Have { bytes: wire::u64(from)?, digest: wire::bytes(from)? });
            }
        }
    }
    wire::end(from)?;
    Ok(haves)
}

fn flag(from: &mut impl Read) -> io::Result<bool> {
    match wire::u8(from)? {
        b'+' => Ok(true),
        b'-' => Ok(false),
        _ => Err(wire::wrong("an answer of an unknown kind")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let have = Some(Have { bytes: 7, digest: [3; 32] });
        for haves in [vec![], vec![None; 3], vec![None, have, None, have]] {
            let mut bytes = Vec::new();
            write(&mut bytes, &haves).unwrap();
            assert_eq!(read(&mut &bytes[..], haves.len()).unwrap(), haves);
            for length in 0..bytes.len() {
                assert!(read(&mut &bytes[..length], haves.len()).is_err());
            }
            bytes.push(b'-');
            assert!(read(&mut &bytes[..], haves.len()).is_err());
        }
        assert!(read(&mut &b"?"[..], 1).is_err());
    }
}
