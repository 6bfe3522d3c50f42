//! The result: a summary for each key.

use std::hint::black_box;
use std::ops::Range;

use super::StatsError;
use super::decimal::{DIGITS, Decimal};
use super::order::{self, Ranked};
use super::room::{Refused, Room};
use super::shard::Shard;
use super::squares::write_big;
use super::summary::{Sum, Summary};
use crate::sort::Sorter;

/// How many keys are prefetched at once.
const AHEAD: usize = 32;

/// The summaries of all keys, in byte order of the keys unless they were sorted differently.
#[derive(Debug)]
pub struct Table {
    shards: Vec<Shard>,
    order: Vec<Ranked>,
    threads: usize,
    room: Room,
    decimals: u32,
}

/// The summary of one key.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Group<'a> {
    /// The key.
    pub key: &'a [u8],
    /// The number of values, at least one.
    pub count: u64,
    /// The smallest value.
    pub min: Decimal,
    /// The largest value.
    pub max: Decimal,
    /// The sum of the values.
    pub sum: Sum,
    summary: Summary,
    shard: &'a Shard,
    number: usize,
}

impl Table {
    pub(super) fn new((shards, room): (Vec<Shard>, Room), threads: usize, decimals: u32) -> Result<Table, Refused> {
        let order = order::by_key(&shards, threads, &room)?;
        Ok(Table { shards, order, threads, room, decimals })
    }

    /// The number of keys.
    #[must_use]
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether there are no keys.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// The largest number of decimals with which a value was written.
    #[must_use]
    pub fn decimals(&self) -> u32 {
        self.decimals
    }

    /// The summary at this position in the order, from 0.
    #[must_use]
    pub fn get(&self, at: usize) -> Option<Group<'_>> {
        let place = self.order.get(at)?.1;
        let (shard, number) = (self.shards.get((place >> 32) as usize)?, (place & u64::from(u32::MAX)) as usize);
        let summary = shard.summary(number);
        let Summary { count, min, max, sum } = summary;
        Some(Group { key: shard.key(number), count, min, max, sum, summary, shard, number })
    }

    /// All summaries in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Group<'_>> {
        self.range(0..self.len())
    }

    /// The summaries at these positions, for threads that share the work. This is faster than calling [`Table::get`]
    /// for each.
    ///
    /// # Panics
    /// The iterator panics at a position beyond the end.
    pub fn range(&self, range: Range<usize>) -> impl ExactSizeIterator<Item = Group<'_>> {
        let start = range.start;
        range.map(move |at| {
            if (at - start).is_multiple_of(AHEAD) {
                self.fetch(at);
            }
            self.get(at).unwrap_or_else(|| panic!("no key at {at}, there are {}", self.len()))
        })
    }

    /// Prefetches the entries of the next keys, which are scattered in memory. These reads do not wait for one another.
    fn fetch(&self, at: usize) {
        let next = self.order[at.min(self.len())..].iter().take(AHEAD);
        black_box(next.fold(0, |sum: u64, rank| {
            let shard = self.shards.get((rank.1 >> 32) as usize);
            sum.wrapping_add(shard.map_or(0, |shard| shard.touch((rank.1 & u64::from(u32::MAX)) as usize)))
        }));
    }

    /// Sorts by descending count. Keys with equal counts are in byte order.
    ///
    /// # Errors
    /// [`StatsError::Memory`]. The order is then unchanged.
    pub fn sort_by_count(&mut self) -> Result<(), StatsError> {
        let keys = self.len();
        let error = |refused: Refused| refused.into_error(keys);
        let mut ranked = self.room.vector(keys).map_err(error)?;
        ranked.extend(self.iter().enumerate().map(|(at, group)| (!group.count, at as u64)));
        Sorter::lenient().threads(self.threads).sort(&mut ranked).map_err(|_| error(self.room.refused()))?;
        for rank in &mut ranked {
            *rank = self.order[rank.1 as usize];
        }
        self.room.give(self.order.capacity() * size_of::<Ranked>());
        self.order = ranked;
        Ok(())
    }
}

impl Group<'_> {
    /// The exact mean, rounded half up to this many decimals (at most 18).
    #[must_use]
    pub fn mean(&self, decimals: u32) -> Decimal {
        self.summary.mean(decimals.min(DIGITS))
    }

    /// The exact sample variance as text, rounded half up to this many decimals (at most 36). `None` if there are fewer
    /// than two values, or if variances were not asked for ([`Aggregator::variance`](super::Aggregator::variance)).
    #[must_use]
    pub fn variance(&self, decimals: u32) -> Option<String> {
        let decimals = decimals.min(2 * DIGITS);
        let scaled = self.shard.squares(self.number)?.variance_scaled(&self.summary, decimals)?;
        Some(write_big(&scaled, decimals))
    }

    /// The sample standard deviation as text: the square root of the exact variance, rounded once. Otherwise as
    /// [`Group::variance`].
    #[must_use]
    pub fn deviation(&self, decimals: u32) -> Option<String> {
        let decimals = decimals.min(2 * DIGITS);
        let scaled = self.shard.squares(self.number)?.deviation_scaled(&self.summary, decimals)?;
        Some(write_big(&scaled, decimals))
    }

    /// The exact `q`-quantile, for `q` from 0 (the smallest value) to 1 (the largest). It is interpolated linearly
    /// between the two nearest values, and rounded half up to this many decimals (at most 18). `None` if `q` is not
    /// from 0 to 1, or if quantiles were not asked for ([`Aggregator::quantiles`](super::Aggregator::quantiles)).
    #[must_use]
    pub fn quantile(&self, q: Decimal, decimals: u32) -> Option<Decimal> {
        let values = self.shard.values()?;
        let inside = q.units() >= 0 && q <= Decimal::new(1, 0);
        inside.then(|| values.quantile(self.number as u32, self.count, q, decimals.min(DIGITS)))
    }
}
