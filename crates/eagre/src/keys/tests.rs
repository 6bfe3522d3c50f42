use super::file::PIECE;
use super::*;
use crate::Pipe;
use crate::file::{self, ReadOptions};
use std::io::Write;

/// Keys of all kinds as a file and back; the bytes are those of the standard library.
fn round_trip<K: FileKey>(keys: &[K], bytes: &[u8]) {
    assert_eq!(bytes.len(), size_of_val(keys));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys");
    let mut writer = file::create(&path).unwrap();
    let mut written = 0;
    write(keys, &mut writer, |bytes| written = bytes).unwrap();
    writer.finish().unwrap();
    assert!(std::fs::read(&path).unwrap() == bytes);
    let mut back = vector::<K>(Some(keys.len()), 0).unwrap();
    let mut got = 0;
    read(&mut file::open(&path).unwrap(), &mut back, |bytes| got = bytes).unwrap();
    assert!(back[..] == *keys);
    assert_eq!((written, got), (bytes.len() as u64, bytes.len() as u64));
}

fn numbers(count: usize) -> Vec<u128> {
    let mut rng = fastrand::Rng::with_seed(7);
    (0..count).map(|_| rng.u128(..)).collect()
}

#[test]
fn every_kind_of_key_there_and_back() {
    macro_rules! there_and_back {
        ($count:expr, $($type:ty),*) => {
            $({
                let keys: Vec<$type> = numbers($count).into_iter().map(|n| n as $type).collect();
                let bytes: Vec<u8> = keys.iter().flat_map(|key| key.to_le_bytes()).collect();
                round_trip(&keys, &bytes);
            })*
        };
    }
    for count in [0, 1, 2, 9000, 300_001] {
        there_and_back!(count, u8, i8, u16, i16, u32, i32, f32, u64, i64, f64, u128, i128);
        let halves: Vec<(u32, u32)> = numbers(count).iter().map(|&n| (n as u32, (n >> 90) as u32)).collect();
        let bytes: Vec<u8> = halves.iter().flat_map(|(a, b)| [a.to_le_bytes(), b.to_le_bytes()].concat()).collect();
        round_trip(&halves, &bytes);
        let halves: Vec<(u64, u64)> = numbers(count).iter().map(|&n| (n as u64, (n >> 64) as u64)).collect();
        let bytes: Vec<u8> = halves.iter().flat_map(|(a, b)| [a.to_le_bytes(), b.to_le_bytes()].concat()).collect();
        round_trip(&halves, &bytes);
    }
}

#[test]
fn a_stream_that_begins_anywhere_and_blocks_that_cut_keys() {
    let keys: Vec<u128> = numbers(40_000);
    let bytes: Vec<u8> = keys.iter().flat_map(|key| key.to_le_bytes()).collect();
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(b"abc").unwrap();
    file.write_all(&bytes).unwrap();
    // The stream begins behind the three bytes in one case, and its reader goes past them in the other.
    let mut later = ReadOptions::new().from(3).open(file.path()).unwrap();
    let small = Pipe::builder().block_size(crate::BlockSize::MIN);
    let mut past = ReadOptions::new().stream(small).open(file.path()).unwrap();
    past.fill(3).unwrap();
    past.consume(3);
    for reader in [&mut later, &mut past] {
        let mut back = vector::<u128>(None, 0).unwrap();
        read(reader, &mut back, |_| ()).unwrap();
        assert!(back[..] == keys[..]);
    }
}

#[test]
fn what_is_left_over_is_an_error() {
    let file = tempfile::NamedTempFile::new().unwrap();
    for (bytes, rest) in [(7, 7), (17, 1), (300_003, 3)] {
        std::fs::write(file.path(), vec![1; bytes]).unwrap();
        let mut keys = vector::<u64>(None, 0).unwrap();
        let error = read(&mut file::open(file.path()).unwrap(), &mut keys, |_| ()).unwrap_err();
        let said = format!("{bytes} bytes are no whole number of keys of 8 bytes: {rest} left over");
        assert_eq!(error.to_string(), said);
        assert_eq!(keys.len(), bytes / 8);
    }
}

#[test]
fn a_vector_that_is_too_small_is_an_error() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), vec![1; 3 << 20]).unwrap();
    let mut keys = vector::<u64>(Some(10), 0).unwrap();
    let error = read(&mut file::open(file.path()).unwrap(), &mut keys, |_| ()).unwrap_err();
    assert!(matches!(error, ReadError::Memory(_)), "{error}");
}

/// Against a search by the standard library, around the borders of pieces.
#[test]
fn the_first_disorder_is_found() {
    let count = 3 * PIECE / 8 + 5;
    let file = tempfile::NamedTempFile::new().unwrap();
    let disorder = |keys: &[(u32, u32)], order| {
        let bytes: Vec<u8> = keys.iter().flat_map(|(a, b)| [a.to_le_bytes(), b.to_le_bytes()].concat()).collect();
        std::fs::write(file.path(), bytes).unwrap();
        check::<(u32, u32)>(&mut file::open(file.path()).unwrap(), order, |_| ()).unwrap()
    };
    let ascending: Vec<(u32, u32)> = (0..count as u32).map(|n| (n / 2, 5 - n % 2)).collect();
    let by_first = Order { by_first: true, ..Order::default() };
    assert_eq!(disorder(&ascending, by_first), None);
    assert_eq!(disorder(&ascending, Order::default()), Some(Disorder { index: 1, before: (0, 5), key: (0, 4) }));
    let strict = Order { strict: true, ..by_first };
    assert_eq!(disorder(&ascending, strict), Some(Disorder { index: 1, before: (0, 5), key: (0, 4) }));
    for at in [1, 2, PIECE / 8 - 1, PIECE / 8, PIECE / 8 + 1, count - 1] {
        let mut keys: Vec<(u32, u32)> = (0..count as u32).map(|n| (n + 9, 0)).collect();
        keys[at].0 = keys[at - 1].0;
        assert_eq!(disorder(&keys, Order::default()), None);
        keys[at].0 -= 1;
        let index = (1..count).find(|&i| keys[i - 1] > keys[i]).unwrap();
        let found = Disorder { index: index as u64, before: keys[at - 1], key: keys[at] };
        assert_eq!(disorder(&keys, by_first), Some(found));
        keys.reverse();
        let descending = Order { reverse: true, ..Order::default() };
        let index = (1..count).find(|&i| keys[i - 1] < keys[i]).unwrap();
        assert_eq!(disorder(&keys, descending).map(|found| found.index), Some(index as u64));
    }
    for few in [&[][..], &[(3, 4)]] {
        assert_eq!(disorder(few, Order { strict: true, ..Order::default() }), None);
    }
}

#[test]
fn the_first_of_each_run_is_kept() {
    let by_first = Order { by_first: true, ..Order::default() };
    let keys = [(1u32, 9u32), (1, 9), (1, 8), (2, 0), (3, 1), (3, 1)];
    for (order, kept) in
        [(Order::default(), &[(1, 9), (1, 8), (2, 0), (3, 1)][..]), (by_first, &[(1, 9), (2, 0), (3, 1)])]
    {
        let mut keys = keys;
        let count = unique(&mut keys, order);
        assert_eq!(keys[..count], *kept);
    }
    assert_eq!(unique::<u64>(&mut [], Order::default()), 0);
    // Zeros of both signs are different keys, as in the order they are sorted by.
    assert_eq!(unique(&mut [-0.0f64, 0.0, 0.0], Order::default()), 2);
}
