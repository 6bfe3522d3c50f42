//! Sorting without memory, by comparing: slower, but always possible.

use super::kernels::Word;
use super::progress::Pulse;

/// Pieces of so many words are sorted between two reports.
const PIECE: usize = 1 << 17;
/// So many are sorted by insertion.
const INSERTION: usize = 16;

/// Sorts words in place, or stops in between.
pub(super) fn sort<W: Word>(words: &mut [W], pulse: Pulse<'_>) {
    if W::STABLE {
        merge_sort(words, &mut |word| word.key(), pulse);
    } else if pulse.is_heard() {
        by_halves(words, pulse);
    } else {
        words.sort_unstable_by_key(|word| word.key());
    }
}

/// Sorts pieces that are below and above a median, for the sake of reports.
fn by_halves<W: Word>(words: &mut [W], pulse: Pulse<'_>) {
    if words.len() <= PIECE {
        words.sort_unstable_by_key(|word| word.key());
        let _ = pulse.beat(words.len());
    } else if pulse.without_worth().beat(words.len()) {
        let middle = words.len() / 2;
        words.select_nth_unstable_by_key(middle, |word| word.key());
        let (lower, upper) = words.split_at_mut(middle);
        by_halves(lower, pulse);
        by_halves(upper, pulse);
    }
}

/// Sorts in place by the key, or stops in between; items with equal keys stay in the order they are in. Items are only
/// ever swapped, so none is lost if `key` panics.
pub(super) fn merge_sort<T, O: Ord>(items: &mut [T], key: &mut impl FnMut(&T) -> O, pulse: Pulse<'_>) {
    if items.len() <= INSERTION {
        for end in 1..items.len() {
            let new = key(&items[end]);
            let at = items[..end].partition_point(|item| key(item) <= new);
            items[at..=end].rotate_right(1);
        }
        let _ = pulse.beat(items.len());
        return;
    }
    let middle = items.len() / 2;
    merge_sort(&mut items[..middle], key, pulse);
    merge_sort(&mut items[middle..], key, pulse);
    if pulse.without_worth().beat(items.len()) {
        merge(items, middle, key);
    }
}

/// Merges two sorted halves: half of the longer one, and what belongs among it of the other, change places; then each
/// side is the same task again.
fn merge<T, O: Ord>(items: &mut [T], middle: usize, key: &mut impl FnMut(&T) -> O) {
    let (left, right) = items.split_at(middle);
    let (Some(last), Some(first)) = (left.last(), right.first()) else { return };
    if key(last) <= key(first) {
        return;
    }
    let (from, to) = if left.len() > right.len() {
        let cut = left.len() / 2;
        let pivot = key(&left[cut]);
        (cut, right.partition_point(|item| key(item) < pivot))
    } else {
        let cut = (right.len() - 1) / 2;
        let pivot = key(&right[cut]);
        (left.partition_point(|item| key(item) <= pivot), cut + 1)
    };
    items[from..middle + to].rotate_left(middle - from);
    let (lower, upper) = items.split_at_mut(from + to);
    merge(lower, from, key);
    merge(upper, middle - from, key);
}
