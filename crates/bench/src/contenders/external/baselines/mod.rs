//! The sorts that WiscSort (Banakar et al., PVLDB 2023) is compared with, as simple as they can be: on records of the sort
//! benchmark, in a mapped file. Each runs in this program once more.

mod pmsort;
mod sample;

use std::path::PathBuf;
use std::process::Command;

use serde::{Deserialize, Serialize};

use super::Order;
use crate::catalogue::{Baseline, Data, FileSort};
use crate::contenders::Trouble;

/// The hidden subcommand that takes a job.
pub(crate) const COMMAND: &str = "baseline-job";

/// The length of a record, and of its key.
const RECORD: usize = eagre::gensort::RECORD;
const KEY: usize = eagre::gensort::KEY;

type Record = [u8; RECORD];

/// What the process is told.
#[derive(Serialize, Deserialize)]
struct Job {
    baseline: Baseline,
    from: PathBuf,
    to: PathBuf,
    /// A directory for runs.
    temporary: PathBuf,
    /// In bytes.
    memory: u64,
    threads: usize,
}

/// The process that sorts.
pub(super) fn command(baseline: Baseline, sort: &FileSort, order: &Order) -> Result<Command, Trouble> {
    if sort.data != Data::Records || sort.device.is_some() {
        return Err(Trouble::Unavailable("it sorts records of 100 bytes on real devices only".into()));
    }
    let job = Job {
        baseline,
        from: order.from.to_owned(),
        to: order.to.to_owned(),
        temporary: order.temporary.to_owned(),
        memory: order.memory,
        threads: sort.threads,
    };
    let mut command = Command::new(std::env::current_exe().map_err(|e| Trouble::failed("this program", e))?);
    command.arg(COMMAND).arg(serde_json::to_string(&job).map_err(|e| Trouble::failed("job", e))?);
    Ok(command)
}

/// Runs the job that `text` describes.
pub(crate) fn run(text: &str) -> Result<(), String> {
    let job: Job = serde_json::from_str(text).map_err(|e| format!("job: {e}"))?;
    let done = match job.baseline {
        Baseline::PmSort => pmsort::sort(&job, 1, false),
        Baseline::PmSortPlus { overlap } => pmsort::sort(&job, job.threads, overlap),
        Baseline::SampleSort => sample::sort_file(&job),
    };
    done.map_err(|e| format!("{:?}: {e:?}", job.baseline))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::sortable;

    #[test]
    fn all_of_them_sort() {
        use eagre::gensort::{Generator, Summary};
        let directory = tempfile::tempdir().unwrap();
        let (from, to) = (directory.path().join("from"), directory.path().join("to"));
        for (records, skewed) in [(0, false), (1, false), (20_011, false), (70_003, true)] {
            let mut bytes = vec![0; records * RECORD];
            Generator::new().skewed(skewed).fill(7, &mut bytes);
            std::fs::write(&from, &bytes).unwrap();
            let summary = Summary::of(&bytes);
            for baseline in [
                Baseline::PmSort,
                Baseline::PmSortPlus { overlap: false },
                Baseline::PmSortPlus { overlap: true },
                Baseline::SampleSort,
            ] {
                let temporary = directory.path().join("temporary");
                std::fs::create_dir(&temporary).unwrap();
                // Several runs of words.
                let (from, to) = (from.clone(), to.clone());
                let job =
                    Job { baseline, from, to: to.clone(), temporary: temporary.clone(), memory: 300_000, threads: 2 };
                run(&serde_json::to_string(&job).unwrap()).unwrap();
                let found = sortable::check(&to, Data::Records).unwrap();
                assert_eq!((found.items, found.digest), (records as u64, summary.checksum as u64), "{baseline:?}");
                std::fs::remove_file(to).unwrap();
                std::fs::remove_dir_all(temporary).unwrap();
            }
        }
    }
}
