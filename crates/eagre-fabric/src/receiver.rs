//! The side whose memory is written.
#![forbid(unsafe_code)]

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use xxhash_rust::xxh3::xxh3_64;

use crate::endpoint::{Completion, Connection, Listening};
use crate::error::{FabricError, FabricErrorKind};
use crate::library::Fabric;
use crate::memory::Memory;
use crate::offer::{self, END, LAST, LINE, Offer, TOKEN};

/// How long the last word may take to reach the other side.
const FAREWELL: Duration = Duration::from_secs(5);

/// Blocks that wait for another host to write them. They are registered once.
pub struct Ring {
    listening: Listening,
    offer: Offer,
}

impl Ring {
    /// `blocks` blocks of `block` bytes, offered at an address of this host that the other one reaches; port 0 is any.
    ///
    /// # Errors
    /// [`FabricErrorKind::Setting`] if blocks cannot be so; [`FabricErrorKind::Refused`].
    pub fn new(fabric: &Fabric, address: SocketAddr, block: u64, blocks: u64) -> Result<Ring, FabricError> {
        offer::check(block, blocks)?;
        let memory = Memory::new((block * blocks) as usize + blocks as usize * LINE)?;
        let mut token = [0; TOKEN];
        let refused = |why| FabricError::new(FabricErrorKind::Refused, format_args!("no random numbers: {why}"));
        let flags = rustix::rand::GetRandomFlags::empty();
        rustix::rand::getrandom(&mut token, flags).map_err(refused)?;
        let listening = Listening::open(fabric, address, memory)?;
        let (key, base) = listening.exposed();
        let offer = Offer { address: listening.address()?, token, key, base, block, blocks };
        Ok(Ring { listening, offer })
    }

    /// What the other side needs.
    pub fn offer(&self) -> &Offer {
        &self.offer
    }

    /// Waits for the other side, as long as `patience`. Who does not know the offer is turned away.
    ///
    /// # Errors
    /// [`FabricErrorKind::Late`] if nobody came.
    pub fn accept(self, patience: Duration) -> Result<Receiver, FabricError> {
        let connection = self.listening.accept(&self.offer.token, Instant::now() + patience)?;
        Ok(Receiver {
            connection,
            offer: self.offer,
            arrived: 0,
            taken: 0,
            returned: 0,
            bytes: 0,
            digest: blake3::Hasher::new(),
            ended: false,
        })
    }
}

/// Receives what a [`Sender`](crate::Sender) writes: blocks, in order, where the card has put them.
pub struct Receiver {
    connection: Connection,
    offer: Offer,
    arrived: u64,
    taken: u64,
    returned: u64,
    bytes: u64,
    digest: blake3::Hasher,
    ended: bool,
}

fn damaged(what: &str) -> FabricError {
    FabricError::new(FabricErrorKind::Damaged, what)
}

impl Receiver {
    /// The next block, without a copy. The one before is returned to the other side. None at the end, when everything was right.
    ///
    /// # Errors
    /// [`FabricErrorKind::Gone`] if the other side is; [`FabricErrorKind::Damaged`].
    pub fn next_block(&mut self) -> Result<Option<&[u8]>, FabricError> {
        if self.ended {
            return Ok(None);
        }
        self.give_back()?;
        while self.arrived == self.taken {
            let completion = self.connection.next()?;
            self.see(completion)?;
        }
        let number = self.taken;
        let slot = number % self.offer.blocks;
        let line = (self.offer.block * self.offer.blocks) as usize + slot as usize * LINE;
        let [said, len, check, _] = self.connection.memory().words(line);
        let is_end = len == END;
        let len = if is_end { LAST as u64 } else { len };
        if said != number || len == 0 || len > self.offer.block {
            return Err(damaged("a block of the ring arrived with a line that makes no sense"));
        }
        let place = (slot * self.offer.block) as usize;
        let range = place..place + len as usize;
        let bytes = self.connection.memory().bytes(range.clone());
        if xxh3_64(bytes) != check {
            return Err(damaged("a block of the ring arrived damaged"));
        }
        if is_end {
            let right = bytes[..8] == self.bytes.to_le_bytes() && bytes[8..] == *self.digest.finalize().as_bytes();
            if !right {
                return Err(damaged("what arrived through the ring is not what was sent"));
            }
            self.taken += 1;
            self.end()?;
            return Ok(None);
        }
        self.digest.update(bytes);
        self.bytes += len;
        self.taken += 1;
        Ok(Some(self.connection.memory().bytes(range)))
    }

    /// The digest (BLAKE3) of what was taken so far.
    pub fn digest(&self) -> [u8; 32] {
        *self.digest.finalize().as_bytes()
    }

    fn see(&mut self, completion: Option<Completion>) -> Result<(), FabricError> {
        let Some(Completion::Arrived(number)) = completion else { return Ok(()) };
        if number != u64::from(self.arrived as u32) || self.arrived - self.returned >= self.offer.blocks {
            return Err(damaged("the other side of the ring writes blocks out of turn"));
        }
        self.arrived += 1;
        Ok(())
    }

    /// Returns what was taken.
    fn give_back(&mut self) -> Result<(), FabricError> {
        if self.returned == self.taken {
            return Ok(());
        }
        self.returned = self.taken;
        let mut seen = Vec::new();
        self.connection.send(self.taken, &mut |completion| seen.push(completion))?;
        seen.into_iter().try_for_each(|completion| self.see(Some(completion)))
    }

    /// Says that everything is here, and stays until the other side has heard it.
    fn end(&mut self) -> Result<(), FabricError> {
        self.give_back()?;
        self.ended = true;
        let until = Instant::now() + FAREWELL;
        while Instant::now() < until && self.connection.next().is_ok() {}
        Ok(())
    }
}
