//! The smallest and the largest key of a range, at the speed of memory.

use std::sync::{Mutex, PoisonError};

use super::{Level, Word};
use crate::sort::bounds::Bounds;
use crate::sort::team;

/// The smallest and the largest key of at least one word, found by so many threads.
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
