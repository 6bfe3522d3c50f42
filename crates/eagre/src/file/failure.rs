//! Error messages about a file, of the form `what: where: why`.

use std::fmt;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::name;

/// What is being done with a file, and the file's name in messages.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub(super) what: &'static str,
    pub(super) place: String,
}

impl Task {
    pub(crate) fn of(what: &'static str, path: &Path) -> Task {
        Task { what, place: name::shown(path.as_os_str().as_bytes()) }
    }

    pub(super) fn read(path: &Path) -> Task {
        Task::of("read", path)
    }

    pub(super) fn write(path: &Path) -> Task {
        Task::of("write", path)
    }

    /// `what: where: why`.
    pub(super) fn message(&self, why: impl fmt::Display) -> String {
        format!("{}: {}: {why}", self.what, self.place)
    }

    /// `what: where: why at byte n`.
    pub(super) fn message_at(&self, offset: u64, error: &io::Error) -> String {
        self.message(format_args!("{} at byte {offset}", reason(error)))
    }

    /// The same error with the whole message.
    pub(crate) fn error(&self, error: &io::Error) -> io::Error {
        io::Error::new(error.kind(), self.message(reason(error)))
    }
}

/// The system's message without Rust's error number, and with anything that follows it, such as a cure.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let parts = text.split_once(" (os error ").and_then(|(before, rest)| Some((before, rest.split_once(')')?.1)));
    parts.map_or_else(|| text.clone(), |(before, behind)| format!("{before}{behind}"))
}
