//! The writer's program, drawn by the rules of its windows, and what must come of it.

use super::{FOREIGN, Shape, WAYS, Way};
use crate::common::Rng;

/// One step of the writer.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Through the pointer.
    Put {
        at: u64,
        bytes: Vec<u8>,
    },
    AdvanceTo(u64),
    /// Reserve so many bytes and commit these.
    Commit {
        reserve: usize,
        bytes: Vec<u8>,
    },
    /// Take blocks and complete them in this order.
    Blocks {
        fill: Vec<Vec<u8>>,
        order: Vec<usize>,
    },
}

/// The writer's program and what comes of it.
pub(super) struct Model {
    pub(super) steps: Vec<Step>,
    pub(super) bytes: Vec<u8>,
    /// Whether the byte is certain.
    pub(super) said: Vec<bool>,
    pub(super) length: u64,
}

struct Draw {
    shape: Shape,
    rng: Rng,
    /// One past the furthest block touched.
    taken: u64,
    /// Blocks below this one are published by calls.
    floor: u64,
    /// One past the furthest byte said.
    end: u64,
    model: Model,
}

impl Draw {
    fn bytes(&mut self, len: usize) -> Vec<u8> {
        // The oracle's bytes from anywhere, but none that are foreign.
        let mut bytes = vec![0; len];
        crate::common::put(self.rng.next() >> 8, &mut bytes);
        bytes.iter_mut().filter(|byte| **byte == FOREIGN).for_each(|byte| *byte = 1);
        bytes
    }

    fn within(&self, at: u64) -> u64 {
        at % self.shape.block.bytes() as u64
    }

    fn block_of(&self, at: u64) -> u64 {
        at / self.shape.block.bytes() as u64
    }

    /// The writer touches all blocks up to this one; those it skips, and all it touches if sparse, are zero.
    fn touch(&mut self, block: u64, explicit_first: Option<u64>) {
        let size = self.shape.block.bytes();
        let skipped_until = explicit_first.unwrap_or(block);
        for number in self.taken..=block {
            let zero = self.shape.sparse || number < skipped_until;
            self.model.bytes.resize((number as usize + 1) * size, 0);
            self.model.said.resize((number as usize + 1) * size, zero);
        }
        self.taken = self.taken.max(block + 1);
    }

    fn say(&mut self, at: u64, bytes: &[u8]) {
        let range = at as usize..at as usize + bytes.len();
        self.model.bytes[range.clone()].copy_from_slice(bytes);
        self.model.said[range].fill(true);
        self.end = self.end.max(at + bytes.len() as u64);
    }

    /// The oldest block a pointer may touch if it also touches `last`.
    fn oldest(&self, last: u64) -> u64 {
        last.max(self.taken.saturating_sub(1)).saturating_sub(u64::from(self.shape.rewrite)).max(self.floor)
    }

    fn jump(&mut self) -> u64 {
        let size = self.shape.block.bytes() as u64;
        if self.rng.one_in(6) { self.rng.below(4 * size) } else { 0 }
    }

    fn put(&mut self) {
        let size = self.shape.block.bytes();
        let ahead = self.end + self.jump();
        let last = self.block_of(ahead).max(self.taken.saturating_sub(1));
        let oldest = self.oldest(last) * size as u64;
        let newest = (last + 1) * size as u64;
        // Mostly onward, sometimes back into the window.
        let at = match self.rng.one_in(3) {
            true => oldest + self.rng.below(newest - oldest),
            false => self.end.max(last * size as u64).min(newest - 1),
        };
        let len = self.rng.length(2 * size) as u64;
        let until = (at + len).min((self.block_of(at) + 1 + u64::from(self.shape.rewrite)) * size as u64);
        let last = self.block_of(until - 1);
        if self.block_of(at) < self.oldest(last) {
            return;
        }
        let bytes = self.bytes((until - at) as usize);
        // Copies touch blocks in any order; the block that comes first decides which others are skipped.
        self.touch(last, Some(self.block_of(at)));
        self.say(at, &bytes);
        self.model.steps.push(Step::Put { at, bytes });
    }

    /// A place from which calls go on: the position, or further on.
    fn advance(&mut self) -> u64 {
        let to = self.end + self.jump();
        self.model.steps.push(Step::AdvanceTo(to));
        to
    }

    fn commit(&mut self) {
        let size = self.shape.block.bytes();
        let at = self.advance();
        let most = (u64::from(self.shape.rewrite) + 1) * size as u64 - self.within(at);
        let reserve = self.rng.length(most as usize);
        let len = if self.rng.one_in(8) { 0 } else { self.rng.length(reserve) };
        let bytes = self.bytes(len);
        let first = self.block_of(at);
        self.touch(self.block_of(at + reserve as u64 - 1), Some(first));
        self.say(at, &bytes);
        // An empty commit says nothing, but the position has moved.
        self.end = self.end.max(at + len as u64);
        self.floor = self.floor.max(self.block_of(at + len as u64).min(self.taken));
        self.model.steps.push(Step::Commit { reserve, bytes });
    }

    fn blocks(&mut self) {
        let size = self.shape.block.bytes();
        let at = self.end.next_multiple_of(size as u64);
        self.model.steps.push(Step::AdvanceTo(at));
        let first = self.block_of(at);
        let count = self.rng.below(u64::from(self.shape.rewrite) + 1) + 1;
        let fill: Vec<_> = (0..count).map(|_| self.bytes(size)).collect();
        self.touch(first + count - 1, Some(first));
        for (number, bytes) in fill.iter().enumerate() {
            self.say(at + (number * size) as u64, bytes);
        }
        self.floor = self.floor.max(first + count);
        let mut order: Vec<usize> = (0..count as usize).collect();
        (1..order.len()).for_each(|i| order.swap(i, self.rng.below(i as u64 + 1) as usize));
        self.model.steps.push(Step::Blocks { fill, order });
    }

    fn all(mut self) -> Model {
        let size = self.shape.block.bytes() as u64;
        while self.end < self.shape.blocks * size {
            let way = match self.shape.writer {
                Way::Mixed => WAYS[self.rng.below(3) as usize],
                way => way,
            };
            match way {
                Way::Pointer => self.put(),
                Way::Calls => self.commit(),
                _ => self.blocks(),
            }
        }
        // Somewhere behind what is published for good; what is beyond the last byte said is zero.
        let least = self.oldest(0).max(self.taken.saturating_sub(1 + u64::from(self.shape.rewrite))) * size;
        let length = match self.rng.below(3) {
            0 => self.end,
            1 => self.end + self.rng.below(3 * size),
            _ => least + self.rng.below(self.end - least + 1),
        };
        let last = self.block_of(length);
        if last >= self.taken {
            self.touch(last, Some(last));
            self.model.said[(last * size) as usize..].fill(true);
        }
        self.model.bytes.truncate(length as usize);
        self.model.said.truncate(length as usize);
        self.model.length = length;
        self.model
    }
}

pub(super) fn model(shape: Shape) -> Model {
    let model = Model { steps: Vec::new(), bytes: Vec::new(), said: Vec::new(), length: 0 };
    Draw { shape, rng: Rng::new(shape.seed), taken: 0, floor: 0, end: 0, model }.all()
}
