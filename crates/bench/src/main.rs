//! `eagre-bench`: measures Eagre beside its peers, with an interval for each number.
//!
//! What is measured, and the targets, are data in [`catalogue`]. [`runner`] runs the contenders in turn and checks every
//! answer. [`interval`] and [`verdict`] judge the ratios of neighbouring runs, [`roofline`] measures what memory could
//! have given. [`record`] keeps what was measured, [`text`] and [`report`] show it, [`compare`] tells what became slower.
//! [`papers`] says which rows repeat what published works measured, [`reproduce`] holds their numbers beside ours.
//! The peers are used in [`contenders`] and nowhere else in the workspace.
//!
//! A module uses only modules on lines below its own:
//!
//! ```text
//! reproduce
//! compare · record · report
//! grid · text · options
//! runner
//! callgrind
//! contenders · load
//! corpus · outcome · spsc
//! cache · child · counters · figures · limit · machine · papers · roofline · timeline · usage · verdict
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
mod callgrind;
mod catalogue;
#[allow(unsafe_code, reason = "wait4")]
mod child;
mod compare;
mod contenders;
mod corpus;
mod counters;
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
mod options;
mod outcome;
mod papers;
mod record;
mod report;
mod reproduce;
mod roofline;
mod runner;
#[allow(unsafe_code, reason = "the hand-written queue shares its slots between two threads")]
mod spsc;
mod text;
mod timeline;
mod trouble;
#[allow(unsafe_code, reason = "getrusage")]
mod usage;
mod verdict;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Parser, Subcommand};

use crate::catalogue::{Row, rows};
use crate::compare::CompareArguments;
use crate::contenders::external::baselines as baseline_job;
use crate::contenders::file::own as file_job;
use crate::contenders::process as process_job;
use crate::contenders::sort::job as sort_job;
use crate::corpus::Store;
use crate::grid::GridArguments;
use crate::options::Options;
use crate::reproduce::ReproduceArguments;

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
    /// Measures what published works measured, table by table and figure by figure, and holds their numbers beside it.
    ///
    /// What is measured goes to a record, row by row. A run that was stopped goes on from there: a row is not measured again
    /// if the record has it from this machine and this build, of the same size and with as many rounds.
    Reproduce(ReproduceArguments),
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
    /// Runs a contender once, without a clock; `run` starts it under Valgrind.
    #[command(hide = true, name = callgrind::COMMAND)]
    Once {
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
    #[command(flatten)]
    options: Options,
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
        Command::Reproduce(arguments) => {
            reproduce::run(&arguments, &print).map(|missed| ExitCode::from(u8::from(missed)))
        }
        Command::FileJob { job } => {
            file_job::run(&job).and_then(|reply| print(&(reply + "\n"))).map(|()| ExitCode::SUCCESS)
        }
        Command::BaselineJob { job } => baseline_job::run(&job).map(|()| ExitCode::SUCCESS),
        Command::ProcessJob { job } => process_job::run(&job).map(|()| ExitCode::SUCCESS),
        Command::Once { job } => callgrind::once(&job).map(|()| ExitCode::SUCCESS),
        Command::SortJob { job } => sort_job::run(&job).map(|()| ExitCode::SUCCESS),
    };
    result.unwrap_or_else(|message| {
        eprintln!("eagre-bench: {message}");
        ExitCode::from(2)
    })
}

/// Runs the rows that were asked for; an error is one line: what, where, why; cure.
fn run(arguments: &RunArguments, group: &str) -> Result<ExitCode, String> {
    arguments.options.with_store(|store| run_with(arguments, group, store))
}

fn run_with(arguments: &RunArguments, group: &str, store: &Arc<Store>) -> Result<ExitCode, String> {
    let rows = choose(group, &arguments.names, &arguments.contenders)?;
    let plan = arguments.options.plan(&arguments.contenders);
    let mut bench = arguments.options.bench(store)?;
    let mut run = options::begin();
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

/// Prints to standard output; a reader that went away is no trouble.
fn print(text: &str) -> Result<(), String> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => std::process::exit(0),
        result => result.map_err(|e| format!("output: {e}")),
    }
}
