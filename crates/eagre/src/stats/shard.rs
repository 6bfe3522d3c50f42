//! One part of the shared table: an index of hashes, and entries one behind the other.
//!
//! ```text
//! index     │ hash,3 │   │   │ hash,1 │ hash,2 │   │ …      8 bytes a place, at most three quarters of them in use
//! entries   │ 1: key, count, sum, min, max │ 2: … │ 3: … │  64 bytes each, in the order in which the keys came
//! ```
//! A place of the index has the whole hash of its key, so the index grows without a look at an entry, and hardly ever
//! leads to the wrong one. Entries never move and lie close: a key costs 64 bytes, 11 to 21 of index, and its own bytes if
//! there are more than sixteen.
//!
//! Both are larger than the caches once there are many keys, and then a row costs two reads from memory. Rows come in
//! batches, so these reads wait for one another no longer: those of many rows are under way at once.

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

/// Places of a new index.
const SMALLEST: usize = 64;

/// Rows whose reads are under way at once.
const GROUP: usize = 64;

/// Keys of so many bytes are in their entries.
const INSIDE: usize = 16;

/// A key and all that is known of it, in one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Entry {
    /// The key, padded with zeros; if it is longer, its first eight bytes, and where all of it is.
    key: [u8; INSIDE],
    /// In units of 10^-18. What would overflow is moved to [`Shard::wide`].
    sum: i128,
    /// Zero: nothing is known here, only in [`Shard::wide`].
    count: u64,
    min: i64,
    max: i64,
    /// Of the key, in bytes.
    length: u32,
    /// The decimals of `min` and `max`.
    min_decimals: u8,
    max_decimals: u8,
}

/// What is kept of the values beside count, sum, smallest and largest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Details {
    /// The sum of their squares, for the variance.
    pub(super) squares: bool,
    /// All of them, for quantiles.
    pub(super) values: bool,
}

impl Details {
    pub(super) fn any(self) -> bool {
        self.squares || self.values
    }
}

/// Keys whose hashes begin alike.
#[derive(Debug)]
pub(super) struct Shard {
    /// Bits of the hash that are the same in all of them.
    bits: u32,
    index: Vec<u64>,
    entries: Chunks<Entry>,
    strings: Strings,
    /// Values that are too long for an entry, by its number.
    wide: HashMap<u32, Summary>,
    details: Details,
    squares: Chunks<Squares>,
    values: Values,
}

/// A key with its hash, to look for.
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

    /// How many keys there are.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Takes in rows whose keys belong here.
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

    /// Reads what these hashes lead to, so that it is in the cache: places of the index first, then entries. No read waits
    /// for another of its kind, and nothing between them is for the processor to guess. Returns the numbers of the entries
    /// that have these hashes, and any other number where there is none.
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
                let place = *self.index.get(at)?;
                if place == 0 {
                    return None;
                }
                at = if at + 1 == self.index.len() { 0 } else { at + 1 };
                if (place >> 32) as u32 == hash {
                    return Some((place as u32 - 1) as usize);
                }
            }
        })
    }

    /// Takes in one value of a key.
    pub(super) fn add_one(&mut self, key: Key<'_>, value: Number, room: &Room) -> Result<(), Refused> {
        let at = self.find_or_put(key, room)?;
        self.add_value(at, value, room)
    }

    /// Takes in what is known of some values of a key, where no details are wanted.
    pub(super) fn merge(&mut self, key: Key<'_>, summary: Summary, room: &Room) -> Result<(), Refused> {
        let at = self.find_or_put(key, room)?;
        self.merge_at(at, summary, room)
    }

    /// Takes in what another shard of the same place knows. What it holds is given up.
    pub(super) fn take_in(&mut self, other: Shard, room: &Room) -> Result<(), Refused> {
        // The hash of each key, then its number here.
        let mut moved: Vec<u32> = room.vector(other.len())?;
        moved.resize(other.len(), 0);
        for &place in other.index.iter().filter(|&&place| place != 0) {
            moved[place as u32 as usize - 1] = (place >> 32) as u32;
        }
        // Not in the order of their hashes: put into a smaller index in that order, they would crowd at its beginning.
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

    /// The place of keys with this hash: the bits behind those that all of them share.
    #[inline(always)]
    fn home(&self, hash: u32) -> usize {
        ((u64::from(hash << self.bits) * self.index.len() as u64) >> 32) as usize
    }

    /// The number of a key's entry, a new one if it is new.
    #[inline]
    fn find_or_put(&mut self, key: Key<'_>, room: &Room) -> Result<usize, Refused> {
        let found = self.numbers(key.hash).find(|&number| self.is(number, key.bytes));
        found.map_or_else(|| self.put(key, room), Ok)
    }

    /// Whether an entry is that of a key.
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
        let (Ok(length), Ok(place)) = (u32::try_from(key.bytes.len()), u32::try_from(number + 1)) else {
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
        self.enter(u64::from(key.hash) << 32 | u64::from(place));
        Ok(number)
    }

    /// Puts a place into the index, where there is room for it.
    fn enter(&mut self, place: u64) {
        let mut at = self.home((place >> 32) as u32);
        while self.index[at] != 0 {
            at = if at + 1 == self.index.len() { 0 } else { at + 1 };
        }
        self.index[at] = place;
    }

    fn grow(&mut self, room: &Room) -> Result<(), Refused> {
        let places = (self.index.len() * 2).max(SMALLEST);
        let mut larger = room.vector(places)?;
        larger.resize(places, 0);
        let smaller = std::mem::replace(&mut self.index, larger);
        for &place in smaller.iter().filter(|&&place| place != 0) {
            self.enter(place);
        }
        room.give(smaller.capacity() * size_of::<u64>());
        Ok(())
    }

    /// One more value for an entry.
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

    /// The details of one more value.
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

    /// What is known of some more values of an entry.
    fn merge_at(&mut self, at: usize, summary: Summary, room: &Room) -> Result<(), Refused> {
        if let Some(entry) = self.entries.get_mut(at)
            && entry.merge(&summary)
        {
            return Ok(());
        }
        let number = at as u32;
        if !self.wide.contains_key(&number) && self.wide.len() == self.wide.capacity() {
            // What a table that doubles takes, its place's own bytes included.
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

    /// Reads an entry, for it to be in the cache.
    pub(super) fn touch(&self, number: usize) -> u64 {
        self.entries.get(number).map_or(0, |entry| entry.count)
    }

    /// What is known of an entry.
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

    /// There will be no more rows: what only they needed is given up, and values are put in order.
    pub(super) fn finish(&mut self, room: &Room) -> Result<(), Refused> {
        room.give(self.index.capacity() * size_of::<u64>());
        self.index = Vec::new();
        self.values.finish(room)
    }
}

impl Entry {
    /// One more value. False if its sum would overflow; then nothing has changed.
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

    /// A smallest and a largest value that may be new ones.
    fn widen(&mut self, min: (i64, u8), max: (i64, u8)) {
        let units = |(mantissa, decimals): (i64, u8)| Decimal::new(mantissa, decimals.into());
        if units(min) < units((self.min, self.min_decimals)) {
            (self.min, self.min_decimals) = min;
        }
        if units(max) > units((self.max, self.max_decimals)) {
            (self.max, self.max_decimals) = max;
        }
    }

    /// What is known of some more values. False if there is no room for it here; then nothing has changed.
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

/// A short key as it is in an entry.
#[inline(always)]
fn inside(key: &[u8]) -> [u8; INSIDE] {
    let mut bytes = [0; INSIDE];
    bytes[..key.len()].copy_from_slice(key);
    bytes
}
