//! Keys that agree in all the bits of their words.
//!
//! Words in order have such keys side by side, in groups. The words of a group get the next bytes of their keys and are
//! sorted again, and so on until all keys differ or end. Few keys are simply compared.
//!
//! ```text
//! abcdefghijkl|mno           mno|          ┐
//! abcdefghijkl|mop   ─────>  mop|  sort    │ as often as keys agree in all 12 bytes
//! abcdefghijkl|mno           mno|          ┘
//! ```

use std::cmp::Ordering;
use std::sync::{Mutex, PoisonError};

use eagre_mem::threads::{self, with_helpers};

use super::Index;
use super::prefetch::prefetch;
use crate::records::Format;
use crate::sort::{SortError, Sorter};

/// Up to so many keys are compared with one another.
const FEW: usize = 24;
/// Fewer words than this are no work for several threads.
const MANY: usize = 1 << 14;
/// How far ahead keys are fetched.
const AHEAD: usize = 12;

/// Puts groups of words that agree in their prefix in order. All else is in order. If `keep`, words keep their prefix; else it
/// may become that of another part of the key.
pub(super) fn resolve<F: Format>(
    index: &Index,
    format: &F,
    bytes: &[u8],
    words: &mut [u128],
    sorter: &Sorter<'_>,
    keep: bool,
) -> Result<(), SortError> {
    if format.key_size().is_some_and(|size| size <= index.prefix()) {
        return Ok(());
    }
    let threads = sorter.team_size(words.len());
    Ties { index, format, bytes, sorter, keep }.resolve(words, 0, threads)
}

struct Ties<'a, F> {
    index: &'a Index,
    format: &'a F,
    bytes: &'a [u8],
    sorter: &'a Sorter<'a>,
    keep: bool,
}

impl<F: Format> Ties<'_, F> {
    /// Resolves the ties of words that are in order by the bytes of their keys at `depth`.
    fn resolve(&self, words: &mut [u128], depth: usize, threads: usize) -> Result<(), SortError> {
        if threads == 1 || words.len() < MANY {
            return self.resolve_alone(words, depth);
        }
        // Groups larger than a thread's share are taken one by one, by all threads.
        let share = words.len() / (8 * threads);
        let mut pieces = Vec::new();
        let mut rest = words;
        while !rest.is_empty() {
            let end = self.end_of_group(rest, share.min(rest.len() - 1));
            let start = self.start_of_group(rest, share.min(rest.len() - 1));
            let (piece, behind) = std::mem::take(&mut rest).split_at_mut(end);
            rest = behind;
            let (before, group) = piece.split_at_mut(start);
            if group.len() > share {
                self.deepen(group, depth, threads)?;
                pieces.push(before);
            } else {
                // Both are small enough. Their border is a border of groups, so they are one piece of work each.
                pieces.push(before);
                pieces.push(group);
            }
        }
        let queue = Mutex::new(pieces);
        let failed = Mutex::new(None);
        let work = || {
            loop {
                let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop();
                let Some(piece) = next else { break };
                if let Err(error) = self.resolve_alone(piece, depth) {
                    *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                }
            }
        };
        with_helpers(Some(c"eagre-ties"), threads - 1, &work, work);
        failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }

    fn resolve_alone(&self, mut words: &mut [u128], depth: usize) -> Result<(), SortError> {
        while words.len() > 1 {
            let end = self.end_of_group(words, 0);
            let (group, rest) = words.split_at_mut(end);
            if group.len() > 1 {
                self.deepen(group, depth, 1)?;
            }
            words = rest;
        }
        Ok(())
    }

    fn end_of_group(&self, words: &[u128], at: usize) -> usize {
        let prefix = self.index.prefix_of(words[at]);
        at + words[at..].iter().take_while(|&&word| self.index.prefix_of(word) == prefix).count()
    }

    fn start_of_group(&self, words: &[u128], at: usize) -> usize {
        let prefix = self.index.prefix_of(words[at]);
        at - words[..at].iter().rev().take_while(|&&word| self.index.prefix_of(word) == prefix).count()
    }

    /// Puts a group in order whose keys agree in the bytes of a word at `depth`, if they have so many.
    fn deepen(&self, words: &mut [u128], depth: usize, threads: usize) -> Result<(), SortError> {
        let next = depth + self.index.prefix();
        if self.format.key_size().is_some_and(|size| size <= next) {
            return Ok(());
        }
        if words.len() <= FEW {
            self.compare_all(words, depth);
            return Ok(());
        }
        // All have this one.
        let prefix = self.index.prefix_of(words[0]);
        let (ended, going) = self.split(words, next, threads);
        self.sort(ended)?;
        if going.len() > 1 {
            let sorter = self.sorter.threads(threads);
            sorter.sort(going)?;
            self.resolve(going, next, threads)?;
        }
        if self.keep && depth == 0 {
            words.iter_mut().for_each(|word| *word = self.index.with(prefix, self.index.position(*word)));
        }
        Ok(())
    }

    /// Sorts with one thread: such words are few.
    fn sort(&self, words: &mut [u128]) -> Result<(), SortError> {
        if words.len() > 1 { self.sorter.threads(1).sort(words) } else { Ok(()) }
    }

    /// Gives words the bytes of their keys from `depth` on. Those whose keys have none get the length of their key, and are
    /// moved to the side where the order wants them. Returns both: ended, and going on.
    fn split<'w>(&self, words: &'w mut [u128], depth: usize, threads: usize) -> (&'w mut [u128], &'w mut [u128]) {
        let renew = |words: &mut [u128]| {
            let mut scratch = Vec::new();
            let mut ended = 0;
            for at in 0..words.len() {
                if let Some(&ahead) = words.get(at + AHEAD) {
                    prefetch(self.bytes, self.index.position(ahead));
                }
                let position = self.index.position(words[at]);
                let record = self.index.record(self.format, self.bytes, words[at]);
                let key = self.format.key(record, &mut scratch);
                words[at] = if key.len() > depth {
                    self.index.word(key, depth, position)
                } else {
                    ended += 1;
                    self.index.with(self.turned_length(key.len()), position)
                };
            }
            ended
        };
        let ended = if threads > 1 && words.len() >= MANY { in_parallel(words, threads, &renew) } else { renew(words) };
        if ended == 0 {
            return (&mut [], words);
        }
        self.part(words, depth, ended)
    }

    /// Moves the words of keys that have ended at `depth` to the front, or to the back if the order descends.
    fn part<'w>(&self, words: &'w mut [u128], depth: usize, ended: usize) -> (&'w mut [u128], &'w mut [u128]) {
        if ended == words.len() {
            return (words, &mut []);
        }
        let mut scratch = Vec::new();
        let descending = self.index.order().descending;
        let mut front = 0;
        for at in 0..words.len() {
            let key = self.format.key(self.index.record(self.format, self.bytes, words[at]), &mut scratch);
            if (key.len() > depth) == descending {
                words.swap(front, at);
                front += 1;
            }
        }
        let (front, back) = words.split_at_mut(front);
        if descending { (back, front) } else { (front, back) }
    }

    /// The length of a key in place of its bytes: longer keys come later, or earlier if the order descends.
    fn turned_length(&self, length: usize) -> u128 {
        let all = u128::MAX >> (u128::BITS - 8 * self.index.prefix() as u32);
        if self.index.order().descending { all - length as u128 } else { length as u128 }
    }

    fn compare_all(&self, words: &mut [u128], depth: usize) {
        let (mut first, mut second) = (Vec::new(), Vec::new());
        let mut order = |a: u128, b: u128| {
            let key_a = self.format.key(self.index.record(self.format, self.bytes, a), &mut first);
            let key_b = self.format.key(self.index.record(self.format, self.bytes, b), &mut second);
            let from = depth.min(key_a.len()).min(key_b.len());
            let by_key = key_a[from..].cmp(&key_b[from..]);
            self.index.order().of(by_key).then_with(|| self.index.position(a).cmp(&self.index.position(b)))
        };
        // Keys of a mapped file may change meanwhile. Then no order is right, but a sort of the library would panic.
        for at in 1..words.len() {
            let word = words[at];
            let to = words[..at].partition_point(|&other| order(other, word).is_lt());
            words[to..=at].rotate_right(1);
        }
    }
}

/// Sums what `work` returns for equal parts of `words`.
fn in_parallel(words: &mut [u128], threads: usize, work: &(dyn Fn(&mut [u128]) -> usize + Sync)) -> usize {
    let queue = Mutex::new(words.chunks_mut(words.len().div_ceil(4 * threads)));
    let sum = std::sync::atomic::AtomicUsize::new(0);
    let all = || {
        loop {
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(part) = next else { break };
            sum.fetch_add(work(part), std::sync::atomic::Ordering::Relaxed);
        }
    };
    with_helpers(Some(c"eagre-ties"), threads.min(threads::available().get()) - 1, &all, all);
    sum.into_inner()
}

/// How the keys of two records compare, beyond the bytes in their words.
pub(super) fn compare_keys<F: Format>(
    format: &F,
    (a, b): (&[u8], &[u8]),
    scratch: &mut (Vec<u8>, Vec<u8>),
) -> Ordering {
    let (first, second) = scratch;
    format.key(a, first).cmp(format.key(b, second))
}

#[cfg(test)]
mod tests {
    use super::super::Order;
    use super::*;
    use crate::records::Lines;

    /// Sorts lines by an index and returns them.
    fn sorted(bytes: &[u8], order: Order, threads: usize) -> Vec<&[u8]> {
        let format = Lines::default();
        let index = Index::new(&format, bytes.len() as u64, order);
        let mut words = Vec::new();
        index.append(&format, bytes, 0..bytes.len(), &mut words).unwrap();
        index.sort(&format, bytes, &mut words, &Sorter::new().threads(threads)).unwrap();
        words.iter().map(|&word| index.record(&format, bytes, word)).collect()
    }

    #[test]
    fn lines_with_long_common_prefixes_zeros_and_repeats() {
        let mut random = fastrand::Rng::with_seed(19);
        for round in 0..60 {
            let count = [0, 1, 2, 30, 500, 40_000][round % 6];
            let long = random.usize(0..40);
            let letters = [&b"ab"[..], b"\0a", b"abcdefghijklmnopqrstuvwxyz\xff\0"][random.usize(0..3)];
            let few = random.bool();
            let mut bytes = Vec::new();
            for _ in 0..count {
                let mut line = vec![b'x'; random.usize(0..=long)];
                let more = if few { random.usize(0..3) } else { random.usize(0..60) };
                line.extend((0..more).map(|_| letters[random.usize(0..letters.len())]));
                bytes.extend(line);
                bytes.push(b'\n');
            }
            let mut expected: Vec<&[u8]> = bytes.split_inclusive(|&byte| byte == b'\n').collect();
            let key = |line: &[u8]| line[..line.len() - 1].to_vec();
            expected.sort_by_key(|line| key(line));
            for threads in [1, 2] {
                assert!(sorted(&bytes, Order::default(), threads) == expected, "round {round}");
                let mut reversed = expected.clone();
                reversed.sort_by_key(|line| std::cmp::Reverse(key(line)));
                assert!(sorted(&bytes, Order::new(true), threads) == reversed, "round {round}, descending");
            }
        }
    }
}
