//! Why it did not work.
#![forbid(unsafe_code)]

use std::fmt;

/// What kind of trouble it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FabricErrorKind {
    /// libfabric is not installed, or is too old.
    Missing,
    /// A setting or an offer that cannot be used.
    Setting,
    /// libfabric or the system refused a call.
    Refused,
    /// The other side is gone.
    Gone,
    /// The other side did nothing in time.
    Late,
    /// What arrived is not what was sent, or makes no sense.
    Damaged,
}

/// Why it did not work: one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FabricError {
    kind: FabricErrorKind,
    text: String,
}

impl FabricError {
    pub(crate) fn new(kind: FabricErrorKind, text: impl fmt::Display) -> FabricError {
        FabricError { kind, text: text.to_string() }
    }

    /// What kind of trouble it is.
    pub fn kind(&self) -> FabricErrorKind {
        self.kind
    }
}

impl fmt::Display for FabricError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for FabricError {}
