//! What the process that makes a stream says of it to the other one, and what that answers.

#![forbid(unsafe_code)]

use crate::stream::protocol::Windows;
use crate::sys::{process, socket};
use crate::trap::End;
use crate::units::BlockSize;
use std::time::Duration;

/// The widest window, in blocks, as for streams in one process.
pub(super) const MOST: u32 = 60;
/// The longest name, in bytes.
pub(super) const MOST_NAME: usize = 63;
/// The most bytes that a pointer may reach: 64 TiB, half of the addresses of a process.
pub(super) const MOST_CAPACITY: u64 = 1 << 46;
/// The first bytes: what this is, and the version of page and packets.
const MAGIC: [u8; 8] = *b"eagreP\x00\x02";
/// The packet that wakes the other side.
pub(super) const WAKE: [u8; 1] = *b"w";

/// A process, as others may know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    number: u32,
    space: u64,
}

impl Identity {
    pub(super) const BYTES: usize = 16;

    pub(super) fn own() -> Identity {
        Identity { number: process::id(), space: socket::process_space() }
    }

    pub(super) fn bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = *b"here            ";
        bytes[4..8].copy_from_slice(&self.number.to_ne_bytes());
        bytes[8..].copy_from_slice(&self.space.to_ne_bytes());
        bytes
    }

    /// Safe in handlers.
    pub(super) fn read(bytes: &[u8]) -> Option<Identity> {
        let rest = bytes.strip_prefix(b"here")?;
        let number = u32::from_ne_bytes(rest.get(..4)?.try_into().ok()?);
        let space = u64::from_ne_bytes(rest.get(4..12)?.try_into().ok()?);
        Some(Identity { number, space })
    }

    /// The number by which a process that sees `space` knows this one.
    pub(super) fn number_in(self, space: u64) -> Option<u32> {
        (space != 0 && self.space == space).then_some(self.number)
    }
}

/// A stream, as its maker describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hello {
    /// The end that the receiver gets.
    pub(super) end: End,
    pub(super) block: BlockSize,
    pub(super) windows: Windows,
    pub(super) timeout: Option<Duration>,
    /// How many bytes the pointer of either end reaches, at most [`MOST_CAPACITY`].
    pub(super) capacity: u64,
    pub(super) maker: Identity,
    pub(super) name: String,
}

impl Hello {
    pub(super) const BYTES: usize = 128;

    pub(super) fn bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        let Windows { rewrite, lookback, read_ahead } = self.windows;
        let timeout = self.timeout.map_or(u64::MAX, |limit| u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX - 1));
        bytes[8] = self.end as u8;
        for (index, word) in [self.block.bytes() as u32, rewrite, lookback, read_ahead].into_iter().enumerate() {
            bytes[12 + 4 * index..][..4].copy_from_slice(&word.to_ne_bytes());
        }
        bytes[32..40].copy_from_slice(&timeout.to_ne_bytes());
        bytes[40..56].copy_from_slice(&self.maker.bytes());
        let name = &self.name.as_bytes()[..self.name.len().min(MOST_NAME)];
        bytes[56] = name.len() as u8;
        bytes[57..57 + name.len()].copy_from_slice(name);
        bytes[120..].copy_from_slice(&self.capacity.to_ne_bytes());
        bytes
    }

    /// `None` if it is not one of this version, or its numbers are out of range.
    pub(super) fn read(bytes: &[u8]) -> Option<Hello> {
        if bytes.len() != Self::BYTES || bytes[..8] != MAGIC {
            return None;
        }
        let word = |at: usize| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let end = match bytes[8] {
            0 => End::Writer,
            1 => End::Reader,
            _ => return None,
        };
        let windows = Windows { rewrite: word(16), lookback: word(20), read_ahead: word(24) };
        check_windows(windows).ok()?;
        let timeout = u64::from_ne_bytes(bytes[32..40].try_into().ok()?);
        let capacity = u64::from_ne_bytes(bytes[120..].try_into().ok()?);
        if capacity > MOST_CAPACITY {
            return None;
        }
        let name = bytes[57..].get(..usize::from(bytes[56]).min(MOST_NAME))?;
        Some(Hello {
            end,
            block: BlockSize::new(word(12) as usize)?,
            windows,
            timeout: (timeout != u64::MAX).then(|| Duration::from_nanos(timeout)),
            capacity,
            maker: Identity::read(&bytes[40..56])?,
            name: String::from_utf8_lossy(name)
                .chars()
                .map(|letter| if letter.is_control() { '?' } else { letter })
                .collect(),
        })
    }
}

/// Whether windows are in range; else which is not.
pub(super) fn check_windows(windows: Windows) -> Result<(), String> {
    let Windows { rewrite, lookback, read_ahead } = windows;
    for (name, value, least) in [("rewrite", rewrite, 0), ("lookback", lookback, 0), ("read_ahead", read_ahead, 1)] {
        if value < least || value > MOST {
            return Err(format!("{name} is {value} blocks: it must be {least} to {MOST}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello() -> Hello {
        Hello {
            end: End::Reader,
            block: BlockSize::MIN,
            windows: Windows { rewrite: 3, lookback: 0, read_ahead: 60 },
            timeout: Some(Duration::from_millis(1500)),
            capacity: 5 << 40,
            maker: Identity { number: 77, space: 1 << 40 },
            name: "prices".into(),
        }
    }

    #[test]
    fn a_hello_survives_its_packet() {
        assert_eq!(Hello::read(&hello().bytes()), Some(hello()));
        let endless = Hello { timeout: None, end: End::Writer, ..hello() };
        assert_eq!(Hello::read(&endless.bytes()), Some(endless));
        // The longest name and the largest number beside it.
        let long = Hello { name: "n".repeat(100), capacity: MOST_CAPACITY, ..hello() };
        let kept = Hello { name: "n".repeat(MOST_NAME), ..long.clone() };
        assert_eq!(Hello::read(&long.bytes()), Some(kept));
    }

    #[test]
    fn what_is_out_of_range_is_no_hello() {
        let good = hello().bytes();
        for (at, value) in [(0, b'E'), (7, 9), (8, 2), (12, 1), (16, 61), (20, 200), (24, 0), (25, 255), (40, 0)] {
            let mut bad = good;
            bad[at] = value;
            assert_eq!(Hello::read(&bad), None, "byte {at} is {value}");
        }
        for capacity in [MOST_CAPACITY + 1, 1 << 63, u64::MAX] {
            let far = Hello { capacity, ..hello() };
            assert_eq!(Hello::read(&far.bytes()), None, "a capacity of {capacity}");
        }
        // The first version said nothing of a capacity.
        let mut old = good;
        old[7] = 1;
        assert_eq!(Hello::read(&old), None);
        assert_eq!(Hello::read(&good[..127]), None);
        assert_eq!(Hello::read(&[]), None);
        // Any name will do, but not for a terminal.
        let mut loud = good;
        loud[57] = 27;
        loud[58] = 0xFF;
        assert_eq!(Hello::read(&loud).unwrap().name, "?\u{FFFD}ices");
        loud[56] = 255;
        assert!(Hello::read(&loud).is_some());
    }

    #[test]
    fn a_process_has_its_number_in_its_own_space_only() {
        let here = Identity { number: 5, space: 9 };
        assert_eq!(Identity::read(&here.bytes()), Some(here));
        assert_eq!((here.number_in(9), here.number_in(8), here.number_in(0)), (Some(5), None, None));
        assert_eq!(Identity::read(b"w"), None);
    }
}
