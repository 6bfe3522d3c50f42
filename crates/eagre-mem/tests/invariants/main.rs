//! The seven invariants of a stream (`docs/design.md`), each with a test seen to fail when the code is broken.
//!
//! 1. `footprint`: at most `N + L + M + 1` blocks, and memory, mappings and page tables stay flat.
//! 2. `published`: a reader never sees a byte before its block was published, and never sees it change.
//! 3. `order`: bytes arrive in order and exactly once, whatever the access pattern; what was skipped is zero.
//! 4. `end`: after the end the rest of the page is zero, and at least one zero byte follows.
//! 5. `failures`: nothing hangs, and no correct program is killed.
//! 6. `outside`: a touch outside the window ends the process with one line that names the cure. With the mover `map` it may go
//!    unnoticed for some blocks, and then changes the block that it was meant for, and no other: `late`.
//! 7. `waits`: who waits for whom can be asked; only one handle that waits for itself is an error.
#![cfg(target_os = "linux")]

#[macro_use]
#[path = "../common/mod.rs"]
mod common;

mod end;
mod failures;
mod footprint;
mod late;
mod order;
mod outside;
mod published;
mod waits;

/// Does nothing, unless another test of this suite started it.
#[test]
fn child() {
    let cases: Vec<_> =
        footprint::CASES.iter().chain(late::CASES).chain(outside::CASES).chain(waits::CASES).copied().collect();
    common::child::serve(&cases);
}
