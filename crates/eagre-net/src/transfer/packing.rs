//! Pieces become smaller on their way, if that is asked for and works.
#![forbid(unsafe_code)]

use std::fmt;
use std::io;
use std::str::FromStr;

use eagre::compressed::block::{self, Zstd};
use eagre::heap;

use super::content::{Codec, PIECE};
use super::wire;

/// What is compressed on the way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// Nothing.
    #[default]
    None,
    /// What shrinks: a file that does not is tried less and less often (zstd).
    Auto,
    /// Every piece that shrinks, by zstd: on slow links.
    Zstd,
    /// Every piece that shrinks, by lz4: on fast links.
    Lz4,
}

impl FromStr for Compression {
    type Err = String;

    fn from_str(text: &str) -> Result<Compression, String> {
        match text {
            "none" => Ok(Compression::None),
            "auto" => Ok(Compression::Auto),
            "zstd" => Ok(Compression::Zstd),
            "lz4" => Ok(Compression::Lz4),
            _ => Err("it is none, auto, zstd or lz4".to_owned()),
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Compression::None => "none",
            Compression::Auto => "auto",
            Compression::Zstd => "zstd",
            Compression::Lz4 => "lz4",
        })
    }
}

/// Packs pieces.
#[derive(Debug)]
pub(super) struct Packer {
    codec: Codec,
    /// How many pieces to leave as they are after one that did not shrink.
    patience: Option<u32>,
    waiting: u32,
    zstd: Option<Zstd>,
    packed: Vec<u8>,
}

/// The longest run of pieces that are not tried.
const LONGEST_WAIT: u32 = 64;
/// The speed counts more than the last percent.
const LEVEL: i32 = 1;

impl Packer {
    /// `None` if nothing is to be packed.
    ///
    /// # Errors
    /// Memory is refused.
    pub(super) fn new(compression: Compression) -> io::Result<Option<Packer>> {
        let (codec, patience) = match compression {
            Compression::None => return Ok(None),
            Compression::Auto => (Codec::Zstd, Some(0)),
            Compression::Zstd => (Codec::Zstd, None),
            Compression::Lz4 => (Codec::Lz4, None),
        };
        let zstd = match codec {
            Codec::Zstd => Some(Zstd::new().ok_or(io::ErrorKind::OutOfMemory)?),
            Codec::Lz4 => None,
        };
        Ok(Some(Packer { codec, patience, waiting: 0, zstd, packed: heap::filled(PIECE, 0)? }))
    }

    /// A new file may be another kind of file.
    pub(super) fn begin(&mut self) {
        self.waiting = 0;
        if let Some(patience) = &mut self.patience {
            *patience = 0;
        }
    }

    /// Packs a piece. `None` if that saves less than a twentieth, or was not tried.
    pub(super) fn pack(&mut self, raw: &[u8]) -> Option<(Codec, &[u8])> {
        if self.waiting > 0 {
            self.waiting -= 1;
            return None;
        }
        let room = &mut self.packed[..raw.len() - raw.len().div_ceil(20)];
        let packed = match &mut self.zstd {
            Some(zstd) => zstd.pack(LEVEL, raw, room),
            None => block::pack(raw, room),
        };
        if let Some(patience) = &mut self.patience {
            match packed {
                Some(_) => *patience = 0,
                None => {
                    *patience = (*patience * 2 + 1).min(LONGEST_WAIT);
                    self.waiting = *patience;
                }
            }
        }
        Some((self.codec, &self.packed[..packed?]))
    }
}

/// Unpacks pieces.
#[derive(Debug, Default)]
pub(super) struct Unpacker {
    zstd: Option<Zstd>,
    raw: Vec<u8>,
}

impl Unpacker {
    /// Unpacks a piece, which must become `raw` bytes.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] if it does not. Memory is refused.
    pub(super) fn unpack(&mut self, how: Codec, raw: usize, packed: &[u8]) -> io::Result<&[u8]> {
        if self.raw.is_empty() {
            self.raw = heap::filled(PIECE, 0)?;
        }
        let room = self.raw.get_mut(..raw).ok_or_else(|| wire::wrong("a piece that is too long"))?;
        let unpacked = match (how, &mut self.zstd) {
            (Codec::Lz4, _) => block::unpack(packed, room),
            (Codec::Zstd, Some(zstd)) => zstd.unpack(packed, room),
            (Codec::Zstd, none) => none.insert(Zstd::new().ok_or(io::ErrorKind::OutOfMemory)?).unpack(packed, room),
        };
        match unpacked {
            Some(unpacked) if unpacked == raw => Ok(room),
            _ => Err(wire::wrong("a piece that cannot be unpacked")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(length: usize) -> Vec<u8> {
        let mut random = fastrand::Rng::with_seed(length as u64);
        (0..length).map(|_| random.u8(..)).collect()
    }

    #[test]
    fn pieces_come_back_as_they_were() {
        let text: Vec<u8> = (0..PIECE).map(|at| (at / 100) as u8).collect();
        for compression in [Compression::Auto, Compression::Zstd, Compression::Lz4] {
            let mut packer = Packer::new(compression).unwrap().unwrap();
            let mut unpacker = Unpacker::default();
            for length in [1, 19, 20, 1000, PIECE] {
                packer.begin();
                let raw = &text[..length];
                if let Some((how, packed)) = packer.pack(raw) {
                    assert!(packed.len() < length);
                    assert_eq!(unpacker.unpack(how, length, packed).unwrap(), raw);
                    // Damaged, or of another length than announced: an error.
                    assert!(unpacker.unpack(how, length - 1, packed).is_err());
                    assert!(unpacker.unpack(how, PIECE + 1, packed).is_err());
                    assert!(unpacker.unpack(how, length, &packed[..packed.len() - 1]).is_err());
                } else {
                    assert!(length < 1000, "{compression}: {length}");
                }
            }
            assert_eq!(compression.to_string().parse(), Ok(compression));
        }
        assert!(Packer::new(Compression::None).unwrap().is_none());
    }

    #[test]
    fn what_does_not_shrink_is_tried_less_often() {
        let noise = noise(10_000);
        let mut packer = Packer::new(Compression::Auto).unwrap().unwrap();
        let mut tried = 0;
        for _ in 0..300 {
            tried += u32::from(packer.waiting == 0);
            assert!(packer.pack(&noise).is_none());
        }
        assert!(tried < 12, "{tried}");
        packer.begin();
        assert!(packer.pack(&vec![0; 10_000]).is_some());
    }

    #[test]
    fn garbage_is_an_error() {
        let mut unpacker = Unpacker::default();
        for length in 0..200 {
            let noise = noise(length);
            for how in [Codec::Zstd, Codec::Lz4] {
                let _ = unpacker.unpack(how, 1000, &noise).map(drop);
            }
        }
    }
}
