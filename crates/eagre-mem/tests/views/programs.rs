//! Random programs of writes, drafts, views, drops, extensions and de-duplication.

use crate::BLOCKS;
use crate::common::process::taken;
use crate::common::*;
use eagre_mem::{Draft, Mappings, View, ViewArray, ViewOptions};
use std::collections::HashSet;

type Block = Vec<u64>;

struct Program {
    rng: Rng,
    array: ViewArray<u64>,
    model: Vec<Block>,
    /// Each with what it must show.
    views: Vec<(View<u64>, Vec<Block>)>,
    drafts: Vec<(Draft<u64>, Vec<Block>)>,
    limit: usize,
}

/// Whether words are those of blocks.
fn is(words: &[u64], blocks: &[Block]) -> bool {
    words.len() == blocks.iter().map(Vec::len).sum() && words.chunks(blocks.first().map_or(1, Vec::len)).eq(blocks)
}

impl Program {
    fn new(seed: u64, block: usize, blocks: usize, limit: usize) -> Program {
        let array = ViewOptions::new().block(block).limit(limit).array::<u64>(blocks).unwrap();
        let model = vec![vec![0; block / 8]; blocks];
        Program { rng: Rng::new(seed), array, model, views: Vec::new(), drafts: Vec::new(), limit }
    }

    fn range(&mut self) -> std::ops::Range<usize> {
        let start = self.rng.below(self.model.len() as u64) as usize;
        let len = self.rng.length(self.model.len() - start);
        start..start + len
    }

    fn write(&mut self) {
        let range = self.range();
        // Few values, so that some blocks are equal.
        let (value, whole) = (self.rng.below(4), self.rng.one_in(2));
        let words = self.array.write(range.clone()).unwrap();
        assert!(is(words, &self.model[range.clone()]));
        let len = self.model[0].len();
        for (number, block) in range.enumerate() {
            let to = if whole { 0..len } else { len - 1..len };
            words[number * len..][to.clone()].fill(value);
            self.model[block][to].fill(value);
        }
    }

    /// Begins a draft of some blocks, in any order.
    fn draft(&mut self) {
        let mut blocks: Vec<usize> = self.range().collect();
        if self.rng.one_in(2) {
            blocks.reverse();
        }
        blocks.retain(|_| !self.rng.one_in(4));
        let mut draft = self.array.draft(&blocks).unwrap();
        let mut shown: Vec<Block> = blocks.iter().map(|&block| self.model[block].clone()).collect();
        assert!(is(&draft, &shown));
        let len = self.model[0].len();
        for (words, block) in draft.chunks_mut(len).zip(&mut shown) {
            let value = 10 + self.rng.below(4);
            words[1..].fill(value);
            block[1..].fill(value);
        }
        self.drafts.push((draft, shown));
    }

    fn apply(&mut self) {
        let (draft, shown) = self.drafts.remove(0);
        assert!(is(&draft, &shown));
        let blocks = draft.blocks().to_vec();
        self.array.apply(draft).unwrap();
        blocks.iter().zip(shown).for_each(|(&block, shown)| self.model[block] = shown);
    }

    fn step(&mut self) {
        let has = self.model.len() as u64;
        match self.rng.below(100) {
            0..40 => self.write(),
            40..50 => self.draft(),
            50..60 if !self.drafts.is_empty() => self.apply(),
            60..80 => {
                let len = self.rng.below(2 * has) as usize;
                let blocks: Vec<usize> = match self.rng.one_in(2) {
                    true => (0..len).map(|_| self.rng.below(has) as usize).collect(),
                    // Neighbours, twice.
                    false => [self.range(), self.range()].into_iter().flatten().collect(),
                };
                let view = self.array.view(&blocks).unwrap();
                let shown = blocks.iter().map(|&block| self.model[block].clone()).collect();
                self.views.push((view, shown));
            }
            80..90 if !self.views.is_empty() => {
                let at = self.rng.below(self.views.len() as u64) as usize;
                self.views.swap_remove(at);
            }
            90..96 => {
                let range = self.range();
                if range.len() + self.model.len() <= self.limit {
                    self.array.extend_from_within(range.clone()).unwrap();
                    self.model.extend_from_within(range);
                }
            }
            96.. => {
                let before = self.array.stats().bytes;
                let freed = self.array.deduplicate().unwrap();
                assert_eq!(self.array.stats().bytes, before - freed);
                if self.views.is_empty() && self.drafts.is_empty() {
                    let different: HashSet<&Block> = self.model.iter().collect();
                    assert_eq!(self.array.stats().bytes, (different.len() * self.array.stats().block) as u64);
                }
            }
            _ => {}
        }
        if self.views.len() > 4 {
            self.views.remove(0);
        }
        if self.drafts.len() > 2 {
            self.drafts.pop();
        }
    }

    fn check(&self) {
        assert!(is(&self.array, &self.model));
        assert_eq!(self.array.blocks(), self.model.len());
        for (view, shown) in &self.views {
            assert!(is(view, shown));
        }
        assert!(self.drafts.iter().all(|(draft, shown)| is(draft, shown)));
    }
}

#[test]
fn random_programs_show_what_plain_blocks_do() {
    let _dog = Watchdog::new("random_programs_show_what_plain_blocks_do");
    for (block, blocks, steps) in [(BLOCKS[0], 50, 400), (BLOCKS[1], 12, 300), (BLOCKS[2], 4, 60)] {
        for seed in 0..4 {
            let mut program = Program::new(seed, block, blocks, 2 * blocks);
            let start = program.array.as_ptr();
            for step in 0..steps {
                program.step();
                if step % 10 == 9 {
                    program.check();
                }
            }
            program.check();
            assert_eq!(program.array.as_ptr(), start);
            // Views outlive their array.
            drop(program.array);
            assert!(program.drafts.iter().all(|(draft, shown)| is(draft, shown)));
            assert!(program.views.iter().all(|(view, shown)| is(view, shown)));
        }
    }
}

/// However blocks are scattered, there are no more mappings than were counted.
pub(crate) fn mappings_are_counted() {
    for (block, blocks) in [(BLOCKS[0], 50), (BLOCKS[1], 20)] {
        let mut program = Program::new(block as u64, block, blocks, 3 * blocks);
        for step in 0..400 {
            program.step();
            let ((_, mapped), counted) = (taken(), Mappings::now().used);
            assert!(mapped as u64 <= counted, "{block}, {step}: {mapped} mappings, {counted} counted");
        }
    }
    assert_eq!((taken(), Mappings::now().used), ((0, 0), 0));
}
