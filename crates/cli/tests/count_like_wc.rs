//! `eagre count` prints what GNU `wc` prints, byte for byte.
//!
//! Both run on the same random arguments over a folder of awkward files, with the same standard input. The
//! results must be equal; messages differ by design, but there must be as many, and trouble is trouble for
//! both (1 there, 2 here).
//!
//! Where `wc` is not GNU's there is nothing to compare with, and the tests say so and pass.
#![forbid(unsafe_code)]

mod common;

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use common::seeded;
use fastrand::Rng;

/// The user nobody, for tests of permissions that run as root.
const NOBODY: u32 = 65_534;

fn wc_is_gnu() -> bool {
    let gnu = Command::new("wc")
        .arg("--version")
        .output()
        .is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("GNU"));
    if !gnu {
        eprintln!("skipped: wc is not GNU wc");
    }
    gnu
}

/// What standard input is in a run.
#[derive(Clone, Copy, Debug)]
enum Stdin {
    Null,
    File { position: u64 },
    Pipe,
}

/// Runs a command in a folder of files; `bytes` is what standard input gives.
fn output(mut command: Command, folder: &Path, locale: &str, stdin: Stdin, bytes: &[u8]) -> Output {
    command.current_dir(folder).env("LC_ALL", locale).stdout(Stdio::piped()).stderr(Stdio::piped());
    match stdin {
        Stdin::Null => command.stdin(Stdio::null()),
        Stdin::Pipe => command.stdin(Stdio::piped()),
        Stdin::File { position } => {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(bytes).unwrap();
            file.seek(SeekFrom::Start(position)).unwrap();
            command.stdin(file)
        }
    };
    let mut child = command.spawn().unwrap();
    if let Some(mut pipe) = child.stdin.take() {
        // The command may not read its standard input at all.
        let _ = pipe.write_all(bytes);
    }
    child.wait_with_output().unwrap()
}

/// Runs both and compares. `user` is whom to run as.
fn compare(
    folder: &Path,
    flags: &[&str],
    files: &[OsString],
    (stdin, bytes): (Stdin, &[u8]),
    user: Option<(u32, &Path)>,
) {
    let binary = user.map_or(Path::new(env!("CARGO_BIN_EXE_eagre")), |(_, binary)| binary);
    let mut ours = Command::new(binary);
    ours.arg("count").args(flags).arg("--").args(files);
    let mut theirs = Command::new("wc");
    if flags.is_empty() {
        theirs.args(["-l", "-c"]);
    }
    theirs.args(flags).arg("--").args(files);
    for command in [&mut ours, &mut theirs] {
        if let Some((id, _)) = user {
            command.uid(id).gid(id);
        }
    }
    // Words and widths are those of the C locale, but there `wc` quotes names that are no ASCII in another way.
    let measures = |flag: &&str| !flag.starts_with("--files0") && flag.contains(['w', 'L', 'm']);
    let locale = if flags.iter().any(measures) { "C" } else { "C.UTF-8" };
    let ours = output(ours, folder, locale, stdin, bytes);
    let theirs = output(theirs, folder, locale, stdin, bytes);

    let context = format!("{flags:?} {files:?} {stdin:?}");
    assert_eq!(String::from_utf8_lossy(&ours.stdout), String::from_utf8_lossy(&theirs.stdout), "{context}");
    assert!(ours.stdout == theirs.stdout, "{context}");
    let expected = if theirs.status.success() { 0 } else { 2 };
    assert_eq!(ours.status.code(), Some(expected), "{context}");
    let lines = |bytes: &[u8]| bytes.split(|&byte| byte == b'\n').count();
    assert_eq!(lines(&ours.stderr), lines(&theirs.stderr), "{context}");
    for line in String::from_utf8_lossy(&ours.stderr).lines() {
        assert!(line.starts_with("eagre: count: "), "{line}");
    }
}

/// A folder of awkward files, and names to be used as arguments, some of them of nothing.
fn awkward(folder: &Path, random: &mut Rng) -> Vec<OsString> {
    let names: &[&[u8]] = &[
        b"plain",
        b"with space",
        b"new\nline",
        b"\n",
        b"ends in\n",
        b"quote'quote",
        b"both'\n\"",
        b"not utf-8 \xff\xfe",
        b"\xff\n\xc3\xa9\xc3\x28",
        b"tab\tbell\x07\n\x7f\\x",
        "größe\n\u{85}".as_bytes(),
        b"--lines",
        b"*",
    ];
    let sizes = [0, 1, 9, 10, 99, 4095, 4096, 4097, 8192, 65_536, 262_144, 300_000];
    let mut all = Vec::new();
    for name in names {
        let name = OsStr::from_bytes(name);
        let size = *random.choice(&sizes).unwrap();
        let content: Vec<u8> = match random.u64(..4) {
            0 => vec![b'x'; size as usize],
            1 => vec![b'\n'; size as usize],
            2 => (0..size).map(|_| random.u64(..256) as u8).collect(),
            _ => (0..size).map(|_| *random.choice(b"some text\n").unwrap()).collect(),
        };
        fs::write(folder.join(name), content).unwrap();
        all.push(name.to_owned());
    }
    fs::create_dir(folder.join("folder")).unwrap();
    let sparse = File::create(folder.join("sparse")).unwrap();
    sparse.set_len(3 << 20).unwrap();
    all.extend(["folder", "sparse", "missing", "plain/not a folder", "/dev/null", "-", "", "."].map(OsString::from));
    all
}

#[test]
fn random_arguments() {
    if !wc_is_gnu() {
        return;
    }
    let flags: [&[&str]; 7] = [&[], &["-l"], &["-c"], &["-lc"], &["-cl"], &["--lines"], &["--bytes"]];
    for seed in 1..=12 {
        let folder = tempfile::tempdir().unwrap();
        let mut random = seeded(seed * 0x9e37_79b9);
        let names = awkward(folder.path(), &mut random);
        for _ in 0..15 {
            let count = *random.choice(&[0, 1, 1, 1, 2, 3, 8]).unwrap();
            let files: Vec<_> = (0..count).map(|_| random.choice(&names).unwrap().clone()).collect();
            let size = random.u64(..100_000);
            let bytes: Vec<u8> = (0..size).map(|_| *random.choice(b"ab\n").unwrap()).collect();
            let stdin = match random.u64(..3) {
                0 => Stdin::Null,
                1 => Stdin::Pipe,
                _ => Stdin::File { position: random.u64(..size + 5) },
            };
            let flags = *random.choice(&flags).unwrap();
            compare(folder.path(), flags, &files, (stdin, &bytes), None);
        }
    }
}

#[test]
fn names_from_a_file() {
    if !wc_is_gnu() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut random = seeded(7);
    let names = awkward(folder.path(), &mut random);
    for round in 0..40 {
        // Empty names, `-` and missing files among them; the last name with and without its NUL.
        let count = *random.choice(&[0, 1, 1, 2, 5]).unwrap();
        let mut list: Vec<u8> = Vec::new();
        for _ in 0..count {
            list.extend(random.choice(&names).unwrap().as_bytes());
            list.push(0);
        }
        if round % 3 == 0 {
            list.pop();
        }
        fs::write(folder.path().join("list"), &list).unwrap();
        let flags = *random.choice(&[&["-l", "-c"][..], &["-l"], &["-c"]]).unwrap();
        let (named, piped) = ([flags, &["--files0-from=list"]].concat(), [flags, &["--files0-from=-"]].concat());
        compare(folder.path(), &named, &[], (Stdin::Null, &[]), None);
        compare(folder.path(), &piped, &[], (Stdin::File { position: 0 }, &list), None);
        // Out of a pipe, nobody knows beforehand how wide the columns should be.
        compare(folder.path(), &piped, &[], (Stdin::Pipe, &list), None);
    }
    compare(folder.path(), &["--files0-from=missing"], &[], (Stdin::Null, &[]), None);
}

#[test]
fn words_and_widths() {
    if !wc_is_gnu() {
        return;
    }
    let flags: [&[&str]; 8] =
        [&["-w"], &["-L"], &["-lw"], &["-wc"], &["-lwcL"], &["--words"], &["--max-line-length"], &["-cL"]];
    let alphabets: [&[u8]; 8] = [
        b"ab \n",
        b"some\ttext, with\ttabs\n ",
        b"a\0\x01\x7f\x80\xa0\xff \n",
        b"\t\n\x0b\x0c\r a",
        b"\r\n\x08\x1b",
        b"x",
        b"\t",
        b"\xc3\xa4\xe2\x82\xac \n",
    ];
    let sizes = [0, 1, 2, 63, 64, 65, 1000, 16_384, 70_000, 262_143, 262_145, 600_000, 2_200_000, 5_000_001];
    for seed in 1..=6 {
        let folder = tempfile::tempdir().unwrap();
        let mut random = seeded(seed * 0x517c_c1b7);
        let mut names: Vec<OsString> = Vec::new();
        for (i, alphabet) in alphabets.iter().chain([&(0..=255).collect::<Vec<u8>>()[..]].iter()).enumerate() {
            let size = *random.choice(&sizes).unwrap();
            // One in so many bytes is no letter: lines and words of all lengths, and pieces in the middle of them.
            let rare = *random.choice(&[1, 2, 10, 1000, 1_000_000]).unwrap();
            let byte = |random: &mut Rng| {
                if random.u64(..rare) == 0 { *random.choice(alphabet.iter()).unwrap() } else { alphabet[0] }
            };
            let content: Vec<u8> = (0..size).map(|_| byte(&mut random)).collect();
            let name = format!("file {i}");
            fs::write(folder.path().join(&name), content).unwrap();
            names.push(name.into());
        }
        names.extend(["missing", "."].map(OsString::from));
        for flags in flags {
            compare(folder.path(), flags, &names, (Stdin::Null, &[]), None);
            let one = random.choice(&names).unwrap().clone();
            compare(folder.path(), flags, std::slice::from_ref(&one), (Stdin::Null, &[]), None);
            let bytes = fs::read(folder.path().join("file 1")).unwrap();
            let stdin = if random.u64(..2) == 0 { Stdin::Pipe } else { Stdin::File { position: random.u64(..100) } };
            compare(folder.path(), flags, &[], (stdin, &bytes), None);
        }
    }
}

#[test]
fn files_whose_size_is_a_lie() {
    if !wc_is_gnu() {
        return;
    }
    for flags in [&[][..], &["-l"], &["-c"], &["-lwcL"]] {
        for name in ["/proc/version", "/proc/filesystems", "/sys/kernel/mm/transparent_hugepage/enabled", "/proc/self"]
        {
            let nothing = (Stdin::Null, &[][..]);
            compare(Path::new("/"), flags, &[name.into()], nothing, None);
            compare(Path::new("/"), flags, &[name.into(), "/dev/null".into()], nothing, None);
        }
    }
}

#[test]
fn sizes_are_asked_for_and_not_read() {
    if !wc_is_gnu() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    // Half a terabyte of nothing, a little more than whole pages: reading it would take minutes.
    let file = File::create(folder.path().join("huge")).unwrap();
    if file.set_len((1 << 39) + 4100).is_err() {
        eprintln!("skipped: no sparse files here");
        return;
    }
    let nothing = (Stdin::Null, &[][..]);
    compare(folder.path(), &["-c"], &["huge".into()], nothing, None);
    compare(folder.path(), &["-c"], &["huge".into(), "huge".into()], nothing, None);
}

#[test]
fn huge_lines() {
    if !wc_is_gnu() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut line = vec![b'x'; 20 << 20];
    fs::write(folder.path().join("one"), &line).unwrap();
    line.extend(b"\nlast");
    fs::write(folder.path().join("two"), &line).unwrap();
    let files = ["one".into(), "two".into()];
    for flags in [&[][..], &["-lwcL"]] {
        compare(folder.path(), flags, &files, (Stdin::Null, &[]), None);
        compare(folder.path(), flags, &[], (Stdin::Pipe, &line), None);
    }
}

#[test]
fn files_one_may_not_read() {
    if !wc_is_gnu() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("open"), "a\n").unwrap();
    fs::write(path("shut"), "b\n").unwrap();
    fs::create_dir(path("shut folder")).unwrap();
    fs::write(path("shut folder/inside"), "c\n").unwrap();
    let files: Vec<OsString> = ["open", "shut", "shut folder", "shut folder/inside"].map(OsString::from).to_vec();
    let set = |name: &str, mode| {
        fs::set_permissions(path(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    set("shut", 0);
    set("shut folder", 0);
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();

    // Root may read everything, so as root both run as somebody else, who may not reach the binary either.
    let is_root = File::open(path("shut")).is_ok();
    let binary = path("eagre");
    let user = is_root.then(|| {
        // By another process: a descriptor of ours, open for writing, could be inherited by a child of another
        // test, and a program that somebody has open for writing is not run (ETXTBSY).
        let mut copy = Command::new("cp");
        copy.arg(env!("CARGO_BIN_EXE_eagre")).arg(&binary);
        assert!(copy.status().unwrap().success());
        (NOBODY, binary.as_path())
    });
    for flags in [&[][..], &["-l"], &["-c"]] {
        compare(folder.path(), flags, &files, (Stdin::Null, &[]), user);
        compare(folder.path(), flags, &files[1..2], (Stdin::Null, &[]), user);
    }
    set("shut folder", 0o700);
}
