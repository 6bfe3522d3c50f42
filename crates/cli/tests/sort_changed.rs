//! `eagre sort` whose input another process cuts or overwrites while records are fetched from it: one line, and exit code 2.
//!
//! The output is a named pipe. Its first byte says that fetching has begun, and a pipe that nobody reads further holds it up.
#![forbid(unsafe_code)]

mod common;

use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use common::{eagre, names, parts, seeded};
use rustix::fs::{CWD, FileType, Mode};

/// Many times what pipes and streams hold.
const RECORDS: usize = 120_000;

#[test]
fn an_input_that_changes_while_records_are_fetched() {
    let mut random = seeded(3);
    let data: Vec<u8> =
        (0..RECORDS * 100).map(|at| if at % 100 == 99 { b'\n' } else { random.u8(b'a'..=b'z') }).collect();
    type Change = fn(&File);
    let changes: [(&str, Change); 4] = [
        ("cut to nothing", |file| file.set_len(0).unwrap()),
        ("cut to a part", |file| file.set_len(1_000_001).unwrap()),
        ("overwritten", |file| file.write_all_at(&vec![0; RECORDS * 100], 0).unwrap()),
        ("longer", |file| file.write_all_at(b"more\n", (RECORDS * 100) as u64).unwrap()),
    ];
    // On a disk, whose pages are mapped; and in memory, whose are read.
    let places = [Path::new(env!("CARGO_TARGET_TMPDIR")), Path::new("/dev/shm")];
    for place in places.into_iter().filter(|place| place.is_dir()) {
        let room = tempfile::tempdir_in(place).unwrap();
        let path = |name: &str| room.path().join(name);
        fs::create_dir(path("runs")).unwrap();
        rustix::fs::mknodat(CWD, path("out"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        for plan in ["one-pass", "merge-pass"] {
            for format in ["--gensort", "--lines"] {
                for (change, act) in changes {
                    let what = format!("{change}, {plan} {format} in {}", place.display());
                    fs::write(path("data"), &data).unwrap();
                    // It is old, so that a change shows however coarse the clock of the files is.
                    let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
                    let file = OpenOptions::new().write(true).open(path("data")).unwrap();
                    file.set_modified(then).unwrap();
                    let mut command = eagre();
                    command
                        .current_dir(room.path())
                        .args(["sort", "--memory", "16M", "-j2", "-T", "runs", "--plan", plan]);
                    command.args([format, "data", "-o", "out"]).stdout(Stdio::piped()).stderr(Stdio::piped());
                    let child = command.spawn().unwrap();
                    let mut pipe = File::open(path("out")).unwrap();
                    pipe.read_exact(&mut [0]).unwrap();
                    act(&file);
                    let mut rest = Vec::new();
                    pipe.read_to_end(&mut rest).unwrap();
                    let (code, out, err) = parts(&child.wait_with_output().unwrap());
                    assert_eq!((code, out.as_str(), err.lines().count()), (2, "", 1), "{what}: {err}");
                    let said = err.starts_with("eagre: read: data: it was changed while it was sorted\n")
                        || change.starts_with("cut")
                            && err.starts_with("eagre: read: data: it was cut shorter while it was used");
                    assert!(said, "{what}: {err}");
                    assert!(rest.len() < data.len(), "{what}: {} bytes were written", rest.len());
                    assert_eq!(names(room.path()), ["data", "out", "runs"], "{what}");
                    assert!(names(&path("runs")).is_empty(), "{what}");
                }
            }
        }
    }
}
