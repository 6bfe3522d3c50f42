//! The inputs of a command: FILE arguments, `-` for standard input, standard input if there are none, or the names in a
//! file of names (`--files0-from`, in the format of `find -print0`).
//!
//! A file is decompressed if both its name and its first bytes say that it is compressed. The commands replace tools such
//! as `wc`, so arbitrary bytes must not be decompressed by accident. Standard input has no name, and is decompressed only
//! on request.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io::{self, IsTerminal, Read, Seek};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use clap::ValueEnum;
use eagre::compressed::{self, Format};
use eagre::scan;

use crate::exit::Failure;
use crate::message::Message;
use crate::name;

/// The arguments of every command that reads files.
#[derive(clap::Args)]
pub(crate) struct Sources {
    /// Read the file names from F, each ended by a NUL; if F is -, from standard input
    #[arg(long, value_name = "F", value_hint = clap::ValueHint::FilePath, conflicts_with = "files")]
    files0_from: Option<OsString>,

    /// When to decompress files
    #[arg(long, value_name = "WHEN", default_value = "auto", default_missing_value = "always", num_args = 0..=1, require_equals = true)]
    decompress: Decompress,

    /// Files to read; - is standard input
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    files: Vec<OsString>,
}

/// When to decompress files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Decompress {
    /// Files whose names end in .gz, .zst or .lz4, if their first bytes agree; never standard input
    #[default]
    Auto,
    /// All inputs that begin like a compressed file, including standard input
    Always,
    /// No input
    Never,
}

impl Sources {
    /// Puts a file in front of the others: an argument that turned out to be a file.
    ///
    /// # Errors
    /// The names already come from a file of names.
    pub(crate) fn put_first(&mut self, what: &str, file: OsString) -> Result<(), Failure> {
        if self.files0_from.is_some() {
            let message =
                Message::new(what, name::in_messages(file.as_bytes()), "a FILE cannot be combined with --files0-from")
                    .cure(Some("add it to the file of names"));
            return Err(Failure::Trouble(message.to_string()));
        }
        self.files.insert(0, file);
        Ok(())
    }

    /// The inputs of the command `what`. An impossible name in a file of names becomes an input that cannot be opened,
    /// like a missing file.
    ///
    /// # Errors
    /// The file of names cannot be read.
    pub(crate) fn list(&self, what: &str) -> Result<Vec<Argument>, Failure> {
        let Some(from) = &self.files0_from else { return Ok(self.wanted(Argument::all(&self.files))) };
        let list = Argument::of(from);
        let mut names = Vec::new();
        list.open()
            .and_then(|mut file| file.read_to_end(&mut names))
            .map_err(|error| Failure::Trouble(Message::from_io(what, list.place(), &error).to_string()))?;
        if names.is_empty() {
            return Ok(Vec::new());
        }
        // The last name may lack its NUL.
        let names = names.strip_suffix(b"\0").unwrap_or(&names);
        let inputs = names.split(|&byte| byte == 0).enumerate().map(|(index, name)| {
            let place = || format!("{}: name {}", list.place(), index + 1);
            let mistake = |why| Argument::from(Origin::Mistake { place: place(), why });
            match name {
                b"" => mistake("a file name cannot be empty"),
                b"-" if list.is_stdin() => mistake("standard input cannot be both the list and a file in it"),
                _ => Argument::of(OsStr::from_bytes(name)),
            }
        });
        Ok(self.wanted(inputs.collect()))
    }

    /// Whether `wc` knows the number of files before it reads the first. It does not if the names come from a pipe, or from
    /// a file of names that is larger than it reads at once.
    pub(crate) fn are_counted(&self) -> bool {
        const AT_ONCE: u64 = 10 << 20;
        let small = |list: Metadata| list.is_file() && list.len() <= AT_ONCE;
        self.files0_from.as_ref().is_none_or(|from| Argument::of(from).metadata().is_ok_and(small))
    }

    /// The inputs with the setting for decompression.
    fn wanted(&self, mut inputs: Vec<Argument>) -> Vec<Argument> {
        for input in &mut inputs {
            input.decompress = self.decompress;
        }
        inputs
    }
}

/// An input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Argument {
    origin: Origin,
    decompress: Decompress,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Origin {
    /// Standard input. It has a name in results only if it was given as `-`.
    Stdin {
        named: bool,
    },
    File(PathBuf),
    /// An impossible name in a file of names.
    Mistake {
        place: String,
        why: &'static str,
    },
}

impl From<Origin> for Argument {
    fn from(origin: Origin) -> Argument {
        Argument { origin, decompress: Decompress::default() }
    }
}

impl Argument {
    /// The inputs given by FILE arguments.
    pub(crate) fn all(arguments: &[OsString]) -> Vec<Argument> {
        if arguments.is_empty() {
            return vec![Argument::from(Origin::Stdin { named: false })];
        }
        arguments.iter().map(|argument| Argument::of(argument)).collect()
    }

    /// The input given by one argument.
    pub(crate) fn of(argument: &OsStr) -> Argument {
        let origin = match argument.as_bytes() {
            b"-" => Origin::Stdin { named: true },
            _ => Origin::File(argument.into()),
        };
        Argument::from(origin)
    }

    /// Opens the input without decompressing it. For standard input, the result is a duplicate that shares the position.
    pub(crate) fn open(&self) -> io::Result<File> {
        match &self.origin {
            // Not `io::stdin`, which treats a descriptor that cannot be read as empty.
            Origin::Stdin { .. } => Ok(io::stdin().as_fd().try_clone_to_owned()?.into()),
            Origin::File(path) => File::open(path),
            Origin::Mistake { why, .. } => Err(io::Error::new(io::ErrorKind::InvalidInput, *why)),
        }
    }

    /// Opens the input for scanning, decompressed if that is wanted.
    pub(crate) fn open_scan(&self) -> io::Result<scan::Input> {
        match (&self.origin, self.decompress) {
            (_, Decompress::Always) => compressed::open_any(self.open()?, &self.place()),
            (Origin::File(path), Decompress::Auto) => compressed::open(path),
            _ => self.open().map(scan::Input::File),
        }
    }

    /// The number of bytes left to read, if the file system knows it: those of a regular file from its position on.
    ///
    /// # Errors
    /// Those of the system. Also if the input is a directory.
    pub(crate) fn bytes_left(&self) -> io::Result<Option<u64>> {
        let metadata = self.metadata()?;
        if metadata.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        // If no blocks are stored (/proc), the size is a guess.
        if !metadata.is_file() || metadata.blocks() == 0 {
            return Ok(None);
        }
        let behind = if self.is_stdin() { self.open()?.stream_position()? } else { 0 };
        Ok(Some(metadata.len().saturating_sub(behind)))
    }

    /// The metadata of the input. A file is not opened for it, because opening a pipe would wait for its writer.
    pub(crate) fn metadata(&self) -> io::Result<Metadata> {
        match &self.origin {
            Origin::File(path) => std::fs::metadata(path),
            _ => self.open()?.metadata(),
        }
    }

    /// The size of the input, if the file system knows it: that of a regular file that is not decompressed.
    pub(crate) fn size(&self) -> io::Result<Option<u64>> {
        let metadata = self.metadata()?;
        Ok((metadata.is_file() && !self.may_be_unpacked()).then_some(metadata.len()))
    }

    /// Whether the input is decompressed if its first bytes are those of a compressed file.
    pub(crate) fn may_be_unpacked(&self) -> bool {
        match (&self.origin, self.decompress) {
            (Origin::File(path), Decompress::Auto) => Format::of_name(path).is_some(),
            (_, decompress) => decompress == Decompress::Always,
        }
    }

    /// The name as it was given, if any.
    pub(crate) fn name(&self) -> Option<&[u8]> {
        match &self.origin {
            Origin::Stdin { named } => named.then_some(b"-"),
            Origin::File(path) => Some(path.as_os_str().as_bytes()),
            Origin::Mistake { .. } => None,
        }
    }

    /// The name as it was given, unless the input is standard input.
    pub(crate) fn path(&self) -> Option<&[u8]> {
        match &self.origin {
            Origin::File(path) => Some(path.as_os_str().as_bytes()),
            _ => None,
        }
    }

    /// The name in messages.
    pub(crate) fn place(&self) -> String {
        match &self.origin {
            Origin::Stdin { .. } => "standard input".to_owned(),
            Origin::File(path) => name::in_messages(path.as_os_str().as_bytes()),
            Origin::Mistake { place, .. } => place.clone(),
        }
    }

    pub(crate) fn is_stdin(&self) -> bool {
        matches!(self.origin, Origin::Stdin { .. })
    }

    /// Whether the input is typed at a terminal.
    pub(crate) fn is_typed(&self) -> bool {
        self.is_stdin() && io::stdin().is_terminal()
    }
}

/// The total size of the inputs, if all sizes are known.
pub(crate) fn total_size(sizes: &[io::Result<Option<u64>>]) -> Option<u64> {
    sizes.iter().flatten().try_fold(0, |sum: u64, &size| sum.checked_add(size?))
}
