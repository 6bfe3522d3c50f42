//! fio: what it is told, and what its JSON says.

use std::process::Command;

use serde::Deserialize;

use crate::contenders::Trouble;
use crate::contenders::file::{Answer, Done, Files};

/// What it reads at a time; it leaves out what is left of a file behind its last whole block.
pub(super) const BLOCK: u64 = 2 << 20;

/// fio that reads all of `files.from` past the page cache.
pub(super) fn command(uring: bool, files: &Files) -> Command {
    let mut command = Command::new("fio");
    command.args(["--name=read", "--rw=read", "--readonly", "--thread", "--direct=1", "--output-format=json"]);
    command.arg(format!("--bs={BLOCK}")).arg(format!("--size={}", files.size / BLOCK * BLOCK));
    command.args(if uring { ["--ioengine=io_uring", "--iodepth=8"] } else { ["--ioengine=psync", "--iodepth=1"] });
    // A colon separates names.
    command.arg(format!("--filename={}", files.from.display().to_string().replace(':', "\\:")));
    command
}

#[derive(Deserialize)]
struct Output {
    jobs: Vec<Job>,
}

#[derive(Deserialize)]
struct Job {
    error: i64,
    read: Read,
    usr_cpu: f64,
    sys_cpu: f64,
}

#[derive(Deserialize)]
struct Read {
    io_bytes: u64,
    bw_bytes: f64,
    /// Milliseconds.
    runtime: f64,
}

/// What fio says it did: its own clock runs while it reads, not while it prepares.
pub(super) fn understand(output: &[u8]) -> Result<Done, Trouble> {
    // Notes may stand before the JSON.
    let start = output.iter().position(|byte| *byte == b'{').unwrap_or(0);
    let output: Output = serde_json::from_slice(&output[start..]).map_err(|e| Trouble::failed("fio's JSON", e))?;
    let job = output.jobs.first().ok_or(Trouble::Failed("fio: no jobs".into()))?;
    if job.error != 0 || job.read.bw_bytes <= 0.0 {
        return Err(Trouble::Failed(format!("fio: error {}, {} bytes", job.error, job.read.io_bytes)));
    }
    let processor = (job.usr_cpu + job.sys_cpu) / 100.0 * job.read.runtime / 1000.0;
    Ok(Done {
        seconds: job.read.io_bytes as f64 / job.read.bw_bytes,
        processor: Some(processor),
        answer: Answer::Bytes(job.read.io_bytes),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_are_found_and_an_error_is_one() {
        let json = |error| {
            format!(
                "note: both ends\n{{\"jobs\": [{{\"error\": {error}, \"usr_cpu\": 1.5, \"sys_cpu\": 8.5, \"read\": \
                 {{\"io_bytes\": 4000000, \"bw_bytes\": 2000000000, \"runtime\": 2, \"iops\": 7.0}}}}]}}"
            )
        };
        let done = understand(json(0).as_bytes()).unwrap();
        assert_eq!((done.seconds, done.answer), (0.002, Answer::Bytes(4_000_000)));
        assert!((done.processor.unwrap() - 0.0002).abs() < 1e-12);
        assert!(understand(json(5).as_bytes()).is_err());
        assert!(understand(b"").is_err());
    }
}
