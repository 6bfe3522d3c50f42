//! Rows on their way to the shared table.
//!
//! A thread keeps the rows that are not for its own table until there are some thousands, and then takes each part of the
//! shared one for all rows that belong there: a lock for hundreds of rows, and reads from memory that do not wait for one
//! another.

use super::number::Number;
use super::room::Refused;
use super::shard::Key;
use super::shared::Shared;
use super::table::{Block, LONGEST};

/// Rows of a full batch.
const ROWS: usize = 8192;
/// Bytes of long keys in a full batch.
const BYTES: usize = 1 << 20;

/// A row whose value is short.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queued {
    pub(super) mantissa: i64,
    hash: u32,
    /// Of the key, in bytes.
    length: u32,
    /// Where a long key begins.
    at: u32,
    pub(super) decimals: u8,
}

/// Some rows.
#[derive(Debug, Default)]
pub(super) struct Batch {
    rows: Vec<Queued>,
    /// The keys of up to [`LONGEST`] bytes, padded with zeros, at the numbers of their rows.
    short: Vec<[u8; LONGEST]>,
    long: Vec<u8>,
    /// The numbers of rows, those of one part of the table after those of another.
    order: Vec<u16>,
    /// Where the rows of each part end in there, with room for one more in front.
    ends: Vec<u32>,
}

impl Batch {
    /// Whether there is room for `rows` rows with short keys. Else it wants to be flushed.
    pub(super) fn has_room(&self, rows: usize) -> bool {
        self.rows.len() + rows <= self.rows.capacity() && self.long.len() < BYTES
    }

    /// An empty batch gets its memory when it is first asked whether there is room.
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

    /// How many rows there are.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// A row whose key is short. There is room for it, or it takes some.
    #[inline(always)]
    pub(super) fn push_block(&mut self, key: &Block, length: u32, hash: u32, mantissa: i64, decimals: u8) {
        let mut bytes = [0; LONGEST];
        for (to, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(key) {
            *to = word.to_le_bytes();
        }
        self.short.push(bytes);
        self.rows.push(Queued { mantissa, hash, length, at: 0, decimals });
    }

    /// A row with any key. Flushes first if there is no room.
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

    /// Takes all rows to the table. Then there is room for [`ROWS`] more.
    pub(super) fn flush(&mut self, shared: &Shared) -> Result<(), Refused> {
        if self.rows.is_empty() {
            return self.prepare(shared);
        }
        // Counting sort by the part of the table: how many, where each begins, and in the end where each ends.
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
