//! The formats, and how files are recognised.

use std::ffi::OsStr;
use std::fmt;
use std::path::Path;

/// A format of compressed files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// gzip (RFC 1952), including files of bgzip and pigz, which have many members.
    Gzip,
    /// Zstandard (RFC 8878).
    Zstd,
    /// The lz4 frame format.
    Lz4,
}

impl Format {
    /// The number of bytes needed to recognise a format.
    pub const MAGIC: usize = 4;

    /// The format according to a file name: `.gz`, `.tgz`, `.zst`, `.tzst` or `.lz4`, in any case.
    #[must_use]
    pub fn of_name(path: &Path) -> Option<Format> {
        let suffix = path.extension().and_then(OsStr::to_str)?.to_ascii_lowercase();
        Some(match suffix.as_str() {
            "gz" | "tgz" => Format::Gzip,
            "zst" | "tzst" => Format::Zstd,
            "lz4" => Format::Lz4,
            _ => return None,
        })
    }

    /// The largest possible content of a file of `length` bytes.
    pub(super) fn most(self, length: u64) -> u64 {
        let times = match self {
            // 258 bytes per two bits.
            Format::Gzip => 1032,
            // A block of 128 KiB per four bytes.
            Format::Zstd => 32 << 10,
            // 255 bytes of a match per byte of its length.
            Format::Lz4 => 255,
        };
        length.saturating_mul(times)
    }

    /// The format according to the first [`Format::MAGIC`] bytes of a file.
    #[must_use]
    pub fn of_bytes(first: &[u8]) -> Option<Format> {
        if first.starts_with(&[0x1f, 0x8b, 8]) {
            return Some(Format::Gzip);
        }
        match u32::from_le_bytes(first.get(..4)?.try_into().ok()?) {
            // Skippable frames are the same in zstd and lz4. Files of pzstd begin with one, files of lz4 do not.
            0xFD2F_B528 | 0x184D_2A50..=0x184D_2A5F => Some(Format::Zstd),
            0x184D_2204 | LZ4_LEGACY => Some(Format::Lz4),
            _ => None,
        }
    }
}

/// The first bytes of lz4 files from before 2014, and of those in the Linux kernel. They are recognised in order to be
/// rejected with a clear message.
pub(super) const LZ4_LEGACY: u32 = 0x184C_2102;

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::Gzip => "gzip",
            Format::Zstd => "zstd",
            Format::Lz4 => "lz4",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_first_bytes() {
        for (name, format) in [
            ("a.gz", Some(Format::Gzip)),
            ("b.tar.ZST", Some(Format::Zstd)),
            ("dir.gz/c", None),
            (".gz", None),
            ("x.lz4", Some(Format::Lz4)),
            ("x.bz2", None),
        ] {
            assert_eq!(Format::of_name(Path::new(name)), format, "{name}");
        }
        assert_eq!(Format::of_bytes(b"\x1f\x8b\x08\0"), Some(Format::Gzip));
        // Not deflate: no gzip file we know of.
        assert_eq!(Format::of_bytes(b"\x1f\x8b\x07\0"), None);
        assert_eq!(Format::of_bytes(b"\x28\xb5\x2f\xfd"), Some(Format::Zstd));
        assert_eq!(Format::of_bytes(b"\x04\x22\x4d\x18"), Some(Format::Lz4));
        assert_eq!(Format::of_bytes(b"\x28\xb5\x2f"), None);
        assert_eq!(Format::of_bytes(b""), None);
    }
}
