//! Streams between processes: this one, and children that are the same program again.
//!
//! A child gets its side of the connection as standard input, and the name of its part in the environment.

#[path = "../common/mod.rs"]
#[allow(unused_macros)]
mod common;

mod content;
mod peer;

use common::Watchdog;

/// The other process of the tests.
#[test]
fn child() {
    let parts: Vec<peer::Part> = content::PARTS.iter().copied().collect();
    peer::serve(&parts);
}

/// Ends a test that hangs.
fn watched(name: &str) -> Watchdog {
    Watchdog::new(name)
}
