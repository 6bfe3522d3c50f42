//! The presortedness scan: is a range in order already? It runs at the speed of memory, and ends as soon as the answer
//! is no.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::{Level, Word};
use crate::sort::team;

/// The order of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// No key is smaller than the one before.
    Ascending,
    /// No key is larger than the one before. Where equal words may differ, each key is smaller than the one before.
    Descending,
    Neither,
}

/// How many words are compared first: they nearly always suffice to say no.
const FIRST: usize = 64;
/// How many words are compared between two decisions whether to go on.
const STEP: usize = 1 << 11;

/// Scans `words` with so many threads until it is clear that they are in no order.
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

/// How many words from the first on are in ascending order.
pub(crate) fn ascending<W: Word>(level: Level, words: &[W]) -> usize {
    let mut at = 0;
    for step in [STEP, 64, 1] {
        while at + 1 < words.len()
            && level.run(
                #[inline(always)]
                || ascends(&words[at..(at + step + 1).min(words.len())]),
            )
        {
            at = (at + step).min(words.len() - 1);
        }
    }
    (at + 1).min(words.len())
}

/// Whether the condition holds in every step. A step includes the first word of the next one.
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
    pairs(words).fold(true, |so, (one, two)| so & !below(two, one))
}

#[inline(always)]
fn descends<W: Word>(words: &[W]) -> bool {
    // Where equal words may differ, they must not be reversed.
    pairs(words).fold(true, |so, (one, two)| so & if W::STABLE { below(two, one) } else { !below(one, two) })
}

/// Each word and the one after it.
#[inline(always)]
fn pairs<W: Word>(words: &[W]) -> impl Iterator<Item = (W, W)> {
    let later = words.get(1..).unwrap_or_default();
    words.iter().copied().zip(later.iter().copied())
}

/// Whether a key is below another. Wide keys are compared as two numbers, since no vector compares wide ones.
#[inline(always)]
fn below<W: Word>(one: W, two: W) -> bool {
    let (one, two) = (one.key(), two.key());
    let lower = (one as u64) < two as u64;
    if W::KEY_BITS <= u64::BITS {
        return lower;
    }
    let (one, two) = ((one >> 64) as u64, (two >> 64) as u64);
    (one < two) | ((one == two) & lower)
}

/// Reverses words with so many threads.
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
