//! An input that another process cuts or overwrites while records are fetched from it by pointers: one line says so, the old
//! output stays, nothing is left behind, and no work is done on bytes that mean nothing.

#![forbid(unsafe_code)]

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, SystemTime};

use eagre::external::{FileSorter, Input, LEAST_MEMORY, Plan, Report};
use eagre::file::Output;
use eagre::records::{Fixed, Format, Klv, Lines, Malformed, TextOrder};

/// A format that does something when records have been looked at so often, and counts the bytes of records from then on.
struct Acting<'a, F> {
    format: &'a F,
    at: u64,
    act: &'a (dyn Fn() + Sync),
    looks: AtomicU64,
    bytes: AtomicU64,
}

impl<'a, F> Acting<'a, F> {
    fn new(format: &'a F, at: u64, act: &'a (dyn Fn() + Sync)) -> Self {
        Acting { format, at, act, looks: AtomicU64::new(0), bytes: AtomicU64::new(0) }
    }

    fn look(&self) {
        if self.looks.fetch_add(1, Relaxed) == self.at {
            (self.act)();
        }
    }
}

impl<F: Format> Format for Acting<'_, F> {
    fn length(&self, bytes: &[u8], last: bool) -> Result<Option<usize>, Malformed> {
        self.look();
        let length = self.format.length(bytes, last);
        if self.looks.load(Relaxed) > self.at {
            self.bytes.fetch_add(length.ok().flatten().unwrap_or(bytes.len()) as u64, Relaxed);
        }
        length
    }

    fn key<'a>(&self, record: &'a [u8], scratch: &'a mut Vec<u8>) -> &'a [u8] {
        self.look();
        self.format.key(record, scratch)
    }

    fn prefix(&self, record: &[u8], scratch: &mut Vec<u8>) -> u128 {
        self.look();
        self.format.prefix(record, scratch)
    }

    fn key_size(&self) -> Option<usize> {
        self.format.key_size()
    }

    fn record_size(&self) -> Option<usize> {
        self.format.record_size()
    }

    fn terminator(&self) -> Option<u8> {
        self.format.terminator()
    }

    fn ends_at_terminator(&self) -> bool {
        self.format.ends_at_terminator()
    }
}

const OLD: &[u8] = b"the old output\n";

struct Place {
    folder: tempfile::TempDir,
    data: Vec<u8>,
}

impl Place {
    /// Folders in `within`.
    fn new(within: &Path, data: Vec<u8>) -> Place {
        let folder = tempfile::tempdir_in(within).unwrap();
        for name in ["runs", "out"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        Place { folder, data }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes what is there before. The input is old, so that a change shows however coarse the clock of the files is.
    fn begin(&self) {
        fs::write(self.path("data"), &self.data).unwrap();
        let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        OpenOptions::new().write(true).open(self.path("data")).unwrap().set_modified(then).unwrap();
        fs::write(self.path("out/sorted"), OLD).unwrap();
    }

    fn sort<F: Format>(&self, format: &F, plan: Plan, index: bool) -> io::Result<Report> {
        let sorter = FileSorter::new().memory(LEAST_MEMORY).threads(2).temporary(self.path("runs")).plan(plan);
        let (from, to) = (self.path("data"), self.path("out/sorted"));
        if index {
            let input = Input::new(from.to_str().unwrap(), File::open(&from)?);
            return sorter.index(format, input, Output::create(&to)?, &to);
        }
        sorter.sort_file(format, from, to)
    }
}

/// What another process does to an input.
type Change = fn(&File);

const CHANGES: [(&str, Change); 5] = [
    ("cut to nothing", |file| file.set_len(0).unwrap()),
    ("cut to a part", |file| file.set_len(file.metadata().unwrap().len() / 3).unwrap()),
    ("of zeros", |file| overwrite(file, 0)),
    ("of newlines", |file| overwrite(file, b'\n')),
    ("of the largest byte", |file| overwrite(file, 0xff)),
];

fn overwrite(file: &File, byte: u8) {
    let size = file.metadata().unwrap().len() as usize;
    file.write_all_at(&vec![byte; size], 0).unwrap();
}

fn changes<F: Format>(format: &F, data: &[u8]) {
    let memory = Path::new("/dev/shm");
    let disk = std::env::temp_dir();
    for within in [&*disk, memory].into_iter().filter(|within| within.is_dir()) {
        let place = Place::new(within, data.to_vec());
        for (plan, index) in [(Plan::OnePass, false), (Plan::MergePass, false), (Plan::OnePass, true)] {
            place.begin();
            let all = Acting::new(format, u64::MAX, &|| ());
            place.sort(&all, plan, index).unwrap();
            let looks = all.looks.into_inner();
            for (change, act) in CHANGES {
                // While keys are read, while ties are resolved, and while records are fetched; behind the look of the planner.
                for at in [looks / 5, looks / 2, looks - looks / 20] {
                    let what =
                        format!("{change} after look {at} of {looks}, {plan}, index {index}, {}", within.display());
                    place.begin();
                    let change = || act(&OpenOptions::new().write(true).open(place.path("data")).unwrap());
                    let acting = Acting::new(format, at, &change);
                    let text = place.sort(&acting, plan, index).expect_err(&what).to_string();
                    let name = place.path("data");
                    let said = [
                        format!("read: {}: it was changed while it was sorted", name.display()),
                        format!("read: {}: it was cut shorter while it was used, or cannot be read", name.display()),
                    ];
                    assert!(said.iter().any(|said| text.starts_with(said)) && !text.contains('\n'), "{what}: {text}");
                    assert!(fs::read(place.path("out/sorted")).unwrap() == OLD, "{what}");
                    for (name, count) in [("runs", 0), ("out", 1)] {
                        assert_eq!(fs::read_dir(place.path(name)).unwrap().count(), count, "{what}: {name}");
                    }
                    let most = 100 * data.len() as u64;
                    assert!(acting.bytes.into_inner() < most, "{what}: records that are none have been worked on");
                }
            }
        }
    }
}

/// Lines with a long common beginning, so that they are looked at again to be told apart.
fn lines(bytes: usize) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(1);
    let mut lines = Vec::new();
    while lines.len() < bytes {
        lines.extend_from_slice(b"all lines begin with these words ");
        lines.extend((0..random.usize(0..40)).map(|_| random.u8(b'a'..=b'z')));
        lines.push(b'\n');
    }
    lines
}

#[test]
fn lines_that_change() {
    changes(&Lines::default(), &lines(200_000));
}

#[test]
fn text_that_changes() {
    let text = TextOrder::new().key("7".parse().unwrap()).build().unwrap();
    changes(&text, &lines(200_000));
    let csv = TextOrder::new().csv(true).separator(b' ').key("2".parse().unwrap()).build().unwrap();
    changes(&csv, &lines(200_000));
}

#[test]
fn records_that_change() {
    let mut random = fastrand::Rng::with_seed(2);
    let bytes: Vec<u8> = (0..2000 * 100).map(|_| random.u8(b'a'..=b'b')).collect();
    changes(&Fixed::new(100, &["0:20".parse().unwrap(), "30:i64:desc".parse().unwrap()]).unwrap(), &bytes);
    let mut pairs = Vec::new();
    while pairs.len() < 200_000 {
        let length = random.u32(0..500);
        pairs.extend_from_slice(b"the same for all of them");
        pairs.extend((0..3).map(|_| random.u8(..)));
        pairs.extend_from_slice(&length.to_le_bytes());
        pairs.resize(pairs.len() + length as usize, b'v');
    }
    changes(&Klv::new(27, 4, false).unwrap(), &pairs);
}

/// Records so long, and so little memory, that each is read by a call of its own if the file lives in memory.
#[test]
fn long_records_that_change() {
    let mut random = fastrand::Rng::with_seed(3);
    let mut lines = Vec::new();
    for _ in 0..300 {
        lines.extend((0..random.usize(4000..40_000)).map(|_| random.u8(b'a'..=b'b')));
        lines.push(b'\n');
    }
    changes(&Lines::default(), &lines);
}
