//! The rewired vector, against `Vec`.

use crate::common::*;
use crate::region::pool;
use eagre_mem::probe::Pair;
use eagre_mem::{BlockSize, RewireErrorKind, RewiredVec};
use std::fmt::Debug;
use std::io::Write;

/// Random calls on both, in the same order; then they must be equal. `make` makes the n-th element.
fn like_vec<T: Clone + PartialEq + Debug>(pair: Pair, steps: u64, most: usize, make: impl Fn(u64) -> T) {
    let pool = pool(pair, BlockSize::MIN, 64);
    let mut ours: RewiredVec<T> = RewiredVec::in_pool(&pool).unwrap();
    let mut theirs: Vec<T> = Vec::new();
    let start = ours.as_ptr();
    let (mut rng, mut number) = (Rng::new(11), 0);
    for step in 0..steps {
        number += 1;
        let many: Vec<T> = (0..rng.length(most) as u64).map(|n| make(number + n)).collect();
        let room = theirs.len() + many.len() < 3 * most;
        match rng.below(13) {
            0 | 1 if room => many.iter().for_each(|value| {
                ours.push(value.clone());
                theirs.push(value.clone());
            }),
            2 if room => {
                ours.extend_from_slice(&many);
                theirs.extend_from_slice(&many);
            }
            3 if room => {
                ours.extend(many.iter().cloned());
                theirs.extend(many);
            }
            4 => assert_eq!(ours.pop(), theirs.pop()),
            5 | 6 => {
                let len = rng.below(theirs.len() as u64 + 3) as usize;
                ours.truncate(len);
                theirs.truncate(len);
            }
            7 => {
                let len = rng.below(most as u64) as usize;
                ours.resize(len, make(number));
                theirs.resize(len, make(number));
            }
            8 => {
                ours.shrink_to_fit();
                let bytes = ours.len() * size_of::<T>();
                assert_eq!(pool.stats().taken as usize, bytes.div_ceil(SMALL));
            }
            9 => {
                let least = rng.below(2 * most as u64) as usize;
                let before = ours.capacity();
                ours.shrink_to(least);
                assert!(ours.capacity() <= before && ours.capacity() >= ours.len().max(least.min(before)));
            }
            10 if room => {
                let at = rng.below(theirs.len() as u64 + 1) as usize;
                ours.insert(at, make(number));
                theirs.insert(at, make(number));
            }
            11 if !theirs.is_empty() => {
                let at = rng.below(theirs.len() as u64) as usize;
                assert_eq!(ours.remove(at), theirs.remove(at));
            }
            12 if !theirs.is_empty() => {
                let at = rng.below(theirs.len() as u64) as usize;
                assert_eq!(ours.swap_remove(at), theirs.swap_remove(at));
            }
            _ => {}
        }
        assert!(ours == *theirs, "step {step}");
        assert_eq!(ours.as_ptr(), start);
        assert!(ours.capacity() >= ours.len() && ours.limit() >= ours.capacity());
    }
    let middle = theirs.len() / 3;
    let mut left = ours.into_iter();
    assert!(left.by_ref().take(middle).eq(theirs.drain(..middle)));
    assert_eq!(left.next_back(), theirs.pop());
    assert_eq!(left.len(), theirs.len());
    assert!(left.as_slice() == theirs);
    drop(left);
    assert_eq!((pool.stats().taken, pool.stats().committed), (0, 0));
}

/// Its size divides no block.
#[derive(Clone, PartialEq, Debug)]
#[repr(C, packed)]
struct Odd(u64, [u8; 5]);

/// Larger than a block of 64 KiB, and of no round size.
#[derive(Clone, PartialEq, Debug)]
struct Wide([u64; 10_001]);

/// Aligned more strictly than a block of 64 KiB.
#[derive(Clone, PartialEq, Debug)]
#[repr(align(131072))]
struct Aligned(u64);

each_pool_pair! {
    fn bytes(pair) {
        like_vec(pair, 400, 500_000, byte);
    }
    fn words(pair) {
        like_vec(pair, 400, 60_000, |n| n);
    }
    fn strings(pair) {
        like_vec(pair, 200, 9_000, |n| format!("number {n}"));
    }
    fn elements_across_borders(pair) {
        like_vec(pair, 300, 40_000, |n| Odd(n, [n as u8; 5]));
    }
    fn elements_larger_than_a_block(pair) {
        like_vec(pair, 150, 8, |n| Wide([n; 10_001]));
    }
    fn elements_aligned_more_than_a_block(pair) {
        let pool = pool(pair, BlockSize::MIN, 8);
        let aligned = RewiredVec::<Aligned>::in_pool(&pool).unwrap();
        assert_eq!(aligned.as_ptr() as usize % align_of::<Aligned>(), 0);
        drop(aligned);
        // Each of them on the stack takes a quarter of a MiB.
        let roomy = std::thread::Builder::new().stack_size(64 << 20);
        roomy.spawn(move || like_vec(pair, 100, 6, Aligned)).unwrap().join().unwrap();
    }
    fn elements_without_a_size(pair) {
        like_vec(pair, 300, 1000, |_| ());
        let mut units = RewiredVec::in_pool(&pool(pair, BlockSize::MIN, 1)).unwrap();
        // SAFETY: nothing to initialise.
        unsafe { units.set_len(usize::MAX - 1) };
        units.push(());
        assert_eq!(units.try_push(()).unwrap_err().error.kind(), RewireErrorKind::Full);
        assert_eq!((units.len(), units.limit()), (usize::MAX, usize::MAX));
    }

    fn the_limit_hands_the_element_back(pair) {
        let pool = pool(pair, BlockSize::MIN, 9);
        let mut texts = RewiredVec::with_limit(&pool, 10).unwrap();
        let limit = texts.limit();
        assert_eq!(limit, SMALL / size_of::<String>());
        (0..limit).for_each(|n| texts.push(n.to_string()));
        let back = texts.try_push("one more".to_owned()).unwrap_err();
        assert_eq!((back.value.as_str(), back.error.kind()), ("one more", RewireErrorKind::Full));
        assert!(back.to_string().contains("1 blocks of 64 KiB"), "{back}");
        let none = texts.try_extend_from_slice(&["a".to_owned()]).unwrap_err();
        assert_eq!((none.kind(), texts.len()), (RewireErrorKind::Full, limit));
        assert_eq!(texts.try_reserve(usize::MAX).unwrap_err().kind(), RewireErrorKind::Full);
        assert!(texts.iter().enumerate().all(|(n, text)| *text == n.to_string()));
    }

    fn one_pool_for_many(pair) {
        let pool = pool(pair, BlockSize::MIN, 3);
        let (mut one, mut two) = (RewiredVec::in_pool(&pool).unwrap(), RewiredVec::in_pool(&pool).unwrap());
        one.resize(2 * SMALL + 1, 1u8);
        let error = two.try_push(2u8).unwrap_err().error;
        assert_eq!(error.kind(), RewireErrorKind::OutOfBlocks);
        assert!(error.to_string().contains("3 of 3 blocks of 64 KiB"), "{error}");
        one.truncate(2 * SMALL);
        assert!(two.try_push(2).is_err(), "memory is kept until it is given back");
        one.shrink_to_fit();
        two.resize(SMALL, 2);
        assert!(two.try_push(2).is_err());
        assert!(one.iter().all(|&byte| byte == 1) && two.iter().all(|&byte| byte == 2));
        drop(one);
        two.resize(3 * SMALL, 3);
        assert_eq!(pool.stats().taken, 3);
    }

    /// A stream and a vector may share a pool; what the vector leaves behind, the stream's reader never sees.
    fn a_pool_shared_with_streams(pair) {
        let pool = pool(pair, BlockSize::MIN, 8);
        let mut secret = RewiredVec::in_pool(&pool).unwrap();
        secret.resize(5 * SMALL, 0x5e_u8);
        drop(secret);
        let mut pipe = small(pair).pool(&pool).sparse(true).open().unwrap();
        pipe.writer().copy_in(&[1]).unwrap();
        let mut room = vec![9; SMALL];
        let length = pipe.writer().reserve(SMALL - 1).map(|rest| rest[..SMALL - 1].to_vec()).unwrap();
        assert!(length.iter().all(|&byte| byte == 0));
        pipe.writer().finish().unwrap();
        assert_eq!(pipe.reader().copy_out(&mut room).unwrap(), 1);
        assert!(pool.take().unwrap().iter().all(|&byte| byte == 0));
    }

    /// A vector that is consumed gives its blocks to the two that are filled from it: three blocks more are enough.
    fn vanishing_while_others_grow(pair) {
        let pool = pool(pair, BlockSize::MIN, 10 + 3);
        let count = 10 * SMALL / size_of::<Odd>();
        let mut from = RewiredVec::in_pool(&pool).unwrap();
        from.extend((0..count as u64).map(|n| Odd(n, [1; 5])));
        assert_eq!(pool.stats().taken, 10);
        let (mut even, mut odd) = (RewiredVec::in_pool(&pool).unwrap(), RewiredVec::in_pool(&pool).unwrap());
        for (n, value) in from.into_iter().enumerate() {
            if n % 2 == 0 { even.push(value) } else { odd.push(value) }
        }
        assert!(even.iter().map(|value| value.0).eq((0..count as u64).step_by(2)));
        assert!(odd.iter().map(|value| value.0).eq((1..count as u64).step_by(2)));
        assert_eq!(pool.stats().taken, 10);
    }

    fn vanishing_block_by_block(pair) {
        let pool = pool(pair, BlockSize::MIN, 5);
        let mut words = RewiredVec::in_pool(&pool).unwrap();
        let per_block = SMALL / 8;
        words.extend(0..5 * per_block as u64);
        let mut left = words.into_iter();
        for block in 0..5 {
            assert!(left.by_ref().take(per_block).eq((block * per_block) as u64..((block + 1) * per_block) as u64));
            assert_eq!(pool.stats().taken, 5 - block as u32);
            assert!(left.as_slice().first().is_none_or(|&word| word == ((block + 1) * per_block) as u64));
        }
        assert_eq!(left.next(), None);
        drop(left);
        assert_eq!((pool.stats().taken, pool.stats().committed), (0, 0));
    }

    /// In turn with the vector's own calls, and with an appender that is never dropped: that one's elements are lost.
    fn through_appenders(pair) {
        let pool = pool(pair, BlockSize::MIN, 6);
        let mut texts: RewiredVec<String> = RewiredVec::with_limit(&pool, 6 * SMALL / size_of::<String>()).unwrap();
        let mut expected: Vec<String> = Vec::new();
        for round in 0..40 {
            let mut end = texts.appender();
            for n in 0..round * 7 {
                end.push(format!("{round}, {n}"));
                expected.push(format!("{round}, {n}"));
            }
            drop(end);
            texts.push("between".to_owned());
            expected.push("between".to_owned());
            assert_eq!(texts.pop(), expected.pop());
            assert!(texts == *expected, "round {round}");
        }
        std::mem::forget({
            let mut lost = texts.appender();
            (0..2 * SMALL / size_of::<String>()).for_each(|n| lost.push(n.to_string()));
            lost
        });
        assert!(texts == *expected);
        let mut end = texts.appender();
        let back = loop {
            match end.try_push("one more".to_owned()) {
                Ok(()) => expected.push("one more".to_owned()),
                Err(back) => break back,
            }
        };
        assert_eq!((back.value.as_str(), back.error.kind()), ("one more", RewireErrorKind::Full));
        drop(end);
        assert_eq!((texts.len(), texts.capacity()), (texts.limit(), texts.limit()));
        assert!(texts == *expected);
        texts.clear();
        texts.shrink_to_fit();
        assert_eq!(pool.stats().taken, 0);
    }

    fn as_a_writer(pair) {
        let mut text = RewiredVec::with_limit(&pool(pair, BlockSize::MIN, 2), 2 * SMALL).unwrap();
        let mut expected = String::new();
        for line in 0..9000 {
            writeln!(text, "{line}").unwrap();
            expected.push_str(&format!("{line}\n"));
        }
        assert_eq!(text, *expected.as_bytes());
        let error = std::io::copy(&mut &vec![1; 2 * SMALL][..], &mut text).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::FileTooLarge);
    }

    fn huge_blocks(pair) {
        let pool = pool(pair, BlockSize::DEFAULT, 8);
        let mut words = RewiredVec::in_pool(&pool).unwrap();
        words.extend(0..1_500_000u64);
        words.truncate(400_000);
        words.shrink_to_fit();
        assert_eq!(pool.stats().taken, 2);
        words.extend(400_000..1_500_000u64);
        assert!(words.iter().copied().eq(0..1_500_000));
    }
}

#[test]
fn on_the_shared_pool() {
    let mut ours = RewiredVec::new().unwrap();
    ours.extend([3u8, 1, 2]);
    ours.sort_unstable();
    assert_eq!(format!("{ours:?}"), "[1, 2, 3]");
    ours.spare_capacity_mut()[0].write(4);
    // SAFETY: written above.
    unsafe { ours.set_len(4) };
    assert_eq!(ours, *[1, 2, 3, 4].as_slice());
    ours.clear();
    assert!(ours.is_empty() && ours.capacity() == 2 << 20);
}

#[test]
fn threads_may_have_it() {
    fn travels<T: Send + Sync>(_: &T) {}
    let ours = RewiredVec::<String>::new().unwrap();
    travels(&ours);
}

#[test]
#[should_panic(expected = "the reservation is full")]
fn push_beyond_the_limit_panics() {
    let pool = eagre_mem::Pool::new(BlockSize::MIN, 2, None, None).unwrap();
    RewiredVec::with_limit(&pool, 1).unwrap().extend(0..10_000u64);
}
