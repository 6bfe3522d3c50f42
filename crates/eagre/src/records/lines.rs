//! Lines of text.

use super::{Format, Malformed};

/// Lines, compared as bytes without the byte that ends them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lines {
    terminator: u8,
}

impl Default for Lines {
    fn default() -> Lines {
        Lines::ended_by(b'\n')
    }
}

impl Lines {
    /// Lines that end with this byte.
    #[must_use]
    pub const fn ended_by(terminator: u8) -> Lines {
        Lines { terminator }
    }
}

impl Format for Lines {
    #[inline]
    fn length(&self, bytes: &[u8], last: bool) -> Result<Option<usize>, Malformed> {
        match memchr::memchr(self.terminator, bytes) {
            Some(end) => Ok(Some(end + 1)),
            None => Ok(last.then_some(bytes.len())),
        }
    }

    #[inline]
    fn key<'a>(&self, record: &'a [u8], _: &'a mut Vec<u8>) -> &'a [u8] {
        record.strip_suffix(&[self.terminator]).unwrap_or(record)
    }

    fn terminator(&self) -> Option<u8> {
        Some(self.terminator)
    }

    fn ends_at_terminator(&self) -> bool {
        true
    }
}
