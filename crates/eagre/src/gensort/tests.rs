use super::pieces::{Joiner, Pieces};
use super::*;
use crate::scan::Scan;

fn records(generator: &Generator<'_>, first: u128, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count * RECORD];
    generator.fill(first, &mut bytes);
    bytes
}

fn key(generator: &Generator<'_>, number: u128) -> String {
    records(generator, number, 1)[..KEY].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Published by the benchmark, and computed by `gensort` 1.5 and `valsort` 1.5.
#[test]
fn checksums_are_those_of_the_benchmark() {
    let (binary, ascii) = (Generator::new(), Generator::new().ascii(true));
    let (skewed, both) = (binary.clone().skewed(true), ascii.clone().skewed(true));
    for (count, generator, checksum) in [
        (1, &binary, "9ea593a0"),
        (1, &ascii, "3fcaea0a"),
        (1, &skewed, "9ea593a0"),
        (1, &both, "3fcaea0a"),
        (2, &binary, "183cee1bf"),
        (2, &ascii, "13f5a6a5c"),
        (10, &binary, "55fea8a1a"),
        (10, &ascii, "469302dca"),
        (10, &skewed, "5d95519b3"),
        (10, &both, "46073c01c"),
        (1000, &binary, "1ea6370b955"),
        (1000, &ascii, "1f5dfb3631a"),
        (1000, &skewed, "1e96301166b"),
        (1000, &both, "1eef17d1cac"),
        (1_000_000, &binary, "7a0e0d4868cd4"),
        (1_000_000, &ascii, "7a19cff467438"),
        (1_000_000, &skewed, "79f9a7e6de673"),
        (1_000_000, &both, "7a135fbce6df2"),
    ] {
        let summary = Summary::of(&records(generator, 0, count));
        assert_eq!((summary.records, format!("{:x}", summary.checksum)), (count as u128, checksum.to_owned()));
    }
}

#[test]
fn records_are_those_of_the_benchmark() {
    let (binary, ascii) = (Generator::new(), Generator::new().ascii(true));
    let first = "4a696d4772617952495065080060836b392cd58b8f5e55961855e79b87f02283a466b6aab1f9e0cacf1e26b3292afd1064bb18b56ac07d\
                 6f656b1d2f430d57bde7e47d81f36a6dd267948bbc2397bfe28c334e4ad82b8e70166293cfaa0116bfda3bb1ab";
    let shown: String = records(&binary, 0, 1).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(shown, first);
    assert_eq!(key(&binary, 1), "95e0e48262b3edfe0447");
    assert_eq!(key(&binary, 2), "45979353dbed5329365c");
    assert_eq!(key(&binary, 1000), "8b7c5047a5ec0be014b8");
    assert_eq!(key(&binary, 1 << 64), "7cc5d0c2ed18328d4950");
    let line =
        b"AsfAGHM5om  00000000000000000000000000000000  0000222200002222000022220000222200002222000000001111\r\n";
    assert_eq!(records(&ascii, 0, 1), line);
}

#[test]
fn any_record_can_be_the_first() {
    for generator in [Generator::new(), Generator::new().ascii(true).skewed(true), Generator::new().skewed(true)] {
        let all = records(&generator, 5, 300);
        for first in [0, 1, 63, 64, 65, 299] {
            assert_eq!(records(&generator, 5 + first as u128, 300 - first), all[first * RECORD..], "from {first}");
        }
    }
}

#[test]
fn any_byte_can_be_the_first() {
    for generator in [Generator::new(), Generator::new().ascii(true)] {
        let all = records(&generator, 9, 5);
        for from in 0..all.len() {
            for length in [0, 1, 99, 100, 101, 250].into_iter().filter(|length| from + length <= all.len()) {
                let mut part = vec![0; length];
                generator.fill_from(9, from as u64, &mut part);
                assert_eq!(part, all[from..][..length], "{length} bytes from {from}");
            }
        }
    }
}

#[test]
fn the_first_hundred_are_unordered() {
    let summary = Summary::of(&records(&Generator::new(), 0, 100));
    assert_eq!(format!("{:x}", summary.checksum), "319e1030c3");
    assert_eq!((summary.unordered, summary.first_unordered, summary.duplicates), (51, Some(2), 0));
}

/// Keys of one byte that counts, so that there are equal neighbours and unordered ones.
fn few_keys(count: usize) -> Vec<u8> {
    let mut bytes = records(&Generator::new(), 7, count);
    for record in bytes.as_chunks_mut::<RECORD>().0 {
        record[..KEY - 1].fill(0);
        record[KEY - 1] &= 3;
    }
    bytes
}

#[test]
fn summaries_of_parts_join_to_that_of_the_whole() {
    let bytes = few_keys(60);
    let whole = Summary::of(&bytes);
    // By hand, with nothing but slices.
    let keys: Vec<_> = bytes.chunks(RECORD).map(|record| &record[..KEY]).collect();
    assert_eq!(whole.duplicates, keys.windows(2).filter(|pair| pair[0] == pair[1]).count() as u128);
    assert_eq!(whole.unordered, keys.windows(2).filter(|pair| pair[1] < pair[0]).count() as u128);
    let first = keys.windows(2).position(|pair| pair[1] < pair[0]).map(|at| at as u128 + 1);
    assert_eq!(whole.first_unordered, first);
    for cut in (0..=bytes.len()).step_by(RECORD) {
        let (left, right) = bytes.split_at(cut);
        assert_eq!(Summary::of(left).append(&Summary::of(right)), whole, "cut at {cut}");
    }
    let one_by_one = bytes.chunks(RECORD).fold(Summary::new(), |sum, record| sum.append(&Summary::of(record)));
    assert_eq!(one_by_one, whole);
}

#[test]
fn pieces_may_be_cut_anywhere() {
    let bytes = few_keys(7);
    let bytes = &bytes[..bytes.len() - 30];
    let right = (Summary::of(&bytes[..600]), 70);
    let join = |cuts: &[usize]| {
        let (mut joiner, mut from) = (Joiner::new(), 0);
        for &cut in cuts.iter().chain([&bytes.len()]).filter(|&&cut| cut > 0) {
            if cut > from {
                joiner.part(&Pieces.piece(&mut (), from as u64, &bytes[from..cut]));
                from = cut;
            }
        }
        joiner.finish()
    };
    assert_eq!(join(&[]), right);
    for first in 1..bytes.len() {
        assert_eq!(join(&[first]), right, "cut at {first}");
        assert_eq!(join(&[first, bytes.len().min(first + 3)]), right, "cut at {first} and 3 bytes later");
    }
    let every: Vec<_> = (1..bytes.len()).collect();
    assert_eq!(join(&every), right);
}

#[test]
fn summaries_survive_a_file() {
    for count in [0, 1, 2, 100] {
        let summary = Summary::of(&records(&Generator::new(), 3, count));
        assert_eq!(Summary::from_bytes(&summary.to_bytes()), Ok(summary));
    }
    // As large as a file may claim: no sum of them is taken for a sorted file.
    let mut bytes = Summary::of(&records(&Generator::new(), 3, 2)).to_bytes();
    for (at, number) in [(0, 1u128), (16, 1 << 127), (32, (1 << 127) + 1)] {
        bytes[at..at + 8].copy_from_slice(&((number >> 64) as u64).to_le_bytes());
        bytes[at + 8..at + 16].copy_from_slice(&(number as u64).to_le_bytes());
    }
    let claimed = Summary::from_bytes(&bytes).unwrap();
    assert!(!claimed.append(&claimed).is_sorted());
    let mut bytes = Summary::of(&records(&Generator::new(), 3, 2)).to_bytes();
    bytes[24] = 9;
    assert_eq!(Summary::from_bytes(&bytes), Err(SummaryError), "nine of two records unordered");
}
