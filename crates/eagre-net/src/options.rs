//! The settings of streams between hosts.

use std::sync::Arc;
use std::time::Duration;

use eagre::{BlockSize, Control, Pipe, PipeBuilder};
use eagre_fabric::Fabric;

use crate::cancel::Cancel;
use crate::error::{NetError, NetErrorKind};
use crate::greeting::{Role, State};
use crate::pace::Pace;
use crate::rdma::Rdma;
use crate::security::Security;

/// How much may be on its way unless the user says otherwise.
const WINDOW: usize = 16 << 20;
/// The same where the other side is on this machine: nothing is on its way for long, and a stream goes around all its blocks. Few of
/// them stay in the caches.
const WINDOW_HERE: usize = 4 << 20;
/// The most blocks of a window: those of a stream fit a mask of 64 bits.
const MOST_BLOCKS: usize = 56;

/// The settings of a stream between hosts. Both sides have their own; only [`Security`] must agree.
#[derive(Clone, Debug)]
#[must_use]
pub struct Options {
    pub(crate) security: Security,
    pub(crate) retry: Duration,
    pub(crate) silence: Duration,
    pub(crate) length: Option<u64>,
    pub(crate) pace: Option<Arc<Pace>>,
    pub(crate) no_progress: Option<Duration>,
    pub(crate) cancel: Option<Cancel>,
    /// Whether this side wants a digest of the whole stream.
    pub(crate) digest: bool,
    pub(crate) rdma: Option<Rdma>,
    block: Option<BlockSize>,
    window: Option<usize>,
    stream: PipeBuilder,
}

impl Default for Options {
    fn default() -> Options {
        Options::new()
    }
}

impl Options {
    /// Plain on loopback and nothing elsewhere, 30 s of retries, and blocks of 2 MiB.
    pub fn new() -> Options {
        Options {
            security: Security::loopback(),
            retry: Duration::from_secs(30),
            silence: Duration::from_secs(15),
            length: None,
            pace: None,
            no_progress: None,
            cancel: None,
            digest: true,
            rdma: None,
            block: None,
            window: None,
            stream: Pipe::builder(),
        }
    }

    /// How the two sides know each other. Default: [`Security::loopback`].
    pub fn security(mut self, security: Security) -> Options {
        self.security = security;
        self
    }

    /// For how long a connection that cannot be made, or has broken, is tried again. Default 30 s.
    pub fn retry(mut self, time: Duration) -> Options {
        self.retry = time;
        self
    }

    /// For how long the other side may be silent before the connection counts as broken. Each side says every quarter of this
    /// time that it lives; both sides need about the same. Default 15 s; at least 200 ms.
    pub fn silence(mut self, time: Duration) -> Options {
        self.silence = time.max(Duration::from_millis(200));
        self
    }

    /// How many bytes may be on their way: the writer's side keeps them until the other side has them. As fast a link as
    /// window / round-trip time is filled: 16 MiB are 1.3 Gbit/s at 100 ms. Up to 56 blocks. Default: 16 MiB, and 4 MiB where
    /// the other side is on this machine.
    pub fn window(mut self, bytes: usize) -> Options {
        self.window = Some(bytes);
        self
    }

    /// The blocks of this side's stream. Default: 2 MiB, the size of a huge page, which are moved fastest where pointers reach them;
    /// 1 MiB for a stream of [explicit calls](PipeBuilder::explicit).
    pub fn block_size(mut self, block: BlockSize) -> Options {
        self.block = Some(block);
        self
    }

    fn block(&self) -> BlockSize {
        let usual = if self.stream.is_explicit() { 1 << 20 } else { 2 << 20 };
        self.block.or(BlockSize::new(usual)).unwrap_or(BlockSize::DEFAULT)
    }

    /// The length of the stream in bytes, if the writer knows it beforehand.
    pub fn length(mut self, bytes: u64) -> Options {
        self.length = Some(bytes);
        self
    }

    /// The most bytes a second that this side sends, over all streams with these options and clones of them. Default: no limit.
    pub fn limit(mut self, bytes_per_second: u64) -> Options {
        self.pace = Some(Arc::new(Pace::new(bytes_per_second)));
        self
    }

    /// The longest time that one end of this side's stream may wait for the other: after it, the stream fails although the
    /// connection lives. Default: for ever.
    pub fn no_progress(mut self, limit: Duration) -> Options {
        self.no_progress = Some(limit);
        self
    }

    /// What ends the waits of a [`Connector`](crate::Connector) for its other side. Default: nothing but the end of
    /// [`Options::retry`].
    pub fn cancel(mut self, cancel: &Cancel) -> Options {
        self.cancel = Some(cancel.clone());
        self
    }

    /// Sends blocks by RDMA, beside the connection, which stays what it is. Both sides must say the same provider and algorithm.
    ///
    /// **Blocks are not encrypted on their way**, whatever [`Options::security`] says: cards do not do that. The keys to the memory go
    /// over the connection, so nobody else can write there.
    ///
    /// With [`RdmaAlgorithm::Pool`](crate::RdmaAlgorithm::Pool) and [`EachBlock`](crate::RdmaAlgorithm::EachBlock) the stream has a
    /// pool of its own for the trap `signal` and the mover `map`. libfabric must be installed on both sides.
    pub fn rdma(mut self, rdma: Rdma) -> Options {
        self.rdma = Some(rdma);
        self
    }

    /// Other settings of this side's stream: trap, mover, pool, lookback. Its blocks, name and length are set by the rest of
    /// these options.
    pub fn stream(mut self, stream: PipeBuilder) -> Options {
        self.stream = stream;
        self
    }

    /// For a stream whose contents have digests of their own, in blocks of at most `unit` bytes.
    #[cfg(feature = "transfer")]
    pub(crate) fn for_contents(self, unit: usize) -> Options {
        let block = BlockSize::new(self.block().bytes().min(unit)).unwrap_or(self.block());
        let window = self.window.map(|window| window.min(MOST_BLOCKS * block.bytes()));
        Options { digest: false, block: Some(block), window, ..self }
    }

    /// How many blocks the window has. `here`: the other side is on this machine.
    fn blocks(&self, here: bool) -> Result<u32, NetError> {
        let block = self.block();
        let blocks = match self.window {
            Some(window) => window.div_ceil(block.bytes()),
            None => (if here { WINDOW_HERE } else { WINDOW } / block.bytes()).min(MOST_BLOCKS),
        };
        let blocks = blocks.max(2);
        u32::try_from(blocks).ok().filter(|_| blocks <= MOST_BLOCKS).ok_or_else(|| {
            NetError::new(
                NetErrorKind::Setting,
                format_args!("a window of {blocks} blocks of {block}: it can have {MOST_BLOCKS}; use larger blocks"),
            )
        })
    }

    /// What this side says of the end of a stream that it opens.
    pub(crate) fn state(&self, role: Role) -> State {
        let length = self.length.filter(|_| role == Role::Writes);
        let window = self.window.unwrap_or(WINDOW_HERE).max(1) as u64;
        let digest = self.digest && self.rdma.is_none_or(|rdma| rdma.checks);
        State { block: self.block().bytes() as u64, window, length, received: 0, digest, rdma: self.rdma }
    }

    /// What this side says of the end of a stream that somebody else has opened. How far it looks back is not known: at least the
    /// block itself.
    pub(crate) fn state_of(&self, role: Role, stream: &Control) -> State {
        let block = stream.block_size().bytes() as u64;
        State { block, window: block, ..self.state(role) }
    }

    /// A stream whose reader is the network, and whose other side may be `here`, on this machine: it looks back as far as the other side has not got everything.
    pub(crate) fn outgoing(&self, name: &str, here: bool) -> Result<Pipe, NetError> {
        let blocks = self.blocks(here)?;
        let stream = match self.rdma {
            None => self.stream.clone().lookback(blocks),
            // As few blocks as it needs: each is registered, and goes around through the caches.
            Some(_) => self.stream.clone().read_ahead(1).lookback(blocks - 1),
        };
        self.open(stream, name, self.length)
    }

    /// A stream whose writer is the network.
    pub(crate) fn incoming(&self, name: &str, here: bool, length: Option<u64>) -> Result<Pipe, NetError> {
        let blocks = self.blocks(here)?.min(8);
        let stream = match self.rdma {
            None => self.stream.clone().rewrite(0).read_ahead(blocks),
            // The other side writes to several blocks at a time.
            Some(_) => self.stream.clone().read_ahead(1).rewrite(blocks - 1),
        };
        self.open(stream, name, length)
    }

    fn open(&self, stream: PipeBuilder, name: &str, length: Option<u64>) -> Result<Pipe, NetError> {
        let mut stream = stream.block_size(self.block()).name(name);
        if let Some(length) = length {
            stream = stream.length(length);
        }
        if let Some(limit) = self.no_progress {
            stream = stream.timeout(limit);
        }
        if self.rdma.is_some_and(|rdma| rdma.algorithm.buffers().is_none()) {
            stream = stream.on_fixed_pool()?;
        }
        Ok(stream.open()?)
    }

    /// Why a stream cannot be carried as both sides want it: they have different ideas of how blocks travel, or this side cannot do that.
    pub(crate) fn check_rdma(&self, there: &State) -> Result<(), String> {
        let differ = match (self.rdma, there.rdma) {
            (None, None) => return Ok(()),
            (Some(own), Some(other)) if own.agrees(other) => {
                return Fabric::open().map(drop).map_err(|error| error.to_string());
            }
            (Some(own), Some(other)) => format!("one side wants {own}, and the other one {other}"),
            (Some(one), None) | (None, Some(one)) => format!("one side wants {one}, and the other one does not"),
        };
        Err(format!("{differ}; say the same on both sides"))
    }
}
