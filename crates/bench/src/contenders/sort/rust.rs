//! Sorts written in Rust, by name, for each kind of keys they can sort.

use eagre::sort::Sorter;
use rayon::slice::ParallelSliceMut;
use rdst::RadixSort as _;
use voracious_radix_sort::{RadixSort as _, Radixable};

use super::array::Plain;
use super::numbers::Element;
use crate::catalogue::{By, Slack};

/// How keys are sorted.
pub(crate) type Sort<T> = Box<dyn Fn(&mut [T])>;

/// Keys, and who of the Rust sorts can sort them.
pub(crate) trait Sortable: Plain {
    /// How `by` sorts them with so many threads; `None` if it cannot.
    fn sort(by: By, threads: usize) -> Option<Sort<Self>>;
}

/// Eagre, within so much memory beside the keys.
fn eagre<T: 'static>(slack: Slack, threads: usize, sort: fn(&Sorter<'static>, &mut [T]) -> Outcome) -> Option<Sort<T>> {
    let sorter = Sorter::new().threads(threads);
    boxed(move |keys| {
        let sorter = match slack {
            Slack::Default => sorter,
            Slack::Free => sorter.slack(usize::MAX),
            Slack::Part(part) => sorter.slack(size_of_val(keys) / part as usize),
        };
        // The process ends, and its last words are why.
        sort(&sorter, keys).unwrap_or_else(|why| panic!("{why}"));
    })
}

type Outcome = Result<(), eagre::sort::SortError>;

/// A closure as a sort.
fn boxed<T>(sort: impl Fn(&mut [T]) + 'static) -> Option<Sort<T>> {
    Some(Box::new(sort))
}

macro_rules! number {
    ($type:ty, $compare:expr) => {
        impl Sortable for $type {
            fn sort(by: By, threads: usize) -> Option<Sort<$type>> {
                let parallel = threads > 1;
                match by {
                    By::Eagre(slack) => eagre(slack, threads, Sorter::sort),
                    By::StdUnstable => boxed(|keys| keys.sort_unstable_by($compare)),
                    By::RayonUnstable => boxed(|keys| keys.par_sort_unstable_by($compare)),
                    By::Radsort => boxed(|keys| radsort::sort(keys)),
                    By::Voracious if parallel => boxed(move |keys| keys.voracious_mt_sort(threads)),
                    By::Voracious => boxed(|keys| keys.voracious_sort()),
                    By::Rdst => boxed(move |keys| keys.radix_sort_builder().with_parallel(parallel).sort()),
                    By::RdstLow => boxed(move |keys| {
                        keys.radix_sort_builder().with_low_mem_tuner().with_parallel(parallel).sort();
                    }),
                    _ => None,
                }
            }
        }
    };
}

number!(u32, Ord::cmp);
number!(i32, Ord::cmp);
number!(i64, Ord::cmp);
number!(u64, Ord::cmp);
number!(u128, Ord::cmp);
number!(f32, f32::total_cmp);
number!(f64, f64::total_cmp);

/// Pairs, by both parts.
impl Sortable for (u64, u64) {
    fn sort(by: By, threads: usize) -> Option<Sort<(u64, u64)>> {
        match by {
            By::Eagre(slack) => eagre(slack, threads, Sorter::sort),
            By::StdUnstable => boxed(|pairs| pairs.sort_unstable()),
            By::RayonUnstable => boxed(|pairs| pairs.par_sort_unstable()),
            _ => None,
        }
    }
}

/// Eagre's pairs, by their first part alone, stably.
pub(crate) fn eagre_pairs(by: By, threads: usize) -> Option<Sort<(u64, u64)>> {
    let By::Eagre(slack) = by else { return None };
    eagre(slack, threads, Sorter::sort_pairs)
}

/// A pair that is sorted by its first part alone, stably.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Record {
    key: u64,
    number: u64,
}

impl PartialEq for Record {
    fn eq(&self, other: &Record) -> bool {
        self.key == other.key
    }
}

impl PartialOrd for Record {
    fn partial_cmp(&self, other: &Record) -> Option<std::cmp::Ordering> {
        self.key.partial_cmp(&other.key)
    }
}

impl Radixable<u64> for Record {
    type Key = u64;

    fn key(&self) -> u64 {
        self.key
    }
}

impl Element for Record {
    fn make(key: u64, number: u64) -> Record {
        Record { key, number }
    }

    fn word(self) -> u64 {
        (self.key, self.number).word()
    }

    /// In order stably: what is equal stands as it came.
    fn before(&self, next: &Record) -> bool {
        (self.key, self.number) <= (next.key, next.number)
    }
}

impl Plain for Record {}

impl Sortable for Record {
    fn sort(by: By, _threads: usize) -> Option<Sort<Record>> {
        match by {
            By::StdStable => boxed(|records: &mut [Record]| records.sort_by_key(|record| record.key)),
            By::Voracious => boxed(|records| records.voracious_stable_sort()),
            _ => None,
        }
    }
}
