//! As many records as memory holds, and their words.

use std::io;
use std::sync::{Mutex, PoisonError};

use eagre_mem::heap;

use super::budget::Budget;
use super::inputs::{Found, Inputs};
use super::kernels::{Index, Order, Seen};
use super::pieces::{self, Wanted};
use super::trouble;
use crate::records::{Checksum, Format, Malformed};
use crate::sort::Sorter;
use crate::{BlockSize, Pool, RewiredVec};

/// How many bytes are read before their words are made.
const BATCH: usize = 8 << 20;

/// Records in memory. Two vectors share one pool: how many words there are for so many bytes is not known before.
pub(super) struct Chunk<'f, F> {
    format: &'f F,
    pub(super) index: Index,
    bytes: RewiredVec<u8>,
    words: RewiredVec<u128>,
    budget: Budget,
    block: u64,
    /// How many bytes have words.
    parsed: usize,
    /// Whether the bytes end with an input, and so with a record.
    closed: bool,
    /// How many records were read into it: as many as there are words, or more if repeated ones were left out.
    pub(super) records: u64,
    /// For each thread the keys that it has seen, if records with repeated keys may be left out.
    seen: Option<Vec<Mutex<Seen>>>,
    /// The size of the longest record.
    pub(super) longest: usize,
    /// Which records were read so far, if that is wanted.
    pub(super) checksum: Option<Checksum>,
    /// Where in its input the last batch ends.
    place: (String, u64),
}

impl<'f, F: Format> Chunk<'f, F> {
    pub(super) fn new(format: &'f F, budget: Budget, order: Order, distinct: bool) -> io::Result<Self> {
        let size = if budget.chunk >= 128 << 20 { BlockSize::DEFAULT } else { BlockSize::MIN };
        let block = size.bytes() as u64;
        let blocks = (budget.chunk / block).clamp(8, u64::from(u32::MAX)) as u32;
        let pool = Pool::new(size, blocks, None, None).map_err(trouble)?;
        let most = blocks as usize * size.bytes();
        let several = || heap::several(budget.threads, || Seen::new().map(Mutex::new));
        let seen = distinct.then(several).transpose().map_err(trouble)?;
        Ok(Chunk {
            format,
            index: Index::new(format, most as u64, order),
            bytes: RewiredVec::with_limit(&pool, most).map_err(trouble)?,
            words: RewiredVec::with_limit(&pool, most / 16).map_err(trouble)?,
            budget,
            block,
            parsed: 0,
            closed: false,
            records: 0,
            seen,
            longest: 0,
            checksum: None,
            place: Default::default(),
        })
    }

    /// The records, and their words.
    pub(super) fn parts(&mut self) -> (&[u8], &mut RewiredVec<u128>) {
        (&self.bytes[..self.parsed], &mut self.words)
    }

    /// Drops the records and reads others. True if the inputs have more.
    pub(super) fn fill(
        &mut self,
        inputs: &mut Inputs,
        progress: &mut dyn FnMut(u64) -> io::Result<()>,
    ) -> io::Result<bool> {
        // What has no words yet comes to the front.
        let kept = self.bytes.len() - self.parsed;
        self.bytes.copy_within(self.parsed.., 0);
        self.bytes.truncate(kept);
        self.words.clear();
        for seen in self.seen.iter_mut().flatten() {
            seen.get_mut().unwrap_or_else(PoisonError::into_inner).forget();
        }
        (self.parsed, self.records) = (0, 0);
        if kept > 0 && !self.parse(self.closed)? {
            return Ok(true);
        }
        self.closed = false;
        loop {
            // For each byte read, there are as many bytes of words as before; at first, unknown.
            let before = self.bytes.len();
            while self.bytes.len() - before < BATCH && self.room() > 0 {
                let most = BATCH.min(self.room());
                let (bytes, words) = (&mut self.bytes, &mut self.words);
                match inputs.read(most, |more| extend(bytes, more, words))? {
                    Found::Bytes => self.place = inputs.place(),
                    Found::EndOfInput(last) => {
                        // The last line of a file may lack its end.
                        if let (Some(end), Some(last)) = (self.format.terminator(), last)
                            && last != end
                        {
                            extend(&mut self.bytes, &[end], &mut self.words)?;
                        }
                        self.closed = true;
                        if !self.parse(true)? {
                            return Ok(true);
                        }
                        self.closed = false;
                    }
                    Found::End => return Ok(false),
                }
            }
            progress(inputs.done)?;
            let all = self.parse(false)?;
            if self.mostly_repeated() {
                return Ok(true);
            }
            if !all || self.room() == 0 {
                if self.words.is_empty() {
                    return Err(self.too_long());
                }
                return Ok(true);
            }
        }
    }

    /// Whether so few records have words that it is better to go on with the memory that was used already. What it gives is a
    /// small run.
    fn mostly_repeated(&self) -> bool {
        const ENOUGH: usize = 64 << 20;
        self.seen.is_some() && self.bytes.len() >= ENOUGH && self.records > 4 * self.words.len() as u64
    }

    /// How many bytes more have room together with their words, if these are as many as before.
    fn room(&self) -> usize {
        let used = self.bytes.len() as u64 + 16 * self.words.len() as u64 + 3 * self.block;
        let left = self.budget.chunk.saturating_sub(used);
        let records = (self.words.len() as u64).max(1);
        // Of the bytes that are there, some have no words yet.
        let per_record = (self.parsed as u64 / records).max(1);
        let owed = 16 * (self.bytes.len() - self.parsed) as u64 / per_record;
        let left = left.saturating_sub(if self.words.is_empty() { 0 } else { owed });
        (left * per_record / (per_record + 16)) as usize
    }

    /// # Errors
    /// The records are too long for runs, of which at least two are in memory at once.
    pub(super) fn check_longest(&self) -> io::Result<()> {
        let most = self.budget.longest();
        if self.longest as u64 <= most {
            return Ok(());
        }
        let message = format!(
            "sort: a record of {} bytes is longer than {most}, and not all records fit into memory; use more with --memory",
            self.longest
        );
        Err(io::Error::new(io::ErrorKind::InvalidInput, message))
    }

    fn too_long(&self) -> io::Error {
        let (name, end) = &self.place;
        let start = end.saturating_sub(self.bytes.len() as u64);
        let message = format!(
            "read: {name}: the record at byte {start} is longer than {} bytes, all that fit into memory; use more with --memory",
            self.bytes.len()
        );
        io::Error::new(io::ErrorKind::InvalidInput, message)
    }

    /// Makes the words of all whole records that have none, as long as there is memory for them. If `last`, the bytes end with a
    /// record. False if memory is full.
    fn parse(&mut self, last: bool) -> io::Result<bool> {
        while self.parsed < self.bytes.len() {
            let threads = self.budget.threads;
            let wanted = Wanted { sum: self.checksum.is_some(), seen: self.seen.as_deref() };
            let pieces = pieces::cut(self.format, &self.bytes, self.parsed, 4 * threads, last);
            let pieces = pieces.map_err(|why| self.malformed(why))?;
            if pieces.is_empty() {
                return Ok(true);
            }
            let made = pieces::words(self.format, &self.index, &self.bytes, &pieces, threads, wanted);
            let made = made.map_err(trouble)?;
            for (range, made) in pieces.iter().zip(made) {
                self.longest = self.longest.max(made.longest);
                let used = self.bytes.len() as u64 + 16 * (self.words.len() + made.words.len()) as u64 + 2 * self.block;
                if used > self.budget.chunk && !self.words.is_empty() {
                    return Ok(false);
                }
                extend(&mut self.words, &made.words, &mut self.bytes)?;
                if let Some(sum) = &mut self.checksum {
                    *sum += made.checksum;
                }
                self.records += made.records as u64;
                self.parsed = range.end;
            }
        }
        Ok(true)
    }

    fn malformed(&self, why: Malformed) -> io::Error {
        let (name, end) = &self.place;
        let message = format!("read: {name}: {why}, from byte {} on", end.saturating_sub(why.bytes()));
        io::Error::new(io::ErrorKind::InvalidData, message)
    }

    /// Puts the words in order.
    pub(super) fn sort(&mut self, sorter: &Sorter<'_>) -> io::Result<()> {
        self.index.sort(self.format, &self.bytes[..self.parsed], &mut self.words, sorter).map_err(trouble)
    }
}

/// Appends to one of two vectors that share a pool. The other one may still have blocks of the chunk before.
fn extend<T: Copy, U>(vector: &mut RewiredVec<T>, more: &[T], other: &mut RewiredVec<U>) -> io::Result<()> {
    if vector.try_reserve(more.len()).is_err() {
        other.shrink_to_fit();
    }
    vector.try_extend_from_slice(more).map_err(trouble)
}
