//! `eagre check`: checks the order of records, and summarises them.

mod benchmark;
mod others;

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::console::Console;
use crate::exit::{Failure, Run};
use crate::formats::{Chosen, Formats};
use crate::inputs::{self, Argument};
use crate::message::Message;
use crate::progress::{Gauge, Progress};

const LONG: &str = "\
Check whether records are in order, and compute their checksum.

Without an option that names a format, a FILE holds records of the sort benchmark (sortbenchmark.org): 100 bytes, \
the first ten of which are the key. The output then has the figures of valsort. Other formats are records of any \
length, keys and values with a length between them, numbers, and lines of text.

The output has the number of records, of keys that equal the key before, and of keys that come before the key \
before, and the first record that is out of order, counted from 0. The checksum does not depend on the order of \
the records: for the sort benchmark, it is the sum of the CRC-32 of all records, otherwise the sum of their XXH3 of \
128 bits. So two files with the same number of records and the same checksum hold the same records. A last line \
without a newline equals one with it.

Several FILEs are parts of one file, in the given order. Files whose names end in .gz, .zst or .lz4 are \
decompressed. With no FILE, or when FILE is -, standard input is read.";

const AFTER: &str = "\
Examples:
  eagre check sorted.dat                       is the file in order?
  eagre check sorted.dat --against input.dat   does it also have the records of the input?
  eagre check part-*                           parts of one file
  eagre check --json sorted.dat | jq .checksum
  eagre check --lines -u words                 lines of text, each once
  eagre check --record 32 --key 8:i64 --key 0:8:desc b.bin
  eagre check --klv 10:4 b.klv                 keys of 10 bytes, lengths of 4
  eagre check --keys f64 --nan-last -r a.bin   numbers in descending order, NaN behind them

Exit status: 0 if the records are in order and, with --against, the same as the other files'; 1 if they are not; \
2 on error.";

/// Check whether records are in order, and which they are
#[derive(clap::Args)]
#[command(long_about = LONG, after_help = AFTER)]
pub(crate) struct Args {
    #[command(flatten)]
    formats: Formats,

    /// Check for descending order
    #[arg(short, long)]
    reverse: bool,

    /// Check that no key equals the key before
    #[arg(short, long)]
    unique: bool,

    /// Also check whether FILE has the same records, in any order. Several such FILEs are taken together
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    against: Vec<OsString>,

    /// Use at most N threads [default: as many as there are processors to use]
    #[arg(short = 'j', long, value_name = "N")]
    threads: Option<NonZeroUsize>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    /// Show no progress (it is shown only on a terminal, and only if the command takes long)
    #[arg(long)]
    no_progress: bool,

    /// Files to check; - is standard input
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    files: Vec<OsString>,
}

/// What is asked of records in another format than the sort benchmark's.
#[derive(Clone, Copy)]
struct Asked {
    reverse: bool,
    unique: bool,
    json: bool,
}

impl Args {
    pub(crate) fn run(self, console: &mut Console) -> Run {
        let format = self.formats.chosen("check", self.reverse)?.unwrap_or(Chosen::Gensort);
        let work = Work {
            parts: Argument::all(&self.files),
            against: self.against.iter().map(|file| Argument::of(file)).collect(),
            threads: self.threads.map_or(0, NonZeroUsize::get),
            silent: self.no_progress,
        };
        work.check_stdin()?;
        let asked = Asked { reverse: self.reverse, unique: self.unique, json: self.json };
        match format {
            Chosen::Gensort if asked.reverse || asked.unique => {
                let option = if asked.reverse { "--reverse" } else { "--unique" };
                let message = Message::new("check", option, "records of the sort benchmark ascend, with equal keys");
                Err(Failure::Trouble(message.cure(Some("use --record 100 --key 0:10, or name a format")).to_string()))
            }
            Chosen::Gensort => benchmark::run(&work, asked.json, console),
            Chosen::Fixed(format) => others::run(&format, &work, asked, console),
            Chosen::Klv(format) => others::run(&format, &work, asked, console),
            Chosen::Lines(format) => others::run(&format, &work, asked, console),
        }
    }
}

/// What to read, and how.
struct Work {
    parts: Vec<Argument>,
    against: Vec<Argument>,
    /// 0 means as many as there are processors to use.
    threads: usize,
    silent: bool,
}

impl Work {
    fn check_stdin(&self) -> Result<(), Failure> {
        if self.against.iter().any(Argument::is_stdin) && self.parts.iter().any(Argument::is_stdin) {
            let message =
                Message::new("check", "standard input", "it cannot be both the records and those of --against");
            return Err(Failure::Trouble(message.cure(Some("name a file")).to_string()));
        }
        Ok(())
    }

    fn watch(&self, console: &mut Console) {
        let all = || self.parts.iter().chain(&self.against);
        if !self.silent && !all().any(Argument::is_typed) {
            let sizes: Vec<_> = all().map(Argument::size).collect();
            console.watch(Progress::new("check", inputs::total_size(&sizes)));
        }
    }

    fn meter(&self, console: &Console) -> Meter {
        Meter { gauge: console.gauge(), before: AtomicU64::new(0) }
    }
}

/// Counts the bytes of all inputs together.
struct Meter {
    gauge: Gauge,
    before: AtomicU64,
}

impl Meter {
    /// The progress hook for each input.
    fn hook(&self) -> impl Fn(u64) -> ControlFlow<()> + Sync {
        |done| {
            self.gauge.advance(self.before.load(Relaxed).saturating_add(done));
            ControlFlow::Continue(())
        }
    }

    /// An input is done.
    fn done(&self, bytes: u64) {
        self.before.fetch_add(bytes, Relaxed);
    }
}
