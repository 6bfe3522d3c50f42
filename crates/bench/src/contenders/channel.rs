//! Blocks through common channels: `crossbeam-channel` and `std::sync::mpsc`.
//!
//! Blocks, pages and loops are those of the hand-written queue, and a second channel returns the blocks, so that only the
//! channel and its way of waiting differ.

use std::sync::mpsc;

use crate::contenders::{Contender, Measured, Trouble, two_threads};
use crate::kernels::{Tally, fill};
use crate::memory::{Pages, Region};

const BLOCK: usize = 2 << 20;
const BLOCKS: usize = 3;

fn blocks() -> Result<Region, Trouble> {
    Region::touched(BLOCK * BLOCKS, Pages::Huge).map_err(|e| Trouble::failed("memory", e))
}

/// Through bounded crossbeam channels.
pub(crate) struct Crossbeam(Region);

/// Through `std::sync::mpsc::sync_channel`.
pub(crate) struct StdMpsc(Region);

impl Crossbeam {
    pub(crate) fn new() -> Result<Crossbeam, Trouble> {
        blocks().map(Crossbeam)
    }
}

impl StdMpsc {
    pub(crate) fn new() -> Result<StdMpsc, Trouble> {
        blocks().map(StdMpsc)
    }
}

impl Contender for Crossbeam {
    fn run(&mut self, size: u64) -> Result<Measured, Trouble> {
        let (empty_in, empty_out) = crossbeam_channel::bounded(BLOCKS);
        let (full_in, full_out) = crossbeam_channel::bounded(BLOCKS);
        circulate(
            &mut self.0,
            size,
            Ends {
                give_empty: move |block| empty_in.send(block).is_ok(),
                take_empty: move || empty_out.recv().ok(),
                give_full: move |full| full_in.send(full).is_ok(),
                take_full: move || full_out.recv().ok(),
            },
        )
    }
}

impl Contender for StdMpsc {
    fn run(&mut self, size: u64) -> Result<Measured, Trouble> {
        let (empty_in, empty_out) = mpsc::sync_channel(BLOCKS);
        let (full_in, full_out) = mpsc::sync_channel(BLOCKS);
        circulate(
            &mut self.0,
            size,
            Ends {
                give_empty: move |block| empty_in.send(block).is_ok(),
                take_empty: move || empty_out.recv().ok(),
                give_full: move |full| full_in.send(full).is_ok(),
                take_full: move || full_out.recv().ok(),
            },
        )
    }
}

/// A block, and how many of its words are valid.
type Full<'a> = (&'a mut [u64], usize);

/// The four ends of two channels.
struct Ends<A, B, C, D> {
    give_empty: A,
    take_empty: B,
    give_full: C,
    take_full: D,
}

fn circulate<'a, A, B, C, D>(region: &'a mut Region, size: u64, ends: Ends<A, B, C, D>) -> Result<Measured, Trouble>
where
    A: Fn(&'a mut [u64]) -> bool + Send,
    B: Fn() -> Option<&'a mut [u64]> + Send,
    C: Fn(Full<'a>) -> bool + Send,
    D: Fn() -> Option<Full<'a>> + Send,
{
    let Ends { give_empty, take_empty, give_full, take_full } = ends;
    let words = size / 8;
    for block in region.words_mut().chunks_exact_mut(BLOCK / 8).take(BLOCKS) {
        give_empty(block);
    }
    let (took, (), answer) = two_threads(
        move || {
            let mut written = 0;
            while written < words {
                let Some(block) = take_empty() else { break };
                let n = (words - written).min(block.len() as u64) as usize;
                fill(&mut block[..n], written);
                written += n as u64;
                if !give_full((block, n)) {
                    break;
                }
            }
            Ok(())
        },
        move || {
            let mut tally = Tally::default();
            while let Some((block, n)) = take_full() {
                tally.add(&block[..n]);
                // The writer may have finished; then no one needs the block back.
                give_empty(block);
            }
            tally.answer()
        },
    )?;
    Ok(Measured::pipe(took, size, answer))
}
