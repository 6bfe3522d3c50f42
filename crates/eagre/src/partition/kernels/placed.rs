//! Buckets of known length, side by side in one piece of memory: for items that may be read twice.

use super::classify::Classify;
use super::scatter::{Lane, NoMemory, Scatter, Shape, Sink};
use super::stream::LINE;
use super::view::Filled;
use crate::partition::{Keyed, PartitionError};
use crate::sort::team;
use eagre_mem::{NotAppended, Pool, RewiredVec, heap};
use std::mem::MaybeUninit;
use std::sync::{Mutex, PoisonError};

/// Partitions by counting first: each of so many threads counts a stripe of the items, and then takes it to its places.
pub(crate) fn counted<T: Keyed, C: Classify>(
    items: &[T],
    classify: &C,
    threads: usize,
    pool: &Pool,
) -> Result<Filled<T>, PartitionError> {
    let mut memory = RewiredVec::<MaybeUninit<u8>>::with_limit(pool, size_of_val(items))?;
    while memory.len() < size_of_val(items) {
        memory.append_block(pool.take_raw()?).map_err(|NotAppended { error, .. }| error)?;
    }
    let stripes = || items.chunks(items.len().div_ceil(threads).max(1));
    let ways = classify.ways();
    // Of each stripe the count of each bucket, then where it begins and ends.
    let mut counts = heap::filled(stripes().len() * ways, 0)?;
    let mut shares = heap::filled(counts.len(), (0, 0))?;
    team::run(stripes().zip(counts.chunks_mut(ways)).map(|(stripe, counts)| move || count(stripe, classify, counts)));
    let (mut at, mut buckets) = (0, heap::list(ways)?);
    for bucket in 0..ways {
        let start = at;
        for (share, count) in shares.iter_mut().zip(&counts).skip(bucket).step_by(ways) {
            *share = (at, at + count);
            at += count;
        }
        buckets.push((start * size_of::<T>(), at - start));
    }
    assert_eq!(at, items.len());
    let target = Target(memory.as_mut_ptr().cast());
    let failure = Mutex::new(None);
    let (failed, jobs) = (&failure, stripes().zip(shares.chunks(ways)));
    team::run(jobs.map(|(stripe, share)| {
        move || {
            // SAFETY: the shares are apart and lie within the memory, which nobody else touches.
            if let Err(error) = unsafe { scatter_into(stripe, classify, share, target) } {
                *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            }
        }
    }));
    if let Some(error) = failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    // SAFETY: every share is full, and they fill the buckets.
    Ok(unsafe { Filled::new(memory, buckets) })
}

/// Counts the items of each bucket.
fn count<T: Keyed, C: Classify>(items: &[T], classify: &C, counts: &mut [usize]) {
    assert_eq!(counts.len(), classify.ways());
    for item in items {
        // SAFETY: a classifier gives no number of `ways` or more.
        *unsafe { counts.get_unchecked_mut(classify.bucket(item)) } += 1;
    }
}

/// Memory that several threads write, each its own share.
#[derive(Clone, Copy)]
struct Target(*mut u8);

// SAFETY: `scatter_into`, which alone uses it, writes within shares only.
unsafe impl Send for Target {}
// SAFETY: as above.
unsafe impl Sync for Target {}

/// Where the buckets of one thread end.
struct Placed(Vec<Place>);

struct Place {
    end: *mut u8,
    /// So many bytes at the front of the first buffer belong to the bucket before.
    skip: usize,
}

// SAFETY: a lane's room lies within the share.
unsafe impl Sink for Placed {
    /// The first buffer of a bucket, or one for which a bucket has not been counted.
    unsafe fn take(&mut self, bucket: usize, from: *const u8, bytes: usize, lane: &mut Lane) -> bool {
        let Place { end, skip } = &mut self.0[bucket];
        if lane.room() > 0 || lane.to.addr() + bytes > end.addr() {
            return false;
        }
        // SAFETY: the buffer's bytes from `skip` on are the bucket's, and there is room for them.
        unsafe {
            lane.to.add(*skip).copy_from_nonoverlapping(from.add(*skip), bytes - *skip);
            *lane = Lane { to: lane.to.add(bytes), end: *end };
        }
        *skip = 0;
        true
    }
}

/// Takes items to their share of the target, in order; then it is full.
///
/// # Errors
/// [`PartitionError::KeysChanged`] if it is not; its memory is in no particular state then.
///
/// # Safety
/// The target is there and aligned to a block. Nobody else touches these places of it, given as item numbers.
unsafe fn scatter_into<T: Keyed, C: Classify>(
    items: &[T],
    classify: &C,
    share: &[(usize, usize)],
    target: Target,
) -> Result<(), PartitionError> {
    let at = |item: usize| target.0.wrapping_add(item * size_of::<T>());
    // A buffer ends where one would that began with the target, so that whole lines are written.
    let skipped = |start: usize| if Shape::<T>::BYTES.is_multiple_of(LINE) { start % Shape::<T>::ITEMS } else { 0 };
    let place = |&(start, end): &(usize, usize)| Place { end: at(end), skip: skipped(start) * size_of::<T>() };
    let mut places = heap::list(share.len())?;
    places.extend(share.iter().map(place));
    let mut scatter = Scatter::<T, Placed>::new(share.len(), Placed(places))?;
    for (bucket, &(start, _)) in share.iter().enumerate() {
        let (lane, filled) = scatter.start(bucket);
        let to = at(start - skipped(start));
        *lane = Lane { to, end: to };
        *filled = skipped(start) as u32;
    }
    scatter.scatter(items, classify).map_err(|NoMemory| PartitionError::KeysChanged)?;
    let mut full = true;
    scatter.finish(|Placed(places), bucket, tail, lane| {
        let Place { end, skip } = places[bucket];
        if lane.to.addr() + tail.len() != end.addr() {
            full = false;
            return true;
        }
        let tail = &tail[skip..];
        // SAFETY: what is left fills the share exactly.
        unsafe { lane.to.add(skip).copy_from_nonoverlapping(tail.as_ptr().cast(), tail.len()) };
        true
    });
    if full { Ok(()) } else { Err(PartitionError::KeysChanged) }
}
