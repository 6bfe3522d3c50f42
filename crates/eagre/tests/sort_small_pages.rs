//! Sorting where the system gives no huge pages: the same result.

use eagre::sort::Sorter;

#[test]
#[cfg(target_os = "linux")]
fn without_huge_pages() {
    // SAFETY: numbers only; it holds for this process, which has no other test.
    let refused = unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0) } != 0;
    if refused {
        return eprintln!("skipped: the system does not let a process do without huge pages");
    }
    let numbers: Vec<u64> = (0..1_500_000u64).map(|i| (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    let mut expected = numbers.clone();
    expected.sort_unstable();
    for threads in [1, 2] {
        let mut got = numbers.clone();
        Sorter::new().threads(threads).sort(&mut got).expect("there is memory");
        assert!(got == expected, "with {threads} threads");
    }
    let maps = std::fs::read_to_string("/proc/self/smaps_rollup").expect("the process's own memory");
    let huge = maps.lines().find_map(|line| line.strip_prefix("AnonHugePages:")).map(str::trim);
    assert_eq!(huge, Some("0 kB"), "there were none");
}
