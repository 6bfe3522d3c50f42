//! A QUIC stream over loopback with the crate quinn, which brings the thread of an async runtime for each end.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use super::compiler::cache;
use super::file::program::{line, version};
use crate::child;
use crate::contenders::{Contender, Measured, Trouble};
use crate::outcome::Identity;

const CURE: &str =
    "cargo install --path crates/bench/peers/external/quinn --root ${XDG_CACHE_HOME:-~/.cache}/eagre/peers";

pub(super) struct Quinn(PathBuf);

impl Quinn {
    pub(super) fn new() -> Result<Quinn, Trouble> {
        let program = cache().map(|cache| cache.join("bin/eagre-peer-quinn")).filter(|path| path.is_file());
        program.map(Quinn).ok_or_else(|| Trouble::Unavailable(format!("no eagre-peer-quinn; {CURE}")))
    }

    fn command(&self, size: u64) -> Command {
        let mut command = Command::new(&self.0);
        command.arg(size.to_string());
        command
    }
}

impl Contender for Quinn {
    fn run(&mut self, size: u64) -> Result<Measured, Trouble> {
        let ended = child::run(&mut self.command(size))?;
        let told = String::from_utf8_lossy(&ended.output);
        let told = told.trim().split_once(' ').and_then(|(seconds, sum)| {
            let took = Duration::try_from_secs_f64(seconds.parse().ok()?).ok()?;
            Some((took, sum.parse().ok()?))
        });
        let (took, answer) = told.ok_or_else(|| Trouble::Failed("eagre-peer-quinn: no seconds and sum".into()))?;
        Ok(Measured { process: Some(ended.process), ..Measured::pipe(took, size, answer) })
    }

    fn identity(&self) -> Identity {
        Identity { version: Some(version(&self.0)), command: Some(line(&self.command(0))) }
    }
}
