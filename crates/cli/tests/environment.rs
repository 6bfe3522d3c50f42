//! A variable with a typing error is one line, whatever the command would have done with it.
#![forbid(unsafe_code)]

mod common;

use std::fs;

use common::{eagre, names, parts};

/// Each command that works on files, with arguments that need no stream, hardly any bytes, and no vector instructions.
const COMMANDS: [&[&str]; 14] = [
    &["count", "-l", "f"],
    &["count", "-c", "f"],
    &["find", "-c", "a", "f"],
    &["stats", "f"],
    &["gen", "1", "g"],
    &["check", "records"],
    &["copy", "f", "g"],
    &["gather", "f", "f", "-o", "g"],
    &["sort", "--keys", "u64", "keys"],
    &["sort", "--keys", "u64", "--check", "keys"],
    &["partition", "--keys", "u64", "--ways", "2", "-o", "g", "keys"],
    &["send", "f", "localhost"],
    &["receive", "--listen", "127.0.0.1:0"],
    &["id", "--identity", "identity"],
];

const WRONG: [(&str, &str); 7] = [
    ("EAGRE_TRAP", "singal"),
    ("EAGRE_MOVER", "mvoe"),
    ("EAGRE_POOL", "much"),
    ("EAGRE_IO", "ring"),
    ("EAGRE_WAIT_REPORT", "soon"),
    ("EAGRE_PLAN", "teleport"),
    ("EAGRE_SIMD", "mmx"),
];

#[test]
fn a_variable_that_cannot_be_read_is_an_error_of_every_command() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("f"), "a;1\n").unwrap();
    fs::write(folder.path().join("keys"), 7_u64.to_le_bytes()).unwrap();
    fs::write(folder.path().join("records"), [7; 100]).unwrap();
    let before = names(folder.path());
    for command in COMMANDS {
        let run = |name: &str, value: &str| {
            parts(&eagre().current_dir(folder.path()).args(command).env(name, value).output().unwrap())
        };
        for (name, value) in WRONG {
            let (code, out, err) = run(name, value);
            assert_eq!((code, out.as_str(), err.lines().count()), (2, "", 1), "{command:?}, {name}: {err}");
            let said = format!("eagre: {}: {name}={value}: not a value it takes; set one of: ", command[0]);
            assert!(err.starts_with(&said), "{err}");
            assert_eq!(names(folder.path()), before, "{command:?}, {name}: nothing is made");
        }
    }
    // Nothing is as good as no variable.
    for (name, _) in WRONG {
        let (code, _, err) =
            parts(&eagre().current_dir(folder.path()).args(COMMANDS[0]).env(name, "").output().unwrap());
        assert_eq!((code, err.as_str()), (0, ""), "{name}");
    }
}

/// The doctor is there to tell.
#[test]
fn the_doctor_shows_what_is_wrong() {
    let (_, out, _) = parts(&eagre().arg("doctor").env("EAGRE_TRAP", "singal").output().unwrap());
    assert!(out.contains("EAGRE_TRAP=singal"), "{out}");
}
