//! What vanishing arrays cost the machine, and forks: each in a process of its own.

use crate::common::child::{self, Case, report};
use crate::common::process::Footprint;
use crate::common::*;
use crate::{append, assert_empty, consume, full, pool, sized_pool};
use eagre_mem::probe::Pair;
use eagre_mem::{BlockSize, Mappings, Mover, RewireErrorKind, StreamPool, Trap};

pub(crate) const CASES: &[Case] = &[
    ("flow", flow),
    ("rounds", rounds),
    ("fork", fork),
    ("calls", calls),
    ("defaults", defaults),
    ("mappings", mappings),
];

fn run(case: &str, pair: Pair) {
    let outcome = child::run(case, pair);
    assert!(outcome.success, "{case}: {outcome:?}");
    assert!(outcome.reports.contains(&"done".to_owned()), "{case}: {outcome:?}");
}

each_pointer_pool_pair! {
    fn peak_memory(pair) {
        run("flow", pair);
    }
    fn nothing_accumulates(pair) {
        run("rounds", pair);
    }
    fn few_mappings(pair) {
        run("mappings", pair);
    }
    fn a_forked_child(pair) {
        run("fork", pair);
    }
}

each_pool_pair! {
    /// A pool that asks for nothing in particular does what the environment says.
    fn a_pool_without_wishes(pair) {
        run("defaults", pair);
    }
    fn calls_in_a_forked_child(pair) {
        run("calls", pair);
    }
}

fn defaults(pair: Pair) {
    let pool = StreamPool::new(8 << 20).unwrap();
    let mut array = pool.array::<u64>(1 << 18).unwrap();
    match array.writer() {
        Ok(to) => {
            assert_ne!(pair.trap, Trap::Off);
            // SAFETY: within the limit.
            (0..1 << 18).for_each(|at| unsafe { to.add(at).write(at as u64) });
            array.finish(1 << 18);
        }
        Err(error) => {
            assert_eq!((error.kind(), pair.trap), (RewireErrorKind::NoTrap, Trap::Off));
            let room = array.reserve().unwrap();
            room.iter_mut().enumerate().for_each(|(at, word)| *word = at as u64);
            let len = room.len();
            array.commit(len);
        }
    }
    assert_eq!(array.fill().unwrap()[1000..1002], [1000, 1001]);
    report("done");
}

/// 64 GiB flow through a pool of 64 MiB, in rounds of one array and the next. How much memory that took at most is what the system
/// tells the parent of the process that did it.
fn flow(pair: Pair) {
    const BLOCK: usize = 2 << 20;
    const ROUND: usize = 24 * BLOCK;
    const PAGE: usize = 4096;
    // SAFETY: the child ends with `_exit`.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let pool = sized_pool(pair, BlockSize::DEFAULT, 32);
        let mut arrays = [(); 2].map(|()| pool.array::<u8>(ROUND).unwrap());
        let (mut bytes, mut good) = (0u64, true);
        // A word of every page: all of the memory, if it were kept.
        let words = |start: *mut u8| (0..ROUND).step_by(PAGE).map(move |at| start.wrapping_add(at).cast::<u64>());
        let [input, output] = &mut arrays;
        // SAFETY: within the limit.
        words(input.writer().unwrap()).enumerate().for_each(|(at, word)| unsafe { word.write(at as u64) });
        for round in 0..(64 << 30) / ROUND as u64 {
            input.finish(ROUND);
            let (from, to) = (input.reader().unwrap().cast_mut(), output.writer().unwrap());
            for (at, (from, to)) in words(from).zip(words(to)).enumerate() {
                // SAFETY: within the limit, in order.
                unsafe {
                    let word = from.read();
                    good &= word == at as u64 + round;
                    to.write(word + 1);
                }
            }
            input.reset();
            std::mem::swap(input, output);
            bytes += ROUND as u64;
        }
        good &= bytes >= (63 << 30);
        // SAFETY: ends the child.
        unsafe { libc::_exit(i32::from(!good)) };
    }
    let mut status = 0;
    // SAFETY: a plain structure of numbers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: our own child.
    assert_eq!(unsafe { libc::wait4(pid, &mut status, 0, &raw mut usage) }, pid);
    assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "{status:#x}");
    let (peak, bound) = (usage.ru_maxrss as u64, (64 + 24) << 10);
    assert!(peak < bound, "{peak} KiB at most");
    report("done");
}

/// Hundreds of rounds and arrays leave no mapping, no table, no memory, no descriptor behind.
fn rounds(pair: Pair) {
    let pool = pool(pair, 24);
    let mut lasting = pool.array::<u8>(8 * SMALL).unwrap();
    let mut walk = |rounds: usize| {
        for round in 0..rounds {
            let mut passing = full(&pool, 7 * SMALL);
            let len = (round % 8) * SMALL + 1;
            // SAFETY: within the limit, then in order.
            unsafe {
                put_through(lasting.writer().unwrap(), 0, len as u64, 5_000);
                lasting.finish(len);
                check_through(passing.reader().unwrap(), 0, 7 * SMALL as u64, 5_000);
                check_through(lasting.reader().unwrap(), 0, len as u64, 5_000);
            }
            lasting.reset();
        }
    };
    walk(100);
    let before = Footprint::now();
    walk(400);
    let after = Footprint::now();
    assert!(after.mappings <= before.mappings + 8, "{before:?} {after:?}");
    assert!(after.rss <= before.rss + 256 && after.tables <= before.tables + 64, "{before:?} {after:?}");
    assert_eq!(after.descriptors, before.descriptors);
    report("done");
}

/// An array costs mappings for what it is to the kernel, and no more: else a large one would have none left.
fn mappings(pair: Pair) {
    const BLOCK: usize = 2 << 20;
    let pool = sized_pool(pair, BlockSize::DEFAULT, 40);
    let mut array = pool.array::<u8>(40 * BLOCK).unwrap();
    let before = Mappings::now().used;
    for _ in 0..3 {
        let to = array.writer().unwrap();
        // SAFETY: within the limit.
        (0..30).for_each(|block| unsafe { to.add(block * BLOCK).write(1) });
        let kernel = Footprint::now().mappings;
        let used = Mappings::now().used - before;
        assert_eq!(used, if pair.mover == Mover::Remap { 60 } else { u64::from(pair.trap == Trap::Signal) * 2 });
        // SAFETY: as above.
        unsafe { to.add(35 * BLOCK).write(1) };
        assert!(Footprint::now().mappings <= kernel + 2);
        array.finish(36 * BLOCK);
        let from = array.reader().unwrap();
        for block in 0..36 {
            // SAFETY: in order.
            let read = unsafe { from.add(block * BLOCK).read() };
            assert_eq!(read, u8::from(block < 30 || block == 35));
        }
        array.reset();
    }
    array.clear();
    assert_eq!(Mappings::now().used, before);
    report("done");
}

/// The child has no part in the parent's arrays, and may make its own; the parent's go on.
fn fork(pair: Pair) {
    let pool = pool(pair, 12);
    let mut array = full(&pool, 8 * SMALL);
    let from = array.reader().unwrap();
    // SAFETY: in order.
    unsafe { check_through(from, 0, 3 * SMALL as u64, SMALL) };
    // SAFETY: the child ends with `_exit`.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let forked = |kind| kind == RewireErrorKind::Forked;
        let mut good = forked(array.writer().unwrap_err().kind());
        good &= forked(array.reader().unwrap_err().kind());
        good &= forked(array.fill().unwrap_err().kind());
        good &= forked(array.reserve().unwrap_err().kind());
        good &= forked(pool.array::<u8>(1).unwrap_err().kind());
        array.reset();
        drop((array, pool));
        let own = crate::pool(pair, 8);
        let mut fresh = full(&own, 8 * SMALL);
        // SAFETY: in order.
        unsafe { check_through(fresh.reader().unwrap(), 0, 8 * SMALL as u64, SMALL) };
        good &= fresh.held() == 4 * SMALL as u64;
        // SAFETY: ends the child.
        unsafe { libc::_exit(i32::from(!good)) };
    }
    let mut status = 0;
    // SAFETY: our own child.
    assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
    assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "{status:#x}");
    // SAFETY: in order.
    unsafe { check_through(from, 3 * SMALL as u64, 8 * SMALL as u64, SMALL) };
    assert_eq!(array.held(), 4 * SMALL as u64);
    drop(array);
    assert_empty(&pool);
    report("done");
}

/// The calls that return no error do nothing in the child: neither to its own memory at the addresses of the array, nor to
/// the parent's blocks.
fn calls(pair: Pair) {
    const LEN: usize = 8 * SMALL;
    let pool = pool(pair, 8);
    let mut array = pool.array::<u8>(LEN).unwrap();
    (0..8).for_each(|_| _ = append(&mut array));
    let start = array.fill().unwrap().as_ptr().cast_mut();
    // SAFETY: the child ends with `_exit`.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        // SAFETY: addresses that the child has nothing at.
        let own = unsafe { libc::mmap(start.cast(), LEN, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
        let mut good = own == start.cast();
        // SAFETY: mapped a moment ago.
        unsafe { start.write_bytes(7, LEN) };
        array.consume(SMALL);
        array.discard(3 * SMALL);
        array.finish(LEN);
        array.discard(LEN);
        good &= array.held() == 0;
        // SAFETY: as above.
        good &= unsafe { std::slice::from_raw_parts(start, LEN) }.iter().all(|&byte| byte == 7);
        // SAFETY: ends the child.
        unsafe { libc::_exit(i32::from(!good)) };
    }
    let mut status = 0;
    // SAFETY: our own child.
    assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
    assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "{status:#x}");
    for block in 0..8 {
        assert_eq!(array.held(), ((8 - block) * SMALL) as u64);
        consume(&mut array, block * SMALL);
    }
    drop(array);
    assert_empty(&pool);
    report("done");
}
