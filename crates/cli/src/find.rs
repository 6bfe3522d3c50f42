//! `eagre find`: the occurrences of byte strings, as `grep -F -o` finds them.
//!
//! Options and output follow `grep`, so that scripts can switch between the two. There are three intended differences:
//!
//! - Files are bytes, not lines. So `-c` and `-m` count occurrences, a pattern may contain newlines, and no file is
//!   treated as binary.
//! - An empty pattern is an error. With `grep` it matches everywhere.
//! - Names with newlines are quoted, unless `-Z` ends them with a NUL.

mod output;
mod patterns;

use std::fs::{File, Metadata};
use std::io;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;

use clap::ArgAction;
use eagre::find::{Finder, Join, Match};
use eagre::scan::Scanner;

use self::output::Output;
use self::patterns::Wanted;
use crate::console::Console;
use crate::exit::{Exit, Failure, Run};
use crate::inputs::{self, Argument, Sources};
use crate::message::Message;
use crate::progress::Progress;

const LONG: &str = "\
Find byte strings in files.

Prints each occurrence on a line of its own, as 'grep -F -o' does. The line begins with the name of the file if there are \
several files, and with the offset if -b is given. Files are searched from left to right, and occurrences do not overlap. \
Where several patterns begin at the same byte, the longest is found. Patterns are bytes, not regular expressions. Files \
are bytes, not lines: a pattern may contain newlines, and -c and -m count occurrences, not lines. With no FILE, or when \
FILE is -, standard input is read.";

const AFTER: &str = "\
Examples:
  eagre find -b needle haystack.txt         offset and text of each occurrence
  eagre find -c error *.log                 number of occurrences in each file
  eagre find -q -i todo main.rs && echo yes only the exit status
  eagre find -f words.txt book.txt          any of many words, one per line of words.txt
  eagre find --hex '89 50 4e 47' -b disk.img
  eagre find $'\\r\\n' -m 1 -l *.txt          files with DOS line ends

Exit status: 0 if something was found, 1 if not, 2 if a file could not be read to its end (unless -q has found \
something). For such a file, the occurrences before the error are printed, and no count.";

/// Find byte strings in files
#[derive(clap::Args)]
#[command(
    long_about = LONG,
    after_help = AFTER,
    disable_help_flag = true,
    override_usage = "eagre find [OPTIONS] PATTERN [FILE]...\n       eagre find [OPTIONS] -e PATTERN|-f FILE|--hex HEX... [FILE]..."
)]
pub(crate) struct Args {
    #[command(flatten)]
    patterns: Wanted,

    /// Ignore case (of ASCII letters)
    #[arg(short, long)]
    ignore_case: bool,

    /// Print only the number of occurrences (not of lines)
    #[arg(short, long)]
    count: bool,

    /// Stop after N occurrences in each file
    #[arg(short, long, value_name = "N")]
    max_count: Option<u64>,

    /// Print the offset of each occurrence in bytes, from 0
    #[arg(short, long)]
    byte_offset: bool,

    /// Print only the names of files with at least one occurrence
    #[arg(short = 'l', long)]
    files_with_matches: bool,

    /// Print nothing and stop at the first occurrence; only the exit status tells the result
    #[arg(short, long)]
    quiet: bool,

    /// Print the name of the file with each result
    #[arg(short = 'H', long, overrides_with = "no_filename")]
    with_filename: bool,

    /// Print no file names
    #[arg(short = 'h', long, overrides_with = "with_filename")]
    no_filename: bool,

    /// End file names with a NUL byte
    #[arg(short = 'Z', long)]
    null: bool,

    /// Print each result as a JSON object on a line of its own
    #[arg(long)]
    json: bool,

    /// Use at most N threads [default: as many as there are processors to use]
    #[arg(short = 'j', long, value_name = "N")]
    threads: Option<NonZeroUsize>,

    /// Show no progress (it is shown only on a terminal, and only if searching takes long)
    #[arg(long)]
    no_progress: bool,

    /// Print help
    #[arg(long, action = ArgAction::Help)]
    help: Option<bool>,

    #[command(flatten)]
    sources: Sources,
}

impl Args {
    pub(crate) fn run(mut self, console: &mut Console) -> Run {
        if let Some(file) = self.patterns.take_misplaced_file() {
            self.sources.put_first("find", file)?;
        }
        let finder = self.patterns.finder(self.ignore_case)?;
        let inputs = self.sources.list("find")?;
        let sizes: Vec<_> = inputs.iter().map(Argument::size).collect();
        if !self.no_progress && !inputs.iter().any(Argument::is_typed) {
            console.watch(Progress::new("find", inputs::total_size(&sizes)));
        }
        let mut hunt = Hunt {
            finder: &finder,
            scanner: Scanner::new().threads(self.threads.map_or(0, NonZeroUsize::get)),
            names_only: self.quiet || self.files_with_matches,
            counting: self.count,
            limit: self.max_count.unwrap_or(u64::MAX),
            before: 0,
            console,
        };
        let prints_matches = !(hunt.counting || hunt.names_only);
        let shows_names = (inputs.len() > 1 || self.with_filename) && !self.no_filename;
        let mut exit = Exit::No;
        for input in &inputs {
            if prints_matches && input.metadata().is_ok_and(|metadata| is_standard_output(&metadata)) {
                let message = Message::new("find", input.place(), "the results are written to it");
                hunt.console.complain(&message.cure(Some("write them elsewhere")).to_string());
                continue;
            }
            let mut output = Output::new(input, shows_names || self.files_with_matches, self.null, self.json);
            output.offsets(self.byte_offset);
            let Some(Known { found, count }) = hunt.search(input, &mut output)? else { continue };
            if found {
                exit = Exit::Yes;
            }
            match (self.quiet, self.files_with_matches, self.count, count) {
                (true, ..) if found => {
                    hunt.console.pardon();
                    return Ok(exit);
                }
                (false, true, ..) if found => output.name(),
                (false, false, true, Some(count)) => output.count(count),
                _ => {}
            }
            output.flush(hunt.console)?;
        }
        Ok(exit)
    }
}

/// The search through all inputs.
struct Hunt<'a> {
    finder: &'a Finder<'a>,
    scanner: Scanner<'a>,
    /// Whether one occurrence is enough.
    names_only: bool,
    counting: bool,
    limit: u64,
    /// The size of the inputs that are done.
    before: u64,
    console: &'a mut Console,
}

impl Hunt<'_> {
    /// Searches one input and returns the result, or `None` if the input cannot be opened. Prints the occurrences, if they
    /// are wanted, up to where the input can be read.
    fn search(&mut self, input: &Argument, output: &mut Output) -> Result<Option<Known>, Failure> {
        let quiet = self.counting || self.names_only;
        let opened = match input.open_scan() {
            Ok(opened) => opened,
            Err(error) => {
                self.console.complain(&Message::from_io("find", input.place(), &error).to_string());
                return Ok(None);
            }
        };
        let mut search = self.finder.search().limit(if self.names_only { self.limit.min(1) } else { self.limit });
        if quiet {
            search = search.counting();
        }
        let mut join = Join::new(&search);
        let mut printed = Ok(());
        let console = &mut *self.console;
        let mut done = 0;
        let scanned = self.scanner.input(opened, &search, |end, part| {
            done = end;
            console.advance(self.before.saturating_add(end));
            let flow = join.part(part, |found| print(found, output, console, &mut printed));
            // Results from a pipe must be visible as soon as they arrive.
            if printed.is_ok() {
                printed = output.flush(console);
            }
            if printed.is_err() { ControlFlow::Break(()) } else { flow }
        });
        printed?;
        let searched = scanned.map_err(io::Error::from).and_then(|_| join.check());
        self.before = self.before.saturating_add(done);
        if let Err(error) = searched {
            output.flush(console)?;
            console.complain(&Message::from_io("find", input.place(), &error).to_string());
            // A match at the last seam is not certain without the bytes that follow.
            return Ok(Some(Known { found: join.count() > 0, count: None }));
        }
        let mut printed = Ok(());
        let count = join.finish(|found| print(found, output, console, &mut printed));
        printed?;
        Ok(Some(Known { found: count > 0, count: Some(count) }))
    }
}

/// The result for an input.
struct Known {
    found: bool,
    /// The number of occurrences. `None` if the input could not be read to its end.
    count: Option<u64>,
}

/// Prints one occurrence.
fn print(
    found: Match<'_>,
    output: &mut Output,
    console: &mut Console,
    printed: &mut Result<(), Failure>,
) -> ControlFlow<()> {
    output.found(found);
    if output.is_full() {
        *printed = output.flush(console);
    }
    if printed.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// Whether the input is also standard output. Such a search would never end.
fn is_standard_output(input: &Metadata) -> bool {
    let output = io::stdout().as_fd().try_clone_to_owned().and_then(|output| File::from(output).metadata());
    output.is_ok_and(|output| output.is_file() && (output.dev(), output.ino()) == (input.dev(), input.ino()))
}
