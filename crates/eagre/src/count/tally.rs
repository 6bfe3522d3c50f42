//! The counts of one piece, and how the counts of neighbouring pieces are joined.
//!
//! A piece does not know what comes before it. For lines this does not matter. For words there are two cases: the piece
//! begins inside a word or outside. They differ only up to the first byte that forms or ends a word, so both are
//! counted up to there. The width of the first line depends on the column at which the piece begins, but in a simple
//! way. That column is added to the width before the first tab, and the tab moves to the next multiple of eight. The
//! width behind the tab does not depend on it.

use crate::scan::Scan;
use crate::scan::kernels::{Columns, Kernels, Words};

/// The number of bytes that one loop processes before the next loop takes its turn. They fit into a first-level cache.
const CHUNK: usize = 16 << 10;

/// The question: what is counted besides bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tally {
    pub(super) kernels: Kernels,
    pub(super) lines: bool,
    pub(super) words: bool,
    pub(super) longest: bool,
}

/// The counts of one piece.
#[derive(Debug, Default)]
pub(super) struct Part {
    lines: u64,
    /// The words for both cases: the piece begins outside or inside a word.
    words: Cases,
    widths: Widths,
}

impl Scan for Tally {
    type Worker = ();
    type Part = Part;

    fn worker(&self) {}

    fn piece(&self, (): &mut (), _: u64, bytes: &[u8]) -> Part {
        let mut part = Part::default();
        for chunk in bytes.chunks(if self.words || self.longest { CHUNK } else { bytes.len() }) {
            if self.lines {
                part.lines += self.kernels.count(b'\n', chunk);
            }
            if self.words {
                part.words.go_on(self.kernels, chunk);
            }
            if self.longest {
                part.widths.go_on(self.kernels, chunk);
            }
        }
        part
    }
}

/// The words of a piece for both possible beginnings.
#[derive(Debug)]
struct Cases {
    from_outside: Words,
    from_inside: Words,
}

impl Default for Cases {
    fn default() -> Cases {
        Cases { from_outside: Words::default(), from_inside: Words { begun: 0, inside: true } }
    }
}

impl Cases {
    fn go_on(&mut self, kernels: Kernels, bytes: &[u8]) {
        let before = self.from_outside;
        kernels.words(&mut self.from_outside, bytes);
        if before.inside == self.from_inside.inside {
            // Both cases agree from here on, so one count serves both.
            self.from_inside.begun += self.from_outside.begun - before.begun;
            self.from_inside.inside = self.from_outside.inside;
        } else {
            kernels.words(&mut self.from_inside, bytes);
        }
    }
}

/// The widths of the lines of a piece, for any column at which it begins.
#[derive(Debug, Default)]
struct Widths {
    /// The columns before the first tab of the first line.
    before_tab: u64,
    /// The columns behind that tab. `None` if there is no tab.
    behind_tab: Option<u64>,
    /// The lines after the first one. `None` if the first line does not end.
    rest: Option<Columns>,
}

impl Widths {
    fn go_on(&mut self, kernels: Kernels, bytes: &[u8]) {
        let rest = match &mut self.rest {
            Some(rest) => return kernels.columns(rest, bytes),
            rest => rest,
        };
        let end = memchr::memchr3(b'\n', b'\r', b'\x0c', bytes);
        let mut first = &bytes[..end.unwrap_or(bytes.len())];
        let on_from = |column: u64, bytes: &[u8]| {
            let mut columns = Columns { longest: 0, column };
            kernels.columns(&mut columns, bytes);
            columns.column
        };
        if self.behind_tab.is_none() {
            let tab = memchr::memchr(b'\t', first);
            let before;
            (before, first) = first.split_at(tab.unwrap_or(first.len()));
            self.before_tab = on_from(self.before_tab, before);
            if tab.is_some() {
                self.behind_tab = Some(0);
                first = &first[1..];
            }
        }
        if let Some(behind) = &mut self.behind_tab {
            *behind = on_from(*behind, first);
        }
        if let Some(end) = end {
            kernels.columns(rest.insert(Columns::default()), &bytes[end + 1..]);
        }
    }
}

/// The joined counts of all parts so far.
#[derive(Debug, Default)]
pub(super) struct Total {
    lines: u64,
    words: Words,
    columns: Columns,
}

impl Total {
    /// Adds the next part.
    pub(super) fn add(&mut self, part: Part) {
        let Part { lines, words, widths } = part;
        self.lines += lines;

        let words = if self.words.inside { words.from_inside } else { words.from_outside };
        self.words = Words { begun: self.words.begun + words.begun, inside: words.inside };

        let Columns { longest, column } = &mut self.columns;
        *column += widths.before_tab;
        if let Some(behind) = widths.behind_tab {
            *column = (*column | 7) + 1 + behind;
        }
        if let Some(rest) = widths.rest {
            *longest = (*longest).max(*column).max(rest.longest);
            *column = rest.column;
        }
    }

    pub(super) fn lines(&self) -> u64 {
        self.lines
    }

    pub(super) fn words(&self) -> u64 {
        self.words.begun
    }

    pub(super) fn longest(&self) -> u64 {
        self.columns.longest.max(self.columns.column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts a text that is cut into pieces at these offsets.
    fn cut(text: &[u8], cuts: &[usize]) -> [u64; 3] {
        let tally = Tally { kernels: Kernels::best(), lines: true, words: true, longest: true };
        let mut total = Total::default();
        let mut start = 0;
        for &end in cuts.iter().chain([&text.len()]) {
            if start < end {
                total.add(tally.piece(&mut (), start as u64, &text[start..end]));
            }
            start = end;
        }
        [total.lines(), total.words(), total.longest()]
    }

    fn texts() -> impl Iterator<Item = Vec<u8>> {
        let alphabets: [&[u8]; 6] = [b"ab \n", b"a\x01 \xff", b"a\tb\n", b"\t\x80 ", b"a\r\x0c\x0b\n", b"a"];
        let mut random = fastrand::Rng::with_seed(0x1234_5678);
        (0..600).map(move |round| {
            let alphabet = alphabets[round % alphabets.len()];
            (0..round % 40).map(|_| alphabet[random.usize(..alphabet.len())]).collect()
        })
    }

    #[test]
    fn where_pieces_are_cut_makes_no_difference() {
        for text in texts() {
            let whole = cut(&text, &[]);
            let bytes: Vec<usize> = (0..text.len()).collect();
            assert_eq!(cut(&text, &bytes), whole, "{text:?} in single bytes");
            for first in 0..text.len() {
                assert_eq!(cut(&text, &[first]), whole, "{text:?} cut at {first}");
                let second = first + (text.len() - first) / 2;
                assert_eq!(cut(&text, &[first, second]), whole, "{text:?} cut at {first}, {second}");
            }
        }
    }

    #[test]
    fn chunks_of_a_piece_join_as_well() {
        for filler in [b'x', b' ', 0, b'\t'] {
            let mut text = vec![filler; 3 * CHUNK + 5];
            for (at, byte) in
                [(CHUNK - 1, b'a'), (CHUNK, b' '), (CHUNK + 1, b'b'), (2 * CHUNK, b'\t'), (3 * CHUNK, b'\n')]
            {
                text[at] = byte;
            }
            let pieces: Vec<usize> = (0..text.len()).step_by(1000).collect();
            assert_eq!(cut(&text, &pieces), cut(&text, &[]), "{filler}");
        }
    }
}
