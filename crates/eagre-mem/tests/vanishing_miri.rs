//! Vanishing arrays without faults and without moves, small enough for Miri (see `explicit_miri.rs` for the command).

use eagre_mem::{BlockSize, Mover, Pool, RewireErrorKind, StreamPool, Trap};

const BLOCK: usize = BlockSize::MIN.bytes();

fn pool(budget: u32) -> StreamPool {
    StreamPool::on(&Pool::new(BlockSize::MIN, budget, Some(Trap::Off), Some(Mover::Copy)).unwrap())
}

#[test]
fn one_shrinks_while_two_grow() {
    let pool = pool(5);
    // Five blocks in three: the third is the pool's last, so nothing may be held longer than it is needed.
    let mut input = pool.array::<[u8; 1024]>(3 * BLOCK / 1024).unwrap();
    let mut next = 0;
    while input.len() < input.limit() {
        let room = input.reserve().unwrap();
        let some = room.len().div_ceil(3);
        for value in &mut room[..some] {
            value.fill(0);
            value[..2].copy_from_slice(&u16::to_le_bytes(next));
            next += 1;
        }
        input.commit(some);
    }
    let mut buckets = pool.buckets::<u16>(2, 1000).unwrap();
    while let values @ [first, ..] = input.fill().unwrap() {
        let number = u16::from_le_bytes([first[0], first[1]]);
        let count = values.len().min(7);
        for at in 0..count as u16 {
            let bucket = &mut buckets[usize::from((number + at) % 2)];
            bucket.reserve().unwrap()[0] = number + at;
            bucket.commit(1);
        }
        input.consume(count);
    }
    for (parity, bucket) in buckets.iter_mut().enumerate() {
        let mut expected = (parity as u16..next).step_by(2);
        while let values @ [_, ..] = bucket.fill().unwrap() {
            assert!(values.iter().copied().eq(expected.by_ref().take(values.len())));
            let count = values.len();
            bucket.consume(count);
        }
        assert_eq!(expected.next(), None);
    }
    drop((input, buckets));
    assert_eq!((pool.stats().taken, pool.stats().committed), (0, 0));
}

#[test]
fn rounds_and_errors() {
    let pool = pool(2);
    let mut array = pool.array::<u64>(3 * BLOCK / 8).unwrap();
    for round in 0..3 {
        for _ in 0..2 {
            let room = array.reserve().unwrap();
            let len = room.len();
            room[0] = round;
            array.commit(len);
        }
        assert_eq!(array.reserve().unwrap_err().kind(), RewireErrorKind::OutOfBlocks);
        assert_eq!(array.fill().unwrap()[0], round);
        array.reset();
        assert_eq!(array.held(), BLOCK as u64);
        assert_eq!(array.fill().unwrap(), []);
    }
    array.clear();
    assert_eq!(pool.stats().taken, 0);
    assert_eq!(array.writer().unwrap_err().kind(), RewireErrorKind::NoTrap);
}
