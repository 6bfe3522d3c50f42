//! Every benchmark, as data: work, sizes, contenders, target ratios and where they come from.
//!
//! Nothing else in this crate names a row, a size or a target. The rows are in [`streams`] (blocks and pipes), [`network`], [`process`], [`memory`]
//! (memory that grows), [`partition`], [`snapshot`], [`view`], [`rewire`], [`sort`], [`files`] and [`external`]. [`work`] and [`way`] say what there is to do and
//! how contenders do it, [`mod@unit`] what their speeds are shown in, [`target`] what can be asked of them.

mod external;
mod file_sort;
mod files;
mod memory;
mod network;
mod partition;
mod process;
mod rewire;
mod rewiring;
mod snapshot;
mod sort;
mod sorting;
mod streams;
mod target;
mod unit;
mod view;
mod way;
mod work;

pub(crate) use external::PREFIX as EXTERNAL;
pub(crate) use file_sort::{Background, Baseline, Budget, Data, Emulated, FileSort, Kernel, Sorter};
pub(crate) use rewire::PREFIX as REWIRE;
pub(crate) use rewiring::{FilePages, Fill, Rewiring, Timed, Wiring};
pub(crate) use sorting::{By, Foreign, Keys, Module, PEERS, Pattern, SHARE, Slack, Sorting, TRIAL};
pub(crate) use target::{Against, Bound, Figure, Target};
pub(crate) use unit::Unit;
pub(crate) use way::{
    Behind, Buckets, Carrier, Courier, Directory, Growth, Keep, Loop, Method, Network, Program, RdmaEnd, Setting, Way,
    Wire,
};
pub(crate) use work::{Cache, Corpus, FileJob, Half, Hashing, Moments, Place, Task, Work};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// One benchmark.
pub(crate) struct Row {
    /// Its name on the command line.
    pub name: &'static str,
    /// What is measured.
    pub about: &'static str,
    /// Where the targets come from.
    pub source: &'static str,
    /// The unit of its speeds.
    pub unit: Unit,
    /// Sizes and settings.
    pub cases: &'static [Case],
    /// The contenders.
    pub contenders: &'static [Entry],
    /// The targets; none for a row that only reports.
    pub targets: &'static [Target],
}

/// One size or setting of a row.
pub(crate) struct Case {
    /// Short, for tables.
    pub name: &'static str,
    /// What there is to do.
    pub work: Work,
    /// How much: bytes per stream, bytes or rows of a file, passes over the blocks, or keys.
    pub size: u64,
    /// The same under `--quick`.
    pub quick: u64,
}

/// One contender of a row.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    /// Its name in tables and targets.
    pub name: &'static str,
    /// How it does the work.
    pub way: Way,
    /// A description.
    pub about: &'static str,
    /// Whether it runs one stream even if the case has several, as the peer of contenders that run them all.
    pub one: bool,
}

impl Entry {
    const fn new(name: &'static str, way: Way, about: &'static str) -> Entry {
        Entry { name, way, about, one: false }
    }

    /// The same contender with one stream only, under another name.
    const fn one(self, name: &'static str) -> Entry {
        Entry { name, one: true, ..self }
    }
}

/// Every row.
pub(crate) fn rows() -> impl Iterator<Item = &'static Row> {
    streams::ROWS
        .iter()
        .chain(network::ROWS)
        .chain(process::ROWS)
        .chain(memory::ROWS)
        .chain(partition::ROWS)
        .chain(snapshot::ROWS)
        .chain(view::ROWS)
        .chain(rewire::ROWS)
        .chain(sort::ROWS)
        .chain(files::ROWS)
        .chain(external::ROWS)
}

/// The row called `name`.
pub(crate) fn row(name: &str) -> Option<&'static Row> {
    rows().find(|row| row.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_unique() {
        let names: HashSet<_> = rows().map(|row| row.name).collect();
        assert_eq!(names.len(), rows().count());
        for row in rows() {
            let names: HashSet<_> = row.contenders.iter().map(|c| c.name).collect();
            assert_eq!(names.len(), row.contenders.len(), "{}", row.name);
            let cases: HashSet<_> = row.cases.iter().map(|c| c.name).collect();
            assert_eq!(cases.len(), row.cases.len(), "{}", row.name);
        }
    }

    #[test]
    fn targets_name_contenders_and_cases_of_their_row() {
        for row in rows() {
            for target in row.targets {
                for name in [target.contender].iter().chain(target.against.peers()) {
                    assert!(row.contenders.iter().any(|c| c.name == *name), "{}: {name}", row.name);
                }
                assert!(!target.against.peers().contains(&target.contender));
                assert!(target.must.is_some() || target.aim.is_some());
                if let (Some(must), Some(aim)) = (target.must, target.aim) {
                    assert!(must > 0.0 && target.figure.bound().better(aim, must));
                }
                if let Some(case) = target.case {
                    assert!(row.cases.iter().any(|c| c.name == case), "{case}");
                }
            }
        }
    }

    #[test]
    fn quick_is_small_and_sizes_are_whole_words() {
        for row in rows() {
            assert!(!row.cases.is_empty() && !row.contenders.is_empty());
            for case in row.cases {
                assert!(case.quick > 0 && case.quick <= case.size, "{}", row.name);
                match case.work {
                    Work::Move { block, .. } => assert!(block.is_power_of_two()),
                    Work::Pipe { streams } => {
                        assert!(streams > 0);
                        assert!(case.quick <= 32 * MIB && case.size % 8 == 0);
                        assert_eq!(case.quick % 8, 0);
                    }
                    Work::Processes { block } => {
                        assert!(block.is_power_of_two());
                        assert!(case.quick <= 32 * MIB && (case.size % 8, case.quick % 8) == (0, 0));
                    }
                    Work::Send | Work::File(_) | Work::Fill | Work::Vanish(_) | Work::Scatter { .. } => {
                        assert!(case.quick <= 32 * MIB && (case.size % 8, case.quick % 8) == (0, 0))
                    }
                    Work::Snapshot(_) => assert!(case.size % (2 * MIB) == 0 && case.quick % (2 * MIB) == 0),
                    Work::Hash(_) => assert!(case.quick <= 1 << 16),
                    Work::Partition { .. } => assert!(case.quick <= 1 << 22 && case.size.is_power_of_two()),
                    Work::Sort(_) => assert!(case.quick <= 1 << 13 && case.size.is_power_of_two()),
                    Work::Rewire(Rewiring { block, .. }) => {
                        assert!(case.size.is_power_of_two() && case.quick.is_power_of_two());
                        assert!(block.is_power_of_two() && case.quick >= 4 * block && case.quick <= 32 * MIB);
                        assert!(row.name.starts_with(REWIRE) || row.name.starts_with("view"));
                    }
                    Work::Read => assert!(case.size < 2 * GIB, "one read(2) gives no more"),
                    Work::FileSort(FileSort { data, .. }) => {
                        assert_eq!((case.size % data.item(), case.quick % data.item()), (0, 0));
                        assert!(case.quick <= 1_000_000 && row.name.starts_with(EXTERNAL));
                    }
                    Work::Kernel { .. } => assert!(case.quick <= 1_000_000 && case.quick % 200 == 0),
                    Work::Gensort { threads, .. } => {
                        assert!(threads > 0 && case.quick <= 1_000_000 && row.name.starts_with(EXTERNAL));
                    }
                }
            }
        }
    }
}
