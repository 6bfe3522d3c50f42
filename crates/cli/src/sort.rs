//! `eagre sort`: sorts files of any size: lines, records, keys with values, numbers.
//!
//! The output appears complete or not at all, so nothing is lost whatever happens, even if the output replaces an input.

mod compress;
mod gnu;
mod numbers;
mod outcome;
mod records;
mod report;
mod text;

use std::ffi::OsString;
use std::num::NonZeroUsize;

use eagre::device::Model;
use eagre::external::{Concurrency, Plan};
use eagre::options;

use crate::console::Console;
use crate::exit::{Failure, Run};
use crate::formats::Kind;
use crate::inputs::Sources;
use crate::process;
use crate::target::Target;

const LONG: &str = "\
Sort files of any size, or check whether they are in order.

Without another format, a FILE holds lines, which are ordered as LC_ALL=C sort orders them. All \
records of all FILEs are sorted together. With no FILE, or when FILE is -, standard input is read. \
Numbers of --keys have their least significant byte first, as numpy's tofile writes them; \
floating-point numbers are in their total order: -NaN, -infinity, negative numbers, -0, 0, positive \
numbers, infinity, NaN; with --nan-last, all NaN come last.

Files may be larger than memory: then sorted runs go to temporary files (-T), and are merged. OUT \
appears only when all of it is on the disk, and never if anything fails or the command is killed. \
So OUT may be one of the FILEs.";

const AFTER: &str = "\
Examples:
  eagre sort a.txt -o sorted.txt              lines, in the order of their bytes
  eagre sort -t, -k2,2n a.csv -o a.csv        by the second field as a number, in place
  eagre sort -u --memory 1G a b c -o all      each line of three files once
  eagre sort -rn --head 100 sizes.txt         the 100 largest numbers
  eagre sort --record 32 -k 8:i64 a -o b      records of 32 bytes, by a number at byte 8
  eagre sort --klv 10:4 a -o b                a key of 10 bytes, a length of 4 bytes, the value
  eagre sort --gensort b.dat -o s.dat         records of the sort benchmark
  eagre sort --keys u64 a.bin -o a.bin        an array of numbers, in its own place
  eagre sort --keys f64 -r --nan-last a -o b  the largest first, NaN behind all numbers
  eagre sort --keys i64 --check a && echo ok  is it in order?
  eagre sort --compress zst a.gz -o b.zst     from a compressed file to another
  generate | eagre sort --explain | use       from a pipe to a pipe

Exit status: 0, or 1 if --check finds a record out of order, or 2 in case of trouble.";

/// Sort lines, records or numbers of any size
#[derive(clap::Args)]
#[command(long_about = LONG, after_help = AFTER)]
pub(crate) struct Args {
    #[command(flatten)]
    kind: Kind,

    #[command(flatten)]
    text: text::TextArgs,

    #[command(flatten)]
    gnu: gnu::GnuArgs,

    /// Write the result to OUT, complete or not at all [default: standard output]
    #[arg(short, long, value_name = "OUT", value_hint = clap::ValueHint::AnyPath)]
    output: Option<OsString>,

    /// Sort in descending order
    #[arg(short, long)]
    reverse: bool,

    /// Write only the first of records whose keys are equal
    #[arg(short, long)]
    unique: bool,

    /// Compare keys only, of pairs the first part: records whose keys are equal keep their order
    #[arg(short, long)]
    stable: bool,

    /// Write only the first K records of the result
    #[arg(long, visible_alias = "top", value_name = "K")]
    head: Option<usize>,

    /// Use at most N threads [default: as many as there are processors to use]
    #[arg(short = 'j', long, visible_alias = "parallel", value_name = "N")]
    threads: Option<NonZeroUsize>,

    /// Use at most SIZE bytes of memory; K, M or G may follow [default: half of what is available]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    memory: Option<u64>,

    /// Put temporary files into DIR; may be given several times [default: TMPDIR, or /var/tmp]
    #[arg(short = 'T', long, visible_alias = "temporary-directory", value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    temp: Vec<OsString>,

    /// How to sort: auto (what is expected to be the fastest), in-memory, one-pass, merge-pass or classic
    #[arg(long, value_name = "PLAN", default_value_t)]
    plan: Plan,

    /// Who reads and writes at the same time: auto (what suits the device), no-sync (all), overlap (as many as are best) or
    /// aware (nobody reads while others write)
    #[arg(long, value_name = "MODEL", default_value_t)]
    concurrency: Concurrency,

    /// Be as slow as another device, for experiments: bd, brd, bard or braid
    #[arg(long, value_name = "DEVICE")]
    emulate: Option<Model>,

    /// Use at most SIZE bytes of memory beside the keys; K, M or G may follow [default: 64M, or an eighth of the keys' size if that is more]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    slack: Option<u64>,

    /// Write the sorted index instead of the data: the keys, and where their records are. 'eagre gather' makes records of it
    #[arg(long, conflicts_with_all = ["merge", "check", "check_quietly"])]
    index: bool,

    #[command(flatten)]
    compress: compress::CompressArgs,

    /// Read OUT back before it appears, and compare its records with those of the FILEs
    #[arg(long, conflicts_with_all = ["check", "check_quietly"])]
    verify: bool,

    /// Print on standard error how long each phase took, and how much memory
    #[arg(long)]
    explain: bool,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    /// Show no progress (it is shown only on a terminal, and only if sorting takes long)
    #[arg(long)]
    no_progress: bool,

    #[command(flatten)]
    sources: Sources,
}

fn size(text: &str) -> Result<u64, String> {
    options::parse_bytes(text).ok_or_else(|| "not a number of bytes".to_owned())
}

impl Args {
    pub(crate) fn run(self, console: &mut Console) -> Run {
        process::prepare("sort", self.target().place(), console.gauge());
        match self.kind.keys {
            // Where an output leads to another file, it is not known before whether it can be read back.
            Some(keys) if self.index || self.verify && self.target().is_indirect() => {
                self.refuse_text("--keys", true)?;
                records::Records { args: &self }.numbers(keys, console)
            }
            Some(keys) => {
                self.refuse_text("--keys", true)?;
                numbers::Numbers { args: &self, keys }.run(console)
            }
            None => records::Records { args: &self }.run(console),
        }
    }

    /// That no option is given that means something for lines only. `keys` says whether -k is one of them.
    fn refuse_text(&self, format: &str, keys: bool) -> Result<(), Failure> {
        let key = (keys && !self.text.keys().is_empty()).then(|| "-k".to_owned());
        match self.text.for_lines_only().or(key) {
            Some(option) => Err(text::wrong(format!("{option} cannot be used with {format}"))),
            None => Ok(()),
        }
    }

    fn memory(&self) -> Option<u64> {
        self.memory.or_else(|| self.gnu.memory())
    }

    fn target(&self) -> Target {
        self.output.as_deref().map_or(Target::Stdout, Target::named)
    }

    fn threads(&self) -> NonZeroUsize {
        let all = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        self.threads.unwrap_or_else(all)
    }
}
