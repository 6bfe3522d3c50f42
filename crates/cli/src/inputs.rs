//! FILE arguments: files by name, `-` for standard input, standard input where none is named.

use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::name;

/// Something to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// Standard input. It has a name in results only if it was named, as `-`.
    Stdin { named: bool },
    /// A file.
    File(PathBuf),
}

impl Input {
    /// The inputs that FILE arguments stand for.
    pub(crate) fn all(arguments: &[OsString]) -> Vec<Input> {
        if arguments.is_empty() {
            return vec![Input::Stdin { named: false }];
        }
        arguments
            .iter()
            .map(|argument| match argument.as_bytes() {
                b"-" => Input::Stdin { named: true },
                _ => Input::File(argument.into()),
            })
            .collect()
    }

    /// Opens it. Standard input is not closed when the result is, and keeps its position.
    pub(crate) fn open(&self) -> io::Result<File> {
        match self {
            // Not `io::stdin`: that takes a descriptor which cannot be read for an empty one.
            Input::Stdin { .. } => Ok(io::stdin().as_fd().try_clone_to_owned()?.into()),
            Input::File(path) => File::open(path),
        }
    }

    /// What the file system says about it, without opening it (a pipe would wait for its writer).
    pub(crate) fn metadata(&self) -> io::Result<Metadata> {
        match self {
            Input::Stdin { .. } => self.open()?.metadata(),
            Input::File(path) => std::fs::metadata(path),
        }
    }

    /// Its name as it was given, if it was.
    pub(crate) fn name(&self) -> Option<&[u8]> {
        match self {
            Input::Stdin { named } => named.then_some(b"-"),
            Input::File(path) => Some(path.as_os_str().as_bytes()),
        }
    }

    /// Its name in messages.
    pub(crate) fn place(&self) -> String {
        match self {
            Input::Stdin { .. } => "standard input".to_owned(),
            Input::File(path) => name::in_messages(path.as_os_str().as_bytes()),
        }
    }

    /// Whether a person types it in.
    pub(crate) fn is_typed(&self) -> bool {
        matches!(self, Input::Stdin { .. }) && io::stdin().is_terminal()
    }
}
