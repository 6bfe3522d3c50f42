//! How a command ends. Exit codes are those of grep and sort.
//!
//! A command that cannot go on returns a [`Failure`]. One that can (a file of many is missing) complains to its console and goes
//! on; the console remembers.

/// How a command ended, as scripts see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// All went well; where there was a question, the answer is yes.
    Yes = 0,
    /// All went well, and the answer is no.
    No = 1,
    /// Something could not be done.
    Trouble = 2,
}

/// Why a command could not go on.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Whoever read our output has gone (`eagre … | head`): nothing is left to do, or to say.
    Unheard,
    /// Trouble, as the line to be printed.
    Trouble(String),
}

/// What a command returns.
pub(crate) type Run = Result<Exit, Failure>;
