//! `eagre copy`: copies files and directories. Each file is complete or absent.

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
Copy files and directories. Each copy of a file is complete or absent.

A copy appears under its name when all of it is on the disk. It never appears if anything fails or the \
command is killed, even by kill -9. Until then, an existing file stays as it was. It keeps its mode when \
it is replaced. A new file gets the mode of SRC, less the umask. Holes of sparse files stay holes. \
Compressed files are copied as they are.

If DST is a directory, the copy is made in it under the name of SRC. Several sources need a directory.

With -r, directories are copied as cp -r does: symbolic links as links, pipes, sockets and devices as new \
ones, and hard links as separate files. If something cannot be copied, there is a message, and the rest is \
copied.

A single SRC may be -, which is standard input, and DST may be -, which is standard output. A target that \
cannot be replaced (a pipe, a device) is written directly.";

const AFTER: &str = "\
Examples:
  eagre copy big.iso /mnt/backup/           a complete copy on the disk, or none
  eagre copy --verify big.iso /mnt/backup/  also read back past the page cache, and compared
  eagre copy -p a b                         with times, mode, owner and extended attributes
  eagre copy -rp photos /mnt/backup/        a directory, to /mnt/backup/photos
  eagre copy -r photos/. /mnt/backup/       the contents of a directory
  eagre copy -n *.log -t /mnt/logs          only files that do not exist there
  pg_dump db | eagre copy - dump.sql        a complete dump, or none
  eagre copy --explain a b                  tell how the bytes were copied

Exit status: 0 on success, 2 if anything could not be copied or verified.";

/// Copy files and directories; each file is complete or absent
#[derive(clap::Args)]
#[command(
    long_about = LONG,
    after_help = AFTER,
    override_usage = "eagre copy [OPTIONS] SRC DST\n       eagre copy [OPTIONS] SRC... DIRECTORY\n       \
        eagre copy [OPTIONS] -t DIRECTORY SRC..."
)]
pub(crate) struct Args {
    /// Read the copy back past the page cache and compare it before it appears
    #[arg(long)]
    verify: bool,

    /// Preserve times, mode and, if permitted, owner, access control list and extended attributes
    #[arg(short, long)]
    preserve: bool,

    /// Copy directories with all their contents
    #[arg(short, long, short_alias = 'R')]
    recursive: bool,

    /// Do not replace existing files
    #[arg(short, long)]
    no_clobber: bool,

    /// Copy all sources into DIRECTORY
    #[arg(short, long, value_name = "DIRECTORY", value_hint = clap::ValueHint::DirPath)]
    target_directory: Option<OsString>,

    /// Treat DST as the name of the copy, even if it is a directory
    #[arg(short = 'T', long, conflicts_with = "target_directory")]
    no_target_directory: bool,

    /// Print on standard error how the bytes were copied
    #[arg(long)]
    explain: bool,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    /// Show no progress (it is shown only on a terminal, and only if copying takes long)
    #[arg(long)]
    no_progress: bool,

    /// Sources, followed by the target unless -t is given; - is standard input or standard output
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

    /// Copies one file or stream to another.
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

/// The message for something that could not be copied.
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
        CopyError::SameFile | CopyError::OverFile | CopyError::OverDirectory => "name another target",
        CopyError::IntoItself => "name a target outside of it",
        CopyError::OverCopy => "copy them into different directories",
        CopyError::DanglingLink => "remove it first",
        CopyError::Mismatch(_) => "try again, and do not trust this disk",
        _ => return None,
    })
}

/// The JSON object.
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
