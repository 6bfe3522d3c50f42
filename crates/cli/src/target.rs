//! The target of a command that writes a file: a file that is complete or absent, or standard output.

use std::ffi::OsStr;
use std::fs::Metadata;
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use eagre::file::Output;

use crate::exit::Failure;
use crate::message::{self, Message};
use crate::name;

/// The target of a file.
pub(crate) enum Target {
    Stdout,
    File(PathBuf),
}

impl Target {
    /// The target given by an argument. `-` is standard output.
    pub(crate) fn named(argument: &OsStr) -> Target {
        match argument.as_bytes() {
            b"-" => Target::Stdout,
            _ => Target::File(argument.into()),
        }
    }

    /// The name in results.
    pub(crate) fn name(&self) -> &[u8] {
        match self {
            Target::Stdout => b"-",
            Target::File(path) => path.as_os_str().as_bytes(),
        }
    }

    /// The name in messages.
    pub(crate) fn place(&self) -> String {
        match self {
            Target::Stdout => "standard output".to_owned(),
            Target::File(path) => name::in_messages(path.as_os_str().as_bytes()),
        }
    }

    /// Whether it is given by the name of something that leads to the file, such as a symbolic link or `/dev/stdout`.
    pub(crate) fn is_indirect(&self) -> bool {
        match self {
            Target::Stdout => false,
            Target::File(path) => path.symlink_metadata().is_ok_and(|there| !there.is_file()),
        }
    }

    /// The metadata of the file that is there now.
    pub(crate) fn metadata(&self) -> Option<Metadata> {
        match self {
            Target::Stdout => None,
            Target::File(path) => path.metadata().ok(),
        }
    }

    /// Begins to write the target.
    pub(crate) fn open(&self) -> io::Result<Output> {
        match self {
            Target::Stdout => Ok(Output::direct(io::stdout().as_fd().try_clone_to_owned()?.into())),
            Target::File(path) => Output::create(path),
        }
    }

    /// The failure when the target could not be written.
    pub(crate) fn failure(&self, what: &str, error: &io::Error) -> Failure {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Failure::Unheard;
        }
        // For inputs, the cure is to name the files in the directory.
        let cure = match error.kind() {
            io::ErrorKind::IsADirectory => Some("name a file in it"),
            _ => message::cure(error),
        };
        Failure::Trouble(Message::new(what, self.place(), message::reason(error)).cure(cure).to_string())
    }

    /// Fails if standard output would have to take both the file and the JSON object.
    pub(crate) fn check_json(&self, what: &str, content: &str, json: bool, cure: &str) -> Result<(), Failure> {
        if !(json && matches!(self, Target::Stdout)) {
            return Ok(());
        }
        let why = format!("it cannot take both the {content} and --json");
        Err(Failure::Trouble(Message::new(what, self.place(), why).cure(Some(cure)).to_string()))
    }

    /// Fails if binary data would go to a terminal.
    pub(crate) fn check_terminal(&self, what: &str, content: &str, cure: &str) -> Result<(), Failure> {
        if !(matches!(self, Target::Stdout) && io::stdout().is_terminal()) {
            return Ok(());
        }
        let why = format!("it is a terminal, and {content} are not text");
        Err(Failure::Trouble(Message::new(what, self.place(), why).cure(Some(cure)).to_string()))
    }
}
