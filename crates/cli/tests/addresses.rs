//! Answers depend neither on what the page cache holds nor on how many addresses a process may have (`ulimit -v`).
//!
//! Every tool runs under limits of 0.25 to 16 GB, on files out of the page cache and in it, by every plan, and must say what
//! it says without a limit. Where there is too little for anything, it says so in one line and nothing else.
#![forbid(unsafe_code)]

mod common;

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};

use common::{eagre, parts};

const MIB: u64 = 1 << 20;
/// In thousands of bytes, as the shell takes them: limits at which an ordinary stream carries less than the files have.
const LIMITS: [u64; 3] = [250_000, 500_000, 1_000_000];
const LARGE_LIMITS: [u64; 3] = [2_000_000, 4_000_000, 16_000_000];
const PLANS: [&str; 5] = ["", "map", "read", "direct", "stream"];

/// A folder on a disk, where files can be out of the page cache.
fn on_disk() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// A file of so many bytes: rows of text at both ends, of a length that is no multiple of anything, and zeros between.
fn make(path: &Path, bytes: u64) {
    let file = File::create(path).unwrap();
    file.set_len(bytes).unwrap();
    let rows = b"some key;12.5\nneedle;-3.25\n".repeat(200_000);
    file.write_all_at(&rows, 0).unwrap();
    file.write_all_at(&rows[rows.len() / 2..], bytes - rows.len().div_ceil(2) as u64).unwrap();
    file.sync_all().unwrap();
}

/// Drops what the page cache holds of a file.
fn evict(path: &Path) {
    let file = File::open(path).unwrap();
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
}

fn warm(path: &Path) {
    std::io::copy(&mut File::open(path).unwrap(), &mut std::io::sink()).unwrap();
}

/// Runs the command with at most so many kilobytes of addresses, in a folder.
fn limited(folder: &Path, kilobytes: u64, plan: &str, arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -v {kilobytes} && exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_eagre")]);
    command.args(arguments).current_dir(folder).env("EAGRE_PLAN", plan).stdin(Stdio::null());
    parts(&command.output().unwrap())
}

fn unlimited(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    parts(&eagre().args(arguments).current_dir(folder).output().unwrap())
}

/// Compares what a tool says of the last argument under each limit with what it says without.
fn same_under(limits: &[u64], folder: &Path, arguments: &[&str], plans: &[&str]) {
    let file = folder.join(arguments[arguments.len() - 1]);
    warm(&file);
    let expected = unlimited(folder, arguments);
    assert!(expected.0 < 2, "{arguments:?}: {expected:?}");
    for &limit in limits {
        for cold in [true, false] {
            for plan in plans {
                if cold {
                    evict(&file);
                } else {
                    warm(&file);
                }
                let got = limited(folder, limit, plan, arguments);
                assert_eq!(got, expected, "{arguments:?} with {limit} KB, plan '{plan}', cold: {cold}");
            }
        }
    }
}

#[test]
fn plain_files() {
    let folder = on_disk();
    make(&folder.path().join("a"), 100 * MIB + 17);
    same_under(&LIMITS, folder.path(), &["count", "-l", "a"], &PLANS);
    same_under(&LIMITS, folder.path(), &["find", "-c", "needle", "a"], &PLANS);
    same_under(&LIMITS, folder.path(), &["find", "-b", "-m3", "needle", "a"], &[""]);
}

#[test]
fn large_files() {
    let folder = on_disk();
    make(&folder.path().join("a"), 1200 * MIB + 17);
    same_under(&LARGE_LIMITS, folder.path(), &["count", "-l", "a"], &[""]);
    same_under(&LARGE_LIMITS[2..], folder.path(), &["count", "-l", "a"], &["direct"]);
}

#[test]
fn rows_and_keys() {
    let folder = on_disk();
    let rows = b"some key;12.5\nother;-3.25\n".repeat(1_400_000);
    fs::write(folder.path().join("rows"), rows).unwrap();
    same_under(&[500_000], folder.path(), &["stats", "rows"], &["direct"]);
    let keys: Vec<u8> = (0..9_000_000u64).flat_map(u64::to_le_bytes).collect();
    fs::write(folder.path().join("keys"), keys).unwrap();
    File::open(folder.path().join("keys")).unwrap().sync_all().unwrap();
    same_under(&LIMITS[..2], folder.path(), &["sort", "--check", "--keys", "u64", "keys"], &[""]);
}

/// What is made of a file: sorted, parted and copied.
#[test]
fn files_made_of_files() {
    let folder = on_disk();
    let keys: Vec<u8> = (0..9_000_000u64).rev().flat_map(u64::to_le_bytes).collect();
    let sorted: Vec<u8> = (0..9_000_000u64).flat_map(u64::to_le_bytes).collect();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("keys"), &keys).unwrap();
    File::open(path("keys")).unwrap().sync_all().unwrap();
    fs::create_dir(path("parts")).unwrap();
    for (limit, cold) in [(500_000, true), (500_000, false), (1_000_000, true)] {
        if cold {
            evict(&path("keys"));
        }
        let nothing = (0, String::new(), String::new());
        let run = |arguments: &[&str]| limited(folder.path(), limit, "", arguments);
        assert_eq!(run(&["copy", "--verify", "keys", "copied"]), nothing, "{limit}");
        assert!(fs::read(path("copied")).unwrap() == keys, "{limit}");
        assert_eq!(run(&["sort", "--keys", "u64", "keys", "-o", "sorted"]), nothing, "{limit}");
        assert!(fs::read(path("sorted")).unwrap() == sorted, "{limit}");
        let parted = run(&["partition", "--keys", "u64", "--boundaries=4500000", "keys", "-o", "parts"]);
        assert_eq!(parted, nothing, "{limit}");
        let sizes = ["part-0", "part-1"].map(|part| fs::metadata(path("parts").join(part)).unwrap().len());
        assert_eq!(sizes, [36_000_000; 2], "{limit}");
    }
}

/// The content is longer than there are addresses.
#[test]
fn compressed_files() {
    let folder = on_disk();
    make(&folder.path().join("a"), 128 * MIB + 5);
    for (tool, suffix) in [("gzip", "gz"), ("zstd", "zst"), ("lz4", "lz4")] {
        let name = format!("a.{suffix}");
        let packed = Command::new(tool)
            .args(["-1", "-c"])
            .stdin(File::open(folder.path().join("a")).unwrap())
            .stdout(File::create(folder.path().join(&name)).unwrap())
            .status();
        if !packed.is_ok_and(|status| status.success()) {
            eprintln!("skipped: no {tool} here");
            continue;
        }
        File::open(folder.path().join(&name)).unwrap().sync_all().unwrap();
        let whole = unlimited(folder.path(), &["count", "--total=only", "-lc", "a"]);
        let got = limited(folder.path(), 120_000, "", &["count", "--total=only", "-lc", &name]);
        assert_eq!(got, whole, "{name}");
        same_under(&[120_000, 500_000], folder.path(), &["count", "-l", &name], &[""]);
        same_under(&[120_000], folder.path(), &["find", "-c", "needle", &name], &[""]);
        // Through a pipe nobody knows its length.
        let script = format!("ulimit -v 120000 && cat {name} | \"$0\" count --decompress=always -l");
        let mut piped = Command::new("sh");
        piped.args(["-c", &script, env!("CARGO_BIN_EXE_eagre")]).current_dir(folder.path());
        let (code, out, err) = parts(&piped.output().unwrap());
        assert_eq!((code, err.as_str()), (0, ""), "{name}");
        assert_eq!(out, unlimited(folder.path(), &["count", "--total=only", "-l", "a"]).1, "{name}");
    }
}

/// The right answer, or one line with what helps: never half an answer.
#[test]
fn hardly_any_addresses() {
    let folder = on_disk();
    make(&folder.path().join("a"), 80 * MIB);
    let packed = Command::new("gzip").args(["-1", "-k", "a"]).current_dir(folder.path()).status();
    let has_gzip = packed.is_ok_and(|status| status.success());
    let commands: [&[&str]; 7] = [
        &["count", "-l", "a"],
        &["count", "-l", "a.gz"],
        &["find", "-c", "needle", "a"],
        &["find", "-c", "needle", "a.gz"],
        &["sort", "--check", "--keys", "u32", "a"],
        &["copy", "--verify", "a", "/dev/null"],
        &["copy", "a", "b"],
    ];
    let mut answers = 0;
    for arguments in commands.into_iter().filter(|arguments| has_gzip || !arguments.contains(&"a.gz")) {
        let expected = unlimited(folder.path(), arguments);
        for limit in [45_000, 60_000, 75_000, 90_000, 120_000] {
            evict(&folder.path().join("a"));
            let (code, out, err) = limited(folder.path(), limit, "", arguments);
            if (code, &out, &err) == (expected.0, &expected.1, &expected.2) {
                answers += 1;
                continue;
            }
            let context = format!("{arguments:?} with {limit} KB: {code} {out:?} {err:?}");
            assert_eq!((code, out.as_str(), err.lines().count()), (2, "", 1), "{context}");
            assert!(err.starts_with("eagre: ") && err.contains("ulimit -v"), "{context}");
        }
    }
    assert!(answers > 10, "{answers}");
}

/// An input that ends in an error has a message and no counts; the others, and the total, are there.
#[test]
fn no_partial_results() {
    let folder = tempfile::tempdir().unwrap();
    let text = b"needle\n".repeat(3_000_000);
    fs::write(folder.path().join("whole"), "a needle\n").unwrap();
    fs::write(folder.path().join("cut"), &text).unwrap();
    let packed = Command::new("gzip").args(["-1", "cut"]).current_dir(folder.path()).status();
    if !packed.is_ok_and(|status| status.success()) {
        eprintln!("skipped: no gzip here");
        return;
    }
    // Cut, so that it gives something before it fails.
    let cut = folder.path().join("cut.gz");
    let bytes = fs::read(&cut).unwrap();
    File::create(&cut).unwrap().write_all(&bytes[..bytes.len() / 2]).unwrap();

    let (code, out, err) = unlimited(folder.path(), &["count", "-l", "cut.gz", "whole"]);
    assert_eq!((code, out.as_str()), (2, "      1 whole\n      1 total\n"), "{err}");
    assert!(err.starts_with("eagre: count: cut.gz: ") && err.lines().count() == 1, "{err}");
    let (code, out, _) = unlimited(folder.path(), &["count", "-l", "cut.gz"]);
    assert_eq!((code, out.as_str()), (2, ""));
    let (code, out, _) = unlimited(folder.path(), &["count", "-l", "--json", "cut.gz", "whole"]);
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(code, 2);
    assert_eq!((&json["files"][0]["lines"], &json["total"]["lines"]), (&serde_json::Value::Null, &1.into()));
    assert!(json["files"][0]["error"].as_str().unwrap().contains("truncated"), "{out}");

    let (code, out, _) = unlimited(folder.path(), &["find", "-c", "needle", "cut.gz", "whole"]);
    assert_eq!((code, out.as_str()), (2, "whole:1\n"));
    // Lines of their own are results as far as they go. How far is a matter of luck: the error may be told first.
    let (code, out, _) = unlimited(folder.path(), &["find", "-b", "needle", "cut.gz"]);
    assert_eq!(code, 2);
    for (line, at) in out.lines().zip((0..).step_by(7)) {
        assert_eq!(line, format!("{at}:needle"));
    }
    let (code, out, err) = unlimited(folder.path(), &["stats", "-d", ";", "cut.gz"]);
    assert_eq!((code, out.as_str(), err.lines().count()), (2, "", 1), "{err}");
}

/// Where one plan of a sort has the addresses it takes, that or another is chosen.
#[test]
fn a_sort_chooses_a_plan_that_has_addresses() {
    let folder = on_disk();
    let (code, _, err) = unlimited(folder.path(), &["gen", "600000", "in"]);
    assert_eq!(code, 0, "{err}");
    let sort = |limit: u64, plan: &str| {
        let arguments = ["sort", "--gensort", "--memory", "16M", "-j2", "-T", ".", "--plan", plan, "in", "-o", "out"];
        limited(folder.path(), limit, "", &arguments)
    };
    let mut enough = 0;
    for limit in (80_000..=200_000).step_by(10_000) {
        if sort(limit, "classic").0 != 0 {
            continue;
        }
        enough += 1;
        warm(&folder.path().join("in"));
        let (code, _, err) = sort(limit + 5000, "auto");
        assert_eq!((code, &*err), (0, ""), "with {} KB", limit + 5000);
    }
    assert!(enough >= 3, "{enough}");
}
