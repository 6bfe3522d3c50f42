//! What snapshots take, and give back.

use crate::common::child::Case;
use crate::common::process::taken;
use crate::common::*;
use crate::{BLOCKS, array, succeeds, words};
use eagre_mem::{Mappings, SnapshotOptions};

pub(crate) const CASES: &[Case] =
    &[("flat", |_| flat()), ("reserved", |_| reserved()), ("no_names", |_| no_names()), ("gone", |_| gone())];

/// Blocks are counted exactly, whoever shares them, and in whatever order snapshots go.
#[test]
fn copies_are_shared_and_given_back() {
    let _dog = Watchdog::new("copies_are_shared_and_given_back");
    for block in BLOCKS {
        let mut array = array(6 << 20, block);
        let store = |array: &mut eagre_mem::SnapshotArray<u64>, group: usize| {
            array.as_mut_slice().unwrap()[group * words(2 << 20)] += 1;
        };
        let copied = |array: &eagre_mem::SnapshotArray<u64>| array.stats().copied / block as u64;
        store(&mut array, 0);
        assert_eq!(copied(&array), 0);
        let first = array.snapshot().unwrap();
        store(&mut array, 0);
        store(&mut array, 0);
        assert_eq!(copied(&array), 1);
        let second = array.snapshot().unwrap();
        let third = array.snapshot().unwrap();
        // The first has a copy of its own; the other two share one.
        store(&mut array, 0);
        assert_eq!(copied(&array), 2);
        // All three share this.
        store(&mut array, 1);
        assert_eq!(copied(&array), 3);
        drop(second);
        assert_eq!(copied(&array), 3);
        assert_eq!((first[0], third[0], array[0]), (1, 3, 4));
        drop(third);
        // Group 1 is kept for the first still.
        assert_eq!(copied(&array), 2);
        // Nobody shares what was opened for those that have gone.
        store(&mut array, 0);
        store(&mut array, 1);
        assert_eq!(copied(&array), 2);
        store(&mut array, 2);
        assert_eq!(copied(&array), 3);
        assert_eq!((first[0], first[words(2 << 20)], first[words(4 << 20)]), (1, 0, 0));
        drop(first);
        assert_eq!((copied(&array), array.stats().snapshots), (0, 0));
    }
}

#[test]
fn a_long_loop_takes_no_more_memory() {
    succeeds("flat");
}

fn flat() {
    let mut rng = Rng::new(1);
    for block in BLOCKS {
        let used = Mappings::now().used;
        let mut array = array(4 << 20, block);
        array.as_mut_slice().unwrap().fill(1);
        let before = taken();
        assert_eq!(before, (4 << 20, 1), "{block}");
        let mut held = std::collections::VecDeque::new();
        for round in 0..if block == 2 << 20 { 60 } else { 400 } {
            held.push_back(array.snapshot().unwrap());
            for _ in 0..5 {
                let at = rng.below(array.len() as u64) as usize;
                array.as_mut_slice().unwrap()[at] += 1;
            }
            assert!(held.len() < 3 || held[0].iter().sum::<u64>() > 0);
            if held.len() > 3 {
                // The oldest, or the newest.
                if round % 2 == 0 {
                    held.pop_front()
                } else {
                    held.pop_back()
                };
            }
            let (memory, _) = taken();
            assert_eq!(memory, before.0 + array.stats().copied, "{block}, {round}");
        }
        drop(held);
        assert_eq!(taken(), before, "{block}");
        drop(array);
        assert_eq!((taken(), Mappings::now().used), ((0, 0), used), "{block}");
    }
}

#[test]
fn reserved_memory_stays() {
    succeeds("reserved");
}

fn reserved() {
    let mut array = SnapshotOptions::new().block(4096).reserve(2).array::<u64>(words(2 << 20)).unwrap();
    let (reserved, _) = taken();
    assert_eq!(reserved, 6 << 20);
    for _ in 0..10 {
        let first = array.snapshot().unwrap();
        array.as_mut_slice().unwrap().fill(1);
        let second = array.snapshot().unwrap();
        array.as_mut_slice().unwrap().fill(2);
        assert_eq!((taken().0, array.stats().copied), (reserved, 4 << 20));
        assert!(second.iter().all(|&word| word == 1));
        drop(first);
        assert_eq!((taken().0, array.stats().copied), (reserved, 2 << 20));
    }
}

/// Nothing has a name that could be left behind, whatever ends the process.
#[test]
fn memory_has_no_name() {
    succeeds("no_names");
}

fn no_names() {
    let mut array = array(2 << 20, 64 << 10);
    let snapshot = array.snapshot().unwrap();
    array.as_mut_slice().unwrap()[0] = 1;
    assert_eq!(snapshot[0], 0);
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let address = |start: *const u64| format!("{:x}-", start as usize);
    for start in [array.as_ptr(), snapshot.as_ptr()] {
        let line = maps.lines().find(|line| line.starts_with(&address(start))).unwrap();
        assert!(line.ends_with("/memfd:eagre (deleted)"), "{line}");
    }
}

#[test]
fn the_array_goes_before_its_snapshots() {
    succeeds("gone");
}

fn gone() {
    let mut array = array(2 << 20, 64 << 10);
    array.as_mut_slice().unwrap().fill(1);
    let snapshots: Vec<_> = (0..3)
        .map(|round| {
            let snapshot = array.snapshot().unwrap();
            array.as_mut_slice().unwrap()[round] = 2;
            snapshot
        })
        .collect();
    drop(array);
    assert_eq!(
        snapshots.iter().map(|snapshot| snapshot[..3].to_vec()).collect::<Vec<_>>(),
        [[1, 1, 1], [2, 1, 1], [2, 2, 1]]
    );
    drop(snapshots);
    assert_eq!(taken(), (0, 0));
}
