//! Peers that are programs of their own, built from `peers/external` and never by the benchmark: each carries a number of bytes, and prints
//! the seconds that it took and the sum of the words.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use super::compiler::cache;
use super::file::program::{line, version};
use crate::child;
use crate::contenders::{Contender, Measured, Trouble};
use crate::outcome::Identity;

pub(super) struct Peer {
    program: PathBuf,
    /// What follows the number of bytes.
    arguments: Vec<String>,
}

impl Peer {
    /// The one of the folder `name`.
    pub(super) fn new(name: &str, arguments: &[String]) -> Result<Peer, Trouble> {
        let program = cache().map(|cache| cache.join(format!("bin/eagre-peer-{name}"))).filter(|path| path.is_file());
        let no_program = || {
            let path = format!("crates/bench/peers/external/{name}");
            let root = "${XDG_CACHE_HOME:-~/.cache}/eagre/peers";
            Trouble::Unavailable(format!("no eagre-peer-{name}; cargo install --path {path} --root {root}"))
        };
        Ok(Peer { program: program.ok_or_else(no_program)?, arguments: arguments.to_vec() })
    }

    fn command(&self, size: u64) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(size.to_string()).args(&self.arguments);
        command
    }
}

/// Runs a program that prints the seconds that it took and the sum of the words.
pub(super) fn timed(command: &mut Command) -> Result<(child::Ended, Duration, u64), Trouble> {
    let ended = child::run(command)?;
    let told = String::from_utf8_lossy(&ended.output);
    let told = told.trim().split_once(' ').and_then(|(seconds, sum)| {
        let took = Duration::try_from_secs_f64(seconds.parse().ok()?).ok()?;
        Some((took, sum.parse().ok()?))
    });
    let name = command.get_program().to_string_lossy().into_owned();
    let (took, answer) = told.ok_or_else(|| Trouble::Failed(format!("{name}: no seconds and sum")))?;
    Ok((ended, took, answer))
}

impl Contender for Peer {
    fn run(&mut self, size: u64) -> Result<Measured, Trouble> {
        let (ended, took, answer) = timed(&mut self.command(size))?;
        Ok(Measured { process: Some(ended.process), ..Measured::pipe(took, size, answer) })
    }

    fn identity(&self) -> Identity {
        Identity { version: Some(version(&self.program)), command: Some(line(&self.command(0))) }
    }
}
