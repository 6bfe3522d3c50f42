//! Scanning: counting and finding by each plan, with one thread and two.

use eagre::count::Counter;
use eagre::find::Finder;
use eagre::gensort::{Generator, RECORD, Summary, Validator};
use eagre::records::{CheckError, Checker, Fixed, Format, Klv, Lines, checksum};
use eagre::scan::{Input, Plan};
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::ops::ControlFlow;

use crate::refusing::each_allocation;

pub(crate) const TESTS: &[(&str, fn())] = &[
    ("scan::count", count),
    ("scan::count_a_reader", count_a_reader),
    ("scan::cancel", cancel),
    ("scan::records", records),
    ("scan::check", check),
    ("scan::find", find),
    ("scan::small", small),
];

/// Some pieces for each of two threads, with a line and a word now and then.
fn text() -> Vec<u8> {
    let mut text = vec![b'x'; 5 << 20];
    (0..text.len()).step_by(4001).for_each(|at| text[at] = b'\n');
    (7..text.len() - 4).step_by(900_001).for_each(|at| text[at..at + 4].copy_from_slice(b"wave"));
    text
}

fn file(text: &[u8]) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new_in("/var/tmp").unwrap();
    file.write_all(text).unwrap();
    file.as_file().sync_all().unwrap();
    file
}

const PLANS: [Plan; 3] = [Plan::Map, Plan::Read, Plan::Stream];

fn count() {
    let text = text();
    let file = file(&text);
    let lines = text.iter().filter(|&&byte| byte == b'\n').count() as u64;
    for plan in PLANS {
        for threads in [1, 2] {
            each_allocation(&format!("count: plan {plan}, {threads} threads"), |attempt| {
                let input = File::open(file.path()).unwrap();
                let counter = Counter::new().plan(plan).threads(threads).longest(true).words(true);
                let counted = attempt.call(|| { counter }.input(input));
                match counted {
                    Ok(counted) => {
                        let counts = counted.counts;
                        assert_eq!(
                            (counts.lines, counts.bytes, counts.longest),
                            (Some(lines), text.len() as u64, Some(4000))
                        );
                    }
                    Err(error) => {
                        assert!(attempt.refused() && error.source.kind() == ErrorKind::OutOfMemory, "{error}")
                    }
                }
            });
        }
    }
}

fn count_a_reader() {
    let text = text();
    each_allocation("count: a reader", |attempt| match attempt.call(|| Counter::new().read(&text[..])) {
        Ok(counts) => assert_eq!(counts.bytes, text.len() as u64),
        Err(error) => assert!(attempt.refused() && error.source.kind() == ErrorKind::OutOfMemory, "{error}"),
    });
}

/// A hook that has had enough must not need memory to say so.
fn cancel() {
    let text = text();
    let file = file(&text);
    let enough = |_| ControlFlow::Break(());
    each_allocation("count: cancelled", |attempt| {
        let input = File::open(file.path()).unwrap();
        let counter = Counter::new().threads(2).progress(&enough);
        let error = attempt.call(|| { counter }.input(input)).unwrap_err();
        assert!(error.is_cancelled() || error.source.kind() == ErrorKind::OutOfMemory, "{error}");
    });
}

fn records() {
    let mut bytes = vec![0; 50_000 * RECORD];
    Generator::new().fill(0, &mut bytes);
    let file = file(&bytes);
    for plan in PLANS {
        each_allocation(&format!("records: plan {plan}"), |attempt| {
            let input = File::open(file.path()).unwrap();
            let validator = Validator::new().plan(plan).threads(2);
            match attempt.call(|| { validator }.input(input)) {
                Ok(found) => assert_eq!(found.summary, Summary::of(&bytes)),
                Err(error) => assert!(attempt.refused() && error.source.kind() == ErrorKind::OutOfMemory, "{error}"),
            }
        });
    }
}

fn check() {
    fn each<F: Format>(what: &str, format: &F, bytes: &[u8]) {
        let file = file(bytes);
        for plan in PLANS {
            each_allocation(&format!("check: {what}, plan {plan}"), |attempt| {
                let input = File::open(file.path()).unwrap();
                let checker = Checker::new(format).plan(plan).threads(2);
                match attempt.call(|| { checker }.input(input)) {
                    Ok(found) => assert_eq!(found.checksum, checksum(format, bytes).unwrap()),
                    Err(CheckError::Scan(error)) => {
                        assert!(attempt.refused() && error.source.kind() == ErrorKind::OutOfMemory, "{error}");
                    }
                    Err(error) => panic!("{error}"),
                }
            });
        }
    }
    each("lines", &Lines::default(), &text()[..1 << 20]);
    each("records", &Fixed::gensort(), &[7; 1_000_000]);
    each("values", &Klv::new(1, 4, false).unwrap(), &[&b"k\0\0\x10\0"[..], &[7; 1 << 20]].concat());
}

fn find() {
    let text = text();
    let file = file(&text);
    let expected: Vec<u64> = (7..text.len() as u64 - 4).step_by(900_001).collect();
    for (what, finder) in
        [("one", Finder::new("wave").unwrap()), ("several", Finder::several(["wave", "nothing like it"]).unwrap())]
    {
        for plan in PLANS {
            for threads in [1, 2] {
                let mut offsets = Vec::with_capacity(expected.len());
                each_allocation(&format!("find: {what}, plan {plan}, {threads} threads"), |attempt| {
                    offsets.clear();
                    let input = Input::from(File::open(file.path()).unwrap());
                    let found = attempt.call(|| {
                        finder.clone().threads(threads).plan(plan).each_in_input(input, |found| {
                            offsets.push(found.start);
                            ControlFlow::Continue(())
                        })
                    });
                    match found {
                        Ok(()) => assert_eq!(offsets, expected),
                        Err(error) => {
                            assert!(attempt.refused() && error.source.kind() == ErrorKind::OutOfMemory, "{error}");
                            assert!(expected.starts_with(&offsets), "reported {offsets:?}");
                        }
                    }
                });
                each_allocation(&format!("count of {what}: plan {plan}, {threads} threads"), |attempt| {
                    let input = Input::from(File::open(file.path()).unwrap());
                    match attempt.call(|| finder.clone().threads(threads).plan(plan).input(input)) {
                        Ok(count) => assert_eq!(count, expected.len() as u64),
                        Err(error) => {
                            assert!(attempt.refused() && error.source.kind() == ErrorKind::OutOfMemory, "{error}");
                        }
                    }
                });
            }
        }
    }
}

/// As it is asked for most often, and with a line that is nothing but the pattern.
fn small() {
    let file = file(&[b'a'; 100_000]);
    let finder = Finder::new("aa").unwrap();
    each_allocation("find: a small file", |attempt| {
        let input = Input::from(File::open(file.path()).unwrap());
        match attempt.call(|| finder.clone().input(input)) {
            Ok(count) => assert_eq!(count, 50_000),
            Err(error) => assert!(attempt.refused() && error.source.kind() == ErrorKind::OutOfMemory, "{error}"),
        }
    });
}
