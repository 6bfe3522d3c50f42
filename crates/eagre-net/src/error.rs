//! Why a stream between hosts could not be opened, or did not reach its end.

use std::fmt;
use std::io;

use eagre::{OpenError, StreamError};

/// What kind of trouble it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NetErrorKind {
    /// A setting, key or token that cannot be used.
    Setting,
    /// The address cannot be read, or the name of the host is unknown.
    Address,
    /// Nobody answers at the address.
    Unreachable,
    /// One side does not trust the other, or they do not agree on how to be secure.
    Untrusted,
    /// The other side answers, and does not want this stream.
    Refused,
    /// The connection broke, and could not be made again in time.
    Lost,
    /// The other side said something that this one does not understand.
    Protocol,
    /// The stream failed at one of its ends: the program there stopped or gave up, or memory was refused.
    Stream,
    /// The system refused a socket, a thread or memory.
    Resources,
}

/// Why a stream between hosts could not be opened, or did not reach its end: one line that says where, why, and the cure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetError {
    kind: NetErrorKind,
    text: String,
}

impl NetError {
    pub(crate) fn new(kind: NetErrorKind, text: impl fmt::Display) -> NetError {
        NetError { kind, text: text.to_string() }
    }

    /// The system refused something that is needed here, not at the other side.
    pub(crate) fn refused(what: impl fmt::Display, error: &io::Error) -> NetError {
        NetError::new(NetErrorKind::Resources, format_args!("{what}: {}", reason(error)))
    }

    /// The system gives no thread for this.
    pub(crate) fn no_thread(what: &str, error: &io::Error) -> NetError {
        let cure = "use fewer streams, or raise `ulimit -u` and `ulimit -v`";
        NetError::new(NetErrorKind::Resources, format_args!("no thread for {what}: {}; {cure}", reason(error)))
    }

    /// The same with a part of its text, if `part` finds one.
    #[cfg(feature = "transfer")]
    pub(crate) fn without(mut self, part: impl FnOnce(&str) -> Option<&str>) -> NetError {
        if let Some(rest) = part(&self.text).map(str::to_owned) {
            self.text = rest;
        }
        self
    }

    /// What kind of trouble it is.
    pub fn kind(&self) -> NetErrorKind {
        self.kind
    }
}

/// The system's words without Rust's number.
pub(crate) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error ").next().unwrap_or_default().to_owned()
}

/// The beginning of a text, at most so many bytes.
pub(crate) fn shortened(text: &str, most: usize) -> &str {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// A text from the other side, as one line.
pub(crate) fn one_line(text: &[u8]) -> String {
    String::from_utf8_lossy(text).chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

impl fmt::Display for NetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for NetError {}

impl From<OpenError> for NetError {
    fn from(error: OpenError) -> NetError {
        let kind = match error {
            OpenError::Setting(_) => NetErrorKind::Setting,
            _ => NetErrorKind::Resources,
        };
        NetError::new(kind, error)
    }
}

impl From<StreamError> for NetError {
    fn from(error: StreamError) -> NetError {
        NetError::new(NetErrorKind::Stream, error)
    }
}

impl From<NetError> for io::Error {
    fn from(error: NetError) -> io::Error {
        let kind = match error.kind {
            NetErrorKind::Setting | NetErrorKind::Address => io::ErrorKind::InvalidInput,
            NetErrorKind::Unreachable => io::ErrorKind::NotConnected,
            NetErrorKind::Untrusted => io::ErrorKind::PermissionDenied,
            NetErrorKind::Refused => io::ErrorKind::ConnectionRefused,
            NetErrorKind::Lost => io::ErrorKind::ConnectionReset,
            NetErrorKind::Protocol => io::ErrorKind::InvalidData,
            NetErrorKind::Stream => io::ErrorKind::Other,
            NetErrorKind::Resources => io::ErrorKind::OutOfMemory,
        };
        io::Error::new(kind, error)
    }
}
