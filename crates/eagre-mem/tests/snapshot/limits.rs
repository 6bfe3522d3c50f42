//! Limits of the process: mappings, and how many snapshots there may be.

use crate::common::child::Case;
use crate::common::*;
use crate::{array, succeeds, words};
use eagre_mem::{Mappings, RewireErrorKind, SnapshotArray, SnapshotOptions};

pub(crate) const CASES: &[Case] = &[("many", |_| many()), ("scattered", |_| scattered())];

/// An array whose stores could come to need too many mappings is refused before it takes any memory, and told what fits.
#[test]
fn too_many_mappings_are_refused_by_name() {
    let _dog = Watchdog::new("too_many_mappings_are_refused_by_name");
    let groups = Mappings::now().budget as usize / 31;
    let make = |block: usize| SnapshotOptions::new().block(block).array::<u64>(groups * words(2 << 20));
    let error = make(64 << 10).map(drop).unwrap_err();
    assert_eq!(error.kind(), RewireErrorKind::OutOfMappings);
    assert!(error.to_string().contains("use larger blocks (SnapshotOptions::block)"), "{error}");
    let message = error.to_string();
    assert!(message.contains("with blocks of 64 KiB") && message.contains("blocks of 256 KiB fit"), "{message}");
    assert!(message.contains("vm.max_map_count"), "{message}");
}

#[test]
fn bad_blocks_are_refused() {
    for block in [0, 2048, 5000, 4 << 20] {
        let error = SnapshotOptions::new().block(block).array::<u8>(1).map(drop).unwrap_err();
        assert!(error.to_string().contains("no power of two from 4096 to 2097152"), "{error}");
    }
    let error = SnapshotArray::<u64>::new(usize::MAX).map(drop).unwrap_err();
    assert_eq!(error.kind(), RewireErrorKind::OutOfAddresses);
    let error = SnapshotOptions::new().block(2 << 20).reserve(100_000).array::<u8>(1 << 30).map(drop).unwrap_err();
    assert_eq!(error.kind(), RewireErrorKind::OutOfMemory, "{error}");
}

/// One snapshot too many is an error, and all others go on.
#[test]
fn too_many_snapshots_are_refused() {
    succeeds("many");
}

fn many() {
    let used = Mappings::now().used;
    // Small enough that mappings do not end first.
    let mut array = array(64 << 10, 64 << 10);
    let mut held: Vec<_> = (0..250)
        .map(|round| {
            array.as_mut_slice().unwrap()[0] = round;
            array.snapshot().unwrap()
        })
        .collect();
    let error = array.snapshot().map(drop).unwrap_err();
    assert_eq!(error.kind(), RewireErrorKind::Full);
    assert!(error.to_string().ends_with("; drop one first"), "{error}");
    array.as_mut_slice().unwrap()[0] = 1000;
    assert!(held.iter().enumerate().all(|(round, snapshot)| snapshot[0] == round as u64));
    held.swap_remove(17);
    held.push(array.snapshot().unwrap());
    assert_eq!(held[249][0], 1000);
    drop(held);
    drop(array);

    // Here they do.
    let mut array = crate::array(64 << 20, 4 << 10);
    let mut held = Vec::new();
    let error = loop {
        match array.snapshot() {
            Ok(snapshot) => held.push(snapshot),
            Err(error) => break error,
        }
        assert!(held.len() < 250 || Mappings::now().budget > 1 << 20);
        if held.len() == 249 {
            return;
        }
    };
    assert_eq!(error.kind(), RewireErrorKind::OutOfMappings);
    array.as_mut_slice().unwrap()[0] = 1;
    assert!(held.iter().all(|snapshot| snapshot[0] == 0));
    held.pop();
    held.push(array.snapshot().unwrap());
    drop((held, array));
    assert_eq!(Mappings::now().used, used);
}

/// However stores are scattered, there are no more mappings than were counted.
#[test]
fn mappings_stay_below_what_was_counted() {
    succeeds("scattered");
}

fn scattered() {
    let count = || {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        maps.lines().filter(|line| line.contains("memfd:eagre")).count() as u64
    };
    for block in [4 << 10, 64 << 10] {
        let mut array = crate::array(8 << 20, block);
        let mut rng = Rng::new(block as u64);
        let mut held = Vec::new();
        for round in 0..40 {
            held.push(array.snapshot().unwrap());
            for _ in 0..rng.below(40) {
                let at = rng.below(array.len() as u64) as usize;
                array.as_mut_slice().unwrap()[at] = round;
            }
            held.iter().for_each(|snapshot| assert!(snapshot[0] <= round));
            let (mapped, counted) = (count(), Mappings::now().used);
            assert!(mapped <= counted, "{block}, {round}: {mapped} mappings, {counted} counted");
            if held.len() > 3 {
                held.swap_remove(rng.below(4) as usize);
            }
        }
    }
}
