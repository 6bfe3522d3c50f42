//! iperf3 over a link: what TCP carries there if nobody looks at the bytes.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::file::program::{line, on_path, version};
use super::link::Link;
use crate::catalogue::Wire;
use crate::child;
use crate::contenders::{Contender, Measured, Trouble};
use crate::outcome::Identity;

const PORT: &str = "5201";

pub(super) struct Iperf {
    program: PathBuf,
    link: Link,
    wire: Wire,
}

impl Iperf {
    pub(super) fn new(wire: Wire) -> Result<Iperf, Trouble> {
        Ok(Iperf { program: on_path("iperf3", "install iperf3")?, link: Link::new(wire)?, wire })
    }

    fn client(&self, size: u64) -> Command {
        let mut client = self.link.near.command("iperf3");
        client.args(["--json", "--port", PORT, "--bytes", &size.to_string(), "--client", self.link.far.address]);
        if self.wire.round_trip > 0 {
            // What Eagre asks for on a long way.
            client.args(["--congestion", "bbr"]);
        }
        client
    }
}

/// A server that ends with this.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Contender for Iperf {
    fn run(&mut self, size: u64) -> Result<Measured, Trouble> {
        let mut server = self.link.far.command("iperf3");
        server.args(["--server", "--one-off", "--port", PORT, "--forceflush"]);
        server.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut server = Server(server.spawn().map_err(|e| Trouble::failed("iperf3", e))?);
        let output = server.0.stdout.take().ok_or_else(|| Trouble::Failed("iperf3: no output".into()))?;
        // It says that it listens, and must be able to say more until it ends.
        let mut said = BufReader::new(output).lines().map_while(Result::ok);
        if !said.by_ref().take(3).any(|line| line.contains("listening")) {
            return Err(Trouble::Failed("iperf3: the server does not listen".into()));
        }
        let ended = child::run(&mut self.client(size))?;
        let _ = server.0.wait();
        let told: serde_json::Value =
            serde_json::from_slice(&ended.output).map_err(|e| Trouble::failed("iperf3", e))?;
        let received = &told["end"]["sum_received"];
        let (Some(seconds), Some(bytes)) = (received["seconds"].as_f64(), received["bytes"].as_u64()) else {
            return Err(Trouble::Failed(format!("iperf3: {}", told["error"])));
        };
        let took = Duration::try_from_secs_f64(seconds).map_err(|e| Trouble::failed("iperf3", e))?;
        // It neither makes nor looks at what it carries.
        Ok(Measured { process: Some(ended.process), threads: 2, ..Measured::alone(took, bytes, 0, 0) })
    }

    fn identity(&self) -> Identity {
        Identity { version: Some(version(&self.program)), command: Some(line(&self.client(0))) }
    }
}
