//! Files of every format, cut in every way, compared with what the standard library says of their records.

use std::io::{Cursor, Read, Write};

use super::*;
use crate::records::{Checksum, Fixed, KeyRange, Klv, Lines};
use crate::scan::Plan;

/// Gives so many bytes at a time.
struct Portions<'a>(&'a [u8], usize);

impl Read for Portions<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let length = to.len().min(self.1);
        self.0.read(&mut to[..length])
    }
}

/// What there is to say of records with keys, by going through them.
#[derive(Debug, PartialEq)]
struct Expected {
    records: u64,
    duplicates: u64,
    unordered: u64,
    first: Option<(u64, u64)>,
}

fn expected<K: Ord>(records: &[(K, Vec<u8>)], descending: bool, unique: bool) -> Expected {
    let mut found = Expected { records: records.len() as u64, duplicates: 0, unordered: 0, first: None };
    let mut offset = 0;
    for (at, two) in records.windows(2).enumerate() {
        offset += two[0].1.len() as u64;
        let (before, after) = if descending { (&two[1].0, &two[0].0) } else { (&two[0].0, &two[1].0) };
        found.duplicates += u64::from(before == after);
        found.unordered += u64::from(before > after);
        if (before > after || unique && before == after) && found.first.is_none() {
            found.first = Some((at as u64 + 1, offset));
        }
    }
    found
}

fn brief(found: &Checked) -> Expected {
    Expected {
        records: found.checksum.records,
        duplicates: found.duplicates,
        unordered: found.unordered,
        first: found.first_unordered.map(|place| (place.record, place.offset)),
    }
}

/// Checks records as they come, sorted, sorted the other way round, and with two of them exchanged.
fn check<F: Format, K: Ord + Clone>(format: &F, mut records: Vec<(K, Vec<u8>)>, random: &mut fastrand::Rng) {
    let whole = |records: &[(K, Vec<u8>)]| records.iter().flat_map(|(_, bytes)| bytes.clone()).collect::<Vec<u8>>();
    let sum = crate::records::checksum(format, &whole(&records)).unwrap();
    for round in 0..4 {
        match round {
            1 => records.sort_by(|one, other| one.0.cmp(&other.0)),
            2 if records.len() > 1 => {
                let other = random.usize(..records.len());
                records.swap(0, other);
            }
            3 => records.sort_by(|one, other| other.0.cmp(&one.0)),
            _ => {}
        }
        let bytes = whole(&records);
        for (descending, unique) in [(false, false), (true, false), (false, true), (true, true)] {
            let expected = expected(&records, descending, unique);
            let mut checker = Checker::new(format).descending(descending).unique(unique);
            let portion = 1 + random.usize(..100);
            let found = checker.read(Portions(&bytes, portion)).unwrap();
            assert_eq!(brief(&found), expected, "{portion} bytes at a time");
            assert_eq!((found.checksum, found.bytes), (sum, bytes.len() as u64));
            assert_eq!(found.is_sorted(), expected.first.is_none());

            // Two parts of one file.
            let middle = records.len() / 2;
            let parts = [&records[..middle], &records[middle..]].map(|part| checker.read(&whole(part)[..]).unwrap());
            let [one, other] = parts;
            assert_eq!(brief(&checker.join(one, other)), expected);
        }
    }
}

#[test]
fn every_format_cut_anywhere() {
    let mut random = fastrand::Rng::with_seed(42);
    for round in 0..60 {
        let few = [2, 17, 250][round % 3];
        let count = random.usize(..200);
        let records: Vec<_> = (0..count)
            .map(|_| {
                let bytes: Vec<u8> = (0..23).map(|_| random.u8(..few)).collect();
                (bytes[3..3 + few as usize % 19].to_vec(), bytes)
            })
            .collect();
        check(&Fixed::new(23, &[KeyRange::bytes(3, few as usize % 19)]).unwrap(), records, &mut random);

        let numbers: Vec<_> = (0..count)
            .map(|_| {
                let number = random.i32(-i32::from(few)..i32::from(few));
                (number, number.to_le_bytes().to_vec())
            })
            .collect();
        check(&Fixed::numbers("i32").unwrap(), numbers, &mut random);

        let klv = Klv::new(2, 2, round % 2 == 0).unwrap();
        let records: Vec<_> = (0..count)
            .map(|_| {
                let length = random.u64(..300);
                let mut bytes = vec![random.u8(..few), random.u8(..few), 0, 0];
                klv.put_length(length, &mut bytes[2..]);
                bytes.extend((0..length).map(|_| random.u8(..)));
                (bytes[..2].to_vec(), bytes)
            })
            .collect();
        check(&klv, records, &mut random);

        let end = if round % 2 == 0 { b'\n' } else { 0 };
        let lines: Vec<_> = (0..count)
            .map(|_| {
                let mut bytes: Vec<u8> = (0..random.usize(..50)).map(|_| b'a'.wrapping_add(random.u8(..few))).collect();
                bytes.retain(|&byte| byte != end);
                let key = bytes.clone();
                bytes.push(end);
                (key, bytes)
            })
            .collect();
        check(&Lines::ended_by(end), lines, &mut random);
    }
}

#[test]
fn numbers_in_the_order_of_files_of_keys() {
    use crate::keys::{self, FileKey};

    fn same<K: FileKey>(types: &str, random: &mut fastrand::Rng) {
        for _ in 0..50 {
            let mut numbers: Vec<u8> = (0..random.usize(..40) * K::WIDTH).map(|_| random.u8(..)).collect();
            // Neighbours that differ little, or not.
            for at in K::WIDTH..numbers.len() {
                if random.u8(..) < 150 {
                    numbers[at] = numbers[at - K::WIDTH];
                }
            }
            for (reverse, strict) in [(false, false), (true, false), (false, true), (true, true)] {
                let mut order = keys::Order::default();
                (order.reverse, order.strict) = (reverse, strict);
                let mut file = tempfile::tempfile().unwrap();
                file.write_all(&numbers).unwrap();
                file.rewind().unwrap();
                let mut reader = crate::file::ReadOptions::new().explicit().read(file, "numbers").unwrap();
                let expected = keys::check::<K>(&mut reader, order, |_| ()).unwrap();
                let format = Fixed::numbers(types).unwrap();
                let found = Checker::new(&format).descending(reverse).unique(strict).read(&numbers[..]).unwrap();
                let first = found.first_unordered.map(|place| place.record);
                assert_eq!(first, expected.map(|disorder| disorder.index), "{types}: {numbers:?}");
            }
        }
    }

    let mut random = fastrand::Rng::with_seed(3);
    same::<u8>("u8", &mut random);
    same::<i16>("i16", &mut random);
    same::<u32>("u32", &mut random);
    same::<f32>("f32", &mut random);
    same::<i64>("i64", &mut random);
    same::<f64>("f64", &mut random);
    same::<u128>("u128", &mut random);
    same::<i128>("i128", &mut random);
    same::<(u32, u32)>("u32:u32", &mut random);
    same::<(u64, u64)>("u64:u64", &mut random);
}

/// Enough for several pieces, whatever the plan.
#[test]
fn large_files_by_every_plan() {
    fn same<F: Format>(format: &F, bytes: &[u8]) {
        let mut file = tempfile::NamedTempFile::new_in("/var/tmp").unwrap();
        file.write_all(bytes).unwrap();
        let expected = Checker::new(format).read(bytes).unwrap();
        assert_eq!(expected.checksum, crate::records::checksum(format, bytes).unwrap());
        for plan in [Plan::Map, Plan::Read, Plan::Stream, Plan::Direct] {
            for threads in [1, 3] {
                let mut checker = Checker::new(format).plan(plan).threads(threads);
                let found = checker.file(file.path()).unwrap();
                assert_eq!((brief(&found), found.checksum), (brief(&expected), expected.checksum));
            }
        }
    }

    let mut random = fastrand::Rng::with_seed(5);
    let mut bytes: Vec<u8> = (0..9_000_000).map(|_| random.u8(..)).collect();
    same(&Fixed::new(100, &[KeyRange::bytes(0, 10)]).unwrap(), &bytes);
    same(&Fixed::new(3_000_000, &[]).unwrap(), &bytes);
    same(&Lines::default(), &bytes);
    same(&Lines::default(), &bytes.iter().map(|byte| byte % 200 + 11).collect::<Vec<_>>());
    let klv = Klv::new(8, 4, false).unwrap();
    let mut at = 0;
    while at < bytes.len() {
        let most = if random.bool() { 100 } else { 100_000 };
        let length = random.usize(..most).min(bytes.len().saturating_sub(at + 12));
        bytes.resize(bytes.len().max(at + 12), 0);
        klv.put_length(length as u64, &mut bytes[at + 8..]);
        at += 12 + length;
    }
    same(&klv, &bytes);
}

#[test]
fn a_last_line_without_its_end_is_one_with_it() {
    for bytes in [&b"a\nb"[..], b"a\nb\n"] {
        let found = Checker::new(&Lines::default()).read(bytes).unwrap();
        assert_eq!(found.checksum, crate::records::checksum(&Lines::default(), b"b\na\n").unwrap());
        assert!(found.is_sorted());
    }
    let empty = Checker::new(&Lines::default()).read(&b"\n\n"[..]).unwrap();
    assert_eq!((empty.checksum.records, empty.duplicates), (2, 1));
    assert_eq!(Checker::new(&Lines::default()).read(&b""[..]).unwrap().checksum, Checksum::default());
}

#[test]
fn what_is_cut_short_is_said_with_its_place() {
    fn wrong<F: Format>(format: &F, bytes: &[u8]) -> String {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file.rewind().unwrap();
        let of_file = Checker::new(format).input(file).unwrap_err().to_string();
        for portion in [1, 7, 1000] {
            assert_eq!(Checker::new(format).read(Portions(bytes, portion)).unwrap_err().to_string(), of_file);
        }
        assert_eq!(Checker::new(format).read(Cursor::new(bytes)).unwrap_err().to_string(), of_file);
        of_file
    }
    let klv = Klv::new(2, 2, false).unwrap();
    for (bytes, said) in [
        (&b"k"[..], "record 0, at byte 0: the last record is cut short: it has 1 bytes"),
        (b"kk\x01\0vkk\0", "record 1, at byte 5: the last record is cut short: it has 3 bytes"),
        (b"kk\0\0kk\xff\xffvalue", "record 1, at byte 4: the last record is cut short: it has 9 bytes of 65539"),
    ] {
        assert_eq!(wrong(&klv, bytes), said);
    }
    assert_eq!(
        wrong(&Fixed::gensort(), &[7; 250]),
        "record 2, at byte 200: the last record is cut short: it has 50 bytes of 100"
    );
    let huge = Klv::new(1, 8, false).unwrap();
    assert!(wrong(&huge, &[0xff; 5000]).ends_with("it has 5000 bytes of 18446744073709551615"));
}

/// A claim to be longer than the file is found out at once, before the rest of the file is gathered.
#[test]
fn a_record_longer_than_its_file_is_not_gathered() {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&[0xff; 100]).unwrap();
    file.set_len(1 << 40).unwrap();
    file.rewind().unwrap();
    let format = Klv::new(1, 8, false).unwrap();
    let seen = std::sync::atomic::AtomicU64::new(0);
    let watch = |bytes| {
        seen.fetch_max(bytes, std::sync::atomic::Ordering::Relaxed);
        ControlFlow::Continue(())
    };
    let error = Checker::new(&format).plan(Plan::Read).progress(&watch).input(file).unwrap_err();
    assert!(matches!(error, CheckError::Malformed { record: 0, offset: 0, .. }), "{error}");
    assert!(seen.into_inner() < 1 << 30);
}
