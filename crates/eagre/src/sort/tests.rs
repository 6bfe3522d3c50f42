use super::kernels::Level;
use super::range::Sorting;

fn check(words: &[u64]) {
    let mut expected = words.to_vec();
    expected.sort_unstable();
    for level in [Level::Portable, Level::best()] {
        let mut got = words.to_vec();
        Sorting::new(level, got.len()).unwrap().sort(&mut got, 64);
        assert!(got == expected, "{level:?} {}", words.len());
    }
}

#[test]
fn uniform() {
    let mut x = 88172645463325252u64;
    let mut next = move || {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        x
    };
    for n in (0..200).chain([255, 1000, 2815, 2816, 2817, 4095, 10000, 40000, 70000, (1 << 20) + 9]) {
        for bits in [64, 1, 5, 13, 33] {
            let words: Vec<u64> = (0..n).map(|_| next() >> (64 - bits)).collect();
            check(&words);
        }
        let words: Vec<u64> = (0..n).map(|_| next() >> (next() % 64)).collect();
        check(&words);
    }
}
