//! The table that all threads share, for keys that do not fit into the threads' own small tables.
//!
//! It is partitioned by the first bits of the hash, and each part has a lock. There are several parts per thread, so
//! threads rarely wait. Each key is stored once, however many threads there are.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::number::Number;
use super::room::{Refused, Room};
use super::shard::{Details, Key, Shard};
use super::summary::Summary;
use super::table::{Block, LONGEST, hash};

/// Parts per thread.
const PARTS: usize = 8;
/// The most hash bits that select a part.
const MOST_BITS: u32 = 10;

/// The secret of the hash: others cannot know which keys collide.
pub(super) fn secret() -> Block {
    let random = RandomState::new();
    [0, 1, 2, 3].map(|word: u32| random.hash_one(word))
}

/// The shared table.
#[derive(Debug)]
pub(super) struct Shared {
    secret: Block,
    bits: u32,
    shards: Box<[Mutex<Shard>]>,
    /// Where the next thread begins its round over the parts.
    turn: AtomicUsize,
    room: Room,
    failure: OnceLock<Refused>,
}

impl Shared {
    /// A table for this many threads.
    pub(super) fn new(secret: Block, threads: usize, details: Details) -> Result<Shared, Refused> {
        let most = 1 << MOST_BITS;
        let parts = if threads <= 1 { 1 } else { threads.saturating_mul(PARTS).min(most).next_power_of_two() };
        let bits = parts.ilog2();
        let (turn, room, failure) = (AtomicUsize::new(0), Room::default(), OnceLock::new());
        let mut shards = room.vector(1 << bits)?;
        shards.resize_with(1 << bits, || Mutex::new(Shard::new(bits, details)));
        Ok(Shared { secret, bits, shards: shards.into_boxed_slice(), turn, room, failure })
    }

    pub(super) fn secret(&self) -> &Block {
        &self.secret
    }

    /// The number of parts.
    pub(super) fn parts(&self) -> usize {
        self.shards.len()
    }

    /// The part for keys with this hash.
    #[inline(always)]
    pub(super) fn part(&self, hash: u32) -> usize {
        (u64::from(hash) << self.bits >> 32) as usize
    }

    /// The hash of a key.
    pub(super) fn hash(&self, key: &[u8]) -> u32 {
        if key.len() > LONGEST {
            return (xxh3_64_with_seed(key, self.secret[0]) >> 32) as u32;
        }
        let mut bytes = [0; LONGEST];
        bytes[..key.len()].copy_from_slice(key);
        let mut words = [0; 4];
        for (to, word) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *to = u64::from_le_bytes(*word);
        }
        hash(&words, &self.secret)
    }

    /// A key with its hash.
    pub(super) fn key<'a>(&self, bytes: &'a [u8]) -> Key<'a> {
        Key { bytes, hash: self.hash(bytes) }
    }

    fn lock(&self, number: usize) -> MutexGuard<'_, Shard> {
        self.shards[number].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls a function for each wanted part. Parts that are not locked by another thread come first.
    pub(super) fn each(
        &self,
        wanted: impl Fn(usize) -> bool,
        mut work: impl FnMut(usize, &mut Shard, &Room) -> Result<(), Refused>,
    ) -> Result<(), Refused> {
        let first = self.turn.fetch_add(self.shards.len() / 2 + 1, Relaxed);
        // One bit for each part that was locked by another thread.
        let mut busy = [0_u64; (1 << MOST_BITS) / 64];
        for number in (0..self.shards.len()).map(|number| (first + number) % self.shards.len()).filter(|&n| wanted(n)) {
            match self.shards[number].try_lock() {
                Ok(mut shard) => self.note(work(number, &mut shard, &self.room))?,
                Err(TryLockError::Poisoned(shard)) => self.note(work(number, &mut shard.into_inner(), &self.room))?,
                Err(TryLockError::WouldBlock) => busy[number / 64] |= 1 << (number % 64),
            }
        }
        let is_busy = |number: &usize| busy[number / 64] >> (number % 64) & 1 != 0;
        (0..self.shards.len())
            .filter(is_busy)
            .try_for_each(|number| self.note(work(number, &mut self.lock(number), &self.room)))
    }

    /// Adds one value of a key.
    pub(super) fn add_one(&self, key: Key<'_>, value: Number) -> Result<(), Refused> {
        self.note(self.lock(self.part(key.hash)).add_one(key, value, &self.room))
    }

    /// Merges the summary of some values of a key.
    pub(super) fn merge(&self, key: Key<'_>, summary: Summary) -> Result<(), Refused> {
        self.note(self.lock(self.part(key.hash)).merge(key, summary, &self.room))
    }

    /// Keeps the first failure, because the scan has no other way to report it.
    fn note(&self, done: Result<(), Refused>) -> Result<(), Refused> {
        done.inspect_err(|refused| {
            let _ = self.failure.set(*refused);
        })
    }

    /// Records that memory for rows on their way to this table was refused.
    pub(super) fn refuse(&self) -> Refused {
        let refused = self.room.refused();
        let _ = self.failure.set(refused);
        refused
    }

    /// The memory account.
    pub(super) fn room(&self) -> &Room {
        &self.room
    }

    /// Accounts for memory that other code uses.
    pub(super) fn take(&self, bytes: usize) -> Result<(), Refused> {
        self.note(self.room.take(bytes))
    }

    /// The reason why there will be no result.
    pub(super) fn failure(&self) -> Option<Refused> {
        self.failure.get().copied()
    }

    /// The number of keys.
    pub(super) fn len(&self) -> usize {
        (0..self.shards.len()).map(|number| self.lock(number).len()).sum()
    }

    /// Merges another table with the same secret and as many parts.
    pub(super) fn take_in(&self, other: Shared) -> Result<(), Refused> {
        assert_eq!(self.bits, other.bits, "tables are cut alike");
        for (own, others) in self.shards.iter().zip(other.shards) {
            let others = others.into_inner().unwrap_or_else(PoisonError::into_inner);
            own.lock().unwrap_or_else(PoisonError::into_inner).take_in(others, &self.room)?;
        }
        Ok(())
    }

    /// Ends the input. Returns the parts and their memory account.
    pub(super) fn finish(self) -> Result<(Vec<Shard>, Room), Refused> {
        let mut shards = self.room.vector(self.shards.len())?;
        for shard in self.shards {
            let mut shard = shard.into_inner().unwrap_or_else(PoisonError::into_inner);
            shard.finish(&self.room)?;
            shards.push(shard);
        }
        Ok((shards, self.room))
    }
}
