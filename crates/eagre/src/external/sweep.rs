//! Records of a file that lives in memory, in any order, without their pages in the memory of the sort.
//!
//! Whoever maps such a file has each page it looks at counted as memory. Reading record by record counts nothing, but a call
//! takes several times as long as a short record. So as many records as there is room for are collected in the order of the
//! input, from a window that moves over the mapping and is unmapped behind, and are put in order afterwards:
//!
//! ```text
//! words ──> (where, rank), sorted by where ──> records, one behind the other ──> sorted by rank
//! input ─────────────window>─────────────────┘
//! ```
//!
//! Each part of the output takes one sweep over the input.

use std::io;
use std::sync::{Mutex, PoisonError};

use eagre_mem::heap;
use eagre_mem::threads::with_helpers;

use super::kernels::{Index, Order, record_at};
use super::pointed::Pointed;
use super::trouble;
use crate::records::Format;
use crate::sort::Sorter;

/// How many bits of an entry say where a record is.
const PLACE: u32 = 40;
/// How many say its rank: which record of the part it is.
const RANK: u32 = u64::BITS - PLACE;
/// A sweep finds at least one record in so many bytes. With fewer, reading each is faster.
const SPARSE: usize = 6 << 10;
/// How many bytes all threads together have mapped.
const WINDOW: usize = 16 << 20;
/// What a record takes in memory beside its bytes: its entry, its word, and the word of a merge.
const BESIDE: usize = 8 + 16 + 16;

/// Collects records, part by part.
pub(super) struct Sweep {
    /// The records of a part: each thread has a share of the room.
    pub(super) bytes: Vec<u8>,
    /// Their words, in the order of the part. They count in `bytes`.
    pub(super) words: Vec<u128>,
    entries: Vec<u64>,
    /// Where records are in `bytes`.
    pub(super) index: Index,
    /// What a thread may fill.
    share: usize,
    /// How many records go in, if they are as long as most.
    count: usize,
    threads: usize,
}

impl Sweep {
    /// What collects records of about `mean` bytes in `memory` bytes. `None` if reading them one by one is faster.
    pub(super) fn new<F: Format>(
        format: &F,
        input: &Pointed<'_>,
        order: Order,
        longest: usize,
        (memory, mean): (u64, usize),
        threads: usize,
    ) -> io::Result<Option<Sweep>> {
        // Of records that differ in size, some parts have longer ones.
        let size = format.record_size().unwrap_or(mean + mean / 4);
        let all = (input.bytes.len() / mean.max(1) + threads).saturating_mul(size + BESIDE);
        let memory = usize::try_from(memory).unwrap_or(usize::MAX).min(all);
        // Each thread has room for as many.
        let count = (memory / (size + BESIDE)).min(1 << RANK) / threads * threads;
        if count < (input.bytes.len() / SPARSE).max(64) || input.bytes.len() as u64 >= 1 << PLACE {
            return Ok(None);
        }
        let unit = format.record_size().unwrap_or(1);
        let share = (memory - BESIDE * count) / threads / unit * unit;
        let index = Index::new(format, (share * threads) as u64, order).limited(longest);
        let bytes = heap::filled(share * threads, 0).map_err(trouble)?;
        let (entries, words) = (heap::list(count).map_err(trouble)?, heap::list(count).map_err(trouble)?);
        Ok(Some(Sweep { bytes, words, entries, index, share, count, threads }))
    }

    /// For how many words a sweep is made.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Collects the records of the first of `words`, and returns how many these were: one at least. `None` if not even a few
    /// of them have room.
    pub(super) fn collect<F: Format>(
        &mut self,
        format: &F,
        input: &Pointed<'_>,
        index: &Index,
        words: &[u128],
    ) -> io::Result<Option<usize>> {
        let sorter = Sorter::new().threads(self.threads).slack(4 << 20);
        let mut count = words.len().min(self.count);
        loop {
            let places = words[..count].iter().zip(0_u64..);
            self.entries.clear();
            self.entries.extend(places.map(|(&word, rank)| (index.position(word) as u64) << RANK | rank));
            sorter.sort(&mut self.entries).map_err(trouble)?;
            if self.copy(format, input, index.longest()) {
                break;
            }
            // Longer records than most.
            count /= 2;
            if count < self.threads {
                return Ok(None);
            }
        }
        sorter.sort(&mut self.entries).map_err(trouble)?;
        self.words.clear();
        let index = self.index;
        self.words.extend(self.entries.iter().map(|&entry| index.with(0, (entry & ((1 << PLACE) - 1)) as usize)));
        Ok(Some(count))
    }

    /// Copies the records of all entries, which then say by rank where these are in `bytes`. False if there is no room.
    fn copy<F: Format>(&mut self, format: &F, input: &Pointed<'_>, longest: usize) -> bool {
        let each = self.entries.len().div_ceil(self.threads).max(1);
        let shares = self.entries.chunks_mut(each).zip(self.bytes.chunks_mut(self.share));
        let shares = Mutex::new(shares.enumerate());
        let fits = Mutex::new(true);
        let work = || {
            loop {
                let next = shares.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some((number, (entries, out))) = next else { break };
                if !copy_share(format, input, longest, entries, (out, number * self.share), WINDOW / self.threads) {
                    *fits.lock().unwrap_or_else(PoisonError::into_inner) = false;
                }
            }
        };
        with_helpers(Some(c"eagre-sweep"), self.threads.saturating_sub(1), &work, work);
        fits.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Copies the records of entries to `out`, which is at `base` of all. False if there is no room.
fn copy_share<F: Format>(
    format: &F,
    input: &Pointed<'_>,
    longest: usize,
    entries: &mut [u64],
    (out, base): (&mut [u8], usize),
    window: usize,
) -> bool {
    let (mut used, mut end) = (0, 0);
    let mut released = entries.first().map_or(0, |&first| (first >> RANK) as usize);
    let mut fits = true;
    for entry in entries {
        let (at, rank) = ((*entry >> RANK) as usize, *entry & ((1 << RANK) - 1));
        if at - released >= window {
            input.mapping.release(released..at);
            released = at;
        }
        let record = record_at(format, input.bytes, at, longest);
        let Some(to) = out.get_mut(used..used + record.len()) else {
            fits = false;
            break;
        };
        to.copy_from_slice(record);
        *entry = rank << PLACE | (base + used) as u64;
        used += record.len();
        end = at + record.len();
    }
    input.mapping.release(released..end.max(released));
    fits
}
