//! What every suite shares: one test for each trap and mover pair, a watchdog over each, and an oracle.
//!
//! The oracle is a table of random bytes whose length is no multiple of any block: byte `i` of every stream is
//! `TABLE[i mod PERIOD]`. A block that comes twice, out of order or not at all shows up at its first byte.

// Each suite uses its own part of this.
#![allow(dead_code)]

pub(crate) mod child;
pub(crate) mod io;
pub(crate) mod process;
pub(crate) mod traffic;

use eagre_mem::probe::{self, PAIRS, Pair};
use eagre_mem::stream::{Pipe, PipeBuilder};
use eagre_mem::{BlockSize, Trap};
use std::sync::OnceLock;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

/// A test hangs when this process has used so much processor time on each processor since it began. On a busy machine that
/// may take long; a test that sleeps for ever hangs after ten times as long.
fn patience() -> Duration {
    Duration::from_secs(if std::env::var_os("EAGRE_LONG").is_some() { 3000 } else { 100 })
}

/// Makes one test for each of some pairs out of each function. A pair that does not work here says so and passes.
#[allow(unused_macros)]
macro_rules! each_of {
    ($pairs:tt) => {};
    ($pairs:tt $(#[$meta:meta])* fn $name:ident($pair:ident) $body:block $($rest:tt)*) => {
        $(#[$meta])*
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            fn body($pair: eagre_mem::probe::Pair) $body
            tests_of!($pairs);
        }
        each_of!($pairs $($rest)*);
    };
}

/// The tests of one function: their names, and the numbers of their pairs in `PAIRS`.
#[allow(unused_macros)]
macro_rules! tests_of {
    ([$($test:ident $number:literal)+]) => {$(
        #[test]
        fn $test() {
            crate::common::on($number, module_path!(), body)
        }
    )+};
}

/// Tests on all pairs.
#[allow(unused_macros)]
macro_rules! each_pair {
    ($($functions:tt)+) => {
        each_of!([pager_move 0 signal_move 1 signal_remap 2 signal_map 3 off_copy 4] $($functions)+);
    };
}

/// Tests of rewired memory: some pairs are for streams alone.
#[allow(unused_macros)]
macro_rules! each_pool_pair {
    ($($functions:tt)+) => {
        each_of!([pager_move 0 signal_move 1 signal_remap 2 off_copy 4] $($functions)+);
    };
}

/// Tests that need pointers.
#[allow(unused_macros)]
macro_rules! each_pointer_pair {
    ($($functions:tt)+) => {
        each_of!([pager_move 0 signal_move 1 signal_remap 2 signal_map 3] $($functions)+);
    };
}

/// Tests of rewired memory that need pointers.
#[allow(unused_macros)]
macro_rules! each_pointer_pool_pair {
    ($($functions:tt)+) => {
        each_of!([pager_move 0 signal_move 1 signal_remap 2] $($functions)+);
    };
}

/// Runs one test on one pair, if it works here.
pub(crate) fn on(pair: usize, name: &str, body: fn(Pair)) {
    let pair = PAIRS[pair];
    let _dog = Watchdog::new(&format!("{name}, {pair}"));
    match refusal(pair) {
        Some(why) => say(&format!("skipped: {pair}: {why}")),
        None => body(pair),
    }
}

/// Why a pair does not work here.
pub(crate) fn refusal(pair: Pair) -> Option<String> {
    static KNOWN: OnceLock<Vec<probe::PairStatus>> = OnceLock::new();
    KNOWN.get_or_init(probe::examine).iter().find(|status| status.pair == pair)?.refusal.clone()
}

/// The pairs with pointers that work here.
pub(crate) fn working_pointer_pairs() -> Vec<Pair> {
    let works = |pair: &Pair| match refusal(*pair) {
        None => pair.trap != Trap::Off,
        Some(why) => {
            say(&format!("skipped: {pair}: {why}"));
            false
        }
    };
    PAIRS.into_iter().filter(works).collect()
}

/// A line on standard error, seen even where the test harness captures output.
pub(crate) fn say(text: &str) {
    let line = format!("{text}\n");
    // SAFETY: the pointer and length are those of a live string.
    unsafe { libc::write(2, line.as_ptr().cast(), line.len()) };
}

/// Ends the process, naming the test, if the test does not end by itself.
pub(crate) struct Watchdog {
    _done: Sender<()>,
}

impl Watchdog {
    pub(crate) fn new(name: &str) -> Watchdog {
        let (done, watched) = mpsc::channel::<()>();
        let name = name.to_owned();
        // Asked here: it opens files, and who is watched may count descriptors.
        let processors = std::thread::available_parallelism().map_or(1, |count| count.get()) as u32;
        std::thread::spawn(move || {
            let (started, used) = (Instant::now(), process::time());
            while watched.recv_timeout(Duration::from_secs(1)) == Err(RecvTimeoutError::Timeout) {
                if process::time() - used < processors * patience() && started.elapsed() < 10 * patience() {
                    continue;
                }
                say(&format!("hung: {name}"));
                for wait in eagre_mem::stream::wait_report() {
                    say(&format!("hung: {wait}"));
                }
                std::process::abort();
            }
        });
        Watchdog { _done: done }
    }
}

/// A stream of small blocks for a pair.
pub(crate) fn small(pair: Pair) -> PipeBuilder {
    sized(pair, BlockSize::MIN)
}

/// A stream for a pair.
pub(crate) fn sized(pair: Pair, block: BlockSize) -> PipeBuilder {
    Pipe::builder().trap(pair.trap).mover(pair.mover).block_size(block)
}

/// 64 KiB.
pub(crate) const SMALL: usize = BlockSize::MIN.bytes();

/// Random numbers of a fixed seed, which is said when the test fails.
#[derive(Clone)]
pub(crate) struct Rng {
    numbers: fastrand::Rng,
    seed: u64,
}

impl Drop for Rng {
    fn drop(&mut self) {
        if std::thread::panicking() {
            say(&format!("failed with random numbers of seed {}", self.seed));
        }
    }
}

impl Rng {
    pub(crate) fn new(seed: u64) -> Rng {
        Rng { numbers: fastrand::Rng::with_seed(seed), seed }
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.numbers.u64(..)
    }

    /// A number below `bound`, which is not 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.numbers.u64(..bound)
    }

    /// A length from 1 to `most`, short ones as likely as long ones.
    pub(crate) fn length(&mut self, most: usize) -> usize {
        let bits = self.below(u64::from(usize::BITS - most.leading_zeros())) + 1;
        (self.below(1 << bits) as usize).clamp(1, most)
    }

    pub(crate) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

/// A prime.
const PERIOD: usize = 1_000_003;

fn table() -> &'static [u8] {
    static TABLE: OnceLock<Vec<u8>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut rng = Rng::new(1);
        // Twice, so that any stretch up to one period is contiguous. No zeros: those mean "not written".
        let once: Vec<u8> = (0..PERIOD).map(|_| (rng.below(255) + 1) as u8).collect();
        [once.clone(), once].concat()
    })
}

/// What the oracle says bytes `offset` and following are: at most `len` of them, at least one.
pub(crate) fn pattern(offset: u64, len: usize) -> &'static [u8] {
    let at = (offset % PERIOD as u64) as usize;
    &table()[at..at + len.min(PERIOD)]
}

/// Byte `offset` of every stream.
pub(crate) fn byte(offset: u64) -> u8 {
    pattern(offset, 1)[0]
}

/// Puts the right bytes for `offset` into `to`.
pub(crate) fn put(mut offset: u64, mut to: &mut [u8]) {
    while !to.is_empty() {
        let from = pattern(offset, to.len());
        let (now, later) = to.split_at_mut(from.len());
        now.copy_from_slice(from);
        (offset, to) = (offset + from.len() as u64, later);
    }
}

/// Fails the test unless `bytes` are those of `offset`.
#[track_caller]
pub(crate) fn check(mut offset: u64, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        let right = pattern(offset, bytes.len());
        let (now, later) = bytes.split_at(right.len());
        if now != right {
            let at = now.iter().zip(right).position(|(a, b)| a != b).unwrap_or(0);
            panic!("byte {} is {}, not {}", offset + at as u64, now[at], right[at]);
        }
        (offset, bytes) = (offset + now.len() as u64, later);
    }
}

/// Writes the right bytes through a pointer to byte 0 of a stream, at most `step` at a time.
///
/// # Safety
/// `to` is a writer's pointer; the bytes lie in or ahead of its window, and `step` is at most L blocks.
pub(crate) unsafe fn put_through(to: *mut u8, from: u64, until: u64, step: usize) {
    let mut at = from;
    while at < until {
        let bytes = pattern(at, step.min((until - at) as usize));
        // SAFETY: the caller's contract.
        unsafe { to.add(at as usize).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        at += bytes.len() as u64;
    }
}

/// Checks the bytes under a pointer to byte 0 of a stream, at most `step` at a time.
///
/// # Safety
/// `from` is a reader's pointer; the bytes lie in or ahead of its window, and `step` is at most M blocks.
#[track_caller]
pub(crate) unsafe fn check_through(pointer: *const u8, from: u64, until: u64, step: usize) {
    let mut at = from;
    while at < until {
        let len = step.min((until - at) as usize);
        // SAFETY: the caller's contract; nobody changes what the reader sees.
        check(at, unsafe { std::slice::from_raw_parts(pointer.add(at as usize), len) });
        at += len as u64;
    }
}
