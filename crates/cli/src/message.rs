//! Messages of one line: `eagre: what: where: why; cure`.
//!
//! *What* was being done, *where* (a file, a stream), *why* it failed (in the system's words), and a cure if there is
//! one. A message is one line, whatever a file is called, so that logs can be read by lines.

use std::fmt;
use std::io::{self, ErrorKind};

use eagre::{StreamError, StreamErrorKind};

/// A message for standard error.
#[derive(Debug)]
pub(crate) struct Message {
    what: String,
    place: String,
    why: String,
    cure: Option<String>,
}

impl Message {
    pub(crate) fn new(what: impl Into<String>, place: impl Into<String>, why: impl Into<String>) -> Self {
        Self { what: what.into(), place: place.into(), why: why.into(), cure: None }
    }

    /// The message for an error of the system at a place.
    pub(crate) fn from_io(what: &str, place: impl Into<String>, error: &io::Error) -> Self {
        Self::new(what, place, reason(error)).cure(cure(error))
    }

    pub(crate) fn cure(mut self, cure: Option<impl Into<String>>) -> Self {
        self.cure = cure.map(Into::into);
        self
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, place, why, cure } = self;
        write!(f, "eagre: {what}: {place}: {why}")?;
        match cure {
            Some(cure) => write!(f, "; {cure}"),
            None => Ok(()),
        }
    }
}

/// The message for an error that already names what was being done, where and why, as errors of `eagre::file` do.
pub(crate) fn of_file(error: &io::Error) -> String {
    match cure(error) {
        Some(cure) => format!("eagre: {}; {cure}", reason(error)),
        None => format!("eagre: {}", reason(error)),
    }
}

/// The system's message without Rust's error number, and with anything that follows it, such as a cure.
pub(crate) fn reason(error: &io::Error) -> String {
    // If the writer of a stream failed (a decompressor, say), its message counts.
    let stream = error.get_ref().and_then(|inner| inner.downcast_ref::<StreamError>());
    let writers = stream.filter(|stream| stream.kind() == StreamErrorKind::WriterFailed).and_then(StreamError::detail);
    let text = writers.map_or_else(|| error.to_string(), str::to_owned);
    match text.split_once(" (os error ").and_then(|(before, rest)| Some((before, rest.split_once(')')?.1))) {
        Some((before, behind)) => format!("{before}{behind}"),
        None => text,
    }
}

/// The cure for an error, if there is one.
pub(crate) fn cure(error: &io::Error) -> Option<&'static str> {
    Some(match error.kind() {
        ErrorKind::NotFound => "check the name",
        ErrorKind::PermissionDenied => "ask for permission (chmod, chown) or run as a user who has it",
        ErrorKind::IsADirectory => "name the files in it",
        ErrorKind::StorageFull => "make room, or write elsewhere",
        ErrorKind::FileTooLarge => "raise 'ulimit -f', or write to a file system that takes larger files",
        // Errors of streams and of pools have their own cures.
        ErrorKind::OutOfMemory if !["; raise ", "; use "].iter().any(|cure| reason(error).contains(cure)) => {
            "raise 'ulimit -v', or use a machine with more memory"
        }
        ErrorKind::QuotaExceeded => "remove some of your files, or write elsewhere",
        // Errors of `eagre::file` keep the system's message, but not its number.
        _ if reason(error).contains("Too many open files") => "raise 'ulimit -n'",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_with_a_cure_where_there_is_one() {
        let missing = io::Error::from_raw_os_error(2);
        assert_eq!(
            Message::from_io("count", "nope", &missing).to_string(),
            "eagre: count: nope: No such file or directory; check the name"
        );
        let nested = io::Error::other(format!("no thread: {}; raise it", io::Error::from_raw_os_error(11)));
        assert_eq!(reason(&nested), "no thread: Resource temporarily unavailable; raise it");
        let refused = |text: &str| of_file(&io::Error::new(ErrorKind::OutOfMemory, text.to_owned()));
        let cured = "read: x: no memory; use less with --memory";
        assert_eq!(refused(cured), format!("eagre: {cured}"));
        let own = refused("write: /home/user/x: no memory for 9 bytes");
        assert!(own.ends_with("; raise 'ulimit -v', or use a machine with more memory"), "{own}");
        let odd = io::Error::from_raw_os_error(5);
        assert_eq!(Message::from_io("count", "disk", &odd).to_string(), "eagre: count: disk: Input/output error");
    }
}
