//! The hash table of the fast path: keys of at most 32 bytes, and values as small integers.
//!
//! An entry holds a key and its summary in one cache line. It is in the slot that its hash selects, or a few slots
//! further on. The number of slots is a power of two. A small table leaves fifteen of sixteen slots empty, so nearly
//! every key is in its own slot, and the branch that searches further is rarely taken. A large table fills half of its
//! slots.
//!
//! A key is four words, padded with zeros. Its hash is NH: add a secret to each half of each word, multiply the halves,
//! and sum the products. That takes four independent multiplications. Without the secret, two keys with the same hash
//! are found only by chance, once in 2^32 pairs.
//!
//! The size of the table is limited, so that it stays in the caches. Later keys, and keys that find no room near their
//! slots, are queued for the table that all threads share.

use super::batch::Batch;
use super::room::Room;

/// The longest key, in bytes.
pub(super) const LONGEST: usize = 32;

/// How many slots from its own a key may be.
const REACH: usize = 64;

/// Slots of a new table, and of the largest (4 MiB). Only the largest is not kept nearly empty.
const SMALLEST: usize = 256;
const LARGEST: usize = 1 << 16;

/// A key, padded with zeros.
pub(super) type Block = [u64; 4];

/// A key and its summary, in one cache line.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(super) struct Entry {
    pub(super) key: Block,
    pub(super) sum: i64,
    /// The caller makes sure that this does not overflow.
    pub(super) count: u32,
    pub(super) min: i32,
    pub(super) max: i32,
    /// The length of the key in bytes. [`NO_KEY`] in an empty slot.
    pub(super) length: u32,
    hash: u32,
}

/// A length that no key has.
const NO_KEY: u32 = u32::MAX;

impl Entry {
    const EMPTY: Entry = Entry::new([0; 4], NO_KEY, 0);

    const fn new(key: Block, length: u32, hash: u32) -> Entry {
        Entry { key, sum: 0, count: 0, min: i32::MAX, max: i32::MIN, length, hash }
    }

    /// The bytes of the key, padded with zeros to [`LONGEST`].
    pub(super) fn key_bytes(&self) -> [u8; LONGEST] {
        let mut bytes = [0; LONGEST];
        for (to, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(self.key) {
            *to = word.to_le_bytes();
        }
        bytes
    }

    pub(super) fn hash(&self) -> u32 {
        self.hash
    }

    /// Adds one value.
    #[inline(always)]
    pub(super) fn add(&mut self, value: i32) {
        self.sum += i64::from(value);
        self.count += 1;
        // Branches instead of `min` and `max`: after a while they are never taken, and then cost nothing.
        if value < self.min {
            self.min = value;
        }
        if value > self.max {
            self.max = value;
        }
    }
}

/// The table of one thread.
#[derive(Debug)]
pub(super) struct Table<'a> {
    /// The slots. Their number is a power of two.
    slots: Vec<Entry>,
    /// How far a hash is shifted right to give a slot number.
    shift: u32,
    /// The number of used slots.
    used: usize,
    /// Entries that found no room near their slots when the table grew, which is extremely improbable. They are not
    /// searched: further rows with their keys are queued.
    strays: Vec<Entry>,
    secret: Block,
    /// Rows whose keys are not in this table.
    pub(super) queued: Batch,
    /// The number of decimals of all values.
    pub(super) decimals: u8,
    /// Whether the table takes no keys.
    closed: bool,
    room: &'a Room,
}

impl Drop for Table<'_> {
    fn drop(&mut self) {
        self.room.give(size_of_val(&self.slots[..]));
    }
}

/// A multiplier that spreads the sum of products over all bits.
pub(super) const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

impl<'a> Table<'a> {
    /// An empty table. If it is `closed`, all rows are queued. `None` if memory is refused.
    pub(super) fn new(secret: Block, closed: bool, room: &'a Room) -> Option<Table<'a>> {
        Some(Table {
            slots: empty(SMALLEST, room)?,
            shift: 32 - SMALLEST.ilog2(),
            used: 0,
            strays: Vec::new(),
            secret,
            queued: Batch::default(),
            decimals: 0,
            closed,
            room,
        })
    }

    /// Whether there is no room for further keys, even if there are few.
    pub(super) fn is_full(&self) -> bool {
        self.used >= LARGEST / 2
    }

    /// Whether the table takes keys from now on. A closed table is small, so looking into it costs nothing.
    pub(super) fn open(&mut self, yes: bool) {
        self.closed = !yes;
        if !yes && self.used == 0 {
            self.room.give(size_of::<Entry>() * (self.slots.len() - SMALLEST));
            self.slots.truncate(SMALLEST);
            self.slots.shrink_to_fit();
            self.shift = 32 - SMALLEST.ilog2();
        }
    }

    /// Removes all keys.
    pub(super) fn clear(&mut self) {
        self.slots.fill(Entry::EMPTY);
        self.used = 0;
        self.strays.clear();
    }

    /// The number of keys.
    pub(super) fn len(&self) -> usize {
        self.used
    }

    /// All entries, in a scattered order. In hash order, they would cluster in the table they are put into.
    pub(super) fn entries(&self) -> impl Iterator<Item = &Entry> {
        // The factor is odd, so every slot is visited once.
        let mixed = (0..self.slots.len()).map(|at| &self.slots[at.wrapping_mul(0x9e37_79b1) & (self.slots.len() - 1)]);
        mixed.filter(|entry| entry.length != NO_KEY).chain(&self.strays)
    }

    /// The secret that is added to keys before the multiplication.
    #[cfg_attr(
        not(target_arch = "x86_64"),
        expect(dead_code, reason = "for the vector kernels, which hash by themselves")
    )]
    pub(super) fn secret(&self) -> &Block {
        &self.secret
    }

    /// The entry in the slot for this hash.
    #[inline(always)]
    pub(super) fn slot(&mut self, hash: u32) -> &mut Entry {
        let home = self.home(hash);
        &mut self.slots[home]
    }

    /// The slot for this hash: its highest bits.
    #[inline(always)]
    fn home(&self, hash: u32) -> usize {
        // The shift makes the mask redundant, but with it the compiler omits the bounds check.
        (hash >> self.shift) as usize & (self.slots.len() - 1)
    }

    /// Adds one value of a key.
    #[inline(always)]
    pub(super) fn add(&mut self, key: &Block, length: u32, value: i32) {
        let hash = hash(key, &self.secret);
        let entry = self.slot(hash);
        if entry.key == *key && entry.length == length {
            entry.add(value);
        } else {
            self.add_elsewhere(key, length, hash, value);
        }
    }

    /// The same for a key that is not in its own slot.
    #[inline(never)]
    pub(super) fn add_elsewhere(&mut self, key: &Block, length: u32, hash: u32, value: i32) {
        match self.search(key, length, hash) {
            Some(entry) => entry.add(value),
            None => self.queued.push_block(key, length, hash, value.into(), self.decimals),
        }
    }

    /// The entry of a key. Adds an entry for a new key if there is room.
    fn search(&mut self, key: &Block, length: u32, hash: u32) -> Option<&mut Entry> {
        let mut found =
            self.find(|entry| entry.length == NO_KEY || (entry.length == length && entry.key == *key), hash)?;
        if self.slots[found].length == NO_KEY {
            if self.closed {
                return None;
            }
            let full = self.slots.len() == LARGEST;
            if self.used >= self.slots.len() / if full { 2 } else { 16 } {
                if full {
                    return None;
                }
                self.grow()?;
                found = self.find(|entry| entry.length == NO_KEY, hash)?;
            }
            self.slots[found] = Entry::new(*key, length, hash);
            self.used += 1;
        }
        Some(&mut self.slots[found])
    }

    /// Makes the table four times as large. `None` if memory is refused.
    fn grow(&mut self) -> Option<()> {
        let slots = self.slots.len() * 4;
        let larger = empty(slots, self.room)?;
        self.room.give(size_of_val(&self.slots[..]));
        self.shift = 32 - slots.ilog2();
        for entry in std::mem::replace(&mut self.slots, larger) {
            if entry.length != NO_KEY {
                match self.find(|entry| entry.length == NO_KEY, entry.hash) {
                    Some(free) => self.slots[free] = entry,
                    None => self.strays.push(entry),
                }
            }
        }
        Some(())
    }

    /// The first slot for this hash with a wanted entry.
    fn find(&self, wanted: impl Fn(&Entry) -> bool, hash: u32) -> Option<usize> {
        let first = self.home(hash);
        (first..first + REACH).map(|at| at % self.slots.len()).find(|&at| wanted(&self.slots[at]))
    }
}

/// Empty slots, if there is memory for them.
fn empty(slots: usize, room: &Room) -> Option<Vec<Entry>> {
    let mut empty = room.vector(slots).ok()?;
    empty.resize(slots, Entry::EMPTY);
    Some(empty)
}

/// NH: adds the secret to each half of a word and multiplies the halves.
#[inline(always)]
pub(super) fn hash(key: &Block, secret: &Block) -> u32 {
    let mut sum = 0_u64;
    for (word, secret) in key.iter().zip(secret) {
        let low = (*word as u32).wrapping_add(*secret as u32);
        let high = ((word >> 32) as u32).wrapping_add((secret >> 32) as u32);
        sum = sum.wrapping_add(u64::from(low) * u64::from(high));
    }
    (sum.wrapping_mul(SPREAD) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: Block = [0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210, 0x1357_9bdf_0246_8ace, 0xeca8_6420_fdb9_7531];

    fn count(table: &Table) -> u64 {
        table.entries().map(|entry| u64::from(entry.count)).sum()
    }

    #[test]
    fn keeps_as_many_keys_as_there_is_room_for_and_queues_the_others() {
        let room = Room::default();
        let mut table = Table::new(SECRET, false, &room).unwrap();
        for number in 0..40_000 {
            table.add(&[number, 0, number * number, 7], 32, 1);
        }
        let queued = table.queued.len();
        assert!((30_000..=LARGEST / 2).contains(&table.len()), "{}", table.len());
        assert_eq!((count(&table), table.len() + queued), (table.len() as u64, 40_000));
        // Keys in the table stay there.
        for number in 0..40_000 {
            table.add(&[number, 0, number * number, 7], 32, 2);
        }
        assert_eq!((count(&table), table.queued.len()), (2 * table.len() as u64, 2 * queued));
    }

    #[test]
    fn a_closed_table_queues_all() {
        let room = Room::default();
        let mut table = Table::new(SECRET, true, &room).unwrap();
        (0..10).for_each(|number| table.add(&[number; 4], 32, 1));
        assert_eq!((table.len(), table.queued.len()), (0, 10));
    }

    #[test]
    fn keys_of_equal_hash_are_queued_and_do_not_make_it_slow() {
        // Without a secret, a zero half makes its product zero.
        let room = Room::default();
        let mut table = Table::new([0; 4], false, &room).unwrap();
        for number in 0..100_000_u64 {
            table.add(&[number << 32, 0, 0, 0], 8, 1);
        }
        assert_eq!((count(&table), table.len(), table.queued.len()), (REACH as u64, REACH, 100_000 - REACH));
        // Other keys are still found, and growing loses none.
        for number in 0..10_000_u64 {
            table.add(&[number << 32 | 1, number, 0, 0], 16, 1);
        }
        let collided = table.entries().filter(|entry| entry.length == 8).count();
        assert_eq!(collided, REACH);
    }

    #[test]
    fn growing_loses_no_key() {
        let room = Room::default();
        let mut table = Table::new(SECRET, false, &room).unwrap();
        // More keys for one slot than there is room for near it. `search` does not let that happen.
        for number in 0..100 {
            table.slots[number] = Entry::new([number as u64, 0, 0, 0], 8, 0);
        }
        table.grow().unwrap();
        assert_eq!((table.entries().count(), table.strays.len()), (100, 100 - REACH));
    }

    #[test]
    fn length_tells_keys_apart_that_end_in_zeros() {
        let room = Room::default();
        let mut table = Table::new(SECRET, false, &room).unwrap();
        for length in 0..=LONGEST as u32 {
            table.add(&[0; 4], length, 1);
        }
        assert_eq!(table.len(), LONGEST + 1);
    }
}
