//! A few MiB of words for several threads: a part for each of them.
//!
//! To split a range into many buckets at once, several threads need memory that is touched for the first time, and a list
//! of buckets; that pays for itself from some MiB on. Below, one thread moves the words of the lower half of all threads
//! to the front, in place. Then two threads do so with the halves at the same time, and so on, until each has one part, and
//! sorts it alone. Where the halves end is estimated by a sample. Words that equal the estimate are in the lower half; so a
//! frequent one may make it the larger one, but it is sorted fast then.

use super::bounds::Bounds;
use super::kernels::{Level, Word, by_key};
use super::progress::{Monitor, Reporter};
use super::worker::{Range, Worker};
use super::{base_case, team};

/// The fewest bytes for each thread: to start one takes some ten microseconds.
pub(super) const PART_BYTES: usize = 512 << 10;
/// How many words the sample has.
const SAMPLE: usize = 255;

/// Sorts words with a thread for each worker; each worker can sort them all.
pub(super) fn sort<W: Word>(
    level: Level,
    range: Range<'_, W>,
    workers: &mut [Worker<W>],
    monitor: &Monitor<'_>,
    progress: Reporter<'_>,
) {
    let Range { words, known, guesses } = range;
    let middle = workers.len() / 2;
    if middle == 0 || words.len() < 2 * SAMPLE {
        return workers[0].sort_unless_stopped(level, Range { words, known, guesses }, monitor, progress);
    }
    let mut sample = [words[0]; SAMPLE];
    draw(level, words, &mut sample);
    // Nearly all equal words are sorted faster than they are moved.
    let rare = SAMPLE / 16;
    if sample[rare].key() == sample[SAMPLE - 1 - rare].key() {
        return workers[0].sort_unless_stopped(level, Range { words, known, guesses }, monitor, progress);
    }
    let border = sample[SAMPLE * middle / workers.len()];
    let front = W::move_to_front(level, words, border);
    let (lower, upper) = words.split_at_mut(front);
    let lower = Range { words: lower, known: Bounds { high: border.key(), ..known }, guesses };
    // Without words, the bounds do not matter.
    let above = border.key().saturating_add(1).min(known.high);
    let upper = Range { words: upper, known: Bounds { low: above, ..known }, guesses };
    let (few, many) = workers.split_at_mut(middle);
    let halves = [(lower, few), (upper, many)].into_iter();
    team::run(halves.map(|(range, workers)| move || sort(level, range, workers, monitor, progress)));
}

/// Fills a sample with words from pseudorandom places, in order.
pub(super) fn draw<W: Word>(level: Level, words: &[W], sample: &mut [W]) {
    let mut state = words.len() as u64;
    sample.fill_with(|| words[below(&mut state, words.len())]);
    if !base_case::small(level, sample) {
        by_key(sample);
    }
}

/// The next pseudorandom number below `n`.
fn below(state: &mut u64, n: usize) -> usize {
    *state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
    ((u128::from(*state) * n as u128) >> 64) as usize
}
