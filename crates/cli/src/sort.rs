//! `eagre sort`: sorts files of numbers in memory.
//!
//! The keys are read into a vector that grows without copying, and sorted there. The output appears complete or not at
//! all, so nothing is lost whatever happens, even if the output replaces the input.

mod report;

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use eagre::file::WriteOptions;
use eagre::keys::{self, FileKey, Order};
use eagre::sort::{SortError, Sorter};
use eagre::{RewiredVec, options};

use crate::console::Console;
use crate::exit::{Exit, Failure, Run};
use crate::inputs::Argument;
use crate::keys::{KeyFiles, KeyType, why_unread, with_key};
use crate::message::{self, Message};
use crate::progress::Progress;
use crate::target::Target;
use report::{Check, Report};

const LONG: &str = "\
Sort files of numbers, or check whether they are in order.

A FILE holds keys only, one after the other: integers of 8 to 128 bits, floating-point numbers of \
32 or 64, or pairs of unsigned integers, least significant byte first, as numpy's tofile writes \
them. Pairs are ordered by their first part, then by their second. All keys of all FILEs are sorted \
together. With no FILE, or when FILE is -, standard input is read.

Floating-point numbers are in their total order: -NaN, -infinity, negative numbers, -0, 0, positive \
numbers, infinity, NaN. NaNs are ordered by their bits, and 0 and -0 are different keys.

All keys must fit into memory; little more is needed. OUT appears only when all of it is on the disk, \
and never if anything fails or the command is killed. So OUT may be one of the FILEs.";

const AFTER: &str = "\
Examples:
  eagre sort --keys u64 a.bin -o sorted.bin   one file to another
  eagre sort --keys u64 a.bin -o a.bin        in its own place
  eagre sort --keys f64 -r --head 100 a.bin   the 100 largest numbers, to a pipe
  eagre sort --keys u32 -u a b c -o all       each number once
  eagre sort --keys u64:u64 --stable a -o b   pairs by their first part
  eagre sort --keys i64 --check a && echo ok  is it in order?
  generate | eagre sort --keys u32 | use      from a pipe to a pipe

Exit status: 0, or 1 if --check finds a key out of order, or 2 in case of trouble.";

/// Sort files of numbers
#[derive(clap::Args)]
#[command(long_about = LONG, after_help = AFTER)]
pub(crate) struct Args {
    /// Type of the keys
    #[arg(long, value_name = "TYPE")]
    keys: KeyType,

    /// Write the sorted keys to OUT, complete or not at all [default: standard output]
    #[arg(short, long, value_name = "OUT", value_hint = clap::ValueHint::AnyPath)]
    output: Option<OsString>,

    /// Sort in descending order
    #[arg(short, long)]
    reverse: bool,

    /// Write each key once
    #[arg(short, long)]
    unique: bool,

    /// Order pairs by their first part only; pairs with equal first parts keep their order
    #[arg(short, long)]
    stable: bool,

    /// Write only the first K keys of the result
    #[arg(long, visible_alias = "top", value_name = "K")]
    head: Option<usize>,

    /// Write nothing, but tell the first key that is out of order, if there is one
    #[arg(short, long, conflicts_with_all = ["output", "head"])]
    check: bool,

    /// Use at most N threads [default: as many as there are processors to use]
    #[arg(short = 'j', long, value_name = "N")]
    threads: Option<NonZeroUsize>,

    /// Use at most SIZE bytes of memory beside the keys; K, M or G may follow [default: 64M, or an eighth of the keys' size if that is more]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    slack: Option<u64>,

    /// Print on standard error how long each phase took, and how much memory
    #[arg(long)]
    explain: bool,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    /// Show no progress (it is shown only on a terminal, and only if sorting takes long)
    #[arg(long)]
    no_progress: bool,

    /// Files to sort; - is standard input
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    files: Vec<OsString>,
}

fn size(text: &str) -> Result<u64, String> {
    options::parse_bytes(text).ok_or_else(|| "not a number of bytes".to_owned())
}

impl Args {
    pub(crate) fn run(self, console: &mut Console) -> Run {
        if self.stable && !self.keys.is_pair() {
            let message = Message::new("sort", "--stable", format!("keys of {} have no parts", self.keys.name()));
            return Err(Failure::Trouble(message.cure(Some("use it with pairs, such as --keys u64:u64")).to_string()));
        }
        let files = KeyFiles::look("sort", Argument::all(&self.files), self.keys)?;
        if self.check {
            return with_key!(self.keys, K => self.check_order::<K>(&files, console));
        }
        let target = self.output.as_deref().map_or(Target::Stdout, Target::named);
        target.check_json("sort", "keys", self.json, "name a file with -o")?;
        target.check_terminal("sort", "the keys", "name a file with -o, or pipe it")?;
        files.check_memory(self.beside(files.bytes))?;
        with_key!(self.keys, K => self.sort::<K>(&files, &target, console))
    }

    fn order(&self) -> Order {
        let mut order = Order::default();
        (order.reverse, order.strict, order.by_first) = (self.reverse, self.unique, self.stable);
        order
    }

    fn check_order<K: FileKey>(&self, files: &KeyFiles, console: &mut Console) -> Run {
        let (input, mut reader) = files.open_one()?;
        self.watch("check", files, files.bytes, console);
        let found = keys::check::<K>(&mut reader, self.order(), |done| console.advance(done))
            .map_err(|error| why_unread("sort", input, error))?;
        if self.json {
            console.print_json(&Check::new(input, found))?;
        } else if let Some(found) = &found {
            console.remark(&report::disorder(input, found));
        }
        Ok(if found.is_some() { Exit::No } else { Exit::Yes })
    }

    fn sort<K: FileKey>(&self, files: &KeyFiles, target: &Target, console: &mut Console) -> Run {
        let mut report = Report::new(self.keys, target, self.threads().get());

        let started = Instant::now();
        self.watch("read", files, files.bytes, console);
        let mut keys = files.read::<K>(0, console)?;
        report.has_read(&keys, started.elapsed());

        // Now that all is in memory it does not matter if it is one of the files; and before the work, in case it cannot
        // be written.
        let output = target.open().map_err(|error| target.failure("sort", &error))?;

        let started = Instant::now();
        self.watch("sort", files, Some(size_of_val(&keys[..]) as u64), console);
        let count = self.arrange(&mut keys, console).map_err(|error| unsorted(files, error))?;
        report.has_sorted(started.elapsed());

        let started = Instant::now();
        let keys = &keys[..count];
        let bytes = size_of_val(keys) as u64;
        self.watch("write", files, Some(bytes), console);
        let direct = output.is_direct();
        WriteOptions::new()
            .explicit()
            .length(bytes)
            .write(output, target.place())
            .and_then(|mut writer| {
                keys::write(keys, &mut writer, |done| console.advance(done))?;
                writer.finish()
            })
            .map_err(|error| match error.kind() {
                std::io::ErrorKind::BrokenPipe if direct => Failure::Unheard,
                _ => Failure::Trouble(message::of_file(&error)),
            })?;
        report.has_written(keys, started.elapsed());

        if self.explain {
            console.remark(&report.to_string());
        }
        if self.json {
            console.print_json(&report)?;
        }
        Ok(Exit::Yes)
    }

    /// Moves the keys to write to the front, in order, and returns how many there are.
    fn arrange<K: FileKey>(&self, keys: &mut RewiredVec<K>, console: &mut Console) -> Result<usize, SortError> {
        let console = Mutex::new(console);
        let show = |progress: eagre::sort::Progress| {
            let mut console = console.lock().unwrap_or_else(PoisonError::into_inner);
            console.advance(progress.done * K::WIDTH as u64);
            ControlFlow::Continue(())
        };
        let mut sorter = Sorter::new().threads(self.threads().get()).progress(&show);
        if let Some(slack) = self.slack {
            sorter = sorter.slack(usize::try_from(slack).unwrap_or(usize::MAX));
        }
        let few = self.head.filter(|&head| !self.unique && !self.stable && head < keys.len());
        match (few, self.stable) {
            (Some(few), _) if self.reverse => sorter.largest(keys, few)?,
            (Some(few), _) => sorter.smallest(keys, few)?,
            (None, true) => {
                // Reversed before and after, equal pairs keep their order.
                if self.reverse {
                    keys.reverse();
                }
                sorter.sort_by_first(keys)?;
            }
            (None, false) => sorter.sort(keys)?,
        }
        if self.reverse && few.is_none() {
            keys.reverse();
        }
        let count = if self.unique { keys::unique(keys, self.order()) } else { keys.len() };
        Ok(self.head.map_or(count, |head| head.min(count)))
    }

    fn threads(&self) -> NonZeroUsize {
        let all = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        self.threads.unwrap_or_else(all)
    }

    /// The memory needed beside the keys: that of the sort (see [`Sorter::slack`]), and that of a stream.
    fn beside(&self, bytes: Option<u64>) -> u64 {
        let bytes = bytes.unwrap_or(0);
        let allowed = self.slack.unwrap_or((bytes / 8).max(64 << 20));
        let used = (self.threads().get() as u64).saturating_mul(11 << 20).saturating_add(bytes / 100);
        allowed.min(used).saturating_add(16 << 20)
    }

    fn watch(&self, what: &'static str, files: &KeyFiles, total: Option<u64>, console: &mut Console) {
        if !self.no_progress && !files.is_typed() {
            console.watch(Progress::new(what, total));
        }
    }
}

/// Why the keys were not sorted. Nothing has been written.
fn unsorted(files: &KeyFiles, error: SortError) -> Failure {
    let message = Message::new("sort", files.place(), error.to_string());
    Failure::Trouble(message.cure(Some("use --slack 0, which needs less memory but is slower")).to_string())
}
