//! One part of the shared table: an index of hashes, and a list of entries.
//!
//! ```text
//! index     │ hash,3 │   │   │ hash,1 │ hash,2 │   │ …      8 bytes per slot, at most three quarters of them used
//! entries   │ 1: key, count, sum, min, max │ 2: … │ 3: … │  64 bytes each, in the order in which the keys came
//! ```
//! A slot of the index holds the whole hash of its key. So the index can grow without reading an entry, and a hash
//! almost never leads to the wrong entry. Entries never move and are packed densely: a key takes 64 bytes, 11 to 21
//! bytes of index, and its own bytes if there are more than sixteen.
//!
//! With many keys, both are larger than the caches, and a row costs two reads from memory. Rows arrive in batches, so
//! that the reads of many rows overlap.

use std::collections::HashMap;
use std::hint::black_box;

use super::batch::Queued;
use super::chunks::{Chunks, Strings};
use super::decimal::{DIGITS, Decimal, POWERS};
use super::number::Number;
use super::room::{Refused, Room};
use super::squares::Squares;
use super::summary::Summary;
use super::values::Values;

/// Slots of a new index.
const SMALLEST: usize = 64;

/// How many rows have their reads in flight at once.
const GROUP: usize = 64;

/// Keys of up to this many bytes are stored in their entries.
const INSIDE: usize = 16;

/// A key and its summary, in one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Entry {
    /// The key, padded with zeros. For a longer key, its first eight bytes and the place of the whole key.
    key: [u8; INSIDE],
    /// The sum in units of 10^-18. A sum that would overflow is moved to [`Shard::wide`].
    sum: i128,
    /// Zero if the summary is only in [`Shard::wide`].
    count: u64,
    min: i64,
    max: i64,
    /// The length of the key in bytes.
    length: u32,
    /// The number of decimals of `min` and `max`.
    min_decimals: u8,
    max_decimals: u8,
}

/// What is kept of the values besides count, sum, minimum and maximum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Details {
    /// Whether to keep the sum of squares, for the variance.
    pub(super) squares: bool,
    /// Whether to keep all values, for quantiles.
    pub(super) values: bool,
}

impl Details {
    pub(super) fn any(self) -> bool {
        self.squares || self.values
    }
}

/// The keys whose hashes have the same first bits.
#[derive(Debug)]
pub(super) struct Shard {
    /// The number of these bits.
    bits: u32,
    index: Vec<u64>,
    entries: Chunks<Entry>,
    strings: Strings,
    /// Summaries that do not fit into an entry, by entry number.
    wide: HashMap<u32, Summary>,
    details: Details,
    squares: Chunks<Squares>,
    values: Values,
}

/// A key and its hash.
#[derive(Clone, Copy)]
pub(super) struct Key<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) hash: u32,
}

impl Shard {
    pub(super) fn new(bits: u32, details: Details) -> Shard {
        Shard {
            bits,
            index: Vec::new(),
            entries: Chunks::new(),
            strings: Strings::default(),
            wide: HashMap::new(),
            details,
            squares: Chunks::new(),
            values: Values::default(),
        }
    }

    /// The number of keys.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Adds rows whose keys belong to this part.
    pub(super) fn add<'a>(
        &mut self,
        rows: &[u16],
        row: impl Fn(u16) -> (Queued, Key<'a>),
        room: &Room,
    ) -> Result<(), Refused> {
        for group in rows.chunks(GROUP) {
            let numbers = self.fetch(group.iter().map(|&number| row(number).1.hash));
            for (&number, &likely) in group.iter().zip(&numbers) {
                let (Queued { mantissa, decimals, .. }, key) = row(number);
                let at =
                    if self.is(likely as usize, key.bytes) { likely as usize } else { self.find_or_put(key, room)? };
                self.add_value(at, Number::Short { mantissa, decimals }, room)?;
            }
        }
        Ok(())
    }

    /// Prefetches what these hashes lead to: first the slots of the index, then the entries. Reads of the same kind do
    /// not wait for one another, and no branch between them needs to be predicted. Returns the number of the entry for
    /// each hash, or any number where there is none.
    #[inline]
    fn fetch(&self, hashes: impl Iterator<Item = u32> + Clone) -> [u32; GROUP] {
        let mut numbers = [u32::MAX; GROUP];
        if self.index.is_empty() {
            return numbers;
        }
        black_box(hashes.clone().fold(0, |sum: u64, hash| sum.wrapping_add(self.index[self.home(hash)])));
        for (number, hash) in numbers.iter_mut().zip(hashes) {
            *number = self.numbers(hash).next().map_or(u32::MAX, |number| number as u32);
        }
        let lengths = numbers.map(|number| self.entries.get(number as usize).map_or(0, |entry| entry.length));
        black_box(lengths);
        numbers
    }

    /// The numbers of the entries whose keys have this hash.
    #[inline(always)]
    fn numbers(&self, hash: u32) -> impl Iterator<Item = usize> {
        let mut at = if self.index.is_empty() { 0 } else { self.home(hash) };
        std::iter::from_fn(move || {
            loop {
                let slot = *self.index.get(at)?;
                if slot == 0 {
                    return None;
                }
                at = if at + 1 == self.index.len() { 0 } else { at + 1 };
                if (slot >> 32) as u32 == hash {
                    return Some((slot as u32 - 1) as usize);
                }
            }
        })
    }

    /// Adds one value of a key.
    pub(super) fn add_one(&mut self, key: Key<'_>, value: Number, room: &Room) -> Result<(), Refused> {
        let at = self.find_or_put(key, room)?;
        self.add_value(at, value, room)
    }

    /// Merges the summary of some values of a key. Only for tables without details.
    pub(super) fn merge(&mut self, key: Key<'_>, summary: Summary, room: &Room) -> Result<(), Refused> {
        let at = self.find_or_put(key, room)?;
        self.merge_at(at, summary, room)
    }

    /// Merges another shard of the same hash bits, and consumes it.
    pub(super) fn take_in(&mut self, other: Shard, room: &Room) -> Result<(), Refused> {
        // The hash of each key, replaced later by its number here.
        let mut moved: Vec<u32> = room.vector(other.len())?;
        moved.resize(other.len(), 0);
        for &slot in other.index.iter().filter(|&&slot| slot != 0) {
            moved[slot as u32 as usize - 1] = (slot >> 32) as u32;
        }
        // Not in the order of the hashes: inserted in that order into a smaller index, they would cluster at its
        // beginning.
        for (number, moved) in moved.iter_mut().enumerate() {
            let at = self.find_or_put(Key { bytes: other.key(number), hash: *moved }, room)?;
            self.merge_at(at, other.summary(number), room)?;
            if let (Some(own), Some(others)) = (self.squares.get_mut(at), other.squares.get(number)) {
                own.merge(others);
            }
            *moved = at as u32;
        }
        self.values.take_in(other.values, &moved, room)?;
        room.give(moved.capacity() * size_of::<u32>());
        Ok(())
    }

    /// The slot for keys with this hash, given by the bits behind those that all of them share.
    #[inline(always)]
    fn home(&self, hash: u32) -> usize {
        ((u64::from(hash << self.bits) * self.index.len() as u64) >> 32) as usize
    }

    /// The number of the key's entry. Adds an entry for a new key.
    #[inline]
    fn find_or_put(&mut self, key: Key<'_>, room: &Room) -> Result<usize, Refused> {
        let found = self.numbers(key.hash).find(|&number| self.is(number, key.bytes));
        found.map_or_else(|| self.put(key, room), Ok)
    }

    /// Whether an entry belongs to a key.
    #[inline(always)]
    fn is(&self, number: usize, key: &[u8]) -> bool {
        let Some(entry) = self.entries.get(number) else { return false };
        if entry.length as usize != key.len() {
            return false;
        }
        if key.len() <= INSIDE { entry.key == inside(key) } else { self.long_key(entry) == key }
    }

    #[inline(never)]
    fn put(&mut self, key: Key<'_>, room: &Room) -> Result<usize, Refused> {
        let number = self.entries.len();
        if number >= self.index.len() / 4 * 3 {
            self.grow(room)?;
        }
        let (Ok(length), Ok(slot)) = (u32::try_from(key.bytes.len()), u32::try_from(number + 1)) else {
            return Err(room.refused());
        };
        let mut bytes = [0; INSIDE];
        if key.bytes.len() <= INSIDE {
            bytes = inside(key.bytes);
        } else {
            bytes[..8].copy_from_slice(&key.bytes[..8]);
            bytes[8..].copy_from_slice(&self.strings.push(key.bytes, room)?.to_ne_bytes());
        }
        if self.details.squares {
            self.squares.push(Squares::default(), room)?;
        }
        let entry = Entry { key: bytes, sum: 0, count: 0, min: 0, max: 0, length, min_decimals: 0, max_decimals: 0 };
        self.entries.push(entry, room)?;
        self.enter(u64::from(key.hash) << 32 | u64::from(slot));
        Ok(number)
    }

    /// Enters a slot value into the index, which must have room for it.
    fn enter(&mut self, slot: u64) {
        let mut at = self.home((slot >> 32) as u32);
        while self.index[at] != 0 {
            at = if at + 1 == self.index.len() { 0 } else { at + 1 };
        }
        self.index[at] = slot;
    }

    fn grow(&mut self, room: &Room) -> Result<(), Refused> {
        let slots = (self.index.len() * 2).max(SMALLEST);
        let mut larger = room.vector(slots)?;
        larger.resize(slots, 0);
        let smaller = std::mem::replace(&mut self.index, larger);
        for &slot in smaller.iter().filter(|&&slot| slot != 0) {
            self.enter(slot);
        }
        room.give(smaller.capacity() * size_of::<u64>());
        Ok(())
    }

    /// Adds one value to an entry.
    #[inline]
    fn add_value(&mut self, at: usize, value: Number, room: &Room) -> Result<(), Refused> {
        if self.details.any() {
            self.note(at, value, room)?;
        }
        if let (Number::Short { mantissa, decimals }, Some(entry)) = (value, self.entries.get_mut(at))
            && entry.add(mantissa, decimals)
        {
            return Ok(());
        }
        self.merge_at(at, Summary::one(value.to_decimal()), room)
    }

    /// Adds one value to the details.
    #[cold]
    fn note(&mut self, at: usize, value: Number, room: &Room) -> Result<(), Refused> {
        if let Some(squares) = self.squares.get_mut(at) {
            squares.add(value.to_decimal());
        }
        if self.details.values {
            self.values.push(at as u32, value, room)?;
        }
        Ok(())
    }

    /// Merges a summary into an entry.
    fn merge_at(&mut self, at: usize, summary: Summary, room: &Room) -> Result<(), Refused> {
        if let Some(entry) = self.entries.get_mut(at)
            && entry.merge(&summary)
        {
            return Ok(());
        }
        let number = at as u32;
        if !self.wide.contains_key(&number) && self.wide.len() == self.wide.capacity() {
            // The memory that a map needs to double, including one control byte per slot.
            let more = self.wide.capacity().max(4);
            room.take(more * (size_of::<(u32, Summary)>() + 1))?;
            self.wide.try_reserve(more).map_err(|_| room.refused())?;
        }
        self.wide.entry(number).and_modify(|known| known.merge(summary)).or_insert(summary);
        Ok(())
    }

    fn long_key(&self, entry: &Entry) -> &[u8] {
        let [_, _, _, _, _, _, _, _, at @ ..] = entry.key;
        self.strings.get(u64::from_ne_bytes(at), entry.length as usize)
    }

    /// The key of an entry.
    pub(super) fn key(&self, number: usize) -> &[u8] {
        let Some(entry) = self.entries.get(number) else { return &[] };
        if entry.length as usize <= INSIDE { &entry.key[..entry.length as usize] } else { self.long_key(entry) }
    }

    /// Reads an entry, to bring it into the cache.
    pub(super) fn touch(&self, number: usize) -> u64 {
        self.entries.get(number).map_or(0, |entry| entry.count)
    }

    /// The summary of an entry.
    pub(super) fn summary(&self, number: usize) -> Summary {
        let known = self.entries.get(number).and_then(Entry::summary);
        match (known, self.wide.get(&(number as u32))) {
            (Some(mut known), Some(wide)) => {
                known.merge(*wide);
                known
            }
            (Some(known), None) => known,
            (None, Some(wide)) => *wide,
            (None, None) => Summary::one(Decimal::from_units(0)),
        }
    }

    /// The sum of the squares of an entry's values.
    pub(super) fn squares(&self, number: usize) -> Option<&Squares> {
        self.squares.get(number)
    }

    /// The values of all entries, if they are kept.
    pub(super) fn values(&self) -> Option<&Values> {
        self.details.values.then_some(&self.values)
    }

    /// Ends the input: frees what only adding needs, and sorts the values.
    pub(super) fn finish(&mut self, room: &Room) -> Result<(), Refused> {
        room.give(self.index.capacity() * size_of::<u64>());
        self.index = Vec::new();
        self.values.finish(room)
    }
}

impl Entry {
    /// Adds a value. Returns false, without any change, if the sum would overflow.
    #[inline]
    fn add(&mut self, mantissa: i64, decimals: u8) -> bool {
        let power = POWERS[(DIGITS - u32::from(decimals)) as usize];
        let Some(sum) = self.sum.checked_add(i128::from(mantissa) * power) else { return false };
        self.sum = sum;
        if self.count == 0 {
            (self.min, self.max, self.min_decimals, self.max_decimals) = (mantissa, mantissa, decimals, decimals);
        } else if self.min_decimals == decimals && self.max_decimals == decimals {
            self.min = self.min.min(mantissa);
            self.max = self.max.max(mantissa);
        } else {
            self.widen((mantissa, decimals), (mantissa, decimals));
        }
        self.count += 1;
        true
    }

    /// Widens the range to include another minimum and maximum.
    fn widen(&mut self, min: (i64, u8), max: (i64, u8)) {
        let units = |(mantissa, decimals): (i64, u8)| Decimal::new(mantissa, decimals.into());
        if units(min) < units((self.min, self.min_decimals)) {
            (self.min, self.min_decimals) = min;
        }
        if units(max) > units((self.max, self.max_decimals)) {
            (self.max, self.max_decimals) = max;
        }
    }

    /// Merges a summary. Returns false, without any change, if it does not fit.
    fn merge(&mut self, other: &Summary) -> bool {
        let short = |value: Decimal| match Number::from(value) {
            Number::Short { mantissa, decimals } => Some((mantissa, decimals)),
            Number::Long(_) => None,
        };
        let (Some(min), Some(max), Some(sum)) = (short(other.min), short(other.max), other.sum.units()) else {
            return false;
        };
        let Some(sum) = self.sum.checked_add(sum) else { return false };
        self.sum = sum;
        if self.count == 0 {
            (self.min, self.min_decimals, self.max, self.max_decimals) = (min.0, min.1, max.0, max.1);
        } else {
            self.widen(min, max);
        }
        self.count += other.count;
        true
    }

    fn summary(&self) -> Option<Summary> {
        let min = Decimal::new(self.min, self.min_decimals.into());
        let max = Decimal::new(self.max, self.max_decimals.into());
        (self.count > 0).then(|| Summary::many(self.count, min, max, self.sum))
    }
}

/// A short key as it is stored in an entry.
#[inline(always)]
fn inside(key: &[u8]) -> [u8; INSIDE] {
    let mut bytes = [0; INSIDE];
    bytes[..key.len()].copy_from_slice(key);
    bytes
}
