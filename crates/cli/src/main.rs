//! The `eagre` command: a thin front end of the Eagre library.
//!
//! The command contains no logic of its own. The work of a subcommand is a library function. Its file here only handles
//! the arguments, the output and the messages.
//!
//! | file | holds |
//! |---|---|
//! | `check.rs`, `copy.rs`, `count.rs`, `doctor.rs`, `find.rs`, `gather.rs`, `generate.rs`, `id.rs`, `partition.rs`, `receive.rs`, `send.rs`, `sort.rs`, `stats.rs`, `completions.rs`, `man.rs` | one subcommand each |
//! | [`cli`] | the list of subcommands, and the steps from arguments to an exit code |
//! | [`exit`] | how a command ends: exit codes and failures |
//! | [`usage`] | wrong arguments, help and version |
//! | [`console`] | everything that is printed; silent when the reader has gone |
//! | [`process`] | signals and limits of the process |
//! | [`message`] | one-line messages: what, where, why, cure |
//! | [`explain`] | the output of `--explain` |
//! | [`inputs`] | FILE arguments and standard input |
//! | [`target`] | the file that a command writes, or standard output |
//! | [`formats`] | the arguments that say what a file holds |
//! | [`network`] | the arguments of streams between hosts, and what a transfer reports |
//! | [`keys`] | files of keys: their type, and the memory for them |
//! | [`name`], [`units`], [`phase`], [`progress`] | names, sizes, speeds and progress in readable form |
//!
//! A module uses only modules on lines below its own:
//!
//! ```text
//! cli
//! check · copy · count · doctor · find · gather · generate · id · partition · receive · send · sort · stats · completions · man
//! formats · network
//! keys
//! device · explain · target · usage · phase
//! inputs
//! console · process
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
mod device;
mod doctor;
mod exit;
mod explain;
mod find;
mod formats;
mod gather;
mod generate;
mod id;
mod inputs;
mod keys;
mod man;
mod message;
mod name;
mod network;
mod partition;
mod phase;
mod process;
mod progress;
mod receive;
mod send;
mod sort;
mod stats;
mod target;
mod units;
mod usage;

use eagre_mem::fatal::FatalHeap;

/// A piece of the heap that is refused is an error like others.
#[global_allocator]
static HEAP: FatalHeap = FatalHeap::new(
    "eagre: no memory left; raise 'ulimit -v', or use a machine with more memory",
    exit::Exit::Trouble as i32,
);

fn main() -> std::process::ExitCode {
    HEAP.share_if_addresses_are_limited();
    process::end_where_stacks_are_refused(&HEAP);
    cli::main()
}
