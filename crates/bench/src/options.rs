//! What all commands that run rows are told: how often, how much, where.

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::sync::Arc;

use clap::builder::RangedU64ValueParser;

use crate::corpus::Store;
use crate::load::Patience;
use crate::machine::{self, Machine};
use crate::outcome::Run;
use crate::roofline::Gauge;
use crate::runner::{Bench, Plan};
use crate::verdict;

/// The options of all commands that run rows.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Runs one round with tiny sizes, which checks the answers and measures nothing.
    #[arg(long)]
    pub quick: bool,
    /// Runs each contender this many times; fewer than 15 rounds give no verdict.
    #[arg(long = "rounds", alias = "pairs", value_name = "N", default_value_t = verdict::MIN_PAIRS, value_parser = RangedU64ValueParser::<usize>::new().range(1..=1000))]
    pub pairs: usize,
    /// Sorts at most 2^EXPONENT keys, for machines with less memory; cases that this makes smaller get no verdict.
    #[arg(long, value_name = "EXPONENT", value_parser = clap::value_parser!(u32).range(10..=40))]
    pub keys: Option<u32>,
    /// Sorts files of at most so many bytes, for machines with less room; cases that this makes smaller get no verdict.
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(1000..))]
    pub bytes: Option<u64>,
    /// Also runs the cases that take hours.
    #[arg(long)]
    pub long: bool,
    /// How many seconds in total to wait for other programs to become idle and to repeat rounds that they disturbed.
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    pub patience: u64,
    /// Makes the files to work on in this directory, on the device to be measured [default: $EAGRE_BENCH_DIR, else
    /// /var/tmp/eagre-bench].
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Keeps these files for later runs.
    #[arg(long)]
    pub keep: bool,
}

impl Options {
    /// Does `work` with a place for files, which is empty again afterwards, after a signal, too.
    pub(crate) fn with_store<T>(&self, work: impl FnOnce(&Arc<Store>) -> Result<T, String>) -> Result<T, String> {
        let store = Store::new(self.dir.clone(), self.keep).map_err(|e| format!("run: bench directory: {e}"))?;
        let store = Arc::new(store);
        store.remove_on_signals();
        let result = work(&store);
        // Not left to the last owner: after a signal that is another thread, which the end of this one may cut short.
        store.clear();
        result
    }

    /// How rows are run; of these contenders only, if any are named.
    pub(crate) fn plan(&self, only: &[String]) -> Plan {
        Plan {
            pairs: if self.quick { 1 } else { self.pairs },
            quick: self.quick,
            keys: self.keys.map_or(u64::MAX, |exponent| 1 << exponent),
            bytes: self.bytes.unwrap_or(u64::MAX),
            long: self.long,
            only: only.to_vec(),
            kept: Vec::new(),
            progress: io::stderr().is_terminal(),
        }
    }

    /// What all rows share.
    pub(crate) fn bench(&self, store: &Arc<Store>) -> Result<Bench, String> {
        Ok(Bench {
            store: Arc::clone(store),
            gauge: Gauge::new(self.quick).map_err(|e| format!("run: roofline: {e}"))?,
            patience: Patience::new(if self.quick { 0 } else { self.patience }),
        })
    }
}

/// A run that begins now, without results.
pub(crate) fn begin() -> Run {
    Run {
        date: machine::timestamp(),
        version: env!("CARGO_PKG_VERSION").into(),
        build: machine::build(),
        command: command_line(),
        machine: Machine::here(),
        places: Vec::new(),
        results: Vec::new(),
    }
}

/// The command as it was given, the program by its name alone.
fn command_line() -> String {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words = ["eagre-bench"].into_iter().chain(arguments.iter().map(String::as_str));
    // Only a zero byte cannot be quoted, and no argument has one.
    shlex::try_join(words).unwrap_or_default()
}
