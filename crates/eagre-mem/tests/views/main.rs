//! Arrays of which views are made, against lists of plain blocks.

#[path = "../common/mod.rs"]
#[macro_use]
mod common;

mod limits;
mod memory;
mod misuse;
mod programs;
mod threads;

use common::*;
use eagre_mem::probe::{PAIRS, Pair};
use eagre_mem::{ViewArray, ViewOptions};

/// Blocks to try: the smallest, one between, the largest.
const BLOCKS: [usize; 3] = [4 << 10, 64 << 10, 2 << 20];
/// What the environment of children says. Views need neither a trap nor a mover.
const PAIR: Pair = PAIRS[4];

/// The other side of the tests that want a process of their own.
#[test]
fn child() {
    let cases: Vec<child::Case> = limits::CASES.iter().chain(memory::CASES).chain(misuse::CASES).copied().collect();
    child::serve(&cases);
}

/// Runs a case that must succeed.
#[track_caller]
fn succeeds(case: &str) {
    let outcome = child::run(case, PAIR);
    assert!(outcome.success, "{outcome:?}");
}

/// An array whose blocks hold their numbers.
fn numbered(block: usize, blocks: usize, limit: usize) -> ViewArray<u64> {
    let mut array = ViewOptions::new().block(block).limit(limit).array(blocks).unwrap();
    (0..blocks).for_each(|number| array.write(number..=number).unwrap().fill(number as u64));
    array
}

/// The number in each block, all of whose words must hold it.
#[track_caller]
fn numbers(words: &[u64], block: usize) -> Vec<u64> {
    let whole = |block: &[u64]| {
        assert!(block.iter().all(|&word| word == block[0]));
        block[0]
    };
    words.chunks(block / 8).map(whole).collect()
}
