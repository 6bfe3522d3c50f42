//! What sorting and partitioning make of `EAGRE_SIMD`, and of vector instructions that the processor does not have.

use std::process::Command;

use eagre::partition::{PartitionError, Partitioner};
use eagre::scan::Simd;
use eagre::sort::{SortError, Sorter, sort};

/// Vector instructions that no processor has together with the others.
fn missing() -> Simd {
    Simd::ALL.into_iter().find(|simd| !simd.is_available()).expect("NEON and AVX2 are of different processors")
}

/// The setting is read once in a process, so each value gets a process of its own.
#[test]
#[cfg_attr(miri, ignore = "Miri starts no processes")]
fn a_wrong_setting_is_an_error_where_there_are_errors() {
    const CHILD: &str = "EAGRE_SORT_CHILD";
    if std::env::var_os(CHILD).is_some() {
        let keys = [3u32, 1, 2];
        let mut sorted = keys;
        sort(&mut sorted);
        assert_eq!(sorted, [1, 2, 3], "the function that cannot fail ignores it");
        let mut same = keys;
        let why = Sorter::new().sort(&mut same).expect_err("a wrong setting").to_string();
        assert_eq!(Sorter::new().sort(&mut [1u8; 1000]), Err(SortError::Environment));
        assert_eq!(Sorter::new().sort_pairs(&mut [(2u64, 1), (1, 1)]), Err(SortError::Environment));
        assert_eq!(Sorter::new().argsort(&keys), Err(SortError::Environment));
        assert_eq!(Sorter::new().smallest(&mut same, 1), Err(SortError::Environment));
        assert_eq!(same, keys);
        assert_eq!(Sorter::new().simd(Simd::Portable).sort(&mut same), Ok(()), "an explicit choice overrides it");
        let parts = Partitioner::new().partition(&keys);
        assert!(parts.is_err_and(|error| error == PartitionError::Environment));
        println!("refused: {why}");
        return;
    }
    for value in ["mmx".to_owned(), missing().to_string()] {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["a_wrong_setting_is_an_error_where_there_are_errors", "--nocapture"]);
        let output = child.env(CHILD, "1").env("EAGRE_SIMD", &value).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
        assert!(said.contains(&format!("refused: EAGRE_SIMD={value}: ")), "{said}");
    }
}

#[test]
fn missing_instructions_are_an_error() {
    let mut keys = [3u32, 1, 2];
    let error = Sorter::new().simd(missing()).sort(&mut keys).unwrap_err();
    assert_eq!((error, keys), (SortError::Simd, [3, 1, 2]));
    assert_eq!(error.to_string(), "this processor does not have the vector instructions asked for");
}

/// As many threads as the process may use.
#[test]
fn no_threads_are_all_threads() {
    let keys: Vec<u32> = (0..600_000u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
    let mut expected = keys.clone();
    expected.sort_unstable();
    let mut sorted = keys.clone();
    Sorter::new().threads(0).sort(&mut sorted).unwrap();
    assert!(sorted == expected);
    let parts = Partitioner::new().ways(2).threads(0).partition(&keys).unwrap();
    assert_eq!(parts.bucket(0).len(), expected.partition_point(|key| key >> 31 == 0));
}
