//! Rewired memory without faults and without moves, small enough for Miri (see `explicit_miri.rs` for the command).

use eagre_mem::{BlockSize, Mover, Pool, Region, RewireErrorKind, RewiredVec, Trap};

const BLOCK: usize = BlockSize::MIN.bytes();

fn pool(budget: u32) -> Pool {
    Pool::new(BlockSize::MIN, budget, Some(Trap::Off), Some(Mover::Copy)).unwrap()
}

#[test]
fn blocks_change_places() {
    let pool = pool(3);
    let mut region = Region::new(&pool, 4).unwrap();
    for slot in 0..3 {
        let mut block = pool.take().unwrap();
        assert!(block[..100].iter().all(|&byte| byte == 0));
        block[..9].fill(slot as u8 + 1);
        region.map(slot, block).unwrap();
    }
    let full = pool.take().unwrap_err();
    assert_eq!(full.kind(), RewireErrorKind::OutOfBlocks);
    region.shuffle(&[2, 3, 0, 1]).unwrap();
    region.swap(0, 3).unwrap();
    let firsts: Vec<_> = (0..4).map(|slot| region.get(slot..slot + 1).map(|bytes| bytes[8])).collect();
    assert_eq!(firsts, [Some(2), None, Some(1), Some(3)]);
    region.get_mut(2..4).unwrap()[BLOCK - 1..BLOCK + 1].fill(9);
    let block = region.unmap(3).unwrap().unwrap();
    assert_eq!((block[0], block[8]), (9, 3));
    assert!(region.map(2, block).is_err());
    drop(region);
    assert_eq!((pool.stats().taken, pool.stats().committed), (0, 0));
}

#[test]
fn a_vector_grows_and_shrinks() {
    let pool = pool(4);
    let mut texts = RewiredVec::in_pool(&pool).unwrap();
    let many = BLOCK / size_of::<String>() + 10;
    texts.extend((0..many).map(|n| n.to_string()));
    assert_eq!((texts.len(), pool.stats().taken), (many, 2));
    let tail = texts[many - 10..].to_vec();
    texts.extend_from_slice(&tail);
    assert_eq!(texts.remove(1), "1");
    texts.insert(1, "one".into());
    assert_eq!(texts.swap_remove(0), "0");
    texts.truncate(100);
    texts.shrink_to_fit();
    assert_eq!((texts[1].as_str(), pool.stats().taken), ("one", 1));
    let mut left = texts.into_iter();
    assert_eq!((left.next().as_deref(), left.next_back().as_deref()), (Some(&*(many - 1).to_string()), Some("99")));
    drop(left);
    assert_eq!((pool.stats().taken, pool.stats().committed), (0, 0));
}

/// Padding is nobody's bytes: a block goes from a vector of such elements to an owner who may read all of it.
#[test]
fn a_block_with_padding_is_zeroed_for_the_next() {
    let pool = pool(1);
    let mut padded = RewiredVec::with_limit(&pool, 100).unwrap();
    padded.resize(100, (1u8, 2u64));
    drop(padded);
    let block = pool.take().unwrap();
    assert!(block.iter().all(|&byte| byte == 0));
}

#[test]
fn elements_without_a_size_and_with_a_large_one() {
    let pool = pool(2);
    let mut units = RewiredVec::in_pool(&pool).unwrap();
    units.extend([(); 5]);
    assert_eq!((units.pop(), units.len()), (Some(()), 4));
    let mut wide = RewiredVec::in_pool(&pool).unwrap();
    wide.push([7u64; 9000]);
    assert_eq!(wide.try_push([8; 9000]).unwrap_err().value[0], 8);
    assert_eq!(pool.stats().taken, 2);
    assert!(wide.iter().flatten().all(|&word| word == 7));
}

/// The length is behind while an appender lives; whoever drops it, or does not.
#[test]
fn an_appender_comes_and_goes() {
    let pool = pool(3);
    let mut texts: RewiredVec<String> = RewiredVec::in_pool(&pool).unwrap();
    let many = BLOCK / size_of::<String>() + 10;
    let mut end = texts.appender();
    (0..many).for_each(|n| end.push(n.to_string()));
    drop(end);
    texts.push("pushed".to_owned());
    assert_eq!((texts.len(), pool.stats().taken), (many + 1, 2));
    let mut end = texts.appender();
    end.try_push("once more".to_owned()).unwrap();
    drop(end);
    assert_eq!(texts[many..], ["pushed", "once more"]);
    assert!(texts[..many].iter().enumerate().all(|(n, text)| *text == n.to_string()));
}

/// A vector comes apart and is put together again where it was; what does not go there is the pool's.
#[test]
fn a_vector_comes_apart_and_together() {
    let pool = pool(4);
    let count = 2 * BLOCK / 8 + 10;
    let mut numbers: RewiredVec<u64> = RewiredVec::with_limit(&pool, count).unwrap();
    numbers.extend(0..count as u64);
    let start = numbers.as_ptr();
    let blocks = numbers.take_blocks().unwrap();
    assert_eq!((numbers.len(), numbers.capacity(), blocks.len()), (0, 0, 3));
    // SAFETY: all elements are in them, in order.
    unsafe { numbers.put_blocks(blocks, count).unwrap() };
    assert!(numbers.as_ptr() == start && numbers.iter().copied().eq(0..count as u64));
    let mut blocks = numbers.take_blocks().unwrap();
    blocks.push(pool.take_raw().unwrap());
    // SAFETY: as above.
    let full = unsafe { numbers.put_blocks(blocks, count) }.unwrap_err();
    assert_eq!((full.kind(), pool.stats().taken), (RewireErrorKind::Full, 3));
    let mut small: RewiredVec<u64> = RewiredVec::with_limit(&pool, 1).unwrap();
    // SAFETY: as above.
    let full = unsafe { small.put_blocks(numbers.take_blocks().unwrap(), count) }.unwrap_err();
    assert_eq!(full.kind(), RewireErrorKind::Full);
    assert!(small.iter().copied().eq(0..(BLOCK / 8) as u64));
    drop(small);
    assert_eq!((pool.stats().taken, pool.stats().committed), (0, 0));
}
