//! Messages on a connection: a header of 32 bytes, and the bytes that it announces.
//!
//! ```text
//!  0     1        4       8             16            24           32
//!  │kind │ zeros  │ length│ offset      │ check       │ zeros      │ length bytes …
//! ```
//! Numbers are little-endian. `offset` is where the bytes stand in the stream, and `check` is the XXH3 of the bytes, seeded with
//! the rest of the header, so that a header is checked as its bytes are.

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// The size of a header.
pub(crate) const HEADER: usize = 32;
/// The longest text in a message.
pub(crate) const TEXT: usize = 1024;
/// The size of a BLAKE3 digest.
pub(crate) const DIGEST: usize = 32;

/// What a message says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// Bytes of the stream, which begin at `offset`.
    Data = 1,
    /// The stream ends at `offset`. The bytes are its digest.
    End = 2,
    /// All bytes before `offset` have arrived and are right.
    Ack = 3,
    /// The stream has arrived up to its end, and its digest is right.
    Done = 4,
    /// This side lives.
    Beat = 5,
    /// This side gives the stream up. The bytes are the reason, as text.
    Abort = 6,
    /// By RDMA: where the other side may write. The bytes are the offer.
    Offer = 7,
    /// By RDMA: this side is about to connect. The bytes are what the other one needs for that.
    Answer = 8,
}

/// A header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) kind: Kind,
    pub(crate) length: u32,
    pub(crate) offset: u64,
    check: u64,
}

impl Header {
    /// The header of a message with these bytes.
    pub(crate) fn of(kind: Kind, offset: u64, bytes: &[u8]) -> Header {
        // Callers send pieces of at most 256 KiB, and short texts.
        let length = bytes.len() as u32;
        Header { kind, length, offset, check: check(kind, offset, bytes) }
    }

    pub(crate) fn write(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[0] = self.kind as u8;
        bytes[4..8].copy_from_slice(&self.length.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.offset.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.check.to_le_bytes());
        bytes
    }

    /// Reads a header; `None` if this is none. Its length may be anything: the caller knows what may be.
    pub(crate) fn read(bytes: &[u8; HEADER]) -> Option<Header> {
        let number = |at: usize| bytes[at..at + 8].try_into().map(u64::from_le_bytes).unwrap_or_default();
        let kind = match bytes[0] {
            1 => Kind::Data,
            2 => Kind::End,
            3 => Kind::Ack,
            4 => Kind::Done,
            5 => Kind::Beat,
            6 => Kind::Abort,
            7 => Kind::Offer,
            8 => Kind::Answer,
            _ => return None,
        };
        if bytes[1..4] != [0; 3] || bytes[24..] != [0; 8] {
            return None;
        }
        let header = Header { kind, length: (number(0) >> 32) as u32, offset: number(8), check: number(16) };
        let fits = match kind {
            Kind::Data => header.length > 0,
            Kind::End => header.length as usize == DIGEST,
            Kind::Ack | Kind::Done | Kind::Beat => header.length == 0 && header.fits(&[]),
            Kind::Abort | Kind::Offer | Kind::Answer => header.length as usize <= TEXT,
        };
        fits.then_some(header)
    }

    /// Whether these are the bytes that the header was made for.
    pub(crate) fn fits(&self, bytes: &[u8]) -> bool {
        xxh3_64_with_seed(bytes, seed(self.kind, self.length, self.offset)) == self.check
    }
}

/// The checksum of a message.
pub(crate) fn check(kind: Kind, offset: u64, bytes: &[u8]) -> u64 {
    xxh3_64_with_seed(bytes, seed(kind, bytes.len() as u32, offset))
}

fn seed(kind: Kind, length: u32, offset: u64) -> u64 {
    let mut bytes = [0; 13];
    bytes[0] = kind as u8;
    bytes[1..5].copy_from_slice(&length.to_le_bytes());
    bytes[5..].copy_from_slice(&offset.to_le_bytes());
    xxh3_64(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_survive_the_wire_and_changes_do_not() {
        let digest = [7; DIGEST];
        for (kind, bytes) in [
            (Kind::Data, &b"some bytes"[..]),
            (Kind::End, &digest),
            (Kind::Ack, b""),
            (Kind::Done, b""),
            (Kind::Beat, b""),
            (Kind::Abort, b"why"),
            (Kind::Offer, b"here"),
            (Kind::Answer, b""),
        ] {
            let header = Header::of(kind, 1 << 40, bytes);
            let wire = header.write();
            assert_eq!(Header::read(&wire), Some(header));
            assert!(header.fits(bytes));
            for bit in 0..8 * HEADER {
                let mut wrong = wire;
                wrong[bit / 8] ^= 1 << (bit % 8);
                assert!(Header::read(&wrong).is_none_or(|header| !header.fits(bytes)), "{kind:?}: bit {bit}");
            }
            if !bytes.is_empty() {
                let mut wrong = bytes.to_vec();
                wrong[0] ^= 1;
                assert!(!header.fits(&wrong));
            }
        }
    }

    #[test]
    fn garbage_is_no_header() {
        assert_eq!(Header::read(&[0; HEADER]), None);
        assert_eq!(Header::read(&[0xFF; HEADER]), None);
        assert_eq!(Header::read(b"GET / HTTP/1.1\r\nHost: example.or"), None);
        let long = Header { kind: Kind::Abort, length: TEXT as u32 + 1, offset: 0, check: 0 };
        assert_eq!(Header::read(&long.write()), None);
    }
}
