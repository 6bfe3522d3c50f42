//! Sorting by comparing: slower, but it needs no memory.

use super::SortError;
use super::kernels::Word;
use super::progress::Reporter;

/// How many words are sorted between two reports.
const PIECE: usize = 1 << 17;
/// Up to so many items are sorted by insertion.
const FEW: usize = 16;

/// Sorts words in place, or ends early if the hook says so.
pub(super) fn sort<W: Word>(words: &mut [W], progress: Reporter<'_>) {
    if W::STABLE {
        stable(words, &mut |&word| word, progress);
    } else if progress.has_hook() {
        by_halves(words, progress);
    } else {
        words.sort_unstable_by_key(|word| word.key());
    }
}

/// Partitions words by medians and sorts the parts, with reports between them.
fn by_halves<W: Word>(words: &mut [W], progress: Reporter<'_>) {
    if words.len() <= PIECE {
        words.sort_unstable_by_key(|word| word.key());
        let _ = progress.report(words.len());
    } else if progress.without_worth().report(words.len()) {
        let middle = words.len() / 2;
        words.select_nth_unstable_by_key(middle, |word| word.key());
        let (lower, upper) = words.split_at_mut(middle);
        by_halves(lower, progress);
        by_halves(upper, progress);
    }
}

/// Sorts by a key, or ends early. Items with equal keys keep their order.
pub(super) fn stable<T, K: Word>(items: &mut [T], key: &mut impl FnMut(&T) -> K, progress: Reporter<'_>) {
    let few = &mut |items: &mut [T], key: &mut _| {
        insertion(items, key);
        let _ = progress.report(items.len());
        Ok(())
    };
    let _ = in_pieces(items, FEW, key, progress.without_worth(), few);
}

/// Sorts by a key, or ends early. `piece` sorts up to `most` items, and the pieces are merged. Items with equal keys
/// keep their order. Items are only swapped, so that none is lost if `key` panics.
pub(super) fn in_pieces<T, K: Word, F: FnMut(&T) -> K>(
    items: &mut [T],
    most: usize,
    key: &mut F,
    progress: Reporter<'_>,
    piece: &mut impl FnMut(&mut [T], &mut F) -> Result<(), SortError>,
) -> Result<(), SortError> {
    if items.len() <= most {
        return piece(items, key);
    }
    let middle = items.len() / 2;
    in_pieces(&mut items[..middle], most, key, progress, piece)?;
    in_pieces(&mut items[middle..], most, key, progress, piece)?;
    if progress.report(items.len()) {
        merge(items, middle, key);
    }
    Ok(())
}

/// Sorts a few items.
pub(super) fn insertion<T, K: Word>(items: &mut [T], key: &mut impl FnMut(&T) -> K) {
    for end in 1..items.len() {
        let new = key(&items[end]).key();
        let at = items[..end].partition_point(|item| key(item).key() <= new);
        items[at..=end].rotate_right(1);
    }
}

/// Merges two sorted parts in place. Half of the longer part and the matching items of the other part are rotated,
/// which leaves two smaller merges.
fn merge<T, K: Word>(items: &mut [T], middle: usize, key: &mut impl FnMut(&T) -> K) {
    let (left, right) = items.split_at(middle);
    let (Some(last), Some(first)) = (left.last(), right.first()) else { return };
    if key(last).key() <= key(first).key() {
        return;
    }
    if items.len() == 2 {
        return items.swap(0, 1);
    }
    let (from, to) = if left.len() > right.len() {
        let cut = left.len() / 2;
        let pivot = key(&left[cut]).key();
        (cut, right.partition_point(|item| key(item).key() < pivot))
    } else {
        let cut = (right.len() - 1) / 2;
        let pivot = key(&right[cut]).key();
        (left.partition_point(|item| key(item).key() <= pivot), cut + 1)
    };
    items[from..middle + to].rotate_left(middle - from);
    let (lower, upper) = items.split_at_mut(from + to);
    merge(lower, from, key);
    merge(upper, middle - from, key);
}
