//! Searching a slice: the choice of the algorithm, and one interface to all of them.

use std::ops::{ControlFlow, Range};
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, MatchKind};
use memchr::memmem;

use super::PatternError;
use super::kernel::{Kernel, Outcome};

/// An occurrence in a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hit {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) pattern: usize,
}

/// The algorithm for the given patterns.
#[derive(Debug)]
pub(super) enum Engine {
    /// One pattern.
    One(One),
    /// Several patterns, or none.
    Several(AhoCorasick),
}

/// One pattern. It is searched with vector instructions first. If they are slow on the data, or not available, an
/// algorithm takes over whose time is linear on any data.
#[derive(Debug)]
pub(super) struct One {
    pattern: Box<[u8]>,
    kernel: Option<Kernel>,
    linear: Linear,
}

#[derive(Debug)]
enum Linear {
    Exact(Box<memmem::Finder<'static>>),
    /// Built on first use.
    AnyCase(OnceLock<AhoCorasick>),
}

impl Engine {
    pub(super) fn new(patterns: &[Box<[u8]>], any_case: bool) -> Result<Engine, PatternError> {
        let [pattern] = patterns else {
            return Ok(Engine::Several(automaton(patterns, any_case)?));
        };
        let linear = match any_case {
            true => Linear::AnyCase(OnceLock::new()),
            false => Linear::Exact(Box::new(memmem::Finder::new(pattern).into_owned())),
        };
        Ok(Engine::One(One { pattern: pattern.clone(), kernel: Kernel::new(pattern, any_case), linear }))
    }

    /// Whether a vector kernel exists for the patterns.
    pub(super) fn has_vectors(&self) -> bool {
        matches!(self, Engine::One(One { kernel: Some(_), .. }))
    }

    /// Calls `found` with each match that begins in `starts`, greedily from its start on, until `found` breaks.
    ///
    /// The slice must extend behind `starts` by as much as an occurrence can, unless the input ends there. Otherwise a
    /// shorter pattern could be reported instead of a longer one. `vectors`: whether to use the kernel of
    /// [`has_vectors`](Self::has_vectors).
    pub(super) fn each(
        &self,
        bytes: &[u8],
        starts: Range<usize>,
        vectors: bool,
        mut found: impl FnMut(Hit) -> ControlFlow<()>,
    ) {
        if starts.is_empty() {
            return;
        }
        match self {
            Engine::One(one) => {
                let end = bytes.len().min(starts.end.saturating_add(one.pattern.len() - 1));
                one.each(&bytes[..end], starts.start, vectors, |start| {
                    found(Hit { start, end: start + one.pattern.len(), pattern: 0 })
                });
            }
            Engine::Several(automaton) => {
                for hit in automaton.find_iter(aho_corasick::Input::new(bytes).range(starts.start..)) {
                    let hit = Hit { start: hit.start(), end: hit.end(), pattern: hit.pattern().as_usize() };
                    if hit.start >= starts.end || found(hit).is_break() {
                        return;
                    }
                }
            }
        }
    }

    /// The first match that begins at `from` or later.
    pub(super) fn next(&self, bytes: &[u8], from: usize, vectors: bool) -> Option<Hit> {
        let mut first = None;
        self.each(bytes, from..bytes.len(), vectors, |hit| {
            first = Some(hit);
            ControlFlow::Break(())
        });
        first
    }
}

impl One {
    fn each(&self, bytes: &[u8], from: usize, vectors: bool, mut found: impl FnMut(usize) -> ControlFlow<()>) {
        let from = match self.kernel.as_ref().filter(|_| vectors) {
            None => from,
            Some(kernel) => match kernel.each(bytes, from, &mut found) {
                Outcome::Done => return,
                Outcome::Futile { next } => next,
            },
        };
        let bytes = &bytes[from.min(bytes.len())..];
        match &self.linear {
            Linear::Exact(finder) => {
                let _ = finder.find_iter(bytes).try_for_each(|start| found(from + start));
            }
            Linear::AnyCase(automaton) => {
                // One pattern that was copied into memory: its tables cannot be too large.
                let automaton = automaton.get_or_init(|| {
                    automaton_of(std::slice::from_ref(&self.pattern), true).expect("tables for one pattern")
                });
                let _ = automaton.find_iter(bytes).try_for_each(|hit| found(from + hit.start()));
            }
        }
    }
}

fn automaton(patterns: &[Box<[u8]>], any_case: bool) -> Result<AhoCorasick, PatternError> {
    automaton_of(patterns, any_case).map_err(|_| PatternError::TooMany)
}

fn automaton_of(patterns: &[Box<[u8]>], any_case: bool) -> Result<AhoCorasick, aho_corasick::BuildError> {
    AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).ascii_case_insensitive(any_case).build(patterns)
}
