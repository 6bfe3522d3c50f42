//! What partitioning takes of the machine, seen from outside, and that it works with whatever the machine gives.

use eagre::partition::{Keyed, Layout, Partitioner};
use eagre::{BlockSize, Mover, Pool, RewiredVec, Trap};
use std::process::Command;

const MIB: usize = 1 << 20;

/// Set for the child process that a test measures.
const CHILD: &str = "EAGRE_PARTITION_CHILD";

/// A pseudorandom number for each index.
fn random(at: usize) -> u64 {
    // Generators with neighbouring seeds begin alike.
    let seed = fastrand::Rng::with_seed(at as u64).u64(..);
    fastrand::Rng::with_seed(seed).u64(..)
}

/// Peak of what the process has of its own, in bytes.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
}

/// 192 MiB into 16 buckets of 2 MiB blocks: input and output together, and 32 MiB.
#[test]
fn vanishing_input_takes_the_slack_and_no_more() {
    if std::env::var_os(CHILD).is_none() {
        let program = std::env::current_exe().unwrap();
        let name = "vanishing_input_takes_the_slack_and_no_more";
        let output = Command::new(program).args([name, "--exact", "--nocapture"]).env(CHILD, "1").output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
        let peak = text.lines().find_map(|line| line.split("peak ").nth(1)).expect("the child says its peak");
        let peak: usize = peak.trim().parse().unwrap();
        // The test program itself has some MiB.
        assert!((192 * MIB..(192 + 32 + 2 + 16) * MIB).contains(&peak), "{} MiB", peak / MIB);
        return;
    }
    let pool = Pool::new(BlockSize::DEFAULT, 200, None, None).unwrap();
    let mut keys: RewiredVec<u64> = RewiredVec::in_pool(&pool).unwrap();
    keys.extend((0..24 * MIB).map(random));
    let how = Partitioner::new().ways(16).threads(1).slack(32 * MIB);
    let parts = how.partition_vec(&mut keys).unwrap();
    println!("peak {}", peak());
    assert_eq!(parts.len(), 24 * MIB);
    for (bucket, keys) in parts.iter().enumerate() {
        assert!(keys.iter().all(|key| key >> 60 == bucket as u64));
    }
}

/// Each mover brings the same buckets, with huge pages and without.
#[test]
fn every_mover_and_page() {
    let keys: Vec<u32> = (0..500_000).map(|at| random(at) as u32).collect();
    let mut expected: Vec<Vec<u32>> = vec![Vec::new(); 16];
    keys.iter().for_each(|&key| expected[(key >> 28) as usize].push(key));
    let mut ran = 0;
    for (trap, mover) in [(Trap::Signal, Mover::Move), (Trap::Signal, Mover::Remap), (Trap::Off, Mover::Copy)] {
        for block in [BlockSize::MIN, BlockSize::DEFAULT] {
            let blocks = (2 * size_of_val(&keys[..]) / block.bytes() + 70) as u32;
            let pool = match Pool::new(block, blocks, Some(trap), Some(mover)) {
                Ok(pool) => pool,
                Err(error) => {
                    eprintln!("skipped: {trap} and {mover}: {error}");
                    continue;
                }
            };
            for layout in [Layout::Apart, Layout::Dense] {
                let mut vector: RewiredVec<u32> = RewiredVec::with_limit(&pool, keys.len()).unwrap();
                vector.extend_from_slice(&keys);
                let how = Partitioner::new().ways(16).threads(2).slack(usize::MAX).layout(layout);
                let parts = how.partition_vec(&mut vector).unwrap();
                assert!(parts.iter().zip(&expected).all(|(got, expected)| got == expected), "{mover}, {block}");
                let parts = how.pool(&pool).partition(&keys).unwrap();
                assert!(parts.iter().zip(&expected).all(|(got, expected)| got == expected), "{mover}, {block}");
            }
            assert_eq!(pool.stats().taken, 0);
            ran += 1;
        }
    }
    assert!(ran >= 2, "copying works everywhere");
}

#[test]
fn pairs_go_by_their_first() {
    fn check<T: Keyed + PartialEq + std::fmt::Debug>(low: T, high: T) {
        let parts = Partitioner::new().boundaries(&[5]).partition(&[high, low]).unwrap();
        assert_eq!((parts.bucket(0), parts.bucket(1)), (&[low][..], &[high][..]));
    }
    check((3u32, 9u32), (7, 1));
    check((3u32, 9u64), (7, 1));
    check((3u64, 9u32), (7, 1));
    check((3u64, 9u64), (7, 1));
    check((3u16, [9u8; 3]), (7, [1; 3]));
}

/// The pool that all share is there without being asked for.
#[test]
fn without_a_pool_of_ones_own() {
    let pairs: Vec<(u64, u64)> = (0..10_000).map(|at| (random(at), at as u64)).collect();
    let parts = Partitioner::new().ways(3).partition(&pairs).unwrap();
    let third = u64::MAX / 3;
    assert!(parts.bucket(0).iter().all(|pair| pair.0 <= third));
    assert!(parts.bucket(2).iter().all(|pair| pair.0 > 2 * third));
    assert!(parts.iter().all(|bucket| bucket.is_sorted_by_key(|pair| pair.1)), "stable");
    assert_eq!(parts.offsets()[3], pairs.len());
}
