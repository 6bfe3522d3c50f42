//! A sample sort in place: the file is copied and mapped, and whole records change places in the mapping.
//!
//! Splitters from a sample cut records into buckets; a count says where each bucket lies; records go round in cycles until
//! each is in its bucket. Buckets are sorted the same way, by several threads, and small ones by the standard library.

use std::fs::File;

use rayon::prelude::*;

use super::{Job, KEY, RECORD, Record};
use crate::contenders::Trouble;
use crate::contenders::file::reading::map_mut;

/// The number of buckets, and of records in the sample for each splitter.
const BUCKETS: usize = 256;
const OVERSAMPLE: usize = 16;

/// From so many records on a bucket is cut again.
const LARGE: usize = 1 << 16;

pub(super) fn sort_file(job: &Job) -> Result<(), Trouble> {
    std::fs::copy(&job.from, &job.to).map_err(|e| Trouble::failed("copy", e))?;
    let file = File::options().read(true).write(true).open(&job.to).map_err(|e| Trouble::failed("output", e))?;
    if file.metadata().is_ok_and(|file| file.len() == 0) {
        return Ok(());
    }
    let mut map = map_mut(&file)?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(job.threads).build();
    pool.map_err(|e| Trouble::failed("threads", e))?.install(|| sort(map.as_chunks_mut::<RECORD>().0, 0));
    map.flush().map_err(|e| Trouble::failed("msync", e))?;
    file.sync_all().map_err(|e| Trouble::failed("fsync", e))
}

fn key(record: &Record) -> [u8; KEY] {
    std::array::from_fn(|i| record[i])
}

fn sort(records: &mut [Record], depth: u32) {
    if records.len() < LARGE || depth > 4 {
        return records.sort_unstable_by_key(key);
    }
    let step = records.len() / (BUCKETS * OVERSAMPLE);
    let mut sample: Vec<_> = records.iter().step_by(step.max(1)).map(key).collect();
    sample.sort_unstable();
    let mut splitters: Vec<_> = (1..BUCKETS).map(|i| sample[i * sample.len() / BUCKETS]).collect();
    splitters.dedup();
    let bucket = |record: &Record| splitters.partition_point(|splitter| *splitter <= key(record));
    let mut ends = vec![0; splitters.len() + 1];
    records.iter().for_each(|record| ends[bucket(record)] += 1);
    let counts = ends.clone();
    let mut next = Vec::with_capacity(ends.len());
    let mut sum = 0;
    for end in &mut ends {
        next.push(sum);
        sum += *end;
        *end = sum;
    }
    for i in 0..ends.len() {
        while next[i] < ends[i] {
            let to = bucket(&records[next[i]]);
            if to != i {
                records.swap(next[i], next[to]);
            }
            next[to] += 1;
        }
    }
    let mut buckets = Vec::with_capacity(counts.len());
    let mut rest = records;
    for count in counts {
        let (first, others) = rest.split_at_mut(count);
        buckets.push(first);
        rest = others;
    }
    buckets.into_par_iter().for_each(|bucket| sort(bucket, depth + 1));
}
