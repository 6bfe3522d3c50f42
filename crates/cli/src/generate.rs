//! `eagre gen`: generates test data. The file is complete or absent.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::ops::{ControlFlow, RangeInclusive};
use std::str::FromStr;

use clap::ValueEnum;
use eagre::gensort::{Generator, RECORD};
use eagre::records::{Klv, Lines, TestData};

use crate::console::Console;
use crate::exit::{Exit, Failure, Run};
use crate::keys::KeyType;
use crate::message::{self, Message};
use crate::progress::Progress;
use crate::target::Target;

const LONG: &str = "\
Generate test data: records of the sort benchmark (sortbenchmark.org), or another format.

A record of the sort benchmark has 100 bytes, the first ten of which are its key. The records equal those of \
gensort 1.5, byte for byte. Record number R does not depend on other records, so a large file can be generated in \
parts, on several machines.

The other formats are random, and depend on --seed only. With --dist zipf, some keys occur often: of as many \
possible keys as there are records, the k-th most frequent has a probability in proportion to 1/k.

OUT appears under its name when all of it is on the disk. It never appears if anything fails or the command is \
killed.";

const AFTER: &str = "\
Examples:
  eagre gen 10000000 b.dat                    a gigabyte of binary records
  eagre gen --ascii 10000000 b.txt            the same number of text records
  eagre gen --first 10000000 10000000 c.dat   the next gigabyte
  eagre gen 1000000 | eagre check             generate and check, without a file
  eagre gen 1000000 --record 32 r.bin         records of 32 bytes
  eagre gen 1000000 --klv 10:90 v.klv         keys of 10 bytes, values of 90
  eagre gen 1000000 --klv 10:10..1000:2be w   values of 10 to 1000, lengths of 2 bytes
  eagre gen 1000000 --keys f64 f.bin          numbers
  eagre gen 1000000 --lines --dist zipf t     lines of text, many of them repeated

Exit status: 0 on success, 2 on error.";

/// Generate records of the sort benchmark, or other test data
#[derive(clap::Args)]
#[command(long_about = LONG, after_help = AFTER)]
pub(crate) struct Args {
    /// The number of records
    #[arg(value_name = "RECORDS")]
    records: u64,

    /// The output file; - is standard output
    #[arg(value_name = "OUT", default_value = "-", value_hint = clap::ValueHint::AnyPath)]
    output: OsString,

    /// Generate records of the sort benchmark, which is the default
    #[arg(long, group = "format")]
    gensort: bool,

    /// Generate records of printable characters that end with a carriage return and a newline (gensort -a)
    #[arg(short, long, conflicts_with_all = OTHERS)]
    ascii: bool,

    /// Generate skewed keys, many of which have a common prefix (gensort -s)
    #[arg(short, long, conflicts_with_all = OTHERS)]
    skew: bool,

    /// Start with record number R (gensort -b)
    #[arg(short = 'b', long, value_name = "R", default_value_t = 0, conflicts_with_all = OTHERS)]
    first: u128,

    /// Generate records of LEN random bytes, of which the first ten are meant as the key
    #[arg(long, value_name = "LEN", group = "format")]
    record: Option<NonZeroUsize>,

    /// Generate keys of KEY bytes, each followed by the length of its value and a value of VALUE bytes, or MIN..MAX. The length has 4 bytes, least significant first, unless another number of bytes follows, and 'be': 10:90, 10:10..1000, 8:0..200:2be
    #[arg(long, value_name = "KEY:VALUE[:LENBYTES]", group = "format")]
    klv: Option<KeyValue>,

    /// Generate numbers of TYPE, least significant byte first; floating-point numbers are from -1 to 1. The second part of a pair is its number in the file
    #[arg(long, value_name = "TYPE", group = "format")]
    keys: Option<KeyType>,

    /// Generate lines of words, of 8 to 120 characters
    #[arg(long, group = "format")]
    lines: bool,

    /// End lines with a NUL instead of a newline
    #[arg(short, long, requires = "lines")]
    zero_terminated: bool,

    /// How often keys occur; for lines, the line is the key
    #[arg(long, value_name = "DIST", default_value = "uniform", conflicts_with_all = BENCHMARK)]
    dist: Distribution,

    /// Generate other data; the same seed makes the same data
    #[arg(long, value_name = "S", default_value_t = 0, conflicts_with_all = BENCHMARK)]
    seed: u64,

    /// Use at most N threads [default: as many as there are processors to use]
    #[arg(short = 'j', long, value_name = "N")]
    threads: Option<NonZeroUsize>,

    /// Show no progress (it is shown only on a terminal, and only if the command takes long)
    #[arg(long)]
    no_progress: bool,
}

/// The formats that are not the sort benchmark's.
const OTHERS: [&str; 4] = ["record", "klv", "keys", "lines"];

/// The options of the sort benchmark's.
const BENCHMARK: [&str; 4] = ["gensort", "ascii", "skew", "first"];

/// How often keys occur.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Distribution {
    /// All are equally likely
    Uniform,
    /// Some are frequent, most are rare
    Zipf,
}

/// Keys and values of some length.
#[derive(Clone, Debug)]
struct KeyValue {
    format: Klv,
    values: RangeInclusive<u64>,
}

impl FromStr for KeyValue {
    type Err = String;

    fn from_str(text: &str) -> Result<KeyValue, String> {
        let wrong = || format!("'{text}' is not KEY:VALUE, such as 10:90, 10:10..1000 or 10:90:2be");
        let (key, value) = text.split_once(':').ok_or_else(wrong)?;
        let (value, length) = value.split_once(':').unwrap_or((value, "4"));
        let number = |text: &str| text.parse::<u64>().map_err(|_| wrong());
        let values = match value.split_once("..") {
            Some((least, most)) => number(least)?..=number(most.strip_prefix('=').unwrap_or(most))?,
            None => number(value)?..=number(value)?,
        };
        let format: Klv = format!("{key}:{length}").parse().map_err(|why: String| match why.starts_with('\'') {
            true => wrong(),
            false => why,
        })?;
        // Whether they fit.
        TestData::klv(format, values.clone())?;
        Ok(KeyValue { format, values })
    }
}

impl Args {
    pub(crate) fn run(self, console: &mut Console) -> Run {
        let target = Target::named(&self.output);
        if !self.ascii && !self.lines {
            target.check_terminal("gen", "binary records", "name a file, or use --ascii or --lines")?;
        }
        let data = self.data()?;
        if !self.no_progress {
            let bytes = if data.is_none() { self.records.checked_mul(RECORD as u64) } else { None };
            console.watch(Progress::new("gen", bytes));
        }
        let gauge = console.gauge();
        let advance = |done| {
            gauge.advance(done);
            ControlFlow::Continue(())
        };
        let threads = self.threads.map_or(0, NonZeroUsize::get);
        let output = target.open().map_err(|error| target.failure("gen", &error))?;
        let direct = output.is_direct();
        let made = match data {
            Some(data) => data.threads(threads).progress(&advance).output(output, target.place(), self.records),
            None => {
                let generator = Generator::new().ascii(self.ascii).skewed(self.skew).threads(threads);
                generator.progress(&advance).output(output, target.place(), self.first, self.records)
            }
        };
        made.map_err(|error| match error.kind() {
            std::io::ErrorKind::BrokenPipe if direct => Failure::Unheard,
            _ => Failure::Trouble(message::of_file(&error)),
        })?;
        Ok(Exit::Yes)
    }

    /// Data in another format than the sort benchmark's.
    fn data<'a>(&self) -> Result<Option<TestData<'a>>, Failure> {
        let data = if let Some(size) = self.record {
            TestData::fixed(size.get())
        } else if let Some(KeyValue { format, values }) = &self.klv {
            TestData::klv(*format, values.clone())
        } else if let Some(keys) = self.keys {
            TestData::numbers(&keys.name())
        } else if self.lines {
            Ok(TestData::lines(Lines::ended_by(if self.zero_terminated { 0 } else { b'\n' })))
        } else if self.dist == Distribution::Zipf || self.seed != 0 {
            let option = if self.seed == 0 { "--dist" } else { "--seed" };
            let message = Message::new("gen", option, "records of the sort benchmark are the same everywhere");
            let cure = "name another format (--record, --klv, --keys, --lines), or use --skew or --first";
            return Err(Failure::Trouble(message.cure(Some(cure)).to_string()));
        } else {
            return Ok(None);
        };
        let data = data.map_err(|why| Failure::Trouble(Message::new("gen", "arguments", why).to_string()))?;
        Ok(Some(data.zipf(self.dist == Distribution::Zipf).seed(self.seed)))
    }
}
