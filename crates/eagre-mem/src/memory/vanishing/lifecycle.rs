//! The rules of one vanishing array: which block a touch asks for, and which blocks it sets aside or gives back.
//!
//! A pure state machine: it names blocks, and [`backing`](super::backing) moves them. Blocks are counted from the start of the
//! array, and each moves from right to left in this picture:
//!
//! ```text
//!        gone              read           aside            written
//!  block ──┼────────────────┼───────────────┼────────────────┼──────▶
//!  given   │ the reader's   │ unread, set   │ the writer's   │ no
//!  back    │ window (M + 1) │ aside         │ window (L + 1) │ block
//! ```
//!
//! *Set aside* is absent with its contents kept. It is what tells where the reader is: the first touch of a block set aside is
//! a fault.

#![forbid(unsafe_code)]

use std::ops::Range;

/// How many blocks an end may go back: L for the writer, once reading has begun, M for the reader.
#[derive(Clone, Copy, Debug)]
pub(super) struct Windows {
    pub(super) rewrite: u32,
    pub(super) lookback: u32,
}

/// Where a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whereabouts {
    /// There is none.
    Nowhere,
    /// Absent, with its contents kept.
    Aside,
}

/// Who touched a block that is not in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Toucher {
    /// The writer, who wants a new block.
    Writer,
    /// Somebody who comes to a block set aside, or to one that the writer has jumped over.
    Reader,
}

/// Why a touch is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Misuse {
    /// The block was consumed and given back.
    Consumed,
    /// Everything before is all there is.
    PastEnd,
    /// The array was made for less.
    PastLimit,
}

/// The state of one array.
#[derive(Debug)]
pub(super) struct Lifecycle {
    windows: Windows,
    /// Blocks there can be.
    limit: u32,
    /// Blocks below this one were given back.
    gone: u32,
    /// Blocks below this one have left the writer's window since reading began.
    aside: u32,
    /// Blocks below this one were reached by the writer.
    written: u32,
    /// Whether reading has begun.
    reading: bool,
    /// Blocks there will be, once that is known.
    end: Option<u32>,
}

impl Lifecycle {
    /// The most blocks that are brought at once.
    const MOST_TOGETHER: u32 = 8;
    /// And at most this part of the unread ones, as a divisor.
    const PART: u32 = 32;

    pub(super) fn new(windows: Windows, limit: u32) -> Lifecycle {
        Lifecycle { windows, limit, gone: 0, aside: 0, written: 0, reading: false, end: None }
    }

    /// The blocks that may be in place or set aside.
    pub(super) fn alive(&self) -> Range<u32> {
        self.gone..self.written
    }

    /// Blocks below this one were reached by the writer.
    pub(super) fn written(&self) -> u32 {
        self.written
    }

    /// What the touch of a block that is not in place means.
    pub(super) fn touched(&self, block: u32, whereabouts: Whereabouts) -> Result<Toucher, Misuse> {
        if block >= self.limit {
            Err(Misuse::PastLimit)
        } else if block < self.gone {
            Err(Misuse::Consumed)
        } else if whereabouts == Whereabouts::Aside || block < self.aside {
            Ok(Toucher::Reader)
        } else if self.end.is_some_and(|end| block >= end) {
            Err(Misuse::PastEnd)
        } else {
            Ok(Toucher::Writer)
        }
    }

    /// The writer has a new block. Returns the blocks to set aside: those that leave its window, if anybody reads.
    pub(super) fn wrote(&mut self, block: u32) -> Range<u32> {
        self.written = self.written.max(block + 1);
        self.leave_window()
    }

    /// The reader has arrived at a block. Returns the blocks to give back.
    ///
    /// They are all below `aside`: in the writer's window nothing is ever given back to a touch.
    pub(super) fn read(&mut self, block: u32) -> Range<u32> {
        self.give_back(block.saturating_sub(self.windows.lookback))
    }

    /// The blocks to bring with one fault of the reader, as the kernel's fault-around does: a fault costs as much as moving several
    /// blocks. They add at most a 32nd of the unread blocks to what the array holds.
    pub(super) fn fault_around(&self, block: u32) -> Range<u32> {
        let unread = self.aside.saturating_sub(block);
        block..block + (unread / Self::PART).clamp(1, Self::MOST_TOGETHER)
    }

    /// All blocks below `block` are consumed: a reader who says so and looks back at nothing.
    pub(super) fn consumed(&mut self, block: u32) -> Range<u32> {
        self.give_back(block.min(self.written))
    }

    /// The same of a reader on a pointer, beside a writer who may go back in its window.
    pub(super) fn passed(&mut self, block: u32) -> Range<u32> {
        let window = if self.end.is_some() { 0 } else { self.windows.rewrite.saturating_add(1) };
        self.give_back(block.min(self.written.saturating_sub(window)))
    }

    /// Reading begins. Returns the blocks to set aside.
    pub(super) fn begin_reading(&mut self) -> Range<u32> {
        self.reading = true;
        self.leave_window()
    }

    /// There will be `blocks` blocks and no more.
    pub(super) fn finish(&mut self, blocks: u32) {
        self.end = Some(blocks);
        self.written = self.written.max(blocks);
    }

    /// A new round begins, with the first block still in place or without any.
    pub(super) fn reset(&mut self, keeps_first: bool) {
        *self = Lifecycle { written: u32::from(keeps_first), ..Lifecycle::new(self.windows, self.limit) };
    }

    fn leave_window(&mut self) -> Range<u32> {
        if !self.reading {
            return 0..0;
        }
        let from = self.aside.max(self.gone);
        let until = self.written.saturating_sub(self.windows.rewrite.saturating_add(1)).max(from);
        self.aside = until;
        from..until
    }

    fn give_back(&mut self, until: u32) -> Range<u32> {
        let from = self.gone;
        self.gone = until.max(from);
        from..self.gone
    }
}

#[cfg(test)]
mod tests {
    use super::Whereabouts::*;
    use super::*;

    fn lifecycle() -> Lifecycle {
        Lifecycle::new(Windows { rewrite: 1, lookback: 1 }, 100)
    }

    /// Writes `blocks` blocks from the start.
    fn written(blocks: u32) -> Lifecycle {
        let mut lifecycle = lifecycle();
        for block in 0..blocks {
            assert_eq!(lifecycle.touched(block, Nowhere), Ok(Toucher::Writer));
            assert!(lifecycle.wrote(block).is_empty());
        }
        lifecycle
    }

    #[test]
    fn an_array_that_nobody_reads_stays() {
        let mut lifecycle = written(10);
        assert_eq!(lifecycle.alive(), 0..10);
        // The writer may go wherever it likes, back over everything or ahead.
        assert!(lifecycle.wrote(40).is_empty());
        assert_eq!(lifecycle.touched(20, Nowhere), Ok(Toucher::Writer));
        assert_eq!(lifecycle.alive(), 0..41);
    }

    #[test]
    fn what_the_reader_has_left_behind_is_given_back() {
        let mut lifecycle = written(10);
        lifecycle.finish(10);
        assert_eq!(lifecycle.begin_reading(), 0..8);
        assert!(lifecycle.read(0).is_empty());
        assert!(lifecycle.read(1).is_empty());
        assert_eq!(lifecycle.read(2), 0..1);
        // A jump gives back what it jumps over.
        assert_eq!(lifecycle.read(6), 1..5);
        assert_eq!(lifecycle.touched(4, Nowhere), Err(Misuse::Consumed));
        assert_eq!(lifecycle.touched(5, Aside), Ok(Toucher::Reader));
        assert!(lifecycle.read(5).is_empty());
        assert_eq!(lifecycle.read(7), 5..6);
        assert_eq!(lifecycle.alive(), 6..10);
    }

    #[test]
    fn what_comes_together_is_a_small_part_of_what_is_unread() {
        let mut lifecycle = Lifecycle::new(Windows { rewrite: 1, lookback: 1 }, 5000);
        lifecycle.finish(1002);
        lifecycle.begin_reading();
        for (block, together) in [(0, 8), (700, 8), (800, 6), (936, 2), (940, 1), (999, 1), (1001, 1)] {
            assert_eq!(lifecycle.fault_around(block), block..block + together);
        }
    }

    /// The first rule: wherever the reader is, the writer's window stays.
    #[test]
    fn a_reader_at_the_writers_heels_takes_nothing_from_it() {
        let mut lifecycle = lifecycle();
        lifecycle.wrote(0);
        assert!(lifecycle.begin_reading().is_empty());
        for block in 1..50 {
            let aside = lifecycle.wrote(block);
            assert_eq!(aside, block.saturating_sub(2)..block.saturating_sub(1), "{block}");
            for block in aside {
                lifecycle.read(block);
            }
            assert!(lifecycle.alive().contains(&block) && lifecycle.alive().contains(&(block - 1)));
            assert!(lifecycle.alive().len() <= 4, "{:?}", lifecycle.alive());
        }
    }

    /// A reader that no fault finds can say where it is; that does not touch the writer's window either, until the writer is done.
    #[test]
    fn a_reader_who_says_where_it_is() {
        let mut lifecycle = written(10);
        lifecycle.begin_reading();
        assert_eq!(lifecycle.passed(9), 0..8);
        assert_eq!(lifecycle.wrote(10), 8..9);
        assert_eq!(lifecycle.touched(9, Nowhere), Ok(Toucher::Writer));
        lifecycle.finish(11);
        assert_eq!(lifecycle.passed(10), 8..10);
        assert_eq!(lifecycle.passed(50), 10..11);
    }

    #[test]
    fn places_the_writer_jumped_over() {
        let mut lifecycle = written(3);
        lifecycle.wrote(9);
        lifecycle.begin_reading();
        // In the writer's window it may be the writer who comes back; before it only a reader.
        assert_eq!(lifecycle.touched(8, Nowhere), Ok(Toucher::Writer));
        assert_eq!(lifecycle.touched(5, Nowhere), Ok(Toucher::Reader));
        assert_eq!(lifecycle.read(5), 0..4);
    }

    #[test]
    fn outside() {
        let mut lifecycle = written(10);
        assert_eq!(lifecycle.touched(100, Nowhere), Err(Misuse::PastLimit));
        assert_eq!(lifecycle.touched(99, Nowhere), Ok(Toucher::Writer));
        lifecycle.finish(10);
        assert_eq!(lifecycle.touched(10, Nowhere), Err(Misuse::PastEnd));
        lifecycle.begin_reading();
        assert_eq!(lifecycle.touched(10, Nowhere), Err(Misuse::PastEnd));
        assert_eq!(lifecycle.consumed(50), 0..10);
        assert_eq!(lifecycle.touched(9, Nowhere), Err(Misuse::Consumed));
    }

    /// The second rule: the block in which the next round begins is its first.
    #[test]
    fn a_new_round() {
        for keeps_first in [true, false] {
            let mut lifecycle = written(5);
            lifecycle.finish(5);
            lifecycle.begin_reading();
            lifecycle.read(2);
            lifecycle.reset(keeps_first);
            assert_eq!(lifecycle.alive(), 0..u32::from(keeps_first));
            assert_eq!(lifecycle.touched(1, Nowhere), Ok(Toucher::Writer));
            assert!(lifecycle.wrote(1).is_empty());
        }
    }
}
