//! Why a contender has no result, and whether the run goes on without it.

use std::fmt;

/// Why there is no result.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// This machine cannot do it; the row goes on without.
    Unavailable(String),
    /// It did it and got it wrong; the program ends.
    Wrong(String),
    /// It should have been able to and was not; the program ends.
    Failed(String),
}

impl Trouble {
    /// A failed step, named.
    pub(crate) fn failed(what: &str, why: impl fmt::Display) -> Trouble {
        Trouble::Failed(format!("{what}: {why}"))
    }
}
