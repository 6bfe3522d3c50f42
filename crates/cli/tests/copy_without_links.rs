//! `eagre copy` where the file system knows neither files without names nor hard links, as FAT and exFAT. A filter on system
//! calls stands in for one: it gives the answers of such a file system, whoever the user is.
#![forbid(unsafe_code)]

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::{names, parts};

/// Runs a command without `O_TMPFILE` (`EOPNOTSUPP`), `linkat` (`EPERM`) and, if the first argument is `plain`, `renameat2`
/// (`EINVAL`). A filter is a program of instructions: code, jump if true, jump if false, operand.
const FILTER: &str = r#"
import ctypes, os, platform, struct, sys
numbers = {"x86_64": (257, 265, 316), "aarch64": (56, 37, 276)}.get(platform.machine())
if not numbers:
    sys.exit(77)
openat, linkat, renameat2 = numbers
LOAD, EQUAL, ANY, RETURN, ALLOW, ERROR = 0x20, 0x15, 0x45, 0x06, 0x7fff0000, 0x00050000
refused = [linkat] + [renameat2] * (sys.argv[1] == "plain")
program = [(LOAD, 0, 0, 0), (EQUAL, 0, 4, openat), (LOAD, 0, 0, 32), (ANY, 0, 1, 0x400000), (RETURN, 0, 0, ERROR | 95), (RETURN, 0, 0, ALLOW)]
for number in refused:
    program += [(EQUAL, 0, 1, number), (RETURN, 0, 0, ERROR | (1 if number == linkat else 22))]
program += [(RETURN, 0, 0, ALLOW)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *one) for one in program))
class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]
filter = Program(len(program), ctypes.addressof(code))
prctl = ctypes.CDLL(None, use_errno=True).prctl
if prctl(38, 1, 0, 0, 0) or prctl(22, ctypes.c_ulong(2), ctypes.byref(filter), 0, 0):
    sys.exit(77)
os.execv(sys.argv[2], sys.argv[2:])
"#;

/// `None`: it cannot be tried here.
fn filtered(how: &str, folder: &Path, program: &str, arguments: &[&str]) -> Option<(i32, String, String)> {
    let mut command = Command::new("python3");
    command.args(["-c", FILTER, how, program]).args(arguments).current_dir(folder);
    match command.output() {
        Ok(output) if output.status.code() != Some(77) => Some(parts(&output)),
        _ => {
            eprintln!("skipped: no python3 that may filter system calls");
            None
        }
    }
}

#[test]
fn new_files_need_no_links() {
    for how in ["noreplace", "plain"] {
        let room = tempfile::tempdir().unwrap();
        let path = |name: &str| room.path().join(name);
        fs::create_dir_all(path("tree/sub")).unwrap();
        fs::create_dir(path("dir")).unwrap();
        for name in ["a", "b", "tree/x", "tree/sub/y"] {
            fs::write(path(name), format!("what was in {name}")).unwrap();
        }
        // The filter works.
        let Some((code, ..)) = filtered(how, room.path(), "/bin/ln", &["a", "linked"]) else { return };
        assert_ne!(code, 0);
        let copy = |arguments: &[&str]| {
            let arguments = [&["copy"], arguments].concat();
            assert_eq!(
                filtered(how, room.path(), env!("CARGO_BIN_EXE_eagre"), &arguments),
                Some((0, String::new(), String::new())),
                "{how}, {arguments:?}"
            );
        };
        copy(&["-r", "tree", "copy"]);
        assert_eq!(
            (names(&path("copy")), names(&path("copy/sub"))),
            (vec!["sub".into(), "x".into()], vec!["y".into()])
        );
        assert_eq!(fs::read(path("copy/sub/y")).unwrap(), b"what was in tree/sub/y");
        copy(&["a", "b", "dir"]);
        assert_eq!(names(&path("dir")), ["a", "b"]);
        // Replacing, and not.
        fs::write(path("a"), "newer").unwrap();
        fs::write(path("c"), "another").unwrap();
        copy(&["-n", "a", "c", "dir"]);
        assert_eq!(names(&path("dir")), ["a", "b", "c"]);
        assert_eq!(fs::read(path("dir/a")).unwrap(), b"what was in a");
        copy(&["a", "c", "dir"]);
        copy(&["c", "new"]);
        assert_eq!(names(&path("dir")), ["a", "b", "c"]);
        assert_eq!(
            (fs::read(path("dir/a")).unwrap(), fs::read(path("new")).unwrap()),
            (b"newer".into(), b"another".into())
        );
        assert_eq!(names(room.path()), ["a", "b", "c", "copy", "dir", "new", "tree"]);
    }
}
