//! How a command ends. Exit codes are those of grep and sort.
//!
//! A command that cannot continue returns a [`Failure`]. If it can continue (one of several files is missing), it reports
//! the error to its console, which remembers it, and goes on.

/// How a command ended, as scripts see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Success. If the command answers a question, the answer is yes.
    Yes = 0,
    /// Success, and the answer is no.
    No = 1,
    /// An error.
    Trouble = 2,
}

/// Why a command could not continue.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The reader of the output has gone (`eagre … | head`). The command ends silently.
    Unheard,
    /// An error. It holds the line to print.
    Trouble(String),
}

/// What a command returns.
pub(crate) type Run = Result<Exit, Failure>;
