//! Vanishing arrays, over every trap and mover pair: through plain pointers, and through slices.

#[path = "../common/mod.rs"]
#[macro_use]
mod common;

mod array;
mod buckets;
mod machine;
mod misuse;
mod pins;
mod rules;
mod slices;

use common::*;
use eagre_mem::probe::Pair;
use eagre_mem::{BlockSize, Pool, StreamPool, VanishingArray};

/// The other side of the tests that want a process of their own.
#[test]
fn child() {
    let cases: Vec<child::Case> = machine::CASES.iter().chain(misuse::CASES).copied().collect();
    child::serve(&cases);
}

/// A pool of small blocks.
fn pool(pair: Pair, budget: u32) -> StreamPool {
    sized_pool(pair, BlockSize::MIN, budget)
}

fn sized_pool(pair: Pair, block: BlockSize, budget: u32) -> StreamPool {
    StreamPool::on(&Pool::new(block, budget, Some(pair.trap), Some(pair.mover)).unwrap())
}

/// The blocks an array holds.
fn blocks(array: &VanishingArray<u8>) -> u64 {
    array.held() / SMALL as u64
}

/// An array of `len` bytes that was written through a pointer.
fn full(pool: &StreamPool, len: usize) -> VanishingArray<u8> {
    let mut array = pool.array(len).unwrap();
    // SAFETY: within the limit.
    unsafe { put_through(array.writer().unwrap(), 0, len as u64, 10_000) };
    array.finish(len);
    array
}

/// Appends the rest of a block through a slice, and returns where that lies.
fn append(array: &mut VanishingArray<u8>) -> *const u8 {
    let at = array.len() as u64;
    let room = array.reserve().unwrap();
    put(at, room);
    let (start, len) = (room.as_ptr(), room.len());
    array.commit(len);
    start
}

/// Reads the rest of a block, which begins at offset `at` of the array, through a slice.
#[track_caller]
fn consume(array: &mut VanishingArray<u8>, at: usize) {
    let bytes = array.fill().unwrap();
    check(at as u64, bytes);
    let len = bytes.len();
    array.consume(len);
}

/// Nothing is left in a pool.
#[track_caller]
fn assert_empty(pool: &StreamPool) {
    assert_eq!((pool.stats().taken, pool.stats().committed), (0, 0));
}
