//! `eagre receive`: receives what `eagre send` sends.

use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::sync::{Mutex, PoisonError};

use eagre_net::transfer::{Peer, Receiver};
use eagre_net::{Connector, DEFAULT_PORT, Listener};

use crate::console::Console;
use crate::exit::{Exit, Failure, Run};
use crate::message::Message;
use crate::network::{self, Network, Report, Signals};
use crate::target::Target;

const LONG: &str = "\
Receive files and directories from 'eagre send' on another host, or on this one.

They go into DIR, which exists; without DIR, into the current directory. If DIR is -, a single file or a pipe goes to \
standard output.

Each file is checked (BLAKE3), and appears complete and on the disk, or does not appear. Until then, an existing file \
stays as it was. It keeps the mode of the sender, less the umask, and its time. Nothing that is sent leaves DIR: names \
and links that lead out of it are refused, and symbolic links in it are not followed.

Without --listen and --connect, it waits on this machine only, at the default port. At another address it needs a \
--token, or the fingerprint of the other side (--peer).

With --resume, a file that is not complete when the transfer ends stays in DIR as .NAME.eagre-part. The next transfer \
with --resume compares it with what is sent, and goes on behind it. Without --resume, nothing stays.";

const AFTER: &str = "\
Examples:
  eagre receive                            wait for a sender on this machine
  eagre receive photos                     into the directory photos
  eagre receive --listen 0.0.0.0:7373 --token secret
                                           wait for senders elsewhere that have the same token
  eagre receive --resume --connect host --token secret
                                           call a host where 'eagre send --listen' waits
  eagre receive - | tar x                  what 'tar c . | eagre send - localhost' sends
  eagre receive --keep inbox               wait for one transfer after the other

Exit status: 0 if everything arrived, 2 on error.";

/// Receive what 'eagre send' sends
#[derive(clap::Args)]
#[command(long_about = LONG, after_help = AFTER)]
pub(crate) struct Args {
    /// Wait at ADDRESS:PORT until the other side calls; port 0 is one that is free [default: 127.0.0.1:7373]
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<String>,

    /// Call the other side, which waits ('eagre send --listen')
    #[arg(long, value_name = "HOST[:PORT]", conflicts_with_all = ["listen", "keep"])]
    connect: Option<String>,

    /// Stay for more transfers, up to eight at once, until stopped
    #[arg(long)]
    keep: bool,

    /// Keep files that are not complete, and go on with those that are there
    #[arg(long)]
    resume: bool,

    #[command(flatten)]
    network: Network,

    /// Print one JSON object for each transfer
    #[arg(long)]
    json: bool,

    /// Show no progress (it is shown only on a terminal, without --keep, and only if receiving takes long)
    #[arg(long)]
    no_progress: bool,

    /// The directory that receives; - is standard output
    #[arg(value_name = "DIR", default_value = ".", value_hint = clap::ValueHint::DirPath)]
    directory: OsString,
}

const WHAT: &str = "receive";
/// How many transfers run at once with --keep.
const AT_ONCE: usize = 8;

impl Args {
    pub(crate) fn run(self, console: &mut Console) -> Run {
        let options = self.network.options(WHAT)?;
        let receiver = self.receiver()?;
        if let Some(host) = &self.connect {
            let connector = Connector::new(host).map_err(|error| network::net_failure(WHAT, error))?.options(options);
            let signals = Signals::prepare(WHAT, host.clone(), console);
            return self.one(receiver, (&connector).into(), &signals, console);
        }
        let address = self.listen.clone().unwrap_or_else(|| format!("127.0.0.1:{DEFAULT_PORT}"));
        let signals = Signals::prepare(WHAT, address.clone(), console);
        let listener = network::listen(WHAT, &address, options, console)?;
        match self.keep {
            true => self.many(receiver, &listener, &signals, console),
            false => self.one(receiver, (&listener).into(), &signals, console),
        }
    }

    fn receiver(&self) -> Result<Receiver, Failure> {
        let target = Target::named(&self.directory);
        let receiver = match &target {
            Target::File(directory) => Receiver::into_directory(directory),
            Target::Stdout => {
                target.check_json(WHAT, "file", self.json, "name a directory")?;
                let refuse = |why: &str, cure| {
                    let message = Message::new(WHAT, target.place(), why).cure(Some(cure));
                    Failure::Trouble(message.to_string())
                };
                if self.keep {
                    return Err(refuse("it takes one file, and --keep is for many", "name a directory"));
                }
                if self.resume {
                    return Err(refuse("what is written there cannot be resumed", "name a directory"));
                }
                let stdout = io::stdout().as_fd().try_clone_to_owned();
                Ok(Receiver::into_pipe(stdout.map_err(|error| target.failure(WHAT, &error))?.into()))
            }
        };
        Ok(receiver.map_err(|error| network::failure(WHAT, &error))?.resume(self.resume))
    }

    /// Receives one transfer.
    fn one(&self, receiver: Receiver, peer: Peer<'_>, signals: &Signals, console: &mut Console) -> Run {
        let mut report = Report::new(WHAT, self.json, !self.no_progress);
        let receiver = receiver.stop_by(&signals.stop);
        let received = receiver.receive(peer, &mut |event| report.take(&event, console));
        let received = signals.unless_stopped(received);
        report.end(&received.map_err(|error| network::failure(WHAT, &error))?, console)?;
        Ok(Exit::Yes)
    }

    /// Receives transfers until it is stopped. One that fails is reported.
    fn many(&self, receiver: Receiver, listener: &Listener, signals: &Signals, console: &mut Console) -> Run {
        let receiver = receiver.stop_by(&signals.stop);
        let console = Mutex::new(console);
        let lock = || console.lock().unwrap_or_else(PoisonError::into_inner);
        let work = || {
            loop {
                let mut report = Report::new(WHAT, self.json, false);
                let mut unreported = None;
                let received = receiver.receive(listener, &mut |event| {
                    unreported.get_or_insert_with(|| signals.unreported());
                    report.take(&event, &mut lock());
                });
                let told = match received {
                    // What has arrived is said, even if a signal came meanwhile: its sender knows that it has.
                    Ok(received) => report.end(&received, &mut lock()),
                    Err(error) => {
                        drop(unreported.take());
                        Err(network::failure(WHAT, &signals.unless_stopped(error)))
                    }
                };
                if let Err(Failure::Trouble(line)) = told {
                    lock().complain(&line);
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..AT_ONCE {
                let _ = std::thread::Builder::new().name("eagre-receive".into()).spawn_scoped(scope, work);
            }
            work()
        })
    }
}
