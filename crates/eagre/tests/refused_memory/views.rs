//! Views of an array: made, written beside, extended, and equal blocks found.

use eagre::{RewireErrorKind, ViewArray, ViewOptions};

use crate::refusing::each_allocation;

pub(crate) const TESTS: &[(&str, fn())] = &[("views::made", made), ("views::shared", shared)];

fn array() -> ViewArray<u64> {
    ViewOptions::new().block(4096).limit(8).array(4).unwrap()
}

fn made() {
    let mut array = array();
    let mut written = 0;
    each_allocation("views: made", |attempt| {
        let before = written;
        let shown = attempt.call(|| {
            let first = array.view(&[2, 1, 1])?;
            array.write(1..2)?[0] = before + 1;
            written = before + 1;
            let second = array.view(&[1])?;
            Ok::<_, eagre::RewireError>((first[512], first[1024], second[0]))
        });
        match shown {
            Ok(shown) => assert_eq!(shown, (before, before, before + 1)),
            Err(error) => assert!(attempt.refused() && error.kind() == RewireErrorKind::OutOfMemory, "{error}"),
        }
        assert_eq!((array[512], array.stats().bytes), (written, 4 * 4096));
    });
}

fn shared() {
    each_allocation("views: shared", |attempt| {
        let mut array = array();
        array.write(1..3).unwrap().fill(7);
        let freed = attempt.call(|| {
            array.extend_from_within(1..)?;
            array.deduplicate()
        });
        let firsts: Vec<u64> = array.chunks(512).map(|block| block[0]).collect();
        match freed {
            Ok(freed) => assert_eq!((firsts, freed), (vec![0, 7, 7, 0, 7, 7, 0], 2 * 4096)),
            Err(error) => {
                assert!(attempt.refused() && error.kind() == RewireErrorKind::OutOfMemory, "{error}");
                assert!(firsts[..4] == [0, 7, 7, 0] && array.stats().bytes == 4 * 4096);
            }
        }
    });
}
