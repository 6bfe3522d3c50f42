//! Random programs of stores, snapshots and drops.

use crate::common::*;
use crate::{BLOCKS, words};
use eagre_mem::{Snapshot, SnapshotArray, SnapshotOptions};

/// How stores are made.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stores {
    Pointer,
    Explicit,
    Both,
}

struct Program {
    rng: Rng,
    array: SnapshotArray<u64>,
    model: Vec<u64>,
    /// Each with what it must show.
    snapshots: Vec<(Snapshot<u64>, Vec<u64>)>,
    stores: Stores,
    most: usize,
}

impl Program {
    fn new(seed: u64, bytes: usize, options: SnapshotOptions, stores: Stores) -> Program {
        let options = if stores == Stores::Explicit { options.explicit() } else { options };
        let array = options.array(bytes / 8).unwrap();
        let model = vec![0; bytes / 8];
        Program { rng: Rng::new(seed), array, model, snapshots: Vec::new(), stores, most: 4 }
    }

    fn store(&mut self, from: usize, len: usize) {
        let value = self.rng.next();
        let to = from..(from + len).min(self.model.len());
        let explicit = match self.stores {
            Stores::Pointer => false,
            Stores::Explicit => true,
            Stores::Both => self.rng.one_in(2),
        };
        let words = match explicit {
            true => self.array.write(to.clone()).unwrap(),
            false => &mut self.array.as_mut_slice().unwrap()[to.clone()],
        };
        words.iter_mut().enumerate().for_each(|(at, word)| *word = value.wrapping_add(at as u64));
        self.model[to].iter_mut().enumerate().for_each(|(at, word)| *word = value.wrapping_add(at as u64));
    }

    fn step(&mut self) {
        let len = self.model.len() as u64;
        match self.rng.below(100) {
            0..70 => {
                let at = self.rng.below(len) as usize;
                self.store(at, 1);
            }
            70..80 => {
                let (at, most) = (self.rng.below(len) as usize, self.model.len() / 4);
                let length = self.rng.length(most);
                self.store(at, length);
            }
            80..88 if self.snapshots.len() < self.most => {
                self.snapshots.push((self.array.snapshot().unwrap(), self.model.clone()));
            }
            88..94 if !self.snapshots.is_empty() => {
                let which = self.rng.below(self.snapshots.len() as u64) as usize;
                let (snapshot, model) = self.snapshots.swap_remove(which);
                // Some are dropped without ever being read.
                assert!(self.rng.one_in(2) || *snapshot == *model);
            }
            94..98 if !self.snapshots.is_empty() => {
                let which = self.rng.below(self.snapshots.len() as u64) as usize;
                let (snapshot, model) = &self.snapshots[which];
                assert!(**snapshot == **model);
            }
            98 => assert!(*self.array == *self.model),
            _ => {}
        }
    }

    fn end(mut self) {
        assert!(*self.array == *self.model);
        assert!(self.snapshots.iter().all(|(snapshot, model)| **snapshot == **model));
        // What snapshots show stays when the array has gone.
        if self.rng.one_in(2) {
            drop(self.array);
            assert!(self.snapshots.iter().all(|(snapshot, model)| **snapshot == **model));
        } else {
            self.snapshots.clear();
            assert_eq!(self.array.stats().copied, 0);
            assert!(*self.array == *self.model);
        }
    }
}

fn run(name: &str, bytes: usize, reserve: usize) {
    let _dog = Watchdog::new(name);
    for (number, block) in BLOCKS.into_iter().enumerate() {
        for stores in [Stores::Pointer, Stores::Explicit, Stores::Both] {
            for seed in 0..2 {
                let options = SnapshotOptions::new().block(block).reserve(reserve);
                let mut program = Program::new(100 * number as u64 + seed, bytes, options, stores);
                (0..250).for_each(|_| program.step());
                program.end();
            }
        }
    }
}

#[test]
fn of_a_small_array() {
    run("of_a_small_array", 192 << 10, 0);
}

#[test]
fn of_several_groups() {
    run("of_several_groups", 4 << 20, 0);
}

#[test]
fn with_room_for_one_snapshot() {
    run("with_room_for_one_snapshot", 2 << 20, 1);
}

#[test]
fn with_room_for_several() {
    run("with_room_for_several", (2 << 20) + 8, 3);
}

/// Everything that is written once and read once.
#[test]
fn every_word_is_kept() {
    let _dog = Watchdog::new("every_word_is_kept");
    for block in BLOCKS {
        let mut array = crate::array(4 << 20, block);
        let len = array.len();
        array.as_mut_slice().unwrap().iter_mut().enumerate().for_each(|(at, word)| *word = at as u64);
        let before = array.snapshot().unwrap();
        array.as_mut_slice().unwrap().iter_mut().for_each(|word| *word = !*word);
        let between = array.snapshot().unwrap();
        array.write(..).unwrap().fill(7);
        assert!((0..len).all(|at| before[at] == at as u64 && between[at] == !(at as u64)), "{block}");
        assert!(array.iter().all(|&word| word == 7));
    }
}

/// A reader who is there before the stores sees them no more than one who comes later.
#[test]
fn a_snapshot_that_was_read_stays() {
    let _dog = Watchdog::new("a_snapshot_that_was_read_stays");
    for block in BLOCKS {
        let mut array = crate::array(4 << 20, block);
        array.as_mut_slice().unwrap().fill(1);
        let (early, late) = (array.snapshot().unwrap(), array.snapshot().unwrap());
        let seen = early.as_slice().unwrap();
        let mut at = 0;
        while at < array.len() {
            array.as_mut_slice().unwrap()[at] = 2;
            assert_eq!(seen[at], 1);
            at += words(4096) * 3;
        }
        assert!(seen.iter().chain(late.iter()).all(|&word| word == 1), "{block}");
    }
}

/// Groups that are stored to all over, then hardly, then all over.
#[test]
fn stores_change_their_kind() {
    let _dog = Watchdog::new("stores_change_their_kind");
    let mut rng = Rng::new(5);
    let mut array = crate::array(4 << 20, 4 << 10);
    let mut model = vec![0; array.len()];
    for round in 0..60 {
        let snapshot = array.snapshot().unwrap();
        let then = model.clone();
        for _ in 0..if round / 6 % 2 == 0 { 60 } else { 3 } {
            let at = rng.below(model.len() as u64) as usize;
            model[at] = rng.next();
            array.as_mut_slice().unwrap()[at] = model[at];
        }
        assert!(*snapshot == *then && *array == *model, "{round}");
    }
}
