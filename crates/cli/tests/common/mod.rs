//! What every test of the command needs: the command, and numbers that only look random.

use std::process::{Command, Output, Stdio};

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

/// A generator of numbers (xorshift), the same for the same seed.
#[allow(dead_code, reason = "not every test file uses it")]
pub(crate) struct Random(pub(crate) u64);

#[allow(dead_code, reason = "not every test file uses it")]
impl Random {
    /// The next number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % end
    }

    /// One of several.
    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len() as u64) as usize]
    }
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
    let mut random = Random(count as u64 | 1);
    (0..count).map(|_| random.below(u64::MAX)).collect()
}

/// As a file has them.
#[allow(dead_code, reason = "not every test file uses it")]
pub(crate) fn bytes(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}
