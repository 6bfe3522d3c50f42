//! The patterns, prepared for searching.

use std::fmt;

use super::Finder;
use super::engine::Engine;

/// Patterns that cannot be searched.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PatternError {
    /// A pattern is empty. It would match everywhere.
    Empty {
        /// The index of the pattern, from 0.
        pattern: usize,
    },
    /// There are more patterns, or longer ones, than the tables for several patterns can hold (about 2^31 bytes in
    /// all).
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

/// The patterns and options of a finder.
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

    /// Whether upper and lower case letters are the same. Only ASCII letters are folded. Default: they differ.
    pub fn case_insensitive(mut self, yes: bool) -> FinderBuilder {
        self.case_insensitive = yes;
        self
    }

    /// Builds the finder. Without patterns, it finds nothing.
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

    /// Whether the pattern alone determines the bytes that were found.
    pub(super) fn is_verbatim(&self) -> bool {
        !self.case_insensitive
    }

    /// How far an occurrence can extend beyond its first byte: the length of the longest pattern, less one.
    pub(super) fn reach(&self) -> usize {
        self.patterns.iter().map(|pattern| pattern.len()).max().unwrap_or(1) - 1
    }
}
