//! The buffer that grows where a pointer touches it.

use crate::common::*;
use crate::region::pool;
use eagre_mem::probe::{PAIRS, Pair};
use eagre_mem::{BlockSize, GrowingBuffer, Pool, RewireErrorKind, RewiredVec, Trap};
use std::ffi::c_void;

fn buffer(pool: &Pool, blocks: u64) -> GrowingBuffer {
    GrowingBuffer::new(pool, blocks * pool.block_size().bytes() as u64).unwrap()
}

/// A pointer that may go to another thread.
#[derive(Clone, Copy)]
struct Pointer(*mut u8);
// SAFETY: the tests say who writes where.
unsafe impl Send for Pointer {}

impl Pointer {
    /// # Safety
    /// As `pointer::add`, and nobody else uses the bytes.
    unsafe fn put(self, from: usize, until: usize) {
        // SAFETY: the caller's contract.
        unsafe { put_through(self.0, from as u64, until as u64, 10_000) }
    }
}

each_pointer_pool_pair! {
    fn written_from_the_start(pair) {
        let pool = pool(pair, BlockSize::MIN, 12);
        let mut buffer = buffer(&pool, 10);
        let length = 7 * SMALL + 17;
        let start = buffer.as_ptr();
        assert_eq!((buffer.held(), buffer.limit()), (0, 10 * SMALL as u64));
        // SAFETY: within the limit.
        buffer.scope(|to| unsafe { Pointer(to).put(0, length) }).unwrap();
        assert_eq!((buffer.held(), buffer.as_ptr()), (8 * SMALL as u64, start));
        check(0, buffer.bytes(length).unwrap());
        assert!(buffer.bytes(8 * SMALL).unwrap()[length..].iter().all(|&byte| byte == 0));
        drop(buffer);
        assert_eq!((pool.stats().taken, pool.stats().committed), (0, 0));
    }

    fn huge_blocks(pair) {
        let pool = pool(pair, BlockSize::DEFAULT, 4);
        let mut buffer = buffer(&pool, 4);
        let length = 3 * (2 << 20) + 5;
        for _ in 0..2 {
            // SAFETY: within the limit; both are functions of the C library that know nothing of any of this.
            let end = buffer.scope(|to| unsafe {
                libc::memset(to.cast(), b'x'.into(), length);
                libc::memchr(to.cast::<c_void>(), 0, length + 1) as usize - to as usize
            });
            assert_eq!(end.unwrap(), length);
            assert!(buffer.bytes(length).unwrap().iter().all(|&byte| byte == b'x'));
            buffer.clear();
            assert_eq!((buffer.held(), pool.stats().taken), (0, 0));
        }
    }

    /// Any place, any order; what was never touched costs nothing and reads as zero.
    fn written_here_and_there(pair) {
        let pool = pool(pair, BlockSize::MIN, 20);
        // Somebody has left something in the blocks.
        let mut old = RewiredVec::in_pool(&pool).unwrap();
        old.resize(20 * SMALL / 8, u64::MAX);
        drop(old);
        let mut buffer = buffer(&pool, 100);
        let places = [99, 3, 50, 4, 98, 0];
        buffer
            .scope(|to| {
                for place in places {
                    // SAFETY: within the limit.
                    unsafe { to.add(place * SMALL + place).write(place as u8 + 1) };
                }
                // SAFETY: the same; a load is a touch as well.
                assert_eq!(unsafe { to.add(7 * SMALL).read() }, 0);
            })
            .unwrap();
        assert_eq!(buffer.held(), 7 * SMALL as u64);
        let bytes = buffer.bytes(5 * SMALL).unwrap();
        for (at, &byte) in bytes.iter().enumerate() {
            let expected = places.iter().find(|&&place| at == place * SMALL + place);
            assert_eq!(byte, expected.map_or(0, |&place| place as u8 + 1), "byte {at}");
        }
        assert_eq!(buffer.held(), 9 * SMALL as u64);
    }

    /// Code that writes too much runs to its end, and its scope says why it was too much.
    fn beyond_the_limit(pair) {
        let pool = pool(pair, BlockSize::MIN, 9);
        let mut buffer = buffer(&pool, 4);
        for _ in 0..2 {
            // SAFETY: twice the limit is the buffer's own.
            let error = buffer.scope(|to| unsafe { Pointer(to).put(0, 8 * SMALL) }).unwrap_err();
            assert_eq!(error.kind(), RewireErrorKind::Full, "{error}");
            assert!(error.to_string().contains("256 KiB"), "{error}");
            assert_eq!(buffer.held(), 4 * SMALL as u64);
            assert_eq!(buffer.bytes(1).unwrap_err().kind(), RewireErrorKind::Full);
            buffer.clear();
            // SAFETY: within the limit.
            buffer.scope(|to| unsafe { Pointer(to).put(0, 4 * SMALL) }).unwrap();
            check(0, buffer.bytes(4 * SMALL).unwrap());
            assert_eq!(buffer.bytes(4 * SMALL + 1).unwrap_err().kind(), RewireErrorKind::Full);
        }
        drop(buffer);
        assert_eq!((pool.stats().taken, pool.stats().committed), (0, 0));
    }

    fn more_than_the_pool_has(pair) {
        let pool = pool(pair, BlockSize::MIN, 3);
        let mut other = RewiredVec::in_pool(&pool).unwrap();
        other.push(7u64);
        let mut buffer = buffer(&pool, 50);
        // SAFETY: within the limit.
        let error = buffer.scope(|to| unsafe { Pointer(to).put(0, 50 * SMALL) }).unwrap_err();
        assert_eq!(error.kind(), RewireErrorKind::OutOfBlocks, "{error}");
        assert!(error.to_string().contains("3 of 3 blocks of 64 KiB"), "{error}");
        assert_eq!((buffer.held(), other[0]), (2 * SMALL as u64, 7));
        drop(buffer);
        other.resize(3 * SMALL / 8, 7);
        assert_eq!(pool.stats().taken, 3);
    }

    /// Many threads touch each absent block at the same moment.
    fn many_threads(pair) {
        const THREADS: usize = 4;
        let pool = pool(pair, BlockSize::MIN, 40);
        let mut buffer = buffer(&pool, 40);
        for _ in 0..8 {
            let together = std::sync::Barrier::new(THREADS);
            buffer
                .scope(|to| {
                    let to = Pointer(to);
                    std::thread::scope(|scope| {
                        for thread in 0..THREADS {
                            let together = &together;
                            scope.spawn(move || {
                                for at in (thread..40 * SMALL).step_by(SMALL) {
                                    together.wait();
                                    // SAFETY: within the limit; each thread has its own bytes.
                                    unsafe { { to }.0.add(at).write(byte(at as u64)) };
                                }
                            });
                        }
                    });
                })
                .unwrap();
            assert_eq!(pool.stats().taken, 40);
            let bytes = buffer.bytes(40 * SMALL).unwrap();
            for (at, &found) in bytes.iter().enumerate() {
                assert_eq!(found, if at % SMALL < THREADS { byte(at as u64) } else { 0 }, "byte {at}");
            }
            buffer.clear();
        }
    }

    /// Under the pager a system call may be the one that writes past the end.
    fn system_calls(pair) {
        let pool = pool(pair, BlockSize::MIN, 20);
        let mut buffer = buffer(&pool, 20);
        let len = 9 * SMALL + 5;
        let file = crate::common::io::file(len);
        let fd = std::os::fd::AsRawFd::as_raw_fd(&file);
        // SAFETY: within the limit.
        let got = buffer.scope(|to| unsafe { libc::pread(fd, to.add(100).cast(), len, 0) }).unwrap();
        match pair.trap {
            Trap::Pager => {
                assert_eq!(got, len as isize);
                check(0, &buffer.bytes(100 + len).unwrap()[100..]);
            }
            _ => assert_eq!((got, buffer.held()), (-1, 0)),
        }
    }

    fn buffers_come_and_go(pair) {
        let pool = pool(pair, BlockSize::MIN, 4);
        for round in 0..300 {
            let mut buffer = buffer(&pool, 2);
            // SAFETY: within the limit.
            buffer.scope(|to| unsafe { Pointer(to).put(round, round + SMALL) }).unwrap();
            check(round as u64, &buffer.bytes(round + SMALL).unwrap()[round..]);
        }
        assert_eq!((pool.stats().taken, pool.stats().committed), (0, 0));
    }
}

#[test]
fn without_a_trap_there_is_none() {
    let pair: Pair = PAIRS.into_iter().find(|pair| pair.trap == Trap::Off).unwrap();
    let error = GrowingBuffer::new(&pool(pair, BlockSize::MIN, 4), 100).unwrap_err();
    assert_eq!(error.kind(), RewireErrorKind::NoTrap, "{error}");
    let shared = Pool::shared(BlockSize::DEFAULT).unwrap();
    let error = GrowingBuffer::new(&shared, u64::MAX).unwrap_err();
    assert_eq!(error.kind(), RewireErrorKind::OutOfAddresses, "{error}");
}
