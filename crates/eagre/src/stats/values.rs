//! All values of all keys of a part of the table, for quantiles.
//!
//! A value is noted with the number of its key, sixteen bytes. When many have come, they are sorted, by key and then by
//! value, and equal ones become one with a count: so data with few different values a key takes memory for these, however
//! many rows there are, and other data 16 bytes a row. At the end, the values of a key lie side by side in order.

use super::decimal::{DIGITS, Decimal, ONE, POWERS};
use super::number::Number;
use super::room::{Refused, Room};
use crate::sort::Sorter;

/// Values that are noted before they are sorted for the first time.
const FEW: usize = 1 << 16;

/// The most values that become one at once.
const MOST: u32 = 1 << 31;

/// Values that are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Same {
    /// In units of 10^-decimals.
    mantissa: i64,
    key: u32,
    count: u32,
}

/// The values.
#[derive(Debug, Default)]
pub(super) struct Values {
    /// What mantissas are multiples of: 10^-decimals. Grows when a value with more comes.
    decimals: u8,
    /// Key and mantissa, in the order in which they came.
    recent: Vec<u128>,
    /// By key and mantissa.
    sorted: Vec<Same>,
    /// What cannot be written with so many decimals in 64 bits.
    long: Vec<(u32, Decimal)>,
}

/// Key and mantissa as one number, in the order of both.
fn pack(key: u32, mantissa: i64) -> u128 {
    u128::from(key) << 64 | u128::from(mantissa as u64 ^ 1 << 63)
}

fn unpack(packed: u128) -> (u32, i64) {
    ((packed >> 64) as u32, (packed as u64 ^ 1 << 63) as i64)
}

/// A value with more decimals.
fn rescaled(mantissa: i64, by: u8) -> Option<i64> {
    mantissa.checked_mul(i64::try_from(POWERS[usize::from(by)]).ok()?)
}

impl Values {
    /// One more value of a key.
    pub(super) fn push(&mut self, key: u32, value: Number, room: &Room) -> Result<(), Refused> {
        let Number::Short { mantissa, decimals } = value else { return self.push_long(key, value, room) };
        if decimals > self.decimals && !self.rescale(decimals) {
            return self.push_long(key, value, room);
        }
        match rescaled(mantissa, self.decimals.saturating_sub(decimals)) {
            Some(mantissa) => self.push_packed(pack(key, mantissa), room),
            None => self.push_long(key, value, room),
        }
    }

    fn push_packed(&mut self, packed: u128, room: &Room) -> Result<(), Refused> {
        if self.recent.len() == self.recent.capacity() {
            self.make_room(room)?;
        }
        self.recent.push(packed);
        Ok(())
    }

    fn push_long(&mut self, key: u32, value: Number, room: &Room) -> Result<(), Refused> {
        if self.long.len() == self.long.capacity() {
            let mut longer = room.vector((2 * self.long.len()).max(16))?;
            longer.append(&mut self.long);
            room.give(self.long.capacity() * size_of::<(u32, Decimal)>());
            self.long = longer;
        }
        self.long.push((key, value.to_decimal()));
        Ok(())
    }

    /// Takes another number of decimals, if all values have room for them.
    fn rescale(&mut self, decimals: u8) -> bool {
        let by = decimals - self.decimals;
        let recent = self.recent.iter().map(|&packed| unpack(packed).1);
        if !recent.chain(self.sorted.iter().map(|same| same.mantissa)).all(|value| rescaled(value, by).is_some()) {
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

    /// The recent values are as many as there is room for: they are sorted, and there is room for as many again, or for as
    /// many as are sorted if these are more, so that each value is not merged too often.
    fn make_room(&mut self, room: &Room) -> Result<(), Refused> {
        self.settle(room)?;
        let wanted = self.sorted.len().max(FEW);
        if self.recent.capacity() < wanted {
            let old = std::mem::take(&mut self.recent);
            room.give(old.capacity() * size_of::<u128>());
            drop(old);
            self.recent = room.vector(wanted)?;
        }
        Ok(())
    }

    /// Sorts the recent values into the others.
    fn settle(&mut self, room: &Room) -> Result<(), Refused> {
        if self.recent.is_empty() {
            return Ok(());
        }
        // One thread: others have parts of their own.
        Sorter::new().threads(1).sort(&mut self.recent).map_err(|_| room.refused())?;
        let runs = self.recent.chunk_by(|a, b| a == b).map(|run| {
            let (key, mantissa) = unpack(run[0]);
            (key, mantissa, run.len())
        });
        // Before anything is taken: how many there will be.
        let different = runs.clone().count();
        let mut merged: Vec<Same> = room.vector(self.sorted.len() + different + self.recent.len() / MOST as usize)?;
        let mut put = |same: Same| match merged.last_mut() {
            Some(last)
                if (last.key, last.mantissa) == (same.key, same.mantissa) && last.count <= u32::MAX - same.count =>
            {
                last.count += same.count;
            }
            // Equal ones that are too many for one count.
            _ => merged.push(same),
        };
        let mut old = self.sorted.iter().copied().peekable();
        for (key, mantissa, mut count) in runs {
            while let Some(same) = old.next_if(|same| (same.key, same.mantissa) <= (key, mantissa)) {
                put(same);
            }
            while count > 0 {
                let part = count.min(MOST as usize);
                put(Same { mantissa, key, count: part as u32 });
                count -= part;
            }
        }
        old.for_each(put);
        room.give(self.sorted.capacity() * size_of::<Same>());
        self.sorted = merged;
        self.recent.clear();
        Ok(())
    }

    /// Takes in the values of another part, whose keys have other numbers here.
    pub(super) fn take_in(&mut self, mut other: Values, numbers: &[u32], room: &Room) -> Result<(), Refused> {
        other.settle(room)?;
        for same in &other.sorted {
            for _ in 0..same.count {
                let value = Number::Short { mantissa: same.mantissa, decimals: other.decimals };
                self.push(numbers[same.key as usize], value, room)?;
            }
        }
        other.long.iter().try_for_each(|&(key, value)| self.push_long(numbers[key as usize], Number::Long(value), room))
    }

    /// There will be no more.
    pub(super) fn finish(&mut self, room: &Room) -> Result<(), Refused> {
        self.settle(room)?;
        room.give(self.recent.capacity() * size_of::<u128>());
        self.recent = Vec::new();
        self.long.sort_unstable();
        Ok(())
    }

    /// The value below which a part `q` of the values of a key is (0: the smallest, 1: the largest), between the two
    /// nearest ones in proportion, rounded once, half up, to so many decimals.
    pub(super) fn quantile(&self, key: u32, count: u64, q: Decimal, decimals: u32) -> Decimal {
        let place = i128::from(count - 1) * q.units();
        let (whole, part) = ((place / ONE) as u64, place % ONE);
        let low = self.nth(key, whole);
        let high = if part == 0 { low } else { self.nth(key, whole + 1) };
        let distance = high.units() - low.units();
        let unit = POWERS[(DIGITS - decimals) as usize];
        // In two steps: the product of all of it has more than 128 bits.
        let between = (distance / ONE) * part + ((distance % ONE) * part + if unit == 1 { ONE / 2 } else { 0 }) / ONE;
        Decimal::from_units((low.units() + between + unit / 2).div_euclid(unit) * unit)
    }

    /// The value number `n` of a key, from 0, in their order.
    fn nth(&self, key: u32, n: u64) -> Decimal {
        let start = self.sorted.partition_point(|same| same.key < key);
        let mut short = self.sorted[start..].iter().take_while(|same| same.key == key).peekable();
        let start = self.long.partition_point(|long| long.0 < key);
        let mut long = self.long[start..].iter().take_while(|long| long.0 == key).peekable();
        let mut left = n;
        let decimal = |same: &Same| Decimal::new(same.mantissa, self.decimals.into());
        let mut last = Decimal::from_units(0);
        loop {
            let next_long = match (short.peek(), long.peek()) {
                (Some(same), Some((_, value))) => *value < decimal(same),
                (None, Some(_)) => true,
                (Some(_), None) => false,
                (None, None) => return last,
            };
            let count = if next_long {
                last = long.next().map_or(last, |(_, value)| *value);
                1
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
