//! The two rules of giving back, each in the case that makes it tricky.

use crate::common::*;
use crate::{assert_empty, blocks, full, pool};
use std::ffi::c_void;

each_pointer_pool_pair! {
    /// Rule 1: the reader is in the block that the writer still writes. Both go on there, neither takes it from the other, and far
    /// more flows through than there is memory.
    fn reader_and_writer_in_one_block(pair) {
        const LEN: usize = 60 * SMALL;
        let pool = pool(pair, 5);
        let mut array = pool.array::<u8>(LEN).unwrap();
        let to = array.writer().unwrap();
        let from = array.reader().unwrap();
        let mut rng = Rng::new(7);
        let (mut written, mut read) = (0, 0);
        while read < LEN {
            // The queue is empty about half of the time, and never longer than a block.
            let most = (LEN - written).min(SMALL - (written - read));
            let len = rng.length(most.max(1)).min(most);
            // SAFETY: within the limit, forward.
            unsafe { put_through(to, written as u64, (written + len) as u64, 4_000) };
            written += len;
            let len = (written - read).min(rng.length(SMALL));
            // SAFETY: behind the writer, forward.
            unsafe { check_through(from, read as u64, (read + len) as u64, 4_000) };
            read += len;
            // No fault tells of a reader who is never far behind.
            array.discard(read);
            assert!(blocks(&array) <= 4, "{} blocks", blocks(&array));
        }
        drop(array);
        assert_empty(&pool);
    }

    /// One instruction that reads and writes the shared block: `rep movsb`, for which both must be there at once.
    fn one_instruction_over_both(pair) {
        let pool = pool(pair, 6);
        let mut array = pool.array::<u8>(40 * SMALL).unwrap();
        let to = array.writer().unwrap();
        let from = array.reader().unwrap();
        // SAFETY: within the limit; the source is 9000 bytes behind the destination, and they do not overlap.
        unsafe {
            put_through(to, 0, 9_000, 9_000);
            for at in (9_000..38 * SMALL).step_by(9_000) {
                copy_in_one_instruction(to.add(at), from.add(at - 9_000), 9_000);
                array.discard(at - 9_000);
            }
            check(0, std::slice::from_raw_parts(from.add((38 * SMALL - 1) / 9_000 * 9_000), 9_000));
        }
        assert!(blocks(&array) <= 4);
    }

    /// The writer moves on while the reader is still in the block that falls out of its window, and then further: the unread rest
    /// is kept, and comes back.
    fn the_writer_leaves_the_reader_behind(pair) {
        let pool = pool(pair, 12);
        let mut array = pool.array::<u8>(12 * SMALL).unwrap();
        let to = array.writer().unwrap();
        let from = array.reader().unwrap();
        let half = SMALL as u64 / 2;
        // SAFETY: within the limit, forward; the reader behind the writer.
        unsafe {
            put_through(to, 0, half, 999);
            check_through(from, 0, half / 2, 999);
            put_through(to, half, 12 * SMALL as u64, 999);
            assert_eq!(blocks(&array), 12);
            check_through(from, half / 2, 3 * SMALL as u64 + half, 999);
            // Back by a block, which is within the lookback.
            check_through(from, 2 * SMALL as u64 + half, 12 * SMALL as u64, 999);
        }
        assert_eq!(blocks(&array), 4);
    }

    /// Rule 2: rounds that stay in the first block cost nothing: the block neither leaves nor comes.
    fn rounds_in_the_first_block(pair) {
        let pool = pool(pair, 3);
        let mut array = pool.array::<u8>(8 * SMALL).unwrap();
        let to = array.writer().unwrap();
        for round in 0..500u64 {
            if round > 0 {
                // What the last round left is there without any fault: nobody else may have had the block.
                assert_eq!((blocks(&array), pool.stats().taken), (1, 1));
                // SAFETY: in place since the first round.
                check(round - 1, unsafe { std::slice::from_raw_parts(to, 1000) });
            }
            // SAFETY: within the limit.
            unsafe { put(round, std::slice::from_raw_parts_mut(to, 1000 + round as usize)) };
            array.finish(1000 + round as usize);
            let from = array.reader().unwrap();
            // SAFETY: in order.
            check(round, unsafe { std::slice::from_raw_parts(from, 1000 + round as usize) });
            array.reset();
        }
        array.clear();
        assert_empty(&pool);
    }

    /// Rule 2, the other half: a round abandoned anywhere leaves nothing for the next one to find, and nothing in its way.
    fn a_round_after_one_that_was_not_read_to_its_end(pair) {
        let pool = pool(pair, 10);
        let mut array = full(&pool, 10 * SMALL);
        for (round, read) in [0, 1, 100, SMALL, SMALL + 1, 3 * SMALL, 7 * SMALL + 9, 9 * SMALL, 10 * SMALL].into_iter().enumerate() {
            let from = array.reader().unwrap();
            // SAFETY: in order.
            unsafe { check_through(from, 0, read as u64, SMALL) };
            array.reset();
            assert!(blocks(&array) <= 1, "after {read} bytes");
            let to = array.writer().unwrap();
            let (len, value) = (10 * SMALL, round as u8);
            // The pool has just enough: were a block of the last round left, this would be the end.
            // SAFETY: within the limit.
            unsafe { libc::memset(to.cast::<c_void>(), value.into(), len) };
            assert_eq!(blocks(&array), 10);
            // SAFETY: an array until it is read.
            assert!(unsafe { std::slice::from_raw_parts(to, len) }.iter().all(|&byte| byte == value));
            // SAFETY: within the limit.
            unsafe { put_through(to, 0, len as u64, SMALL) };
            array.finish(len);
        }
    }

    /// Input and output change roles, in a pool with a few blocks more than the data: what a pass in place is here. The output begins
    /// while the first block of the input is still needed, and catches up with nothing.
    fn passes_in_place(pair) {
        const WORDS: usize = 30 * SMALL / 8;
        let pool = pool(pair, 30 + 4);
        let mut input = pool.array::<u64>(WORDS).unwrap();
        let mut output = pool.array::<u64>(WORDS).unwrap();
        let to = input.writer().unwrap();
        // SAFETY: within the limit.
        (0..WORDS).for_each(|at| unsafe { to.add(at).write(at as u64) });
        let mut len = WORDS;
        input.finish(len);
        // Each pass drops a third of the words and doubles the others.
        let mut expected: Vec<u64> = (0..WORDS as u64).collect();
        for _ in 0..5 {
            let (from, to) = (input.reader().unwrap(), output.writer().unwrap());
            let mut kept = 0;
            for at in 0..len {
                // SAFETY: in order, the output never longer than the input.
                unsafe {
                    if at % 3 != 0 {
                        to.add(kept).write(from.add(at).read() * 2);
                        kept += 1;
                    }
                }
            }
            output.finish(kept);
            input.reset();
            len = kept;
            std::mem::swap(&mut input, &mut output);
            expected = expected.iter().enumerate().filter(|(at, _)| at % 3 != 0).map(|(_, word)| word * 2).collect();
        }
        let from = input.reader().unwrap();
        // SAFETY: in order.
        assert!((0..len).map(|at| unsafe { from.add(at).read() }).eq(expected));
    }
}

/// # Safety
/// As `copy_nonoverlapping`.
unsafe fn copy_in_one_instruction(to: *mut u8, from: *const u8, len: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: copies `len` bytes; the direction flag is clear by convention.
    unsafe {
        std::arch::asm!("rep movsb", inout("rcx") len => _, inout("rsi") from => _, inout("rdi") to => _, options(nostack))
    };
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: the caller's contract.
    unsafe {
        to.copy_from_nonoverlapping(from, len)
    };
}
