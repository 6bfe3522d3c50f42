//! Where records begin that are not all of one size.

use std::io;
use std::sync::{Mutex, PoisonError};

use eagre_mem::heap;
use eagre_mem::threads::with_helpers;

/// The records of a group.
const GROUP: u64 = 4096;

/// A thread adds up so many groups at a time.
const BATCH: usize = 16;

/// Where the first record of each group begins: 8 bytes for 4096 records.
pub(super) struct Starts {
    groups: Vec<u64>,
}

impl Starts {
    /// Adds up the sizes of all records. `None` if they are too large for a file.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(super) fn new(records: u64, threads: usize, size: &(dyn Fn(u64) -> u64 + Sync)) -> io::Result<Option<Starts>> {
        let count = usize::try_from(records.div_ceil(GROUP)).unwrap_or(usize::MAX).saturating_add(1);
        let mut groups = heap::filled(count, 0u64)?;
        let batches = Mutex::new(groups[1..].chunks_mut(BATCH).enumerate());
        let work = || {
            // The guard must not live on while the sizes are added.
            let next = || batches.lock().unwrap_or_else(PoisonError::into_inner).next();
            while let Some((batch, sums)) = next() {
                for (number, sum) in sums.iter_mut().enumerate() {
                    let first = (batch * BATCH + number) as u64 * GROUP;
                    let last = records.min(first + GROUP);
                    *sum = (first..last).fold(0, |sum: u64, record| sum.saturating_add(size(record)));
                }
            }
        };
        let helpers = threads.saturating_sub(1).min(count / BATCH);
        with_helpers(Some(c"eagre-compute"), helpers, &work, work);
        let mut end = 0u64;
        for group in &mut groups {
            end = end.saturating_add(*group);
            *group = end;
        }
        Ok((end <= i64::MAX as u64).then_some(Starts { groups }))
    }

    /// Where the last record ends.
    pub(super) fn end(&self) -> u64 {
        *self.groups.last().expect("one at least")
    }

    /// A record that begins at or before `offset`, one of the last, and where it begins.
    pub(super) fn before(&self, offset: u64) -> (u64, u64) {
        let group = self.groups.partition_point(|&start| start <= offset).saturating_sub(1);
        (group as u64 * GROUP, self.groups[group])
    }
}
