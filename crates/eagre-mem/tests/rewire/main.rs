//! Rewired memory, over every trap and mover pair: all of them give the same results.

#[path = "../common/mod.rs"]
#[macro_use]
mod common;

mod growing;
mod limits;
mod machine;
mod pins;
mod region;
mod vector;
mod vector_panics;

/// The other side of the tests that want a process of their own.
#[test]
fn child() {
    common::child::serve(&[machine::CASES, limits::CASES].concat());
}
