//! Runs as blocks of lz4, each of which is packed and checked on its own.
//!
//! ```text
//! | packed size | size | XXH3 of the packed bytes | packed bytes ... | packed size | ...
//!   4 bytes       4      8, its seed is the offset
//!                        of the block in the run
//! ```
//!
//! All blocks but the last hold [`SIZE`] bytes of the run; one that would not become smaller is kept as it is. Where some
//! of them begin is known, so a run can be read from any byte on.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use eagre_mem::heap;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::trouble;
use crate::Reader;
use crate::compressed::block;
use crate::file::packing::{Note, Pack, Packing};

/// The bytes of a run in a block. It is a multiple of the size of all keys.
pub(super) const SIZE: usize = 64 << 10;
/// The bytes in front of a packed block.
const HEADER: usize = 16;
/// Of a packed size: the block is as it was.
const AS_IT_WAS: u32 = 1 << 31;

/// Packs blocks of runs.
struct Blocks;

impl Pack for Blocks {
    fn bound(&mut self, raw: usize) -> usize {
        HEADER + block::bound(raw).max(raw)
    }

    fn pack(&mut self, at: u64, raw: &[u8], packed: &mut [u8]) -> Result<usize, String> {
        let (header, body) = packed.split_at_mut(HEADER);
        let (size, flag) = match block::pack(raw, body).filter(|&size| size < raw.len()) {
            Some(size) => (size, 0),
            None => {
                body[..raw.len()].copy_from_slice(raw);
                (raw.len(), AS_IT_WAS)
            }
        };
        header[..4].copy_from_slice(&(size as u32 | flag).to_le_bytes());
        header[4..8].copy_from_slice(&(raw.len() as u32).to_le_bytes());
        header[8..].copy_from_slice(&xxh3_64_with_seed(&body[..size], at).to_le_bytes());
        Ok(HEADER + size)
    }
}

/// Where some blocks begin.
#[derive(Debug)]
pub(super) struct Places {
    /// The bytes of the run so far, and those of its file.
    raw: u64,
    packed: u64,
    /// The offsets of blocks in the run and in the file, at least `stride` bytes of the run apart.
    known: Vec<(u64, u64)>,
    stride: u64,
}

/// The most blocks whose places are known. With them, a place takes as much memory as a sample of a run does.
const MOST: usize = 1024;

impl Places {
    fn add(&mut self, raw: usize, packed: usize) {
        if self.known.last().is_none_or(|last| self.raw - last.0 >= self.stride) {
            if self.known.len() == MOST {
                let mut odd = false;
                self.known.retain(|_| {
                    odd = !odd;
                    odd
                });
                self.stride *= 2;
            }
            self.known.push((self.raw, self.packed));
        }
        self.raw += raw as u64;
        self.packed += packed as u64;
    }

    /// The block to begin with to read from `start` on: its offsets in the run and in the file.
    pub(super) fn before(&self, start: u64) -> (u64, u64) {
        let behind = self.known.partition_point(|&(raw, _)| raw <= start);
        behind.checked_sub(1).map_or((0, 0), |at| self.known[at])
    }

    /// Up to which byte of the file to read, to read the run up to `end`.
    pub(super) fn behind(&self, end: u64) -> u64 {
        let behind = self.known.partition_point(|&(raw, _)| raw < end);
        self.known.get(behind).map_or(self.packed, |place| place.1)
    }
}

/// The places of a run that is being written.
#[derive(Clone, Debug)]
pub(super) struct Written(Arc<Mutex<Places>>);

impl Written {
    /// Those of a run with all its blocks written.
    pub(super) fn places(self) -> Places {
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Places { known: std::mem::take(&mut places.known), ..*places }
    }
}

/// How a run is written by `threads` threads, and where its blocks will be.
pub(super) fn packing(threads: usize) -> io::Result<(Packing, Written)> {
    let known = heap::list(MOST).map_err(trouble)?;
    let written = Written(Arc::new(Mutex::new(Places { raw: 0, packed: 0, known, stride: SIZE as u64 })));
    let noted = written.clone();
    let note: Note =
        Box::new(move |raw, packed| noted.0.lock().unwrap_or_else(PoisonError::into_inner).add(raw, packed));
    let lanes = (0..threads).map(|_| Box::new(Blocks) as Box<dyn Pack>).collect();
    Ok((Packing { lanes, piece: SIZE, never_empty: false, note }, written))
}

/// The memory of writing a run by `threads` threads, beside its streams.
pub(super) fn writing(threads: usize) -> u64 {
    threads as u64 * (HEADER + SIZE + Blocks.bound(SIZE)) as u64
}

/// The memory of reading a run, beside its stream.
pub(super) const READING: u64 = 2 * SIZE as u64;

/// Reads blocks.
pub(super) struct Unpacker {
    /// The file, from a block on.
    reader: Reader,
    name: String,
    /// The offset in the run behind the block in `raw`.
    at: u64,
    /// Where reading ends.
    end: u64,
    packed: Vec<u8>,
    raw: Vec<u8>,
    /// How many bytes of `raw` were consumed.
    consumed: usize,
}

impl Unpacker {
    /// Reads a run up to `end`, from the block at offset `at` on, which `reader` has behind `skipped` bytes. `name` is that of
    /// messages.
    pub(super) fn new(mut reader: Reader, name: String, (at, end): (u64, u64), skipped: usize) -> io::Result<Unpacker> {
        let mut packed = heap::filled(HEADER + SIZE, 0).map_err(trouble)?;
        reader.copy_out(&mut packed[..skipped])?;
        Ok(Unpacker { reader, name, at, end, packed, raw: heap::list(SIZE).map_err(trouble)?, consumed: 0 })
    }

    /// What was read of the run and not consumed: none at the end.
    pub(super) fn fill(&mut self) -> io::Result<&[u8]> {
        if self.consumed == self.raw.len() && self.at < self.end {
            self.next()?;
        }
        Ok(&self.raw[self.consumed..])
    }

    pub(super) fn consume(&mut self, bytes: usize) {
        self.consumed += bytes;
    }

    /// Replaces the block by the next one.
    fn next(&mut self) -> io::Result<()> {
        let (header, body) = self.packed.split_at_mut(HEADER);
        let read = self.reader.copy_out(header)?;
        let (sizes, hash) = header.split_at(8);
        let [size, length] =
            [&sizes[..4], &sizes[4..]].map(|size| u32::from_le_bytes(size.try_into().unwrap_or_default()));
        let hash = u64::from_le_bytes(hash.try_into().unwrap_or_default());
        let (packed, length) = ((size & !AS_IT_WAS) as usize, length as usize);
        let possible = read == HEADER && packed <= body.len() && (1..=SIZE).contains(&length);
        let Some(body) = body.get_mut(..packed).filter(|_| possible) else { return Err(self.damaged()) };
        if self.reader.copy_out(body)? < packed || xxh3_64_with_seed(body, self.at) != hash {
            return Err(self.damaged());
        }
        self.raw.resize(length, 0);
        let unpacked = match size & AS_IT_WAS {
            0 => block::unpack(body, &mut self.raw),
            _ if packed == length => {
                self.raw.copy_from_slice(body);
                Some(length)
            }
            _ => None,
        };
        if unpacked != Some(length) {
            return Err(self.damaged());
        }
        self.at += length as u64;
        // What follows `end` in its block is not wanted.
        self.raw.truncate(length - self.at.saturating_sub(self.end) as usize);
        self.consumed = 0;
        Ok(())
    }

    fn damaged(&self) -> io::Error {
        let text = format!(
            "read: {}: the block at byte {} of a sorted run is not what was written; check memory and disks",
            self.name, self.at
        );
        io::Error::new(io::ErrorKind::InvalidData, text)
    }
}
