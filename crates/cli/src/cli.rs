//! The subcommands, and the steps from arguments to an exit code.
//!
//! This is the top module of the command: it imports the others, and none imports it.

use std::ffi::OsStr;
use std::process::ExitCode;

use clap::{Args as _, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::console::Console;
use crate::exit::{Exit, Failure, Run};
use crate::{
    check, completions, copy, count, doctor, find, gather, generate, id, man, partition, receive, send, sort, stats,
    usage,
};

const ABOUT: &str = "One plain pointer to data larger than memory";

const LONG_ABOUT: &str = "\
One plain pointer to data larger than memory.

Eagre is a library of streams that look like arrays: a program reads or writes one long range of \
addresses, and page faults move a few blocks of memory along underneath. This command makes the library's tools \
available in a shell: it counts, searches, aggregates, copies, sends, sorts and partitions files, and reports what Eagre can \
do on this machine.";

const AFTER: &str = "\
Examples:
  eagre count access.log          count the lines and bytes of a file
  eagre count -l big.gz           count the lines in a compressed file
  zcat big.gz | eagre count -l    count lines from a pipe
  eagre copy --verify a /mnt/b    make a copy that is complete or absent, and verify it
  eagre receive photos            wait for files from this machine (--listen for others)
  eagre send a b host             send files to a host where 'eagre receive' waits
  eagre find -b needle hay.bin    print where a byte string occurs
  eagre sort --keys u64 a -o b    sort 64-bit numbers
  eagre stats key-value.txt       print minimum, mean and maximum per key
  eagre doctor                    show what works on this machine, and cures for what does not
  eagre help count                show the help of one command

Exit status: 0 on success, 1 if the answer to a question is no (such as 'find' without an occurrence), 2 on error.";

/// The command line of `eagre`.
#[derive(Parser)]
#[command(
    name = "eagre",
    version,
    about = ABOUT,
    long_about = LONG_ABOUT,
    after_help = AFTER,
    subcommand_required = true,
    arg_required_else_help = true
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// The subcommands. Each is described at its `Args`.
#[derive(Subcommand)]
enum Command {
    Count(count::Args),
    Copy(copy::Args),
    Send(send::Args),
    Receive(receive::Args),
    Id(id::Args),
    Find(find::Args),
    Sort(sort::Args),
    Gather(gather::Args),
    Partition(partition::Args),
    Stats(stats::Args),
    Gen(generate::Args),
    Check(check::Args),
    Doctor(doctor::Args),
    Completions(completions::Args),
    Man(man::Args),
}

impl Command {
    /// Runs the command, which the first argument names. An invalid value in the environment is an error, whether or not
    /// this command would use the variable.
    fn start(self, name: Option<&OsStr>, console: &mut Console) -> Run {
        // `doctor` shows the environment, including invalid values.
        if !matches!(self, Command::Doctor(_) | Command::Completions(_) | Command::Man(_)) {
            eagre::check_environment().map_err(|why| {
                let name = name.map_or_else(String::new, |name| name.to_string_lossy().into_owned());
                Failure::Trouble(format!("eagre: {name}: {why}"))
            })?;
        }
        self.run(console)
    }

    fn run(self, console: &mut Console) -> Run {
        match self {
            Command::Count(args) => args.run(console),
            Command::Copy(args) => args.run(console),
            Command::Send(args) => args.run(console),
            Command::Receive(args) => args.run(console),
            Command::Id(args) => args.run(console),
            Command::Find(args) => args.run(console),
            Command::Sort(args) => args.run(console),
            Command::Gather(args) => args.run(console),
            Command::Partition(args) => args.run(console),
            Command::Stats(args) => args.run(console),
            Command::Gen(args) => args.run(console),
            Command::Check(args) => args.run(console),
            Command::Doctor(args) => args.run(console),
            Command::Completions(args) => args.run(command(), console),
            Command::Man(args) => args.run(command(), console),
        }
    }
}

/// The whole command line, for parsing, help, completions and manual pages.
fn command() -> clap::Command {
    // As in other tools, the last of several contradicting or repeated options counts. This helps with aliases.
    Cli::command().mut_subcommands(|command| command.args_override_self(true))
}

/// The part of the command line that parses the arguments of the command `first`. Building the options of all commands
/// takes as long as counting a small file. `None` if `first` is not one of these commands.
fn command_of(first: Option<&OsStr>) -> Option<clap::Command> {
    type Augment = fn(clap::Command) -> clap::Command;
    let (name, augment): (&'static str, Augment) = match first?.to_str()? {
        "count" => ("count", count::Args::augment_args),
        "copy" => ("copy", copy::Args::augment_args),
        "send" => ("send", send::Args::augment_args),
        "receive" => ("receive", receive::Args::augment_args),
        "id" => ("id", id::Args::augment_args),
        "find" => ("find", find::Args::augment_args),
        "sort" => ("sort", sort::Args::augment_args),
        "gather" => ("gather", gather::Args::augment_args),
        "partition" => ("partition", partition::Args::augment_args),
        "stats" => ("stats", stats::Args::augment_args),
        "gen" => ("gen", generate::Args::augment_args),
        "check" => ("check", check::Args::augment_args),
        _ => return None,
    };
    let one = augment(clap::Command::new(name)).args_override_self(true);
    Some(clap::Command::new("eagre").subcommand_required(true).subcommand(one))
}

fn parse(first: Option<&OsStr>) -> Result<Cli, clap::Error> {
    let parse = |command: clap::Command| command.try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches));
    match command_of(first).map(parse) {
        Some(Ok(cli)) => Ok(cli),
        // Help and error messages need the whole command line.
        _ => parse(command()),
    }
}

/// Runs the command that the arguments ask for.
pub(crate) fn main() -> ExitCode {
    let mut console = Console::new();
    let first = std::env::args_os().nth(1);
    let run = match parse(first.as_deref()) {
        Ok(cli) => cli.command.start(first.as_deref(), &mut console),
        Err(error) => usage::explain(&error, first.as_deref(), command, &mut console),
    };
    let run = run.and_then(|exit| console.flush().map(|()| exit));
    let exit = match run {
        Ok(exit) => exit,
        Err(Failure::Unheard) => Exit::Yes,
        Err(Failure::Trouble(line)) => {
            console.complain(&line);
            Exit::Trouble
        }
    };
    let exit = if console.complained() { Exit::Trouble } else { exit };
    ExitCode::from(exit as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(arguments: &[&str]) -> String {
        let first = arguments.get(1).map(OsStr::new);
        usage::one_line(&command().try_get_matches_from(arguments).unwrap_err(), first, command)
    }

    #[test]
    fn values_that_cannot_be_taken_point_to_the_command() {
        for (arguments, said) in [
            (&["eagre", "count", "-j0"][..], "count: invalid value '0' for '--threads <N>': it must be at least 1"),
            (&["eagre", "find", "-m", "x"], "find: invalid value 'x' for '--max-count <N>': not a whole number"),
            (
                &["eagre", "stats", "-k", "0"],
                "stats: invalid value '0' for '--key <COLUMN>': columns are counted from 1",
            ),
            (
                &["eagre", "partition", "--keys", "x"],
                "partition: invalid value 'x' for '--keys <TYPE>', [possible values: u8, i8, u16, i16, u32, i32, f32, \
                 u64, i64, f64, u32:u32, u64:u64]",
            ),
        ] {
            let line = explained(arguments);
            assert_eq!(line, format!("eagre: usage: {said}; see 'eagre {} --help'", arguments[1]));
        }
        // This error comes first, even if other arguments are missing.
        assert_eq!(
            explained(&["eagre", "partition", "--keys", "u128"]),
            "eagre: partition: --keys: keys of u128 can be sorted, but not partitioned; name a type of up to 64 bits, or pairs"
        );
    }

    #[test]
    fn one_line_for_every_mistake() {
        assert_eq!(
            explained(&["eagre", "count", "--byte"]),
            "eagre: usage: count: unexpected argument '--byte' found, a similar argument exists: '--bytes'; \
             see 'eagre count --help'"
        );
        for wrong in [
            &["eagre", "cuont"][..],
            &["eagre", "--wrong"],
            &["eagre", "count", "--total=perhaps"],
            &["eagre", "count", "--total"],
            &["eagre", "completions"],
            &["eagre", "completions", "a\nb"],
        ] {
            let line = explained(wrong);
            assert!(line.starts_with("eagre: usage: "), "{line}");
            assert!(line.contains("; see 'eagre"), "{line}");
            assert!(!line.contains('\n'), "{line}");
        }
    }

    #[test]
    fn the_command_line_is_well_formed() {
        command().debug_assert();
    }
}
