//! The raw benchmark of RDMA, a C program: what libfabric carries if nobody looks at the bytes.

use std::path::PathBuf;
use std::process::Command;

use eagre_net::RdmaProvider;

use super::compiler::c_program;
use super::file::program::{line, version};
use super::peer;
use crate::contenders::{Contender, Measured, Trouble};
use crate::outcome::Identity;

/// As large as the memory of a stream that Eagre opens for explicit calls.
const BLOCK: usize = 1 << 20;
const BLOCKS: usize = 4;

pub(super) struct RdmaBare {
    program: PathBuf,
    provider: RdmaProvider,
}

impl RdmaBare {
    pub(super) fn new(provider: RdmaProvider) -> Result<RdmaBare, Trouble> {
        const SOURCE: &str = include_str!("../../peers/rdma_bare.c");
        let program = c_program("rdma-bare", SOURCE, &["-O2", "-pthread"], &["-lfabric"]);
        let cure = "install a C compiler and libfabric's headers (Debian: libfabric-dev)";
        let program = program.map_err(|why| Trouble::Unavailable(format!("rdma_bare: cc: {why}; {cure}")))?;
        Ok(RdmaBare { program, provider })
    }

    fn command(&self, size: u64) -> Command {
        let mut command = Command::new(&self.program);
        command.args([&size.to_string(), self.provider.name(), "127.0.0.1", &BLOCK.to_string(), &BLOCKS.to_string()]);
        command
    }
}

impl Contender for RdmaBare {
    fn run(&mut self, size: u64) -> Result<Measured, Trouble> {
        let (ended, took, _) = peer::timed(&mut self.command(size))?;
        // It neither makes nor looks at what it carries.
        Ok(Measured { process: Some(ended.process), threads: 2, ..Measured::alone(took, size, 0, 0) })
    }

    fn identity(&self) -> Identity {
        Identity { version: Some(version("cc".as_ref())), command: Some(line(&self.command(0))) }
    }
}
