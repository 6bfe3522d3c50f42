//! How to sort: threads, vector instructions, memory, a progress hook.

use std::ops::ControlFlow;

use eagre_mem::{heap, threads};

use super::counting::{self, Window};
use super::kernels::narrow::Narrowed;
use super::kernels::presorted;
use super::kernels::scratch::Scratch;
use super::kernels::{Level, Word, two};
use super::order::SortOrder;
use super::progress::{Hook, Monitor, Progress, STEP, WHOLE};
use super::range::{self, Lack, Sorting};
use super::{Key, SortError, compare};
use super::{base_case, parts, worker};
use crate::scan::kernels::Simd;

/// How much memory beside the keys is allowed, unless an eighth of the keys is more.
const DEFAULT_SLACK: usize = 64 << 20;

/// From so many words on it pays to look whether they are easy to sort.
const FACTS: usize = 128;

/// Numbers of fewer bytes are sorted by vectors in less time than they are merged.
const MERGED: usize = 4 << 10;

/// Fewer words that fit the lanes of vectors are sorted in less time than they are packed.
const PACKED: usize = 2048;

/// Up to so many numbers of 16 bits are sorted as numbers of 32 bits, for which there are vectors. To count more takes less time.
const WIDENED: usize = 1 << 17;

/// Options of a sort, and the ways to sort.
///
/// If a method fails, or a function of the caller panics, the slice still holds the same elements, in some order.
/// Results do not depend on the number of threads.
#[derive(Clone, Copy, Debug)]
pub struct Sorter<'a> {
    /// An error if the processor does not have what was asked for. Every sort returns it.
    pub(super) level: Result<Level, SortError>,
    /// The most threads; 0 means as many as the process may use.
    pub(super) threads: usize,
    pub(super) slack: Option<usize>,
    pub(super) hook: Option<Hook<'a>>,
    pub(super) order: SortOrder,
}

impl Default for Sorter<'_> {
    fn default() -> Self {
        Sorter::new()
    }
}

impl<'a> Sorter<'a> {
    /// Uses as many threads as the process may use, the best vector instructions of the processor or those that
    /// `EAGRE_SIMD` names, and as much memory beside the keys as [`Sorter::slack`] says.
    pub fn new() -> Sorter<'a> {
        Sorter {
            level: Level::chosen().map_err(|_| SortError::Environment),
            threads: 0,
            slack: None,
            hook: None,
            order: SortOrder::default(),
        }
    }

    /// The same, but ignores `EAGRE_SIMD` if it is set to a value that cannot be had.
    pub(crate) fn lenient() -> Sorter<'a> {
        let sorter = Sorter::new();
        Sorter { level: sorter.level.or_else(|_| Ok(Level::best())), ..sorter }
    }

    /// Uses at most so many threads. 0, the default, means as many as the process may use.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Uses these vector instructions, whatever `EAGRE_SIMD` says. If the processor does not have them, every sort
    /// returns [`SortError::Simd`]. The sort has no code of its own for NEON: what the compiler makes of portable code
    /// is used.
    pub fn simd(mut self, simd: Simd) -> Self {
        self.level = if simd.is_available() { Ok(Level::up_to(simd)) } else { Err(SortError::Simd) };
        self
    }

    /// Takes at most so many bytes of memory beside the keys and the threads' stacks, of which a MiB each is enough.
    /// The default is an eighth of the keys' own memory, or 64 MiB if that is more.
    ///
    /// Whatever is allowed, a sort takes at most 11 MiB for each thread and 0.6 % of the keys' memory. Of these, it
    /// touches 8 MiB only for keys that are far from random. With too little memory for all threads it uses fewer. With
    /// less than 1.7 MiB and 0.6 % of the keys' memory, it sorts more than 8 MiB of keys by comparing, which is slower.
    pub fn slack(mut self, bytes: usize) -> Self {
        self.slack = Some(bytes);
        self
    }

    /// Calls `hook` every few MiB of work with the progress of the sort, and once more at the end if all went well. The
    /// sort ends if the answer is [`ControlFlow::Break`]. Passes that count keys, pack or reverse them or find them in order
    /// are not interrupted.
    ///
    /// Any thread of the sort may call, one at a time. If the hook panics, the sort ends as if cancelled, and the panic
    /// goes on in the caller.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use eagre::sort::{SortError, Sorter};
    ///
    /// let mut numbers: Vec<u64> = (0..3_000_000).map(|i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    /// let stop = |_| ControlFlow::Break(());
    /// assert_eq!(Sorter::new().progress(&stop).sort(&mut numbers), Err(SortError::Cancelled));
    ///
    /// let show = |progress: eagre::sort::Progress| {
    ///     eprint!("\r{} of {}", progress.done, progress.total);
    ///     ControlFlow::Continue(())
    /// };
    /// assert_eq!(Sorter::new().progress(&show).sort(&mut numbers), Ok(()));
    /// assert!(numbers.is_sorted());
    /// ```
    pub fn progress<'b>(self, hook: &'b (dyn Fn(Progress) -> ControlFlow<()> + Sync)) -> Sorter<'b> {
        Sorter {
            level: self.level,
            threads: self.threads,
            slack: self.slack,
            hook: Some(Hook { call: hook, step: STEP }),
            order: self.order,
        }
    }

    /// Sorts in descending order. Stable sorts keep the order of elements with equal keys. [`Sorter::smallest`] and
    /// [`Sorter::largest`] are what their names say, whatever this says.
    ///
    /// ```
    /// let mut numbers = [3u64, 1, 2];
    /// eagre::sort::Sorter::new().descending(true).sort(&mut numbers)?;
    /// assert_eq!(numbers, [3, 2, 1]);
    /// # Ok::<(), eagre::sort::SortError>(())
    /// ```
    pub fn descending(mut self, descending: bool) -> Self {
        self.order.descending = descending;
        self
    }

    /// Puts every NaN behind all numbers, in ascending and in descending order, as NumPy and databases do. Then -0.0 equals
    /// 0.0, and NaN equals NaN: stable sorts keep their order, and other sorts bring them in any order. Without this,
    /// floating-point numbers are in their [total order](f64::total_cmp). For other keys it says nothing.
    ///
    /// ```
    /// let mut numbers = [1.0, -f64::NAN, -1.0];
    /// eagre::sort::Sorter::new().nan_last(true).sort(&mut numbers)?;
    /// assert!(numbers[..2] == [-1.0, 1.0] && numbers[2].is_nan());
    /// # Ok::<(), eagre::sort::SortError>(())
    /// ```
    pub fn nan_last(mut self, last: bool) -> Self {
        self.order.nan_last = last;
        self
    }

    /// Sorts in place, in ascending order if nothing else was [said](Sorter::descending).
    ///
    /// # Errors
    /// - [`SortError::Memory`] if the system refuses memory. The sort asks for memory at the beginning, within
    ///   [`Sorter::slack`], so the slice is as it was, except that [NaN](Sorter::nan_last) may be at its end already.
    /// - [`SortError::Cancelled`] if the [hook](Sorter::progress) says so.
    /// - [`SortError::Simd`] or [`SortError::Environment`] if the processor does not have the vector instructions asked
    ///   for; the slice is as it was.
    pub fn sort<K: Key>(&self, keys: &mut [K]) -> Result<(), SortError> {
        let numbers = self.order.begin(self.level?, keys);
        let keys = &mut keys[..numbers];
        self.sort_words(keys)?;
        self.order.finish(keys, self.team_for(keys));
        Ok(())
    }

    /// [`Sorter::sort`] for all words.
    pub(super) fn sort_words<W: Word>(&self, words: &mut [W]) -> Result<(), SortError> {
        if words.len() >= FACTS {
            if self.is_easy(words)? {
                return if self.hook.is_some() { self.sort_watched(words, true) } else { Ok(()) };
            }
            match self.narrowed(words)? {
                Some(Narrowed::To32(mut packed)) => return self.sort_words(packed.halves()),
                Some(Narrowed::To64(mut packed)) => return self.sort_words(packed.halves()),
                None => {}
            }
            if self.sort_widened(words)? {
                return Ok(());
            }
        }
        let sorted = base_case::small(self.level?, words);
        if sorted && self.hook.is_none() {
            return Ok(());
        }
        self.sort_watched(words, sorted)
    }

    /// Sorts words if that is easy.
    fn is_easy<W: Word>(&self, words: &mut [W]) -> Result<bool, SortError> {
        let level = self.level?;
        if !W::STABLE && two::sort(level, words) {
            return Ok(true);
        }
        if presorted::may_be_in_order(words)
            && (range::in_order(level, words, self.team_for(words)) || self.finish_order(words)?)
        {
            return Ok(true);
        }
        let slack = self.slack_for(size_of_val(words));
        // With a hook, they are counted later.
        if W::KEY_BITS <= u16::BITS || self.hook.is_some() {
            return Ok(false);
        }
        let Some(window) = Window::of(level, words).filter(|window| window.fits(slack)) else { return Ok(false) };
        let silence = Monitor::new(None, words.len(), size_of::<W>(), WHOLE);
        match counting::sort(level, words, window, self.team_for(words), slack, &silence) {
            // Nothing has moved, and other ways may need less.
            Err(SortError::Memory { .. }) => Ok(false),
            sorted => sorted.map(|()| true),
        }
    }

    /// Packs words if they can be packed, and if that is faster.
    fn narrowed<'w, W: Word>(&self, words: &'w mut [W]) -> Result<Option<Narrowed<'w>>, SortError> {
        let level = self.level?;
        let pays = words.len() >= PACKED || W::KEY_BITS > u64::BITS || !base_case::compares_fast::<W>(level);
        Ok(if pays { W::narrowed(level, words) } else { None })
    }

    /// Sorts numbers of 16 bits, and not pairs with such keys, if there are vectors for it, and memory.
    fn sort_widened<W: Word>(&self, words: &mut [W]) -> Result<bool, SortError> {
        let level = self.level?;
        let fits = W::KEY_BITS == u16::BITS && W::of_short_key(0).is_some() && words.len() <= WIDENED;
        let pays = base_case::compares_fast::<u32>(level) && self.hook.is_none();
        let left = self.slack_for(size_of_val(words)).checked_sub(words.len() * size_of::<u32>());
        let Some(left) = left.filter(|_| fits && pays) else { return Ok(false) };
        let Ok(mut wide) = heap::list::<u32>(words.len()) else { return Ok(false) };
        // Over the whole range, where they look like any other numbers of 32 bits.
        level.run(|| wide.extend(words.iter().map(|word| word.digit(0) << u16::BITS)));
        self.slack(left).sort_words(&mut wide[..])?;
        level.run(|| {
            for (word, key) in words.iter_mut().zip(&wide) {
                *word = W::of_short_key((key >> u16::BITS) as u16).unwrap_or(*word);
            }
        });
        Ok(true)
    }

    /// Sorts words of which most are in order already, or which ascend first and descend then. Returns false, with all but
    /// the order the same, if they are not so, or if there is no memory.
    fn finish_order<W: Word>(&self, words: &mut [W]) -> Result<bool, SortError> {
        let level = self.level?;
        let pays = size_of_val(words) >= MERGED || W::KEY_BITS > u64::BITS || !base_case::compares_fast::<W>(level);
        if !pays || self.hook.is_some() {
            return Ok(false);
        }
        let n = words.len();
        let least = n / 8 * 3;
        let front = presorted::ascending(level, words, least);
        let bytes = front.min(n - front) * size_of::<W>();
        if front < least || bytes > self.slack_for(size_of_val(words)).min(worker::MOST_BYTES) {
            return Ok(false);
        }
        let Some(mut room) = Scratch::<W>::new(front.min(n - front)) else { return Ok(false) };
        let back = &mut words[front..];
        if !range::in_order(level, back, 1) {
            if front < n / 4 * 3 {
                return Ok(false);
            }
            self.sort_words(back)?;
        }
        W::merge(level, words, front, &mut room);
        Ok(true)
    }

    /// A function of its own: to set up a monitor takes longer than to sort a few words.
    #[inline(never)]
    fn sort_watched<W: Word>(&self, words: &mut [W], sorted: bool) -> Result<(), SortError> {
        let monitor = Monitor::new(self.hook, words.len(), size_of::<W>(), WHOLE);
        if !sorted {
            self.sort_many(words, &monitor)?;
        }
        monitor.end()
    }

    /// Sorts words as a part of a larger task.
    pub(super) fn sort_monitored<W: Word>(&self, words: &mut [W], monitor: &Monitor<'_>) -> Result<(), SortError> {
        if words.len() >= FACTS {
            if self.is_easy(words)? {
                return monitor.check();
            }
            match self.narrowed(words)? {
                Some(Narrowed::To32(mut packed)) => return self.sort_monitored(packed.halves(), monitor),
                Some(Narrowed::To64(mut packed)) => return self.sort_monitored(packed.halves(), monitor),
                None => {}
            }
        }
        if base_case::small(self.level?, words) {
            return Ok(());
        }
        self.sort_many(words, monitor)
    }

    /// Sorts more words than [`base_case::small`] takes.
    fn sort_many<W: Word>(&self, words: &mut [W], monitor: &Monitor<'_>) -> Result<(), SortError> {
        let level = self.level?;
        let threads = self.team_for(words);
        let slack = self.slack_for(size_of_val(words));
        // Without a hook, it was looked for before.
        let watched = self.hook.is_some();
        let close = || watched.then(|| Window::of(level, words)).flatten().filter(|window| window.fits(slack));
        if let Some(window) = Window::of_all().or_else(close) {
            return counting::sort(level, words, window, threads, slack, monitor);
        }
        let fewer = std::iter::successors(Some(threads), |&threads| (threads > 1).then_some(threads / 2));
        let mut lack = Lack::Slack;
        for threads in fewer {
            match Sorting::new(level, words.len(), threads, slack) {
                Ok(mut sorting) => {
                    sorting.sort(words, monitor);
                    return monitor.check();
                }
                Err(with_these) => lack = with_these,
            }
        }
        match lack {
            Lack::Memory(bytes) => Err(SortError::Memory { bytes }),
            Lack::Slack => {
                compare::sort(words, monitor.reporter(WHOLE));
                monitor.check()
            }
        }
    }

    /// The most memory to take beside so many bytes of keys.
    pub(super) fn slack_for(&self, bytes: usize) -> usize {
        self.slack.unwrap_or((bytes / 8).max(DEFAULT_SLACK))
    }

    /// The most threads to use for these words: one if they are too few for two.
    fn team_for<W>(&self, words: &[W]) -> usize {
        if size_of_val(words) < 2 * parts::PART_BYTES { 1 } else { self.team_size(words.len()) }
    }

    /// The most threads to use for so many words.
    pub(crate) fn team_size(&self, len: usize) -> usize {
        // To ask the system takes longer than to sort a few words.
        match self.threads {
            _ if len <= worker::ALONE => 1,
            0 => threads::available().get(),
            threads => threads,
        }
    }
}
