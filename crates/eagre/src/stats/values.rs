//! All values of all keys in a part of the table, for quantiles.
//!
//! Each value is stored with the number of its key in sixteen bytes. When there are many, they are sorted by key and
//! value, and equal values become one with a count. So data with few distinct values per key takes memory for these
//! only, however many rows there are. Other data takes 16 bytes per row. At the end, the values of a key are adjacent
//! and in order.

use super::decimal::{DIGITS, Decimal, ONE, POWERS};
use super::number::Number;
use super::room::{Refused, Room};
use crate::sort::Sorter;

/// The capacity of the list of recent values: at first, and at most as long as fewer values are sorted.
const FEW: usize = 1 << 8;
const MANY: usize = 1 << 16;

/// The largest count of one entry.
const MOST: u32 = 1 << 31;

/// A run of equal values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Same {
    /// The value in units of 10^-decimals.
    mantissa: i64,
    key: u32,
    count: u32,
}

/// A run of equal values that do not fit into a mantissa.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Long {
    key: u32,
    value: Decimal,
    count: u64,
}

/// The values.
#[derive(Debug)]
pub(super) struct Values {
    /// The number of decimals of all mantissas. It grows when a value has more decimals.
    decimals: u8,
    /// The least number of decimals that was too many for some mantissa, which is still stored.
    too_many: u8,
    /// Key and mantissa, in order of arrival.
    recent: Vec<u128>,
    /// Ordered by key and mantissa.
    sorted: Vec<Same>,
    /// Values that do not fit into a mantissa with this many decimals.
    long: Vec<Long>,
}

impl Default for Values {
    fn default() -> Values {
        Values { decimals: 0, too_many: u8::MAX, recent: Vec::new(), sorted: Vec::new(), long: Vec::new() }
    }
}

/// Key and mantissa as one number with the same order.
fn pack(key: u32, mantissa: i64) -> u128 {
    u128::from(key) << 64 | u128::from(mantissa as u64 ^ 1 << 63)
}

fn unpack(packed: u128) -> (u32, i64) {
    ((packed >> 64) as u32, (packed as u64 ^ 1 << 63) as i64)
}

/// A mantissa with more decimals.
fn rescaled(mantissa: i64, by: u8) -> Option<i64> {
    mantissa.checked_mul(i64::try_from(POWERS[usize::from(by)]).ok()?)
}

impl Values {
    /// Adds one value of a key.
    pub(super) fn push(&mut self, key: u32, value: Number, room: &Room) -> Result<(), Refused> {
        match self.fitting(value) {
            Some(mantissa) => {
                if self.recent.len() == self.recent.capacity() {
                    self.make_room(room)?;
                }
                self.recent.push(pack(key, mantissa));
                Ok(())
            }
            None => self.push_long(Long { key, value: value.to_decimal(), count: 1 }, room),
        }
    }

    /// The value as a mantissa with the common number of decimals, if it fits.
    fn fitting(&mut self, value: Number) -> Option<i64> {
        let Number::Short { mantissa, decimals } = value else { return None };
        if decimals > self.decimals && !self.rescale(decimals) {
            return None;
        }
        rescaled(mantissa, self.decimals - decimals)
    }

    fn push_long(&mut self, long: Long, room: &Room) -> Result<(), Refused> {
        if self.long.len() == self.long.capacity() {
            self.settle_long();
            // Half of the list must be new before it is sorted again.
            if self.long.len() >= self.long.capacity() / 2 {
                let mut longer = room.vector((2 * self.long.capacity()).max(16))?;
                longer.append(&mut self.long);
                room.give(self.long.capacity() * size_of::<Long>());
                self.long = longer;
            }
        }
        self.long.push(long);
        Ok(())
    }

    /// Sorts the long values and combines equal ones.
    fn settle_long(&mut self) {
        self.long.sort_unstable();
        self.long.dedup_by(|next, kept| {
            let same = (next.key, next.value) == (kept.key, kept.value);
            if same {
                kept.count += next.count;
            }
            same
        });
    }

    /// Changes the number of decimals, if all values fit.
    fn rescale(&mut self, decimals: u8) -> bool {
        if decimals >= self.too_many {
            return false;
        }
        let by = decimals - self.decimals;
        let recent = self.recent.iter().map(|&packed| unpack(packed).1);
        if !recent.chain(self.sorted.iter().map(|same| same.mantissa)).all(|value| rescaled(value, by).is_some()) {
            self.too_many = decimals;
            return false;
        }
        for packed in &mut self.recent {
            let (key, mantissa) = unpack(*packed);
            *packed = pack(key, rescaled(mantissa, by).unwrap_or(mantissa));
        }
        for same in &mut self.sorted {
            same.mantissa = rescaled(same.mantissa, by).unwrap_or(same.mantissa);
        }
        self.decimals = decimals;
        true
    }

    /// Called when the list of recent values is full. A short list grows. A long one is sorted into the others. Then
    /// there is room for as many again, or for as many as there are sorted values if these are more, so that no value
    /// is merged too often.
    fn make_room(&mut self, room: &Room) -> Result<(), Refused> {
        let mut wanted = self.recent.capacity().max(FEW / 2) * 2;
        if wanted > MANY {
            self.settle(room)?;
            wanted = self.sorted.len().max(MANY);
        }
        if self.recent.capacity() < wanted {
            let mut larger = room.vector(wanted)?;
            larger.append(&mut self.recent);
            room.give(self.recent.capacity() * size_of::<u128>());
            self.recent = larger;
        }
        Ok(())
    }

    /// Sorts the recent values and merges them into the sorted ones.
    fn settle(&mut self, room: &Room) -> Result<(), Refused> {
        if self.recent.is_empty() {
            return Ok(());
        }
        // One thread, because the other threads have parts of their own.
        Sorter::lenient().threads(1).sort(&mut self.recent).map_err(|_| room.refused())?;
        let recent = std::mem::take(&mut self.recent);
        let runs = recent.chunk_by(|a, b| a == b).flat_map(|run| {
            let (key, mantissa) = unpack(run[0]);
            // Equal values that exceed the largest count become several entries.
            run.chunks(MOST as usize).map(move |part| Same { mantissa, key, count: part.len() as u32 })
        });
        let merged = self.merge(runs, room);
        self.recent = recent;
        self.recent.clear();
        merged
    }

    /// Merges values, which are in order, into the sorted ones.
    fn merge(&mut self, new: impl Iterator<Item = Same> + Clone, room: &Room) -> Result<(), Refused> {
        // Counts the values first, so that a refusal leaves everything in place.
        let mut merged: Vec<Same> = room.vector(self.sorted.len() + new.clone().count())?;
        let mut put = |same: Same| match merged.last_mut() {
            Some(last)
                if (last.key, last.mantissa) == (same.key, same.mantissa) && last.count <= u32::MAX - same.count =>
            {
                last.count += same.count;
            }
            _ => merged.push(same),
        };
        let mut old = self.sorted.iter().copied().peekable();
        for new in new {
            while let Some(same) = old.next_if(|same| (same.key, same.mantissa) <= (new.key, new.mantissa)) {
                put(same);
            }
            put(new);
        }
        old.for_each(put);
        room.give(self.sorted.capacity() * size_of::<Same>());
        self.sorted = merged;
        Ok(())
    }

    /// Adds the values of another part, whose keys have other numbers here. Its memory belongs to another account.
    pub(super) fn take_in(&mut self, other: Values, numbers: &[u32], room: &Room) -> Result<(), Refused> {
        self.settle(room)?;
        let mut new: Vec<Same> = room.vector(other.sorted.len() + other.recent.len())?;
        let recent = other.recent.iter().map(|&packed| {
            let (key, mantissa) = unpack(packed);
            Same { mantissa, key, count: 1 }
        });
        for same in other.sorted.iter().copied().chain(recent) {
            let key = numbers[same.key as usize];
            let value = Number::Short { mantissa: same.mantissa, decimals: other.decimals };
            match self.fitting(value) {
                // All values of `other` have the same number of decimals. So the number here does not change after the
                // first value, and the mantissas in `new` stay valid.
                Some(mantissa) => new.push(Same { mantissa, key, ..same }),
                None => self.push_long(Long { key, value: value.to_decimal(), count: same.count.into() }, room)?,
            }
        }
        new.sort_unstable_by_key(|same| (same.key, same.mantissa));
        self.merge(new.iter().copied(), room)?;
        room.give(new.capacity() * size_of::<Same>());
        other.long.iter().try_for_each(|&long| self.push_long(Long { key: numbers[long.key as usize], ..long }, room))
    }

    /// Ends the input.
    pub(super) fn finish(&mut self, room: &Room) -> Result<(), Refused> {
        self.settle(room)?;
        room.give(self.recent.capacity() * size_of::<u128>());
        self.recent = Vec::new();
        self.settle_long();
        Ok(())
    }

    /// The `q`-quantile of a key (0 is the smallest value, 1 the largest), interpolated linearly between the two
    /// nearest values, and rounded once, half up, to this many decimals.
    pub(super) fn quantile(&self, key: u32, count: u64, q: Decimal, decimals: u32) -> Decimal {
        let place = i128::from(count - 1) * q.units();
        let (whole, part) = ((place / ONE) as u64, place % ONE);
        let low = self.nth(key, whole);
        let high = if part == 0 { low } else { self.nth(key, whole + 1) };
        let distance = high.units() - low.units();
        let unit = POWERS[(DIGITS - decimals) as usize];
        // In two steps, because the whole product needs more than 128 bits.
        let between = (distance / ONE) * part + ((distance % ONE) * part + if unit == 1 { ONE / 2 } else { 0 }) / ONE;
        Decimal::from_units((low.units() + between + unit / 2).div_euclid(unit) * unit)
    }

    /// Value number `n` of a key, from 0, in order.
    fn nth(&self, key: u32, n: u64) -> Decimal {
        let start = self.sorted.partition_point(|same| same.key < key);
        let mut short = self.sorted[start..].iter().take_while(|same| same.key == key).peekable();
        let start = self.long.partition_point(|long| long.key < key);
        let mut long = self.long[start..].iter().take_while(|long| long.key == key).peekable();
        let mut left = n;
        let decimal = |same: &Same| Decimal::new(same.mantissa, self.decimals.into());
        let mut last = Decimal::from_units(0);
        loop {
            let next_long = match (short.peek(), long.peek()) {
                (Some(same), Some(long)) => long.value < decimal(same),
                (None, Some(_)) => true,
                (Some(_), None) => false,
                (None, None) => return last,
            };
            let count = if next_long {
                let long = long.next();
                last = long.map_or(last, |long| long.value);
                long.map_or(1, |long| long.count)
            } else {
                let same = short.next();
                last = same.map_or(last, decimal);
                same.map_or(1, |same| u64::from(same.count))
            };
            if left < count {
                return last;
            }
            left -= count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Decimal {
        Decimal::parse(text.as_bytes()).unwrap().0
    }

    /// Checks quantiles of each key against all its values, sorted.
    fn check(values: &Values, expected: &[(u32, Vec<Decimal>)]) {
        for (key, all) in expected {
            let mut all = all.clone();
            all.sort_unstable();
            for at in [0, all.len() / 3, all.len() - 1] {
                assert_eq!(values.nth(*key, at as u64), all[at], "key {key}, value {at}");
            }
            let half = values.quantile(*key, all.len() as u64, decimal("0.5"), 18);
            let (low, high) = (all[(all.len() - 1) / 2].units(), all[all.len() / 2].units());
            assert_eq!(half.units(), (low + high + 1).div_euclid(2), "key {key}");
        }
    }

    #[test]
    fn values_of_all_widths_are_found_in_order_also_when_others_are_taken_in() {
        let room = Room::default();
        let texts = ["1", "-2.5", "1000000", "0.1234567890123", "999999999999999999.5", "3", "1e-18", "-0.25"];
        let (mut first, mut second) = (Values::default(), Values::default());
        let mut expected: Vec<(u32, Vec<Decimal>)> = vec![(0, vec![]), (1, vec![]), (2, vec![])];
        // The numbers that the keys of the second table have in the first.
        let numbers = [2, 0];
        for round in 0..40_000_usize {
            let value = Number::parse(texts[round * 7 % 8].as_bytes()).unwrap().0;
            let key = round % 2;
            if round % 3 == 0 {
                second.push(key as u32, value, &room).unwrap();
                expected[numbers[key] as usize].1.push(value.to_decimal());
            } else {
                first.push(key as u32, value, &room).unwrap();
                expected[key].1.push(value.to_decimal());
            }
        }
        first.take_in(second, &numbers, &room).unwrap();
        first.finish(&room).unwrap();
        check(&first, &expected);
        // Equal values become one entry, whatever their width.
        assert!(first.sorted.len() + first.long.len() <= 3 * texts.len(), "{first:?}");
    }

    /// This would take hours if all values were scanned for each one.
    #[test]
    fn decimals_that_do_not_fit_are_tried_once() {
        let room = Room::default();
        let mut values = Values::default();
        for round in 0..300_000_i64 {
            values.push(0, Number::Short { mantissa: 1_000_000 + round, decimals: 0 }, &room).unwrap();
            values.push(0, Number::Short { mantissa: 1_234_567_890_123, decimals: 13 }, &room).unwrap();
        }
        values.finish(&room).unwrap();
        assert_eq!(values.nth(0, 299_999), decimal("0.1234567890123"));
        assert_eq!(values.nth(0, 300_000), decimal("1000000"));
        assert_eq!((values.long.len(), values.long[0].count), (1, 300_000));
    }
}
