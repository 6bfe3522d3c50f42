//! Compressed runs and outputs against the sort of the standard library, and against the programs that people have.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::*;
use crate::compressed::{self, Format as Packed};
use crate::records::{Checker, Fixed, KeyRange, Klv, Lines};
use crate::scan;

/// Keys of one to three letters, and what follows them: a text that can be compressed.
fn lines(bytes: usize, seed: u64) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut lines = Vec::new();
    while lines.len() < bytes {
        lines.extend((0..random.usize(1..4)).map(|_| random.u8(b'a'..=b'z')));
        lines.extend_from_slice(format!(" the line number {}\n", random.u16(..)).as_bytes());
    }
    lines
}

fn sorted(lines: &[u8]) -> Vec<u8> {
    let mut lines: Vec<_> = lines.split_inclusive(|&byte| byte == b'\n').collect();
    lines.sort();
    lines.concat()
}

/// Sorts a file with its runs as they are and compressed. Both outputs must be the same.
fn both<F: Format>(format: &F, bytes: &[u8], memory: u64, plan: Plan) -> (Vec<u8>, [Report; 2]) {
    let folder = tempfile::tempdir().unwrap();
    let from = folder.path().join("from");
    fs::write(&from, bytes).unwrap();
    let sort = |packed: bool| {
        let to = folder.path().join("to");
        let sorter = FileSorter::new().memory(memory).threads(2).temporary(folder.path()).plan(plan);
        let report = sorter.compress_runs(packed).verify(true).sort_file(format, &from, &to).unwrap();
        assert!(report.plan == plan && report.runs > u64::from(plan == Plan::Classic), "{report:?}");
        (fs::read(to).unwrap(), report)
    };
    let ((plain, report), (packed, packed_report)) = (sort(false), sort(true));
    assert!(plain == packed, "{plan}: {packed_report:?}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing is left behind");
    (plain, [report, packed_report])
}

#[test]
fn runs_of_all_formats_and_plans() {
    let mut random = fastrand::Rng::with_seed(1);
    let lines = lines(12 << 20, 1);
    for plan in [Plan::Classic, Plan::MergePass] {
        let (found, [plain, packed]) = both(&Lines::default(), &lines, LEAST_MEMORY, plan);
        assert!(found == sorted(&lines));
        assert!(packed.temporary > 0 && packed.temporary < plain.temporary * 3 / 4, "{packed:?} {plain:?}");
    }
    // Nothing that can be compressed: blocks are kept as they are.
    let noise: Vec<u8> = (0..100_000 * 100).map(|_| random.u8(..)).collect();
    let (found, [plain, packed]) = both(&Fixed::gensort(), &noise, LEAST_MEMORY, Plan::Classic);
    let mut records: Vec<_> = noise.chunks(100).collect();
    records.sort_by_key(|record| &record[..10]);
    assert!(found == records.concat());
    assert!((plain.temporary..plain.temporary * 101 / 100).contains(&packed.temporary), "{packed:?} {plain:?}");

    let keys: Vec<KeyRange> = ["90:i32", "3:2:desc"].iter().map(|key| key.parse().unwrap()).collect();
    both(&Fixed::new(100, &keys).unwrap(), &noise, LEAST_MEMORY, Plan::Classic);
    let mut pairs = Vec::new();
    while pairs.len() < 10 << 20 {
        let length = random.u16(0..500);
        pairs.extend((0..3).map(|_| random.u8(..)));
        pairs.extend_from_slice(&length.to_le_bytes());
        pairs.resize(pairs.len() + usize::from(length), b'v');
    }
    both(&Klv::new(3, 2, false).unwrap(), &pairs, LEAST_MEMORY, Plan::Classic);
}

/// Segments of several threads begin inside of runs.
#[test]
fn runs_that_several_threads_read() {
    let lines = lines(40 << 20, 2);
    let (found, [plain, packed]) = both(&Lines::default(), &lines, 48 << 20, Plan::Classic);
    assert!(found == sorted(&lines), "{plain:?} {packed:?}");
}

#[test]
fn runs_of_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = fastrand::Rng::with_seed(3);
    let mut numbers: Vec<u64> = (0..3_000_000).map(|_| random.u64(..1 << 40)).collect();
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    fs::write(&from, bytes).unwrap();
    let input = Input::new("from", File::open(&from).unwrap());
    let sorter = FileSorter::new().memory(LEAST_MEMORY).threads(2).temporary(folder.path()).compress_runs(true);
    let report = sorter.sort_keys::<u64>(vec![input], Output::create(&to).unwrap(), &to).unwrap();
    assert!(report.runs > 1 && report.temporary < report.bytes * 9 / 10, "{report:?}");
    numbers.sort_unstable();
    assert!(fs::read(&to).unwrap() == numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>());
}

const FORMATS: [(Packed, &str, &str); 3] =
    [(Packed::Gzip, "gz", "gzip"), (Packed::Zstd, "zst", "zstd"), (Packed::Lz4, "lz4", "lz4")];

/// The content of a file, by our decoder.
fn unpacked(path: &Path) -> Vec<u8> {
    let mut content = Vec::new();
    match compressed::open(path).unwrap() {
        scan::Input::Stream(mut reader) => io::Read::read_to_end(&mut reader, &mut content).unwrap(),
        scan::Input::File(_) => panic!("{} is not compressed", path.display()),
    };
    content
}

/// The content of a file, by the program of its format. `None` if there is no such program here.
fn unpacked_by(program: &str, path: &Path) -> Option<Vec<u8>> {
    let tested = Command::new(program).arg("-t").arg(path).output().ok()?;
    assert!(tested.status.success(), "{program} -t: {tested:?}");
    let unpacked = Command::new(program).arg("-dc").arg(path).output().unwrap();
    assert!(unpacked.status.success());
    Some(unpacked.stdout)
}

#[test]
fn outputs_of_all_formats() {
    let folder = tempfile::tempdir().unwrap();
    let from = folder.path().join("from");
    for (bytes, plan, memory) in [
        (0, Plan::Auto, LEAST_MEMORY),
        (1, Plan::Auto, LEAST_MEMORY),
        (5 << 20, Plan::InMemory, 256 << 20),
        (5 << 20, Plan::OnePass, 256 << 20),
        (10 << 20, Plan::Classic, LEAST_MEMORY),
    ] {
        let lines = lines(bytes, 4);
        let wanted = [&b"a header\n"[..], &sorted(&lines)].concat();
        fs::write(&from, &lines).unwrap();
        for (format, suffix, program) in FORMATS {
            let to = folder.path().join("to").with_extension(suffix);
            let sorter = FileSorter::new().memory(memory).threads(3).temporary(folder.path()).plan(plan);
            let sorter = sorter.header(b"a header\n").compress(format).verify(true);
            let report = sorter.sort_file(&Lines::default(), &from, &to).unwrap();
            assert_eq!((report.written, report.bytes), (wanted.len() as u64, lines.len() as u64));
            let size = fs::metadata(&to).unwrap().len();
            assert!(bytes < 1000 || size < wanted.len() as u64 / 2, "{program}: {size} bytes, {report:?}");
            assert!(unpacked(&to) == wanted, "{program} {plan}");
            if let Some(found) = unpacked_by(program, &to) {
                assert!(found == wanted, "{program} {plan}");
            } else {
                eprintln!("skipped: there is no {program} here");
            }
            // It is an input like any other.
            let again = folder.path().join("again");
            let input = Input::new("to", compressed::open(&to).unwrap());
            let output = Output::create(&again).unwrap();
            FileSorter::new().memory(memory).sort(&Lines::default(), vec![input], output, &again).unwrap();
            assert!(fs::read(&again).unwrap() == sorted(&wanted), "{program} {plan}");
            for made in [to, again] {
                fs::remove_file(made).unwrap();
            }
        }
    }
}

#[test]
fn an_output_without_content_is_valid() {
    let folder = tempfile::tempdir().unwrap();
    let from = folder.path().join("from");
    fs::write(&from, "").unwrap();
    for (format, suffix, program) in FORMATS {
        let to = folder.path().join("to").with_extension(suffix);
        FileSorter::new().memory(LEAST_MEMORY).compress(format).sort_file(&Lines::default(), &from, &to).unwrap();
        assert!(unpacked(&to).is_empty());
        assert_eq!(unpacked_by(program, &to).unwrap_or_default(), b"");
    }
}

#[test]
fn a_compressed_output_that_fails_does_not_appear() {
    use crate::file::faulty::{Faults, plan};

    let folder = tempfile::tempdir().unwrap();
    for name in ["in", "out"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    let (from, to) = (folder.path().join("in/from"), folder.path().join("out/to.gz"));
    fs::write(&from, lines(6 << 20, 5)).unwrap();
    let sorter = FileSorter::new().memory(256 << 20).threads(2).verify(true).plan(Plan::InMemory);
    for (format, ..) in FORMATS {
        let sorter = sorter.clone().compress(format);
        for byte in [0, 100 * 4096] {
            let faults = Faults { seed: byte, bad: Some((byte, libc::ENOSPC)), ..Faults::default() };
            let planned = plan(&folder.path().join("out"), faults);
            let error = sorter.sort_file(&Lines::default(), &from, &to).unwrap_err();
            drop(planned);
            let text = error.to_string();
            assert!(text.contains(to.to_str().unwrap()) && text.contains(&format!("at byte {byte}")), "{text}");
            assert_eq!(error.kind(), io::ErrorKind::StorageFull, "{text}");
            assert_eq!(fs::read_dir(folder.path().join("out")).unwrap().count(), 0, "{text}");
        }
    }
    let stop = |progress: Progress| match progress.phase {
        "write" => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    let stopped = sorter.compress(Packed::Gzip).progress(&stop).sort_file(&Lines::default(), &from, &to);
    assert_eq!(stopped.unwrap_err().kind(), io::ErrorKind::Interrupted);
    assert_eq!(fs::read_dir(folder.path().join("out")).unwrap().count(), 0);
}

#[test]
fn what_is_verified_is_the_content() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to.zst"));
    let lines = lines(3 << 20, 6);
    fs::write(&from, &lines).unwrap();
    let sorter = FileSorter::new().memory(64 << 20).verify(true).compress(Packed::Zstd);
    sorter.sort_file(&Lines::default(), &from, &to).unwrap();
    let found = Checker::new(&Lines::default()).input(compressed::open(&to).unwrap()).unwrap();
    assert_eq!((found.first_unordered, found.bytes), (None, lines.len() as u64));
    let input = Input::new("from", File::open(&from).unwrap());
    let error = sorter.index(&Lines::default(), input, Output::create(&to).unwrap(), &to).unwrap_err();
    assert!(error.to_string().contains("cannot be compressed"), "{error}");
}
