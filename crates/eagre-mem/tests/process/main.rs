//! Streams between processes: this one, and children that are the same program again.
//!
//! A child gets its side of the connection as standard input, and the name of its part in the environment.

#[path = "../common/mod.rs"]
#[allow(unused_macros)]
mod common;

mod content;
mod death;
mod hostile;
mod many;
mod names;
mod peer;
mod pointers;
mod watching;

use common::Watchdog;

/// The other process of the tests.
#[test]
fn child() {
    let parts = [content::PARTS, death::PARTS, many::PARTS, names::PARTS, pointers::PARTS];
    peer::serve(&parts.concat());
}

/// Ends a test that hangs.
fn watched(name: &str) -> Watchdog {
    Watchdog::new(name)
}
