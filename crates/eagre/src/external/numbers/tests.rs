//! Every type and option against the sort of the standard library.

use std::cmp::Ordering;
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;

use super::*;
use crate::external::LEAST_MEMORY;

/// How keys get into a sort.
#[derive(Clone, Copy, Debug, PartialEq)]
enum From {
    File,
    Pipe,
}

/// The sizes of a sort that tests make smaller than memory can be.
#[derive(Clone, Copy)]
struct Sizes {
    chunk: Option<u64>,
    at_once: usize,
}

const SMALL: Sizes = Sizes { chunk: Some(CHUNK), at_once: 2 };
const CHUNK: u64 = 128 << 10;

fn encode<K: FileKey>(keys: &[K]) -> Vec<u8> {
    let mut bytes = vec![0; size_of_val(keys)];
    K::encode(keys, &mut bytes);
    bytes
}

fn sort<K: FileKey>(settings: &FileSorter<'_>, sizes: Sizes, from: From, bytes: &[u8]) -> io::Result<(Vec<K>, Report)> {
    let folder = tempfile::tempdir()?;
    let (path, sorted) = (folder.path().join("from"), folder.path().join("to"));
    let settings = settings.clone().temporary(folder.path());
    let report = std::thread::scope(|scope| {
        let file = if from == From::File {
            std::fs::write(&path, bytes)?;
            File::open(&path)?
        } else {
            let (reader, mut writer) = std::io::pipe()?;
            // After an error nobody reads the rest.
            scope.spawn(move || drop(writer.write_all(bytes)));
            File::from(OwnedFd::from(reader))
        };
        let mut numbers = Numbers::<K>::new(&settings)?;
        numbers.job.budget.chunk = sizes.chunk.unwrap_or(numbers.job.budget.chunk);
        numbers.at_once = sizes.at_once;
        numbers.sort(vec![Input::new("from", file)], Target::Open(Output::create(&sorted)?), Path::new("to"))
    })?;
    let bytes = std::fs::read(&sorted)?;
    let mut keys = vec![K::default(); bytes.len() / K::WIDTH];
    K::decode(&bytes, &mut keys);
    assert_eq!(std::fs::read_dir(folder.path())?.count(), 1 + usize::from(from == From::File));
    Ok((keys, report))
}

/// Checks all options for keys that `compare` orders.
#[track_caller]
fn check<K: FileKey>(keys: &[K], by_first: bool, sizes: Sizes, compare: fn(&K, &K) -> Ordering) {
    let bytes = encode(keys);
    let what = std::any::type_name::<K>();
    for (descending, unique, head) in [
        (false, false, None),
        (true, false, None),
        (false, true, None),
        (true, true, None),
        (false, false, Some(1000)),
        (true, false, Some(1000)),
        (true, true, Some(30)),
        (false, true, Some(30)),
        (false, false, Some(0)),
    ] {
        let mut wanted = keys.to_vec();
        wanted.sort_by(|a, b| if descending { compare(b, a) } else { compare(a, b) });
        if unique {
            wanted.dedup_by(|a, b| compare(a, b).is_eq());
        }
        wanted.truncate(head.unwrap_or(usize::MAX));
        let settings = FileSorter::new().memory(LEAST_MEMORY).threads(2).by_first(by_first);
        let mut settings = settings.descending(descending).unique(unique);
        if let Some(head) = head {
            settings = settings.head(head as u64);
        }
        for from in [From::File, From::Pipe] {
            let (found, report) = sort::<K>(&settings, sizes, from, &bytes).unwrap();
            // Bytes, since NaNs differ from themselves.
            assert!(
                encode(&found) == encode(&wanted),
                "{what} {from:?} {descending} {unique} {head:?}: {} of {}, {report:?}",
                found.len(),
                wanted.len()
            );
            assert_eq!((report.written, report.bytes), (size_of_val(&wanted[..]) as u64, bytes.len() as u64));
            assert_eq!(report.records, keys.len() as u64);
            let chunk = sizes.chunk.unwrap_or(LEAST_MEMORY);
            assert_eq!(report.runs == 0, bytes.len() as u64 <= chunk, "{what} {from:?}: {report:?}");
            assert_eq!(report.plan, if report.runs == 0 { Plan::InMemory } else { Plan::Classic });
            if sizes.at_once == 2 && report.runs > 0 {
                // A merge of two takes one away.
                assert_eq!(report.merges, report.runs - 1);
            }
        }
    }
}

fn noise(seed: u64, bytes: usize) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut noise = vec![0; bytes];
    random.fill(&mut noise);
    noise
}

fn decoded<K: FileKey>(bytes: &[u8]) -> Vec<K> {
    let mut keys = vec![K::default(); bytes.len() / K::WIDTH];
    K::decode(&bytes[..keys.len() * K::WIDTH], &mut keys);
    keys
}

/// All types, in five runs that are merged two at a time.
#[test]
fn all_types_in_runs() {
    let noise = noise(1, 300_000);
    macro_rules! numbers {
        ($($type:ty),*) => { $(check::<$type>(&decoded(&noise), false, SMALL, Ord::cmp);)* };
    }
    // Each takes the compiler long; the tests of the command have the others.
    numbers!(u8, u16, u32, u64, i64, u128);
    check::<f32>(&decoded(&noise), false, SMALL, f32::total_cmp);
    check::<f64>(&decoded(&noise), false, SMALL, f64::total_cmp);
    let few = |mut pairs: Vec<(u64, u64)>| {
        pairs.iter_mut().for_each(|pair| pair.0 %= 100);
        pairs
    };
    check::<(u64, u64)>(&few(decoded(&noise)), false, SMALL, Ord::cmp);
    check::<(u64, u64)>(&few(decoded(&noise)), true, SMALL, |a, b| a.0.cmp(&b.0));
    let few: Vec<(u32, u32)> = decoded::<(u32, u32)>(&noise).iter().map(|pair| (pair.0 % 100, pair.1)).collect();
    check::<(u32, u32)>(&few, false, SMALL, Ord::cmp);
    check::<(u32, u32)>(&few, true, SMALL, |a, b| a.0.cmp(&b.0));
}

/// The largest keys, which sources that have ended play with.
#[test]
fn extreme_keys() {
    let random = noise(2, 40_000);
    let extreme: Vec<u64> = random.iter().map(|byte| [u64::MAX, 0, 1, u64::MAX - 1][*byte as usize % 4]).collect();
    check::<u64>(&extreme, false, SMALL, Ord::cmp);
    check::<u64>(&vec![u64::MAX; 40_000], false, SMALL, Ord::cmp);
    let firsts: Vec<(u64, u64)> = extreme.iter().copied().zip(0..).collect();
    check::<(u64, u64)>(&firsts, true, Sizes { at_once: 5, ..SMALL }, |a, b| a.0.cmp(&b.0));
    check::<(u64, u64)>(&firsts, true, SMALL, |a, b| a.0.cmp(&b.0));
    let zeros: Vec<f64> = random.iter().map(|byte| [0.0, -0.0, f64::NAN, -f64::NAN][*byte as usize % 4]).collect();
    check::<f64>(&zeros, false, SMALL, f64::total_cmp);
}

#[test]
fn sizes_around_a_chunk() {
    let most = CHUNK as usize / 8;
    for around in [0, most / 2, most, most * 3 / 2, 2 * most] {
        for count in around.saturating_sub(1)..=around + 1 {
            check::<u64>(&decoded(&noise(3, 8 * count)), false, SMALL, Ord::cmp);
        }
    }
}

/// The least memory, and the chunks and merges that it makes.
#[test]
fn the_least_memory() {
    let keys = decoded::<u32>(&noise(4, 24 << 20));
    let mut wanted = keys.clone();
    wanted.sort_unstable();
    let settings = FileSorter::new().memory(LEAST_MEMORY);
    for (at_once, from) in [(usize::MAX, From::Pipe), (2, From::File)] {
        let (found, report) = sort::<u32>(&settings, Sizes { chunk: None, at_once }, from, &encode(&keys)).unwrap();
        assert!(found == wanted && report.runs > 2, "{report:?}");
        assert_eq!(report.merges, if at_once == 2 { report.runs - 1 } else { 1 });
    }
}

/// A merge of any number of sources, in pieces of any size: of equal keys, the first source's come first.
#[test]
fn merges_are_stable() {
    struct Pieces(std::vec::IntoIter<(u32, u32)>, usize);
    impl merge::Source<(u32, u32)> for Pieces {
        fn next(&mut self, keys: &mut Vec<(u32, u32)>) -> io::Result<()> {
            keys.clear();
            keys.extend(self.0.by_ref().take(self.1));
            Ok(())
        }
    }
    let mut random = fastrand::Rng::with_seed(5);
    for sources in (0..20).chain([31, 32, 33, 127, 128]) {
        let mut all = Vec::new();
        let mut made = Vec::new();
        for source in 0..sources {
            let count = random.u32(0..40) * random.u32(0..2);
            let mut keys: Vec<_> =
                (0..count).map(|i| ([0, 1, 2, u32::MAX][random.usize(..4)], source << 16 | i)).collect();
            keys.sort_by_key(|key| key.0);
            all.extend_from_slice(&keys);
            made.push((Pieces(keys.into_iter(), random.usize(1..10)), Vec::new()));
        }
        all.sort_by_key(|key| key.0);
        let bits = Narrow(Order { by_first: true, ..Order::default() });
        let mut merge = Merge::new(bits, made).unwrap();
        let (mut merged, mut out) = (Vec::new(), vec![(0, 0); random.usize(1..30)]);
        loop {
            let count = merge.next(&mut out).unwrap();
            merged.extend_from_slice(&out[..count]);
            if count < out.len() {
                break;
            }
        }
        assert_eq!(merge.next(&mut out).unwrap(), 0);
        assert!(merged == all, "{sources} sources");
    }
}

#[test]
fn what_cannot_be_sorted_is_said() {
    let settings = FileSorter::new().memory(LEAST_MEMORY);
    for (from, count) in [(From::File, 19), (From::Pipe, 19), (From::File, CHUNK as usize + 1), (From::Pipe, 500_001)] {
        let error = sort::<u64>(&settings, SMALL, from, &noise(6, count)).unwrap_err();
        let rest = count % 8;
        let text = format!(
            "sort: from: {count} bytes are no whole number of keys of 8 bytes: {rest} left over; name the right --keys"
        );
        assert_eq!((error.kind(), error.to_string()), (io::ErrorKind::InvalidData, text));
    }
    let in_memory = settings.clone().plan(Plan::InMemory);
    let text = sort::<u8>(&in_memory, SMALL, From::File, &noise(7, 1 << 18)).unwrap_err().to_string();
    assert!(text.contains("do not fit into memory"), "{text}");
    let one_pass = settings.clone().plan(Plan::OnePass);
    let text = sort::<u8>(&one_pass, SMALL, From::File, b"12").unwrap_err().to_string();
    assert_eq!(text, "sort: --plan one-pass: numbers have no records to point to; use another plan");
    for (phase, count) in [("read", 1000), ("sort", 1 << 19), ("write", 1000), ("merge", 1 << 18)] {
        let stop = |progress: crate::external::Progress| match progress.phase == phase {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        };
        // Hooks are called a few times a second. A small sort may not come to it.
        let stopped = settings.clone().progress(&stop);
        if let Err(error) = sort::<u64>(&stopped, SMALL, From::File, &noise(8, count)) {
            assert_eq!(error.kind(), io::ErrorKind::Interrupted, "{phase}: {error}");
        } else {
            assert_ne!(phase, "read");
        }
    }
}

/// What is read back must be in order and have the keys of the inputs.
#[test]
fn keys_are_verified() {
    let bytes = noise(9, 300_000);
    let settings = FileSorter::new().memory(LEAST_MEMORY).verify(true);
    let verified = |settings: &FileSorter<'_>, from| {
        let (found, report) = sort::<(u32, u32)>(settings, SMALL, from, &bytes[..299_992]).unwrap();
        assert!(report.phases.iter().any(|phase| phase.name == "verify"), "{report:?}");
        found.len()
    };
    for from in [From::File, From::Pipe] {
        assert_eq!(verified(&settings, from), 37_499);
        assert_eq!(verified(&settings.clone().descending(true).by_first(true), from), 37_499);
        assert_eq!(verified(&settings.clone().unique(true), from), 37_499);
        assert_eq!(verified(&settings.clone().head(10), from), 10);
    }
    for count in [0, 8, 4000] {
        sort::<f64>(&settings, Sizes { chunk: None, at_once: 2 }, From::File, &bytes[..count]).unwrap();
    }
    // A pipe cannot be read back.
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("from"), &bytes[..8]).unwrap();
    let input = || vec![Input::new("from", File::open(folder.path().join("from")).unwrap())];
    let (_reader, writer) = std::io::pipe().unwrap();
    let direct = || Output::direct(File::from(OwnedFd::from(writer.try_clone().unwrap())));
    let now = settings.sort_keys::<u64>(input(), direct(), "pipe").unwrap_err();
    let then = settings.sort_keys_then::<u64>(input(), || Ok(direct()), "pipe").unwrap_err();
    for error in [now, then] {
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        assert!(error.to_string().starts_with("verify: pipe: what is written there cannot be read back"), "{error}");
    }
}

/// The order of keys as records is that of the keys, and every difference is seen.
#[test]
fn keys_as_records_are_in_the_order_of_keys() {
    use crate::records::{Checksum, Format};

    fn compare<K: FileKey>(bytes: &[u8], order: Order) {
        let records = KeyRecords::<K>::new(order).unwrap();
        let (mut scratch, keys) = (Vec::new(), decoded::<K>(bytes));
        let all: Vec<&[u8]> = bytes.chunks_exact(K::WIDTH).collect();
        for (two, keys) in all.windows(2).zip(keys.windows(2)) {
            let wanted = order.compare(keys[0], keys[1]);
            // Whoever compares records reverses a descending order.
            let wanted = if order.reverse { wanted.reverse() } else { wanted };
            assert_eq!(records.prefix(two[0], &mut scratch).cmp(&records.prefix(two[1], &mut scratch)), wanted);
            let one = records.key(two[0], &mut scratch).to_vec();
            assert_eq!(one.as_slice().cmp(records.key(two[1], &mut scratch)), wanted);
        }
        let sum = |bytes: &[u8]| {
            let mut sum = Checksum::default();
            records.include(bytes, &mut sum);
            sum
        };
        let mut other = bytes.to_vec();
        other.rotate_left(K::WIDTH);
        assert_eq!(sum(&other), sum(bytes));
        other[0] ^= 1;
        assert_ne!(sum(&other), sum(bytes));
    }

    let noise = noise(10, 4096);
    let few: Vec<u8> = noise.iter().map(|byte| [0xff, 0xff, 0x7f, 0][*byte as usize % 4]).collect();
    for reverse in [false, true] {
        let order = Order { reverse, ..Order::default() };
        compare::<u8>(&noise, order);
        compare::<i32>(&noise, order);
        compare::<f64>(&noise, order);
        compare::<u128>(&noise, order);
        compare::<(u64, u64)>(&noise, order);
        compare::<f32>(&few, Order { nan_last: true, ..order });
        compare::<f64>(&few, Order { nan_last: true, ..order });
        compare::<(u64, u64)>(&noise, Order { by_first: true, ..order });
        compare::<(u32, u32)>(&noise, Order { by_first: true, ..order });
    }
}

/// In memory and in runs, from files and pipes, with all options, against the sort of the standard library.
#[test]
fn nan_come_last() {
    /// What is the same for numbers that are equal, and in ascending order but for NaN.
    fn place(number: f32) -> (bool, f32) {
        (number.is_nan(), if number.is_nan() { 0.0 } else { number + 0.0 })
    }
    let mut random = fastrand::Rng::with_seed(11);
    let special = [f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.0, -0.0, f32::from_bits(u32::MAX)];
    let numbers: Vec<f32> = (0..60_000)
        .map(|_| if random.u8(..) < 100 { *random.choice(&special).unwrap() } else { f32::from_bits(random.u32(..)) })
        .collect();
    for (descending, unique, head) in [
        (false, false, None),
        (true, false, None),
        (false, true, None),
        (true, true, Some(9)),
        (true, false, Some(59_000)),
    ] {
        let mut wanted: Vec<_> = numbers.iter().copied().map(place).collect();
        wanted.sort_by(|a, b| {
            let numbers = a.1.total_cmp(&b.1);
            a.0.cmp(&b.0).then(if descending { numbers.reverse() } else { numbers })
        });
        if unique {
            wanted.dedup();
        }
        wanted.truncate(head.unwrap_or(usize::MAX));
        let settings = FileSorter::new().memory(LEAST_MEMORY).nan_last(true).verify(true);
        let settings = settings.descending(descending).unique(unique).head(head.unwrap_or(usize::MAX) as u64);
        for (from, chunk) in [(From::File, None), (From::File, Some(CHUNK / 4)), (From::Pipe, Some(CHUNK / 4))] {
            let (found, _) = sort::<f32>(&settings, Sizes { chunk, at_once: 3 }, from, &encode(&numbers)).unwrap();
            let places: Vec<_> = found.iter().copied().map(place).collect();
            assert!(places == wanted, "{descending} {unique} {head:?} {from:?} {chunk:?}");
            if !unique && head.is_none() {
                let bits = |keys: &[f32]| {
                    let mut bits: Vec<u32> = keys.iter().map(|key| key.to_bits()).collect();
                    bits.sort_unstable();
                    bits
                };
                assert!(bits(&found) == bits(&numbers), "{descending} {from:?} {chunk:?}: not the same keys");
            }
        }
    }
}
