//! `eagre partition`: numbers parted into buckets by ranges of their values, or by some of their bits.

mod split;

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Instant;

use eagre::file::{Output, WriteOptions};
use eagre::keys::{self, FileKey};
use eagre::partition::{Item, Partitioner, Partitions};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::Serialize;

use crate::console::Console;
use crate::exit::{Exit, Failure, Run};
use crate::inputs::Argument as Input;
use crate::keys::{KeyFiles, KeyType, PartedKey, cannot_be_parted, with_item};
use crate::message::{self, Message};
use crate::name;
use crate::phase::Phase;
use crate::progress::Progress;
use crate::target::Target;
use split::Split;

const LONG: &str = "\
Part files of numbers into buckets.

A FILE is nothing but keys, one after the other, least significant byte first, as for 'eagre sort'; \
pairs go by their first part. The keys of all FILEs are parted together, into 2 to 1024 buckets: by \
ranges of equal width (--ways), by some of their bits (--bits), or by boundaries of your own. In a \
bucket they keep the order they came in. Numbers with a sign, floating-point ones in their total \
order, are seen as the unsigned ones that have the same order: the smallest is 0. With no FILE, or when FILE is -, standard input is read.

Each bucket becomes a file of its own in the directory OUT: part-0, part-1 and so on, every number \
with as many digits as the last needs. No file appears before all of them are on the disk; then they \
appear one after another, so none of them may be a FILE. Files of an earlier run with more buckets \
stay. With --contiguous OUT is one file, bucket after bucket, and where each begins is printed as JSON.

All keys must fit into memory, and beside them a quarter more, or 2 MiB for each bucket if that is \
more, but never more than as much again.";

const AFTER: &str = "\
Examples:
  eagre partition --keys u64 --ways 16 a.bin -o parts         by size, into 16 files
  eagre partition --keys u32 --bits 0:8 a.bin -o parts        by the lowest 8 bits
  eagre partition --keys i32 --boundaries=0 a.bin -o parts    negative numbers, and the others
  eagre partition --keys f64 --boundaries-from cuts.txt a -o parts
  eagre partition --keys u64 --ways 64 --contiguous a -o b | jq .offsets
  eagre partition --keys u64:u64 --ways 8 --json a -o parts | jq '.buckets[].keys'

Exit status: 0, or 2 in case of trouble.";

/// Part files of numbers into buckets
#[derive(clap::Args)]
#[command(long_about = LONG, after_help = AFTER)]
pub(crate) struct Args {
    /// What a key is
    #[arg(long, value_name = "TYPE", value_parser = PartedKey)]
    keys: KeyType,

    #[command(flatten)]
    split: Split,

    /// Where the buckets go: a directory, or with --contiguous a file
    #[arg(short, long, value_name = "OUT", value_hint = clap::ValueHint::AnyPath)]
    output: OsString,

    /// Write one file, bucket after bucket, and print where each begins
    #[arg(long)]
    contiguous: bool,

    /// Use at most so many threads [default: as many as there are processors to use]
    #[arg(short = 'j', long, value_name = "N")]
    threads: Option<NonZeroUsize>,

    /// Print one JSON object (so does --contiguous)
    #[arg(long)]
    json: bool,

    /// Show no progress (it is shown only on a terminal, and only if it takes long)
    #[arg(long)]
    no_progress: bool,

    /// What to part; - is standard input
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    files: Vec<OsString>,
}

impl Args {
    pub(crate) fn run(self, console: &mut Console) -> Run {
        let files = KeyFiles::look("partition", Input::all(&self.files), self.keys)?;
        with_item!(self.keys, K, Part => {
            let (partitioner, ways) = self.split.partitioner::<Part>(&files, <K as Item>::KEY_BITS, Item::key)?;
            self.partition::<K>(&files, partitioner, ways, console)
        }, other => Err(Failure::Trouble(cannot_be_parted(other)))
        )
    }

    fn partition<K: FileKey + Item>(
        &self,
        files: &KeyFiles,
        partitioner: Partitioner,
        ways: usize,
        console: &mut Console,
    ) -> Run {
        let target = Target::named(&self.output);
        let paths = self.paths(ways);
        match self.contiguous {
            true => target.check_json("partition", "keys", true, "name a file with -o")?,
            false => {
                check_directory(&target)?;
                check_apart(files, &paths)?;
            }
        }
        let beside = beside(files.bytes.unwrap_or(0), ways);
        files.check_memory(beside)?;

        let started = Instant::now();
        self.watch("read", files, files.bytes, console);
        let mut keys = files.read::<K>(beside + room_for_each(ways), console)?;
        let (count, bytes) = (keys.len() as u64, size_of_val(&keys[..]) as u64);
        let read = Phase::of_bytes(bytes, started.elapsed());

        // As for a sort: it may be one of the files, which are in memory now; and before the work, in case it cannot be
        // written.
        let output = self.contiguous.then(|| target.open().map_err(|error| target.failure("partition", &error)));
        let output = output.transpose()?;

        let started = Instant::now();
        let partitioner = match self.threads {
            Some(threads) => partitioner.threads(threads.get()),
            None => partitioner,
        };
        let parts =
            partitioner.partition_vec(&mut keys).map_err(|error| Failure::Trouble(format!("eagre: {error}")))?;
        let partition = Phase::of_keys(count, started.elapsed());

        let started = Instant::now();
        self.watch("write", files, Some(bytes), console);
        match output {
            Some(output) => write_contiguous(output, &target, &parts, console)?,
            None => write_apart(&paths, &parts, console)?,
        }
        let write = Phase::of_bytes(bytes, started.elapsed());

        if self.json || self.contiguous {
            let file = self.contiguous.then(|| name::Json::new(Some(target.name())));
            let bucket = |(path, keys): (&PathBuf, &[K])| {
                let path = path.as_os_str().as_encoded_bytes();
                let file = (!self.contiguous).then(|| name::Json::new(Some(path)));
                Bucket { file, keys: keys.len() as u64 }
            };
            let buckets = paths.iter().zip(parts.iter()).map(bucket).collect();
            let offsets = self.contiguous.then(|| parts.offsets());
            let key = self.keys.name();
            console.print_json(&Report { file, key, keys: count, offsets, buckets, read, partition, write })?;
        }
        Ok(Exit::Yes)
    }

    /// The file of each bucket.
    fn paths(&self, ways: usize) -> Vec<PathBuf> {
        let digits = (ways - 1).to_string().len();
        let path = |bucket| PathBuf::from(&self.output).join(format!("part-{bucket:0digits$}"));
        (0..ways).map(path).collect()
    }

    fn watch(&self, what: &'static str, files: &KeyFiles, total: Option<u64>, console: &mut Console) {
        if !self.no_progress && !files.is_typed() {
            console.watch(Progress::new(what, total));
        }
    }
}

/// One file, bucket after bucket.
fn write_contiguous<K: FileKey + Item>(
    output: Output,
    target: &Target,
    parts: &Partitions<K>,
    console: &mut Console,
) -> Result<(), Failure> {
    let mut before = 0;
    let written =
        WriteOptions::new().explicit().length((parts.len() * K::WIDTH) as u64).write(output, target.place()).and_then(
            |mut writer| {
                for bucket in parts.iter() {
                    keys::write(bucket, &mut writer, |done| console.advance(before + done))?;
                    before += size_of_val(bucket) as u64;
                }
                writer.finish()
            },
        );
    written.map_err(|error| Failure::Trouble(message::of_file(&error)))
}

/// A file for each bucket. None appears before all are on the disk.
fn write_apart<K: FileKey + Item>(
    paths: &[PathBuf],
    parts: &Partitions<K>,
    console: &mut Console,
) -> Result<(), Failure> {
    allow_open_files(parts.ways());
    let mut outputs: Vec<Output> = Vec::with_capacity(parts.ways());
    let mut before = 0;
    for (bucket, path) in parts.iter().zip(paths) {
        let options = WriteOptions::new().explicit().length(size_of_val(bucket) as u64);
        let output = options.create(path).and_then(|mut writer| {
            keys::write(bucket, &mut writer, |done| console.advance(before + done))?;
            before += size_of_val(bucket) as u64;
            writer.finish_unseen()
        });
        outputs.push(output.map_err(|error| Failure::Trouble(message::of_file(&error)))?);
    }
    // First what takes long, and may fail.
    for (output, path) in outputs.iter().zip(paths) {
        output.file().sync_all().map_err(|error| Target::File(path.clone()).failure("partition", &error))?;
    }
    for (output, path) in outputs.into_iter().zip(paths) {
        output.commit().map_err(|error| Target::File(path.clone()).failure("partition", &error))?;
    }
    Ok(())
}

/// A block of memory for each bucket.
fn room_for_each(ways: usize) -> u64 {
    (ways * eagre::BlockSize::DEFAULT.bytes()) as u64
}

/// How much memory is needed beside the keys: see [`Partitioner::slack`].
fn beside(bytes: u64, ways: usize) -> u64 {
    (bytes / 4).max(room_for_each(ways).min(bytes)) + (16 << 20)
}

fn check_directory(target: &Target) -> Result<(), Failure> {
    let Target::File(path) = target else {
        let message = Message::new("partition", target.place(), "several files cannot go there");
        return Err(Failure::Trouble(message.cure(Some("name a directory, or take --contiguous")).to_string()));
    };
    let why = match std::fs::metadata(path) {
        Ok(there) if there.is_dir() => return Ok(()),
        Ok(_) => "no directory".to_owned(),
        Err(error) => message::reason(&error),
    };
    let cure = "make a directory (mkdir) for the buckets, or take --contiguous";
    Err(Failure::Trouble(Message::new("partition", target.place(), why).cure(Some(cure)).to_string()))
}

/// Buckets appear one after another. If one took the place of a file that is read, and the others did not come, the rest
/// of that file's keys would be nowhere.
fn check_apart(files: &KeyFiles, paths: &[PathBuf]) -> Result<(), Failure> {
    for path in paths {
        let Some(input) = std::fs::metadata(path).ok().and_then(|there| files.find(&there)) else { continue };
        let why = "is read, and a bucket would take its place";
        let cure = "name another directory with -o";
        return Err(Failure::Trouble(Message::new("partition", input.place(), why).cure(Some(cure)).to_string()));
    }
    Ok(())
}

/// Each bucket's file is open, and its directory, until all of them appear. Most systems let a process have that many if
/// it asks; if not, opening them says so.
fn allow_open_files(ways: usize) {
    let need = 2 * ways as u64 + 64;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_some_and(|current| current < need) && maximum.is_none_or(|maximum| maximum >= need) {
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(need), maximum });
    }
}

/// The answer of `--json`.
#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    file: Option<name::Json>,
    #[serde(rename = "type")]
    key: String,
    keys: u64,
    /// How many keys lie before each bucket, and behind the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    offsets: Option<Vec<usize>>,
    buckets: Vec<Bucket>,
    read: Phase,
    partition: Phase,
    write: Phase,
}

#[derive(Serialize)]
struct Bucket {
    #[serde(flatten)]
    file: Option<name::Json>,
    keys: u64,
}
