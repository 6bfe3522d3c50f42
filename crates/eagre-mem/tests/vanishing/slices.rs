//! The explicit interface: slices, no pointers, errors that are returned.

use crate::common::*;
use crate::{append, assert_empty, pool};
use eagre_mem::{Plain, RewireErrorKind, StreamPool, Trap, VanishingArray};

/// Writes three blocks' worth of values to each of some buckets, and reads them in slices.
fn through_buckets<T: Plain + PartialEq>(pool: &StreamPool, through_pointers: bool, value: fn(usize) -> T) {
    let limit = 3 * SMALL / size_of::<T>();
    for (number, bucket) in pool.buckets::<T>(4, limit).unwrap().iter_mut().enumerate() {
        if through_pointers {
            let to = bucket.writer().unwrap();
            assert_eq!(to.addr() % size_of::<T>(), 0, "bucket {number}");
            // SAFETY: within the limit.
            (0..limit).for_each(|at| unsafe { to.add(at).write(value(number + at)) });
            bucket.finish(limit);
        } else {
            while bucket.len() < limit {
                let at = number + bucket.len();
                let room = bucket.reserve().unwrap();
                assert!(!room.is_empty(), "bucket {number} at {}", at - number);
                room.iter_mut().enumerate().for_each(|(more, slot)| *slot = value(at + more));
                let len = room.len();
                bucket.commit(len);
            }
        }
        let mut at = number;
        while let values @ [_, ..] = bucket.fill().unwrap() {
            assert!(values.iter().enumerate().all(|(more, read)| *read == value(at + more)), "bucket {number}");
            let len = values.len();
            bucket.consume(len);
            at += len;
        }
        assert_eq!(at - number, limit, "bucket {number}");
        bucket.clear();
    }
}

each_pool_pair! {
    fn in_slices(pair) {
        let pool = pool(pair, 10);
        let mut array = pool.array::<u64>(9 * SMALL / 8).unwrap();
        let mut next = 0u64;
        while array.len() < array.limit() {
            let room = array.reserve().unwrap();
            assert!(!room.is_empty() && room.len() <= SMALL / 8);
            let now = room.len().min(3000);
            for slot in &mut room[..now] {
                *slot = next;
                next += 1;
            }
            array.commit(now);
        }
        assert_eq!(array.reserve().unwrap_err().kind(), RewireErrorKind::Full);
        let mut expected = 0u64;
        loop {
            let held = array.held() / SMALL as u64;
            assert_eq!(held, 9 - expected * 8 / SMALL as u64);
            let values = array.fill().unwrap();
            assert!(values.len() <= SMALL / 8);
            if values.is_empty() {
                break;
            }
            let now = values.len().min(5000);
            assert!(values[..now].iter().copied().eq(expected..expected + now as u64));
            array.consume(now);
            expected += now as u64;
        }
        assert_eq!(expected, next);
        array.reset();
        assert_eq!((array.len(), array.held()), (0, 0));
        assert_empty(&pool);
    }

    /// Written and read by turns: a queue whose memory is what is in it.
    fn by_turns(pair) {
        let pool = pool(pair, 3);
        let mut array = pool.array::<u8>(50 * SMALL).unwrap();
        let mut rng = Rng::new(3);
        let (mut written, mut read) = (0, 0);
        while read < 50 * SMALL {
            while written < 50 * SMALL && written < read + SMALL {
                let room = array.reserve().unwrap();
                let now = rng.length(room.len());
                put(written as u64, &mut room[..now]);
                array.commit(now);
                written += now;
            }
            let bytes = array.fill().unwrap();
            let now = rng.length(bytes.len());
            check(read as u64, &bytes[..now]);
            array.consume(now);
            read += now;
        }
        assert!(array.fill().unwrap().is_empty());
    }

    /// An array that is finished gives back its last block too when all of it was consumed.
    fn to_the_last_block(pair) {
        let pool = pool(pair, 4);
        for len in [0, 1, SMALL - 1, SMALL, SMALL + 1, 3 * SMALL] {
            let mut array = pool.array::<u8>(4 * SMALL).unwrap();
            while array.len() < len {
                let missing = len - array.len();
                let room = array.reserve().unwrap();
                let now = room.len().min(missing);
                array.commit(now);
            }
            array.finish(len);
            assert_eq!(array.reserve().unwrap_err().kind(), RewireErrorKind::Full);
            while let bytes @ [_, ..] = array.fill().unwrap() {
                let now = bytes.len();
                array.consume(now);
            }
            assert_empty(&pool);
        }
    }

    /// A pool that is used up is an error, and the array goes on when there is room again.
    fn exhaustion(pair) {
        let pool = pool(pair, 4);
        let mut arrays = pool.buckets::<u8>(3, 10 * SMALL).unwrap();
        let mut fill = |array: usize, blocks: usize| -> Result<(), RewireErrorKind> {
            for _ in 0..blocks {
                let room = arrays[array].reserve().map_err(|error| error.kind())?.len();
                arrays[array].commit(room);
            }
            Ok(())
        };
        assert_eq!(fill(0, 3), Ok(()));
        assert_eq!(fill(1, 2), Err(RewireErrorKind::OutOfBlocks));
        assert_eq!(fill(2, 1), Err(RewireErrorKind::OutOfBlocks));
        let read = arrays[0].fill().unwrap().len();
        arrays[0].consume(read);
        let mut fill = |array: usize| arrays[array].reserve().map(|room| room.len());
        assert!(fill(2).is_ok());
        let error = fill(1).unwrap_err();
        assert!(error.to_string().contains("4 of 4 blocks of 64 KiB"), "{error}");
        drop(arrays);
        assert_empty(&pool);
    }

    /// No value straddles two blocks, however large it is.
    fn large_values_in_buckets(pair) {
        let pool = pool(pair, 5);
        for through_pointers in [false, true] {
            if through_pointers && pair.trap == Trap::Off {
                continue;
            }
            through_buckets(&pool, through_pointers, |at| at as u8);
            through_buckets(&pool, through_pointers, |at| [at as u64; 16]);
            through_buckets(&pool, through_pointers, |at| [at as u8; 4096]);
            assert_empty(&pool);
        }
    }

    /// A writer who may go back over everything, and a reader too, until the writer is done.
    fn windows_without_end(pair) {
        let pool = pool(pair, 4).windows(u32::MAX, u32::MAX);
        let mut array = pool.array::<u8>(4 * SMALL).unwrap();
        (0..4).for_each(|_| _ = append(&mut array));
        if pair.trap != Trap::Off {
            let from = array.reader().unwrap();
            // SAFETY: nothing of it is gone.
            (0..2).for_each(|_| unsafe { check_through(from, 0, 4 * SMALL as u64, SMALL) });
        }
        array.discard(4 * SMALL);
        assert_eq!(array.held(), 4 * SMALL as u64);
        array.finish(4 * SMALL);
        array.discard(4 * SMALL);
        assert_empty(&pool);
    }

    /// What was left out reads as zeros, whatever was in the blocks.
    fn finished_further_than_written(pair) {
        let pool = pool(pair, 5);
        let mut array = pool.array::<u8>(5 * SMALL).unwrap();
        for _ in 0..2 {
            let room = array.reserve().unwrap();
            room.fill(9);
            let len = room.len();
            array.commit(len);
            array.finish(4 * SMALL);
            let mut seen = Vec::new();
            while let bytes @ [_, ..] = array.fill().unwrap() {
                let len = bytes.len();
                seen.extend_from_slice(bytes);
                array.consume(len);
            }
            assert_eq!(seen.len(), 4 * SMALL);
            assert!(seen.iter().enumerate().all(|(at, &byte)| byte == if at < SMALL { 9 } else { 0 }));
            array.reset();
        }
    }
}

#[test]
fn what_is_too_much() {
    let pair = eagre_mem::probe::PAIRS[4];
    let pool = pool(pair, 4);
    let error = pool.array::<u64>(usize::MAX).unwrap_err();
    assert_eq!(error.kind(), RewireErrorKind::OutOfAddresses, "{error}");
    let mut array = pool.array::<[u32; 4]>(10).unwrap();
    assert_eq!(array.reserve().unwrap().len(), 10);
    let steps: [fn(&mut VanishingArray<[u32; 4]>); 3] =
        [|array| array.commit(11), |array| array.consume(1), |array| array.finish(11)];
    for step in steps {
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| step(&mut array)));
        assert!(panicked.is_err());
    }
}

/// Whatever slices were given before, an array that was finished has as many values as it was finished with.
#[test]
fn finished_between_a_slice_and_its_end() {
    let pool = pool(eagre_mem::probe::PAIRS[4], 1);
    let mut array = pool.array::<u8>(10).unwrap();
    let refuses = |array: &mut VanishingArray<u8>, step: fn(&mut VanishingArray<u8>)| {
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| step(array))).is_err());
    };
    assert_eq!(array.reserve().unwrap().len(), 10);
    array.commit(8);
    array.finish(10);
    refuses(&mut array, |array| array.commit(1));
    assert_eq!(array.fill().unwrap().len(), 10);
    array.finish(4);
    refuses(&mut array, |array| array.consume(5));
    array.consume(4);
    assert!(array.fill().unwrap().is_empty());
    assert_eq!((array.len(), array.held()), (4, 0));
}
