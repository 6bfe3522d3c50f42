//! Errors of the program, and what pointers cannot be told of: one line, then the default action.

use crate::common::child::{self, Case};
use crate::common::*;
use crate::{full, pool};
use eagre_mem::probe::Pair;
use std::hint::black_box;

pub(crate) const CASES: &[Case] = &[
    ("consumed", consumed),
    ("past_the_end", past_the_end),
    ("past_the_limit", past_the_limit),
    ("into_the_neighbour", into_the_neighbour),
    ("out_of_blocks", out_of_blocks),
    ("after_the_drop", after_the_drop),
];

#[track_caller]
fn dies(case: &str, pair: Pair, says: &[&str]) {
    let outcome = child::run(case, pair);
    assert!(matches!(outcome.signal, Some(libc::SIGSEGV | libc::SIGBUS)), "{outcome:?}");
    let messages = outcome.messages();
    assert_eq!(messages.len(), usize::from(!says.is_empty()), "{outcome:?}");
    for part in says {
        assert!(messages[0].contains(part), "{part:?}: {messages:?}");
    }
}

each_pointer_pool_pair! {
    fn reading_what_was_consumed(pair) {
        dies("consumed", pair, &["eagre: vanishing array: touched at offset 65535: ", "given back", "131072 to 524288", "windows"]);
    }
    fn reading_past_the_end(pair) {
        dies("past_the_end", pair, &["eagre: vanishing array: touched at offset 131072: past the end", "2 blocks", "reset"]);
    }
    fn writing_past_the_limit(pair) {
        dies("past_the_limit", pair, &["eagre: vanishing array: touched at offset 131072: past the limit"]);
    }
    fn writing_into_the_next_bucket(pair) {
        dies("into_the_neighbour", pair, &["eagre: vanishing array 1: touched at offset ", "past the limit"]);
    }
    fn running_out_of_blocks(pair) {
        dies("out_of_blocks", pair, &["eagre: vanishing array: touched at offset 131072: the pool's budget is used up, 2 blocks"]);
    }
    fn touching_after_the_drop(pair) {
        dies("after_the_drop", pair, &[]);
    }
}

fn touch(pointer: *const u8, at: usize) {
    // SAFETY: none: this is the misuse.
    unsafe { black_box(pointer.add(at).read_volatile()) };
}

fn consumed(pair: Pair) {
    let mut array = full(&pool(pair, 8), 8 * SMALL);
    let from = array.reader().unwrap();
    // A byte of each block: a block back is allowed, two are not.
    (0..4).for_each(|block| touch(from, block * SMALL));
    touch(from, 2 * SMALL);
    touch(from, SMALL - 1);
}

fn past_the_end(pair: Pair) {
    let mut array = pool(pair, 8).array::<u8>(8 * SMALL).unwrap();
    // SAFETY: within the limit.
    unsafe { put_through(array.writer().unwrap(), 0, 2 * SMALL as u64 - 7, 1000) };
    array.finish(2 * SMALL - 7);
    touch(array.reader().unwrap(), 2 * SMALL);
}

fn past_the_limit(pair: Pair) {
    let mut array = pool(pair, 8).array::<u8>(2 * SMALL).unwrap();
    // SAFETY: none: this is the misuse.
    unsafe { put_through(array.writer().unwrap(), 0, 2 * SMALL as u64 + 1, 1000) };
}

fn into_the_neighbour(pair: Pair) {
    let mut buckets = pool(pair, 20).buckets::<u8>(3, 2 * SMALL).unwrap();
    let start = buckets[1].writer().unwrap();
    let next = buckets[2].writer().unwrap();
    // SAFETY: the next bucket's first byte.
    unsafe { next.write(1) };
    // SAFETY: none: this is the misuse.
    unsafe { put_through(start, 0, (next as usize - start as usize) as u64, 1000) };
}

fn out_of_blocks(pair: Pair) {
    let mut array = pool(pair, 2).array::<u8>(8 * SMALL).unwrap();
    // SAFETY: within the limit.
    unsafe { put_through(array.writer().unwrap(), 0, 8 * SMALL as u64, 1000) };
}

fn after_the_drop(pair: Pair) {
    let mut array = full(&pool(pair, 2), SMALL);
    let from = array.reader().unwrap();
    drop(array);
    touch(from, 0);
}
