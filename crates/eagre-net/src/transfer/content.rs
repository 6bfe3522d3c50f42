//! The contents of files, one after the other, in pieces.
//!
//! ```text
//! from OFFSET   raw LENGTH bytes   zstd LENGTH PACKED bytes   lz4 ...   end DIGEST
//! ```
//!
//! A file begins with the offset from which it comes: what lies in front is at the other side already. It ends with the digest of
//! all of it, or with the reason why the rest of it cannot come.
#![forbid(unsafe_code)]

use std::io::{self, BufRead, Read, Write};

use super::have::Digest;
use super::wire;

/// The most bytes of a piece.
pub(super) const PIECE: usize = 1 << 20;
/// How many bytes are read or written, and then digested, at once: they are still in the cache of the processor.
pub(super) const CACHED: usize = 256 << 10;
/// The most bytes of a reason.
const LONGEST: usize = 500;

/// What comes next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Chunk {
    /// A file begins.
    From(u64),
    /// So many bytes follow.
    Raw(usize),
    /// `packed` bytes follow, which are `raw` bytes of the file.
    Packed { how: Codec, raw: usize, packed: usize },
    /// The file ends.
    End(Digest),
    /// The file cannot be read.
    Failed(Vec<u8>),
    /// No more files in this round.
    All,
}

/// How a piece is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Codec {
    Zstd,
    Lz4,
}

impl Chunk {
    pub(super) fn write(&self, to: &mut impl Write) -> io::Result<()> {
        // Pieces have at most PIECE bytes.
        let length = |length: usize| u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes();
        match self {
            Chunk::From(offset) => {
                to.write_all(b"f")?;
                to.write_all(&offset.to_le_bytes())
            }
            Chunk::Raw(raw) => {
                to.write_all(b"r")?;
                to.write_all(&length(*raw))
            }
            Chunk::Packed { how, raw, packed } => {
                to.write_all(match how {
                    Codec::Zstd => b"z",
                    Codec::Lz4 => b"4",
                })?;
                to.write_all(&length(*raw))?;
                to.write_all(&length(*packed))
            }
            Chunk::End(digest) => {
                to.write_all(b"e")?;
                to.write_all(digest)
            }
            Chunk::Failed(why) => {
                to.write_all(b"x")?;
                wire::put_text(to, &why[..why.len().min(LONGEST)])
            }
            Chunk::All => to.write_all(b"."),
        }
    }

    /// Reads what comes next. Its lengths are within their bounds.
    ///
    /// # Errors
    /// Those of reading. [`io::ErrorKind::InvalidData`] for anything else.
    pub(super) fn read(from: &mut impl Read) -> io::Result<Chunk> {
        let length = |from: &mut _| match wire::u32(from)? as usize {
            length @ 1..=PIECE => Ok(length),
            length => Err(wire::wrong(format!("a piece of {length} bytes"))),
        };
        Ok(match wire::u8(from)? {
            b'f' => Chunk::From(wire::u64(from)?),
            b'r' => Chunk::Raw(length(from)?),
            kind @ (b'z' | b'4') => {
                let (raw, packed) = (length(from)?, length(from)?);
                Chunk::Packed { how: if kind == b'z' { Codec::Zstd } else { Codec::Lz4 }, raw, packed }
            }
            b'e' => Chunk::End(wire::bytes(from)?),
            b'x' => Chunk::Failed(wire::text(from, LONGEST)?),
            b'.' => Chunk::All,
            _ => return Err(wire::wrong("a piece of an unknown kind")),
        })
    }
}

/// Passes the next `length` bytes on as they come.
///
/// # Errors
/// Those of reading, or of `take`.
pub(super) fn pass<E: From<io::Error>>(
    from: &mut impl BufRead,
    mut length: usize,
    mut take: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    while length > 0 {
        let bytes = from.fill_buf()?;
        if bytes.is_empty() {
            return Err(wire::wrong("it ends too early").into());
        }
        let now = bytes.len().min(length).min(CACHED);
        take(&bytes[..now])?;
        from.consume(now);
        length -= now;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for chunk in [
            Chunk::From(1 << 40),
            Chunk::Raw(PIECE),
            Chunk::Packed { how: Codec::Zstd, raw: 9, packed: 8 },
            Chunk::Packed { how: Codec::Lz4, raw: PIECE, packed: 1 },
            Chunk::End([9; 32]),
            Chunk::Failed(b"why".to_vec()),
            Chunk::All,
        ] {
            let mut bytes = Vec::new();
            chunk.write(&mut bytes).unwrap();
            assert_eq!(Chunk::read(&mut &bytes[..]).unwrap(), chunk);
            assert!(Chunk::read(&mut &bytes[..bytes.len() - 1]).is_err());
        }
    }

    #[test]
    fn pieces_are_bounded() {
        for chunk in [
            Chunk::Raw(0),
            Chunk::Raw(PIECE + 1),
            Chunk::Packed { how: Codec::Zstd, raw: PIECE + 1, packed: 1 },
            Chunk::Packed { how: Codec::Zstd, raw: 1, packed: PIECE + 1 },
            Chunk::Packed { how: Codec::Lz4, raw: 0, packed: 1 },
        ] {
            let mut bytes = Vec::new();
            chunk.write(&mut bytes).unwrap();
            assert_eq!(Chunk::read(&mut &bytes[..]).unwrap_err().kind(), io::ErrorKind::InvalidData, "{chunk:?}");
        }
        assert!(Chunk::read(&mut &b"?"[..]).is_err());
    }

    #[test]
    fn bytes_are_passed_on_whole_or_not() {
        let mut got = Vec::new();
        let mut take = |bytes: &[u8]| {
            got.extend_from_slice(bytes);
            io::Result::Ok(())
        };
        pass(&mut io::BufReader::with_capacity(3, &b"0123456789"[..]), 8, &mut take).unwrap();
        assert!(pass(&mut &b"0123"[..], 5, &mut take).is_err());
        assert_eq!(got, b"012345670123");
    }
}
