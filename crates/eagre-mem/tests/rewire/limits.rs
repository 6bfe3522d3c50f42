//! Limits of the process, reached in the midst of it: errors, with all elements and blocks where they were; and work goes
//! on when the limit is raised. Each case in a process of its own.

use crate::common::child::{self, Case, report};
use crate::common::*;
use crate::pins::order;
use crate::region::pool;
use eagre_mem::probe::Pair;
use eagre_mem::stream::{StreamError, StreamErrorKind};
use eagre_mem::{
    BlockSize, GrowingBuffer, Mappings, Mover, Pool, Region, RewireError, RewireErrorKind, RewiredVec, StreamPool, Trap,
};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

pub(crate) const CASES: &[Case] = &[
    ("addresses_end", |pair| ends(pair, libc::RLIMIT_AS)),
    ("data_ends", |pair| ends(pair, libc::RLIMIT_DATA)),
    ("mappings_end", mappings_end),
    ("moves_end", moves_end),
    ("others_claim_mappings", others_claim_mappings),
    ("locked_memory_ends", locked_memory_ends),
    ("fresh_memory_ends", fresh_memory_ends),
    ("no_heap_for_the_table", no_heap_for_the_table),
];

fn run(case: &str, pair: Pair) {
    let outcome = child::run(case, pair);
    assert!(outcome.success, "{case}: {outcome:?}");
    assert!(outcome.reports.contains(&"done".to_owned()), "{case}: {outcome:?}");
}

each_pool_pair! {
    fn no_addresses_any_more(pair) {
        run("addresses_end", pair);
    }
    fn no_data_any_more(pair) {
        run("data_ends", pair);
    }
    fn no_memory_to_move_a_block(pair) {
        run("moves_end", pair);
    }
    fn hardly_any_mappings_left(pair) {
        run("mappings_end", pair);
    }
    fn other_regions_take_every_mapping(pair) {
        run("others_claim_mappings", pair);
    }
    fn no_locked_memory_any_more(pair) {
        run("locked_memory_ends", pair);
    }
    fn no_fresh_memory_for_a_stream(pair) {
        run("fresh_memory_ends", pair);
    }
    fn no_heap_for_the_table_of_a_buffer(pair) {
        run("no_heap_for_the_table", pair);
    }
}

/// Sets the soft limit, and returns what it was.
fn limit(resource: libc::__rlimit_resource_t, to: u64) -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: plain values.
    unsafe {
        assert_eq!(libc::getrlimit(resource, &mut limit), 0);
        let before = std::mem::replace(&mut limit.rlim_cur, to.min(limit.rlim_max));
        assert_eq!(libc::setrlimit(resource, &limit), 0);
        before
    }
}

/// The bytes of this process that a limit counts: all addresses, or private memory open for writing.
fn counted(resource: libc::__rlimit_resource_t) -> u64 {
    let field = if resource == libc::RLIMIT_AS { "VmSize:" } else { "VmData:" };
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
    line.split_whitespace().next().unwrap().parse::<u64>().unwrap() << 10
}

/// A vector, a region and a buffer on a pool of which nothing is backed yet grow until the limit; then it is raised.
fn ends(pair: Pair, resource: libc::__rlimit_resource_t) {
    const BLOCKS: usize = 256;
    let pool = pool(pair, BlockSize::MIN, 3 * BLOCKS as u32);
    let mut texts: RewiredVec<String> = RewiredVec::with_limit(&pool, BLOCKS * SMALL / size_of::<String>()).unwrap();
    let mut region = Region::new(&pool, BLOCKS).unwrap();
    let mut buffer = (pair.trap != Trap::Off).then(|| GrowingBuffer::new(&pool, (BLOCKS * SMALL) as u64).unwrap());
    // What the test itself needs is there before: its elements, and the oracle.
    pattern(0, 1);
    let spare: Vec<String> = (0..texts.limit()).map(|n| n.to_string()).collect();
    let mut clones = spare.clone().into_iter();
    let before = limit(resource, counted(resource) + (2 << 20));
    let mut ended = false;
    for text in clones.by_ref() {
        match texts.try_push(text) {
            Ok(()) => {}
            Err(back) => {
                assert_eq!(back.error.kind(), RewireErrorKind::OutOfMemory, "{}", back.error);
                assert_eq!(back.value, spare[texts.len()]);
                ended = true;
                break;
            }
        }
    }
    let had = texts.len();
    let mut mapped = 0;
    while mapped < BLOCKS {
        let Ok(mut block) = pool.take() else { break };
        put(mapped as u64, &mut block);
        match region.map(mapped, block) {
            Ok(()) => mapped += 1,
            Err(back) => {
                check(mapped as u64, &back.block);
                break;
            }
        }
    }
    if let Some(buffer) = &mut buffer {
        // SAFETY: within the limit.
        let wrote = buffer.scope(|to| unsafe { put_through(to, 0, (BLOCKS * SMALL) as u64, SMALL) });
        assert!(wrote.is_err() || buffer.held() == (BLOCKS * SMALL) as u64);
        ended |= wrote.is_err();
    }
    limit(resource, before);
    say(&format!("{pair}: {had} elements and {mapped} blocks before the limit; it was reached: {ended}"));
    assert!(ended || mapped == BLOCKS);
    assert!(texts[..] == spare[..had]);
    for text in &spare[had..] {
        texts.push(text.clone());
    }
    assert!(texts == *spare);
    (0..mapped).for_each(|slot| check(slot as u64, region.get(slot..slot + 1).unwrap()));
    if let Some(buffer) = &mut buffer {
        buffer.clear();
        // SAFETY: within the limit.
        buffer.scope(|to| unsafe { put_through(to, 0, (BLOCKS * SMALL) as u64, SMALL) }).unwrap();
        check(0, buffer.bytes(BLOCKS * SMALL).unwrap());
    }
    drop((texts, region, buffer));
    assert_eq!((pool.stats().taken, pool.stats().committed), (0, 0));
    report("done");
}

fn is_about_mappings(error: &RewireError) {
    assert!(matches!(error.kind(), RewireErrorKind::OutOfMappings | RewireErrorKind::OutOfMemory), "{error}");
    assert!(error.to_string().contains("vm.max_map_count"), "{error}");
}

/// Takes mappings, which nothing in Eagre counts, until the kernel gives no more than about `leave`.
fn use_up_mappings(leave: usize) -> bool {
    const PAGE: usize = 4096;
    let most = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap().trim().parse::<usize>().unwrap();
    if most > 1 << 18 {
        say("skipped: vm.max_map_count is too high to use up");
        return false;
    }
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new range; changing the protection of every other page of it makes mappings of its pages.
    unsafe {
        let start = libc::mmap(std::ptr::null_mut(), 2 * most * PAGE, libc::PROT_NONE, flags, -1, 0).cast::<u8>();
        let page = |at: usize| start.add(2 * at * PAGE).cast::<libc::c_void>();
        let used = (1..most).find(|&at| libc::mprotect(page(at), PAGE, libc::PROT_READ) != 0).unwrap();
        (used - leave / 2..used).for_each(|at| assert_eq!(libc::mprotect(page(at), PAGE, libc::PROT_NONE), 0));
    }
    true
}

/// A region of thousands of small blocks is mapped and shuffled while others have left the process hardly a mapping.
/// With `move` and `copy` that takes none; with `remap` it ends in an error, at whatever step, and no block is lost.
fn mappings_end(pair: Pair) {
    const BLOCKS: usize = 3000;
    let pool: Pool = pool(pair, BlockSize::MIN, BLOCKS as u32);
    assert_eq!(pool.populate(BLOCKS as u32).unwrap(), BLOCKS as u32);
    let mut rng = Rng::new(5);
    for leave in [3 * BLOCKS, 20] {
        let mut region = Region::new(&pool, BLOCKS).unwrap();
        // The blocks are made ready before; the memory of the process, too, while there are mappings.
        let mut blocks: Vec<_> = (0..BLOCKS).map(|_| pool.take().unwrap()).collect();
        for (tag, block) in blocks.iter_mut().enumerate() {
            put(77_777 * tag as u64, block);
        }
        let mut orders = vec![(0..BLOCKS).collect::<Vec<_>>(); 4];
        for order in &mut orders {
            (1..BLOCKS).for_each(|at| order.swap(at, rng.below(at as u64 + 1) as usize));
        }
        if !use_up_mappings(leave) {
            return report("done");
        }
        let mut back = Vec::with_capacity(BLOCKS);
        for (slot, block) in blocks.into_iter().enumerate() {
            match region.map(slot, block) {
                Ok(()) => check(77_777 * slot as u64, region.get(slot..slot + 1).unwrap()),
                Err(not) => {
                    assert_eq!(pair.mover, Mover::Remap, "{}", not.error);
                    is_about_mappings(&not.error);
                    check(77_777 * slot as u64, &not.block);
                    back.push((slot, not.block));
                }
            }
        }
        if back.is_empty() {
            for wanted in &orders {
                match region.shuffle(wanted) {
                    Ok(()) => {}
                    Err(error) => is_about_mappings(&error),
                }
                order(&region);
            }
        }
        assert!(pair.mover == Mover::Remap || back.is_empty());
        for (slot, block) in &back {
            check(77_777 * *slot as u64, block);
        }
        for slot in 0..BLOCKS {
            if let Some(bytes) = region.get(slot..slot + 1).filter(|_| !back.is_empty()) {
                check(77_777 * slot as u64, bytes);
            }
        }
        drop((region, back));
        assert_eq!((pool.stats().taken, pool.stats().committed), (0, 0));
    }
    report("done");
}

/// Whether something is mapped at an address, if only addresses.
fn is_mapped(address: usize) -> bool {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    maps.lines().any(|line| {
        let (start, end) = line.split_once(' ').unwrap().0.split_once('-').unwrap();
        let [start, end] = [start, end].map(|text| usize::from_str_radix(text, 16).unwrap());
        (start..end).contains(&address)
    })
}

/// The system has no memory to move a block, of which the pool has enough. Whoever asked for the block is told the same, and
/// gets it when there is memory again; the pool has lost nothing. With `move` a block moves within any limit, with `copy` where its
/// slot was open before.
fn moves_end(pair: Pair) {
    const BLOCKS: u32 = 40;
    let pool = pool(pair, BlockSize::MIN, BLOCKS);
    pool.populate(BLOCKS).unwrap();
    let arrays = StreamPool::on(&pool);
    let mut vector: RewiredVec<u8> = RewiredVec::with_limit(&pool, 2 * SMALL).unwrap();
    let mut region = Region::new(&pool, 1).unwrap();
    let mut array = arrays.array::<u8>(2 * SMALL).unwrap();
    let mut buffer = (pair.trap != Trap::Off).then(|| GrowingBuffer::new(&pool, SMALL as u64).unwrap());
    let mut pipe = small(pair).pool(&pool).capacity(1 << 20).open().unwrap();
    if pair.trap != Trap::Off {
        // SAFETY: within the capacity. So the block is in the writer's range, and must move to be read.
        pipe.writer().scope(|to| unsafe { put_through(to, 0, SMALL as u64, SMALL) }).unwrap();
        pipe.writer().advance_to(SMALL as u64).unwrap();
    } else {
        pipe.writer().copy_in(pattern(0, SMALL)).unwrap();
    }
    let block = pool.take().unwrap();
    let committed = pool.stats().committed;
    let before = limit(libc::RLIMIT_DATA, counted(libc::RLIMIT_DATA) - (1 << 20));
    let outcomes = [
        ("vector", vector.try_reserve(1).map_err(|error| error.kind())),
        ("array", array.reserve().map(|_| ()).map_err(|error| error.kind())),
        ("buffer", buffer.as_mut().map_or(Ok(()), |it| it.bytes(1).map(|_| ()).map_err(|error| error.kind()))),
    ];
    let mapped = region.map(0, block);
    let read = pipe.reader().fill(1).map(|bytes| bytes.len());
    let committed_then = pool.stats().committed;
    limit(libc::RLIMIT_DATA, before);
    // Other memory of the process could be mapped into a hole.
    assert!(is_mapped(region.as_ptr().as_ptr() as usize), "a move that was refused leaves a hole");
    let may_succeed = pair.mover != Mover::Remap;
    let may_fail = pair.mover != Mover::Move;
    for (who, outcome) in outcomes {
        let foreseen = if outcome.is_ok() { may_succeed } else { may_fail };
        assert!(foreseen && !outcome.is_err_and(|kind| kind != RewireErrorKind::OutOfMemory), "{who}: {outcome:?}");
    }
    match mapped {
        Ok(()) => assert!(may_succeed),
        Err(back) => {
            assert!(may_fail && back.error.kind() == RewireErrorKind::OutOfMemory, "{}", back.error);
            region.map(0, back.block).unwrap();
        }
    }
    match read {
        Ok(bytes) => assert!(may_succeed && bytes == SMALL),
        Err(error) => {
            assert!(may_fail && error.kind() == StreamErrorKind::OutOfMemory, "{error}");
            let text = error.to_string();
            assert!(text.contains("memory") && !text.contains("EAGRE_POOL"), "{text}");
            assert!(pair.mover != Mover::Remap || text.contains("vm.max_map_count"), "{text}");
        }
    }
    assert!(may_succeed || committed_then == committed);
    vector.try_reserve(1).unwrap();
    array.reserve().unwrap();
    if let Some(buffer) = &mut buffer {
        assert_eq!(buffer.bytes(SMALL).unwrap(), [0; SMALL]);
    }
    drop((vector, region, array, buffer, pipe));
    assert_eq!((pool.stats().taken, pool.stats().committed, pool.stats().resident), (0, 0, BLOCKS));
    report("done");
}

/// A swap needs no mappings beyond those of its two blocks. So it succeeds although another thread claims each mapping that
/// becomes free.
fn others_claim_mappings(pair: Pair) {
    if pair.mover != Mover::Remap {
        say("skipped: only blocks that `remap` moves cost mappings");
        return report("done");
    }
    if Mappings::now().budget > 1 << 18 {
        say("skipped: vm.max_map_count is too high to use up");
        return report("done");
    }
    let pool = pool(pair, BlockSize::MIN, 2);
    let mut region = Region::new(&pool, 2).unwrap();
    for slot in 0..2 {
        let mut block = pool.take().unwrap();
        put(77_777 * slot as u64, &mut block);
        region.map(slot, block).unwrap();
    }
    let mut others = Vec::new();
    let refused = loop {
        match Region::new(&pool, 1) {
            Ok(other) => others.push(other),
            Err(error) => break error,
        }
    };
    assert_eq!(refused.kind(), RewireErrorKind::OutOfMappings, "{refused}");
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(SeqCst) {
                drop(Region::new(&pool, 1));
            }
        });
        let swapped = (0..5000).try_for_each(|_| region.swap(0, 1));
        done.store(true, SeqCst);
        assert_eq!(swapped, Ok(()));
    });
    assert_eq!(order(&region), [0, 1]);
    report("done");
}

/// A process that locks all it will map, and may lock no more, moves blocks all the same: a move locks nothing.
fn locked_memory_ends(pair: Pair) {
    let pool = pool(pair, BlockSize::MIN, 2);
    let mut region = Region::new(&pool, 3).unwrap();
    let mut blocks: Vec<_> = (0..2).map(|_| pool.take().unwrap()).collect();
    for (tag, block) in blocks.iter_mut().enumerate() {
        put(77_777 * tag as u64, block);
    }
    // The table of the region has its memory before.
    region.map(2, blocks.pop().unwrap()).unwrap();
    // No limit on locked memory holds for root.
    // SAFETY: plain values; nothing later in this process needs the rights.
    if unsafe { libc::geteuid() == 0 && libc::setresuid(65534, 65534, 65534) != 0 } {
        say("skipped: root cannot become another user here");
        return report("done");
    }
    limit(libc::RLIMIT_MEMLOCK, 4096);
    // SAFETY: concerns what is mapped from now on, and changes no contents.
    if unsafe { libc::mlockall(libc::MCL_FUTURE) } != 0 {
        say(&format!("skipped: mlockall: {}", std::io::Error::last_os_error()));
        return report("done");
    }
    let mapped = region.map(0, blocks.pop().unwrap());
    let swapped = region.swap(0, 1);
    let unmapped = region.unmap(1);
    // SAFETY: as above.
    unsafe { libc::munlockall() };
    assert!(mapped.is_ok(), "{}", mapped.unwrap_err());
    assert_eq!(swapped, Ok(()));
    check(0, &unmapped.unwrap().unwrap());
    check(77_777, region.get(2..3).unwrap());
    drop(region);
    assert_eq!((pool.stats().taken, pool.stats().committed), (0, 0));
    report("done");
}

/// A stream that does not recycle needs new memory for each block. Where that is refused, the stream fails, and its pool lends no
/// block without memory.
fn fresh_memory_ends(pair: Pair) {
    const BLOCKS: u32 = 8;
    let pool = pool(pair, BlockSize::MIN, BLOCKS);
    let mut pipe = small(pair).pool(&pool).recycle(false).open().unwrap();
    let bytes = pattern(0, SMALL).to_vec();
    let mut pump = |blocks: u32| -> Result<(), StreamError> {
        for _ in 0..blocks {
            pipe.writer().copy_in(&bytes)?;
            let got = pipe.reader().fill(SMALL)?.len();
            pipe.reader().consume(got);
        }
        Ok(())
    };
    pump(2 * BLOCKS).unwrap();
    let before = limit(libc::RLIMIT_AS, counted(libc::RLIMIT_AS));
    let pumped = pump(2 * BLOCKS);
    limit(libc::RLIMIT_AS, before);
    // Only `move` fills new memory at addresses beside the pool.
    assert_eq!(pumped.is_err(), pair.mover == Mover::Move, "{pumped:?}");
    if let Err(error) = pumped {
        assert_eq!(error.kind(), StreamErrorKind::OutOfMemory, "{error}");
        assert!(error.to_string().contains("`ulimit -v`"), "{error}");
    }
    drop(pipe);
    let stats = pool.stats();
    assert_eq!((stats.taken, stats.committed), (0, 0));
    assert!(pair.mover != Mover::Move || stats.resident < BLOCKS, "{stats:?}");
    let all: Vec<_> = (0..BLOCKS).map(|_| pool.take().unwrap()).collect();
    assert!(all.iter().all(|block| block.iter().all(|&byte| byte == 0)));
    drop(all);
    report("done");
}

/// The heap has no memory for the table of a large buffer: that is a lack of memory, not of addresses.
fn no_heap_for_the_table(pair: Pair) {
    if pair.trap == Trap::Off {
        say("skipped: a growing buffer needs a trap");
        return report("done");
    }
    let pool = pool(pair, BlockSize::MIN, 2);
    let mappings = Mappings::now().used;
    let before = limit(libc::RLIMIT_DATA, counted(libc::RLIMIT_DATA) + (4 << 20));
    // 4 bytes for each of 16 million blocks.
    let refused = GrowingBuffer::new(&pool, 1 << 40).map(drop);
    limit(libc::RLIMIT_DATA, before);
    assert_eq!(refused.unwrap_err().kind(), RewireErrorKind::OutOfMemory);
    assert_eq!(Mappings::now().used, mappings);
    report("done");
}
