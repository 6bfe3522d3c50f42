//! The cost of a block that was not kept: the first write to fresh memory.

use std::time::Instant;

use crate::contenders::primitive::{self, Load};
use crate::contenders::{Contender, Measured, Trouble};
use crate::kernels::{Tally, fill};
use crate::memory::Region;

/// Touches fresh blocks.
pub(crate) struct FirstTouch(Load);

impl FirstTouch {
    pub(crate) fn new(load: Load) -> FirstTouch {
        FirstTouch(load)
    }
}

impl Contender for FirstTouch {
    /// One pass over the blocks, whatever the size: only the first write is to fresh memory.
    fn run(&mut self, _size: u64) -> Result<Measured, Trouble> {
        let mut region = Region::map(primitive::TOTAL, self.0.pages).map_err(|e| Trouble::failed("memory", e))?;
        let blocks = (region.len() / self.0.block) as u64;
        let took = self.0.beside_peer(|| {
            let start = Instant::now();
            for page in region.words_mut().chunks_mut(4096 / 8) {
                page[0] = 1;
            }
            start.elapsed()
        });
        fill(region.words_mut(), 0);
        let mut tally = Tally::default();
        tally.add(region.words());
        let words = region.words().len() as u64;
        Ok(Measured::alone(took, blocks, tally.answer()?, words))
    }
}
