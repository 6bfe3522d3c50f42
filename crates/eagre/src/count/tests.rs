use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::ControlFlow;
use std::sync::Mutex;

use super::{Counter, Counts, read};
use crate::scan::Simd;

/// More than one read.
const LONG: usize = 3 * (256 << 10) + 17;

#[test]
fn counts_newlines_and_bytes() {
    for (text, lines) in [("", 0), ("a", 0), ("\n", 1), ("a\nb", 1), ("\n\n\n", 3)] {
        let counts = read(text.as_bytes()).unwrap();
        assert_eq!((counts.lines, counts.bytes), (Some(lines), text.len() as u64), "{text:?}");
    }
}

#[test]
fn agrees_with_a_naive_count_across_buffer_borders() {
    let data: Vec<u8> = (0..LONG).map(|i| if i % 7 == 0 { b'\n' } else { b'x' }).collect();
    let naive = data.iter().filter(|&&byte| byte == b'\n').count() as u64;
    let reports = Mutex::new(Vec::new());
    let note = |bytes| {
        reports.lock().unwrap().push(bytes);
        ControlFlow::Continue(())
    };
    let counts = Counter::new().progress(&note).read(&data[..]).unwrap();
    assert_eq!((counts.lines, counts.bytes), (Some(naive), data.len() as u64));
    let reports = reports.lock().unwrap();
    assert_eq!(reports.last(), Some(&counts.bytes));
    assert!(reports.is_sorted());
}

/// A reader that is interrupted, returns a few bytes, and then fails.
struct Failing(u32);

impl Read for Failing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0 += 1;
        match self.0 {
            1 => Err(io::ErrorKind::Interrupted.into()),
            2 => {
                buffer[..4].copy_from_slice(b"a\nb\n");
                Ok(4)
            }
            _ => Err(io::Error::other("broken")),
        }
    }
}

#[test]
fn an_error_hands_back_what_was_counted() {
    let error = Counter::new().read(Failing(0)).unwrap_err();
    assert_eq!((error.counts.lines, error.counts.bytes), (Some(2), 4));
    assert_eq!(error.to_string(), "after 4 bytes: broken");
}

#[test]
fn sizes_come_from_metadata_but_only_where_they_can_be_trusted() {
    let page = rustix::param::page_size();
    for size in [0, 1, 511, page - 1, page, page + 1, 8 * page, 100_003, 1 << 20] {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&vec![b'\n'; size]).unwrap();
        for start in [0, 1, size / 2, size, size + 5] {
            file.seek(SeekFrom::Start(start as u64)).unwrap();
            let counts = Counter::new().lines(false).input(file.try_clone().unwrap());
            let left = size.saturating_sub(start) as u64;
            assert_eq!(counts.unwrap().counts.bytes, left, "size {size} from {start}");
        }
    }
}

#[test]
fn proc_files_have_bytes_though_their_size_is_zero() {
    let file = File::open("/proc/version").unwrap();
    assert_eq!(file.metadata().unwrap().len(), 0);
    let counts = Counter::new().lines(false).input(file).unwrap().counts;
    assert_eq!(counts.bytes, std::fs::read("/proc/version").unwrap().len() as u64);
}

#[test]
fn counts_not_asked_for_are_absent() {
    let text = b"two words\n";
    let all = Counts { lines: Some(1), words: Some(2), bytes: 10, longest: Some(9) };
    assert_eq!(Counter::new().words(true).longest(true).read(&text[..]).unwrap(), all);
    let lines = Counter::new().read(&text[..]).unwrap();
    assert_eq!(lines, Counts { words: None, longest: None, ..all });
    let words = Counter::new().lines(false).words(true);
    assert_eq!(words.nothing(), Counts { words: Some(0), ..Counts::default() });
    let both = { words }.read(&text[..]).unwrap().checked_add(all).unwrap();
    assert_eq!(both, Counts { lines: None, words: Some(4), bytes: 20, longest: None });
}

#[test]
fn sums_that_do_not_fit_are_noticed() {
    let huge = Counts { bytes: u64::MAX, ..Counts::default() };
    assert_eq!(huge.checked_add(Counts::default()), Some(huge));
    assert_eq!(huge.checked_add(Counts { bytes: 1, ..Counts::default() }), None);
}

#[test]
fn instructions_make_no_difference_and_missing_ones_are_refused() {
    let data: Vec<u8> = (0..LONG).map(|i| if i % 11 == 0 { b'\n' } else { b'x' }).collect();
    let count = |simd| Counter::new().words(true).longest(true).simd(simd).read(&data[..]);
    let expected = count(Simd::Portable).unwrap();
    assert_eq!(expected.lines, Some(data.iter().filter(|&&byte| byte == b'\n').count() as u64));
    for simd in Simd::ALL {
        match count(simd) {
            Ok(counts) => assert_eq!((counts, simd.is_available()), (expected, true), "{simd}"),
            Err(error) => {
                assert_eq!((error.source.kind(), simd.is_available()), (io::ErrorKind::InvalidInput, false), "{simd}");
                assert_eq!(error.source.to_string(), format!("simd {simd}: this processor has no such instructions"));
            }
        }
    }
}
