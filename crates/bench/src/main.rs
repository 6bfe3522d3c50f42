//! `eagre-bench`: measures Eagre beside its peers, with an interval for each number.
//!
//! What is measured, and the targets, are data in [`catalogue`]. [`runner`] runs the contenders in turn and checks every
//! answer. [`interval`] and [`verdict`] judge the ratios of neighbouring runs, [`roofline`] measures what memory could
//! have given. [`record`] keeps what was measured, [`text`] and [`report`] show it, [`compare`] tells what became slower.
//! The peers are used in [`contenders`] and nowhere else in the workspace.
//!
//! A module uses only modules on lines below its own:
//!
//! ```text
//! compare · record · report
//! grid · text · runner
//! contenders · load
//! corpus · outcome · spsc
//! cache · child · figures · limit · machine · roofline · usage · verdict
//! catalogue · interval · kernels
//! memory
//! trouble
//! ```
//!
//! Exit codes: 0 if no target was missed and nothing became slower, 1 if one was or something did, 2 on trouble, above all
//! a wrong answer.

#![deny(unsafe_code)]

#[allow(unsafe_code, reason = "cachestat")]
mod cache;
mod catalogue;
#[allow(unsafe_code, reason = "wait4")]
mod child;
mod compare;
mod contenders;
mod corpus;
mod figures;
mod grid;
mod interval;
#[allow(unsafe_code, reason = "SIMD loops over raw stream pointers")]
mod kernels;
mod limit;
mod load;
mod machine;
#[allow(unsafe_code, reason = "owns mappings")]
mod memory;
mod outcome;
mod record;
mod report;
mod roofline;
mod runner;
#[allow(unsafe_code, reason = "the hand-written queue shares its slots between two threads")]
mod spsc;
mod text;
mod trouble;
#[allow(unsafe_code, reason = "getrusage")]
mod usage;
mod verdict;

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::builder::RangedU64ValueParser;
use clap::{Parser, Subcommand};

use crate::catalogue::{Row, rows};
use crate::compare::CompareArguments;
use crate::contenders::external::baselines as baseline_job;
use crate::contenders::file::own as file_job;
use crate::contenders::process as process_job;
use crate::contenders::sort::job as sort_job;
use crate::corpus::Store;
use crate::grid::GridArguments;
use crate::load::Patience;
use crate::outcome::Run;
use crate::roofline::Gauge;
use crate::runner::{Bench, Plan};

/// Measures Eagre beside its peers.
#[derive(Parser)]
#[command(name = "eagre-bench", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Lists every row with its cases, contenders and targets.
    List,
    /// Runs the rows that are named, or all rows.
    Run(RunArguments),
    /// Runs the rows that begin with "rewire-": the cost of rewiring, and of access afterwards, by kind of page.
    Rewire(RunArguments),
    /// Runs the rows that begin with "external": sorting files, most of them larger than the memory there is.
    External(RunArguments),
    /// Compares two records, or runs two builds of eagre-bench in turn: what became slower?
    ///
    /// For each contender in each case of a row, prints the speed of NEW divided by that of OLD: the median over the rounds
    /// and its 90 % interval, worst first. A contender is marked "slower" if its whole interval lies below 0.95. Exit code:
    /// 1 if anything is slower, 0 if not, 2 on trouble.
    Compare(CompareArguments),
    /// Sorts every kind of keys in every pattern and size beside the peers, with few rounds each: where is Eagre behind?
    SortGrid(GridArguments),
    /// Does one job with a file in this process and prints the result; `run` starts it.
    #[command(hide = true, name = file_job::COMMAND)]
    FileJob {
        /// What to do, as JSON.
        job: String,
    },
    /// Sorts a file in this process as a paper says; `run` starts it.
    #[command(hide = true, name = baseline_job::COMMAND)]
    BaselineJob {
        /// What to do, as JSON.
        job: String,
    },
    /// Writes a stream for another process; `run` starts it.
    #[command(hide = true, name = process_job::COMMAND)]
    ProcessJob {
        /// What to do, as JSON.
        job: String,
    },
    /// Does one sorting job in this process and prints the result; `run` starts it.
    #[command(hide = true, name = sort_job::COMMAND)]
    SortJob {
        /// What to do, as JSON.
        job: String,
    },
}

#[derive(clap::Args)]
struct RunArguments {
    /// Rows to run, by the names that `list` prints.
    names: Vec<String>,
    /// Runs one round with tiny sizes, which checks the answers and measures nothing.
    #[arg(long)]
    quick: bool,
    /// Prints the whole run as JSON instead of tables.
    #[arg(long)]
    json: bool,
    /// Writes a page of HTML, index.html, to this directory.
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
    /// Adds records to a file in this directory [default: ./bench-records if it exists, else eagre/bench-records in
    /// $XDG_DATA_HOME or ~/.local/share].
    #[arg(long, value_name = "DIR")]
    records: Option<PathBuf>,
    /// Runs each contender this many times; fewer than 15 rounds give no verdict.
    #[arg(long = "rounds", alias = "pairs", value_name = "N", default_value_t = verdict::MIN_PAIRS, value_parser = RangedU64ValueParser::<usize>::new().range(1..=1000))]
    pairs: usize,
    /// Sorts at most 2^EXPONENT keys, for machines with less memory; cases that this makes smaller get no verdict.
    #[arg(long, value_name = "EXPONENT", value_parser = clap::value_parser!(u32).range(10..=40))]
    keys: Option<u32>,
    /// Sorts files of at most so many bytes, for machines with less room; cases that this makes smaller get no verdict.
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(1000..))]
    bytes: Option<u64>,
    /// Also runs the cases that take hours.
    #[arg(long)]
    long: bool,
    /// How many seconds in total to wait for other programs to become idle and to repeat rounds that they disturbed.
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    patience: u64,
    /// Makes the files to work on in this directory, on the device to be measured [default: $EAGRE_BENCH_DIR, else
    /// /var/tmp/eagre-bench].
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Keeps these files for later runs.
    #[arg(long)]
    keep: bool,
    /// Runs only these contenders, separated by commas.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    contenders: Vec<String>,
}

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::List => print(&text::list()).map(|()| ExitCode::SUCCESS),
        Command::Run(arguments) => run(&arguments, ""),
        Command::Rewire(arguments) => run(&arguments, catalogue::REWIRE),
        Command::External(arguments) => run(&arguments, catalogue::EXTERNAL),
        Command::Compare(arguments) => {
            compare::run(&arguments).and_then(|(text, slower)| print(&text).map(|()| ExitCode::from(u8::from(slower))))
        }
        Command::SortGrid(arguments) => grid::run(&arguments, &print).map(|()| ExitCode::SUCCESS),
        Command::FileJob { job } => {
            file_job::run(&job).and_then(|reply| print(&(reply + "\n"))).map(|()| ExitCode::SUCCESS)
        }
        Command::BaselineJob { job } => baseline_job::run(&job).map(|()| ExitCode::SUCCESS),
        Command::ProcessJob { job } => process_job::run(&job).map(|()| ExitCode::SUCCESS),
        Command::SortJob { job } => sort_job::run(&job).map(|()| ExitCode::SUCCESS),
    };
    result.unwrap_or_else(|message| {
        eprintln!("eagre-bench: {message}");
        ExitCode::from(2)
    })
}

/// Runs the rows that were asked for; an error is one line: what, where, why; cure.
fn run(arguments: &RunArguments, group: &str) -> Result<ExitCode, String> {
    let store = Store::new(arguments.dir.clone(), arguments.keep).map_err(|e| format!("run: bench directory: {e}"))?;
    let store = Arc::new(store);
    store.remove_on_signals();
    let result = run_with(arguments, group, &store);
    // Not left to the last owner: after a signal that is another thread, which the end of this one may cut short.
    store.clear();
    result
}

fn run_with(arguments: &RunArguments, group: &str, store: &Arc<Store>) -> Result<ExitCode, String> {
    let rows = choose(group, &arguments.names, &arguments.contenders)?;
    let plan = Plan {
        pairs: if arguments.quick { 1 } else { arguments.pairs },
        quick: arguments.quick,
        keys: arguments.keys.map_or(u64::MAX, |exponent| 1 << exponent),
        bytes: arguments.bytes.unwrap_or(u64::MAX),
        long: arguments.long,
        only: arguments.contenders.clone(),
        progress: io::stderr().is_terminal(),
    };
    let mut bench = Bench {
        store: Arc::clone(store),
        gauge: Gauge::new(plan.quick).map_err(|e| format!("run: roofline: {e}"))?,
        patience: Patience::new(if plan.quick { 0 } else { arguments.patience }),
    };
    let mut run = Run {
        date: machine::timestamp(),
        version: env!("CARGO_PKG_VERSION"),
        command: command_line(),
        machine: machine::Machine::here(),
        places: Vec::new(),
        results: Vec::new(),
    };
    if !arguments.json {
        print(&format!("{}\n\n", run.machine.line()))?;
    }
    for row in rows {
        let results = runner::run(row, &plan, &mut bench).map_err(|why| format!("run: {why}"))?;
        if !arguments.json {
            results.iter().try_for_each(|result| print(&text::table(result)))?;
        }
        run.results.extend(results);
    }
    run.places = bench.store.places();
    if arguments.json {
        let json = serde_json::to_string_pretty(&run).map_err(|e| format!("run: json: {e}"))?;
        print(&(json + "\n"))?;
    }
    if let Some(directory) = &arguments.report {
        let path = report::write(directory, &run)
            .map_err(|e| format!("report: {}: {e}; name a directory that can be written", directory.display()))?;
        eprintln!("report: {}", path.display());
    }
    if !plan.quick {
        let directory = arguments.records.clone().unwrap_or_else(record::default_directory);
        let path = record::append(&directory, &run)
            .map_err(|e| format!("records: {}: {e}; name another with --records", directory.display()))?;
        eprintln!("records: {}", path.display());
    }
    Ok(ExitCode::from(u8::from(run.failed())))
}

/// The rows by these names, in the catalogue's order, if all of them and all contenders exist; without names all whose
/// name begins as those of the group do.
fn choose(group: &str, names: &[String], contenders: &[String]) -> Result<Vec<&'static Row>, String> {
    let known = |name: &&String| name.starts_with(group) && catalogue::row(name).is_some();
    if let Some(name) = names.iter().find(|name| !known(name)) {
        return Err(format!("run: {name}: no such row; 'eagre-bench list' names them all"));
    }
    let rows: Vec<_> = rows()
        .filter(|row| row.name.starts_with(group) && (names.is_empty() || names.iter().any(|name| name == row.name)))
        .collect();
    let known = |name: &String| rows.iter().any(|row| row.contenders.iter().any(|contender| contender.name == name));
    match contenders.iter().find(|name| !known(name)) {
        Some(name) => Err(format!("run: {name}: no such contender in these rows; 'eagre-bench list' names them all")),
        None => Ok(rows),
    }
}

/// The command as it was given, the program by its name alone.
fn command_line() -> String {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words = ["eagre-bench"].into_iter().chain(arguments.iter().map(String::as_str));
    // Only a zero byte cannot be quoted, and no argument has one.
    shlex::try_join(words).unwrap_or_default()
}

/// Prints to standard output; a reader that went away is no trouble.
fn print(text: &str) -> Result<(), String> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => std::process::exit(0),
        result => result.map_err(|e| format!("output: {e}")),
    }
}
