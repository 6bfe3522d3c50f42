//! Streams into streams: like the sort of the standard library, and every early end is an error at the other end.

use std::io::{BufRead, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

use super::*;
use crate::records::{Fixed, KeyRange, Klv, Lines};
use crate::{Pipe, Writer};

/// So much does not fit into the least memory.
const LARGE: usize = 12 << 20;

fn lines(size: usize) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(size as u64 + 1);
    let mut lines = Vec::new();
    while lines.len() < size {
        lines.extend((0..random.usize(0..40)).map(|_| random.u8(b'a'..=b'z')));
        lines.push(b'\n');
    }
    lines
}

fn sorted_lines(bytes: &[u8]) -> Vec<u8> {
    let mut lines: Vec<_> = bytes.split_inclusive(|&byte| byte == b'\n').collect();
    lines.sort();
    lines.concat()
}

fn small() -> FileSorter<'static> {
    FileSorter::new().memory(LEAST_MEMORY).threads(2)
}

/// Writes in pieces of odd sizes.
fn write(input: &mut Writer, bytes: &[u8]) -> io::Result<()> {
    bytes.chunks(70_001).try_for_each(|piece| input.write_all(piece))
}

/// Nothing is left of a sort with temporary files in this folder.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn sorter(&self) -> FileSorter<'static> {
        small().temporary(self.0.path())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert_eq!(std::fs::read_dir(self.0.path()).unwrap().count(), 0, "nothing is left behind");
        }
    }
}

fn check<F: Format + Clone + Send + 'static>(sorter: &FileSorter<'static>, format: &F, bytes: &[u8], expected: &[u8]) {
    // One thread.
    let (mut input, mut output) = sorter.stream(format.clone()).unwrap();
    write(&mut input, bytes).unwrap();
    input.finish().unwrap();
    let mut sorted = Vec::new();
    output.read_to_end(&mut sorted).unwrap();
    assert!(sorted == expected, "{} of {} bytes", sorted.len(), expected.len());
    let report = output.report().unwrap();
    assert_eq!((report.bytes, report.written), (bytes.len() as u64, expected.len() as u64));
    assert_eq!(report.runs > 1, bytes.len() >= LARGE, "{report:?}");
    assert_eq!(output.report().unwrap(), report);
    // Two.
    let (mut input, mut output) = sorter.stream(format.clone()).unwrap();
    let bytes = bytes.to_vec();
    let writer = std::thread::spawn(move || write(&mut input, &bytes).and_then(|()| Ok(input.finish()?)));
    sorted.clear();
    output.read_to_end(&mut sorted).unwrap();
    assert!(sorted == expected, "{} of {} bytes", sorted.len(), expected.len());
    writer.join().unwrap().unwrap();
}

#[test]
fn streams_of_all_sizes_and_formats() {
    let folder = Folder::new();
    for size in [0, 1000, LARGE] {
        let text = lines(size);
        check(&folder.sorter(), &Lines::default(), &text, &sorted_lines(&text));

        let mut random = fastrand::Rng::with_seed(3);
        let numbers: Vec<u64> = (0..size / 8).map(|_| random.u64(0..1000) << 32 | random.u64(0..1000)).collect();
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        let mut sorted = numbers;
        sorted.sort_by_key(|number| std::cmp::Reverse(number >> 32));
        let sorted: Vec<u8> = sorted.iter().flat_map(|number| number.to_le_bytes()).collect();
        let high: KeyRange = "4:u32".parse().unwrap();
        check(&folder.sorter().descending(true), &Fixed::new(8, &[high]).unwrap(), &bytes, &sorted);
    }
    let (mut input, mut output) =
        folder.sorter().unique(true).head(2).header(b"first\n").stream(Lines::default()).unwrap();
    input.write_all(b"b\nc\na\nb\na").unwrap();
    input.finish().unwrap();
    let found: Vec<String> = output.by_ref().lines().map(Result::unwrap).collect();
    assert_eq!(found, ["first", "a", "b"]);
}

#[test]
fn inputs_are_sorted_and_merged_into_a_stream() {
    let folder = Folder::new();
    let place = tempfile::tempdir().unwrap();
    let text = lines(LARGE);
    let path = place.path().join("from");
    std::fs::write(&path, &text).unwrap();
    for plan in [Plan::Auto, Plan::Classic, Plan::OnePass, Plan::MergePass] {
        let memory = if plan == Plan::OnePass { 64 << 20 } else { LEAST_MEMORY };
        let (mut to, mut from) = Pipe::builder().explicit().open().unwrap().split();
        let sorter = folder.sorter().memory(memory).plan(plan);
        let input = Input::new("from", File::open(&path).unwrap());
        let thread = std::thread::spawn(move || sorter.sort_into(&Lines::default(), vec![input], &mut to));
        let mut sorted = Vec::new();
        from.read_to_end(&mut sorted).unwrap();
        assert!(sorted == sorted_lines(&text), "{plan}");
        let report = thread.join().unwrap().unwrap();
        assert!(plan == Plan::Auto || report.plan == plan, "{report:?}");
    }
    let (mut to, mut from) = Pipe::builder().explicit().open().unwrap().split();
    let inputs = ["a\nc\n", "b\nd"].map(|text| {
        let (mut writer, reader) = Pipe::builder().explicit().open().unwrap().split();
        writer.copy_in(text.as_bytes()).unwrap();
        writer.finish().unwrap();
        Input::new("a stream", reader)
    });
    folder.sorter().merge_into(&Lines::default(), inputs.into(), &mut to).unwrap();
    let mut merged = String::new();
    from.read_to_string(&mut merged).unwrap();
    assert_eq!(merged, "a\nb\nc\nd\n");
}

#[test]
fn a_record_that_is_cut_short_is_an_error_with_its_place() {
    let folder = Folder::new();
    let format = Klv::new(4, 2, false).unwrap();
    for records in [3_usize, 1_500_000] {
        let mut bytes = b"key.\x05\0value".repeat(records);
        bytes.extend_from_slice(b"key.\x64\0short");
        let (mut input, mut output) = folder.sorter().stream(format).unwrap();
        write(&mut input, &bytes).unwrap();
        input.finish().unwrap();
        let error = output.read_to_end(&mut Vec::new()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{error}");
        let text = error.to_string();
        let wanted =
            format!("read: input: the last record is cut short: it has 11 bytes of 106, from byte {} on", 11 * records);
        assert_eq!(text, wanted);
        // Whoever reads on gets an error, not an end.
        let again = output.read_to_end(&mut Vec::new()).unwrap_err().to_string();
        assert!(again.contains("it has 11 bytes of 106"), "{again}");
        output.report().unwrap_err();
        // By way of the reader that it is.
        let (mut to, mut from) = Pipe::builder().explicit().open().unwrap().split();
        let path = folder.0.path().join("from");
        std::fs::write(&path, &bytes).unwrap();
        let inputs = vec![Input::new("a file", File::open(&path).unwrap())];
        let error = folder.sorter().sort_into(&format, inputs, &mut to).unwrap_err().to_string();
        let told = from.read_to_end(&mut Vec::new()).unwrap_err().to_string();
        assert!(told.contains(&error) && error.contains("it has 11 bytes of 106"), "{told}; {error}");
        std::fs::remove_file(path).unwrap();
    }
}

/// The writer is told why nobody reads on.
#[test]
fn a_sort_that_fails_stops_the_writer() {
    let folder = Folder::new();
    let (mut input, mut output) = folder.sorter().stream(Klv::new(1, 8, false).unwrap()).unwrap();
    input.write_all(&[b'k', 0, 0, 0, 0, 0, 0, 0, 1]).unwrap();
    let error = loop {
        match input.write_all(&[b'x'; 100_000]) {
            Ok(()) => assert!(input.position() < 1 << 30),
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    let text = error.to_string();
    assert!(text.contains("input: the record at byte 0 is longer than"), "{text}");
    let error = output.read(&mut [0]).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    assert!(text.contains(&error.to_string()), "{text}: {error}");
}

#[test]
fn a_writer_that_does_not_finish_makes_the_sort_fail() {
    let folder = Folder::new();
    for size in [0, 1000, LARGE] {
        let (mut input, mut output) = folder.sorter().stream(Lines::default()).unwrap();
        write(&mut input, &lines(size)).unwrap();
        drop(input);
        let mut sorted = Vec::new();
        let error = output.read_to_end(&mut sorted).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{error}");
        assert!(error.to_string().contains("dropped before it finished"), "{error}");
        assert!(sorted.is_empty());
        output.fill_buf().unwrap_err();
    }
}

#[test]
fn a_reader_that_is_dropped_stops_everything() {
    let folder = Folder::new();
    for (size, read) in [(0, 0), (1000, 0), (LARGE, 0), (1000, 10), (LARGE, 5 << 20)] {
        let alive = Arc::new(());
        let owned = alive.clone();
        let hook = move |_| {
            let _ = &owned;
            ControlFlow::Continue(())
        };
        let (mut input, mut output) = folder.sorter().stream_with_progress(Lines::default(), hook).unwrap();
        write(&mut input, &lines(size)).unwrap();
        if read > 0 {
            input.finish().unwrap();
            output.read_exact(&mut vec![0; read]).unwrap();
        }
        drop(output);
        assert_eq!(Arc::strong_count(&alive), 1, "the thread has ended");
        if read == 0 {
            let error = io::Error::from(input.finish().unwrap_err());
            assert_eq!(error.kind(), io::ErrorKind::BrokenPipe, "{size}: {error}");
            let error = input.write_all(&lines(LARGE)).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::BrokenPipe, "{size}: {error}");
        }
    }
    // The writer waits for the sort meanwhile.
    let (mut input, output) = folder.sorter().stream(Lines::default()).unwrap();
    let begun = Arc::new(AtomicBool::new(false));
    let told = begun.clone();
    let writer = std::thread::spawn(move || {
        loop {
            if let Err(error) = input.write_all(&[b'\n'; 1000]) {
                break error.kind();
            }
            told.store(true, SeqCst);
        }
    });
    while !begun.load(SeqCst) {
        std::thread::yield_now();
    }
    drop(output);
    assert_eq!(writer.join().unwrap(), io::ErrorKind::BrokenPipe);
}

#[test]
fn both_ends_may_be_dropped_in_any_order() {
    let folder = Folder::new();
    for writer_first in [false, true] {
        let (input, output) = folder.sorter().stream(Lines::default()).unwrap();
        if writer_first {
            drop(input);
            drop(output);
        } else {
            drop(output);
            drop(input);
        }
    }
}

#[test]
fn progress_is_told_and_may_stop_the_sort() {
    let folder = Folder::new();
    let done = Arc::new(AtomicU64::new(0));
    for stop in [false, true] {
        let told = done.clone();
        let hook = move |progress: Progress| {
            told.fetch_max(progress.done, SeqCst);
            if stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let (mut input, mut output) = folder.sorter().stream_with_progress(Lines::default(), hook).unwrap();
        let written = write(&mut input, &lines(LARGE)).and_then(|()| Ok(input.finish()?));
        let read = output.read_to_end(&mut Vec::new());
        if stop {
            assert_eq!(read.unwrap_err().to_string(), "sort: it was stopped");
            let error = written.unwrap_err();
            assert!(
                error.kind() == io::ErrorKind::BrokenPipe && error.to_string().contains("it was stopped"),
                "{error}"
            );
        } else {
            assert_eq!((written.unwrap(), read.unwrap()), ((), lines(LARGE).len()));
        }
    }
    assert!(done.load(SeqCst) > 0);
}

#[test]
fn what_streams_cannot_do_is_said_at_once() {
    let refused = |sorter: FileSorter<'static>| {
        let error = sorter.stream(Lines::default()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        error.to_string()
    };
    let text = refused(small().verify(true));
    assert_eq!(text, "verify: a stream cannot be read back; sort to a file, or do not verify");
    let (mut to, _from) = Pipe::builder().explicit().open().unwrap().split();
    let error = small().verify(true).sort_into(&Lines::default(), Vec::new(), &mut to).unwrap_err();
    assert_eq!(error.to_string(), text);
    assert!(refused(small().plan(Plan::OnePass)).contains("--plan one-pass: the input is not a single file"));
    assert!(refused(small().memory(1)).contains("too few"));

    let (mut input, mut output) = small().stream(Lines::default()).unwrap();
    input.write_all(b"b\na\n").unwrap();
    input.finish().unwrap();
    assert!(output.report().unwrap_err().to_string().contains("read to the end first"));
}
