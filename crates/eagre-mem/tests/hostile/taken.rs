//! What a process has of everything that streams take, before a loop and after it.

use super::util::*;
use eagre_mem::stream::Pipe;
use eagre_mem::{BlockSize, Pool};

/// How often a loop opens a stream.
pub(crate) const ROUNDS: usize = 20_000;

/// How often one does that costs as much and tells less.
pub(crate) fn some_rounds() -> usize {
    rounds(2_000)
}

/// So often, or all rounds with `EAGRE_LONG`.
pub(crate) fn rounds(usually: usize) -> usize {
    if std::env::var_os("EAGRE_LONG").is_some() { ROUNDS } else { usually }
}
/// What the last few closed streams may keep, if a thread was let go in them: their windows.
const KEPT: u64 = 64 << 20;

/// What this process has of everything that a stream takes.
#[derive(Debug, PartialEq, Eq)]
struct Taken {
    addresses: u64,
    mappings: usize,
    descriptors: usize,
    threads: usize,
    default_capacity: u64,
}

impl Taken {
    fn now() -> Taken {
        let count = |path: &str| std::fs::read_dir(path).unwrap().count();
        // This makes a pool, which stays.
        let default_capacity = Pipe::open().unwrap().capacity();
        let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
        Taken {
            default_capacity,
            addresses: pages.split(' ').next().unwrap().parse::<u64>().unwrap() * 4096,
            mappings: std::fs::read_to_string("/proc/self/maps").unwrap().lines().count(),
            descriptors: count("/proc/self/fd"),
            threads: count("/proc/self/task"),
        }
    }
}

/// Does something many times, and looks whether anything is left of it.
pub(crate) fn again_and_again(rounds: usize, mut once: impl FnMut(usize)) {
    // The first ones fill pools and caches that stay.
    (0..20).for_each(&mut once);
    let before = Taken::now();
    (0..rounds).for_each(&mut once);
    // Threads that have done their work may still be ending.
    until(|| Taken::now().threads <= before.threads);
    let after = Taken::now();
    assert_eq!(after.default_capacity, before.default_capacity);
    assert_eq!(after.descriptors, before.descriptors);
    assert!(after.addresses <= before.addresses + KEPT, "{before:?} {after:?}");
    assert!(after.mappings <= before.mappings + 100, "{before:?} {after:?}");
    the_table_has_room();
    streams_work();
}

/// So many streams can be open at once that the loop's cannot have kept a place each in the table of ranges (8192).
fn the_table_has_room() {
    let pool = Pool::new(BlockSize::MIN, 4, None, None).unwrap();
    let open = || small("room").pool(&pool).capacity(1 << 20).open().unwrap_or_else(|error| panic!("{error}"));
    let all: Vec<Pipe> = (0..3500).map(|_| open()).collect();
    drop(all);
}
