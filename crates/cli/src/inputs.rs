//! What a command is to read: FILE arguments, `-` for standard input, standard input where none is named, or the names
//! in a file of names (`--files0-from`, as `find -print0` writes them).
//!
//! Compressed files are read as what is in them, if their name and their first bytes say that they are: a tool whose
//! answers are those of `wc` must not surprise anybody who counts arbitrary bytes. Standard input has no name, and is
//! unpacked only on demand.

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
    /// Read the names of the files from F, each ended by a NUL; if F is -, from standard input
    #[arg(long, value_name = "F", value_hint = clap::ValueHint::FilePath, conflicts_with = "files")]
    files0_from: Option<OsString>,

    /// Whether compressed files are read as what is in them
    #[arg(long, value_name = "WHEN", default_value = "auto", default_missing_value = "always", num_args = 0..=1, require_equals = true)]
    decompress: Decompress,

    /// What to read; - is standard input
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    files: Vec<OsString>,
}

/// Whether compressed files are read as what is in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Decompress {
    /// Files whose names end in .gz, .zst or .lz4 and that are what they say; never standard input
    #[default]
    Auto,
    /// Whatever begins like a compressed file, standard input included
    Always,
    /// Nothing
    Never,
}

impl Sources {
    /// Puts one more file in front: an argument that could have meant something else and does not.
    ///
    /// # Errors
    /// The names come from a file of names.
    pub(crate) fn put_first(&mut self, what: &str, file: OsString) -> Result<(), Failure> {
        if self.files0_from.is_some() {
            let message = Message::new(what, name::in_messages(file.as_bytes()), "a FILE beside --files0-from")
                .cure(Some("put it into the file of names"));
            return Err(Failure::Trouble(message.to_string()));
        }
        self.files.insert(0, file);
        Ok(())
    }

    /// What is to be read, for the command `what`. A name in a file of names that cannot be meant is an input that
    /// cannot be opened, like that of a missing file.
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
        // The last name may do without its NUL.
        let names = names.strip_suffix(b"\0").unwrap_or(&names);
        let inputs = names.split(|&byte| byte == 0).enumerate().map(|(index, name)| {
            let place = || format!("{}: name {}", list.place(), index + 1);
            let mistake = |why| Argument::from(Origin::Mistake { place: place(), why });
            match name {
                b"" => mistake("a file has no empty name"),
                b"-" if list.is_stdin() => mistake("standard input cannot be in a list that comes from it"),
                _ => Argument::of(OsStr::from_bytes(name)),
            }
        });
        Ok(self.wanted(inputs.collect()))
    }

    /// Whether `wc` knows how many there are before it reads the first: not if their names come through a pipe, or out of a
    /// file of names that is larger than it takes at once.
    pub(crate) fn are_counted(&self) -> bool {
        const AT_ONCE: u64 = 10 << 20;
        let small = |list: Metadata| list.is_file() && list.len() <= AT_ONCE;
        self.files0_from.as_ref().is_none_or(|from| Argument::of(from).metadata().is_ok_and(small))
    }

    /// The inputs as they are asked for.
    fn wanted(&self, mut inputs: Vec<Argument>) -> Vec<Argument> {
        for input in &mut inputs {
            input.decompress = self.decompress;
        }
        inputs
    }
}

/// Something to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Argument {
    origin: Origin,
    decompress: Decompress,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Origin {
    /// Standard input. It has a name in results only if it was named, as `-`.
    Stdin {
        named: bool,
    },
    File(PathBuf),
    /// A name in a list that nothing can have.
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
    /// The inputs that FILE arguments stand for.
    pub(crate) fn all(arguments: &[OsString]) -> Vec<Argument> {
        if arguments.is_empty() {
            return vec![Argument::from(Origin::Stdin { named: false })];
        }
        arguments.iter().map(|argument| Argument::of(argument)).collect()
    }

    /// The input that one argument stands for.
    pub(crate) fn of(argument: &OsStr) -> Argument {
        let origin = match argument.as_bytes() {
            b"-" => Origin::Stdin { named: true },
            _ => Origin::File(argument.into()),
        };
        Argument::from(origin)
    }

    /// Opens it as it is. Standard input is not closed when the result is, and keeps its position.
    pub(crate) fn open(&self) -> io::Result<File> {
        match &self.origin {
            // Not `io::stdin`: that takes a descriptor which cannot be read for an empty one.
            Origin::Stdin { .. } => Ok(io::stdin().as_fd().try_clone_to_owned()?.into()),
            Origin::File(path) => File::open(path),
            Origin::Mistake { why, .. } => Err(io::Error::new(io::ErrorKind::InvalidInput, *why)),
        }
    }

    /// Opens it to be scanned, decompressed where that is wanted.
    pub(crate) fn open_scan(&self) -> io::Result<scan::Input> {
        match (&self.origin, self.decompress) {
            (_, Decompress::Always) => compressed::open_any(self.open()?, &self.place()),
            (Origin::File(path), Decompress::Auto) => compressed::open(path),
            _ => self.open().map(scan::Input::File),
        }
    }

    /// How many bytes are left to read, where the file system knows: of a regular file from where it stands.
    ///
    /// # Errors
    /// The system's, and that it is a directory.
    pub(crate) fn bytes_left(&self) -> io::Result<Option<u64>> {
        let metadata = self.metadata()?;
        if metadata.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        // Where nothing is stored (/proc), the size is a guess.
        if !metadata.is_file() || metadata.blocks() == 0 {
            return Ok(None);
        }
        let behind = if self.is_stdin() { self.open()?.stream_position()? } else { 0 };
        Ok(Some(metadata.len().saturating_sub(behind)))
    }

    /// What the file system says about it, without opening it (a pipe would wait for its writer).
    pub(crate) fn metadata(&self) -> io::Result<Metadata> {
        match &self.origin {
            Origin::File(path) => std::fs::metadata(path),
            _ => self.open()?.metadata(),
        }
    }

    /// How many bytes it will give, where the file system knows: of a regular file that is read as it is.
    pub(crate) fn size(&self) -> io::Result<Option<u64>> {
        let metadata = self.metadata()?;
        Ok((metadata.is_file() && !self.may_be_unpacked()).then_some(metadata.len()))
    }

    fn may_be_unpacked(&self) -> bool {
        match (&self.origin, self.decompress) {
            (Origin::File(path), Decompress::Auto) => Format::of_name(path).is_some(),
            (_, decompress) => decompress == Decompress::Always,
        }
    }

    /// Its name as it was given, if it was.
    pub(crate) fn name(&self) -> Option<&[u8]> {
        match &self.origin {
            Origin::Stdin { named } => named.then_some(b"-"),
            Origin::File(path) => Some(path.as_os_str().as_bytes()),
            Origin::Mistake { .. } => None,
        }
    }

    /// Its name as it was given, if it is no standard input.
    pub(crate) fn path(&self) -> Option<&[u8]> {
        match &self.origin {
            Origin::File(path) => Some(path.as_os_str().as_bytes()),
            _ => None,
        }
    }

    /// Its name in messages.
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

    /// Whether a person types it in.
    pub(crate) fn is_typed(&self) -> bool {
        self.is_stdin() && io::stdin().is_terminal()
    }
}

/// How many bytes there are to read, if that is known of all.
pub(crate) fn total_size(sizes: &[io::Result<Option<u64>>]) -> Option<u64> {
    sizes.iter().flatten().try_fold(0, |sum: u64, &size| sum.checked_add(size?))
}
