//! The thread between two streams: takes turns until the content has ended, and says what was wrong if it has not.

use std::io::{self, Read};
use std::thread;

use super::Format;
use super::library::{self, Damage, Library, Turn};
use super::streams::{self, Ends, Streams};
use crate::{OpenError, Reader, StreamError, Trap, Writer};

/// The most that one turn reads and writes: one block, and two, so that an lz4 block of 4 MiB (the default of its command)
/// is decoded in place. Wherever it begins, a turn then touches one block more than that.
const READ: usize = 2 << 20;
const WRITE: usize = 4 << 20;
/// The windows a turn needs, in blocks of 2 MiB: it may return to the block it began in.
pub(super) const LOOKBACK: u32 = 1;
pub(super) const REWRITE: u32 = 2;

/// Starts the thread, and one that reads `source`.
pub(super) fn start(
    format: Format,
    name: &str,
    length: Option<u64>,
    source: impl Read + Send + 'static,
    ends: Ends,
) -> io::Result<Reader> {
    let Streams { packed, content } = streams::open(format, name, length, ends)?;
    let input = match length {
        Some(length) => packed.filled_by(exactly(source, length))?,
        None => {
            let mut source = source;
            packed.filled_by(move |_, block: &mut [u8]| read(&mut source, block))?
        }
    };
    let (output, reader) = content.split();
    let helper = thread::Builder::new().name("eagre-decode".into());
    let started = helper.spawn(move || decode(format, length, input, output));
    started.map_err(|error| OpenError::no_thread(&error))?;
    Ok(reader)
}

/// One read, again if it was interrupted.
pub(super) fn read(source: &mut impl Read, block: &mut [u8]) -> io::Result<usize> {
    loop {
        match source.read(block) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            answer => return answer,
        }
    }
}

/// The source, which is to have `length` bytes. What a file has grown meanwhile is left out.
fn exactly(
    mut source: impl Read + Send + 'static,
    length: u64,
) -> impl FnMut(u64, &mut [u8]) -> io::Result<usize> + Send {
    move |offset, block| {
        let left = usize::try_from(length - offset).unwrap_or(usize::MAX).min(block.len());
        match read(&mut source, &mut block[..left])? {
            0 if left > 0 => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file shrank while it was read")),
            n => Ok(n),
        }
    }
}

/// Why there is no more.
enum Stop {
    /// Nobody reads any more.
    Unread,
    /// The compressed file could not be read.
    Input(StreamError),
    /// After so many bytes of the compressed file.
    Damage(u64, String),
    Truncated(u64),
}

fn decode(format: Format, length: Option<u64>, mut input: Reader, mut output: Writer) {
    let mut progress = Progress { read: 0, written: 0, whole: false };
    let decoded = library::new(format).map_err(|why| Stop::Damage(0, why)).and_then(|mut library| match length {
        Some(length) if [input.control().trap(), output.control().trap()].iter().all(|&trap| trap != Trap::Off) => {
            by_pointer(&mut *library, length, &mut input, &mut output, &mut progress)
        }
        _ => by_blocks(&mut *library, &mut input, &mut output, &mut progress),
    });
    match decoded {
        // The only error left is that of the reader, who knows.
        Ok(()) => drop(output.finish_at(progress.written)),
        Err(Stop::Unread) => {}
        Err(Stop::Input(error)) => {
            let why = error.detail().map_or_else(|| error.to_string(), str::to_owned);
            output.fail(&format!("cannot be read: {why}"));
        }
        Err(Stop::Damage(offset, why)) => output.fail(&format!("{format}: after byte {offset}: {why}")),
        Err(Stop::Truncated(offset)) => {
            output.fail(&format!("{format}: ends in the middle, at byte {offset}: the file is truncated"));
        }
    }
}

/// How far a decoder has come.
struct Progress {
    read: u64,
    written: u64,
    whole: bool,
}

impl Progress {
    /// Takes note of a turn that had so many bytes to read. False if that was the end.
    fn note(&mut self, turn: Result<Turn, Damage>, input_len: usize) -> Result<bool, Stop> {
        let turn = turn.map_err(|damage| Stop::Damage(self.read + damage.read as u64, damage.why))?;
        self.read += turn.read as u64;
        self.written += turn.written as u64;
        self.whole = turn.whole;
        match turn.read + turn.written {
            0 if input_len > 0 => Err(Stop::Damage(self.read, "the decoder does not get on".into())),
            0 if self.whole => Ok(false),
            0 => Err(Stop::Truncated(self.read)),
            _ => Ok(true),
        }
    }
}

/// Turns on the pointers of both streams.
fn by_pointer(
    library: &mut dyn Library,
    length: u64,
    input: &mut Reader,
    output: &mut Writer,
    progress: &mut Progress,
) -> Result<(), Stop> {
    let (from, to) = (input.control(), output.control());
    let capacity = to.capacity();
    let scopes = library::on_pointers(library, input, output, |turn| {
        loop {
            let input_len = (length - progress.read).min(READ as u64) as usize;
            let output_len = (capacity - progress.written).min(WRITE as u64) as usize;
            let took = turn([progress.read, progress.written], [input_len, output_len]);
            // What a turn makes of throw-away pages has no meaning.
            if let Some(error) = from.failure() {
                return Err(Stop::Input(error));
            }
            if to.failure().is_some() {
                return Err(Stop::Unread);
            }
            if !progress.note(took, input_len)? {
                return Ok(());
            }
            if progress.written == capacity {
                return Err(Stop::Damage(progress.read, format!("unpacks to more than {capacity} bytes")));
            }
        }
    });
    match scopes {
        Ok(Ok(decoded)) => decoded,
        Ok(Err(error)) => Err(Stop::Input(error)),
        Err(_) => Err(Stop::Unread),
    }
}

/// Turns on blocks, for where there are no faults, or the file's length is not known.
fn by_blocks(
    library: &mut dyn Library,
    input: &mut Reader,
    output: &mut Writer,
    progress: &mut Progress,
) -> Result<(), Stop> {
    loop {
        let from = input.fill(0).map_err(Stop::Input)?;
        let to = output.reserve(0).map_err(|_| Stop::Unread)?;
        let input_len = from.len();
        let turn = library::on_slices(library, from, to);
        if let Ok(turn) = &turn {
            input.consume(turn.read);
            output.commit(turn.written);
        }
        if !progress.note(turn, input_len)? {
            return Ok(());
        }
    }
}
