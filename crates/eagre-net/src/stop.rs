//! Why work on one connection ends before the stream does.

use eagre::{StreamError, StreamErrorKind};

use crate::error::{NetError, NetErrorKind};
use crate::link::Broken;

/// Why work on one connection ends before the stream does.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The connection broke. Another one will do.
    Broken(Broken),
    /// The stream cannot go on. The other side hears why, unless it said so itself.
    Failed { error: NetError, tell: bool },
    /// The stream was given up while a message was on its way, behind which no other can be sent.
    Cut(NetError),
}

impl From<Broken> for Stop {
    fn from(broken: Broken) -> Stop {
        Stop::Broken(broken)
    }
}

/// The stream of this side failed.
impl From<StreamError> for Stop {
    fn from(error: StreamError) -> Stop {
        let error = match error.kind() {
            // The name of this side's stream says nothing to the other one.
            StreamErrorKind::Cancelled => NetError::new(NetErrorKind::Stream, "it was cancelled"),
            _ => error.into(),
        };
        Stop::Failed { error, tell: true }
    }
}

impl Stop {
    /// The other side gave up, and said why.
    pub(crate) fn told(place: &str, why: &str) -> Stop {
        Stop::Failed {
            error: NetError::new(NetErrorKind::Stream, format_args!("{place}: the other side gave up: {why}")),
            tell: false,
        }
    }

    pub(crate) fn protocol(place: &str, what: &str) -> Stop {
        let text = format_args!("{place}: {what}; use the same version of eagre on both sides");
        Stop::Failed { error: NetError::new(NetErrorKind::Protocol, text), tell: true }
    }
}
