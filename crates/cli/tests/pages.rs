//! The commands in the pages for users work as they stand there.
//!
//! Each line of a shell example that runs `eagre` is run by a shell, in a folder with files of the names that pages use. A page
//! has a folder of its own, in which its lines follow each other. Three things differ: `/mnt` is a folder there, generated data
//! has a thousandth of its size, and the host that files are sent to is this one.
#![forbid(unsafe_code)]

mod common;

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Output, Stdio};

use common::{bytes, numbers};

/// Lines that are not run, and why.
const LEFT_OUT: &[(&str, &str)] =
    &[("sha256:…", "the key is the reader's"), ("eagre doctor", "devices are measured by tests of their own")];

/// Programs that a line may need and not every machine has.
const OTHERS: [&str; 2] = ["man", "zcat"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The pages for users.
fn pages() -> Vec<PathBuf> {
    let docs = fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let mut pages: Vec<_> = docs.filter(|path| path.extension().is_some_and(|end| end == "md")).collect();
    pages.push(root().join("README.md"));
    pages.sort();
    pages
}

/// The lines of the shell examples of a page that run `eagre`, as they run here.
fn lines(page: &Path) -> Vec<String> {
    let text = fs::read_to_string(page).unwrap();
    let mut inside = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        match line {
            "```sh" => inside = true,
            "```" => inside = false,
            line if inside && command(line).any(|word| word == "eagre") => lines.push(here(line)),
            _ => {}
        }
    }
    lines.retain(|line| !LEFT_OUT.iter().any(|(part, _)| line.contains(part)));
    lines
}

/// The words of a line before its comment.
fn command(line: &str) -> impl Iterator<Item = &str> {
    line.split_whitespace().take_while(|word| !word.starts_with('#'))
}

/// A line with what differs here.
fn here(line: &str) -> String {
    let line = line.replace("/mnt", "mnt").replace(" host ", " localhost ");
    let line = if let Some(line) = line.strip_suffix(" host") { format!("{line} localhost") } else { line };
    if line.starts_with("eagre gen") { line.replace("0000000 ", "0000 ").replace("1000000 ", "1000 ") } else { line }
}

/// A folder with everything that pages name.
fn furnished() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for name in ["bin", "home", "inbox", "mnt/backup", "mnt/logs", "photos/summer"] {
        fs::create_dir_all(path(name)).unwrap();
    }
    symlink(env!("CARGO_BIN_EXE_eagre"), path("bin/eagre")).unwrap();
    fs::write(path("bin/pg_dump"), "#!/bin/sh\necho a dump\n").unwrap();
    fs::set_permissions(path("bin/pg_dump"), Permissions::from_mode(0o755)).unwrap();

    let table: String =
        (0..1000).map(|row| format!("key{},{},\"x, y\",name,{}\n", row % 7, row * 37 % 1009, row)).collect();
    let lines: String = (0..1000).map(|row| format!("{} needle error {row}\n", row * 37 % 1009)).collect();
    let stations: String = (0..1000).map(|row| format!("station {};{}.5\n", row % 5, row % 90)).collect();
    for name in ["big.csv", "data.csv", "sales.csv", "table.csv"] {
        fs::write(path(name), &table).unwrap();
    }
    for name in [
        "access.log",
        "huge.log",
        "big",
        "big.iso",
        "book.txt",
        "haystack.bin",
        "notes.txt",
        "photos/one",
        "photos/summer/two",
    ] {
        fs::write(path(name), &lines).unwrap();
    }
    for name in ["measurements.txt", "hits.txt"] {
        fs::write(path(name), &stations).unwrap();
    }
    for name in ["a", "a.bin", "numbers.bin"] {
        fs::write(path(name), bytes(&numbers(1000))).unwrap();
    }
    fs::write(path("numbers.txt"), "1\n2\n10\n").unwrap();
    fs::write(path("sizes.txt"), "3M b\n2K a\n1 c\n").unwrap();
    fs::write(path("monday.log"), "1 a\n3 c\n").unwrap();
    fs::write(path("tuesday.log"), "2 b\n4 d\n").unwrap();
    fs::write(path("words.txt"), "needle\nhay\n").unwrap();
    fs::write(path("disk.img"), b"before\x89PNGafter").unwrap();
    fs::write(path("pairs"), b"0123456789\x02\0\0\0xy0000000000\x01\0\0\0z").unwrap();
    let prepare = "gzip -k big && eagre gen 10000 b.dat && eagre sort --gensort b.dat -o sorted.dat \
        && eagre gen 1000 w --lines --dist zipf && eagre sort w -o sorted.txt && rm w";
    let output = shell(folder.path(), prepare).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder
}

fn shell(folder: &Path, line: &str) -> Command {
    let search = format!("{}:{}", folder.join("bin").display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir(folder).env("PATH", search).stdin(Stdio::null());
    for name in ["HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"] {
        command.env(name, folder.join("home"));
    }
    command
}

fn has(program: &str) -> bool {
    Command::new("sh").args(["-c", &format!("command -v {program} >/dev/null")]).status().unwrap().success()
}

fn assert_fine(page: &Path, line: &str, output: &Output) {
    let said = String::from_utf8_lossy(&output.stderr);
    // What asks a question may hear 'no'.
    let no = line.contains("&& echo") && output.status.code() == Some(1);
    assert!(output.status.success() || no, "{}: {line}\n{}: {said}", page.display(), output.status);
}

/// Whether a line is one end of a transfer, which ends when the other end has run, too.
fn is_an_end(line: &str) -> bool {
    line.contains("eagre send") || line.contains("eagre receive")
}

#[test]
fn commands_do_what_the_pages_say() {
    let mut run = BTreeSet::new();
    for page in pages() {
        let lines: Vec<_> = lines(&page).into_iter().filter(|line| !is_an_end(line)).collect();
        if lines.is_empty() {
            continue;
        }
        let folder = furnished();
        for line in lines {
            if let Some(program) = OTHERS.iter().find(|program| line.contains(*program) && !has(program)) {
                eprintln!("skipped: {line}: there is no {program} here");
                continue;
            }
            assert_fine(&page, &line, &shell(folder.path(), &line).output().unwrap());
            let words: Vec<_> = line.split_whitespace().skip_while(|word| *word != "eagre").collect();
            run.insert(words[1].to_owned());
        }
    }
    for command in ["check", "copy", "count", "find", "gather", "gen", "id", "man", "partition", "sort", "stats"] {
        assert!(run.contains(command), "no page shows eagre {command}: {run:?}");
    }
}

/// A process that listens, and what it says on standard error.
struct Listening(Child, BufReader<ChildStderr>);

impl Listening {
    /// Starts a line, and waits until it listens.
    fn start(folder: &Path, line: &str) -> Listening {
        let mut child = shell(folder, line).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = String::new();
        let mut from = BufReader::new(child.stderr.take().unwrap());
        from.read_line(&mut said).unwrap();
        assert!(said.contains("listening on"), "{line}: {said}");
        Listening(child, from)
    }

    fn end(mut self) -> (bool, String) {
        let mut said = String::new();
        self.1.read_to_string(&mut said).unwrap();
        (self.0.wait().unwrap().success(), said)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.0.kill();
    }
}

/// Two lines that follow each other are the two ends of a transfer; the one that names no host listens.
#[test]
fn two_terminals_do_what_the_pages_say() {
    if let Err(error) = TcpListener::bind("127.0.0.1:7373") {
        eprintln!("skipped: port 7373 is taken: {error}");
        return;
    }
    let mut transfers = 0;
    for page in pages() {
        let ends: Vec<_> = lines(&page).into_iter().filter(|line| is_an_end(line)).collect();
        // A page that shows one end alone shows an example; the other pages show it whole.
        for two in ends.chunks_exact(2) {
            let [there, local] = [furnished(), furnished()];
            fs::remove_dir(there.path().join("inbox")).unwrap();
            fs::remove_dir(local.path().join("inbox")).unwrap();
            let folders = [there.path(), local.path()];
            for (folder, line) in folders.into_iter().zip(two) {
                if line.contains("inbox") && !line.contains("mkdir") && line.contains("receive") {
                    fs::create_dir(folder.join("inbox")).unwrap();
                }
            }
            assert_fine(&page, "a token", &shell(there.path(), "eagre id --token secret").output().unwrap());
            fs::copy(there.path().join("secret"), local.path().join("secret")).unwrap();
            let listening = Listening::start(there.path(), &two[0]);
            assert_fine(&page, &two[1], &shell(local.path(), &two[1]).output().unwrap());
            let (fine, said) = listening.end();
            assert!(fine && said.is_empty(), "{}: {}: {said}", page.display(), two[0]);
            transfers += 1;
        }
    }
    assert!(transfers >= 4, "{transfers}");
}
