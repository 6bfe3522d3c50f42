//! The memory that `eagre sort` takes, as others see it: for every plan and format it is what `--memory` says, and a little.
#![forbid(unsafe_code)]

mod common;

use std::fs;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use common::{eagre, parts, seeded};

const MEMORY: u64 = 16 << 20;
/// The program, its stacks and the page tables.
const BESIDE: u64 = 32 << 20;
const INPUT: usize = 20 << 20;

/// Files of all shapes in a folder, each with its options.
fn inputs(folder: &Path) -> Vec<(&'static str, &'static str)> {
    let mut random = seeded(5);
    let mut file = |name: &str, bytes: usize, make: &mut dyn FnMut(&mut fastrand::Rng, &mut Vec<u8>)| {
        let mut file = BufWriter::new(fs::File::create(folder.join(name)).unwrap());
        let (mut written, mut record) = (0, Vec::new());
        while written < bytes {
            record.clear();
            make(&mut random, &mut record);
            file.write_all(&record).unwrap();
            written += record.len();
        }
        file.into_inner().unwrap();
    };
    file("empty", INPUT / 4, &mut |_, line| line.resize(4096, b'\n'));
    file("tiny", INPUT / 4, &mut |random, lines| {
        lines.extend((0..1000).flat_map(|_| [random.u8(b'a'..=b'z'), b'\n']));
    });
    // The size of the first lines says nothing about the others.
    let mut first = 100;
    file("mixed", INPUT / 4, &mut |random, lines| {
        if first > 0 {
            first -= 1;
            lines.resize(50_000, random.u8(b'a'..=b'z'));
        }
        lines.resize(lines.len() + 1000, b'\n');
    });
    file("huge", INPUT, &mut |random, line| {
        line.resize((1 << 20) - 1, random.u8(b'a'..=b'z'));
        line.push(b'\n');
    });
    file("records", INPUT, &mut |random, record| record.extend((0..100).map(|_| random.u8(..))));
    file("values", INPUT, &mut |random, record| {
        let length = random.u32(0..1 << 20);
        record.extend(random.u64(..).to_le_bytes());
        record.extend(length.to_le_bytes());
        record.resize(record.len() + length as usize, b'v');
    });
    file("table", INPUT / 2, &mut |random, line| {
        writeln!(line, "{},{},x", random.u32(0..1000), random.u32(..)).unwrap();
    });
    vec![
        ("empty", ""),
        ("tiny", ""),
        ("mixed", ""),
        ("huge", ""),
        ("records", "--gensort"),
        ("values", "--klv 8:4"),
        ("table", "-t, -k2,2n"),
    ]
}

/// The bytes that belong to a process alone: what it has written to, and the tables of its pages.
fn own_bytes(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let parts = ["RssAnon:", "RssShmem:", "VmPTE:"];
    let counts = parts.iter().filter_map(|part| {
        let line = status.lines().find_map(|line| line.strip_prefix(part))?;
        line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()
    });
    counts.sum::<u64>() * 1024
}

#[test]
fn memory_stays_within_its_limit() {
    // On a disk: the pages of a mapped file on a tmpfs count as shared memory, like those of a pool.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut jobs = Vec::new();
    for (name, options) in inputs(folder.path()) {
        for plan in ["auto", "classic", "merge-pass"] {
            jobs.push(format!("--plan {plan} {options} {name}"));
        }
    }
    jobs.push("--plan one-pass --gensort records".to_owned());
    jobs.push("--plan one-pass huge".to_owned());
    jobs.push("-u tiny".to_owned());
    jobs.push("-u table".to_owned());
    jobs.push("-u -t, -k1,1 table".to_owned());
    jobs.push("--head 1000 table".to_owned());
    let copies = ["records"; 20].join(" ");
    jobs.push(format!("-m --gensort --head 10 {copies}"));
    let mut too_much = Vec::new();
    for job in jobs {
        let mut command = eagre();
        command.current_dir(folder.path()).args(["sort", "-j2", "-T", ".", "-o", "out", "--memory", "16M"]);
        let mut child = command.args(job.split_whitespace()).stderr(Stdio::piped()).spawn().unwrap();
        let mut most = 0;
        while child.try_wait().unwrap().is_none() {
            most = most.max(own_bytes(child.id()));
            // The processors are for the sort.
            std::thread::sleep(Duration::from_micros(200));
        }
        let (code, _, err) = parts(&child.wait_with_output().unwrap());
        assert_eq!((code, &*err), (0, ""), "{job}");
        if most > MEMORY + BESIDE {
            too_much.push(format!("{job}: {} MiB", most >> 20));
        }
    }
    assert!(too_much.is_empty(), "{}", too_much.join("\n"));
}

/// A control group for one test, gone with it. `None` where none can be made.
struct Group(std::path::PathBuf);

impl Group {
    fn new(bytes: u64) -> Option<Group> {
        let made = [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")];
        let name = format!("eagre-test-sort-{}", std::process::id());
        made.into_iter().find_map(|(root, limit)| {
            let group = Group(Path::new(root).join(&name));
            fs::create_dir(&group.0).ok()?;
            // In a folder that is no control group there is no such file, and none is made.
            let limit = fs::OpenOptions::new().write(true).open(group.0.join(limit));
            limit.ok()?.write_all(bytes.to_string().as_bytes()).ok()?;
            Some(group)
        })
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

/// The system kills who takes more than the group has; the page cache of the files is its own, and is given back.
#[test]
fn a_sort_survives_in_a_control_group() {
    let Some(group) = Group::new(MEMORY + (64 << 20)) else {
        return eprintln!("skipped: no control group of our own");
    };
    // On a disk: files that live in memory are charged to the group.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    for (name, options) in inputs(folder.path()) {
        for plan in ["classic", "merge-pass"] {
            let script = format!(
                "echo $$ >'{}/cgroup.procs' || exit 99; exec \"$EAGRE\" sort -j2 -T . -o out --memory 16M --plan {plan} {options} {name}",
                group.0.display()
            );
            let mut command = Command::new("sh");
            command.current_dir(folder.path()).args(["-c", &script]).env("EAGRE", env!("CARGO_BIN_EXE_eagre"));
            let output = command.output().unwrap();
            let err = String::from_utf8_lossy(&output.stderr);
            if output.status.code() == Some(99) {
                return eprintln!("skipped: this process may not enter a control group");
            }
            assert!(output.status.success(), "{plan} {name}: {} {err}", output.status);
        }
    }
}
