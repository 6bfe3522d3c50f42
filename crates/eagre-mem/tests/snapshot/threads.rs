//! Threads that store while snapshots are taken.

use crate::common::*;
use crate::{BLOCKS, words};
use eagre_mem::SnapshotArray;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};

/// A word of the array as threads share it.
fn word(array: &SnapshotArray<u64>, at: usize) -> &AtomicU64 {
    assert!(at < array.len());
    // SAFETY: inside the array, aligned, and every thread of the test uses it as an atomic.
    unsafe { AtomicU64::from_ptr(array.as_mut_ptr().unwrap().add(at)) }
}

/// Each thread counts in one word of every page, one page after the other, so that of two pages the first is never behind, and
/// never ahead by more than one. In a snapshot too: it is one moment.
#[test]
fn a_snapshot_is_one_moment() {
    let _dog = Watchdog::new("a_snapshot_is_one_moment");
    const THREADS: usize = 3;
    for block in BLOCKS {
        let array = crate::array(4 << 20, block);
        let page = words(4096);
        let pages = array.len() / page;
        let stop = AtomicBool::new(false);
        let rounds: Vec<u64> = std::thread::scope(|scope| {
            let count = |thread: usize| {
                let (array, stop) = (&array, &stop);
                move || {
                    let mut round = 0;
                    while !stop.load(Relaxed) {
                        round += 1;
                        (0..pages).for_each(|at| word(array, at * page + thread).store(round, SeqCst));
                    }
                    round
                }
            };
            let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(count(thread))).collect();
            let mut held = Vec::new();
            for number in 0..20 {
                let snapshot = array.snapshot().unwrap();
                for thread in 0..THREADS {
                    let counts: Vec<u64> = (0..pages).map(|at| snapshot[at * page + thread]).collect();
                    assert!(counts.is_sorted_by(|a, b| a >= b), "{block}: {counts:?}");
                    assert!(counts[0] - counts[pages - 1] <= 1, "{block}: {counts:?}");
                }
                held.push((snapshot.to_vec(), snapshot));
                if number % 3 == 2 {
                    let (then, oldest) = held.remove(0);
                    assert!(*oldest == *then);
                }
                if number % 7 == 6 {
                    held.iter().for_each(|(then, snapshot)| assert!(**snapshot == **then));
                    held.clear();
                }
            }
            stop.store(true, Relaxed);
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        for (thread, &round) in rounds.iter().enumerate() {
            assert!((0..pages).all(|at| array[at * page + thread] == round), "{block}: a store was lost");
        }
    }
}

/// Threads that add to the same words at the same time, while snapshots come and go.
#[test]
fn no_store_is_lost() {
    let _dog = Watchdog::new("no_store_is_lost");
    const THREADS: u64 = 4;
    const ADDED: u64 = 20_000;
    for block in BLOCKS {
        let array = crate::array(2 << 20, block);
        let running = AtomicU64::new(THREADS);
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let (array, running) = (&array, &running);
                scope.spawn(move || {
                    let mut rng = Rng::new(thread);
                    for _ in 0..ADDED {
                        word(array, rng.below(array.len() as u64) as usize).fetch_add(1, Relaxed);
                    }
                    running.fetch_sub(1, SeqCst);
                });
            }
            let mut last = 0;
            while running.load(SeqCst) > 0 {
                let snapshot = array.snapshot().unwrap();
                let sum: u64 = snapshot.iter().sum();
                assert!((last..=THREADS * ADDED).contains(&sum), "{sum} after {last}");
                assert_eq!(snapshot.iter().sum::<u64>(), sum);
                last = sum;
            }
        });
        assert_eq!(array.iter().sum::<u64>(), THREADS * ADDED, "{block}");
    }
}

/// Two threads store to the same block at once: one copy, and both stores are there.
#[test]
fn one_copy_for_two_threads() {
    let _dog = Watchdog::new("one_copy_for_two_threads");
    const ROUNDS: u64 = 300;
    for block in BLOCKS {
        let array = crate::array(2 << 20, block);
        let barrier = Barrier::new(2);
        let both = |thread: usize, round: u64| {
            barrier.wait();
            word(&array, thread).store(round, Relaxed);
            barrier.wait();
        };
        std::thread::scope(|scope| {
            scope.spawn(|| (1..=ROUNDS).for_each(|round| both(1, round)));
            for round in 1..=ROUNDS {
                let snapshot = array.snapshot().unwrap();
                both(0, round);
                assert_eq!((array[0], array[1]), (round, round));
                assert_eq!((snapshot[0], snapshot[1]), (round - 1, round - 1));
                assert_eq!(array.stats().copied, block as u64);
            }
        });
    }
}

/// Several threads take and drop snapshots.
#[test]
fn snapshots_from_several_threads() {
    let _dog = Watchdog::new("snapshots_from_several_threads");
    let array = crate::array(2 << 20, 64 << 10);
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let array = &array;
            scope.spawn(move || {
                let mut rng = Rng::new(thread as u64);
                let mut held = Vec::new();
                for round in 1..200 {
                    word(array, words(4096) * rng.below(512) as usize + thread).store(round, Relaxed);
                    held.push((array.snapshot().unwrap(), rng.below(512) as usize));
                    let (snapshot, page) = &held[0];
                    let at = words(4096) * page + thread;
                    // What this thread has stored is older than what it has not.
                    assert!(snapshot[at] <= array[at]);
                    if held.len() > 3 {
                        held.remove(0);
                    }
                }
            });
        }
    });
    assert_eq!((array.stats().snapshots, array.stats().copied), (0, 0));
}

/// A snapshot may outlive its array on another thread.
#[test]
fn a_snapshot_moves_to_another_thread() {
    let _dog = Watchdog::new("a_snapshot_moves_to_another_thread");
    let mut array = crate::array(1 << 20, 64 << 10);
    array.as_mut_slice().unwrap().fill(3);
    let snapshot = array.snapshot().unwrap();
    array.as_mut_slice().unwrap()[5] = 4;
    drop(array);
    std::thread::spawn(move || assert!(snapshot.iter().all(|&word| word == 3))).join().unwrap();
}
