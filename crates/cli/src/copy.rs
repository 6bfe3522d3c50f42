//! `eagre copy`: files and directories, each file complete or not at all.

mod several;
mod unkept;
mod wanted;

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::time::Instant;

use eagre::copy::{self, Copied, Copier, CopyError};
use serde::Serialize;

use crate::console::Console;
use crate::exit::{Exit, Failure, Run};
use crate::inputs::Argument;
use crate::message::Message;
use crate::name;
use crate::progress::Progress;
use crate::target::Target;
use unkept::Unkepts;
use wanted::Wanted;

const LONG: &str = "\
Copy files, each complete or not at all, and directories with all that is in them.

A copy appears under its name when all of it is on the disk, and never if anything fails or the \
command is stopped, be it by kill -9; a file that was there stays as it was until then. Holes of \
sparse files stay holes. A file that is there is replaced and keeps its mode; a new one gets the \
mode of SRC, less the umask. If DST is a directory, the copy is made in it under the name of SRC; \
several sources need one. Compressed files are copied as they are.

With -r, directories are copied as cp -r copies them: symbolic links as links, pipes, sockets and \
devices made anew, hard links as files of their own. What fails is told, and the rest is copied.

One SRC and DST may be -, standard input and standard output; what cannot be replaced (a pipe, a \
device) is written as it comes.";

const AFTER: &str = "\
Examples:
  eagre copy big.iso /mnt/backup/           whole, and on the disk, or not there
  eagre copy --verify big.iso /mnt/backup/  read back past the page cache, and compared
  eagre copy -p a b                         with times, mode, owner and extended attributes
  eagre copy -rp photos /mnt/backup/        a directory, as /mnt/backup/photos
  eagre copy -r photos/. /mnt/backup/       what is in it
  eagre copy -n *.log -t /mnt/logs          those that are not there yet
  pg_dump db | eagre copy - dump.sql        no half-written dump
  eagre copy --explain a b                  how the bytes travelled

Exit status: 0, or 2 if anything is not copied, also because what was read back differs.";

/// Copy files, each complete or not at all, and directories
#[derive(clap::Args)]
#[command(
    long_about = LONG,
    after_help = AFTER,
    override_usage = "eagre copy [OPTIONS] SRC DST\n       eagre copy [OPTIONS] SRC... DIRECTORY\n       \
        eagre copy [OPTIONS] -t DIRECTORY SRC..."
)]
pub(crate) struct Args {
    /// Read the copy back past the page cache and compare, before it appears
    #[arg(long)]
    verify: bool,

    /// Keep times, mode and, if permitted, owner, access control list and extended attributes
    #[arg(short, long)]
    preserve: bool,

    /// Copy directories with all that is in them
    #[arg(short, long, short_alias = 'R')]
    recursive: bool,

    /// Leave files alone that are there already
    #[arg(short, long)]
    no_clobber: bool,

    /// Copy everything into this directory
    #[arg(short, long, value_name = "DIRECTORY", value_hint = clap::ValueHint::DirPath)]
    target_directory: Option<OsString>,

    /// Take DST for the name of the copy, even if it is a directory
    #[arg(short = 'T', long, conflicts_with = "target_directory")]
    no_target_directory: bool,

    /// Say on standard error how the bytes travelled
    #[arg(long)]
    explain: bool,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    /// Show no progress (it is shown only on a terminal, and only if copying takes long)
    #[arg(long)]
    no_progress: bool,

    /// What to copy, and last where to (without -t); - is standard input, and standard output
    #[arg(value_name = "PATH", required = true, value_hint = clap::ValueHint::AnyPath)]
    paths: Vec<OsString>,
}

impl Args {
    pub(crate) fn run(self, console: &mut Console) -> Run {
        match self.wanted()? {
            Wanted::Single { source, target } => self.single(&source, &target, console),
            Wanted::Several(pairs) => self.several(&pairs, console),
        }
    }

    /// One file or stream to one other.
    fn single(&self, source: &OsStr, target: &OsStr, console: &mut Console) -> Run {
        let source = Argument::of(source);
        let target = Target::named(target);
        target.check_json("copy", "copy", self.json, "name a file")?;
        let started = Instant::now();
        let copied = self.copy(&source, &target, console);
        let copied = copied.map_err(|error| failure(&error, source.place(), &target))?;
        if self.explain {
            console.remark(&format!("eagre: copy: {}", copied.method));
        }
        let mut unkepts = Unkepts::default();
        unkepts.add(&copied.unkept);
        unkepts.tell(&target.place(), console);
        if self.json {
            console.print_json(&Report {
                source: name::Json::new(source.name()),
                target: name::Json::new(Some(target.name())),
                bytes: copied.bytes,
                data: copied.data,
                plan: copied.method.to_string(),
                verified: copied.verified,
                unkept: unkepts.names(),
                seconds: started.elapsed().as_secs_f64(),
            })?;
        }
        Ok(Exit::Yes)
    }

    fn copier(&self) -> Copier {
        Copier::new().verify(self.verify).preserve(self.preserve)
    }

    fn copy(&self, source: &Argument, target: &Target, console: &mut Console) -> Result<Copied, CopyError> {
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
        self.copier().run(file, output, |done| console.advance(done))
    }
}

/// Why something is not copied.
fn failure(error: &CopyError, source: String, target: &Target) -> Failure {
    let line = match error {
        CopyError::Target(error) => return target.failure("copy", error),
        CopyError::Source(error) if error.kind() == io::ErrorKind::IsADirectory => {
            Message::from_io("copy", source, error).cure(Some("copy it with -r"))
        }
        CopyError::Source(error) => Message::from_io("copy", source, error),
        CopyError::SameFile => Message::new("copy", target.place(), "this is the file to be copied").cure(cure(error)),
        error => Message::new("copy", target.place(), error.to_string()).cure(cure(error)),
    };
    Failure::Trouble(line.to_string())
}

fn cure(error: &CopyError) -> Option<&'static str> {
    Some(match error {
        CopyError::SameFile | CopyError::OverFile | CopyError::OverDirectory => "name another",
        CopyError::IntoItself => "name one outside of it",
        CopyError::OverCopy => "copy them into different directories",
        CopyError::DanglingLink => "remove it first",
        CopyError::Mismatch(_) => "do not trust this disk, and try again",
        _ => return None,
    })
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
    unkept: Vec<String>,
    seconds: f64,
}
