//! Instructions, as Valgrind's callgrind counts them: on machines whose processor counts none for us.
//!
//! Valgrind translates a program and runs its threads by turns, so the numbers are of the program alone, without the kernel, and
//! spinning threads look worse than they are. Two runs of different sizes are counted: their difference has no start in it.

use std::process::Command;

use serde::{Deserialize, Serialize};

use crate::catalogue::{Case, Row, row};
use crate::child;
use crate::contenders::{self, Measured};
use crate::corpus::Store;
use crate::trouble::Trouble;

/// The hidden subcommand that runs a contender once.
pub(crate) const COMMAND: &str = "once";

/// The name of the count in tables.
pub(crate) const NAME: &str = "instructions_(callgrind)";

/// The sizes of the two runs, in bytes.
const SIZES: [u64; 2] = [64 << 20, 192 << 20];

/// A contender in a case, once.
#[derive(Serialize, Deserialize)]
struct Job {
    row: String,
    case: String,
    contender: String,
    size: u64,
}

/// Runs the job that `text` describes.
pub(crate) fn once(text: &str) -> Result<(), String> {
    let job: Job = serde_json::from_str(text).map_err(|e| format!("job: {e}"))?;
    let found = row(&job.row).and_then(|row| {
        let case = row.cases.iter().find(|case| case.name == job.case)?;
        Some((case, row.contenders.iter().find(|entry| entry.name == job.contender)?))
    });
    let (case, entry) = found.ok_or_else(|| format!("job: the catalogue has no {text}"))?;
    let store = Store::new(None, false).map_err(|e| format!("job: bench directory: {e}"))?;
    let run = contenders::build(entry, case.work, &store.into()).and_then(|mut contender| contender.run(job.size));
    match run.and_then(Measured::verified) {
        Ok(_) => Ok(()),
        Err(Trouble::Unavailable(why) | Trouble::Wrong(why) | Trouble::Failed(why)) => Err(why),
    }
}

/// Instructions per byte of a contender that works in one process; nothing if there is no Valgrind, or it cannot run this.
pub(crate) fn per_byte(row: &Row, case: &Case, contender: &str) -> Option<f64> {
    let counted = SIZES.map(|size| count(row, case, contender, size));
    let [Some(less), Some(more)] = counted else { return None };
    Some((more - less) / (SIZES[1] - SIZES[0]) as f64)
}

fn count(row: &Row, case: &Case, contender: &str, size: u64) -> Option<f64> {
    let job = Job { row: row.name.into(), case: case.name.into(), contender: contender.into(), size };
    let program = std::env::current_exe().ok()?;
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--log-fd=1"]);
    command.arg(program).args([COMMAND, &serde_json::to_string(&job).ok()?]);
    collected(&String::from_utf8_lossy(&child::run(&mut command).ok()?.output))
}

/// The number in callgrind's last words.
fn collected(output: &str) -> Option<f64> {
    output.lines().rev().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_is_found() {
        let output = "==7== Events    : Ir\n==7== Collected : 2012345678\n==7== \n==7== I   refs:      2,012,345,678\n";
        assert_eq!(collected(output), Some(2_012_345_678.0));
        assert_eq!(collected("==7== Killed\n"), None);
    }
}
