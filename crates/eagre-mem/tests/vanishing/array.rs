//! One array: written through a pointer, then read through it.

use crate::common::*;
use crate::{assert_empty, blocks, full, pool, sized_pool};
use eagre_mem::probe::Pair;
use eagre_mem::{BlockSize, Trap};
use std::ffi::{CStr, c_char, c_void};

each_pointer_pool_pair! {
    /// Memory shrinks as it is consumed: at each moment what is unread is there, and at most the windows more.
    fn vanishes_as_it_is_read(pair) {
        let pool = pool(pair, 20);
        let len = 20 * SMALL - 5;
        for _ in 0..3 {
            let mut array = full(&pool, len);
            assert_eq!(blocks(&array), 20);
            let from = array.reader().unwrap();
            for block in 0..20 {
                let (start, end) = (block * SMALL, ((block + 1) * SMALL).min(len));
                // SAFETY: in order.
                unsafe { check_through(from, start as u64, end as u64, 7_000) };
                // The reader's last block of lookback, its own, and those ahead. The writer's last two stay to the end.
                let left = if block < 18 { 20 - block.saturating_sub(1) } else { 4 };
                assert_eq!(blocks(&array), left as u64, "at block {block}");
            }
            drop(array);
            assert_empty(&pool);
        }
    }

    fn huge_blocks(pair) {
        let pool = sized_pool(pair, BlockSize::DEFAULT, 6);
        let len = 6 * (2 << 20);
        let mut array = pool.array::<u8>(len).unwrap();
        for _ in 0..2 {
            // SAFETY: within the limit, and only the C library's own doing.
            unsafe { libc::memset(array.writer().unwrap().cast(), b'x'.into(), len) };
            array.finish(len);
            let from = array.reader().unwrap();
            // SAFETY: in order; no byte of it is a `y`.
            assert!(unsafe { libc::memchr(from.cast::<c_void>(), b'y'.into(), len) }.is_null());
            assert_eq!(array.held(), 4 * (2 << 20));
            array.reset();
        }
    }

    /// Blocks of a long array come several at a time, which is never more than a small part of what is unread.
    fn a_long_one(pair) {
        let pool = pool(pair, 1000);
        let mut array = full(&pool, 1000 * SMALL);
        let from = array.reader().unwrap();
        for block in 0..1000 {
            // SAFETY: in order.
            unsafe { check_through(from, (block * SMALL) as u64, ((block + 1) * SMALL) as u64, SMALL) };
            let (held, unread) = (blocks(&array) as usize, 999 - block);
            assert!(held >= unread && held <= unread + 4 + (unread / 32).min(8), "{held} at block {block}");
        }
    }

    /// Until it is read it is an array like any other: any order, back and forth.
    fn written_in_any_order(pair) {
        let pool = pool(pair, 16);
        let mut array = pool.array::<u64>(16 * SMALL / 8).unwrap();
        let to = array.writer().unwrap();
        let count = 16 * SMALL / 8;
        for at in (0..count).rev().step_by(2).chain((0..count).step_by(2)) {
            // SAFETY: within the limit.
            unsafe { to.add(at).write(at as u64 * 3) };
        }
        // SAFETY: as above.
        assert!((0..count).all(|at| unsafe { to.add(at).read() } == at as u64 * 3));
        assert_eq!(array.held(), 16 * SMALL as u64);
        array.finish(count);
        let from = array.reader().unwrap();
        // SAFETY: in order.
        assert!((0..count).all(|at| unsafe { from.add(at).read() } == at as u64 * 3));
        assert_eq!(array.held(), 4 * SMALL as u64);
    }

    /// Copies longer than any window, in one call, to and from places in the middle of blocks.
    fn long_copies(pair) {
        let pool = pool(pair, 40);
        let mut array = pool.array::<u8>(40 * SMALL).unwrap();
        let mut bytes = vec![0; 40 * SMALL];
        put(0, &mut bytes);
        let to = array.writer().unwrap();
        let mut at = 0;
        for len in [1, 9 * SMALL + 3, SMALL - 4, 17 * SMALL, 5, 11 * SMALL] {
            // SAFETY: within the limit, and from memory of our own.
            unsafe { libc::memcpy(to.add(at).cast(), bytes[at..].as_ptr().cast(), len) };
            at += len;
        }
        array.finish(at);
        let from = array.reader().unwrap();
        let mut copy = vec![0; at];
        for start in (0..at).step_by(SMALL) {
            let len = SMALL.min(at - start);
            // SAFETY: in order, at most a block at a time.
            unsafe { libc::memcpy(copy[start..].as_mut_ptr().cast(), from.add(start).cast(), len) };
        }
        check(0, &copy);
        assert_eq!(blocks(&array), 4);
    }

    /// Functions that look back a little find what they look for.
    fn strings_over_borders(pair) {
        let pool = pool(pair, 12);
        let mut array = pool.array::<u8>(12 * SMALL).unwrap();
        let to = array.writer().unwrap();
        let len = 12 * SMALL - 1;
        let needle = c"needle in a haystack";
        // SAFETY: within the limit.
        unsafe {
            libc::memset(to.cast(), b'n'.into(), len);
            to.add(len).write(0);
            for border in 1..12 {
                let bytes = needle.to_bytes();
                to.add(border * SMALL - border - 3).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
            }
        }
        array.finish(len + 1);
        let mut at = array.reader().unwrap().cast::<c_char>();
        let start = at as usize;
        for border in 1..12 {
            // SAFETY: the string ends within the array; each search goes on where the last one ended.
            let found = unsafe { libc::strstr(at, needle.as_ptr()) };
            assert_eq!(found as usize - start, border * SMALL - border - 3);
            // SAFETY: as above.
            at = unsafe { found.add(1) };
        }
        // SAFETY: as above.
        assert_eq!(unsafe { CStr::from_ptr(at) }.count_bytes(), 11 + 3 + SMALL - 2);
    }

    /// Skipped blocks are zeros for the reader; what the reader jumps over goes back unread.
    fn jumps(pair) {
        let pool = pool(pair, 20);
        // Somebody has left something in the blocks.
        drop(full(&pool, 20 * SMALL));
        let mut array = pool.array::<u8>(20 * SMALL).unwrap();
        let to = array.writer().unwrap();
        for block in [0, 5, 6, 19] {
            // SAFETY: within the limit.
            unsafe { to.add(block * SMALL).cast::<[u8; SMALL]>().write([block as u8 + 1; SMALL]) };
        }
        assert_eq!(blocks(&array), 4);
        array.finish(20 * SMALL);
        let from = array.reader().unwrap();
        // SAFETY: forward, and one block back.
        let read = |block: usize| unsafe { (from.add(block * SMALL).read(), from.add(block * SMALL + SMALL - 1).read()) };
        assert_eq!((read(0), read(2), read(1)), ((1, 1), (0, 0), (0, 0)));
        assert_eq!((read(6), read(5)), ((7, 7), (6, 6)));
        assert_eq!(read(15), (0, 0));
        assert_eq!(blocks(&array), 2);
        assert_eq!(read(19), (20, 20));
        assert_eq!(read(18), (0, 0));
        drop(array);
        assert_empty(&pool);
    }

    /// Under the pager copying system calls may touch the array; under signals they are refused.
    fn system_calls(pair) {
        let pool = pool(pair, 10);
        let mut ends = [0; 2];
        // SAFETY: makes two descriptors.
        assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
        let mut array = pool.array::<u8>(10 * SMALL).unwrap();
        let to = array.writer().unwrap();
        // SAFETY: the pipe is ours, and has room for so little.
        unsafe {
            assert_eq!(libc::write(ends[1], pattern(0, 1000).as_ptr().cast(), 1000), 1000);
            let got = libc::read(ends[0], to.add(SMALL - 500).cast(), 1000);
            match pair.trap {
                Trap::Pager => {
                    assert_eq!(got, 1000);
                    check(0, std::slice::from_raw_parts(to.add(SMALL - 500), 1000));
                    array.finish(2 * SMALL);
                    assert_eq!(libc::write(ends[1], array.reader().unwrap().add(SMALL - 100).cast(), 200), 200);
                }
                _ => assert_eq!(got, -1),
            }
            libc::close(ends[0]);
            libc::close(ends[1]);
        }
    }

    /// Arrays of one pool in several threads, made here and dropped there.
    fn threads(pair) {
        let pool = pool(pair, 4 * 13);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                let mut array = pool.array::<u8>(12 * SMALL).unwrap();
                let _ = scope.spawn(move || {
                    for _ in 0..20 {
                        // SAFETY: within the limit, then in order.
                        unsafe { put_through(array.writer().unwrap(), 0, 12 * SMALL as u64, 5_000) };
                        array.finish(12 * SMALL);
                        // SAFETY: as above.
                        unsafe { check_through(array.reader().unwrap(), 0, 12 * SMALL as u64, 5_000) };
                        array.reset();
                    }
                });
            }
        });
        assert_empty(&pool);
    }

    /// Whatever state it is in, a dropped array leaves nothing behind; a panic drops it.
    fn dropped_in_each_state(pair) {
        let pool = pool(pair, 12);
        for state in 0..7 {
            let gone = std::panic::catch_unwind(|| {
                let mut array = pool.array::<u8>(12 * SMALL).unwrap();
                let len = if state == 0 { 0 } else { 12 * SMALL as u64 };
                // SAFETY: within the limit.
                unsafe { put_through(array.writer().unwrap(), 0, len, 9_000) };
                if state >= 2 {
                    array.finish(len as usize);
                }
                if state >= 3 {
                    let from = array.reader().unwrap();
                    // SAFETY: in order.
                    unsafe { check_through(from, 0, [0, 5, 12, 12][state - 3] * SMALL as u64, 9_000) };
                }
                if state == 6 {
                    array.reset();
                }
                std::panic::resume_unwind(Box::new(state));
            });
            assert!(gone.is_err());
            assert_empty(&pool);
        }
    }
}

#[test]
fn without_a_trap_there_are_no_pointers() {
    let off = Pair { trap: Trap::Off, mover: eagre_mem::Mover::Copy };
    let mut array = pool(off, 4).array::<u8>(100).unwrap();
    assert_eq!(array.writer().unwrap_err().kind(), eagre_mem::RewireErrorKind::NoTrap);
    assert_eq!(array.reader().unwrap_err().kind(), eagre_mem::RewireErrorKind::NoTrap);
}
