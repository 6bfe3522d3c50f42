//! `eagre sort` of lines prints what `LC_ALL=C sort` of GNU prints, byte for byte, and exits as it does.
//!
//! The library's tests compare the orders in detail. Here it is the options, the inputs and the ways that lead to them.
#![forbid(unsafe_code)]

mod common;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use common::{eagre, parts, seeded};

fn sort_is_gnu() -> bool {
    let version = Command::new("sort").arg("--version").output();
    let gnu = version.is_ok_and(|version| String::from_utf8_lossy(&version.stdout).contains("GNU coreutils"));
    if !gnu {
        eprintln!("skipped: sort is not GNU sort");
    }
    gnu
}

/// Exit code and standard output of both, with the file `in` as standard input.
fn both(folder: &Path, arguments: &[&str]) -> [(i32, Vec<u8>); 2] {
    let run = |mut command: Command| {
        let stdin = fs::File::open(folder.join("in")).unwrap();
        command.current_dir(folder).env("LC_ALL", "C").args(arguments);
        let output = command.stdin(stdin).stderr(Stdio::null()).output().unwrap();
        (output.status.code().unwrap(), output.stdout)
    };
    let mut ours = eagre();
    ours.arg("sort");
    [run(ours), run(Command::new("sort"))]
}

#[track_caller]
fn same(folder: &Path, arguments: &[&str]) {
    let [ours, theirs] = both(folder, arguments);
    let show = |bytes: &[u8]| String::from_utf8_lossy(&bytes[..bytes.len().min(1000)]).into_owned();
    assert!(
        ours == theirs,
        "sort {arguments:?}: {}\n{}\n---\n{}\n{}",
        ours.0,
        show(&ours.1),
        theirs.0,
        show(&theirs.1)
    );
}

/// Files of lines that are equal in some orders.
fn files(folder: &Path) {
    let mut random = seeded(19);
    for (name, count, end) in [("a", 3000, "\n"), ("b", 500, "\r\n"), ("z", 500, "\0"), ("in", 200, "\n")] {
        let mut text = String::new();
        for _ in 0..count {
            let unit = ["", "K", "M"][random.usize(..3)];
            let month = ["jan", "FEB", "x", " dec"][random.usize(..4)];
            let number = random.i32(-300..300);
            text += &format!("n{},{number}{unit},{month} v1.{},{}", random.u8(..9), random.u8(..99), random.u8(..3));
            text += end;
        }
        // The last line of some has no end.
        text.truncate(text.len() - usize::from(name != "a"));
        fs::write(folder.join(name), text).unwrap();
    }
    fs::write(folder.join("empty"), "").unwrap();
    fs::write(folder.join("names"), "a\0b\0").unwrap();
    fs::write(folder.join("sorted"), "1\n2\n2\n10").unwrap();
    fs::write(folder.join("more"), "3\n4\n").unwrap();
}

#[test]
fn options_and_inputs() {
    if !sort_is_gnu() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    files(folder.path());
    for arguments in [
        &[][..],
        &["-"],
        &["a"],
        &["a", "b", "-"],
        &["empty"],
        &["empty", "a", "empty"],
        &["-r", "a"],
        &["-u", "a"],
        &["-ru", "a", "b"],
        &["-z", "z"],
        &["--zero-terminated", "-k2", "-t,", "z"],
        &["-t,", "-k2,2n", "a"],
        &["-t,", "-k2,2n", "-s", "a"],
        &["-t,", "-k2,2nr", "--stable", "a"],
        &["-t,", "-k2,2n", "-u", "a", "b"],
        &["-st,", "-k4,4", "-k2,2h", "a"],
        &["-t,", "-k2h", "-r", "a"],
        &["-t,", "-k3M", "-k1,1r", "a"],
        &["-k2V", "a"],
        &["-k2,2V", "-k1.2,1.2n", "a"],
        &["-t,", "-k2g", "b"],
        &["-f", "-d", "a"],
        &["-bi", "-k2", "a"],
        &["-h", "-t,", "-k2,2", "-k1,1r", "a"],
        &["--sort=version", "-r", "a"],
        &["--field-separator=,", "--key=2,2n", "--reverse", "--buffer-size=64M", "--parallel=2", "-T", ".", "a"],
        &["--files0-from=names", "-t,", "-k2n"],
        &["a", "-k2", "b", "-t,"],
        &["-m", "sorted", "more"],
        &["-mu", "-n", "sorted", "more", "sorted"],
        &["-c", "sorted"],
        &["-cn", "sorted"],
        &["-cnu", "sorted"],
        &["-C", "-rn", "sorted"],
        &["--check=silent", "a"],
        &["--check=quiet", "-n", "more"],
        &["--check", "empty"],
        &["-c", "-t,", "-k2,2n", "a"],
        // Trouble.
        &["-hn", "a"],
        &["-k0", "a"],
        &["-k1.x", "a"],
        &["-tab", "a"],
        &["-S", "1x", "a"],
        &["-c", "a", "b"],
        &["missing"],
    ] {
        same(folder.path(), arguments);
    }
}

#[test]
fn output_may_be_an_input() {
    if !sort_is_gnu() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    files(folder.path());
    let [_, (_, expected)] = both(folder.path(), &["-t,", "-k2n", "a", "b"]);
    let (code, out, err) = {
        let arguments = ["sort", "-t,", "-k2n", "a", "b", "-o", "a"];
        parts(&eagre().current_dir(folder.path()).args(arguments).output().unwrap())
    };
    assert_eq!((code, out.as_str(), err.as_str()), (0, "", ""));
    assert!(fs::read(folder.path().join("a")).unwrap() == expected);
}

#[test]
fn what_only_eagre_has() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str], input: &str| {
        fs::write(folder.path().join("in"), input).unwrap();
        parts(&eagre().current_dir(folder.path()).arg("sort").args(arguments).arg("in").output().unwrap())
    };
    let csv = "b,\"x, \"\"2\"\"\n\"\na,\"w\"\nc,v,\n";
    let sorted = "c,v,\na,\"w\"\nb,\"x, \"\"2\"\"\n\"\n";
    assert_eq!(run(&["--csv", "-k2,2"], csv), (0, sorted.to_owned(), String::new()));
    let (code, out, err) = run(&["--csv"], "a,\"b\nc\n");
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.contains("quotes are not closed") && err.lines().count() == 1, "{err}");

    // A header, once for several files.
    let headed = "name,size\nb,9\na,10";
    assert_eq!(
        run(&["--header", "1", "-t,", "-k2nr"], headed),
        (0, "name,size\na,10\nb,9\n".to_owned(), String::new())
    );
    assert_eq!(run(&["--header=1", "--head=1", "in"], headed).1, "name,size\na,10\n");
    assert_eq!(run(&["--header=1", "-u", "in"], headed).1, "name,size\na,10\nb,9\n");
    assert_eq!(run(&["--header=9", "-r"], headed).1, format!("{headed}\n"));
    assert_eq!(run(&["--header=1", "-m", "in"], "x\n1\n2\n").1, "x\n1\n1\n2\n2\n");
    assert_eq!(run(&["--header=1", "--csv", "-k2n"], "\"a\nb\",\"c\"\nx,2\ny,1\n").1, "\"a\nb\",\"c\"\ny,1\nx,2\n");
    assert_eq!(run(&["--header=2", "-c"], "z\ny\na\nc\nb\n").2, "eagre: sort: in: disorder at line 5 (byte 8)\n");
    fs::write(folder.path().join("other"), "name;size\n").unwrap();
    let (code, out, err) = run(&["--header=1", "other"], headed);
    assert_eq!((code, out.as_str(), err.contains("header")), (2, "", true), "{err}");

    // The first line that is out of order.
    let (code, out, err) = run(&["-c", "-n"], "1\n10\n9\n2\n");
    assert_eq!((code, out.as_str(), err.as_str()), (1, "", "eagre: sort: in: disorder at line 3 (byte 5)\n"));
    let (code, out, _) = run(&["-c", "-n", "--json"], "1\n10\n9\n2\n");
    let json: String = out.split_whitespace().collect();
    assert_eq!((code, json.as_str()), (1, r#"{"file":"in","sorted":false,"disorder":{"index":2,"byte":5}}"#));

    // Options that mean nothing for what the file holds.
    for (arguments, said) in [
        (&["--keys", "u8", "-n"][..], "-n cannot be used with --keys"),
        (&["--keys", "u8", "-k1"], "-k cannot be used with --keys"),
        (&["--record", "2", "-t,"], "-t cannot be used with --record"),
        (&["--gensort", "-k1"], "-k cannot be used with --gensort"),
        (&["--record", "2", "-k1,1"], "--key"),
    ] {
        let (code, out, err) = run(arguments, "ab");
        assert_eq!((code, out.as_str(), err.contains(said)), (2, "", true), "{err}");
    }
    assert_eq!(run(&["--record", "2", "-k", "1:1:desc"], "x1y2"), (0, "y2x1".to_owned(), String::new()));
    assert_eq!(run(&["--record=2", "-c", "--key=1:1"], "x2y1").0, 1);
}
