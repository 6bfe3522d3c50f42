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
    /// The same of groups of words: of pairs with the same first part, or of words with the same key where they may differ.
    /// Each group is in order.
    DescendingGroups,
    Neither,
}

/// How many words are compared first: they nearly always suffice to say no.
const FIRST: usize = 64;
/// How many words are compared between two decisions whether to go on.
const STEP: usize = 1 << 11;

/// Whether the first few of at least eight words are in any order.
pub(crate) fn may_be_in_order<W: Word>(words: &[W]) -> bool {
    let first = &words[..8];
    ascends(first) || descends(first) || has_groups::<W>() && groups_descend(first)
}

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
    } else if has_groups::<W>()
        && level.run(
            #[inline(always)]
            || groups_descend(start),
        )
        && throughout(
            level,
            words,
            threads,
            #[inline(always)]
            |words| groups_descend(words),
        )
    {
        Order::DescendingGroups
    } else {
        Order::Neither
    }
}

/// How many words from the first on are in ascending order, if these are as many as `least`; else fewer.
pub(crate) fn ascending<W: Word>(level: Level, words: &[W], least: usize) -> usize {
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
        // The next step is not in order.
        if at + step < least {
            break;
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

/// Whether there can be groups of several words, in an order of their own.
const fn has_groups<W: Word>() -> bool {
    W::STABLE || W::SECOND_BITS > 0
}

/// Whether two words are of one group.
#[inline(always)]
fn together<W: Word>(one: W, two: W) -> bool {
    one.key() >> W::SECOND_BITS == two.key() >> W::SECOND_BITS
}

#[inline(always)]
fn groups_descend<W: Word>(words: &[W]) -> bool {
    pairs(words).fold(true, |so, (one, two)| so & (below(two, one) != together(one, two)))
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

/// Brings groups that [descend](Order::DescendingGroups) in order, with so many threads.
pub(crate) fn reverse_groups<W: Word>(words: &mut [W], threads: usize) {
    reverse(words, threads);
    for group in words.chunk_by_mut(|&one, &two| together(one, two)) {
        if group.len() > 1 {
            group.reverse();
        }
    }
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

#[cfg(test)]
mod tests {
    use super::super::super::Sorter;
    use super::*;

    /// Keys that descend with groups in order: as the standard library sorts them, and equal keys keep their order.
    #[test]
    fn groups_that_descend_are_sorted() {
        let mut random = fastrand::Rng::with_seed(9);
        for (n, keys) in [(8, 3), (130, 40), (130, 1), (5000, 900), (70_000, 65_000)] {
            let mut firsts: Vec<u32> = (0..n).map(|_| random.u32(..keys)).collect();
            firsts.sort_unstable_by(|one, two| two.cmp(one));
            let mut pairs: Vec<(u32, u32)> = firsts.iter().copied().zip(0..).collect();
            if keys > 1 {
                assert_eq!(order(Level::best(), &pairs, 1), Order::DescendingGroups);
            }
            let mut expected = pairs.clone();
            expected.sort();
            let mut stable: Vec<(u64, u64)> = firsts.iter().map(|&first| first.into()).zip(0..).collect();
            let wide: Vec<(u64, u64)> = expected.iter().map(|&(one, two)| (one.into(), two.into())).collect();
            let mut both = stable.clone();
            let sorter = Sorter::new().threads(2);
            sorter.sort(&mut pairs).unwrap();
            sorter.sort(&mut both).unwrap();
            sorter.sort_pairs(&mut stable).unwrap();
            assert!(pairs == expected && both == wide && stable == wide, "{n} of {keys}");
            // One group is not in order.
            let last = pairs.len() - 1;
            pairs.reverse();
            pairs[last / 2..].iter_mut().rev().zip(0..).for_each(|(pair, i)| pair.0 = i / 2);
            expected = pairs.clone();
            expected.sort();
            sorter.sort(&mut pairs).unwrap();
            assert!(pairs == expected, "{n} of {keys}, not in order");
        }
    }
}
