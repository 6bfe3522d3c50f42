//! Snapshots of an array: taken, stored beside, read and dropped.

use eagre::{RewireErrorKind, SnapshotArray};

use crate::refusing::each_allocation;

pub(crate) const TESTS: &[(&str, fn())] = &[("snapshots::taken", taken)];

fn taken() {
    let mut array = SnapshotArray::<u64>::new(1 << 17).unwrap();
    let mut stores = 0;
    each_allocation("snapshots: taken", |attempt| {
        let before = stores;
        let shown = attempt.call(|| {
            let first = array.snapshot()?;
            array.write(7..8)?[0] = before + 1;
            stores = before + 1;
            let second = array.snapshot()?;
            array.write(7..8)?[0] = before + 2;
            stores = before + 2;
            Ok::<_, eagre::RewireError>((first.as_slice()?[7], second.as_slice()?[7]))
        });
        match shown {
            Ok(shown) => assert_eq!(shown, (before, before + 1)),
            Err(error) => assert!(attempt.refused() && error.kind() == RewireErrorKind::OutOfMemory, "{error}"),
        }
        assert_eq!((array[7], array.stats().copied), (stores, 0));
    });
}
