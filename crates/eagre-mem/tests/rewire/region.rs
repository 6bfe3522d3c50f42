//! Blocks and regions, against a table of plain vectors.

use crate::common::*;
use eagre_mem::probe::Pair;
use eagre_mem::{Block, BlockSize, Mover, Pool, Region, RewireErrorKind};

pub(crate) fn pool(pair: Pair, block: BlockSize, budget: u32) -> Pool {
    Pool::new(block, budget, Some(pair.trap), Some(pair.mover)).unwrap()
}

/// A block filled with the bytes of stream offset `tag`.
fn tagged(pool: &Pool, tag: u64) -> Block {
    let mut block = pool.take().unwrap();
    assert!(block.iter().all(|&byte| byte == 0), "a new owner finds zeros");
    put(tag, &mut block);
    block
}

/// The oracle: what each slot holds, by tag.
struct Model {
    region: Region,
    slots: Vec<Option<u64>>,
}

impl Model {
    #[track_caller]
    fn agree(&self) {
        for (slot, tag) in self.slots.iter().enumerate() {
            let bytes = self.region.get(slot..slot + 1);
            assert_eq!(bytes.is_some(), tag.is_some(), "slot {slot}");
            assert_eq!(self.region.block_at(slot).is_some(), tag.is_some());
            if let (Some(bytes), Some(tag)) = (bytes, tag) {
                check(*tag, bytes);
            }
        }
        let all = self.region.get(0..self.slots.len());
        assert_eq!(all.is_some(), self.slots.iter().all(Option::is_some));
        assert!(all.is_none_or(|all| all.as_ptr() == self.region.as_ptr().as_ptr()));
    }
}

/// Random calls in random order.
fn random_walk(pair: Pair, size: BlockSize, steps: u64) {
    const SLOTS: usize = 9;
    let pool = pool(pair, size, 8);
    let mut model = Model { region: Region::new(&pool, SLOTS).unwrap(), slots: vec![None; SLOTS] };
    let mut outside: Vec<(Block, u64)> = Vec::new();
    let (mut rng, mut next_tag) = (Rng::new(7), 0);
    for _ in 0..steps {
        let (slot, other) = (rng.below(SLOTS as u64) as usize, rng.below(SLOTS as u64) as usize);
        match rng.below(7) {
            0 | 1 => {
                let (block, tag) = match outside.pop() {
                    Some(found) => found,
                    None if pool.stats().taken < 8 => {
                        next_tag += 77_777;
                        (tagged(&pool, next_tag), next_tag)
                    }
                    None => {
                        assert_eq!(pool.take().unwrap_err().kind(), RewireErrorKind::OutOfBlocks);
                        continue;
                    }
                };
                match model.region.map(slot, block) {
                    Ok(()) => assert_eq!(model.slots[slot].replace(tag), None),
                    Err(back) => {
                        assert_eq!(back.error.kind(), RewireErrorKind::Occupied);
                        assert!(model.slots[slot].is_some());
                        check(tag, &back.block);
                        outside.push((back.block, tag));
                    }
                }
            }
            2 => {
                let block = model.region.unmap(slot).unwrap();
                let tag = model.slots[slot].take();
                assert_eq!(block.is_some(), tag.is_some());
                if let (Some(block), Some(tag)) = (block, tag) {
                    check(tag, &block);
                    if rng.one_in(2) {
                        outside.push((block, tag));
                    }
                }
            }
            3 => {
                model.region.swap(slot, other).unwrap();
                model.slots.swap(slot, other);
            }
            4 => {
                let mut order: Vec<usize> = (0..=slot).collect();
                for at in (1..order.len()).rev() {
                    order.swap(at, rng.below(at as u64 + 1) as usize);
                }
                model.region.shuffle(&order).unwrap();
                let before = model.slots.clone();
                order.iter().enumerate().for_each(|(to, &from)| model.slots[to] = before[from]);
            }
            5 => {
                if let Some(bytes) = model.region.get_mut(slot..slot + 1) {
                    next_tag += 77_777;
                    put(next_tag, bytes);
                    model.slots[slot] = Some(next_tag);
                }
            }
            _ => outside.truncate(rng.below(4) as usize),
        }
        model.agree();
        let held = model.slots.iter().flatten().count() + outside.len();
        assert_eq!((pool.stats().taken, pool.stats().committed), (held as u32, held as u32));
    }
    drop((model, outside));
    assert_eq!((pool.stats().taken, pool.stats().committed), (0, 0));
}

each_pool_pair! {
    fn small_blocks_against_the_model(pair) {
        random_walk(pair, BlockSize::MIN, 600);
    }

    fn huge_blocks_against_the_model(pair) {
        random_walk(pair, BlockSize::DEFAULT, 60);
    }

    fn blocks_of_two_huge_pages_against_the_model(pair) {
        random_walk(pair, BlockSize::new(4 << 20).unwrap(), 25);
    }

    fn a_slice_spans_blocks_of_any_number(pair) {
        let pool = pool(pair, BlockSize::MIN, 4);
        let mut region = Region::new(&pool, 4).unwrap();
        let mut blocks: Vec<_> = (0..4).map(|_| pool.take().unwrap()).collect();
        for slot in [2, 0, 3, 1] {
            region.map(slot, blocks.pop().unwrap()).unwrap();
        }
        put(5, region.get_mut(0..4).unwrap());
        check(5, region.get(0..4).unwrap());
        check(5 + SMALL as u64, region.get(1..3).unwrap());
        assert_eq!(region.get(4..4).unwrap(), b"");
        assert!(region.get(3..5).is_none() && region.get(usize::MAX..usize::MAX).is_none());
    }

    fn another_pools_block_comes_back(pair) {
        let (ours, theirs) = (pool(pair, BlockSize::MIN, 1), pool(pair, BlockSize::MIN, 1));
        let mut region = Region::new(&ours, 1).unwrap();
        let back = region.map(0, tagged(&theirs, 3)).unwrap_err();
        assert_eq!(back.error.kind(), RewireErrorKind::OtherPool);
        check(3, &back.block);
        let back = region.map(1, tagged(&ours, 4)).unwrap_err();
        assert_eq!(back.error.kind(), RewireErrorKind::Full);
        check(4, &back.block);
        assert!(back.to_string().contains("1 blocks of 64 KiB"), "{back}");
    }

    fn blocks_go_to_other_threads(pair) {
        let pool = pool(pair, BlockSize::MIN, 6);
        std::thread::scope(|scope| {
            for thread in 0..3u64 {
                let pool = pool.clone();
                scope.spawn(move || {
                    let mut region = Region::new(&pool, 2).unwrap();
                    for round in 0..200 {
                        for slot in 0..2 {
                            region.map(slot, tagged(&pool, thread * 1000 + round + slot as u64)).unwrap();
                        }
                        region.swap(0, 1).unwrap();
                        check(thread * 1000 + round + 1, region.get(0..1).unwrap());
                        for slot in 0..2 {
                            drop(region.unmap(slot).unwrap());
                        }
                    }
                });
            }
        });
        assert_eq!((pool.stats().taken, pool.stats().committed), (0, 0));
    }

    /// What shuffling moves is counted in mappings that stay few, but for `remap`: there one a block.
    fn mappings_are_few(pair) {
        let pool = pool(pair, BlockSize::MIN, 64);
        let mut region = Region::new(&pool, 128).unwrap();
        for slot in 0..64 {
            region.map(2 * slot, pool.take().unwrap()).unwrap();
        }
        let within = crate::machine::mappings_within(region.as_ptr().as_ptr() as usize, 128 * SMALL).len();
        match pair.mover {
            Mover::Remap => assert!(within <= 129, "{within}"),
            _ => assert_eq!(within, 1),
        }
    }

    fn trimmed_memory_is_the_systems_again(pair) {
        let pool = pool(pair, BlockSize::DEFAULT, 4);
        assert_eq!(pool.populate(3).unwrap(), 3);
        let mut region = Region::new(&pool, 4).unwrap();
        for slot in 0..4 {
            region.map(slot, tagged(&pool, slot as u64)).unwrap();
        }
        assert_eq!(pool.stats().resident, 4);
        assert_eq!(pool.populate(9).unwrap(), 4);
        drop(region);
        pool.trim();
        assert_eq!((pool.stats().resident, pool.stats().taken), (0, 0));
        assert!(pool.take().unwrap().iter().all(|&byte| byte == 0));
    }
}

#[test]
#[should_panic(expected = "not a permutation")]
fn an_order_that_is_no_permutation() {
    let pool = Pool::new(BlockSize::MIN, 1, None, None).unwrap();
    let _ = Region::new(&pool, 3).unwrap().shuffle(&[0, 2, 2]);
}

#[test]
#[should_panic(expected = "3 slots, none is 3")]
fn a_place_that_is_not_there() {
    let pool = Pool::new(BlockSize::MIN, 1, None, None).unwrap();
    let _ = Region::new(&pool, 3).unwrap().swap(3, 0);
}

#[test]
fn too_many_addresses_are_refused() {
    let pool = Pool::new(BlockSize::MIN, 1, None, None).unwrap();
    for slots in [usize::MAX, 1 << 45] {
        let error = Region::new(&pool, slots).unwrap_err();
        assert_eq!(error.kind(), RewireErrorKind::OutOfAddresses, "{error}");
    }
}
