//! The table of the fast path: keys of at most 32 bytes, values as small integers.
//!
//! A key and all that is known of it is an entry, one cache line, and stands in the place its hash says or a few places
//! behind it. Places are a power of two. A small table leaves fifteen of sixteen empty, so that nearly every key stands
//! in its very place and the branch that looks for it elsewhere is rarely taken; a large one fills half of them.
//!
//! A key is four words, padded with zeros, and hashes by NH: add a secret to each half of each word, multiply the
//! halves, add up. It costs four multiplications that wait for nothing, and whoever does not know the secret finds two
//! keys of equal hash only by chance, once in 2^32 pairs. What finds no room near its place all the same is refused, so
//! no input makes the table slow; the caller has another one for such keys.

use std::hash::{BuildHasher, RandomState};

/// The longest key, in bytes.
pub(super) const LONGEST: usize = 32;

/// How far from its place a key may stand.
const REACH: usize = 64;

/// Places of a new table, and of the largest that is kept nearly empty (4 MiB).
const SMALLEST: usize = 256;
const SPARSE: usize = 1 << 16;

/// A key, padded with zeros.
pub(super) type Block = [u64; 4];

/// All that is known of one key, in one cache line.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(super) struct Entry {
    pub(super) key: Block,
    pub(super) sum: i64,
    /// Whoever adds sees to it that this does not overflow.
    pub(super) count: u32,
    pub(super) min: i32,
    pub(super) max: i32,
    /// Of the key, in bytes; [`NOBODY`] in an empty place.
    pub(super) length: u32,
    hash: u32,
}

/// A length that no key has.
const NOBODY: u32 = u32::MAX;

impl Entry {
    const EMPTY: Entry = Entry::new([0; 4], NOBODY, 0);

    const fn new(key: Block, length: u32, hash: u32) -> Entry {
        Entry { key, sum: 0, count: 0, min: i32::MAX, max: i32::MIN, length, hash }
    }

    /// The bytes of the key, and zeros behind them up to [`LONGEST`].
    pub(super) fn key_bytes(&self) -> [u8; LONGEST] {
        let mut bytes = [0; LONGEST];
        for (to, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(self.key) {
            *to = word.to_le_bytes();
        }
        bytes
    }

    /// One more value.
    #[inline(always)]
    pub(super) fn add(&mut self, value: i32) {
        self.sum += i64::from(value);
        self.count += 1;
        // Not `min` and `max`: after a while the branches are never taken, and then cost nothing.
        if value < self.min {
            self.min = value;
        }
        if value > self.max {
            self.max = value;
        }
    }
}

/// The table.
#[derive(Debug)]
pub(super) struct Table {
    /// A power of two.
    places: Vec<Entry>,
    /// How many bits of a hash do not matter to a place.
    shift: u32,
    /// How many places are in use.
    used: usize,
    /// Entries that found no room near their places when the table grew, which takes bad luck beyond measure. They are
    /// not found again: their keys are refused from then on.
    strays: Vec<Entry>,
    secret: Block,
}

/// Spreads the sum of products over all bits.
pub(super) const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

impl Table {
    /// An empty table with a secret of its own.
    pub(super) fn new() -> Table {
        let random = RandomState::new();
        let secret = [0, 1, 2, 3].map(|word: u32| random.hash_one(word));
        Table {
            places: vec![Entry::EMPTY; SMALLEST],
            shift: 32 - SMALLEST.ilog2(),
            used: 0,
            strays: Vec::new(),
            secret,
        }
    }

    /// Forgets all keys.
    pub(super) fn clear(&mut self) {
        self.places.fill(Entry::EMPTY);
        self.used = 0;
        self.strays.clear();
    }

    /// How many keys there are.
    pub(super) fn len(&self) -> usize {
        self.used
    }

    /// Every key's entry.
    pub(super) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.places.iter().filter(|entry| entry.length != NOBODY).chain(&self.strays)
    }

    /// What is added to keys before they are multiplied.
    pub(super) fn secret(&self) -> &Block {
        &self.secret
    }

    /// NH: every half of a word is shifted by its secret, and pairs are multiplied.
    #[inline(always)]
    pub(super) fn hash(&self, key: &Block) -> u32 {
        let mut sum = 0_u64;
        for (word, secret) in key.iter().zip(self.secret()) {
            let low = (*word as u32).wrapping_add(*secret as u32);
            let high = ((word >> 32) as u32).wrapping_add((secret >> 32) as u32);
            sum = sum.wrapping_add(u64::from(low) * u64::from(high));
        }
        (sum.wrapping_mul(SPREAD) >> 32) as u32
    }

    /// What stands in the place of keys with this hash.
    #[inline(always)]
    pub(super) fn place(&mut self, hash: u32) -> &mut Entry {
        let home = self.home(hash);
        &mut self.places[home]
    }

    /// The place of keys with this hash: its highest bits.
    #[inline(always)]
    fn home(&self, hash: u32) -> usize {
        // The shift has brought it in range already; this way it need not be tested.
        (hash >> self.shift) as usize & (self.places.len() - 1)
    }

    /// The entry of a key, a new one if it is new; `None` if there is no room near its place.
    #[inline(always)]
    pub(super) fn entry(&mut self, key: &Block, length: u32) -> Option<&mut Entry> {
        let hash = self.hash(key);
        let entry = self.place(hash);
        if entry.key == *key && entry.length == length {
            return Some(self.place(hash));
        }
        self.search(key, length, hash)
    }

    /// The same, when it does not stand in its place.
    #[cold]
    #[inline(never)]
    pub(super) fn search(&mut self, key: &Block, length: u32, hash: u32) -> Option<&mut Entry> {
        let mut found =
            self.find(|entry| entry.length == NOBODY || (entry.length == length && entry.key == *key), hash)?;
        if self.places[found].length == NOBODY {
            let limit = if self.places.len() < SPARSE { self.places.len() / 16 } else { self.places.len() / 2 };
            if self.used >= limit {
                self.grow();
                found = self.find(|entry| entry.length == NOBODY, hash)?;
            }
            self.places[found] = Entry::new(*key, length, hash);
            self.used += 1;
        }
        Some(&mut self.places[found])
    }

    fn grow(&mut self) {
        let places = self.places.len() * if self.places.len() < SPARSE { 4 } else { 2 };
        self.shift = 32 - places.ilog2();
        for entry in std::mem::replace(&mut self.places, vec![Entry::EMPTY; places]) {
            if entry.length != NOBODY {
                match self.find(|entry| entry.length == NOBODY, entry.hash) {
                    Some(free) => self.places[free] = entry,
                    None => self.strays.push(entry),
                }
            }
        }
    }

    /// The first place for keys with this hash whose entry is wanted.
    fn find(&self, wanted: impl Fn(&Entry) -> bool, hash: u32) -> Option<usize> {
        let first = self.home(hash);
        (first..first + REACH).map(|at| at % self.places.len()).find(|&at| wanted(&self.places[at]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_hundred_thousand_keys_and_refuses_hardly_any() {
        let mut table = Table::new();
        let mut refused = 0;
        for round in 1..=2 {
            for number in 0..100_000 {
                match table.entry(&[number, 0, number * number, 7], 32) {
                    Some(entry) => {
                        entry.add(round);
                        assert!(entry.count as i32 <= round && entry.key[0] == number);
                    }
                    None => refused += 1,
                }
            }
        }
        let entries: u64 = table.entries().map(|entry| u64::from(entry.count)).sum();
        assert_eq!(entries + refused, 200_000);
        assert!(refused < 100, "{refused} refused");
    }

    #[test]
    fn keys_of_equal_hash_are_refused_and_do_not_make_it_slow() {
        let mut table = Table::new();
        // Without a secret, a half that is zero makes every product zero.
        table.secret = [0; 4];
        let mut taken = 0;
        for number in 0..100_000_u64 {
            taken += u64::from(table.entry(&[number << 32, 0, 0, 0], 8).map(|entry| entry.add(1)).is_some());
        }
        assert_eq!((taken, table.len()), (REACH as u64, REACH));
        // The others still find their way, and growing loses nobody.
        for number in 0..10_000_u64 {
            if let Some(entry) = table.entry(&[number << 32 | 1, number, 0, 0], 16) {
                entry.add(1);
            }
        }
        let collided = table.entries().filter(|entry| entry.length == 8).count();
        assert_eq!(collided, REACH);
    }

    #[test]
    fn growing_loses_nobody() {
        let mut table = Table::new();
        // More keys for one place than find room near it: searching does not let that happen.
        for number in 0..100 {
            table.places[number] = Entry::new([number as u64, 0, 0, 0], 8, 0);
        }
        table.grow();
        assert_eq!((table.entries().count(), table.strays.len()), (100, 100 - REACH));
    }

    #[test]
    fn length_tells_keys_apart_that_end_in_zeros() {
        let mut table = Table::new();
        for length in 0..=LONGEST as u32 {
            table.entry(&[0; 4], length).unwrap().add(1);
        }
        assert_eq!(table.len(), LONGEST + 1);
    }
}
