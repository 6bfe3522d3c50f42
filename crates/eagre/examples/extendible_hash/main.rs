//! A hash table whose directory doubles by rewiring.
//!
//! `cargo run --release --example extendible_hash [KEYS]` (default 4,000,000). Inserts keys, looks all of them up, and says what the
//! directory took: doubled, it shows the same memory twice, until an entry changes.

mod table;

use std::error::Error;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use eagre::ViewOptions;
use table::{Directory, Table};

/// The blocks of the directory, in bytes.
const BLOCK: usize = 64 << 10;
/// More entries than any number of keys that fit into memory leads to; only addresses are taken for them.
const MOST_ENTRIES: usize = 1 << 30;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("extendible_hash: {error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let keys: u64 = match std::env::args().nth(1) {
        Some(text) => text.parse().map_err(|_| format!("{text}: not a number of keys"))?,
        None => 4_000_000,
    };
    let limit = MOST_ENTRIES / (BLOCK / 8);
    let mut table = Table::new(ViewOptions::new().block(BLOCK).limit(limit).array::<u64>(1)?);
    let (start, mut slowest) = (Instant::now(), Duration::ZERO);
    for key in 0..keys {
        let began = Instant::now();
        if table.insert(key, key * key)? > 0 {
            let took = began.elapsed();
            slowest = slowest.max(took);
            let (entries, bytes) = (table.directory.entries().len(), table.directory.stats().bytes);
            println!("{key} keys: {entries} entries in {} KiB, doubled in {took:?}", bytes >> 10);
        }
    }
    println!("{keys} keys inserted in {:?}; the longest insert with a doubling took {slowest:?}", start.elapsed());
    let start = Instant::now();
    let found = (0..keys).filter(|&key| table.get(key) == Some(key * key)).count();
    println!("{found} found in {:?}", start.elapsed());
    assert_eq!(found as u64, keys);
    Ok(())
}
