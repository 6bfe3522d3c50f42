//! Sorts by counting where nearly all words are a few distinct ones: words are not moved.
//!
//! One pass counts the words in a hash table. Words that find no room there, the outliers, are copied to scratch
//! memory. If there are too many, nothing has changed yet, and counting ends. Otherwise the outliers are put at the
//! front of the range and sorted. Then, from the end of the range backwards, they move between the runs of equal words,
//! and the runs are written, unless they are there already.
//!
//! This only works for words that are their keys: others could not be restored from a count.

use super::uninit::UninitSlice;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::Mutex;

use super::{Level, Word};
use crate::sort::team;

/// The most distinct words. The word that fills the table needs no check for room if it is in its own pair.
const MOST: usize = 512;
/// The hash table's length.
const SLOTS: usize = 2048;
/// How many words are compared with the dominant word at once.
pub(super) const GROUP: usize = 32;

/// How many words are written at once, unless they are there already.
const PAGE: usize = 256;

/// A word, and how often it was seen.
#[derive(Clone, Copy)]
struct Slot<W> {
    /// At first, and if the count is zero, some word.
    word: W,
    count: usize,
}

/// How often each distinct word was seen. A word is in one of a pair of slots, most often: so hardly a branch is
/// mispredicted, and few cache lines are in use.
pub(crate) struct Tally<W> {
    slots: [Slot<W>; SLOTS],
    distinct: usize,
}

impl<W: Word> Tally<W> {
    /// A table without counts. Any word will do.
    pub(crate) fn new(word: W) -> Tally<W> {
        assert!(!W::STABLE);
        Tally { slots: [Slot { word, count: 0 }; SLOTS], distinct: 0 }
    }

    /// Counts words and adds the counts to those of other threads. Copies the outliers to `outliers`, and returns them.
    /// Returns `None`, with useless counts, if there are too many. `dominant` may be frequent.
    #[inline(never)]
    pub(crate) fn count<'a>(
        total: &Mutex<Tally<W>>,
        level: Level,
        words: &[W],
        dominant: W,
        outliers: &'a mut [MaybeUninit<W>],
    ) -> Option<&'a [W]> {
        let mut own = Tally::new(dominant);
        let mut used = level.run(
            #[inline(always)]
            || own.count_all(words, dominant, outliers),
        )?;
        let mut total = total.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        for (word, count) in own.seen() {
            // A word that only this thread counts may find no room beside the words that others have counted.
            if !total.add(word, count) {
                outliers.get_mut(used..used + count)?.fill(MaybeUninit::new(word));
                used += count;
            }
        }
        // SAFETY: so many have been written.
        Some(unsafe { outliers[..used].written() })
    }

    /// Each word that was counted, and how often.
    fn seen(&self) -> impl Iterator<Item = (W, usize)> {
        self.slots.iter().filter(|slot| slot.count > 0).map(|slot| (slot.word, slot.count))
    }

    #[inline(always)]
    fn count_all(&mut self, words: &[W], dominant: W, outliers: &mut [MaybeUninit<W>]) -> Option<usize> {
        let (mut dominants, mut used) = (0, 0);
        let (groups, rest) = words.as_chunks::<GROUP>();
        for group in groups {
            if all(group, dominant) {
                dominants += GROUP;
            } else {
                self.count_each(group, outliers, &mut used)?;
            }
        }
        self.count_each(rest, outliers, &mut used)?;
        (dominants == 0 || self.add(dominant, dominants)).then_some(used)
    }

    #[inline(always)]
    fn count_each(&mut self, words: &[W], outliers: &mut [MaybeUninit<W>], used: &mut usize) -> Option<()> {
        for &word in words {
            let pair = pair(word);
            let second = usize::from(!same(self.slots[pair].word, word));
            let slot = &mut self.slots[pair + second];
            if same(slot.word, word) {
                slot.count += 1;
            } else if !self.add(word, 1) {
                outliers.get_mut(*used)?.write(word);
                *used += 1;
            }
        }
        Some(())
    }

    /// Adds to the count of a word. Returns false if there is no room for it.
    #[cold]
    fn add(&mut self, word: W, count: usize) -> bool {
        let mut at = pair(word);
        while self.slots[at].count > 0 && !same(self.slots[at].word, word) {
            at = (at + 1) % SLOTS;
        }
        let slot = &mut self.slots[at];
        if slot.count == 0 {
            if self.distinct == MOST {
                return false;
            }
            self.distinct += 1;
            slot.word = word;
        }
        slot.count += count;
        true
    }

    /// Writes the sorted words to `words`, from the counts and from the sorted outliers in `words[..outliers]`.
    #[inline(never)]
    pub(crate) fn write(&self, level: Level, words: &mut [W], outliers: usize, threads: usize) {
        let mut runs = Runs { runs: [const { None }; MOST + 1], len: 0 };
        for (word, count) in self.seen() {
            runs.runs[runs.len] = Some((word, 0..count));
            runs.len += 1;
        }
        runs.place(words, outliers);
        let share = words.len().div_ceil(threads);
        let fill = |(i, part): (usize, &mut [W])| {
            level.run(
                #[inline(always)]
                || runs.fill(part, i * share),
            )
        };
        match threads {
            1 => fill((0, words)),
            _ => {
                let fill = &fill;
                team::run(words.chunks_mut(share).enumerate().map(|part| move || fill(part)));
            }
        }
    }
}

/// Runs of equal words, and where they go.
struct Runs<W> {
    runs: [Option<(W, Range<usize>)>; MOST + 1],
    len: usize,
}

impl<W: Word> Runs<W> {
    /// Moves the outliers at the front between the runs, and computes the places of the runs.
    fn place(&mut self, words: &mut [W], mut outliers: usize) {
        let runs = &mut self.runs[..self.len];
        // By insertion: there are few.
        let key = |run: &Option<(W, Range<usize>)>| run.as_ref().map(|run| run.0.key());
        for next in 1..runs.len() {
            let place = runs[..next].partition_point(|run| key(run) < key(&runs[next]));
            runs[place..=next].rotate_right(1);
        }
        let mut end = words.len();
        for (word, place) in runs.iter_mut().rev().flatten() {
            let lesser = words[..outliers].partition_point(|other| other.key() <= word.key());
            // The runs not placed yet lie between the outliers and the end: nothing is overwritten.
            words.copy_within(lesser..outliers, end - (outliers - lesser));
            end -= outliers - lesser;
            outliers = lesser;
            *place = end - place.len()..end;
            end = place.start;
        }
        debug_assert_eq!(end, outliers);
    }

    /// Writes the parts of runs that lie in `part`, which begins at `start` of the range.
    #[inline(always)]
    fn fill(&self, part: &mut [W], start: usize) {
        for (word, place) in self.runs[..self.len].iter().flatten() {
            let from = place.start.clamp(start, start + part.len()) - start;
            let to = place.end.clamp(start, start + part.len()) - start;
            for group in part[from..to].chunks_mut(PAGE) {
                // Reading is cheap beside writing, and may save it.
                if !all(group, *word) {
                    group.fill(*word);
                }
            }
        }
    }
}

#[inline(always)]
pub(super) fn same<W: Word>(one: W, two: W) -> bool {
    if W::KEY_BITS <= u64::BITS { one.has_key_of(two) } else { differ(one, two) == 0 }
}

/// The bits in which wide keys differ, as two numbers, one over the other, since no vector compares wide numbers.
#[inline(always)]
fn differ<W: Word>(one: W, two: W) -> u64 {
    let (one, two) = (one.key(), two.key());
    one as u64 ^ two as u64 | (one >> 64) as u64 ^ (two >> 64) as u64
}

#[inline(always)]
pub(super) fn all<W: Word>(words: &[W], word: W) -> bool {
    if W::KEY_BITS <= u64::BITS {
        return words.iter().fold(true, |so, &other| so & same(other, word));
    }
    words.iter().fold(0, |bits, &other| bits | differ(other, word)) == 0
}

/// The first of a word's pair of slots. Close numbers get distant ones.
#[inline(always)]
fn pair<W: Word>(word: W) -> usize {
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    let key = word.key();
    let number = if W::KEY_BITS <= 64 { key as u64 } else { key as u64 ^ ((key >> 64) as u64).wrapping_mul(GOLDEN) };
    (number.wrapping_mul(GOLDEN) >> (u64::BITS - SLOTS.ilog2())) as usize % SLOTS / 2 * 2
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sorts words, most of which are few distinct ones. Three stripes are counted, each with room for so many
    /// outliers.
    fn tally(words: &mut [u64], dominant: u64, room: usize) -> bool {
        let total = Mutex::new(Tally::new(dominant));
        let mut rooms = vec![MaybeUninit::uninit(); 3 * room];
        let stripes = words.chunks(words.len().div_ceil(3)).zip(rooms.chunks_mut(room));
        let outliers: Option<Vec<&[u64]>> =
            stripes.map(|(words, room)| Tally::count(&total, Level::best(), words, dominant, room)).collect();
        let Some(outliers) = outliers else { return false };
        let mut outliers = outliers.concat();
        outliers.sort_unstable();
        words[..outliers.len()].copy_from_slice(&outliers);
        total.into_inner().unwrap().write(Level::best(), words, outliers.len(), 2);
        true
    }

    fn mixed(n: u64, distinct: u64, rare: u64) -> Vec<u64> {
        let number = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31).wrapping_mul(0xd134_2543_de82_ef95);
        (0..n).map(|i| if i % rare == 1 { number(i) } else { number(number(i) % distinct) }).collect()
    }

    /// The runs and the outliers between them, also if the table is full, and if the dominant word does not occur.
    #[test]
    fn counts_are_sorted_words() {
        for (n, distinct, rare, room) in
            [(1, 1, 2, 1), (3000, 3, 7, 400), (9000, 300, 1000, 1000), (20_000, 511, 11, 4000)]
        {
            let mut words = mixed(n, distinct, rare);
            let mut expected = words.clone();
            expected.sort_unstable();
            for dominant in [words[0], 12345] {
                let mut copy = words.clone();
                assert!(tally(&mut copy, dominant, room), "{n} words, {distinct} distinct");
                assert!(copy == expected, "{n} words, {distinct} distinct");
            }
            words.fill(u64::MAX);
            assert!(tally(&mut words, u64::MAX, room) && words.iter().all(|&word| word == u64::MAX));
        }
    }

    #[test]
    fn too_many_rare_words_change_nothing() {
        let mut words = mixed(20_000, 10, 2);
        let before = words.clone();
        assert!(!tally(&mut words, before[0], 100));
        assert!(words == before);
    }
}
