//! The settings of a stream between processes, and how both of them come to have it.
//!
//! The process that makes the stream makes its memory, and sends one packet: what the stream is, and the descriptors of
//! its page and its blocks. The one that joins checks all of it, and answers with who it is.

#![forbid(unsafe_code)]

use super::connection::{Connection, refused};
use super::core::{Config, Core, User};
use super::hello::{Hello, Identity, MOST_CAPACITY, MOST_NAME, check_windows};
use super::page::Page;
use super::pointer::usual_capacity;
use super::reader::Reader;
use super::waits;
use super::writer::Writer;
use crate::heap::{self, Refused, Room};
use crate::memory::shared::SharedBlocks;
use crate::memory::{RewireError, RewireErrorKind};
use crate::stream::OpenError;
use crate::stream::protocol::Windows;
use crate::sys::{process, socket};
use crate::trap::End;
use crate::units::BlockSize;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU32, Ordering::*};
use std::time::Duration;

/// The settings of a stream between processes, for the process that makes it.
///
/// Without any call: blocks of 2 MiB, a rewrite window and a lookback of one block each and a read-ahead of two, so five blocks of
/// memory, which both processes have together.
#[derive(Clone, Debug)]
#[must_use]
pub struct Options {
    name: Option<Result<String, Refused>>,
    block: BlockSize,
    windows: Windows,
    capacity: Option<u64>,
    timeout: Option<Duration>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            name: None,
            block: BlockSize::DEFAULT,
            windows: Windows { rewrite: 1, lookback: 1, read_ahead: 2 },
            capacity: None,
            timeout: None,
        }
    }
}

impl Options {
    /// The defaults.
    pub fn new() -> Options {
        Options::default()
    }

    /// A name for messages, in both processes; of a longer one the first 63 bytes. Default: `process #` and a number.
    pub fn name(mut self, name: &str) -> Options {
        self.name = Some(heap::whole_text(format_args!("{name}")));
        self
    }

    /// The unit that changes hands. The windows count in it.
    pub fn block_size(mut self, block: BlockSize) -> Options {
        self.block = block;
        self
    }

    /// L, the rewrite window: how many blocks behind its furthest write the writer may still touch, 0 to 60. Default 1.
    pub fn rewrite(mut self, blocks: u32) -> Options {
        self.windows.rewrite = blocks;
        self
    }

    /// M, the lookback: how many blocks behind its furthest read the reader may still touch, 0 to 60. Default 1.
    pub fn lookback(mut self, blocks: u32) -> Options {
        self.windows.lookback = blocks;
        self
    }

    /// N, the read-ahead: how many finished blocks may wait between the ends, 1 to 60. Default 2.
    pub fn read_ahead(mut self, blocks: u32) -> Options {
        self.windows.read_ahead = blocks;
        self
    }

    /// How many bytes a pointer reaches, at either end: its address space, at most 64 TiB. Default: 1 TiB, or less where addresses
    /// are short in this process. Explicit calls carry any number of bytes.
    ///
    /// Each process reserves as much when it asks for its pointer. One that has not so many addresses (`ulimit -v`) gets an error there,
    /// never a shorter pointer; it can still use explicit calls.
    pub fn capacity(mut self, bytes: u64) -> Options {
        self.capacity = Some(bytes);
        self
    }

    /// The longest time either end may wait for the other. Default: for ever.
    pub fn timeout(mut self, limit: Duration) -> Options {
        self.timeout = Some(limit);
        self
    }

    /// Makes a stream that this process writes. The other one joins it with [`Reader::join`], now or later.
    ///
    /// # Errors
    /// [`OpenError::Setting`], [`OpenError::Resources`]; [`OpenError::Unavailable`] if the other process is gone.
    pub fn writer(self, connection: Connection) -> Result<Writer, OpenError> {
        self.make(connection, End::Writer).map(Writer::new)
    }

    /// Makes a stream that this process reads. The other one joins it with [`Writer::join`], now or later.
    ///
    /// # Errors
    /// As [`Options::writer`].
    pub fn reader(self, connection: Connection) -> Result<Reader, OpenError> {
        self.make(connection, End::Reader).map(Reader::new)
    }

    fn make(self, connection: Connection, end: End) -> Result<User, OpenError> {
        static NUMBER: AtomicU32 = AtomicU32::new(1);
        process::remember();
        check_windows(self.windows).map_err(OpenError::Setting)?;
        if self.capacity.is_some_and(|bytes| bytes > MOST_CAPACITY) {
            return Err(OpenError::Setting("more than 64 TiB of addresses; open with less".into()));
        }
        let unnamed = || heap::whole_text(format_args!("process #{}", NUMBER.fetch_add(1, Relaxed)));
        let mut name = self.name.unwrap_or_else(unnamed)?;
        let fits = name.char_indices().map(|(at, letter)| at + letter.len_utf8()).take_while(|&end| end <= MOST_NAME);
        name.truncate(fits.last().unwrap_or(0));
        let socket = connection.into_socket()?;
        let (block, windows, timeout) = (self.block, self.windows, self.timeout);
        let capacity = self.capacity.unwrap_or_else(|| usual_capacity(block));
        // Had before the memory.
        let room = Room::new()?;
        let (page, page_fd) = Page::create().map_err(no_memory)?;
        let blocks = SharedBlocks::new(block, windows.blocks() as usize).map_err(no_memory)?;
        let hello = Hello { end: end.peer(), block, windows, timeout, capacity, maker: Identity::own(), name };
        let packet = hello.bytes();
        let config = Config { name: hello.name, block, windows, timeout, capacity };
        socket::send_with(&socket, &packet, &[page_fd.as_fd(), blocks.fd()]).map_err(refused)?;
        let core = Core::new(config, end, page, blocks, socket).map_err(no_addresses)?;
        known(room.put(core))
    }
}

/// Joins the stream that the other process has made, as its `end`. Waits until it has.
pub(super) fn join(connection: Connection, end: End) -> Result<User, OpenError> {
    process::remember();
    let socket = connection.into_socket()?;
    // One byte more: a longer packet is none of ours.
    let mut packet = [0; Hello::BYTES + 1];
    let (len, fds) = socket::receive_with(&socket, &mut packet).map_err(refused)?;
    let unfit = |why: &str| OpenError::Unavailable(why.to_owned());
    if len == 0 {
        return Err(unfit("the other process has ended, or closed its connection, before it made the stream"));
    }
    let (Some(hello), [Some(page), Some(blocks)]) = (Hello::read(&packet[..len]), fds) else {
        return Err(unfit(
            "the other process does not speak of a stream as this one does; run the same version of Eagre in both",
        ));
    };
    if hello.end != end {
        return Err(OpenError::Setting(format!(
            "the other process is a {} as well; join its stream as a {}",
            end, hello.end
        )));
    }
    let Hello { block, windows, timeout, capacity, maker, name, .. } = hello;
    let room = Room::new()?;
    let page = Page::adopt(&page).map_err(no_memory)?;
    let blocks = SharedBlocks::adopt(blocks, block, windows.blocks() as usize).map_err(no_memory)?;
    let config = Config { name, block, windows, timeout, capacity };
    let core = Core::new(config, end, page, blocks, socket).map_err(no_addresses)?;
    core.meet(maker);
    // If it is gone, that is seen when it is waited for.
    let _ = socket::send(&core.socket, &Identity::own().bytes());
    known(room.put(core))
}

/// An end that reports know of.
fn known(core: User) -> Result<User, OpenError> {
    waits::remember(&core)?;
    Ok(core)
}

fn no_memory(error: RewireError) -> OpenError {
    match error.kind() {
        RewireErrorKind::OutOfMemory => OpenError::Resources(error.to_string()),
        _ => OpenError::Unavailable(error.to_string()),
    }
}

fn no_addresses(refusal: crate::sys::Refusal) -> OpenError {
    OpenError::addresses(format_args!("for its blocks"), refusal, " or open with smaller blocks or windows")
}
