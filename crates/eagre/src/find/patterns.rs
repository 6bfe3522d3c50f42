//! The patterns, made ready for finding.

use std::fmt;

use super::Finder;
use super::engine::Engine;

/// Patterns that nothing can be found with.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PatternError {
    /// An empty pattern would be everywhere.
    Empty {
        /// Which one, counted from 0.
        pattern: usize,
    },
    /// More patterns, or longer ones, than the tables for several at once can hold (about 2^31 bytes in all).
    TooMany,
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PatternError::Empty { pattern } => write!(f, "pattern {} is empty", pattern + 1),
            PatternError::TooMany => write!(f, "the patterns are too many or too long to be found at once"),
        }
    }
}

impl std::error::Error for PatternError {}

/// What to find: byte strings, and whether case makes a difference.
///
/// Made by [`Finder::builder`].
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct FinderBuilder {
    patterns: Vec<Box<[u8]>>,
    case_insensitive: bool,
}

impl FinderBuilder {
    /// Adds a pattern.
    pub fn pattern(mut self, pattern: impl AsRef<[u8]>) -> FinderBuilder {
        self.patterns.push(pattern.as_ref().into());
        self
    }

    /// Whether capital and small letters are the same. Only those of ASCII: other bytes stand for themselves.
    pub fn case_insensitive(mut self, yes: bool) -> FinderBuilder {
        self.case_insensitive = yes;
        self
    }

    /// The finder. Without any pattern, it finds nothing.
    ///
    /// # Errors
    /// A pattern is empty, or there are too many.
    pub fn build<'a>(self) -> Result<Finder<'a>, PatternError> {
        let FinderBuilder { patterns, case_insensitive } = self;
        if let Some(pattern) = patterns.iter().position(|pattern| pattern.is_empty()) {
            return Err(PatternError::Empty { pattern });
        }
        let engine = Engine::new(&patterns, case_insensitive)?;
        Ok(Finder::with(Patterns { patterns, case_insensitive, engine }))
    }
}

/// The patterns of a finder, and the algorithm for them.
#[derive(Debug)]
pub(super) struct Patterns {
    patterns: Vec<Box<[u8]>>,
    case_insensitive: bool,
    engine: Engine,
}

impl Patterns {
    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.patterns.iter().map(|pattern| &**pattern)
    }

    pub(super) fn engine(&self) -> &Engine {
        &self.engine
    }

    pub(super) fn pattern(&self, index: usize) -> &[u8] {
        &self.patterns[index]
    }

    pub(super) fn has_several(&self) -> bool {
        self.patterns.len() > 1
    }

    /// Whether a pattern says by itself which bytes were found.
    pub(super) fn is_verbatim(&self) -> bool {
        !self.case_insensitive
    }

    /// How far an occurrence can reach beyond the place it begins at: the longest pattern, less one byte.
    pub(super) fn reach(&self) -> usize {
        self.patterns.iter().map(|pattern| pattern.len()).max().unwrap_or(1) - 1
    }
}
