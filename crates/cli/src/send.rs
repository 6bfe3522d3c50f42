//! `eagre send`: sends files, directories or a pipe to `eagre receive` on another host.

use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::path::PathBuf;

use eagre_net::Connector;
use eagre_net::transfer::{Compression, Peer, Sender};

use crate::console::Console;
use crate::exit::{Exit, Failure, Run};
use crate::message::Message;
use crate::network::{self, Network, Report, Signals};

const LONG: &str = "\
Send files and directories to 'eagre receive' on another host, or on this one.

Each file is checked (BLAKE3), and appears complete at the other side, on its disk, or does not appear. The command \
ends when the other side has everything. A connection that breaks is made again, and the transfer goes on where it was.

Directories are sent with all that is in them: files, directories and symbolic links, with mode and time. Pipes, \
sockets and devices in them are left out, and said. A directory given as . or DIR/. stands for what is in it.

Without a key, both sides must be on the same machine. To another host, everything is encrypted (TLS 1.3), and both \
sides prove who they are: give both the same --token, or each the other's fingerprint (--peer).

With --listen, this side waits, and the other one calls: 'eagre receive --connect HOST'.";

const AFTER: &str = "\
Examples:
  eagre send photos localhost              a directory, to 'eagre receive' in another terminal
  eagre id --token secret                  make a token; copy it to the other host, too
  eagre send --token secret a b host       two files to a host where 'eagre receive' waits
  tar c . | eagre send --token secret - host
                                           a pipe, to 'eagre receive -'
  eagre send --compress auto logs localhost
                                           compress on the way what shrinks
  eagre send --streams 4 --token secret big host
                                           four connections at once, for a fast link or a long one
  eagre send --listen 0.0.0.0:7373 --token secret a
                                           wait for 'eagre receive --connect'

Exit status: 0 if everything arrived, 2 on error.";

/// Send files, directories or a pipe to another host
#[derive(clap::Args)]
#[command(
    long_about = LONG,
    after_help = AFTER,
    override_usage = "eagre send [OPTIONS] FILE... HOST[:PORT]\n       eagre send [OPTIONS] --listen ADDRESS:PORT FILE..."
)]
pub(crate) struct Args {
    /// Wait at ADDRESS:PORT until the other side calls; port 0 is one that is free
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<String>,

    #[command(flatten)]
    network: Network,

    /// Compress on the way: zstd for slow links, lz4 for fast ones, auto for what shrinks
    #[arg(long, value_name = "HOW", default_value = "none", value_parser = ["none", "auto", "zstd", "lz4"])]
    compress: String,

    /// Send over N connections at once, up to 16: for links faster than one core encrypts, and long ones that lose packets; each takes
    /// up to 20 MiB of memory
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u8).range(1..=16))]
    streams: u8,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    /// Show no progress (it is shown only on a terminal, and only if sending takes long)
    #[arg(long)]
    no_progress: bool,

    /// Files and directories, followed by the host unless --listen is given; - is standard input
    #[arg(value_name = "FILE", required = true, value_hint = clap::ValueHint::AnyPath)]
    paths: Vec<OsString>,
}

const WHAT: &str = "send";

impl Args {
    pub(crate) fn run(self, console: &mut Console) -> Run {
        let (files, host) = self.split()?;
        let options = self.network.options(WHAT)?;
        let sender = self.sender(files)?;
        let typed = files.iter().any(|file| file == "-") && io::stdin().is_terminal();
        let mut report = Report::new(WHAT, self.json, !self.no_progress && !typed);
        let net = |error| network::net_failure(WHAT, error);
        let signals = Signals::prepare(WHAT, self.listen.as_ref().unwrap_or(&host).clone(), console);
        let (connector, listener);
        let peer: Peer<'_> = match &self.listen {
            Some(address) => {
                listener = network::listen(WHAT, address, options, console)?;
                (&listener).into()
            }
            None => {
                connector = Connector::new(&host).map_err(net)?.options(options);
                (&connector).into()
            }
        };
        let sent = sender.stop_by(&signals.stop).send(peer, &mut |event| report.take(&event, console));
        let sent = signals.unless_stopped(sent);
        report.end(&sent.map_err(|error| network::failure(WHAT, &error))?, console)?;
        Ok(Exit::Yes)
    }

    /// The files, and the host if this side calls.
    fn split(&self) -> Result<(&[OsString], String), Failure> {
        if self.listen.is_some() {
            return Ok((&self.paths, String::new()));
        }
        let usage = |why: &str| {
            let message = Message::new("usage", WHAT, why).cure(Some("see 'eagre send --help'"));
            Failure::Trouble(message.to_string())
        };
        match self.paths.split_last() {
            Some((host, files)) if !files.is_empty() => {
                let host = host.to_str().ok_or_else(|| usage("the host is not text"))?;
                Ok((files, host.to_owned()))
            }
            _ => Err(usage("the host is missing")),
        }
    }

    fn sender(&self, files: &[OsString]) -> Result<Sender, Failure> {
        let compression = self.compress.parse().unwrap_or(Compression::None);
        let mut sender = Sender::new().compression(compression).streams(self.streams.into());
        for file in files {
            let added = match file.as_os_str() {
                file if file == OsStr::new("-") => {
                    let stdin = io::stdin().as_fd().try_clone_to_owned();
                    let stdin = stdin.map_err(|error| {
                        Failure::Trouble(Message::from_io(WHAT, "standard input", &error).to_string())
                    })?;
                    sender.pipe(stdin.into())
                }
                file => sender.add(PathBuf::from(file)),
            };
            added.map_err(|error| network::failure(WHAT, &error))?;
        }
        Ok(sender)
    }
}
