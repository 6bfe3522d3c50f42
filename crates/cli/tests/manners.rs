//! Manners every command keeps: exit codes, one-line messages, silence when nobody listens.
#![forbid(unsafe_code)]

mod common;

use std::fs::File;
use std::process::Stdio;

use common::{eagre, parts, run};

const COMMANDS: [&str; 15] = [
    "check",
    "copy",
    "count",
    "find",
    "gather",
    "gen",
    "partition",
    "sort",
    "stats",
    "doctor",
    "completions",
    "man",
    "send",
    "receive",
    "id",
];

/// Arguments with which each way to print something prints it.
const SPEAKING: [&[&str]; 12] = [
    &["count"],
    &["count", "--json"],
    &["find", "-c", "x"],
    &["find", "-c", "--json", "x"],
    &["find", "x", "--help"],
    &["doctor"],
    &["doctor", "--json"],
    &["completions", "bash"],
    &["man"],
    &["man", "count"],
    &["--help"],
    &["--version"],
];

#[test]
fn a_full_disk_is_trouble() {
    let Ok(full) = File::options().write(true).open("/dev/full") else {
        eprintln!("skipped: no /dev/full here");
        return;
    };
    for arguments in SPEAKING {
        let stdout = full.try_clone().unwrap();
        let output = eagre().args(arguments).stdout(stdout).output().unwrap();
        let (code, _, err) = parts(&output);
        assert_eq!(code, 2, "{arguments:?}");
        assert_eq!(
            err, "eagre: write: standard output: No space left on device; make room, or write elsewhere\n",
            "{arguments:?}"
        );
    }
}

#[test]
fn an_output_that_cannot_be_written_is_trouble() {
    let read_only = File::open("/dev/null").unwrap();
    let output = eagre().arg("count").stdout(read_only).output().unwrap();
    let (code, _, err) = parts(&output);
    assert_eq!(code, 2);
    assert_eq!(err, "eagre: write: standard output: Bad file descriptor\n");
}

#[test]
fn silence_when_nobody_listens() {
    for arguments in SPEAKING {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = eagre().args(arguments).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        assert_eq!(parts(&output), (0, String::new(), String::new()), "{arguments:?}");
    }
}

#[test]
fn nobody_to_complain_to_is_no_panic() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let status = eagre().args(["count", "/missing"]).stderr(writer).status().unwrap();
    assert_eq!(status.code(), Some(2));
}

#[test]
fn wrong_arguments_are_one_line_and_trouble() {
    for arguments in [
        &["cuont"][..],
        &["--wrong"],
        &["count", "--wrong"],
        &["count", "--total=perhaps"],
        &["find"],
        &["find", ""],
        &["find", "--hex", "123"],
        &["find", "-m", "many", "x"],
        &["find", "-e", "x", "file", "--files0-from", "names"],
        &["doctor", "a", "b"],
        &["completions"],
        &["completions", "dos"],
        &["man", "nothing"],
    ] {
        let (code, out, err) = run(arguments);
        assert_eq!((code, out.as_str()), (2, ""), "{arguments:?}");
        assert_eq!(err.lines().count(), 1, "{err}");
        assert!(err.starts_with("eagre: ") && err.contains("; "), "{err}");
    }
    assert_eq!(
        run(&["cuont"]).2,
        "eagre: usage: arguments: unrecognized subcommand 'cuont', a similar subcommand exists: 'count'; \
         see 'eagre --help'\n"
    );
}

#[test]
fn eagre_alone_explains_itself() {
    let (code, out, err) = run(&[]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.contains("Usage: eagre"), "{err}");
}

#[test]
fn every_command_explains_itself() {
    let (code, out, err) = run(&["--help"]);
    assert_eq!((code, err.as_str()), (0, ""));
    for command in COMMANDS {
        assert!(out.contains(command), "{command}");
        let (code, help, err) = run(&[command, "--help"]);
        assert_eq!((code, err.as_str()), (0, ""));
        assert!(help.contains("Usage: eagre ") && help.contains("Examples:"), "{help}");
        let (code, page, err) = run(&["man", command]);
        assert_eq!((code, err.as_str()), (0, ""));
        assert!(page.contains(".SH \"EXAMPLES\""), "{page}");
    }
    let (_, version, _) = run(&["--version"]);
    assert_eq!(version, format!("eagre {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn completions_for_every_shell() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let (code, script, err) = run(&["completions", shell]);
        assert_eq!((code, err.as_str()), (0, ""));
        assert!(script.contains("no-progress"), "{shell}");
    }
}

/// Whatever a file is called, messages are one line that a terminal can show, and a shell can read back.
#[test]
fn odd_names_are_quoted_in_messages() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("f"), b"12345").unwrap();
    for (name, shown) in [
        (&b"a\nb"[..], "'a'$'\\n''b'"),
        (b"\x1b[31mred", "''$'\\033''[31mred'"),
        (b"not \xff utf", "'not '$'\\377'' utf'"),
        ("bi\u{202e}di".as_bytes(), "'bi'$'\\342\\200\\256''di'"),
        ("gr\u{f6}\u{df}e".as_bytes(), "gr\u{f6}\u{df}e"),
    ] {
        let name = OsStr::from_bytes(name);
        std::fs::write(folder.path().join(name), b"12345").unwrap();
        let odd = |before: &[&str], after: &[&str]| {
            let mut command = eagre();
            let mut inside = name.to_owned();
            inside.push("/none");
            command.current_dir(folder.path()).args(before).arg(inside).args(after);
            parts(&command.output().unwrap())
        };
        for (before, after) in [
            (&["count"][..], &[][..]),
            (&["find", "x"], &[]),
            (&["stats"], &[]),
            (&["copy"], &["g"]),
            (&["copy", "f"], &[]),
            (&["sort", "--keys", "u64"], &[]),
            (&["sort", "--keys", "u32", "-o"], &["/dev/null"]),
            (&["partition", "--keys", "u64", "--ways", "2", "-o", "."], &[]),
            (&["partition", "--keys", "u64", "--ways", "2", "-o"], &["/dev/null"]),
            (&["count", "--files0-from"], &[]),
        ] {
            let (code, _, err) = odd(before, after);
            assert_eq!((code, err.lines().count()), (2, 1), "{before:?}: {err:?}");
            assert!(!err.trim_end().contains(char::is_control) && !err.contains('\u{fffd}'), "{before:?}: {err:?}");
        }
        // Files that are no keys, and outputs, are named by the library below.
        let keys = eagre().current_dir(folder.path()).args(["sort", "--check", "--keys", "u64"]).arg(name).output();
        let (code, _, err) = parts(&keys.unwrap());
        assert_eq!(code, 2);
        assert!(err.starts_with(&format!("eagre: sort: {shown}: 5 bytes are no whole number")), "{err}");
        let cut = folder.path().join(OsStr::from_bytes(&[name.as_bytes(), b".gz"].concat()));
        std::fs::write(&cut, b"\x1f\x8b\x08\0\0\0").unwrap();
        let counted = eagre().args(["count"]).arg(&cut).output().unwrap();
        let (code, out, err) = parts(&counted);
        assert_eq!((code, out.as_str(), err.lines().count()), (2, "", 1), "{err}");
    }
}
