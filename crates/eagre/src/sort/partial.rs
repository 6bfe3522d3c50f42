//! Partial sorting: the `k` smallest or largest of many keys.
//!
//! A sample gives a threshold just beyond the `k`-th key. One pass moves the keys on the near side of it to the front,
//! and the rest is not read again. This repeats with the front, until sorting it is cheaper. If a threshold keeps too
//! many keys, the selection of the standard library takes over, whose worst case is linear.
//!
//! Threads filter stripes of a fixed size one by one. The kept keys are collected in the order of the stripes, so the
//! result does not depend on the number of threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use eagre_mem::heap;

use super::kernels::Level;
use super::kernels::filter::{Side, filter};
use super::progress::{Monitor, Reporter, WHOLE};
use super::{Key, SortError, Sorter, parts, team};

/// The size of the sample: one of [`RATE`] keys, at most so many.
const SAMPLE: usize = 1024;
const RATE: usize = 32;
/// Fewer keys are sorted as a whole.
const FEW: usize = 1024;
/// The keys of a stripe.
const STRIPE: usize = 1 << 17;

impl Sorter<'_> {
    /// Brings the `k` smallest keys to the front, in ascending order. The others follow in any order. With fewer than
    /// `k` keys, sorts them all.
    ///
    /// # Errors
    /// Those of [`Sorter::sort`].
    ///
    /// ```
    /// let mut numbers = [5u64, 1, 4, 2, 3];
    /// eagre::sort::Sorter::new().smallest(&mut numbers, 2)?;
    /// assert_eq!(numbers[..2], [1, 2]);
    /// # Ok::<(), eagre::sort::SortError>(())
    /// ```
    pub fn smallest<K: Key>(&self, keys: &mut [K], k: usize) -> Result<(), SortError> {
        self.partial(keys, k, End::Smallest)
    }

    /// Brings the `k` largest keys to the front, in descending order. The others follow in any order. With fewer than
    /// `k` keys, sorts them all.
    ///
    /// # Errors
    /// Those of [`Sorter::sort`].
    ///
    /// ```
    /// let mut numbers = [5u64, 1, 4, 2, 3];
    /// eagre::sort::Sorter::new().largest(&mut numbers, 2)?;
    /// assert_eq!(numbers[..2], [5, 4]);
    /// # Ok::<(), eagre::sort::SortError>(())
    /// ```
    pub fn largest<K: Key>(&self, keys: &mut [K], k: usize) -> Result<(), SortError> {
        self.partial(keys, k, End::Largest)
    }

    fn partial<K: Key>(&self, keys: &mut [K], k: usize, end: End) -> Result<(), SortError> {
        let numbers = self.order.begin(self.level?, keys);
        let keys = &mut keys[..numbers];
        let monitor = Monitor::new(self.hook, keys.len(), size_of::<K>(), WHOLE);
        let most = self.gather(keys, k.min(keys.len()), end, &monitor)?;
        monitor.check()?;
        self.sort_monitored(&mut keys[..most], &monitor)?;
        if end == End::Largest {
            keys[..most].reverse();
        }
        monitor.end()
    }

    /// Moves the first `k` keys from that end to the front, in any order, and perhaps a few more that come next.
    /// Returns how many it moved. Ends early if the hook says so.
    fn gather<K: Key>(&self, keys: &mut [K], k: usize, end: End, monitor: &Monitor<'_>) -> Result<usize, SortError> {
        let level = self.level?;
        // Keys before `from` are among the first `k`, and all of those are before `to`.
        let (mut from, mut to) = (0, keys.len());
        let mut progress = monitor.reporter(WHOLE / 2);
        while k > from && to - from > FEW && k - from <= (to - from) / 2 {
            let (keys, k) = (&mut keys[from..to], k - from);
            let n = keys.len();
            let threshold = threshold(level, keys, k, end);
            let (within, strictly) = end.sides();
            let Some(mut kept) = self.filter(keys, threshold, within, progress)? else { return Ok(to) };
            progress = progress.without_worth();
            if kept > n - n / 4 {
                // Many keys equal the threshold: those before it come first.
                let Some(before) = self.filter(&mut keys[..kept], threshold, strictly, progress)? else {
                    return Ok(to);
                };
                if before <= k {
                    return Ok(from + k);
                }
                kept = before;
            }
            match kept {
                // The sample misled: such keys are not filtered for long.
                _ if kept > n - n / 4 || kept < k && kept < n / 16 => {
                    end.select(keys, k);
                    return Ok(from + k);
                }
                _ if kept < k => from += kept,
                _ => to = from + kept,
            }
        }
        Ok(if k > from { to } else { k })
    }

    /// [`filter`] on all threads. Returns `None` if it ended early.
    fn filter<K: Key>(
        &self,
        keys: &mut [K],
        threshold: K,
        side: Side,
        progress: Reporter<'_>,
    ) -> Result<Option<usize>, SortError> {
        let level = self.level?;
        if keys.len() <= STRIPE {
            let kept = filter(level, keys, threshold, side);
            return Ok(progress.report(keys.len()).then_some(kept));
        }
        let threads = self.team_size(keys.len());
        let mut kept = heap::list(keys.len().div_ceil(STRIPE))?;
        kept.resize(kept.capacity(), 0);
        let stripe_count = kept.len();
        let stopped = AtomicBool::new(false);
        let stripes = Mutex::new(keys.chunks_mut(STRIPE).zip(&mut kept));
        let next = || stripes.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).next();
        let work = || {
            while let Some((stripe, kept)) = next() {
                *kept = filter(level, stripe, threshold, side);
                if !progress.report(stripe.len()) {
                    return stopped.store(true, Ordering::Relaxed);
                }
            }
        };
        team::run((0..threads.min(stripe_count)).map(|_| work));
        if stopped.into_inner() {
            return Ok(None);
        }
        let mut front = 0;
        for (i, kept) in kept.into_iter().enumerate() {
            let start = i * STRIPE;
            // The last kept keys of the stripe swap with keys that are not kept.
            let moved = kept.min(start - front);
            let (before, stripe) = keys.split_at_mut(start);
            before[front..front + moved].swap_with_slice(&mut stripe[kept - moved..kept]);
            front += kept;
        }
        Ok(Some(front))
    }
}

/// Estimates a key that a few more than the first `k` of many `keys` come before.
fn threshold<K: Key>(level: Level, keys: &[K], k: usize, end: End) -> K {
    let mut sample = [keys[0]; SAMPLE];
    let sample = &mut sample[..(keys.len() / RATE).min(SAMPLE)];
    parts::draw(level, keys, sample);
    // The expected rank of the k-th key in the sample, and three standard deviations more.
    let expected = sample.len() as f64 * (k as f64 / keys.len() as f64);
    let rank = ((expected + 3.0 * expected.sqrt()) as usize + 3).min(sample.len() - 1);
    sample[if end == End::Smallest { rank } else { sample.len() - 1 - rank }]
}

/// Which keys come first: the smallest or the largest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Smallest,
    Largest,
}

impl End {
    /// The sides of a threshold: with keys that equal it, and without.
    fn sides(self) -> (Side, Side) {
        match self {
            End::Smallest => (Side::UpTo, Side::Below),
            End::Largest => (Side::From, Side::Above),
        }
    }

    /// Moves the first `k` keys, at least one, to the front.
    fn select<K: Key>(self, keys: &mut [K], k: usize) {
        match self {
            End::Smallest => keys.select_nth_unstable_by_key(k - 1, |key| key.key()),
            End::Largest => keys.select_nth_unstable_by_key(k - 1, |key| !key.key()),
        };
    }
}
