//! Arbitrary bytes as an index, and others as the data: `gather` makes of them what the page `docs/sorting-files.md` says,
//! or an error of one line where that says nothing. The reader here is written from the table of that page alone.
//!
//! The first bytes say whether the front of the index is right but for a few changes, what its entries are like, and which
//! of them are wanted.
#![no_main]

use std::fs::File;
use std::os::unix::fs::FileExt;

use eagre::external::{Gatherer, IndexHeader};
use eagre::file::Output;
use libfuzzer_sys::fuzz_target;
use rustix::fs::{MemfdFlags, Mode, OFlags, memfd_create, open};

fuzz_target!(|input: ([u8; 8], Vec<(u8, u8)>, &[u8], &[u8])| {
    let ([front, key, offset, flags, size, start, count, how], changes, entries, data) = input;
    let mut index = Vec::new();
    if front > 0 {
        let wide = if offset % 2 == 0 { 5 } else { 8 };
        let (whole, sized) = (flags & 2 != 0, flags & 8 != 0);
        let key = if whole { usize::from(key) % 65 } else { 16 };
        let entry = key + wide * if sized { 1 } else { 2 };
        let record = if sized { u64::from(size) + 1 } else { 0 };
        index.extend(b"EAGREIDX\x01\0");
        index.extend([key as u8, 0, wide as u8, if sized { 0 } else { wide as u8 }, flags & 7, b'\n']);
        for number in [(entries.len() / entry) as u64, record, data.len() as u64] {
            index.extend(number.to_le_bytes());
        }
        index.resize(64, 0);
        // Offsets and lengths that are all below the size of the data sometimes, so that some entries are right.
        index.extend(&entries[..entries.len() / entry * entry]);
        if front > 127 {
            for number in index[64..].chunks_exact_mut(entry).flat_map(|entry| entry[key..].chunks_exact_mut(wide)) {
                number[1..].fill(0);
            }
        }
        for (at, byte) in changes {
            index[usize::from(at) % 64] = byte;
        }
    } else {
        index.extend(entries);
    }
    let range = (u64::from(start), (count > 0).then(|| u64::from(start) + u64::from(count) - 1));
    let range = if how & 4 == 0 { (0, None) } else { range };
    check(&index, data, range, how);
});

/// Gathers, and compares what was made with what should be.
fn check(index: &[u8], data: &[u8], range: (u64, Option<u64>), how: u8) {
    let [index_file, out] = [0, 1].map(|_| in_memory());
    let data_file = if how & 1 == 0 { in_memory() } else { on_disk() };
    index_file.write_all_at(index, 0).expect("memory");
    data_file.write_all_at(data, 0).expect("room");
    let gatherer = Gatherer::new().threads(1 + usize::from(how >> 3 & 3)).range(range.0, range.1).copied(true);
    let output = Output::direct(out.try_clone().expect("a descriptor"));
    let made = gatherer.gather((&index_file, "index"), (&data_file, "data"), output, "out");
    let wanted = expected(index, data, range);
    match (made, wanted) {
        (Ok(count), Some((records, content))) => {
            let mut found = vec![0; out.metadata().expect("a file").len() as usize];
            out.read_exact_at(&mut found, 0).expect("what was written");
            assert_eq!(count, records);
            assert!(found == content);
            assert_eq!(IndexHeader::read(&index_file).expect("an index").data_bytes, data.len() as u64);
        }
        (Err(error), None) => {
            let text = error.to_string();
            assert!(text.starts_with("gather: ") && !text.contains('\n'), "{text}");
        }
        (made, wanted) => panic!("{made:?} instead of {wanted:?}"),
    }
}

/// What the index says, if it is one of the data: how many records there are in the range, and what they are.
fn expected(index: &[u8], data: &[u8], (start, end): (u64, Option<u64>)) -> Option<(u64, Vec<u8>)> {
    let number = |at: usize, size: usize| {
        index[at..at + size].iter().rev().fold(0_u64, |number, &byte| number << 8 | u64::from(byte))
    };
    if index.len() < 64 || &index[..8] != b"EAGREIDX" || number(8, 2) != 1 || index[52..64] != [0; 12] {
        return None;
    }
    let (key, wide, long) = (number(10, 2) as usize, index[12] as usize, index[13] as usize);
    let (flags, end_byte, count, record) = (index[14], index[15], number(16, 8), number(24, 8));
    let right = flags < 8
        && (wide == 5 || wide == 8)
        && long == if record > 0 { 0 } else { wide }
        && if flags & 2 == 0 { key == 16 } else { key <= 64 };
    let entry = key + wide + long;
    if !right || number(32, 8) != data.len() as u64 || u128::from(count) * entry as u128 != (index.len() - 64) as u128 {
        return None;
    }
    let end = end.unwrap_or(count.max(start));
    if end > count || start > end {
        return None;
    }
    let mut content = Vec::new();
    for rank in start as usize..end as usize {
        let at = 64 + rank * entry + key;
        let (offset, length) = (number(at, wide), if record > 0 { record } else { number(at + wide, wide) });
        let until = offset.checked_add(length).filter(|&until| length > 0 && until <= data.len() as u64)?;
        let bytes = &data[offset as usize..until as usize];
        content.extend(bytes);
        if flags & 4 != 0 && bytes.last() != Some(&end_byte) {
            content.push(end_byte);
        }
    }
    Some((end - start, content))
}

fn in_memory() -> File {
    memfd_create("eagre-fuzz", MemfdFlags::CLOEXEC).expect("a file in memory").into()
}

/// A file whose records are mapped, not read; where there can be none without a name, one in memory.
fn on_disk() -> File {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    open("/var/tmp", flags, Mode::RUSR | Mode::WUSR).map_or_else(|_| in_memory(), Into::into)
}
