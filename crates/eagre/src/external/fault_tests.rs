//! Whatever goes wrong while a file is sorted: the error names the file, the input and the old output are as they were, and
//! nothing is left behind.

use std::fs;
use std::path::PathBuf;

use eagre_mem::transfer::Direction::{self, Read, Write};

use super::*;
use crate::file::faulty::{Faults, plan};
use crate::records::Lines;

/// Folders of their own for the input, the runs and the output, so that faults can be planned for each.
struct Place {
    folder: tempfile::TempDir,
    input: Vec<u8>,
    /// Whether runs are compressed.
    #[cfg_attr(not(feature = "compressed"), allow(dead_code, reason = "runs are not compressed"))]
    packed: bool,
}

/// What is in the output before.
const OLD: &[u8] = b"the old output\n";

impl Place {
    fn new(input: Vec<u8>) -> Place {
        let folder = tempfile::tempdir().unwrap();
        for name in ["in", "runs", "out"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        fs::write(folder.path().join("in/data"), &input).unwrap();
        fs::write(folder.path().join("out/sorted"), OLD).unwrap();
        Place { folder, input, packed: false }
    }

    #[cfg(feature = "compressed")]
    fn packed(self) -> Place {
        Place { packed: true, ..self }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn sort(&self, plan: Plan) -> io::Result<Report> {
        let memory = if plan == Plan::InMemory { 256 << 20 } else { LEAST_MEMORY };
        let sorter = FileSorter::new().memory(memory).threads(2).temporary(self.path("runs")).plan(plan);
        #[cfg(feature = "compressed")]
        let sorter = sorter.compress_runs(self.packed);
        let report = sorter.sort_file(&Lines::default(), self.path("in/data"), self.path("out/sorted"))?;
        assert_eq!(report.plan, plan);
        if let Plan::Classic | Plan::MergePass = plan {
            assert!(report.runs > 2, "{report:?}");
        }
        if plan == Plan::Classic {
            assert!(report.merges > 1, "{report:?}");
        }
        Ok(report)
    }

    /// The input is as it was, and nothing but the output is there.
    fn check(&self, output: &[u8], what: &str) {
        assert!(fs::read(self.path("in/data")).unwrap() == self.input, "{what}: the input");
        assert!(fs::read(self.path("out/sorted")).unwrap() == output, "{what}: the output");
        for (name, count) in [("in", 1), ("runs", 0), ("out", 1)] {
            assert_eq!(fs::read_dir(self.path(name)).unwrap().count(), count, "{what}: nothing is left in {name}");
        }
    }

    fn sorted(&self) -> Vec<u8> {
        let mut lines: Vec<_> = self.input.split_inclusive(|&byte| byte == b'\n').collect();
        lines.sort();
        lines.concat()
    }
}

/// Short lines, of which few have room in memory together with their words, so that there are several runs; for the classic
/// plan a long one, so that few runs can be merged at once.
fn input(plan: Plan) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(1);
    let mut lines = Vec::new();
    if plan == Plan::Classic {
        lines.resize(4_000_000, b'x');
        lines.push(b'\n');
    }
    let bytes = match plan {
        Plan::Classic => 7 << 20,
        Plan::MergePass => 3 << 20,
        _ => 600_000,
    };
    while lines.len() < bytes {
        lines.extend((0..random.usize(0..3)).map(|_| random.u8(b'a'..=b'z')));
        lines.push(b'\n');
    }
    lines
}

const PLANS: [Plan; 4] = [Plan::InMemory, Plan::OnePass, Plan::MergePass, Plan::Classic];

#[test]
fn what_a_system_may_do_does_not_matter() {
    for how in PLANS {
        let place = Place::new(input(how));
        for seed in [1, 1000] {
            let _all = ["in", "runs", "out"].map(|name| plan(&place.path(name), Faults { seed, ..Faults::default() }));
            place.sort(how).unwrap();
            place.check(&place.sorted(), &format!("{how}, seed {seed}"));
            fs::write(place.path("out/sorted"), OLD).unwrap();
        }
    }
}

/// Faults of the files in one folder. Past the page cache, pages are transferred, so the bad bytes are at their beginnings.
fn fails(folder: &str, plans: &[Plan], only: Direction, errno: i32, at: &[u64]) {
    for &how in plans {
        fails_at(&Place::new(input(how)), folder, how, only, errno, at);
    }
}

fn fails_at(place: &Place, folder: &str, how: Plan, only: Direction, errno: i32, at: &[u64]) {
    fs::write(place.path("out/sorted"), OLD).unwrap();
    for &byte in at {
        let what = format!("{how}: {only:?} of {folder} at byte {byte}");
        let faults = Faults { seed: byte, bad: Some((byte, errno)), only: Some(only), ..Faults::default() };
        let planned = plan(&place.path(folder), faults);
        let error = place.sort(how).expect_err(&what);
        drop(planned);
        place.check(OLD, &what);
        let text = error.to_string();
        assert!(text.contains(place.path(folder).to_str().unwrap()), "{what}: {text}");
        assert!(text.contains(&format!("at byte {byte}")), "{what}: {text}");
        assert_eq!(error.kind(), io::Error::from_raw_os_error(errno).kind(), "{what}: {text}");
    }
    // It was not the input's fault.
    place.sort(how).unwrap();
    place.check(&place.sorted(), &format!("{how}, afterwards"));
}

#[test]
fn an_input_that_cannot_be_read() {
    fails("in", &[Plan::InMemory, Plan::Classic], Read, libc::EIO, &[0, 30 * 4096]);
}

#[test]
fn runs_that_cannot_be_written() {
    fails("runs", &[Plan::MergePass, Plan::Classic], Write, libc::EIO, &[0, 30 * 4096]);
    fails("runs", &[Plan::MergePass, Plan::Classic], Write, libc::ENOSPC, &[57 * 4096]);
}

#[test]
fn runs_that_cannot_be_read() {
    fails("runs", &[Plan::MergePass, Plan::Classic], Read, libc::EIO, &[0, 84 * 4096]);
}

#[cfg(feature = "compressed")]
#[test]
fn compressed_runs_that_cannot_be_written_or_read() {
    for how in [Plan::MergePass, Plan::Classic] {
        let place = Place::new(input(how)).packed();
        fails_at(&place, "runs", how, Write, libc::EIO, &[0, 4096]);
        fails_at(&place, "runs", how, Write, libc::ENOSPC, &[2 * 4096]);
        fails_at(&place, "runs", how, Read, libc::EIO, &[0, 4096]);
        for seed in [2, 2000] {
            fs::write(place.path("out/sorted"), OLD).unwrap();
            let _all = ["in", "runs", "out"].map(|name| plan(&place.path(name), Faults { seed, ..Faults::default() }));
            place.sort(how).unwrap();
            place.check(&place.sorted(), &format!("{how}, seed {seed}"));
        }
    }
}

#[cfg(feature = "compressed")]
#[test]
fn compressed_runs_that_are_damaged_or_cut() {
    for how in [Plan::MergePass, Plan::Classic] {
        let place = Place::new(input(how)).packed();
        // The sizes, the checksum and the bytes of a block, and those of a later one.
        for byte in [0, 8, 16, 1000, 9000] {
            let what = format!("{how}: runs are damaged at byte {byte}");
            let faults = Faults { seed: byte, damaged: Some(byte), ..Faults::default() };
            let planned = plan(&place.path("runs"), faults);
            let error = place.sort(how).expect_err(&what);
            drop(planned);
            place.check(OLD, &what);
            let text = error.to_string();
            assert!(text.contains(place.path("runs").to_str().unwrap()), "{what}: {text}");
            assert!(text.contains("of a sorted run is not what was written"), "{what}: {text}");
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{what}: {text}");
        }
        let planned = plan(&place.path("runs"), Faults { cut: Some(4096), ..Faults::default() });
        let text = place.sort(how).unwrap_err().to_string();
        drop(planned);
        place.check(OLD, "cut");
        assert!(text.contains("ends at byte 4096"), "{how}: {text}");
    }
}

#[test]
fn an_output_that_cannot_be_written() {
    fails("out", &PLANS, Write, libc::EIO, &[0, 73 * 4096]);
    fails("out", &PLANS, Write, libc::ENOSPC, &[57 * 4096]);
}

#[test]
fn files_that_are_shorter_than_they_were() {
    for (folder, how) in [("runs", Plan::MergePass), ("runs", Plan::Classic), ("in", Plan::InMemory)] {
        let place = Place::new(input(how));
        for cut in [0, 4096, 50 * 4096] {
            let what = format!("{how}: {folder} is cut to {cut} bytes");
            let planned = plan(&place.path(folder), Faults { seed: cut, cut: Some(cut), ..Faults::default() });
            let error = place.sort(how).expect_err(&what);
            drop(planned);
            fs::write(place.path("in/data"), &place.input).unwrap();
            place.check(OLD, &what);
            let text = error.to_string();
            assert!(text.contains(place.path(folder).to_str().unwrap()), "{what}: {text}");
            assert!(text.contains(&format!("ends at byte {cut}")), "{what}: {text}");
        }
    }
}
