//! Arrays of which snapshots are taken, against clones of a plain `Vec`.

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
use eagre_mem::{SnapshotArray, SnapshotOptions};

/// Blocks to try: the smallest, the default, the largest.
const BLOCKS: [usize; 3] = [4 << 10, SnapshotOptions::BLOCK, 2 << 20];
/// What the environment of children says. Snapshots need signals and no mover.
const PAIR: Pair = PAIRS[1];

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

fn array(bytes: usize, block: usize) -> SnapshotArray<u64> {
    SnapshotOptions::new().block(block).array(bytes / 8).unwrap()
}

/// Words in one block.
fn words(block: usize) -> usize {
    block / 8
}
