//! The side that writes.
#![forbid(unsafe_code)]

use std::time::{Duration, Instant};

use xxhash_rust::xxh3::xxh3_64;

use crate::endpoint::{Completion, Connection};
use crate::error::{FabricError, FabricErrorKind};
use crate::library::Fabric;
use crate::memory::Memory;
use crate::offer::{self, END, LAST, LINE, Offer};

/// Writes blocks into a [`Ring`](crate::Ring) on another host. Its memory is registered once, and is what the card reads.
pub struct Sender {
    connection: Connection,
    offer: Offer,
    state: State,
    bytes: u64,
    digest: blake3::Hasher,
}

/// How far everything is, in blocks.
#[derive(Default)]
struct State {
    sent: u64,
    written: u64,
    returned: u64,
    /// Messages that have arrived, and that were looked at.
    arrived: u64,
    looked_at: u64,
}

impl State {
    fn see(&mut self, completion: Completion) {
        match completion {
            Completion::Written => self.written += 1,
            Completion::Received => self.arrived += 1,
            Completion::Arrived(_) | Completion::Other => {}
        }
    }
}

impl Sender {
    /// Connects to the ring of an offer, and waits as long as `patience` for an answer.
    ///
    /// # Errors
    /// [`FabricErrorKind::Gone`] or [`FabricErrorKind::Late`] if nobody answers or the offer is not theirs;
    /// [`FabricErrorKind::Refused`].
    pub fn connect(fabric: &Fabric, offer: &Offer, patience: Duration) -> Result<Sender, FabricError> {
        offer::check(offer.block, offer.blocks)?;
        let data = (offer.block * offer.blocks) as usize;
        let memory = Memory::new(data + offer.blocks as usize * 8)?;
        let deadline = Instant::now() + patience;
        let connection = Connection::open(fabric, offer.address, &offer.token, memory, deadline, |connection| {
            (0..offer.blocks as usize).try_for_each(|room| connection.receive(data + room * 8, &mut |_| ()))
        })?;
        Ok(Sender {
            connection,
            offer: offer.clone(),
            state: State::default(),
            bytes: 0,
            digest: blake3::Hasher::new(),
        })
    }

    fn place(&self) -> usize {
        ((self.state.sent % self.offer.blocks) * self.offer.block) as usize
    }

    /// Waits for something, and looks at what came.
    fn advance(&mut self) -> Result<(), FabricError> {
        if let Some(completion) = self.connection.next()? {
            self.state.see(completion);
        }
        self.look()
    }

    /// Looks at the messages that have come.
    fn look(&mut self) -> Result<(), FabricError> {
        while self.state.looked_at < self.state.arrived {
            let data = (self.offer.block * self.offer.blocks) as usize;
            let room = data + (self.state.looked_at % self.offer.blocks) as usize * 8;
            let [returned] = self.connection.memory().words(room);
            if returned < self.state.returned || returned > self.state.sent {
                let text = "the other side of the ring returns blocks that it never had";
                return Err(FabricError::new(FabricErrorKind::Damaged, text));
            }
            self.state.returned = returned;
            self.state.looked_at += 1;
            let state = &mut self.state;
            self.connection.receive(room, &mut |completion| state.see(completion))?;
        }
        Ok(())
    }

    /// The next block, to be filled and sent; it holds what an earlier one held. Waits until the other side has returned one.
    ///
    /// # Errors
    /// [`FabricErrorKind::Gone`] if the other side is.
    pub fn block(&mut self) -> Result<&mut [u8], FabricError> {
        while self.state.sent - self.state.returned.min(self.state.written) >= self.offer.blocks {
            self.advance()?;
        }
        let place = self.place();
        Ok(self.connection.memory_mut().bytes_mut(place..place + self.offer.block as usize))
    }

    /// Sends the first `len` bytes of the block.
    ///
    /// # Errors
    /// As [`Sender::block`].
    ///
    /// # Panics
    /// If a block has fewer bytes.
    pub fn send(&mut self, len: usize) -> Result<(), FabricError> {
        if len == 0 {
            return Ok(());
        }
        let bytes = &self.block()?[..len];
        let check = xxh3_64(bytes);
        let place = self.place();
        self.digest.update(self.connection.memory().bytes(place..place + len));
        self.bytes += len as u64;
        self.post(len, len as u64, check)
    }

    fn post(&mut self, len: usize, says: u64, check: u64) -> Result<(), FabricError> {
        let (place, number) = (self.place(), self.state.sent);
        let line = self.offer.block * self.offer.blocks + number % self.offer.blocks * LINE as u64;
        let (base, key) = (self.offer.base, self.offer.key);
        let state = &mut self.state;
        let mut seen = |completion| state.see(completion);
        self.connection.write_words(&[number, says, check, 0], base.wrapping_add(line), key, &mut seen)?;
        let to = base.wrapping_add(place as u64);
        self.connection.write(place..place + len, to, key, number as u32, &mut seen)?;
        self.state.sent += 1;
        self.look()
    }

    /// Says that this is the end, and waits until the other side has everything and found it right. Returns the digest (BLAKE3).
    ///
    /// # Errors
    /// As [`Sender::block`]; then the other side may not have everything.
    pub fn finish(mut self) -> Result<[u8; 32], FabricError> {
        let (bytes, digest) = (self.bytes, *self.digest.finalize().as_bytes());
        let block = self.block()?;
        block[..8].copy_from_slice(&bytes.to_le_bytes());
        block[8..LAST].copy_from_slice(&digest);
        let check = xxh3_64(&block[..LAST]);
        self.post(LAST, END, check)?;
        while self.state.returned < self.state.sent {
            self.advance()?;
        }
        Ok(digest)
    }
}
