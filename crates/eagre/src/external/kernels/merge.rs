//! Merging sorted records: a tree of losers over the first bytes of the keys.
//!
//! Each source has one record at its head, and its word: the first 16 bytes of its key. A node of the tree keeps the
//! loser of the match played there. When the winner's record has been taken, its successor plays the matches on
//! its way from the leaf to the root again, one comparison of words for each (Knuth, TAOCP 3, 5.4.1). Only equal words
//! need a look at whole keys. Equal keys come in the order of the sources.

use std::fmt;
use std::ops::ControlFlow;

use eagre_mem::heap::{self, Refused};

use super::Order;
use super::ties::compare_keys;
use crate::records::{Format, Malformed};

/// A source of sorted records.
pub trait Source {
    /// Why it could not be refilled.
    type Error;

    /// The bytes that have not been consumed.
    fn bytes(&self) -> &[u8];

    /// These bytes at the front of [`bytes`](Self::bytes) are done with.
    fn consume(&mut self, bytes: usize);

    /// Adds bytes behind those that have not been consumed. False if there are no more.
    ///
    /// # Errors
    /// Those of the source.
    fn refill(&mut self) -> Result<bool, Self::Error>;
}

impl Source for &[u8] {
    type Error = std::convert::Infallible;

    fn bytes(&self) -> &[u8] {
        self
    }

    fn consume(&mut self, bytes: usize) {
        *self = &self[bytes..];
    }

    fn refill(&mut self) -> Result<bool, Self::Error> {
        Ok(false)
    }
}

/// Why a merge stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MergeError<E> {
    /// A source could not be refilled.
    Source {
        /// Its number.
        number: usize,
        /// Why.
        error: E,
    },
    /// The source with this number ends inside a record.
    Malformed(usize, Malformed),
    /// Memory is refused.
    Memory(Refused),
}

impl<E> From<Refused> for MergeError<E> {
    fn from(refused: Refused) -> MergeError<E> {
        MergeError::Memory(refused)
    }
}

impl<E: fmt::Display> fmt::Display for MergeError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MergeError::Source { number, error } => write!(f, "source {number}: {error}"),
            MergeError::Malformed(number, error) => write!(f, "source {number}: {error}"),
            MergeError::Memory(refused) => refused.fmt(f),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> std::error::Error for MergeError<E> {}

/// Merges sources of sorted records.
///
/// ```
/// use std::ops::ControlFlow;
/// use eagre::external::kernels::{Merge, Order};
/// use eagre::records::Lines;
///
/// let sources = vec![&b"a\nd\n"[..], b"b\n", b"", b"c\ne\n"];
/// let mut merged = Vec::new();
/// Merge::new(&Lines::default(), sources, Order::default())?.each(|record| {
///     merged.extend_from_slice(record);
///     ControlFlow::Continue(())
/// })?;
/// assert_eq!(merged, b"a\nb\nc\nd\ne\n");
/// # Ok::<(), eagre::external::kernels::MergeError<std::convert::Infallible>>(())
/// ```
pub struct Merge<'f, F, S> {
    format: &'f F,
    sources: Vec<S>,
    /// The length of the record at the head of each source. 0 if the source has ended.
    lengths: Vec<usize>,
    /// The losers. A match between nodes 2n and 2n + 1 is played at n; leaves follow the inner nodes.
    losers: Vec<Player>,
    winner: Player,
    order: Order,
    /// Whether equal words mean equal keys.
    whole: bool,
    scratch: (Vec<u8>, Vec<u8>),
}

#[derive(Clone, Copy, Debug)]
struct Player {
    /// The word of its record.
    word: u128,
    source: u32,
}

/// One of two players, without a jump.
#[inline(always)]
fn select(first: bool, a: Player, b: Player) -> Player {
    let mask = u128::from(first).wrapping_neg();
    let word = b.word ^ ((a.word ^ b.word) & mask);
    Player { word, source: b.source ^ ((a.source ^ b.source) & mask as u32) }
}

impl<'f, F: Format, S: Source> Merge<'f, F, S> {
    /// Prepares to merge.
    ///
    /// # Errors
    /// Those of filling the sources for the first time; memory is refused.
    pub fn new(format: &'f F, sources: Vec<S>, order: Order) -> Result<Self, MergeError<S::Error>> {
        let whole = format.key_size().is_some_and(|size| size <= 16);
        let none = Player { word: 0, source: 0 };
        let (lengths, losers) = (heap::filled(sources.len(), 0)?, heap::filled(sources.len(), none)?);
        let mut merge =
            Merge { format, sources, lengths, losers, winner: none, order, whole, scratch: Default::default() };
        if !merge.sources.is_empty() {
            merge.play_all()?;
        }
        Ok(merge)
    }

    /// Plays all matches.
    fn play_all(&mut self) -> Result<(), MergeError<S::Error>> {
        let count = self.sources.len();
        let mut winners = heap::filled(2 * count, Player { word: 0, source: 0 })?;
        for source in 0..count {
            winners[count + source] = self.load(source)?;
        }
        for node in (1..count).rev() {
            let (a, b) = (winners[2 * node], winners[2 * node + 1]);
            let first = self.is_before(a, b);
            (winners[node], self.losers[node]) = if first { (a, b) } else { (b, a) };
        }
        self.winner = winners[1];
        Ok(())
    }

    /// Looks at the record at the head of a source.
    fn load(&mut self, number: usize) -> Result<Player, MergeError<S::Error>> {
        let source = &mut self.sources[number];
        let mut last = false;
        loop {
            let bytes = source.bytes();
            if !bytes.is_empty() {
                let length = self.format.length(bytes, last).map_err(|why| MergeError::Malformed(number, why))?;
                if let Some(length) = length {
                    let word = self.order.turn(self.format.prefix(&bytes[..length], &mut self.scratch.0));
                    self.lengths[number] = length;
                    return Ok(Player { word, source: number as u32 });
                }
            } else if last {
                self.lengths[number] = 0;
                return Ok(Player { word: u128::MAX, source: number as u32 });
            }
            last = !source.refill().map_err(|error| MergeError::Source { number, error })?;
        }
    }

    #[inline]
    fn is_before(&mut self, a: Player, b: Player) -> bool {
        if a.word == b.word { self.is_before_by_key(a, b) } else { a.word < b.word }
    }

    #[inline(never)]
    fn is_before_by_key(&mut self, a: Player, b: Player) -> bool {
        let (first, second) = (a.source as usize, b.source as usize);
        match (self.lengths[first], self.lengths[second]) {
            (0, _) => false,
            (_, 0) => true,
            _ if self.whole => first < second,
            (length_a, length_b) => {
                let records = (&self.sources[first].bytes()[..length_a], &self.sources[second].bytes()[..length_b]);
                let by_key = compare_keys(self.format, records, &mut self.scratch);
                self.order.of(by_key).then(first.cmp(&second)).is_lt()
            }
        }
    }

    /// The next record. `None` when all sources have ended.
    #[must_use]
    #[inline]
    pub fn record(&self) -> Option<&[u8]> {
        let source = self.winner.source as usize;
        let length = *self.lengths.get(source)?;
        (length > 0).then(|| &self.sources[source].bytes()[..length])
    }

    /// The first 16 bytes of the key of [`record`](Self::record), turned so that they ascend.
    #[inline]
    pub(crate) fn word(&self) -> u128 {
        self.winner.word
    }

    /// Goes on to the record behind [`record`](Self::record).
    ///
    /// # Errors
    /// Those of refilling its source.
    #[inline]
    pub fn advance(&mut self) -> Result<(), MergeError<S::Error>> {
        let source = self.winner.source as usize;
        self.sources[source].consume(self.lengths[source]);
        let mut player = self.load(source)?;
        let mut node = (self.sources.len() + source) / 2;
        while node > 0 {
            let loser = self.losers[node];
            let before =
                if loser.word == player.word { self.is_before_by_key(loser, player) } else { loser.word < player.word };
            // Which of them wins cannot be predicted, so nothing may depend on a jump.
            (self.losers[node], player) = (select(before, player, loser), select(before, loser, player));
            node /= 2;
        }
        self.winner = player;
        Ok(())
    }

    /// Calls `each` with all records in order, or until it breaks. Then what is left of the sources is returned.
    ///
    /// # Errors
    /// Those of refilling sources.
    pub fn each(mut self, mut each: impl FnMut(&[u8]) -> ControlFlow<()>) -> Result<Vec<S>, MergeError<S::Error>> {
        while let Some(record) = self.record() {
            if each(record).is_break() {
                break;
            }
            self.advance()?;
        }
        Ok(self.sources)
    }
}

impl<F, S> fmt::Debug for Merge<'_, F, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Merge").field("sources", &self.sources.len()).finish_non_exhaustive()
    }
}
