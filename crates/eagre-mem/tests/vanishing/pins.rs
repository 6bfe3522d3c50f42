//! Blocks that somebody has locked (`mlock`): the lock may keep a block where it is, but not from the pool.
#![cfg(target_os = "linux")]

use crate::common::*;
use crate::{append, assert_empty, consume};
use eagre_mem::probe::Pair;
use eagre_mem::{BlockSize, Pool, StreamPool};
use std::ffi::c_void;

/// Whether the block could be locked.
fn lock(start: *const u8) -> bool {
    // SAFETY: memory of the test's own.
    let locked = unsafe { libc::mlock(start.cast::<c_void>(), SMALL) } == 0;
    if !locked {
        say(&format!("skipped: mlock: {}", std::io::Error::last_os_error()));
    }
    locked
}

fn small_pool(pair: Pair, budget: u32) -> Pool {
    Pool::new(BlockSize::MIN, budget, Some(pair.trap), Some(pair.mover)).unwrap()
}

each_pool_pair! {
    /// Wherever it is when the array is done with it: passed by a reader, or there at the end of the round.
    fn locked_blocks_come_back(pair) {
        let blocks = small_pool(pair, 4);
        let pool = StreamPool::on(&blocks);
        let mut array = pool.array::<u8>(4 * SMALL).unwrap();
        for round in 0..4 {
            let places = [(); 4].map(|()| append(&mut array));
            if !lock(places[1]) {
                return;
            }
            if round % 2 == 1 {
                (0..4).for_each(|block| consume(&mut array, block * SMALL));
            }
            array.reset();
        }
        array.clear();
        assert_empty(&pool);
        let taken: Vec<_> = (0..4).map(|_| blocks.take().unwrap()).collect();
        assert!(taken.iter().all(|block| block.iter().all(|&byte| byte == 0)));
    }

    /// Who has locked a block at home leaves a good one behind.
    fn a_raw_block_given_back_locked(pair) {
        let blocks = small_pool(pair, 1);
        let raw = blocks.take_raw().unwrap();
        if !lock(raw.as_ptr().as_ptr()) {
            return;
        }
        drop(raw);
        let pool = StreamPool::on(&blocks);
        append(&mut pool.array::<u8>(SMALL).unwrap());
        assert_empty(&pool);
    }
}
