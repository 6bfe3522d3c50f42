//! What rewiring costs, and what rewired memory is worth.
//!
//! Every run makes its memory anew: block `k` holds the words `k * n..` of the known sequence, `n` words a block. The
//! blocks are then wired into consecutive addresses in a random order, which is the same in every run; only what the row
//! is about is timed. In the end all of it is read, and each block must be where the order says.

mod backing;

use std::hint::black_box;
use std::time::Instant;

use crate::catalogue::{Rewiring, Timed, Wiring};
use crate::contenders::{Contender, Measured, Trouble};
use crate::kernels::{sum, word};
use backing::{Backing, View};

/// The words from one touch to the next.
const PAGE: usize = 4096 / 8;
/// The words of a cache line.
const LINE: usize = 8;

/// Wires blocks in one way.
pub(crate) struct Rewire {
    wiring: Wiring,
    work: Rewiring,
}

impl Rewire {
    pub(crate) fn new(wiring: Wiring, work: Rewiring) -> Result<Rewire, Trouble> {
        // Whoever lacks something here lacks it with two blocks, too.
        Backing::new(wiring, work.block as usize, 2)?.wire(&[1, 0])?;
        Ok(Rewire { wiring, work })
    }
}

impl Contender for Rewire {
    fn run(&mut self, size: u64) -> Result<Measured, Trouble> {
        let block = self.work.block as usize;
        let order = shuffled(size as usize / block);
        let mut backing = Backing::new(self.wiring, block, order.len())?;
        let start = Instant::now();
        let mut view = backing.wire(&order)?;
        let wired = start.elapsed();
        let contents = Contents { order: &order, words: block / 8, empty: matches!(self.wiring, Wiring::Fresh(_)) };
        let (took, amount, answer, expected) = match self.work.timed {
            Timed::Wiring => (wired, order.len() as u64, 0, 0),
            Timed::Pass { before } => {
                (0..before).for_each(|_| pass(&mut view, 0));
                let start = Instant::now();
                pass(&mut view, 1);
                let took = start.elapsed();
                let pages = (view.len() / PAGE) as u64;
                let found = (0..view.len()).step_by(PAGE).fold(0, |total: u64, at| total.wrapping_add(view.word(at)));
                (took, pages, found, (0..pages).fold(0, |total: u64, page| total.wrapping_add(word(page ^ 1))))
            }
            Timed::Scan => {
                touch_all(&view);
                let start = Instant::now();
                let found = scan(&view);
                (start.elapsed(), size, found, contents.sum(0..view.len()))
            }
            Timed::WiringAndScan => {
                let found = scan(&view);
                (start.elapsed(), size, found, contents.sum(0..view.len()))
            }
            Timed::Random { dependent } => {
                touch_all(&view);
                let start = Instant::now();
                let found = if dependent { random_in_turn(&view) } else { random_at_once(&view) };
                let took = start.elapsed();
                (took, (view.len() / LINE) as u64, found, contents.sum(Lines::of(view.len())))
            }
        };
        if !matches!(self.work.timed, Timed::Pass { .. }) {
            contents.check(&view)?;
        }
        Ok(Measured { expected, ..Measured::alone(took, amount, answer, 0) })
    }
}

/// The numbers below `count` in an order that has nothing to do with them (Durstenfeld, 1964).
fn shuffled(count: usize) -> Vec<usize> {
    let mut order: Vec<_> = (0..count).collect();
    for at in (1..count).rev() {
        order.swap(at, (word(at as u64) >> 32) as usize % (at + 1));
    }
    order
}

/// Writes the first word of each page: that of the page's number, or of its neighbour's.
fn pass(view: &mut View<'_>, neighbour: u64) {
    for at in (0..view.len()).step_by(PAGE) {
        view.write(at, word((at / PAGE) as u64 ^ neighbour));
    }
}

/// Sees to it that every page is in the page table.
fn touch_all(view: &View<'_>) {
    (0..view.len()).step_by(PAGE).for_each(|at| {
        black_box(view.word(at));
    });
}

/// The sum of all words, in order.
fn scan(view: &View<'_>) -> u64 {
    view.pieces().fold(0, |total, piece| total.wrapping_add(sum(piece)))
}

/// One word of each cache line of a view: lines in an order that visits each once (a linear congruential generator of full
/// period), the word in it by its number.
struct Lines {
    line: usize,
    mask: usize,
    left: usize,
}

impl Lines {
    /// Of a view of so many words, a power of two.
    fn of(words: usize) -> Lines {
        let count = words / LINE;
        assert!(count.is_power_of_two(), "sizes are powers of two");
        Lines { line: 0, mask: count - 1, left: count }
    }

    const fn next_line(line: usize, mask: usize) -> usize {
        line.wrapping_mul(0x5851_F42D).wrapping_add(0x1405_7B7F) & mask
    }

    const fn word_of(line: usize) -> usize {
        line * LINE + (line >> 3) % LINE
    }
}

impl Iterator for Lines {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        self.left = self.left.checked_sub(1)?;
        let at = Lines::word_of(self.line);
        self.line = Lines::next_line(self.line, self.mask);
        Some(at)
    }
}

#[inline(never)]
fn random_at_once(view: &View<'_>) -> u64 {
    Lines::of(view.len()).fold(0, |total: u64, at| total.wrapping_add(view.word(at)))
}

/// The same, but each address needs the word before it: a zero made of it is added, which the compiler does not know.
#[inline(never)]
fn random_in_turn(view: &View<'_>) -> u64 {
    let Lines { mut line, mask, left } = Lines::of(view.len());
    let (nothing, mut total) = (black_box(0), 0u64);
    for _ in 0..left {
        let found = view.word(Lines::word_of(line));
        total = total.wrapping_add(found);
        line = Lines::next_line(line ^ (found as usize & nothing), mask);
    }
    total
}

/// What must be where.
struct Contents<'o> {
    order: &'o [usize],
    /// The words of a block.
    words: usize,
    /// Nothing was ever there.
    empty: bool,
}

impl Contents<'_> {
    fn at(&self, index: usize) -> u64 {
        match self.empty {
            true => 0,
            false => word((self.order[index / self.words] * self.words + index % self.words) as u64),
        }
    }

    fn sum(&self, indices: impl Iterator<Item = usize>) -> u64 {
        indices.fold(0, |total, index| total.wrapping_add(self.at(index)))
    }

    /// The first and the last word of each page.
    fn check(&self, view: &View<'_>) -> Result<(), Trouble> {
        let ends = (0..view.len()).step_by(PAGE).flat_map(|at| [at, at + PAGE - 1]);
        match ends.into_iter().find(|&at| view.word(at) != self.at(at)) {
            None => Ok(()),
            Some(at) => Err(Trouble::Wrong(format!("word {at} is {:#x}, not {:#x}", view.word(at), self.at(at)))),
        }
    }
}
