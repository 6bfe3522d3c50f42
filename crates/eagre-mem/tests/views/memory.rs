//! What arrays and views take, and give back.

use crate::common::child::Case;
use crate::common::process::{Footprint, taken};
use crate::common::*;
use crate::{BLOCKS, numbered, numbers, succeeds};
use eagre_mem::{Mappings, ViewOptions};

pub(crate) const CASES: &[Case] = &[
    ("flat", |_| flat()),
    ("mapped", |_| mapped()),
    ("equal", |_| equal()),
    ("doubled", |_| doubled()),
    ("no_names", |_| no_names()),
];

/// Memory is what blocks take, each counted once, and all of it comes back.
#[test]
fn a_long_loop_takes_no_more_memory() {
    succeeds("flat");
}

fn flat() {
    let mut rng = Rng::new(1);
    for (block, blocks) in [(BLOCKS[0], 100), (BLOCKS[1], 20), (BLOCKS[2], 3)] {
        let mut array = numbered(block, blocks, blocks);
        let before = (taken(), Mappings::now().used);
        let footprint = Footprint::now();
        let mut views = std::collections::VecDeque::new();
        for round in 0..if block == 2 << 20 { 60 } else { 600 } {
            let shown: Vec<usize> = (0..blocks).map(|_| rng.below(blocks as u64) as usize).collect();
            views.push_back(array.view(&shown).unwrap());
            let written = rng.below(blocks as u64) as usize;
            array.write(written..=written).unwrap().fill(round);
            if views.len() > 3 {
                views.pop_front();
            }
            assert_eq!(taken().0, array.stats().bytes, "{block}, {round}");
        }
        views.clear();
        assert_eq!((taken().0, array.stats().bytes), (before.0.0, (block * blocks) as u64));
        let after = Footprint::now();
        assert_eq!(after.descriptors, footprint.descriptors);
        drop(array);
        assert_eq!((taken(), Mappings::now().used), ((0, 0), 0), "{block}");
    }
}

/// Neighbours are one mapping; written anew, in whatever order, they are again.
#[test]
fn neighbours_are_one_mapping() {
    succeeds("mapped");
}

fn mapped() {
    let (block, blocks) = (4096, 64);
    let mut array = numbered(block, blocks, blocks);
    let mappings = || taken().1;
    assert_eq!(mappings(), 1);
    let all: Vec<usize> = (0..blocks).collect();
    let view = array.view(&all).unwrap();
    let twice = array.view(&[&all[..], &all[..]].concat()).unwrap();
    assert_eq!(mappings(), 1 + 1 + 2);
    drop(twice);
    // Every other block lies elsewhere.
    (0..blocks).step_by(2).for_each(|number| array.write(number..=number).unwrap().fill(7));
    assert_eq!(mappings(), blocks + 1);
    let mut order: Vec<usize> = (1..blocks).step_by(2).collect();
    order.reverse();
    order.into_iter().for_each(|number| array.write(number..=number).unwrap().fill(7));
    assert_eq!(mappings(), 1 + 1);
    assert_eq!(Mappings::now().used, 1 + 1 + 2, "with one for the addresses of each");
    assert!(numbers(&view, block).into_iter().eq(0..blocks as u64));
    assert!(array.iter().all(|&word| word == 7));
}

/// Equal blocks are one, until one of them is written.
#[test]
fn equal_blocks_are_shared() {
    succeeds("equal");
}

fn equal() {
    for block in BLOCKS {
        let blocks = if block == 2 << 20 { 6 } else { 30 };
        let mut array = ViewOptions::new().block(block).array::<u64>(blocks).unwrap();
        let bytes = |different: usize| (different * block) as u64;
        for number in 0..blocks {
            array.write(number..=number).unwrap().fill(number as u64 / 2 % 3);
        }
        // All but the last word is the same.
        *array.write(1..2).unwrap().last_mut().unwrap() = 9;
        let expected = array.to_vec();
        let view = array.view(&[0, 5]).unwrap();
        // Four are different; blocks 0 and 5 are the view's as well, and block 4 is kept for 5.
        assert_eq!(array.deduplicate().unwrap(), bytes(blocks - 4 - 1), "{block}");
        assert_eq!((taken().0, array.stats().bytes), (bytes(5), bytes(5)));
        assert!(*array == *expected);
        drop(view);
        assert_eq!((taken().0, array.stats().bytes), (bytes(4), bytes(4)));
        assert_eq!(array.deduplicate().unwrap(), 0);
        let shared = array.view(&[2, 3]).unwrap();
        array.write(3..4).unwrap()[0] = 5;
        assert_eq!((taken().0, array.stats().bytes), (bytes(5), bytes(5)));
        assert_eq!((array[2 * block / 8], array[3 * block / 8], shared[0], shared[block / 8]), (1, 5, 1, 1));
        array.write(..).unwrap().fill(0);
        drop(shared);
        assert_eq!((taken().0, array.stats().bytes), (bytes(blocks), bytes(blocks)));
    }
}

/// An array that is twice as long takes no more memory until it is written, and then a block at a time.
#[test]
fn a_doubled_array_is_shared() {
    succeeds("doubled");
}

fn doubled() {
    let block = 4096;
    let mut array = numbered(block, 32, 256);
    let start = array.as_ptr();
    for mappings in [2, 4, 8] {
        let before = array.blocks();
        array.extend_from_within(..).unwrap();
        assert_eq!((array.blocks(), array.as_ptr(), taken()), (2 * before, start, (32 * block as u64, mappings)));
    }
    let mut rng = Rng::new(3);
    let mut order: Vec<usize> = (0..256).collect();
    (1..256).rev().for_each(|at| order.swap(at, rng.below(at as u64 + 1) as usize));
    for (written, &number) in order.iter().enumerate() {
        array.write(number..=number).unwrap().fill(number as u64);
        let memory = taken().0;
        assert!((32 * block as u64..=(32 + written as u64 + 1) * block as u64).contains(&memory));
    }
    assert_eq!(taken().0, 256 * block as u64);
    assert!(numbers(&array, block).into_iter().eq(0..256));
}

/// Nothing has a name that could be left behind, whatever ends the process.
#[test]
fn memory_has_no_name() {
    succeeds("no_names");
}

fn no_names() {
    let array = numbered(4096, 4, 4);
    let view = array.view(&[1]).unwrap();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let address = |start: *const u64| format!("{:x}-", start as usize);
    for start in [array.as_ptr(), view.as_ptr()] {
        let line = maps.lines().find(|line| line.starts_with(&address(start))).unwrap();
        assert!(line.ends_with("/memfd:eagre (deleted)"), "{line}");
    }
}
