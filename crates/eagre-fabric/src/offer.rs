//! What the side that writes has to know.
#![forbid(unsafe_code)]

use std::fmt;

use crate::error::{FabricError, FabricErrorKind};
use crate::provider::Provider;

/// How many bytes say that the right one calls.
pub(crate) const TOKEN: usize = 32;
/// Bytes of a piece's line in the table: its number, where it begins in the stream, its length, its checksum.
pub(crate) const LINE: usize = 32;
/// A bit beside a piece's number: it has a line. Others fill their room, and have no checksum.
pub(crate) const LINED: u32 = 1 << 31;
/// Lines in the table: more than pieces can be on their way.
pub(crate) const LINES: usize = 64;
/// The longest address or name of an end.
const ADDRESS: usize = 255;

/// Where an [`Inlet`](crate::Inlet) is, and the keys to it. Whoever has it may write there: pass it on over a connection that both
/// sides trust.
#[derive(Clone, PartialEq, Eq)]
pub struct Offer {
    pub(crate) provider: Provider,
    pub(crate) token: [u8; TOKEN],
    /// How the table of lines is called: its address and key.
    pub(crate) lines: (u64, u64),
    /// Where the end listens, or its name.
    pub(crate) address: String,
}

impl Offer {
    /// The provider that both ends use.
    pub fn provider(&self) -> Provider {
        self.provider
    }

    /// The offer as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![self.provider as u8];
        bytes.extend(self.token);
        bytes.extend(self.lines.0.to_le_bytes());
        bytes.extend(self.lines.1.to_le_bytes());
        bytes.extend(self.address.as_bytes());
        bytes
    }

    /// The offer that [`Offer::to_bytes`] gave.
    ///
    /// # Errors
    /// [`FabricErrorKind::Setting`] if these are not the bytes of an offer.
    pub fn from_bytes(bytes: &[u8]) -> Result<Offer, FabricError> {
        let read = || {
            let (&provider, rest) = bytes.split_first()?;
            let (token, rest) = rest.split_first_chunk::<TOKEN>()?;
            let (address, rest) = rest.split_first_chunk::<8>()?;
            let (key, name) = rest.split_first_chunk::<8>()?;
            let offer = Offer {
                provider: Provider::of_number(provider)?,
                token: *token,
                lines: (u64::from_le_bytes(*address), u64::from_le_bytes(*key)),
                address: std::str::from_utf8(name).ok()?.to_owned(),
            };
            let printable =
                |text: &str| (1..=ADDRESS).contains(&text.len()) && text.bytes().all(|c| c.is_ascii_graphic());
            let fits = !offer.provider.connects() || offer.address.parse::<std::net::SocketAddr>().is_ok();
            (printable(&offer.address) && fits).then_some(offer)
        };
        read().ok_or_else(|| FabricError::new(FabricErrorKind::Setting, "these bytes are not an offer of a ring"))
    }
}

/// Keys are not shown.
impl fmt::Debug for Offer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Offer({} at {})", self.provider, self.address)
    }
}

/// When memory is registered with the card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Registering {
    /// All of it, when the end is made.
    Once,
    /// Each piece, for as long as it is on its way.
    EachPiece,
}
