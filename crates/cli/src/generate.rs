//! `eagre gen`: records of the sort benchmark, in a file that appears complete or not at all.

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
Make records of the sort benchmark (sortbenchmark.org).

A record has 100 bytes, the first ten of which are its key. They are those that gensort 1.5 makes, \
byte for byte: record number R is the same whatever was made before, so a large file can be made \
in parts, on several machines. OUT appears under its name when all of it is on the disk, and never if \
anything fails or the command is stopped.";

const AFTER: &str = "\
Examples:
  eagre gen 10000000 b.dat                    a gigabyte of binary records
  eagre gen --ascii 10000000 b.txt            the same as lines of printable characters
  eagre gen --first 10000000 10000000 c.dat   the next gigabyte
  eagre gen 1000000 | eagre check             made and checked, without a file

Exit status: 0, or 2 in case of trouble.";

/// Make records of the sort benchmark
#[derive(clap::Args)]
#[command(long_about = LONG, after_help = AFTER)]
pub(crate) struct Args {
    /// How many records
    #[arg(value_name = "RECORDS")]
    records: u64,

    /// Where they go; - is standard output
    #[arg(value_name = "OUT", default_value = "-", value_hint = clap::ValueHint::AnyPath)]
    output: OsString,

    /// Make lines of printable characters, ended by carriage return and newline (gensort -a)
    #[arg(short, long)]
    ascii: bool,

    /// Make keys of which many begin alike (gensort -s)
    #[arg(short, long)]
    skew: bool,

    /// Begin with record number R (gensort -b)
    #[arg(short = 'b', long, value_name = "R", default_value_t = 0)]
    first: u128,

    /// Use at most so many threads [default: as many as there are processors to use]
    #[arg(short = 'j', long, value_name = "N")]
    threads: Option<NonZeroUsize>,

    /// Show no progress (it is shown only on a terminal, and only if it takes long)
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
