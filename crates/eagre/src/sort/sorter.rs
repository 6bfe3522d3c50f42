//! How to sort: threads, vector instructions, memory, a progress hook.

use std::ops::ControlFlow;

use eagre_mem::threads;

use super::kernels::{Level, Word};
use super::progress::{Hook, Monitor, Progress, STEP, WHOLE};
use super::range::{self, Lack, Sorting};
use super::{Key, SortError, compare, counting};
use super::{base_case, worker};
use crate::scan::kernels::Simd;

/// So much memory beside the keys is allowed for all but the largest inputs.
const DEFAULT_SLACK: usize = 64 << 20;

/// How to sort.
///
/// Every method base cases the elements it was given in the slice, in whatever order, when it fails or a caller's function
/// panics. Results do not depend on the number of threads.
#[derive(Clone, Copy, Debug)]
pub struct Sorter<'a> {
    /// An error if the processor does not have what was asked for. Every sort returns it.
    pub(super) level: Result<Level, SortError>,
    /// At most so many; 0 for as many as the process may use.
    pub(super) threads: usize,
    pub(super) slack: Option<usize>,
    pub(super) hook: Option<Hook<'a>>,
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
        Sorter { level: Level::chosen().map_err(SortError::Environment), threads: 0, slack: None, hook: None }
    }

    /// The same, but ignores `EAGRE_SIMD` if it is set to a value that cannot be had.
    pub(super) fn lenient() -> Sorter<'a> {
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
        self.level = if simd.is_available() { Ok(Level::up_to(simd)) } else { Err(SortError::Simd(simd)) };
        self
    }

    /// Takes at most so many bytes of memory beside the keys and the threads' stacks, for which a MiB each is
    /// enough. By default an eighth of the keys' own memory, or 64 MiB if that is more; eleven MiB a thread and 0.6 %
    /// of the keys' memory are not exceeded whatever is allowed, and eight of them are only touched for keys that are
    /// far from random. With less than 1.7 MiB, and 0.6 % of the keys' memory, more than 8 MiB of keys are sorted by
    /// comparing, which is slower; with too little for all threads, by fewer.
    pub fn slack(mut self, bytes: usize) -> Self {
        self.slack = Some(bytes);
        self
    }

    /// Calls `hook` every few MiB of work, with how far the sort is, and goes on if the answer is to continue;
    /// and once more at the end, if all went well. Passes that count keys, turn them around or find them in order are
    /// not interrupted.
    ///
    /// Any thread of the sort may call, one at a time. If the hook panics the sort ends as if cancelled, and the panic
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
        }
    }

    /// Sorts in ascending order, in place.
    ///
    /// # Errors
    /// - [`SortError::Memory`] if the system refuses memory. The sort asks for memory at the beginning, within
    ///   [`Sorter::slack`], so the slice is as it was.
    /// - [`SortError::Cancelled`] if the [hook](Sorter::progress) says so.
    /// - [`SortError::Simd`] or [`SortError::Environment`] if the processor does not have the vector instructions asked
    ///   for; the slice is as it was.
    pub fn sort<K: Key>(&self, keys: &mut [K]) -> Result<(), SortError> {
        self.sort_words(keys)
    }

    /// The same for all words.
    pub(super) fn sort_words<W: Word>(&self, words: &mut [W]) -> Result<(), SortError> {
        let sorted = base_case::small(self.level?, words);
        if sorted && self.hook.is_none() {
            return Ok(());
        }
        self.sort_watched(words, sorted)
    }

    /// The rest of it: for a few words, to set up a monitor would take longer than to sort them.
    #[inline(never)]
    fn sort_watched<W: Word>(&self, words: &mut [W], sorted: bool) -> Result<(), SortError> {
        let monitor = Monitor::new(self.hook, words.len(), size_of::<W>(), WHOLE);
        if !sorted {
            self.sort_many(words, &monitor)?;
        }
        monitor.end()
    }

    /// The same as a part of more.
    pub(super) fn sort_monitored<W: Word>(&self, words: &mut [W], monitor: &Monitor<'_>) -> Result<(), SortError> {
        if base_case::small(self.level?, words) {
            return Ok(());
        }
        self.sort_many(words, monitor)
    }

    /// The same for more words than [`base_case::small`] takes.
    fn sort_many<W: Word>(&self, words: &mut [W], monitor: &Monitor<'_>) -> Result<(), SortError> {
        let level = self.level?;
        // To ask how many threads there may be is not worth it if there will be one.
        let threads = if size_of_val(words) < 2 * range::THREAD_BYTES { 1 } else { self.team_size(words.len()) };
        if range::in_order(level, words, threads) {
            return monitor.check();
        }
        let slack = self.slack_for(size_of_val(words));
        if let Some(from_key) = W::COUNTED {
            return counting::sort(words, from_key, threads, slack, monitor);
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

    /// How many bytes to use beside so many, at most.
    pub(super) fn slack_for(&self, bytes: usize) -> usize {
        self.slack.unwrap_or((bytes / 8).max(DEFAULT_SLACK))
    }

    /// How many threads to use for so many words, at most.
    pub(super) fn team_size(&self, len: usize) -> usize {
        // To ask the system takes longer than to sort a few.
        match self.threads {
            _ if len <= worker::ALONE => 1,
            0 => threads::available().get(),
            threads => threads,
        }
    }
}
