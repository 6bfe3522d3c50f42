//! `eagre sort --compress` and `--compress-runs`, and compressed files of numbers.
#![forbid(unsafe_code)]

mod common;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use common::{bytes, eagre, numbers, parts};

fn within(folder: &Path, arguments: &str) -> (i32, String, String) {
    parts(&eagre().current_dir(folder).args(arguments.split_whitespace()).output().unwrap())
}

fn well(folder: &Path, arguments: &str) {
    assert_eq!(within(folder, arguments), (0, String::new(), String::new()), "{arguments}");
}

/// One line with this in it, and exit code 2.
fn refused(folder: &Path, arguments: &str, said: &str) {
    let (code, out, err) = within(folder, arguments);
    assert_eq!((code, out.as_str(), err.lines().count()), (2, "", 1), "{arguments}: {err}");
    assert!(err.starts_with("eagre: ") && err.contains(said), "{arguments}: {err}");
}

/// Lines, and the same in the order of the standard library behind the first one.
fn lines(count: usize) -> (String, String) {
    let numbers = numbers(count);
    let mut lines: Vec<String> = numbers.iter().map(|number| format!("a line with the number {number}\n")).collect();
    let unsorted = lines.concat();
    lines[1..].sort();
    (unsorted, lines.concat())
}

/// What a program makes of its arguments and of bytes. `None` if there is no such program here.
fn piped(program: &str, arguments: &[&str], folder: &Path) -> Option<Vec<u8>> {
    let mut command = Command::new(program);
    let made = command.args(arguments).current_dir(folder).stdin(Stdio::null()).output().ok();
    if made.is_none() {
        eprintln!("skipped: there is no {program} here");
    }
    made.map(|made| {
        assert!(made.status.success(), "{program}: {made:?}");
        made.stdout
    })
}

const FORMATS: [(&str, &str); 3] = [("gz", "gzip"), ("zst", "zstd"), ("lz4", "lz4")];

#[test]
fn outputs_are_what_the_programs_make() {
    let room = tempfile::tempdir().unwrap();
    let (unsorted, sorted) = lines(60_000);
    fs::write(room.path().join("data"), &unsorted).unwrap();
    for (format, program) in FORMATS {
        let name = format!("out.{format}");
        well(room.path(), &format!("sort --header 1 --verify --compress {format} data -o {name}"));
        let packed = fs::read(room.path().join(&name)).unwrap();
        assert!(packed.len() < sorted.len() * 2 / 3, "{format}: {} bytes", packed.len());
        if let Some(content) = piped(program, &["-dc", &name], room.path()) {
            assert!(content == sorted.as_bytes(), "{program}");
            piped(program, &["-t", &name], room.path());
        }
        // Standard output takes the same, and it is an input like any other.
        let mut command = eagre();
        command.current_dir(room.path()).args(["sort", "--header", "1", "--compress", program, "data"]);
        let out = command.output().unwrap();
        assert!(out.status.success() && out.stdout == packed, "{format}");
        well(room.path(), &format!("sort --header 1 -m {name} -o again"));
        assert!(fs::read(room.path().join("again")).unwrap() == sorted.as_bytes(), "{format}");
        // In its own place.
        well(room.path(), &format!("sort --header 1 -r --compress {format} {name} -o {name}"));
        well(room.path(), &format!("sort --header 1 -r --check {name}"));
    }
    refused(room.path(), "sort --compress xz data -o out.xz", "xz");
    refused(room.path(), "sort --index --compress gz data -o index", "--index");
}

#[test]
fn runs_may_be_compressed() {
    let room = tempfile::tempdir().unwrap();
    let (unsorted, sorted) = lines(300_000);
    fs::write(room.path().join("data"), &unsorted).unwrap();
    let temporary = |options: &str| {
        let arguments = format!("sort --plan classic --memory 16M --header 1 --json --verify {options} data -o out");
        let (code, out, err) = within(room.path(), &arguments);
        assert_eq!((code, err.as_str()), (0, ""), "{options}");
        assert!(fs::read(room.path().join("out")).unwrap() == sorted.as_bytes(), "{options}");
        let json: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert!(json["runs"].as_u64() > Some(1), "{json}");
        json["temporary"].as_u64().unwrap()
    };
    let plain = temporary("");
    for options in ["--compress-runs", "--compress-program=gzip", "--compress-program /usr/bin/zstd"] {
        let packed = temporary(options);
        assert!(packed < plain * 2 / 3, "{options}: {packed} bytes, {plain} without");
    }
    refused(room.path(), "sort --compress-program=xz data", "--compress-runs");
}

#[test]
fn numbers_come_from_compressed_files_and_go_to_them() {
    let room = tempfile::tempdir().unwrap();
    let mut keys: Vec<u32> = bytes(&numbers(40_000)).as_chunks().0.iter().map(|&key| u32::from_le_bytes(key)).collect();
    let encode = |keys: &[u32]| -> Vec<u8> { keys.iter().flat_map(|key| key.to_le_bytes()).collect() };
    fs::write(room.path().join("data"), encode(&keys)).unwrap();
    keys.sort_unstable();
    let sorted = encode(&keys);
    for (format, program) in FORMATS {
        // The second time from what the first made.
        for from in ["data".to_owned(), format!("out.{format}")] {
            well(room.path(), &format!("sort --verify --keys u32 --compress {format} {from} -o out.{format}"));
            well(room.path(), &format!("sort --keys u32 --check out.{format}"));
            well(room.path(), &format!("sort --keys u32 out.{format} -o out"));
            assert!(fs::read(room.path().join("out")).unwrap() == sorted, "{format}");
        }
        let Some(packed) = piped(program, &["-qc", "data"], room.path()) else { continue };
        fs::write(room.path().join(format!("data.{format}")), packed).unwrap();
        well(room.path(), &format!("sort --verify --keys u32 data.{format} data.{format} -u -o out"));
        keys.dedup();
        assert!(fs::read(room.path().join("out")).unwrap() == encode(&keys), "{format}");
    }
    // As any other file, whatever its name is.
    fs::rename(room.path().join("data"), room.path().join("plain.gz")).unwrap();
    well(room.path(), "sort --keys u32 plain.gz -o out");
    assert!(fs::read(room.path().join("out")).unwrap() == sorted);
    fs::write(room.path().join("odd.gz"), [1, 2, 3]).unwrap();
    refused(room.path(), "sort --keys u32 odd.gz", "3 left over");
    refused(room.path(), "sort --verify --keys u32 plain.gz", "cannot be read back");
}

#[test]
fn merges_name_the_input_that_is_no_record() {
    let room = tempfile::tempdir().unwrap();
    fs::write(room.path().join("whole"), vec![b'x'; 200]).unwrap();
    fs::write(room.path().join("cut"), vec![b'x'; 150]).unwrap();
    refused(room.path(), "sort -m --record 100 whole cut -o out", "read: cut: the last record is cut short");
}
