//! Streams between hosts: the arguments that `send` and `receive` share, and what they report.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use eagre_mem::options;
use eagre_net::security::load_token;
use eagre_net::transfer::{Event, Stop, TransferError, Transferred};
use eagre_net::{Fingerprint, Identity, Listener, NetError, Options, Rdma, Security};
use serde::Serialize;

use crate::console::Console;
use crate::exit::Failure;
use crate::message::Message;
use crate::name;
use crate::process;
use crate::progress::Progress;

/// The arguments of every command that opens streams to another host.
#[derive(clap::Args)]
pub(crate) struct Network {
    /// Encrypt, and trust whoever has the same token; 'eagre id --token FILE' makes one
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, conflicts_with_all = ["peers", "insecure_plain"])]
    token: Option<PathBuf>,

    /// Encrypt, and trust whoever has this fingerprint, which 'eagre id' shows there (may be repeated)
    #[arg(long = "peer", id = "peers", value_name = "FINGERPRINT", value_parser = fingerprint, conflicts_with = "insecure_plain")]
    peers: Vec<Fingerprint>,

    /// The key of this side, for --peer [default: that of 'eagre id']
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    identity: Option<PathBuf>,

    /// Neither encrypt nor ask who is there, also off this machine
    #[arg(long)]
    insecure_plain: bool,

    /// How long to try again when the other side cannot be reached, or the connection breaks
    #[arg(long, value_name = "SECONDS", default_value = "30")]
    retry: u64,

    /// Send at most RATE bytes a second; K, M or G may follow
    #[arg(long, value_name = "RATE", value_parser = rate)]
    limit: Option<u64>,

    /// Send contents by RDMA, which encrypts nothing, through libfabric's tcp, verbs or shm; the same on both sides
    ///
    /// Behind commas may follow what shall not be as usual: each-block, pipelined-copy or copy instead of pool, 'unchecked', 'busy'.
    #[arg(long, value_name = "HOW", value_parser = Rdma::from_str)]
    rdma: Option<Rdma>,
}

fn fingerprint(text: &str) -> Result<Fingerprint, String> {
    Fingerprint::from_str(text).map_err(|_| "not a fingerprint, which is sha256: and 64 hexadecimal digits".to_owned())
}

fn rate(text: &str) -> Result<u64, String> {
    options::parse_bytes(text).filter(|&rate| rate > 0).ok_or_else(|| "not a number of bytes".to_owned())
}

impl Network {
    /// The options for the streams of a command.
    pub(crate) fn options(&self, what: &str) -> Result<Options, Failure> {
        let security = self.security(what).map_err(|error| failure(what, &error))?;
        // No addresses beside the blocks, so that 'ulimit -v' matters little.
        let stream = eagre::Pipe::builder().explicit();
        let options = Options::new().security(security).retry(Duration::from_secs(self.retry)).stream(stream);
        let options = self.limit.into_iter().fold(options, Options::limit);
        Ok(self.rdma.into_iter().fold(options, Options::rdma))
    }

    fn security(&self, what: &str) -> Result<Security, TransferError> {
        if let Some(token) = &self.token {
            return Ok(Security::token(&load_token(token)?)?);
        }
        if !self.peers.is_empty() {
            let place = match &self.identity {
                Some(place) => place.clone(),
                None => identity_file()?,
            };
            if !place.exists() {
                let why = "this side has no key yet".to_owned();
                let shown = name::in_messages(place.as_os_str().as_encoded_bytes());
                return Err(TransferError::Unfit(shown, why, "make one with 'eagre id'"));
            }
            return Ok(Security::keys(&Identity::load(place)?, &self.peers)?);
        }
        if self.identity.is_some() {
            let why = "it names a key, and nobody is trusted".to_owned();
            return Err(TransferError::Unfit(format!("{what} --identity"), why, "add --peer FINGERPRINT"));
        }
        Ok(if self.insecure_plain { Security::insecure_plain() } else { Security::loopback() })
    }
}

/// Where the key of this user is.
pub(crate) fn identity_file() -> Result<PathBuf, TransferError> {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")));
    folder.map(|folder| folder.join("eagre/identity")).ok_or_else(|| {
        let why = "neither HOME nor XDG_CONFIG_HOME is set".to_owned();
        TransferError::Unfit("the key of this user".into(), why, "name a file with --identity")
    })
}

/// Signals end a transfer, and the other side hears of it.
pub(crate) struct Signals {
    pub(crate) stop: Stop,
    ends: Arc<(Mutex<Ends>, Condvar)>,
}

/// What the end of the process waits for.
#[derive(Default)]
struct Ends {
    /// Whether a transfer that was stopped has returned: the other side has heard of it.
    over: bool,
    /// How many transfers will be reported.
    unreported: usize,
}

/// A transfer that will be reported, until it is dropped.
pub(crate) struct Unreported<'s>(&'s Signals);

impl Drop for Unreported<'_> {
    fn drop(&mut self) {
        self.0.change(|ends| ends.unreported -= 1);
    }
}

impl Signals {
    /// Prepares for a long work: `what` at `place`.
    pub(crate) fn prepare(what: &'static str, place: String, console: &Console) -> Signals {
        /// The other side gets this time to hear it.
        const MOST: Duration = Duration::from_secs(1);
        let (stop, ends) = (Stop::new(), Arc::<(Mutex<Ends>, Condvar)>::default());
        let (signalled, wanted) = (stop.clone(), Arc::clone(&ends));
        let tell = move || {
            let under_way = signalled.stop();
            let ends = wanted.0.lock().unwrap_or_else(PoisonError::into_inner);
            let waits = |ends: &mut Ends| under_way && !ends.over || ends.unreported > 0;
            drop(wanted.1.wait_timeout_while(ends, MOST, waits));
        };
        process::prepare_telling(what, place, console.gauge(), tell);
        Signals { stop, ends }
    }

    /// A transfer has begun that will be reported, even if a signal comes meanwhile.
    pub(crate) fn unreported(&self) -> Unreported<'_> {
        self.change(|ends| ends.unreported += 1);
        Unreported(self)
    }

    fn change(&self, change: impl FnOnce(&mut Ends)) {
        change(&mut self.ends.0.lock().unwrap_or_else(PoisonError::into_inner));
        self.ends.1.notify_all();
    }

    /// What a transfer returned. If a signal has ended it, the process ends with the line about the signal and no other.
    pub(crate) fn unless_stopped<T>(&self, returned: T) -> T {
        if self.stop.is_stopped() {
            self.change(|ends| ends.over = true);
            loop {
                std::thread::park();
            }
        }
        returned
    }
}

/// Listens, and says where.
pub(crate) fn listen(what: &str, address: &str, options: Options, console: &mut Console) -> Result<Listener, Failure> {
    let listener = Listener::bind(address, options).map_err(|error| failure(what, &error.into()))?;
    console.remark(&format!("eagre: {what}: listening on {}", listener.local_address()));
    Ok(listener)
}

/// The failure for an error of a transfer.
pub(crate) fn failure(what: &str, error: &TransferError) -> Failure {
    match error {
        TransferError::Here(_, error) if error.kind() == std::io::ErrorKind::BrokenPipe => Failure::Unheard,
        _ => Failure::Trouble(line(what, error)),
    }
}

fn line(what: &str, error: &TransferError) -> String {
    match error {
        TransferError::Here(place, error) => Message::from_io(what, place, error).to_string(),
        error => format!("eagre: {what}: {error}"),
    }
}

/// The failure for an error of the network.
pub(crate) fn net_failure(what: &str, error: NetError) -> Failure {
    failure(what, &error.into())
}

/// What is told of one transfer.
pub(crate) struct Report {
    what: &'static str,
    started: Instant,
    json: bool,
    watched: bool,
    files: Vec<Received>,
}

/// A file in the JSON object.
#[derive(Serialize)]
struct Received {
    #[serde(flatten)]
    name: name::Json,
    bytes: u64,
    resumed: u64,
    blake3: String,
}

/// The JSON object.
#[derive(Serialize)]
struct Json {
    files: Vec<Received>,
    bytes: u64,
    resumed: u64,
    skipped: u64,
    failed: u64,
    seconds: f64,
}

impl Report {
    /// Of the command `what`. `progress`: with a line of progress.
    pub(crate) fn new(what: &'static str, json: bool, progress: bool) -> Report {
        Report { what, started: Instant::now(), json, watched: !progress, files: Vec::new() }
    }

    /// Takes an event.
    pub(crate) fn take(&mut self, event: &Event<'_>, console: &mut Console) {
        match event {
            Event::Total(total) if !self.watched => {
                self.watched = true;
                // The length of a pipe is not known.
                console.watch(Progress::new(self.what, Some(*total).filter(|&total| total > 0)));
            }
            Event::Total(total) if *total > 0 => console.gauge().expect(*total),
            Event::Progress(done) => console.advance(*done),
            Event::File { name, bytes, before, digest } if self.json => self.files.push(Received {
                name: name::Json::new(Some(name)),
                bytes: *bytes,
                resumed: *before,
                blake3: name::hex(digest),
            }),
            Event::Skipped { place, why } => {
                console.remark(&Message::new(self.what, *place, format!("not sent: {why}")).to_string());
            }
            Event::Failed { error } => console.complain(&line(self.what, error)),
            _ => {}
        }
    }

    /// The transfer has ended.
    pub(crate) fn end(self, done: &Transferred, console: &mut Console) -> Result<(), Failure> {
        if !self.json {
            return Ok(());
        }
        console.print_json(&Json {
            files: self.files,
            bytes: done.bytes,
            resumed: done.before,
            skipped: done.skipped,
            failed: done.failed,
            seconds: self.started.elapsed().as_secs_f64(),
        })
    }
}
