//! Merging sorted records: many at a time, by sorting.
//!
//! Each source has a window: the words of its next records. The least of the windows' last words is a bound. What is below it
//! in any window comes before all that is in none yet, so these words are sorted, and are the next records of the result.
//! At least one window is empty then, and gets the words behind it.
//!
//! ```text
//!             window
//! source 0:   |1 5 8 9|          bound: 6
//! source 1:   |2 3 4 6| 7 …      sorted: 1 2 3 4 5 6
//! source 2:   |3 7 8 8| 9 …
//! ```
//!
//! In a tree of losers (Knuth, TAOCP 3, 5.4.1) or a heap, each comparison waits for the one before, or is guessed wrong half of
//! the time. Sorting has no such chain. `eagre-bench external external-merge` compares it with a heap.
//!
//! A word has the first 12 bytes of a key, the number of its source, and that of its record in the window. So equal keys come
//! in the order of the sources. Keys that agree in all 12 bytes and have more are compared.

use std::fmt;
use std::ops::ControlFlow;

use eagre_mem::heap::{self, Refused};

use super::Order;
use super::prefetch::{prefetch, prefetch_record};
use super::ties::compare_keys;
use crate::records::{Format, Malformed};
use crate::sort::Sorter;

/// The most sources of a [`Merge`].
pub const MOST_SOURCES: usize = 1 << 16;
/// How many low bits of a word say where its record is: its source, and its number in the window.
const BITS: u32 = 32;
/// The most words of a window, and of all windows together.
const LARGEST: usize = 256;
const WORDS: usize = 16 << 10;
/// About how many bytes the records of all windows have, so that they stay in the second level cache, and how many those of
/// one may always have.
const BYTES: usize = 512 << 10;
const ENOUGH: usize = 16 << 10;
/// How many bytes of a source are fetched ahead, and how many records of a batch.
const AHEAD: usize = 2 << 10;
const NEXT: usize = 6;

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

/// Merges sources of sorted records. If one is not sorted, all of its records come out nevertheless, in some order.
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
    windows: Vec<Window>,
    /// The words of all windows, so many for each.
    words: Vec<u128>,
    width: usize,
    /// Where their records begin, in the bytes of their source. Empty if all records have one size.
    starts: Vec<u32>,
    /// The size of all records, if they have one.
    size: Option<usize>,
    /// The words of the next records of the result, of which those before `at` have been taken.
    batch: Vec<u128>,
    at: usize,
    order: Order,
    /// Whether equal words mean equal keys.
    whole: bool,
    scratch: (Vec<u8>, Vec<u8>),
}

/// The next records of a source.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    /// The words from `next` to `end` are in no batch yet.
    next: usize,
    end: usize,
    /// How many bytes of the source its records have.
    bytes: usize,
    /// Nothing follows.
    last: bool,
}

/// The bits of a word that belong to the key.
#[inline]
fn key_bits(word: u128) -> u128 {
    word >> BITS << BITS
}

/// The source of a word, and the number of its record.
#[inline]
fn place(word: u128) -> (usize, usize) {
    ((word >> 16) as usize & 0xffff, word as usize & 0xffff)
}

impl<'f, F: Format, S: Source> Merge<'f, F, S> {
    /// Prepares to merge.
    ///
    /// # Errors
    /// Those of filling the sources for the first time; memory is refused.
    ///
    /// # Panics
    /// There are more than [`MOST_SOURCES`] sources.
    pub fn new(format: &'f F, sources: Vec<S>, order: Order) -> Result<Self, MergeError<S::Error>> {
        let count = sources.len();
        assert!(count <= MOST_SOURCES, "there are at most {MOST_SOURCES} sources");
        let width = (WORDS / count.max(1)).clamp(16, LARGEST);
        let (size, whole) = (format.record_size(), format.key_size().is_some_and(|size| size <= 12));
        let mut merge = Merge {
            format,
            sources,
            windows: heap::filled(count, Window::default())?,
            words: heap::filled(count * width, 0)?,
            width,
            starts: heap::filled(if size.is_some() { 0 } else { count * width }, 0)?,
            size,
            batch: heap::list(count * width)?,
            at: 0,
            order,
            whole,
            scratch: Default::default(),
        };
        merge.next_batch()?;
        Ok(merge)
    }

    /// Makes the next batch, which is empty if all sources have ended.
    #[inline(never)]
    fn next_batch(&mut self) -> Result<(), MergeError<S::Error>> {
        self.batch.clear();
        self.at = 0;
        let mut bound = None;
        for source in 0..self.sources.len() {
            if self.windows[source].next == self.windows[source].end {
                self.load(source)?;
            }
            let Some(&last) = self.window(source).last() else { continue };
            bound = Some(bound.map_or(last, |bound: u128| bound.min(last)));
        }
        let Some(bound) = bound else { return Ok(()) };
        // Behind the bound there may be others with its 12 bytes, and which comes first is not known.
        let below = if self.whole { bound } else { key_bits(bound).wrapping_sub(1) };
        if self.whole || key_bits(bound) > 0 {
            self.take_up_to(below);
        }
        if self.batch.is_empty() { self.take_tied() } else { Ok(()) }
    }

    /// Moves the words up to `bound` to the batch.
    fn take_up_to(&mut self, bound: u128) {
        let mut taken_from = 0;
        for source in 0..self.sources.len() {
            let start = source * self.width;
            let window = &mut self.windows[source];
            let words = &self.words[start + window.next..start + window.end];
            let count = words.partition_point(|&word| word <= bound);
            self.batch.extend_from_slice(&words[..count]);
            window.next += count;
            taken_from += usize::from(count > 0);
        }
        if taken_from > 1 {
            if Sorter::lenient().threads(1).sort(&mut self.batch).is_err() {
                self.batch.sort_unstable();
            }
            if !self.whole {
                self.resolve_ties();
            }
        }
    }

    /// Puts words of the batch in order whose keys agree in 12 bytes.
    fn resolve_ties(&mut self) {
        let mut batch = std::mem::take(&mut self.batch);
        let mut scratch = std::mem::take(&mut self.scratch);
        for tied in batch.chunk_by_mut(|&a, &b| key_bits(a) == key_bits(b)) {
            if tied.len() > 1 {
                tied.sort_unstable_by(|&a, &b| self.compare(a, b, &mut scratch));
            }
        }
        (self.batch, self.scratch) = (batch, scratch);
    }

    /// Puts the words with the least key bits into the batch one by one, until a window is empty or there are no more of them.
    /// There is one at least, even if a source is not sorted.
    fn take_tied(&mut self) -> Result<(), MergeError<S::Error>> {
        let heads = || (0..self.sources.len()).filter_map(|source| self.window(source).first().copied());
        let bits = heads().map(key_bits).min().unwrap_or(0);
        let mut tied: Vec<u128> = heap::list(self.sources.len())?;
        tied.extend(heads().filter(|&word| key_bits(word) == bits));
        let mut scratch = std::mem::take(&mut self.scratch);
        tied.sort_unstable_by(|&a, &b| self.compare(b, a, &mut scratch));
        while let Some(least) = tied.pop() {
            self.batch.push(least);
            let (source, _) = place(least);
            self.windows[source].next += 1;
            let Some(&next) = self.window(source).first() else { break };
            if key_bits(next) == bits {
                let behind = tied.partition_point(|&other| self.compare(other, next, &mut scratch).is_gt());
                tied.insert(behind, next);
            }
        }
        self.scratch = scratch;
        Ok(())
    }

    /// How the records of two words compare that agree in their key bits.
    fn compare(&self, a: u128, b: u128, scratch: &mut (Vec<u8>, Vec<u8>)) -> std::cmp::Ordering {
        let by_key = compare_keys(self.format, (self.record_of(a), self.record_of(b)), scratch);
        self.order.of(by_key).then(a.cmp(&b))
    }

    /// The words of a source that are in no batch yet.
    #[inline]
    fn window(&self, source: usize) -> &[u128] {
        let Window { next, end, .. } = self.windows[source];
        &self.words[source * self.width..][next..end]
    }

    /// Gives a source the words of its next records.
    fn load(&mut self, number: usize) -> Result<(), MergeError<S::Error>> {
        let (window, source) = (&mut self.windows[number], &mut self.sources[number]);
        source.consume(std::mem::take(&mut window.bytes));
        (window.next, window.end) = (0, 0);
        let first = number * self.width;
        let most = (BYTES / self.windows.len()).max(ENOUGH);
        loop {
            let window = &mut self.windows[number];
            let bytes = source.bytes();
            let mut at = 0;
            while window.end < self.width && at < bytes.len() && (window.end == 0 || at < most) {
                let rest = &bytes[at..];
                prefetch(bytes, at + AHEAD);
                let length = match self.format.length(rest, window.last) {
                    Ok(Some(length)) => length,
                    Ok(None) => break,
                    Err(why) if window.end == 0 => return Err(MergeError::Malformed(number, why)),
                    // It is told when all before it have been taken.
                    Err(_) => break,
                };
                let prefix = self.order.turn(self.format.prefix(&rest[..length], &mut self.scratch.0));
                self.words[first + window.end] = key_bits(prefix) | ((number << 16) | window.end) as u128;
                if self.size.is_none() {
                    self.starts[first + window.end] = at as u32;
                }
                window.end += 1;
                at += length;
            }
            window.bytes = at;
            if window.end > 0 || window.last {
                return Ok(());
            }
            window.last = !source.refill().map_err(|error| MergeError::Source { number, error })?;
        }
    }

    #[inline]
    fn record_of(&self, word: u128) -> &[u8] {
        let (source, number) = place(word);
        let bytes = self.sources[source].bytes();
        if let Some(size) = self.size {
            return &bytes[number * size..][..size];
        }
        let starts = &self.starts[source * self.width..];
        let window = &self.windows[source];
        let end = if number + 1 < window.end { starts[number + 1] as usize } else { window.bytes };
        &bytes[starts[number] as usize..end]
    }

    /// The next record. `None` when all sources have ended.
    #[must_use]
    #[inline]
    pub fn record(&self) -> Option<&[u8]> {
        Some(self.record_of(*self.batch.get(self.at)?))
    }

    /// Whether the key of [`record`](Self::record) comes before `key`, whose word is [`word_of`](Self::word_of) it.
    #[inline]
    pub(crate) fn is_before(&mut self, word: u128, key: &[u8]) -> bool {
        let Some(&own) = self.batch.get(self.at) else { return false };
        let bits = key_bits(own);
        if bits != word {
            return bits < word;
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        let by_key = self.format.key(self.record_of(own), &mut scratch.0).cmp(key);
        self.scratch = scratch;
        self.order.of(by_key).is_lt()
    }

    /// The word of a key that records are compared with.
    pub(crate) fn word_of(&self, key: &[u8]) -> u128 {
        key_bits(self.order.turn(crate::records::word(key, 0)))
    }

    /// Goes on to the record behind [`record`](Self::record).
    ///
    /// # Errors
    /// Those of refilling sources.
    #[inline]
    pub fn advance(&mut self) -> Result<(), MergeError<S::Error>> {
        self.at += 1;
        if let Some(&soon) = self.batch.get(self.at + NEXT) {
            let (source, _) = place(soon);
            prefetch_record(self.sources[source].bytes(), self.start_of(soon), self.size);
        }
        if self.at < self.batch.len() { Ok(()) } else { self.next_batch() }
    }

    /// Calls `each` with all records in order, or until it breaks. Then what is left of the sources is returned, with the
    /// record it broke at.
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
        Ok(self.into_sources())
    }

    /// The sources, without the records that were taken.
    fn into_sources(mut self) -> Vec<S> {
        // What was not taken of the batch goes back to the windows. The words of each source are in order.
        for &word in self.batch.get(self.at..).unwrap_or_default().iter().rev() {
            let (source, number) = place(word);
            self.windows[source].next = number;
        }
        for number in 0..self.sources.len() {
            let taken = match self.window(number).first() {
                Some(&word) => self.start_of(word),
                None => self.windows[number].bytes,
            };
            self.sources[number].consume(taken);
        }
        self.sources
    }

    /// Where the record of a word begins in its source.
    #[inline]
    fn start_of(&self, word: u128) -> usize {
        let (source, number) = place(word);
        self.size.map_or_else(|| self.starts[source * self.width + number] as usize, |size| number * size)
    }
}

impl<F, S> fmt::Debug for Merge<'_, F, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Merge").field("sources", &self.sources.len()).finish_non_exhaustive()
    }
}
