//! Rows that wait for the shared table.
//!
//! A thread collects the rows that are not for its own table until it has some thousands. Then it visits each part of
//! the shared table once, with all rows that belong there. So hundreds of rows share a lock, and their reads from
//! memory do not wait for one another.

use super::number::Number;
use super::room::Refused;
use super::shard::Key;
use super::shared::Shared;
use super::table::{Block, LONGEST};

/// Rows in a full batch.
const ROWS: usize = 8192;
/// Bytes of long keys in a full batch.
const BYTES: usize = 1 << 20;

/// A row whose value fits into 64 bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queued {
    pub(super) mantissa: i64,
    hash: u32,
    /// The length of the key in bytes.
    length: u32,
    /// The offset of a long key.
    at: u32,
    pub(super) decimals: u8,
}

/// The rows of a batch.
#[derive(Debug, Default)]
pub(super) struct Batch {
    rows: Vec<Queued>,
    /// The keys of up to [`LONGEST`] bytes, padded with zeros, by row number.
    short: Vec<[u8; LONGEST]>,
    long: Vec<u8>,
    /// The row numbers, grouped by part of the table.
    order: Vec<u16>,
    /// Where the group of each part ends in `order`. There is room for one more at the front.
    ends: Vec<u32>,
}

impl Batch {
    /// Whether there is room for `rows` more rows with short keys. If not, the batch must be flushed.
    pub(super) fn has_room(&self, rows: usize) -> bool {
        self.rows.len() + rows <= self.rows.capacity() && self.long.len() < BYTES
    }

    /// Allocates the memory of an empty batch, when it is first asked for room.
    fn prepare(&mut self, shared: &Shared) -> Result<(), Refused> {
        let parts = shared.parts() + 1;
        let refused = |_| shared.refuse();
        if self.rows.capacity() == 0 {
            shared.take(ROWS * (size_of::<Queued>() + LONGEST + size_of::<u16>()))?;
        }
        self.rows.try_reserve_exact(ROWS).map_err(refused)?;
        self.short.try_reserve_exact(ROWS).map_err(refused)?;
        self.order.try_reserve_exact(ROWS).map_err(refused)?;
        self.ends.try_reserve_exact(parts).map_err(refused)?;
        self.order.resize(ROWS, 0);
        self.ends.resize(parts, 0);
        Ok(())
    }

    /// The number of rows.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Adds a row with a short key. Allocates if there is no room.
    #[inline(always)]
    pub(super) fn push_block(&mut self, key: &Block, length: u32, hash: u32, mantissa: i64, decimals: u8) {
        let mut bytes = [0; LONGEST];
        for (to, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(key) {
            *to = word.to_le_bytes();
        }
        self.short.push(bytes);
        self.rows.push(Queued { mantissa, hash, length, at: 0, decimals });
    }

    /// Adds a row with any key. Flushes first if there is no room.
    pub(super) fn push(&mut self, key: Key<'_>, value: Number, shared: &Shared) -> Result<(), Refused> {
        let (Number::Short { mantissa, decimals }, true) = (value, key.bytes.len() <= BYTES) else {
            return shared.add_one(key, value);
        };
        if !self.has_room(1) {
            self.flush(shared)?;
        }
        let mut bytes = [0; LONGEST];
        let mut at = 0;
        if key.bytes.len() <= LONGEST {
            bytes[..key.bytes.len()].copy_from_slice(key.bytes);
        } else {
            at = self.long.len() as u32;
            self.long.try_reserve(key.bytes.len()).map_err(|_| shared.refuse())?;
            self.long.extend_from_slice(key.bytes);
        }
        self.short.push(bytes);
        self.rows.push(Queued { mantissa, hash: key.hash, length: key.bytes.len() as u32, at, decimals });
        Ok(())
    }

    /// Moves all rows to the shared table. Then there is room for [`ROWS`] more.
    pub(super) fn flush(&mut self, shared: &Shared) -> Result<(), Refused> {
        if self.rows.is_empty() {
            return self.prepare(shared);
        }
        // A counting sort by part: first how many rows each part has, then where each begins, and in the end where each
        // ends.
        let part = |queued: &Queued| shared.part(queued.hash);
        self.ends.fill(0);
        self.rows.iter().for_each(|queued| self.ends[part(queued) + 1] += 1);
        for number in 1..self.ends.len() {
            self.ends[number] += self.ends[number - 1];
        }
        for (number, queued) in self.rows.iter().enumerate() {
            let place = &mut self.ends[part(queued)];
            self.order[*place as usize] = number as u16;
            *place += 1;
        }
        let Batch { rows, short, long, order, ends } = self;
        let row = |number: u16| {
            let queued = rows[usize::from(number)];
            let length = queued.length as usize;
            let bytes = match length <= LONGEST {
                true => &short[usize::from(number)][..length],
                false => &long[queued.at as usize..queued.at as usize + length],
            };
            (queued, Key { bytes, hash: queued.hash })
        };
        let of_part = |number: usize| {
            let start = if number == 0 { 0 } else { ends[number - 1] };
            &order[start as usize..ends[number] as usize]
        };
        let done = shared
            .each(|number| !of_part(number).is_empty(), |number, shard, room| shard.add(of_part(number), row, room));
        self.rows.clear();
        self.short.clear();
        self.long.clear();
        done
    }
}
