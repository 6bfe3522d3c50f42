//! Merging sorted keys: a tree of losers over their bits.
//!
//! Each source has a piece of its keys in memory, and the key at its head plays. A node of the tree keeps the loser of the
//! match played there. When the winner has been taken, its successor plays the matches on its way from the leaf to the
//! root again (Knuth, TAOCP 3, 5.4.1). Who wins is not predictable, so no match branches.
//!
//! The leaves are in the order of the sources from left to right, so whoever comes from the left wins among equals: keys
//! with equal bits come in the order of the sources. A source that has ended plays with the largest bits there are. If it
//! wins, all keys that are left have these bits, and come source by source.

use std::hint::select_unpredictable;
use std::io;

use super::super::budget::MOST_RUNS as MOST_SOURCES;

/// Where sorted keys come from.
pub(super) trait Source<K> {
    /// Replaces `keys` by the next ones, or by none at the end.
    fn next(&mut self, keys: &mut Vec<K>) -> io::Result<()>;
}

/// The bits that order keys: keys with smaller bits come first.
pub(super) trait Bits<K>: Copy {
    type Number: Copy + Ord;
    const LARGEST: Self::Number;

    fn of(self, key: K) -> Self::Number;
}

#[derive(Clone, Copy)]
struct Player<N> {
    bits: N,
    leaf: usize,
}

struct Leaf<K, S> {
    /// A piece of the keys; none if the source has ended.
    keys: Vec<K>,
    /// The key that plays.
    head: usize,
    source: S,
}

impl<K, S: Source<K>> Leaf<K, S> {
    fn refill(&mut self) -> io::Result<()> {
        self.head = 0;
        self.source.next(&mut self.keys)
    }
}

/// Merges sources of sorted keys.
pub(super) struct Merge<K, B: Bits<K>, S> {
    bits: B,
    leaves: Vec<Leaf<K, S>>,
    /// How many leaves lie left of that of the first source, counted in the order of the numbers of the leaves.
    first: usize,
    /// A match between nodes 2n and 2n + 1 is played at n; leaves follow the inner nodes.
    losers: [Player<B::Number>; MOST_SOURCES],
    winner: Player<B::Number>,
    /// The source whose keys come now, when all that are left are equal.
    ending: Option<usize>,
}

impl<K: Copy, B: Bits<K>, S: Source<K>> Merge<K, B, S> {
    /// Prepares to merge up to [`MOST_SOURCES`] sources. A piece of the keys of each is in memory; `pieces` are vectors for
    /// them.
    pub(super) fn new(bits: B, mut sources: Vec<(S, Vec<K>)>) -> io::Result<Self> {
        let count = sources.len();
        assert!(count <= MOST_SOURCES, "{count} sources");
        // If their number is no power of two, the leaves on the lowest level have the highest numbers, but are on the left.
        let first = count.max(1).next_power_of_two() - count.max(1);
        sources.rotate_right(first % count.max(1));
        let leaves: Vec<_> = sources.into_iter().map(|(source, keys)| Leaf { keys, head: 0, source }).collect();
        let none = Player { bits: B::LARGEST, leaf: 0 };
        let ending = (count == 0).then_some(0);
        let mut merge = Merge { bits, leaves, first, losers: [none; MOST_SOURCES], winner: none, ending };
        merge.play_all()?;
        Ok(merge)
    }

    /// Plays all matches.
    fn play_all(&mut self) -> io::Result<()> {
        let count = self.leaves.len();
        let mut winners = [self.winner; 2 * MOST_SOURCES];
        for (leaf, winner) in winners[count..2 * count].iter_mut().enumerate() {
            self.leaves[leaf].refill()?;
            *winner = Player { bits: self.head_of(leaf), leaf };
        }
        for node in (1..count).rev() {
            let (left, right) = (winners[2 * node], winners[2 * node + 1]);
            let first = left.bits <= right.bits;
            (winners[node], self.losers[node]) = if first { (left, right) } else { (right, left) };
        }
        self.winner = winners[1];
        Ok(())
    }

    fn head_of(&self, leaf: usize) -> B::Number {
        let Leaf { keys, head, .. } = &self.leaves[leaf];
        keys.get(*head).map_or(B::LARGEST, |&key| self.bits.of(key))
    }

    /// Puts the next keys into `out`, and returns how many these are: fewer than there is room for only at the end.
    pub(super) fn next(&mut self, out: &mut [K]) -> io::Result<usize> {
        let count = self.leaves.len();
        let mut winner = self.winner;
        for done in 0..out.len() {
            let there = self.leaves.get_mut(winner.leaf);
            let Some(leaf) = there.filter(|leaf| leaf.head < leaf.keys.len()) else {
                self.winner = winner;
                return Ok(done + self.end(&mut out[done..])?);
            };
            out[done] = leaf.keys[leaf.head];
            leaf.head += 1;
            let bits = match leaf.keys.get(leaf.head) {
                Some(&key) => self.bits.of(key),
                None => {
                    leaf.refill()?;
                    self.head_of(winner.leaf)
                }
            };
            winner.bits = bits;
            let mut from = count + winner.leaf;
            while from > 1 {
                let loser = &mut self.losers[from / 2 % MOST_SOURCES];
                // It comes from the left if the winner before came from the right.
                let wins = (loser.bits < winner.bits) | ((loser.bits == winner.bits) & (from % 2 == 1));
                let other = *loser;
                loser.bits = select_unpredictable(wins, winner.bits, other.bits);
                loser.leaf = select_unpredictable(wins, winner.leaf, other.leaf);
                winner.bits = select_unpredictable(wins, other.bits, winner.bits);
                winner.leaf = select_unpredictable(wins, other.leaf, winner.leaf);
                from /= 2;
            }
        }
        self.winner = winner;
        Ok(out.len())
    }

    /// As [`next`](Self::next), when all keys that are left have equal bits.
    #[cold]
    fn end(&mut self, out: &mut [K]) -> io::Result<usize> {
        let count = self.leaves.len();
        let mut done = 0;
        let mut source = self.ending.unwrap_or(0);
        while done < out.len() && source < count {
            let leaf = &mut self.leaves[(source + self.first) % count];
            let left = &leaf.keys[leaf.head..];
            let now = left.len().min(out.len() - done);
            out[done..done + now].copy_from_slice(&left[..now]);
            leaf.head += now;
            done += now;
            if leaf.keys.is_empty() {
                source += 1;
            } else if leaf.head == leaf.keys.len() {
                leaf.refill()?;
            }
        }
        self.ending = Some(source);
        Ok(done)
    }
}
