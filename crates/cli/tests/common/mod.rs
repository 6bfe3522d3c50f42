//! What every test of the command needs: the command, and numbers that only look random.

use std::process::{Command, Output, Stdio};

use fastrand::Rng;

/// The command under test.
pub(crate) fn eagre() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_eagre"));
    command.stdin(Stdio::null());
    command
}

/// Runs it and returns exit code, standard output and standard error.
#[allow(dead_code, reason = "not every test file uses it")]
pub(crate) fn run(arguments: &[&str]) -> (i32, String, String) {
    parts(&eagre().args(arguments).output().unwrap())
}

/// Exit code, standard output and standard error of an output.
#[allow(dead_code, reason = "not every test file uses it")]
pub(crate) fn parts(output: &Output) -> (i32, String, String) {
    (
        output.status.code().expect("not killed by a signal"),
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

/// A file system of so many bytes in memory, in name spaces of our own, for a script. `None` if that is forbidden here.
#[allow(dead_code, reason = "not every test file uses it")]
pub(crate) fn on_a_small_disk(size: &str, script: &str) -> Option<Output> {
    let setup =
        format!("mount -t tmpfs -o size={size} none \"$ROOM\" && touch \"$ROOM/mounted\" && cd \"$ROOM\" && {script}");
    let room = tempfile::tempdir().unwrap();
    let mut command = Command::new("unshare");
    command.args(["--mount", "--map-root-user", "sh", "-c", &setup]).env("ROOM", room.path());
    let output = command.env("EAGRE", env!("CARGO_BIN_EXE_eagre")).output().ok()?;
    let forbidden = String::from_utf8_lossy(&output.stderr).contains("unshare:")
        || String::from_utf8_lossy(&output.stderr).contains("mount:");
    if forbidden {
        eprintln!("skipped: no file system of our own: {}", String::from_utf8_lossy(&output.stderr));
        return None;
    }
    Some(output)
}

/// Numbers that only look random, the same for the same seed. A test that fails shows its seeds.
#[allow(dead_code, reason = "not every test file uses it")]
pub(crate) fn seeded(seed: u64) -> Rng {
    eprintln!("seed: {seed}");
    Rng::with_seed(seed)
}

/// The names in a folder, hidden ones too.
#[allow(dead_code, reason = "not every test file uses it")]
pub(crate) fn names(folder: &std::path::Path) -> Vec<String> {
    let mut names: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Numbers that look random.
#[allow(dead_code, reason = "not every test file uses it")]
pub(crate) fn numbers(count: usize) -> Vec<u64> {
    let mut random = seeded(count as u64);
    (0..count).map(|_| random.u64(..)).collect()
}

/// As a file has them.
#[allow(dead_code, reason = "not every test file uses it")]
pub(crate) fn bytes(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}
