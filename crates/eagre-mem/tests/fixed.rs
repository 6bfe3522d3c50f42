//! Memory that stays: whoever was told where a pool's blocks are finds each stream's bytes there.
#![cfg(target_os = "linux")]

use eagre_mem::stream::Pipe;
use eagre_mem::{BlockSize, FixedMemory, Mover, Pool, RewireErrorKind, Trap, probe};

const BLOCK: usize = 64 << 10;

fn pool(block: usize, blocks: u32) -> Option<(Pool, FixedMemory)> {
    let works = |pair: &probe::PairStatus| {
        pair.pair == probe::Pair { trap: Trap::Signal, mover: Mover::Map } && pair.refusal.is_none()
    };
    if !probe::examine().iter().any(works) {
        eprintln!("skipped: signal and map do not work here");
        return None;
    }
    let pool = Pool::new(BlockSize::new(block).unwrap(), blocks, Some(Trap::Signal), Some(Mover::Map)).unwrap();
    let memory = pool.fixed().unwrap();
    Some((pool, memory))
}

/// The frames of physical memory behind a range, as root sees them.
fn frames(memory: &FixedMemory) -> Vec<u64> {
    use std::os::unix::fs::FileExt;
    let map = std::fs::File::open("/proc/self/pagemap").unwrap();
    let pages = memory.len() / 4096;
    let mut entries = vec![0; pages * 8];
    map.read_exact_at(&mut entries, (memory.start().addr() / 4096 * 8) as u64).unwrap();
    entries.chunks(8).map(|entry| u64::from_le_bytes(entry.try_into().unwrap()) & ((1 << 55) - 1)).collect()
}

/// Streams of all kinds, one after the other: a card would read at each block's home what was written on the pointer.
#[test]
fn every_stream_of_the_pool_shows_its_bytes_at_home() {
    for block in [BLOCK, 2 << 20] {
        let Some((pool, memory)) = pool(block, 5) else { return };
        let before = frames(&memory);
        for recycle in [true, false] {
            let stream = Pipe::builder().pool(&pool).block_size(pool.block_size()).recycle(recycle);
            let (mut writer, mut reader) = stream.pointers().open().unwrap().split();
            let blocks = 40;
            std::thread::scope(|scope| {
                scope.spawn(move || {
                    let written = writer.scope(|start| {
                        for number in 0..blocks {
                            // SAFETY: inside the stream, in ascending order.
                            unsafe { start.add(number * block).write_bytes(number as u8 + 1, block) };
                        }
                    });
                    written.and_then(|()| writer.finish_at((blocks * block) as u64)).unwrap();
                });
                for number in 0..blocks {
                    let taken = reader.take().unwrap().unwrap();
                    let offset = memory.offset(taken.as_slice().as_ptr()).expect("an address of the pool");
                    assert!(offset.is_multiple_of(block) && offset + block <= memory.len());
                    // SAFETY: inside the memory, and the reader holds the block.
                    let there = unsafe { std::slice::from_raw_parts(memory.start().add(offset), block) };
                    assert!(there.iter().all(|&byte| byte == number as u8 + 1), "block {number}");
                    reader.release_block(taken);
                }
            });
            drop(reader);
            pool.trim();
            assert_eq!(pool.stats().resident, 5);
            // SAFETY: the call takes nothing.
            if unsafe { libc::geteuid() } == 0 {
                // The kernel itself may move some, to make room for others: it may not where a card has pinned them.
                let moved = frames(&memory).iter().zip(&before).filter(|(now, then)| now != then).count();
                assert!(moved <= before.len() / 4, "the card would write elsewhere: {moved} of {} pages", before.len());
            }
        }
    }
}

/// What skips bytes must read zeros, although blocks keep their memory.
#[test]
fn fresh_blocks_are_zero() {
    let Some((pool, _memory)) = pool(BLOCK, 3) else { return };
    let stream = || Pipe::builder().pool(&pool).block_size(pool.block_size()).rewrite(0).lookback(0).read_ahead(1);
    let (mut writer, mut reader) = stream().explicit().recycle(false).open().unwrap().split();
    for number in 0..20 {
        let mut block = writer.take().unwrap();
        assert!(block.as_mut_slice().iter().all(|&byte| byte == 0), "block {number}");
        block.as_mut_slice().fill(7);
        writer.complete(block);
        let taken = reader.take().unwrap().unwrap();
        reader.release_block(taken);
    }
}

#[test]
fn memory_that_moves_or_is_shared_is_refused() {
    let moving = Pool::new(BlockSize::new(BLOCK).unwrap(), 3, Some(Trap::Off), None).unwrap();
    assert_eq!(moving.fixed().unwrap_err().kind(), RewireErrorKind::Moves);
    let shared = Pool::shared(BlockSize::new(BLOCK).unwrap()).unwrap();
    let error = shared.fixed().unwrap_err();
    assert_eq!(error.kind(), RewireErrorKind::Moves);
    assert!(error.to_string().contains("make a pool of its own"), "{error}");
}
