//! A look at a range before any work, at the speed of memory: is it in order already, and within which bounds?

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use super::{Level, Word};
use crate::sort::bounds::Bounds;
use crate::sort::team;

/// How a range lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// No key is smaller than the one before.
    Ascending,
    /// Backwards: no key is larger than the one before; of words that are more than their keys, each is smaller.
    Descending,
    Neither,
}

/// So many words are looked at first, which tells nearly always.
const FIRST: usize = 64;
/// So many between two decisions whether to go on.
const STEP: usize = 1 << 11;

/// Looks at `words`, with so many threads, until it is clear that they are in no order.
pub(crate) fn order<W: Word>(level: Level, words: &[W], threads: usize) -> Order {
    let start = &words[..words.len().min(FIRST)];
    if level.run(
        #[inline(always)]
        || ascends(start),
    ) {
        match throughout(
            level,
            words,
            threads,
            #[inline(always)]
            |words| ascends(words),
        ) {
            true => Order::Ascending,
            false => Order::Neither,
        }
    } else if level.run(
        #[inline(always)]
        || descends(start),
    ) && throughout(
        level,
        words,
        threads,
        #[inline(always)]
        |words| descends(words),
    ) {
        Order::Descending
    } else {
        Order::Neither
    }
}

/// Whether it is so in every step, each with the next one's first word.
fn throughout<W: Word>(level: Level, words: &[W], threads: usize, is_so: impl Fn(&[W]) -> bool + Sync) -> bool {
    let steps = words.len().div_ceil(STEP);
    let clear = AtomicBool::new(false);
    let look = |first: usize, last: usize| {
        for step in first..last {
            let end = ((step + 1) * STEP + 1).min(words.len());
            if clear.load(Relaxed)
                || !level.run(
                    #[inline(always)]
                    || is_so(&words[step * STEP..end]),
                )
            {
                return clear.store(true, Relaxed);
            }
        }
    };
    let share = steps.div_ceil(threads);
    match threads {
        1 => look(0, steps),
        _ => {
            team::run((0..threads).map(|i| move || look(i * share, ((i + 1) * share).min(steps))));
        }
    }
    !clear.into_inner()
}

#[inline(always)]
fn ascends<W: Word>(words: &[W]) -> bool {
    pairs(words).fold(true, |so, (one, two)| so & (narrow(one, two).map_or(one.key() <= two.key(), |(a, b)| a <= b)))
}

#[inline(always)]
fn descends<W: Word>(words: &[W]) -> bool {
    let back = |one: W, two: W| match narrow(one, two) {
        Some((one, two)) => (one > two) | (!W::STABLE & (one == two)),
        None => (one.key() > two.key()) | (!W::STABLE & (one.key() == two.key())),
    };
    pairs(words).fold(true, |so, (one, two)| so & back(one, two))
}

/// Neighbours.
#[inline(always)]
fn pairs<W: Word>(words: &[W]) -> impl Iterator<Item = (W, W)> {
    let later = words.get(1..).unwrap_or_default();
    words.iter().copied().zip(later.iter().copied())
}

/// Two keys that fit the lanes of a vector.
#[inline(always)]
fn narrow<W: Word>(one: W, two: W) -> Option<(u64, u64)> {
    (W::KEY_BITS <= 64).then(|| (one.key() as u64, two.key() as u64))
}

/// The least and the largest key of at least one word, found by so many threads.
pub(crate) fn extremes<W: Word>(level: Level, words: &[W], threads: usize) -> Bounds {
    let look = move |words: &[W]| {
        level.run(
            #[inline(always)]
            || least_and_largest(words),
        )
    };
    if threads == 1 {
        return look(words);
    }
    let seen = Mutex::new(None);
    let both = |one: Bounds, two: Bounds| Bounds { low: one.low.min(two.low), high: one.high.max(two.high) };
    let add = |part| {
        let part = look(part);
        let mut all = seen.lock().unwrap_or_else(PoisonError::into_inner);
        *all = Some(all.map_or(part, |all| both(all, part)));
    };
    let add = &add;
    team::run(words.chunks(words.len().div_ceil(threads)).map(|part| move || add(part)));
    seen.into_inner().unwrap_or_else(PoisonError::into_inner).unwrap_or(Bounds::of_bits(W::KEY_BITS))
}

#[inline(always)]
fn least_and_largest<W: Word>(words: &[W]) -> Bounds {
    if W::KEY_BITS <= 64 {
        let keys = words.iter().map(|word| word.key() as u64);
        let (low, high) = keys.fold((u64::MAX, 0), |(low, high), key| (low.min(key), high.max(key)));
        Bounds { low: low.into(), high: high.into() }
    } else {
        let keys = words.iter().map(|word| word.key());
        let (low, high) = keys.fold((u128::MAX, 0), |(low, high), key| (low.min(key), high.max(key)));
        Bounds { low, high }
    }
}

/// So many words are glanced at.
pub(crate) const GLANCE: usize = 32;
/// Evenly spread numbers hit 20 of 32 equal parts of their range in the mean, hardly ever fewer than this,
const EVEN: u32 = 14;
/// and seldom fewer than this, as others mostly do.
#[cfg(all(target_arch = "x86_64", not(miri)))]
pub(super) const SURELY_EVEN: u32 = 17;

/// The keys of a few words far apart; of wide keys, 64 bits from the highest that differ on. What they are like all are,
/// likely.
pub(crate) struct Glance {
    #[cfg_attr(not(all(target_arch = "x86_64", not(miri))), expect(dead_code, reason = "there are no vectors"))]
    pub(super) keys: [u64; GLANCE],
    hits: u32,
}

impl Glance {
    /// Looks at a few of at least one word.
    pub(crate) fn at<W: Word>(level: Level, words: &[W]) -> Glance {
        level.run(
            #[inline(always)]
            || {
                let keys = glance(words);
                Glance { keys, hits: hits::<32>(&keys) }
            },
        )
    }

    /// Whether the keys are unevenly spread, so that a radix step is in vain.
    pub(crate) fn seems_uneven(&self) -> bool {
        self.hits < EVEN
    }

    /// Whether they are all the same.
    pub(crate) fn seems_one(&self) -> bool {
        self.hits == 1
    }
}

#[inline(always)]
fn glance<W: Word>(words: &[W]) -> [u64; GLANCE] {
    let step = (words.len() / GLANCE).max(1);
    let key = |i: usize| words[(i * step).min(words.len() - 1)].key();
    let dropped = match W::KEY_BITS > u64::BITS {
        true => u64::BITS - (0..GLANCE).fold(0, |differ, i| differ | ((key(i) ^ key(0)) >> 64) as u64).leading_zeros(),
        false => 0,
    };
    // No `from_fn`: it is not sure to be inlined.
    let mut keys = [0; GLANCE];
    for (i, number) in keys.iter_mut().enumerate() {
        *number = (key(i) >> dropped) as u64;
    }
    keys
}

/// How many of so many equal parts of their range, up to 64, a few numbers hit.
#[inline(always)]
pub(crate) fn hits<const PARTS: u64>(numbers: &[u64; GLANCE]) -> u32 {
    const { assert!(PARTS <= 64) };
    let (low, high) = numbers.iter().fold((u64::MAX, 0), |(low, high), &number| (number.min(low), number.max(high)));
    let shift = (u64::BITS - (high - low).leading_zeros()).saturating_sub(u32::BITS);
    let parts_each = (PARTS << 32) / (((high - low) >> shift) + 1);
    let part = |number: u64| (((number - low) >> shift) * parts_each) >> 32;
    numbers.iter().fold(0u64, |hit, &number| hit | 1 << part(number)).count_ones()
}

/// Turns words around, with so many threads.
pub(crate) fn reverse<W: Word>(words: &mut [W], threads: usize) {
    let n = words.len();
    if threads == 1 {
        return words.reverse();
    }
    let (front, back) = words.split_at_mut(n / 2);
    let back = &mut back[n % 2..];
    let share = front.len().div_ceil(threads).max(1);
    let swap = |(front, back): (&mut [W], &mut [W])| {
        front.iter_mut().zip(back.iter_mut().rev()).for_each(|(one, two)| std::mem::swap(one, two));
    };
    team::run(front.chunks_mut(share).zip(back.rchunks_mut(share)).map(|pair| move || swap(pair)));
}
