//! Tests that must watch a process die, or that need one to themselves: the test binary starts itself again.
//!
//! A suite that uses this has a test named `child`, which does nothing unless the environment names a case.

use super::Watchdog;
use eagre_mem::probe::Pair;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};

const CASE: &str = "EAGRE_TEST_CASE";
/// What a child reports starts with this on standard output.
const REPORT: &str = "= ";

/// How a child ended.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// The signal that ended it.
    pub(crate) signal: Option<i32>,
    pub(crate) success: bool,
    pub(crate) stderr: String,
    /// The lines it reported.
    pub(crate) reports: Vec<String>,
}

impl Outcome {
    /// The lines on standard error that Eagre wrote.
    pub(crate) fn messages(&self) -> Vec<&str> {
        self.stderr.lines().filter(|line| line.starts_with("eagre: ")).collect()
    }
}

/// Runs a case of this suite in a process of its own, on a pair.
pub(crate) fn run(case: &str, pair: Pair) -> Outcome {
    run_with(case, pair, &[])
}

/// Runs a case with more environment variables.
pub(crate) fn run_with(case: &str, pair: Pair, environment: &[(&str, &str)]) -> Outcome {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["child", "--exact", "--nocapture", "--test-threads=1"]).env(CASE, case);
    command.env("EAGRE_TRAP", pair.trap.to_string()).env("EAGRE_MOVER", pair.mover.to_string());
    command.envs(environment.iter().copied()).stdin(Stdio::null());
    // SAFETY: between fork and exec only setrlimit and prctl are called, which are system calls and no more.
    unsafe {
        command.pre_exec(|| {
            let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            libc::setrlimit(libc::RLIMIT_CORE, &none);
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            Ok(())
        });
    }
    let output = command.output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    Outcome {
        signal: output.status.signal(),
        success: output.status.success(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        reports: stdout.lines().filter_map(|line| line.strip_prefix(REPORT)).map(str::to_owned).collect(),
    }
}

/// What a child process can be asked to do, by name.
pub(crate) type Case = (&'static str, fn(Pair));

/// The child's side: runs the case the environment names.
pub(crate) fn serve(cases: &[Case]) {
    let Ok(wanted) = std::env::var(CASE) else { return };
    let _dog = Watchdog::new(&format!("child, {wanted}"));
    let text = |name: &str| std::env::var(name).unwrap();
    let pair = Pair { trap: text("EAGRE_TRAP").parse().unwrap(), mover: text("EAGRE_MOVER").parse().unwrap() };
    let (_, case) = cases.iter().find(|(name, _)| *name == wanted).unwrap();
    case(pair);
}

/// A line for the parent.
pub(crate) fn report(line: &str) {
    println!("\n{REPORT}{line}");
}
