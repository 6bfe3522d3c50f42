//! Blocks whose pages somebody else holds on to: pinned by io_uring, or locked.
//!
//! `move` refuses them, `copy` copies them away from under the pin, `remap` takes them along and knows nothing of it. In
//! each case every block is somewhere, with its bytes, and what is given up becomes good memory for others.
#![cfg(target_os = "linux")]

use crate::common::io::{direct, pin, read_into_pinned, ring};
use crate::common::*;
use crate::region::pool;
use eagre_mem::{BlockSize, GrowingBuffer, Mover, Pool, Region, RewireErrorKind, RewiredVec, Trap};
use io_uring::IoUring;
use std::ffi::c_void;
use std::mem::MaybeUninit;

/// Until the kernel has let go of what was registered, which it may do a little later.
fn unpin<T>(ring: &IoUring, mut action: impl FnMut() -> Option<T>) -> T {
    ring.submitter().unregister_buffers().unwrap();
    loop {
        match action() {
            Some(done) => return done,
            None => std::thread::yield_now(),
        }
    }
}

/// A region whose slot `i` holds the bytes of stream offset `i * 77,777`.
fn tagged(pool: &Pool, slots: usize) -> Region {
    let mut region = Region::new(pool, slots).unwrap();
    for slot in 0..slots {
        let mut block = pool.take().unwrap();
        put(77_777 * slot as u64, &mut block);
        region.map(slot, block).unwrap();
    }
    region
}

/// Fails unless the region holds the blocks of [`tagged`], in whatever order; returns the order.
#[track_caller]
pub(crate) fn order(region: &Region) -> Vec<usize> {
    let tag = |slot| {
        let bytes = region.get(slot..slot + 1).unwrap_or_else(|| panic!("slot {slot} is empty"));
        let tag = (0..region.slots()).find(|&tag| bytes[..64] == *pattern(77_777 * tag as u64, 64));
        let tag = tag.unwrap_or_else(|| panic!("slot {slot} holds nobody's bytes"));
        check(77_777 * tag as u64, bytes);
        tag
    };
    let order: Vec<_> = (0..region.slots()).map(tag).collect();
    let mut sorted = order.clone();
    sorted.sort_unstable();
    assert!(sorted.into_iter().eq(0..region.slots()), "{order:?}");
    order
}

fn slot(region: &Region, slot: usize) -> *mut u8 {
    region.as_ptr().as_ptr().wrapping_add(slot * region.block_size().bytes())
}

fn is_all_zeros(pool: &Pool, blocks: u32) {
    let taken: Vec<_> = (0..blocks).map(|_| pool.take().unwrap()).collect();
    assert!(taken.iter().all(|block| block.iter().all(|&byte| byte == 0)));
}

each_pool_pair! {
    fn a_pinned_block_in_a_region(pair) {
        for size in [BlockSize::MIN, BlockSize::DEFAULT] {
            let Some(ring) = ring() else { return };
            let pool = pool(pair, size, 4);
            let mut region = tagged(&pool, 4);
            pin(&ring, slot(&region, 2), SMALL).unwrap();
            if pair.mover == Mover::Move {
                for result in [region.swap(2, 0), region.swap(1, 2), region.shuffle(&[1, 2, 3, 0])] {
                    assert_eq!(result.unwrap_err().kind(), RewireErrorKind::Pinned);
                    order(&region);
                }
                let stuck = order(&region)[2];
                assert_eq!(region.unmap(2).unwrap_err().kind(), RewireErrorKind::Pinned);
                assert_eq!(order(&region)[2], stuck, "who is pinned stays");
                unpin(&ring, || region.swap(2, 3).ok());
                assert_eq!(order(&region)[3], stuck);
            } else {
                region.shuffle(&[1, 2, 3, 0]).unwrap();
                assert_eq!(order(&region), [1, 2, 3, 0]);
                unpin(&ring, || Some(()));
            }
            drop(region);
            assert_eq!((pool.stats().taken, pool.stats().committed), (0, 0));
            is_all_zeros(&pool, 4);
        }
    }

    /// Only a page in its middle is pinned: what has moved when the kernel comes to it goes back to where it was.
    fn a_block_pinned_in_its_middle(pair) {
        let Some(ring) = ring() else { return };
        let pool = pool(pair, BlockSize::MIN, 4);
        let mut region = tagged(&pool, 3);
        pin(&ring, slot(&region, 2).wrapping_add(SMALL / 2), 4096).unwrap();
        if pair.mover == Mover::Move {
            assert_eq!(region.swap(2, 0).unwrap_err().kind(), RewireErrorKind::Pinned);
            order(&region);
            let stuck = order(&region)[2];
            assert_eq!(region.unmap(2).unwrap_err().kind(), RewireErrorKind::Pinned);
            assert_eq!(order(&region)[2], stuck);
        } else {
            region.swap(2, 0).unwrap();
            assert_eq!(order(&region), [2, 1, 0]);
        }
        drop(region);
        is_all_zeros(&pool, 4);
        unpin(&ring, || Some(()));
    }

    /// The same of a block at home, which does not go to its slot, and of the slot, which another may have.
    fn a_block_at_home_pinned_in_its_middle(pair) {
        let Some(ring) = ring() else { return };
        let pool = pool(pair, BlockSize::MIN, 2);
        let mut region = Region::new(&pool, 1).unwrap();
        let mut block = pool.take().unwrap();
        put(0, &mut block);
        pin(&ring, block.as_mut_ptr().wrapping_add(SMALL / 2), 4096).unwrap();
        match region.map(0, block) {
            Ok(()) => {
                assert_ne!(pair.mover, Mover::Move);
                check(0, region.get(0..1).unwrap());
            }
            Err(back) => {
                assert_eq!((back.error.kind(), pair.mover), (RewireErrorKind::Pinned, Mover::Move));
                check(0, &back.block);
                region.map(0, pool.take().unwrap()).unwrap();
                assert!(region.get(0..1).unwrap().iter().all(|&byte| byte == 0));
            }
        }
        unpin(&ring, || Some(()));
    }

    /// The region goes first; its pool has all its memory for the next owner.
    fn a_region_gone_with_a_block_pinned(pair) {
        let (Some(mut ring), Some(file)) = (ring(), direct(SMALL)) else { return };
        let pool = pool(pair, BlockSize::MIN, 4);
        let region = tagged(&pool, 4);
        let pinned = slot(&region, 1);
        pin(&ring, pinned, SMALL).unwrap();
        drop(region);
        assert_eq!((pool.stats().taken, pool.stats().committed), (0, 0));
        let again: Vec<_> = (0..4).map(|_| pool.take().unwrap()).collect();
        assert_eq!(read_into_pinned(&mut ring, &file, pinned, 4096, 0), 4096);
        // With `remap` the pages are the next owner's, and so is what arrives late.
        if pair.mover != Mover::Remap {
            assert!(again.iter().all(|block| block.iter().all(|&byte| byte == 0)));
        }
    }

    fn a_pinned_block_in_a_vector(pair) {
        let (Some(mut ring), Some(file)) = (ring(), direct(SMALL)) else { return };
        let pool = pool(pair, BlockSize::MIN, 4);
        let mut bytes = RewiredVec::in_pool(&pool).unwrap();
        bytes.resize(4 * SMALL, 1u8);
        let pinned = bytes.as_mut_ptr().wrapping_add(2 * SMALL);
        pin(&ring, pinned, SMALL).unwrap();
        for round in 0..3 {
            bytes.truncate(SMALL);
            bytes.shrink_to_fit();
            assert_eq!((pool.stats().taken, bytes.capacity()), (1, SMALL));
            bytes.resize(4 * SMALL, 2);
            if round == 1 {
                // It still has its own memory, which nobody sees.
                assert_eq!(read_into_pinned(&mut ring, &file, pinned, 4096, 0), 4096);
            }
            if pair.mover != Mover::Remap {
                assert!(bytes[..SMALL].iter().all(|&byte| byte == 1) && bytes[SMALL..].iter().all(|&byte| byte == 2));
            }
        }
        let mut left = bytes.into_iter();
        assert_eq!(left.by_ref().take(SMALL).filter(|&byte| byte == 1).count(), SMALL);
        drop(left);
        unpin(&ring, || Some(()));
        assert_eq!((pool.stats().taken, pool.stats().committed), (0, 0));
        is_all_zeros(&pool, 4);
    }

    /// Locked memory may stay where it is, or come along; the lock must not keep memory from the pool.
    fn locked_blocks(pair) {
        let pool = pool(pair, BlockSize::MIN, 6);
        let mut region = tagged(&pool, 3);
        let mut words = RewiredVec::in_pool(&pool).unwrap();
        words.resize(3 * SMALL / 8, 7u64);
        let lock = |start: *const u8| {
            // SAFETY: memory of the test's own.
            unsafe { libc::mlock(start.cast::<c_void>(), SMALL) }
        };
        let last = words.as_ptr().cast::<u8>().wrapping_add(2 * SMALL);
        if lock(slot(&region, 1)) != 0 || lock(last) != 0 {
            return say(&format!("skipped: mlock: {}", std::io::Error::last_os_error()));
        }
        for _ in 0..2 {
            match region.shuffle(&[1, 2, 0]) {
                Ok(()) => {}
                Err(error) => {
                    assert_eq!((error.kind(), pair.mover), (RewireErrorKind::Pinned, Mover::Move), "{error}");
                    assert!(error.to_string().contains("munlock"), "{error}");
                }
            }
            order(&region);
        }
        for value in [8, 9] {
            words.truncate(10);
            words.shrink_to_fit();
            assert_eq!(pool.stats().taken, 4);
            words.resize(3 * SMALL / 8, value);
            assert!(words[..10].iter().all(|&word| word == 7) && words[10..].iter().all(|&word| word == value));
        }
        drop((words, region));
        assert_eq!((pool.stats().taken, pool.stats().committed), (0, 0));
        is_all_zeros(&pool, 6);
        // A block that its owner has locked at home.
        let mut block = pool.take().unwrap();
        block.fill(1);
        assert_eq!(lock(block.as_ptr()), 0);
        let mut region = Region::new(&pool, 6).unwrap();
        match region.map(0, block) {
            Ok(()) => {}
            Err(back) => {
                assert_eq!((back.error.kind(), pair.mover), (RewireErrorKind::Pinned, Mover::Move), "{back}");
                assert!(back.block.iter().all(|&byte| byte == 1));
            }
        }
        drop(region);
        let mut words = RewiredVec::in_pool(&pool).unwrap();
        words.resize(6 * SMALL / 8, 7u64);
        assert_eq!(pool.stats().taken, 6);
    }

    /// Locked while nobody has it, as by `mlockall`: the system gets its memory all the same, or the pool keeps it.
    fn a_waiting_block_that_is_locked(pair) {
        let pool = pool(pair, BlockSize::MIN, 2);
        let mut block = pool.take().unwrap();
        block.fill(1);
        let start = block.as_ptr();
        drop(block);
        // SAFETY: changes no contents; the pool's memory is there as long as the pool.
        if unsafe { libc::mlock(start.cast::<c_void>(), SMALL) } != 0 {
            return say(&format!("skipped: mlock: {}", std::io::Error::last_os_error()));
        }
        pool.trim();
        is_all_zeros(&pool, 2);
    }
}

each_pointer_pool_pair! {
    fn a_pinned_and_a_locked_block_in_a_buffer(pair) {
        let Some(ring) = ring() else { return };
        let pool = pool(pair, BlockSize::MIN, 4);
        let mut buffer = GrowingBuffer::new(&pool, 4 * SMALL as u64).unwrap();
        for round in 0..3 {
            // SAFETY: within the limit.
            buffer.scope(|to| unsafe { put_through(to, 0, 4 * SMALL as u64, 4096) }).unwrap();
            if round == 0 {
                let start = buffer.as_ptr().as_ptr();
                pin(&ring, start, SMALL).unwrap();
                // SAFETY: memory of the test's own.
                if unsafe { libc::mlock(start.wrapping_add(SMALL).cast::<c_void>(), SMALL) } != 0 {
                    say(&format!("skipped: mlock: {}", std::io::Error::last_os_error()));
                }
            }
            check(0, buffer.bytes(4 * SMALL).unwrap());
            buffer.clear();
            assert_eq!((buffer.held(), pool.stats().taken, pool.stats().committed), (0, 0, 0));
            assert!(pair.trap == Trap::Off || buffer.bytes(SMALL).unwrap().iter().all(|&byte| byte == 0));
            buffer.clear();
        }
        drop(buffer);
        is_all_zeros(&pool, 4);
    }
}

each_pool_pair! {
    fn a_pinned_block_at_the_end_of_a_vector(pair) {
        let Some(ring) = ring() else { return };
        let pool = pool(pair, BlockSize::MIN, 4);
        let mut vector: RewiredVec<MaybeUninit<u8>> = RewiredVec::with_limit(&pool, 3 * SMALL).unwrap();
        let block = pool.take_raw().unwrap();
        pin(&ring, block.as_ptr().as_ptr().cast(), SMALL).unwrap();
        vector.reserve(2 * SMALL);
        let appended = vector.append_block(block);
        assert_eq!(appended.is_err(), pair.mover == Mover::Move);
        // Whether it went to its slot or not: wherever there is capacity, there is memory.
        vector.reserve(1);
        vector.spare_capacity_mut().fill(MaybeUninit::new(MaybeUninit::new(7)));
        unpin(&ring, || Some(()));
    }
}
