//! `eagre find` prints what GNU `grep -F -o -a` prints, byte for byte.
//!
//! Both run with the same patterns and options over a folder of awkward files. Patterns here hold no newline, which
//! `grep` would take for two patterns, and no file name does, which `grep` would print as it is. `-c` and `-m` mean
//! lines there and occurrences here: they are held against the lines that `grep -o` prints.
//!
//! Where `grep` is not GNU's there is nothing to compare with, and the tests say so and pass.
#![forbid(unsafe_code)]

mod common;

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use common::{eagre, seeded};
use fastrand::Rng;

fn grep_is_gnu() -> bool {
    let gnu = Command::new("grep")
        .arg("--version")
        .output()
        .is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("GNU grep"));
    if !gnu {
        eprintln!("skipped: grep is not GNU grep");
    }
    gnu
}

fn grep() -> Command {
    let mut command = Command::new("grep");
    command.args(["-F", "-o", "-a"]);
    command
}

fn find() -> Command {
    let mut command = eagre();
    command.arg("find");
    command
}

/// Runs a command in a folder with what standard input gives.
fn output(mut command: Command, folder: &Path, arguments: &[OsString], stdin: &[u8]) -> Output {
    command.current_dir(folder).env("LC_ALL", "C").args(arguments);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let stdin = stdin.to_vec();
    // It may not read its standard input at all, or print before it has read it to its end.
    let feeder = std::thread::spawn(move || drop(pipe.write_all(&stdin)));
    let output = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    output
}

fn assert_same(ours: &[u8], theirs: &[u8], context: &str) {
    if ours != theirs {
        let show = |bytes: &[u8]| String::from_utf8_lossy(&bytes[..bytes.len().min(2000)]).into_owned();
        panic!("{context}\nours:\n{}\ntheirs:\n{}", show(ours), show(theirs));
    }
}

/// Runs both with the same arguments and compares results and exit codes.
fn compare(folder: &Path, arguments: &[OsString], stdin: &[u8]) -> Output {
    let ours = output(find(), folder, arguments, stdin);
    let theirs = output(grep(), folder, arguments, stdin);
    let context = format!("{arguments:?}: {}", String::from_utf8_lossy(&ours.stderr));
    assert_same(&ours.stdout, &theirs.stdout, &context);
    assert_eq!(ours.status.code(), theirs.status.code(), "{context}");
    let lines = |bytes: &[u8]| bytes.iter().filter(|&&byte| byte == b'\n').count();
    assert_eq!(lines(&ours.stderr), lines(&theirs.stderr), "{context}");
    theirs
}

/// A folder of awkward files, and their names.
fn awkward(folder: &Path, random: &mut Rng) -> Vec<OsString> {
    let mut text = |size: u64, alphabet: &[u8]| -> Vec<u8> {
        (0..size).map(|_| *random.choice(alphabet.iter()).unwrap()).collect()
    };
    let files: [(&[u8], Vec<u8>); 12] = [
        (b"empty", vec![]),
        (b"one line", b"the rain in spain stays mainly in the plain\n".to_vec()),
        (b"no end", b"a\nb\naba ab".to_vec()),
        (b"words", text(40_000, b"abcAB  \n")),
        (b"huge line", text(120_000, b"abAB ")),
        (b"dos", b"ab\r\nab \r\n\r\nba\r".repeat(50)),
        (b"zeros", text(3_000, b"\0\0\0ab\n")),
        (b"binary", text(30_000, &(0..=255).collect::<Vec<u8>>())),
        (b"all a", vec![b'a'; 60_001]),
        (b"newlines", vec![b'\n'; 1000]),
        (b"not utf-8 \xff\xfe", text(10_000, b"\xc3\xa9\xe9a\nE")),
        (b"-e", b"ab\n".to_vec()),
    ];
    let mut names = Vec::new();
    for (name, content) in files {
        let name = OsStr::from_bytes(name).to_owned();
        fs::write(folder.join(&name), content).unwrap();
        names.push(name);
    }
    fs::create_dir(folder.join("folder")).unwrap();
    names.extend(["missing", "folder", "-", "empty/not a folder"].map(OsString::from));
    names
}

fn pattern(random: &mut Rng, most: u64) -> Vec<u8> {
    let alphabets: [&[u8]; 6] = [b"ab", b"abAB ", b"a", b"\xc3\xa9\xe9a", b"\r ab", b"in "];
    let alphabet = random.choice(&alphabets).unwrap();
    (0..1 + random.u64(..most)).map(|_| *random.choice(alphabet.iter()).unwrap()).collect()
}

#[test]
fn random_patterns_options_and_files() {
    if !grep_is_gnu() {
        return;
    }
    let options: [&[&str]; 14] = [
        &[],
        &["-b"],
        &["-b"],
        &["-bi"],
        &["-i"],
        &["-H", "-b"],
        &["-h", "-b"],
        &["-h", "-H"],
        &["-l"],
        &["-l", "-Z"],
        &["-l", "-c"],
        &["-Z", "-b", "-i"],
        &["-q"],
        &["--byte-offset", "--ignore-case", "--with-filename"],
    ];
    for seed in 1..=8 {
        let folder = tempfile::tempdir().unwrap();
        let mut random = seeded(seed * 0x9e37_79b9);
        let names = awkward(folder.path(), &mut random);
        for _ in 0..40 {
            let mut arguments: Vec<OsString> = random.choice(&options).unwrap().iter().map(OsString::from).collect();
            let mut patterns: Vec<Vec<u8>> =
                (0..*random.choice(&[1, 1, 2, 5]).unwrap()).map(|_| pattern(&mut random, 6)).collect();
            match random.u64(..3) {
                // The first argument is the pattern.
                0 => {
                    arguments.push("--".into());
                    arguments.push(OsStr::from_bytes(&patterns[0]).to_owned());
                }
                1 => {
                    for pattern in &patterns {
                        arguments.push("-e".into());
                        arguments.push(OsStr::from_bytes(pattern).to_owned());
                    }
                    arguments.push("--".into());
                }
                // In a file patterns may hold zeros.
                _ => {
                    patterns.push(b"\0a".to_vec());
                    let mut lines = patterns.join(&b'\n');
                    if random.u64(..2) == 0 {
                        lines.push(b'\n');
                    }
                    fs::write(folder.path().join("patterns"), lines).unwrap();
                    arguments.extend(["-f", "patterns", "--"].map(OsString::from));
                }
            }
            let count = *random.choice(&[0, 1, 1, 2, 4]).unwrap();
            arguments.extend((0..count).map(|_| random.choice(&names).unwrap().clone()));
            let stdin: Vec<u8> = (0..random.u64(..50_000)).map(|_| *random.choice(b"ab\n").unwrap()).collect();
            compare(folder.path(), &arguments, &stdin);
        }
    }
}

#[test]
fn many_long_words() {
    if !grep_is_gnu() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut random = seeded(7);
    let words: Vec<Vec<u8>> = (0..300).map(|_| pattern(&mut random, 40)).collect();
    fs::write(folder.path().join("words"), words.join(&b'\n')).unwrap();
    let text: Vec<Vec<u8>> = (0..20_000).map(|_| random.choice(&words).unwrap().clone()).collect();
    fs::write(folder.path().join("text"), text.join(&b' ')).unwrap();
    for option in ["-b", "-bi"] {
        let theirs = compare(folder.path(), &[option, "-f", "words", "text"].map(OsString::from), b"");
        assert!(theirs.stdout.len() > 100_000);
    }
}

#[test]
fn counts_and_limits_are_of_occurrences() {
    if !grep_is_gnu() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut random = seeded(11);
    let names = awkward(folder.path(), &mut random);
    for name in names.iter().filter(|&name| folder.path().join(name).is_file()) {
        for pattern in ["a", "ab", "aa", "in", "bab"] {
            let arguments = |more: &[&str]| -> Vec<OsString> {
                let mut all: Vec<OsString> = more.iter().map(OsString::from).collect();
                all.extend(["-e", pattern, "--"].map(OsString::from));
                all.push(name.clone());
                all
            };
            let theirs = output(grep(), folder.path(), &arguments(&["-b"]), b"");
            let lines: Vec<&[u8]> = theirs.stdout.split_inclusive(|&byte| byte == b'\n').collect();
            for limit in [None, Some(0), Some(1), Some(7), Some(10_000)] {
                let option = limit.map(|limit: usize| format!("-m{limit}"));
                let limit = limit.unwrap_or(usize::MAX).min(lines.len());
                let option = option.as_deref().into_iter();
                let context = format!("{pattern} in {name:?}, {limit}");
                let ours =
                    output(find(), folder.path(), &arguments(&option.clone().chain(["-b"]).collect::<Vec<_>>()), b"");
                assert_same(&ours.stdout, &lines[..limit].concat(), &context);
                let ours = output(find(), folder.path(), &arguments(&option.chain(["-c"]).collect::<Vec<_>>()), b"");
                assert_same(&ours.stdout, format!("{limit}\n").as_bytes(), &context);
                assert_eq!(ours.status.code(), Some(i32::from(limit == 0)), "{context}");
            }
        }
    }
}

#[test]
fn a_file_that_gets_the_results_is_not_searched() {
    if !grep_is_gnu() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    for (mut command, program) in [(find(), "eagre: find: "), (grep(), "grep: ")] {
        fs::write(&path, "a\n").unwrap();
        let append = File::options().append(true).open(&path).unwrap();
        let output = command.arg("a").arg(&path).stdout(append).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(output.stderr.starts_with(program.as_bytes()));
        assert_eq!(fs::read(&path).unwrap(), b"a\n");
    }
}
