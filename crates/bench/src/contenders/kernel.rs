//! Records of the sort benchmark, sorted or merged in memory by one thread.
//!
//! Records are on huge pages that were touched before the clock starts, the place for the result too; what else a sort needs
//! it allocates while it runs.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::ops::ControlFlow;
use std::time::Instant;

use eagre::external::kernels::{Merge, Order, sort_and_partition};
use eagre::gensort::{Generator, KEY, RECORD, Summary};
use eagre::records::Fixed;
use eagre::sort::Sorter;

use crate::catalogue::Kernel;
use crate::contenders::{Contender, Measured, Trouble};
use crate::memory::{Pages, Region, bytes_of_mut};

/// How many sorted runs are merged.
const RUNS: usize = 10;

/// A way to put records in order.
pub(super) struct Kernels {
    pub kernel: Kernel,
    /// Whether the records are sorted runs.
    pub merge: bool,
}

impl Contender for Kernels {
    /// `size` bytes of records.
    fn run(&mut self, size: u64) -> Result<Measured, Trouble> {
        let room = || Region::touched(size as usize, Pages::Huge).map_err(|e| Trouble::failed("memory", e));
        let (mut records, mut sorted) = (room()?, room()?);
        // A region ends with its last page.
        let size = size as usize;
        let input = &mut bytes_of_mut(records.words_mut())[..size];
        let output = &mut bytes_of_mut(sorted.words_mut())[..size];
        Generator::new().fill(0, input);
        let expected = Summary::of(input);
        let run = input.len().div_ceil(RUNS).next_multiple_of(RECORD);
        if self.merge {
            input.chunks_mut(run).for_each(sort_records);
        }
        let start = Instant::now();
        let mut in_place = false;
        match (self.kernel, self.merge) {
            (Kernel::Eagre, false) => {
                let sorter = Sorter::new().threads(1);
                sort_and_partition(&Fixed::gensort(), input, &[], Order::default(), &sorter, output)
                    .map_err(|e| Trouble::failed("sort", e))?;
            }
            (Kernel::Eagre, true) => merge(input.chunks(run).collect(), output)?,
            (Kernel::Records, false) => {
                sort_records(input);
                in_place = true;
            }
            (Kernel::Index, false) => sort_index(input, output),
            (Kernel::Heap, true) => merge_heap(input.chunks(run).collect(), output),
            (kernel, _) => return Err(Trouble::Failed(format!("catalogue: {kernel:?} cannot do this row's work"))),
        }
        let took = start.elapsed();
        let found = Summary::of(if in_place { input } else { output });
        if !found.is_sorted() || found.records != expected.records {
            return Err(Trouble::Wrong(format!("{} unordered of {} records", found.unordered, found.records)));
        }
        Ok(Measured {
            took,
            amount: size as u64,
            threads: 1,
            answer: found.checksum as u64,
            expected: expected.checksum as u64,
            process: None,
            counters: vec![],
            timeline: vec![],
        })
    }
}

/// The key of a record, as a number.
fn key(record: &[u8]) -> u128 {
    let mut bytes = [0; 16];
    bytes[16 - KEY..].copy_from_slice(&record[..KEY]);
    u128::from_be_bytes(bytes)
}

/// The standard library's sort of whole records, where they are.
fn sort_records(records: &mut [u8]) {
    records.as_chunks_mut::<RECORD>().0.sort_unstable_by(|a, b| a[..KEY].cmp(&b[..KEY]));
}

/// The standard library's sort of keys, each with the number of its record, which are gathered then.
fn sort_index(records: &[u8], sorted: &mut [u8]) {
    let records = records.as_chunks::<RECORD>().0;
    let mut index: Vec<u128> = records.iter().zip(0..).map(|(record, i): (_, u128)| key(record) << 48 | i).collect();
    index.sort_unstable();
    for (to, word) in sorted.as_chunks_mut::<RECORD>().0.iter_mut().zip(index) {
        *to = records[(word & ((1 << 48) - 1)) as usize];
    }
}

/// Eagre's merge.
fn merge(runs: Vec<&[u8]>, sorted: &mut [u8]) -> Result<(), Trouble> {
    let format = Fixed::gensort();
    let mut to = sorted.as_chunks_mut::<RECORD>().0.iter_mut();
    Merge::new(&format, runs, Order::default())
        .and_then(|merge| {
            merge.each(|record| match (to.next(), record.first_chunk()) {
                (Some(place), Some(record)) => {
                    *place = *record;
                    ControlFlow::Continue(())
                }
                _ => ControlFlow::Break(()),
            })
        })
        .map(drop)
        .map_err(|e| Trouble::failed("merge", e))
}

/// A merge with the standard library's heap of the runs' first keys; the top is replaced where it is.
fn merge_heap(runs: Vec<&[u8]>, sorted: &mut [u8]) {
    let mut runs: Vec<_> = runs.into_iter().map(|run| run.as_chunks::<RECORD>().0.iter()).collect();
    let mut heap: BinaryHeap<_> = runs
        .iter_mut()
        .zip(0..)
        .filter_map(|(run, i)| run.next().map(|first| Reverse((key(first), i, first))))
        .collect();
    for to in sorted.as_chunks_mut::<RECORD>().0 {
        let Some(mut top) = heap.peek_mut() else { return };
        let Reverse((_, run, record)) = *top;
        *to = *record;
        match runs[run].next() {
            Some(next) => *top = Reverse((key(next), run, next)),
            None => drop(PeekMut::pop(top)),
        }
    }
}
