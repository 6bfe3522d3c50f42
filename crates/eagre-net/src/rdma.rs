//! How blocks travel by RDMA, and what that costs.

use std::fmt;
use std::str::FromStr;

use eagre_fabric::Fabric;
pub use eagre_fabric::{Device as RdmaDevice, Provider as RdmaProvider};

use crate::error::{NetError, NetErrorKind};

/// How memory that streams move gets together with cards that know pages: the three ways of the thesis ("Network Vortex",
/// 2022), and the one in which nothing stands in the way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RdmaAlgorithm {
    /// The pool is registered once, and windows slide over it: no copies, no registrations on the way.
    #[default]
    Pool,
    /// Each block is registered for as long as it is on its way.
    EachBlock,
    /// Blocks are copied through four registered buffers.
    PipelinedCopy,
    /// Blocks are copied through one registered buffer, one after the other.
    Copy,
}

impl RdmaAlgorithm {
    /// All of them, best first.
    pub const ALL: [RdmaAlgorithm; 4] =
        [RdmaAlgorithm::Pool, RdmaAlgorithm::EachBlock, RdmaAlgorithm::PipelinedCopy, RdmaAlgorithm::Copy];

    /// How many buffers blocks are copied through.
    pub(crate) fn buffers(self) -> Option<usize> {
        match self {
            RdmaAlgorithm::Pool | RdmaAlgorithm::EachBlock => None,
            RdmaAlgorithm::PipelinedCopy => Some(4),
            RdmaAlgorithm::Copy => Some(1),
        }
    }
}

impl fmt::Display for RdmaAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RdmaAlgorithm::Pool => "pool",
            RdmaAlgorithm::EachBlock => "each-block",
            RdmaAlgorithm::PipelinedCopy => "pipelined-copy",
            RdmaAlgorithm::Copy => "copy",
        })
    }
}

impl FromStr for RdmaAlgorithm {
    type Err = String;
    fn from_str(text: &str) -> Result<RdmaAlgorithm, String> {
        let found = RdmaAlgorithm::ALL.into_iter().find(|algorithm| algorithm.to_string() == text);
        found.ok_or_else(|| {
            format!("{text}: no way to send blocks by RDMA; use pool, each-block, pipelined-copy or copy")
        })
    }
}

/// What libfabric has on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Libfabric {
    /// The version of the library: major and minor.
    pub version: (u32, u32),
    /// Ways to other ends, each with the device that it uses, in order.
    pub devices: Vec<RdmaDevice>,
}

impl Libfabric {
    /// Opens the library and asks it. The library stays in the process.
    ///
    /// # Errors
    /// [`NetErrorKind::Setting`] if there is none, with the cure.
    pub fn find() -> Result<Libfabric, NetError> {
        let refused = |error| NetError::new(NetErrorKind::Setting, error);
        let fabric = Fabric::open().map_err(refused)?;
        Ok(Libfabric { version: fabric.version(), devices: fabric.devices().map_err(refused)? })
    }
}

/// What a stream that travelled by RDMA cost on this side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RdmaCosts {
    /// How often memory was registered.
    pub registrations: u64,
    /// How many bytes were copied between blocks and registered buffers.
    pub copied: u64,
}

impl RdmaCosts {
    pub(crate) fn add(&mut self, other: RdmaCosts) {
        self.registrations += other.registrations;
        self.copied += other.copied;
    }
}

/// How blocks travel by RDMA: [`Options::rdma`](crate::Options::rdma). Both sides must say the same provider and algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub struct Rdma {
    pub(crate) provider: RdmaProvider,
    pub(crate) algorithm: RdmaAlgorithm,
    pub(crate) checks: bool,
    pub(crate) busy: bool,
}

impl Rdma {
    /// Through this provider of libfabric's, with the rest as it is best.
    pub fn new(provider: RdmaProvider) -> Rdma {
        Rdma { provider, algorithm: RdmaAlgorithm::default(), checks: true, busy: false }
    }

    /// How blocks and cards get together. Default: [`RdmaAlgorithm::Pool`].
    pub fn algorithm(mut self, algorithm: RdmaAlgorithm) -> Rdma {
        self.algorithm = algorithm;
        self
    }

    /// Which algorithm that is.
    pub fn way(&self) -> RdmaAlgorithm {
        self.algorithm
    }

    /// Whether each piece is checked (XXH3), and the whole (BLAKE3), as it is where either side wants it. Default: yes. Without, nobody
    /// looks at the bytes on their way but the cards, which check each packet; provider `tcp` has the checksums of TCP alone.
    pub fn checks(mut self, checks: bool) -> Rdma {
        self.checks = checks;
        self
    }

    /// Whether this side's waits look all the time, and take a processor for that, instead of sleeping. Default: no.
    pub fn busy_polling(mut self, busy: bool) -> Rdma {
        self.busy = busy;
        self
    }

    /// As both sides must have it.
    pub(crate) fn agrees(self, other: Rdma) -> bool {
        (self.provider, self.algorithm) == (other.provider, other.algorithm)
    }

    /// What the other side must know: bits 0 and 1 the provider and one, bits 2 and 3 the algorithm, bit 4 that no checks are wanted.
    pub(crate) fn to_byte(self) -> u8 {
        let provider = RdmaProvider::ALL.iter().position(|provider| *provider == self.provider).unwrap_or_default();
        (provider as u8 + 1) | (self.algorithm as u8) << 2 | u8::from(!self.checks) << 4
    }

    /// What [`Rdma::to_byte`] gave.
    pub(crate) fn of_byte(byte: u8) -> Option<Rdma> {
        let provider = *RdmaProvider::ALL.get(usize::from(byte & 3).checked_sub(1)?)?;
        let algorithm = RdmaAlgorithm::ALL[usize::from(byte >> 2 & 3)];
        (byte >> 5 == 0).then(|| Rdma::new(provider).algorithm(algorithm).checks(byte >> 4 == 0))
    }
}

/// As people write it: the provider, and what is not as usual, such as `verbs` or `tcp,copy,unchecked`. The words are those of
/// [`RdmaAlgorithm`], `unchecked` and `busy`.
impl FromStr for Rdma {
    type Err = String;
    fn from_str(text: &str) -> Result<Rdma, String> {
        let (provider, rest) = text.split_once(',').map_or((text, None), |(provider, rest)| (provider, Some(rest)));
        let rdma = Rdma::new(provider.parse()?);
        rest.into_iter().flat_map(|rest| rest.split(',')).try_fold(rdma, |rdma, word| match word {
            "unchecked" => Ok(rdma.checks(false)),
            "busy" => Ok(rdma.busy_polling(true)),
            _ => word.parse().map(|algorithm| rdma.algorithm(algorithm)).map_err(|_| {
                format!(
                    "{word}: not a word for streams over RDMA; use pool, each-block, pipelined-copy or copy, and unchecked and busy"
                )
            }),
        })
    }
}

impl fmt::Display for Rdma {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RDMA through {} ({})", self.provider, self.algorithm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_understood() {
        let tcp = Rdma::new(RdmaProvider::Tcp);
        for (text, rdma) in [
            ("tcp", tcp),
            ("tcp,copy", tcp.algorithm(RdmaAlgorithm::Copy)),
            ("verbs,unchecked", Rdma::new(RdmaProvider::Verbs).checks(false)),
            (
                "shm,busy,each-block",
                Rdma::new(RdmaProvider::Shm).algorithm(RdmaAlgorithm::EachBlock).busy_polling(true),
            ),
        ] {
            assert_eq!(text.parse(), Ok(rdma));
        }
        for text in ["", "pool", "tcp,", "tcp,tcp", "TCP", "tcp, copy"] {
            let error = text.parse::<Rdma>().unwrap_err();
            assert!(error.contains("; use "), "{error}");
        }
    }

    #[test]
    fn settings_survive_the_wire_and_their_names() {
        let mut seen = std::collections::BTreeSet::from([0]);
        for provider in RdmaProvider::ALL {
            assert_eq!(provider.to_string().parse(), Ok(provider));
            for algorithm in RdmaAlgorithm::ALL {
                assert_eq!(algorithm.to_string().parse(), Ok(algorithm));
                for checks in [true, false] {
                    let rdma = Rdma::new(provider).algorithm(algorithm).checks(checks);
                    assert_eq!(Rdma::of_byte(rdma.to_byte()), Some(rdma));
                    assert!(seen.insert(rdma.to_byte()));
                }
            }
        }
        for byte in (0..=255).filter(|byte| !seen.contains(byte) || *byte == 0) {
            assert_eq!(Rdma::of_byte(byte), None);
        }
    }
}
