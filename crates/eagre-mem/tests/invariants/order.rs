//! Invariant 3: bytes arrive in order and exactly once, whatever the access pattern inside the windows, forward jumps
//! included; what the writer skipped is zero, and never another stream's.

use crate::common::traffic::{Shape, WAYS, Way, run};
use crate::common::{SMALL, small};
use eagre_mem::{BlockSize, Pool, Trap};

each_pair! {
    fn invariant_3_any_pattern_arrives(pair) {
        for seed in 0..48 {
            run(pair, Shape::new(1 + seed as u32 % 2, 1, 1, seed));
        }
    }

    /// Every way of writing with every way of reading.
    fn invariant_3_pointers_and_calls_in_any_mixture(pair) {
        for writer in WAYS {
            for reader in WAYS {
                for seed in 100..103 {
                    run(pair, Shape { writer, reader, ..Shape::new(2, 2, 1, seed) });
                }
            }
        }
    }

    fn invariant_3_skipped_bytes_are_zero(pair) {
        for seed in 200..216 {
            let writer = if pair.trap == Trap::Off { Way::Calls } else { Way::Pointer };
            run(pair, Shape { sparse: true, writer, ..Shape::new(1, 1, 1, seed) });
        }
    }

    /// Whole blocks skipped, in a pool that another stream has filled.
    fn invariant_3_skipped_blocks_are_zero(pair) {
        let pool = Pool::new(BlockSize::MIN, 8, Some(pair.trap), Some(pair.mover)).unwrap();
        for round in 0..3u8 {
            let (mut writer, mut reader) = small(pair).pool(&pool).open().unwrap().split();
            std::thread::scope(move |scope| {
                scope.spawn(move || {
                    writer.copy_in(&vec![7 + round; 6 * SMALL]).unwrap();
                    writer.advance_to(15 * SMALL as u64).unwrap();
                    writer.copy_in(&vec![9; SMALL]).unwrap();
                    writer.finish_at(30 * SMALL as u64 + 5).unwrap();
                });
                let mut all = vec![1; 31 * SMALL];
                assert_eq!(reader.copy_out(&mut all).unwrap(), 30 * SMALL + 5);
                let is = |range: std::ops::Range<usize>, byte: u8| {
                    assert!(all[range.start * SMALL..range.end * SMALL].iter().all(|&b| b == byte), "{range:?}");
                };
                is(0..6, 7 + round);
                is(6..15, 0);
                is(15..16, 9);
                is(16..30, 0);
            });
        }
    }
}
