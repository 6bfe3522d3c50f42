//! `eagre gen`: generates records of the sort benchmark. The file is complete or absent.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;

use eagre::gensort::{Generator, RECORD};

use crate::console::Console;
use crate::exit::{Exit, Failure, Run};
use crate::message;
use crate::progress::Progress;
use crate::target::Target;

const LONG: &str = "\
Generate records of the sort benchmark (sortbenchmark.org).

A record has 100 bytes, the first ten of which are its key. The records equal those of gensort 1.5, byte for \
byte. Record number R does not depend on other records, so a large file can be generated in parts, on several \
machines. OUT appears under its name when all of it is on the disk. It never appears if anything fails or the \
command is killed.";

const AFTER: &str = "\
Examples:
  eagre gen 10000000 b.dat                    a gigabyte of binary records
  eagre gen --ascii 10000000 b.txt            the same number of text records
  eagre gen --first 10000000 10000000 c.dat   the next gigabyte
  eagre gen 1000000 | eagre check             generate and check, without a file

Exit status: 0 on success, 2 on error.";

/// Generate records of the sort benchmark
#[derive(clap::Args)]
#[command(long_about = LONG, after_help = AFTER)]
pub(crate) struct Args {
    /// The number of records
    #[arg(value_name = "RECORDS")]
    records: u64,

    /// The output file; - is standard output
    #[arg(value_name = "OUT", default_value = "-", value_hint = clap::ValueHint::AnyPath)]
    output: OsString,

    /// Generate records of printable characters that end with a carriage return and a newline (gensort -a)
    #[arg(short, long)]
    ascii: bool,

    /// Generate skewed keys, many of which have a common prefix (gensort -s)
    #[arg(short, long)]
    skew: bool,

    /// Start with record number R (gensort -b)
    #[arg(short = 'b', long, value_name = "R", default_value_t = 0)]
    first: u128,

    /// Use at most N threads [default: as many as there are processors to use]
    #[arg(short = 'j', long, value_name = "N")]
    threads: Option<NonZeroUsize>,

    /// Show no progress (it is shown only on a terminal, and only if the command takes long)
    #[arg(long)]
    no_progress: bool,
}

impl Args {
    pub(crate) fn run(self, console: &mut Console) -> Run {
        let target = Target::named(&self.output);
        if !self.ascii {
            target.check_terminal("gen", "binary records", "name a file, or use --ascii")?;
        }
        if !self.no_progress {
            console.watch(Progress::new("gen", self.records.checked_mul(RECORD as u64)));
        }
        let gauge = console.gauge();
        let advance = |done| {
            gauge.advance(done);
            ControlFlow::Continue(())
        };
        let threads = self.threads.map_or(0, NonZeroUsize::get);
        let generator = Generator::new().ascii(self.ascii).skewed(self.skew).threads(threads).progress(&advance);
        let output = target.open().map_err(|error| target.failure("gen", &error))?;
        let direct = output.is_direct();
        generator.output(output, target.place(), self.first, self.records).map_err(|error| match error.kind() {
            std::io::ErrorKind::BrokenPipe if direct => Failure::Unheard,
            _ => Failure::Trouble(message::of_file(&error)),
        })?;
        Ok(Exit::Yes)
    }
}
