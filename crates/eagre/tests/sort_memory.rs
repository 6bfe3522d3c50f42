//! Sorting where the system refuses memory: an error that says how much was asked for, and nothing lost; or, where no
//! error is possible, a result all the same. In a process of its own, since the limit is the process's.

use std::process::Command;

use eagre::sort::{SortError, Sorter, sort};

/// Set for the process that has little memory.
const LITTLE: &str = "EAGRE_TEST_LITTLE_MEMORY";

#[test]
fn refused_memory_is_an_error() {
    if std::env::var_os(LITTLE).is_some() {
        return with_little_memory();
    }
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "refused_memory_is_an_error", "--nocapture", "--test-threads=1"])
        .env(LITTLE, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stderr);
    eprint!("{said}");
    assert!(child.status.success(), "{}\n{said}", String::from_utf8_lossy(&child.stdout));
}

fn with_little_memory() {
    let n = 2_000_000;
    let numbers: Vec<u64> = (0..n).map(|i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    let mut keys = numbers.clone();
    let mut pairs: Vec<(u64, u32)> = numbers.iter().map(|&number| (number, 7)).collect();
    let mut places = vec![0u32; numbers.len()];
    let mut sorted = numbers.clone();
    sorted.sort_unstable();

    limit_memory(1 << 20);
    if Vec::<u8>::new().try_reserve_exact(8 << 20).is_ok() {
        eprintln!("skipped: this system does not limit memory");
        return;
    }
    let refused = |result| match result {
        Err(SortError::Memory { bytes }) => assert!((2 << 20..200 << 20).contains(&bytes), "{bytes} bytes asked for"),
        other => panic!("{other:?} instead of an error"),
    };
    for threads in [1, 4] {
        let sorter = Sorter::new().threads(threads);
        refused(sorter.sort(&mut keys));
        assert!(keys == numbers, "keys have moved");
        refused(sorter.sort_pairs(&mut pairs));
        refused(sorter.sort_by_key(&mut keys, |&key| !key));
        refused(sorter.sort_by_cached_key(&mut keys, |&key| !key));
        assert!(keys == numbers, "keys have moved");
        refused(sorter.argsort(&numbers).map(drop));
        refused(sorter.argsort_into(&numbers, &mut places));
        assert!(places.iter().all(|&place| place == 0));

        // Few enough to do without memory, or allowed none.
        sorter.sort(&mut keys[..1000]).unwrap();
        assert!(keys[..1000].is_sorted());
        sorter.smallest(&mut keys, 10).unwrap();
        assert!(keys[..10] == sorted[..10]);
        sorter.slack(0).sort(&mut keys).unwrap();
        assert!(keys == sorted);
        sorter.slack(0).sort_by_key(&mut keys[..5000], |&key| !key).unwrap();
        assert!(keys[..5000].is_sorted_by_key(|&key| !key));
        keys.copy_from_slice(&numbers);
    }
    sort(&mut keys);
    assert!(keys == sorted, "without an error to tell it is sorted without memory");
}

/// Allows so many bytes more than there are.
fn limit_memory(more: u64) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmData:")).unwrap();
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
    let most = (kib << 10) + more;
    let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
    // SAFETY: a valid structure.
    let result = unsafe { libc::setrlimit(libc::RLIMIT_DATA, &limit) };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
}
