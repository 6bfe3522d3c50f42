//! The `eagre` command: a thin front end of the Eagre library.
//!
//! Arguments in, messages out, no logic: what a subcommand does is a library function, and its file here
//! only says how people ask for it and how the answer looks.
//!
//! | file | holds |
//! |---|---|
//! | `check.rs`, `copy.rs`, `count.rs`, `doctor.rs`, `find.rs`, `generate.rs`, `partition.rs`, `sort.rs`, `stats.rs`, `completions.rs`, `man.rs` | one subcommand each |
//! | [`cli`] | the list of subcommands, and the way from arguments to an exit code |
//! | [`exit`] | how a command ends: exit codes, and why one cannot go on |
//! | [`usage`] | wrong arguments, help and version |
//! | [`console`] | everything that is printed; quiet when nobody listens |
//! | [`message`] | one-line messages: what, where, why, cure |
//! | [`explain`] | what `--explain` says |
//! | [`inputs`] | FILE arguments and standard input |
//! | [`target`] | the file a command makes, or standard output |
//! | [`keys`] | files of keys: which type, is there memory for them |
//! | [`name`], [`units`], [`phase`], [`progress`] | names, sizes, speeds and long waits as people want to see them |
//!
//! A module uses only modules on lines below its own:
//!
//! ```text
//! cli
//! check · copy · count · doctor · find · generate · partition · sort · stats · completions · man
//! keys
//! explain · target · usage · phase
//! inputs
//! console
//! exit · message · name · progress
//! units
//! ```
//!
//! A new subcommand is a new file with an `Args` struct and its `run`, and four lines in [`cli`].
#![forbid(unsafe_code)]

mod check;
mod cli;
mod completions;
mod console;
mod copy;
mod count;
mod doctor;
mod exit;
mod explain;
mod find;
mod generate;
mod inputs;
mod keys;
mod man;
mod message;
mod name;
mod partition;
mod phase;
mod progress;
mod sort;
mod stats;
mod target;
mod units;
mod usage;

fn main() -> std::process::ExitCode {
    cli::main()
}
