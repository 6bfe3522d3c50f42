//! Late stores: a writer that stores to a block which has left its window is told so, or changes that block and no other.
//!
//! It may not be told while the reader has not taken the block, and with the mover `map`, which takes addresses back a few blocks late,
//! until then. But a block that is as far back as the stream has blocks cannot be there any more.

use crate::common::child::{self, Case, report};
use crate::common::{SMALL, say, small};
use eagre_mem::probe::Pair;

/// L + M + N + 1 of the defaults.
const ALL: usize = 5;
/// How many blocks behind its furthest one the writer stores.
const DISTANCES: std::ops::RangeInclusive<usize> = 2..=12;
const BLOCKS: usize = 400;
/// Where in each block, in bytes.
const PLACE: usize = SMALL / 2;

pub(crate) const CASES: &[Case] = &[("late", late)];

each_pointer_pair! {
    fn a_late_store_is_told_or_changes_its_own_block(pair) {
        for distance in DISTANCES {
            let outcome = child::run_with("late", pair, &[("EAGRE_TEST_DISTANCE", &distance.to_string())]);
            match outcome.signal {
                Some(_) => assert!(outcome.messages()[0].contains("outside the window"), "{outcome:?}"),
                None => {
                    assert!(outcome.success, "{distance} blocks behind: {outcome:?}");
                    assert!(distance < ALL, "{distance} blocks behind: {outcome:?}");
                    say(&format!("{pair}: {distance} blocks behind: {}", outcome.reports[0]));
                }
            }
        }
    }
}

/// What the writer stores late.
fn mark(block: usize) -> u64 {
    u64::MAX - block as u64
}

fn late(pair: Pair) {
    let distance: usize = std::env::var("EAGRE_TEST_DISTANCE").unwrap().parse().unwrap();
    let (mut writer, reader) = small(pair).name("late").open().unwrap().split();
    let seen = std::thread::scope(|scope| {
        // Gone before the writer is waited for, if what it reads is wrong.
        let mut reader = reader;
        scope.spawn(move || {
            let write = |to: *mut u8| {
                for block in 0..BLOCKS {
                    // SAFETY: ascending stores within the capacity, but for the late one: that is the error under test.
                    unsafe {
                        let word = to.add(block * SMALL + PLACE).cast::<u64>();
                        word.write_volatile(block as u64);
                        if let Some(behind) = block.checked_sub(distance) {
                            to.add(behind * SMALL + PLACE).cast::<u64>().write_volatile(mark(behind));
                        }
                    }
                }
            };
            writer.scope(write).unwrap();
            writer.finish_at((BLOCKS * SMALL) as u64).unwrap();
        });
        let read = |from: *const u8| {
            (0..BLOCKS)
                .filter(|&block| {
                    // SAFETY: ascending loads within the length.
                    let word = unsafe { from.add(block * SMALL + PLACE).cast::<u64>().read_volatile() };
                    assert!(word == block as u64 || word == mark(block), "block {block} holds {word:#x}");
                    word == mark(block)
                })
                .count()
        };
        reader.scope(read).unwrap()
    });
    report(&format!("{seen} of {BLOCKS} late stores were in time"));
}
