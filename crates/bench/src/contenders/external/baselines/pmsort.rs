//! PMSort (Hua et al., 2021): keys and pointers are sorted in runs and merged, and each record is fetched once, in order.
//!
//! As it was published one thread does everything. PMSort+ (WiscSort, section 4) reads with several, and either writes
//! between its reads or at the same time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::sync::mpsc::sync_channel;

use rayon::prelude::*;

use super::{Job, KEY, RECORD, Record};
use crate::contenders::Trouble;
use crate::contenders::file::reading::map;

/// Records that are fetched at a time.
const BATCH: usize = 1 << 16;

/// A key and the number of its record, in one word.
fn word(record: &Record, number: usize) -> u128 {
    let mut bytes = [0; 16];
    bytes[16 - KEY..].copy_from_slice(&record[..KEY]);
    u128::from_be_bytes(bytes) << 48 | number as u128
}

pub(super) fn sort(job: &Job, threads: usize, overlap: bool) -> Result<(), Trouble> {
    let output = File::create_new(&job.to).map_err(|e| Trouble::failed("output", e))?;
    if std::fs::metadata(&job.from).is_ok_and(|file| file.len() == 0) {
        return Ok(());
    }
    let input = map(&job.from)?;
    let records = input.as_chunks::<RECORD>().0;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|e| Trouble::failed("threads", e))?;
    let runs = pool.install(|| runs(records, job))?;
    let maps = runs.iter().map(|path| map(path)).collect::<Result<Vec<_>, _>>()?;
    let mut words: Vec<_> =
        maps.iter().map(|map| map.as_chunks::<16>().0.iter().map(|w| u128::from_le_bytes(*w))).collect();
    let mut heap: BinaryHeap<_> =
        words.iter_mut().zip(0..).filter_map(|(run, i): (_, usize)| Some(Reverse((run.next()?, i)))).collect();
    // The next records in order, fetched by all threads of the pool.
    let mut next = || {
        let mut batch = Vec::with_capacity(BATCH);
        while let (true, Some(mut top)) = (batch.len() < BATCH, heap.peek_mut()) {
            let Reverse((word, run)) = *top;
            batch.push((word & ((1 << 48) - 1)) as usize);
            match words[run].next() {
                Some(word) => *top = Reverse((word, run)),
                None => drop(std::collections::binary_heap::PeekMut::pop(top)),
            }
        }
        let fetched =
            pool.install(|| batch.par_iter().with_min_len(1 << 10).map(|&i| records[i]).collect::<Vec<Record>>());
        (!fetched.is_empty()).then_some(fetched)
    };
    let write =
        |batch: Vec<Record>| (&output).write_all(batch.as_flattened()).map_err(|e| Trouble::failed("output", e));
    if overlap {
        std::thread::scope(|scope| {
            let (batches, written) = sync_channel(1);
            let writer = scope.spawn(|| written.into_iter().try_for_each(write));
            // A writer that failed takes no more; its error comes from the join.
            while next().is_some_and(|batch| batches.send(batch).is_ok()) {}
            drop(batches);
            writer.join().unwrap_or_else(|_| Err(Trouble::Failed("the writer panicked".into())))
        })?;
    } else {
        while let Some(batch) = next() {
            write(batch)?;
        }
    }
    output.sync_all().map_err(|e| Trouble::failed("fsync", e))
}

/// Sorted words of all records, in files that take half of the memory each while they are sorted.
fn runs(records: &[Record], job: &Job) -> Result<Vec<PathBuf>, Trouble> {
    let failed = |e| Trouble::failed("run", e);
    let length = (job.memory as usize / 2 / 16).max(1);
    let mut paths = Vec::new();
    for (part, number) in records.chunks(length).zip(0..) {
        let mut words: Vec<u128> =
            part.par_iter().enumerate().map(|(i, record)| word(record, number * length + i)).collect();
        words.par_sort_unstable();
        let path = job.temporary.join(number.to_string());
        let mut file = BufWriter::with_capacity(1 << 20, File::create_new(&path).map_err(failed)?);
        words.iter().try_for_each(|word| file.write_all(&word.to_le_bytes())).map_err(failed)?;
        file.flush().map_err(failed)?;
        paths.push(path);
    }
    Ok(paths)
}
