//! What rewired memory costs the machine, and what happens in a forked child: each in a process of its own.

use crate::common::child::{self, Case, report};
use crate::common::process::Footprint;
use crate::common::*;
use crate::region::pool;
use eagre_mem::probe::{PAIRS, Pair};
use eagre_mem::{BlockSize, GrowingBuffer, Mover, Pool, Region, RewireErrorKind, RewiredVec, Trap};

/// The lines of `/proc/self/smaps` for each mapping within a range: its addresses, then its numbers.
pub(crate) fn mappings_within(start: usize, len: usize) -> Vec<String> {
    let smaps = std::fs::read_to_string("/proc/self/smaps").unwrap();
    let mut found: Vec<String> = Vec::new();
    let mut inside = false;
    for line in smaps.lines() {
        let number = |text: &str| usize::from_str_radix(text, 16).ok();
        let range = line.split(' ').next().and_then(|range| range.split_once('-'));
        if let Some((Some(from), Some(to))) = range.map(|(from, to)| (number(from), number(to))) {
            inside = from < start + len && to > start;
            if inside {
                found.push(String::new());
            }
        }
        if inside && let Some(mapping) = found.last_mut() {
            mapping.push_str(line);
            mapping.push('\n');
        }
    }
    found
}

/// The KiB of a kind within a range.
fn kib(start: usize, len: usize, kind: &str) -> usize {
    let all = mappings_within(start, len);
    let lines = all.iter().flat_map(|mapping| mapping.lines()).filter_map(|line| line.strip_prefix(kind));
    lines.map(|rest| rest.split_whitespace().next().unwrap().parse::<usize>().unwrap()).sum()
}

fn has_huge_pages() -> bool {
    let enabled = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
    let has = !enabled.is_empty() && !enabled.contains("[never]");
    if !has {
        say("skipped: huge pages: this machine gives none");
    }
    has
}

pub(crate) const CASES: &[Case] = &[
    ("footprint", footprint),
    ("memory_returns", memory_returns),
    ("forks", forks),
    ("no_huge_pages", no_huge_pages),
    ("pages_stay_whole", pages_stay_whole),
    ("locked_memory", locked_memory),
    ("few_addresses", few_addresses),
    ("mapping_budget", mapping_budget),
];

fn run(case: &str, pair: Pair) {
    let outcome = child::run(case, pair);
    assert!(outcome.success, "{case}: {outcome:?}");
    assert!(outcome.reports.contains(&"done".to_owned()), "{case}: {outcome:?}");
}

each_pool_pair! {
    fn nothing_accumulates(pair) {
        run("footprint", pair);
    }
    fn memory_goes_back(pair) {
        run("memory_returns", pair);
    }
    fn a_forked_child(pair) {
        run("forks", pair);
    }
    fn without_huge_pages(pair) {
        run("no_huge_pages", pair);
    }
    fn with_all_memory_locked(pair) {
        run("locked_memory", pair);
    }
    fn with_few_addresses(pair) {
        run("few_addresses", pair);
    }
    fn huge_pages_stay_whole(pair) {
        run("pages_stay_whole", pair);
    }
}

/// Thousands of moves, and of vectors, leave nothing behind.
fn footprint(pair: Pair) {
    let pool = pool(pair, BlockSize::MIN, 4);
    let mut region = Region::new(&pool, 64).unwrap();
    let mut walk = |rounds: usize| {
        for round in 0..rounds {
            let (slot, other) = (round % 64, (round * 7 + 1) % 64);
            region.map(slot, pool.take().unwrap()).unwrap();
            region.swap(slot, other).unwrap();
            drop(region.unmap(other).unwrap().unwrap());
            let mut vector = RewiredVec::in_pool(&pool).unwrap();
            vector.resize(3 * SMALL / 8, 1u64);
        }
    };
    walk(300);
    let before = Footprint::now();
    walk(1200);
    let after = Footprint::now();
    assert!(after.mappings <= before.mappings + 4, "{before:?} {after:?}");
    assert!(after.rss <= before.rss + 256 && after.tables <= before.tables + 64, "{before:?} {after:?}");
    assert_eq!(after.descriptors, before.descriptors);
    report("done");
}

/// A vector's memory stays in its pool, and goes to the system when the pool is trimmed.
fn memory_returns(pair: Pair) {
    const BYTES: usize = 64 << 20;
    let pool = pool(pair, BlockSize::DEFAULT, 64);
    let before = Footprint::now().rss;
    let mut vector = RewiredVec::in_pool(&pool).unwrap();
    vector.resize(BYTES / 8, 1u64);
    let full = Footprint::now().rss;
    assert!(full >= before + (BYTES >> 10) as u64, "{before} {full}");
    vector.truncate(BYTES / 16);
    vector.shrink_to_fit();
    assert_eq!((vector.capacity(), pool.stats().taken), (BYTES / 16, 16));
    pool.trim();
    let half = Footprint::now().rss;
    assert!(half <= before + (BYTES >> 11) as u64 + 1024, "{before} {full} {half}");
    drop(vector);
    pool.trim();
    let after = Footprint::now().rss;
    assert!(after <= before + 1024, "{before} {full} {after}");
    report("done");
}

/// The child has none of it, and says so; the parent does not notice.
fn forks(pair: Pair) {
    let pool = pool(pair, BlockSize::MIN, 8);
    let mut region = Region::new(&pool, 2).unwrap();
    region.map(0, pool.take().unwrap()).unwrap();
    put(9, region.get_mut(0..1).unwrap());
    let spare = pool.take().unwrap();
    let mut texts = RewiredVec::in_pool(&pool).unwrap();
    texts.extend((0..1000).map(|n| n.to_string()));
    let mut buffer = (pair.trap != Trap::Off).then(|| GrowingBuffer::new(&pool, SMALL as u64).unwrap());
    // SAFETY: the child makes no call that needs a lock another thread may have held, and ends with `_exit`.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let forked = |kind| kind == RewireErrorKind::Forked;
        let mut good = forked(pool.take().unwrap_err().kind());
        good &= forked(region.swap(0, 1).unwrap_err().kind());
        good &= forked(region.unmap(0).unwrap_err().kind());
        good &= forked(region.map(1, spare).unwrap_err().error.kind());
        good &= forked(texts.try_reserve(10_000).unwrap_err().kind());
        good &= buffer.as_mut().is_none_or(|buffer| forked(buffer.scope(|_| ()).unwrap_err().kind()));
        texts.shrink_to_fit();
        drop((region, texts, buffer, pool));
        let own = Pool::new(BlockSize::MIN, 4, Some(pair.trap), Some(pair.mover)).unwrap();
        let mut fresh = RewiredVec::in_pool(&own).unwrap();
        fresh.extend(0..20_000u64);
        good &= fresh.iter().copied().eq(0..20_000);
        // SAFETY: ends the child.
        unsafe { libc::_exit(i32::from(!good)) };
    }
    let mut status = 0;
    // SAFETY: our own child.
    assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
    assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "{status:#x}");
    check(9, region.get(0..1).unwrap());
    region.swap(0, 1).unwrap();
    check(9, region.get(1..2).unwrap());
    texts.extend((1000..5000).map(|n| n.to_string()));
    assert!(texts.iter().enumerate().all(|(n, text)| *text == n.to_string()));
    if let Some(buffer) = &mut buffer {
        // SAFETY: within the limit.
        buffer.scope(|to| unsafe { to.write(5) }).unwrap();
        assert_eq!(buffer.bytes(1).unwrap(), [5]);
    }
    drop((region, texts, spare, buffer));
    assert_eq!((pool.stats().taken, pool.stats().committed), (0, 0));
    report("done");
}

/// Blocks of 2 MiB made of small pages.
fn no_huge_pages(pair: Pair) {
    // SAFETY: a flag of this process.
    assert_eq!(unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0) }, 0);
    let pool = pool(pair, BlockSize::DEFAULT, 12);
    let mut words = RewiredVec::in_pool(&pool).unwrap();
    words.resize(600_000, 1u64);
    assert_eq!(kib(words.as_ptr() as usize, 600_000 * 8, "AnonHugePages:"), 0);
    drop(words);
    all_of_it(pair, &pool);
    report("done");
}

/// Everything together, on a pool of blocks of 2 MiB.
fn all_of_it(pair: Pair, pool: &Pool) {
    let mut words = RewiredVec::in_pool(pool).unwrap();
    words.extend(0..600_000u64);
    let mut region = Region::new(pool, 3).unwrap();
    region.map(2, pool.take().unwrap()).unwrap();
    put(1, region.get_mut(2..3).unwrap());
    region.shuffle(&[1, 2, 0]).unwrap();
    check(1, region.get(1..2).unwrap());
    if pair.trap != Trap::Off {
        let mut buffer = GrowingBuffer::in_pool(pool).unwrap();
        // SAFETY: within the limit.
        buffer.scope(|to| unsafe { libc::memset(to.cast(), 1, 3 << 20) }).unwrap();
        assert!(buffer.bytes(3 << 20).unwrap().iter().all(|&byte| byte == 1));
    }
    assert!(words.iter().copied().eq(0..600_000));
    words.truncate(1000);
    words.shrink_to_fit();
    drop((words, region));
    assert_eq!((pool.stats().taken, pool.stats().committed), (0, 0));
}

/// Where every new mapping is locked and filled at once (`mlockall`), reservations are neither.
fn locked_memory(pair: Pair) {
    // SAFETY: a flag of this process.
    if unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) } != 0 {
        say(&format!("skipped: mlockall: {}", std::io::Error::last_os_error()));
        return report("done");
    }
    all_of_it(pair, &pool(pair, BlockSize::DEFAULT, 12));
    report("done");
}

/// `ulimit -v`: errors, and room for what fits.
fn few_addresses(pair: Pair) {
    let limit = libc::rlimit { rlim_cur: 1 << 30, rlim_max: 1 << 30 };
    // SAFETY: a limit of this process.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) }, 0);
    let pool = pool(pair, BlockSize::DEFAULT, 12);
    let error = Region::new(&pool, 1024).unwrap_err();
    assert_eq!(error.kind(), RewireErrorKind::OutOfAddresses);
    assert!(error.to_string().contains("ulimit -v"), "{error}");
    assert_eq!(RewiredVec::<u64>::with_limit(&pool, 1 << 30).unwrap_err().kind(), RewireErrorKind::OutOfAddresses);
    all_of_it(pair, &pool);
    report("done");
}

/// However often it moves, a huge page is one page.
fn pages_stay_whole(pair: Pair) {
    if has_huge_pages() {
        const BLOCKS: usize = 6;
        let pool = pool(pair, BlockSize::DEFAULT, 2 * BLOCKS as u32);
        let mut vector = RewiredVec::in_pool(&pool).unwrap();
        let mut region = Region::new(&pool, BLOCKS).unwrap();
        let size = BlockSize::DEFAULT.bytes();
        for _ in 0..5 {
            (0..BLOCKS).for_each(|slot| region.map(slot, pool.take().unwrap()).unwrap());
            region.shuffle(&[3, 4, 1, 0, 5, 2]).unwrap();
            region.swap(0, 5).unwrap();
            vector.resize(BLOCKS * size / 8, 1u64);
            let whole = (BLOCKS * size) >> 10;
            assert_eq!(kib(vector.as_ptr() as usize, BLOCKS * size, "AnonHugePages:"), whole);
            assert_eq!(kib(region.as_ptr().as_ptr() as usize, BLOCKS * size, "AnonHugePages:"), whole);
            vector.clear();
            vector.shrink_to_fit();
            (0..BLOCKS).for_each(|slot| drop(region.unmap(slot).unwrap()));
        }
        if pair.trap != Trap::Off {
            let mut buffer = GrowingBuffer::new(&pool, (BLOCKS * size) as u64).unwrap();
            // SAFETY: within the limit.
            buffer.scope(|to| unsafe { libc::memset(to.cast(), 1, BLOCKS * size) }).unwrap();
            let start = buffer.as_ptr().as_ptr() as usize;
            assert_eq!(kib(start, BLOCKS * size, "AnonHugePages:"), (BLOCKS * size) >> 10);
        }
    }
    report("done");
}

/// With `remap` every block is a mapping. Before the kernel's limit is reached, the error names it.
#[test]
fn mappings_run_out_in_time() {
    let pair = PAIRS.into_iter().find(|pair| pair.mover == Mover::Remap).unwrap();
    match refusal(pair) {
        Some(why) => say(&format!("skipped: {pair}: {why}")),
        None => run("mapping_budget", pair),
    }
}

fn mapping_budget(pair: Pair) {
    let budget = eagre_mem::Mappings::now().budget;
    let blocks = budget / 2 + 10;
    if blocks * SMALL as u64 > 4 << 30 {
        say("skipped: vm.max_map_count is too large to reach in a test");
        return report("done");
    }
    let pool = pool(pair, BlockSize::MIN, blocks as u32);
    let mut vector: RewiredVec<u8> = RewiredVec::in_pool(&pool).unwrap();
    let error = vector.try_reserve(blocks as usize * SMALL).unwrap_err();
    assert_eq!(error.kind(), RewireErrorKind::OutOfMappings, "{error}");
    assert!(error.to_string().contains("vm.max_map_count"), "{error}");
    // What it got is good, and the process goes on.
    let held = vector.capacity();
    assert!(held as u64 / SMALL as u64 >= budget / 2 - 10, "{held}");
    assert!(Footprint::now().mappings < budget + budget / 7);
    drop(vector);
    assert_eq!(pool.stats().taken, 0);
    report("done");
}
