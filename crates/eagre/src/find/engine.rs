//! Searching a slice: which algorithm, and one way to ask all of them.

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

/// The algorithm for the patterns at hand.
#[derive(Debug)]
pub(super) enum Engine {
    /// One pattern.
    One(One),
    /// Several, or none.
    Several(AhoCorasick),
}

/// One pattern, first with this machine's vectors and then, where they do badly or are not there, with something whose
/// time is linear whatever the data.
#[derive(Debug)]
pub(super) struct One {
    pattern: Box<[u8]>,
    kernel: Option<Kernel>,
    linear: Linear,
}

#[derive(Debug)]
enum Linear {
    Exact(Box<memmem::Finder<'static>>),
    /// Built when it is first needed.
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

    /// Whether there are vector instructions to find the patterns with.
    pub(super) fn has_vectors(&self) -> bool {
        matches!(self, Engine::One(One { kernel: Some(_), .. }))
    }

    /// Calls `found` with the matches that begin in `starts`, greedily from its first place on, until it breaks.
    ///
    /// The slice must go on behind `starts` as far as an occurrence can, unless there is nothing there: else a longer
    /// pattern is taken for a shorter one. `vectors`: whether to use what [`has_vectors`](Self::has_vectors) tells of.
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

    /// The first match that begins at `from` or behind it.
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
                // One pattern of which a copy is in memory: its tables cannot be too large.
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
