//! `eagre copy`: one file, complete or not at all.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::time::Instant;

use eagre::copy::{self, Copied, Copier, CopyError};
use serde::Serialize;

use crate::cli::{Exit, Failure, Run};
use crate::console::Console;
use crate::inputs::Input;
use crate::message::Message;
use crate::name;
use crate::progress::Progress;
use crate::target::Target;

const LONG: &str = "\
Copy a file, complete or not at all.

The copy appears under its name when all of it is on the disk, and never if anything fails or the \
command is stopped, be it by kill -9; a file that was there stays as it was until then. Holes of \
sparse files stay holes. A file that is there is replaced and keeps its mode; a new one gets the \
mode of SRC, less the umask. If DST is a directory, the copy is made in it under the name of SRC. \
Compressed files are copied as they are.

SRC and DST may be -, standard input and standard output; what cannot be replaced (a pipe, a \
device) is written as it comes.";

const AFTER: &str = "\
Examples:
  eagre copy big.iso /mnt/backup/           whole, and on the disk, or not there
  eagre copy --verify big.iso /mnt/backup/  read back past the page cache, and compared
  eagre copy -p a b                         with times, mode and owner
  pg_dump db | eagre copy - dump.sql        no half-written dump
  eagre copy --explain a b                  how the bytes travelled

Exit status: 0, or 2 if there is no copy, also because what was read back differs.";

/// Copy a file, complete or not at all
#[derive(clap::Args)]
#[command(long_about = LONG, after_help = AFTER)]
pub(crate) struct Args {
    /// Read the copy back past the page cache and compare, before it appears
    #[arg(long)]
    verify: bool,

    /// Keep times, mode and, if permitted, owner
    #[arg(short, long)]
    preserve: bool,

    /// Say on standard error how the bytes travelled
    #[arg(long)]
    explain: bool,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    /// Show no progress (it is shown only on a terminal, and only if copying takes long)
    #[arg(long)]
    no_progress: bool,

    /// What to copy; - is standard input
    #[arg(value_name = "SRC", value_hint = clap::ValueHint::FilePath)]
    source: OsString,

    /// Where to; - is standard output
    #[arg(value_name = "DST", value_hint = clap::ValueHint::AnyPath)]
    target: OsString,
}

impl Args {
    pub(crate) fn run(self, console: &mut Console) -> Run {
        let source = Input::of(&self.source);
        let target = self.target();
        target.check_json("copy", "copy", self.json, "name a file")?;
        let started = Instant::now();
        let copied = self.copy(&source, &target, console).map_err(|error| failure(&error, &source, &target))?;
        if self.explain {
            console.remark(&format!("eagre: copy: {}", copied.plan));
        }
        if self.json {
            console.print_json(&Report {
                source: name::Json::new(source.name()),
                target: name::Json::new(Some(target.name())),
                bytes: copied.bytes,
                data: copied.data,
                plan: copied.plan.to_string(),
                verified: copied.verified,
                seconds: started.elapsed().as_secs_f64(),
            })?;
        }
        Ok(Exit::Yes)
    }

    fn target(&self) -> Target {
        if self.target == OsStr::new("-") {
            return Target::Stdout;
        }
        // Standard input has no name that the copy could have in a directory.
        let from = if self.source == OsStr::new("-") { OsStr::new("") } else { &self.source };
        Target::File(copy::target(from.as_ref(), self.target.as_ref()))
    }

    fn copy(&self, source: &Input, target: &Target, console: &mut Console) -> Result<Copied, CopyError> {
        let file = source.open().map_err(CopyError::Source)?;
        let metadata = file.metadata().map_err(CopyError::Source)?;
        if metadata.is_dir() {
            return Err(CopyError::Source(io::ErrorKind::IsADirectory.into()));
        }
        let output = match target {
            Target::Stdout => target.open(),
            Target::File(path) => {
                copy::check_apart(&file, path)?;
                target.open()
            }
        };
        let output = output.map_err(CopyError::Target)?;
        if !self.no_progress && !source.is_typed() {
            let data = metadata.is_file().then(|| metadata.len().min(metadata.blocks().saturating_mul(512)));
            console.watch(Progress::new("copy", data));
        }
        Copier::new().verify(self.verify).preserve(self.preserve).run(file, output, |done| console.advance(done))
    }
}

fn failure(error: &CopyError, source: &Input, target: &Target) -> Failure {
    let line = match error {
        CopyError::Target(error) => return target.failure("copy", error),
        CopyError::Source(error) => Message::from_io("copy", source.place(), error),
        CopyError::SameFile => {
            Message::new("copy", target.place(), "this is the file to be copied").cure(Some("name another"))
        }
        CopyError::Mismatch(_) => {
            Message::new("copy", target.place(), error.to_string()).cure(Some("do not trust this disk, and try again"))
        }
        error => Message::new("copy", target.place(), error.to_string()),
    };
    Failure::Trouble(line.to_string())
}

/// The answer of `--json`.
#[derive(Serialize)]
struct Report {
    source: name::Json,
    target: name::Json,
    bytes: u64,
    data: u64,
    plan: String,
    verified: bool,
    seconds: f64,
}
