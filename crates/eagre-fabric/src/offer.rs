//! What the sender has to know, and what both sides agree on.
#![forbid(unsafe_code)]

use std::fmt;
use std::net::SocketAddr;

use crate::error::{FabricError, FabricErrorKind};

/// How many bytes say that the right one calls.
pub(crate) const TOKEN: usize = 32;

/// Bytes of a block's line in the table behind the ring: its number, its length, its checksum, and nothing.
pub(crate) const LINE: usize = 32;
/// The length that says that a block is the end, and holds the length of everything and its digest.
pub(crate) const END: u64 = u64::MAX;
/// Bytes in the last block.
pub(crate) const LAST: usize = 40;

/// Where a ring is, and the keys to it. Whoever has it may write into the ring: pass it on over a connection that both sides trust.
#[derive(Clone, PartialEq, Eq)]
pub struct Offer {
    pub(crate) address: SocketAddr,
    pub(crate) token: [u8; TOKEN],
    /// The remote key of the memory, and the address it begins at.
    pub(crate) key: u64,
    pub(crate) base: u64,
    /// Bytes in a block, and blocks.
    pub(crate) block: u64,
    pub(crate) blocks: u64,
}

impl Offer {
    /// The offer as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.token.to_vec();
        for number in [self.key, self.base, self.block, self.blocks] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(self.address.to_string().as_bytes());
        bytes
    }

    /// The offer that [`Offer::to_bytes`] gave.
    ///
    /// # Errors
    /// [`FabricErrorKind::Setting`] if these are not the bytes of an offer.
    pub fn from_bytes(bytes: &[u8]) -> Result<Offer, FabricError> {
        let read = || {
            let (token, rest) = bytes.split_first_chunk::<TOKEN>()?;
            let (numbers, address) = rest.split_first_chunk::<32>()?;
            let number = |at: usize| numbers[at * 8..][..8].try_into().map(u64::from_le_bytes).ok();
            let offer = Offer {
                address: std::str::from_utf8(address).ok()?.parse().ok()?,
                token: *token,
                key: number(0)?,
                base: number(1)?,
                block: number(2)?,
                blocks: number(3)?,
            };
            check(offer.block, offer.blocks).ok()?;
            Some(offer)
        };
        read().ok_or_else(|| FabricError::new(FabricErrorKind::Setting, "these bytes are not an offer of a ring"))
    }
}

/// Keys are not shown.
impl fmt::Debug for Offer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Offer({}: {} blocks of {} bytes)", self.address, self.blocks, self.block)
    }
}

/// Whether a ring can have this shape.
pub(crate) fn check(block: u64, blocks: u64) -> Result<(), FabricError> {
    let good = block.is_power_of_two() && (64 << 10..=64 << 20).contains(&block) && (1..=256).contains(&blocks);
    if good {
        return Ok(());
    }
    Err(FabricError::new(
        FabricErrorKind::Setting,
        format_args!(
            "a ring cannot have {blocks} blocks of {block} bytes; use 1 to 256 blocks of a power of two from 64 KiB to 64 MiB"
        ),
    ))
}
