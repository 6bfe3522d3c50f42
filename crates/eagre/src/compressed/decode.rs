//! The thread between the two streams. It calls the library in turns until the content ends, and reports what is wrong
//! if it does not end properly.

use std::io::{self, Read};
use std::thread;

use super::Format;
use super::library::{self, Damage, Library, Turn};
use super::streams::{self, Ends, Streams};
use crate::{OpenError, Reader, StreamError, Trap, Writer};

/// The most bytes that one turn reads and writes: one block and two blocks. So an lz4 block of 4 MiB (the default of
/// the `lz4` command) is decoded in place. A turn touches up to one block more than that, depending on where it begins.
const READ: usize = 2 << 20;
const WRITE: usize = 4 << 20;
/// The windows that a turn needs, in blocks of 2 MiB. A turn may return to the block in which it began.
pub(super) const LOOKBACK: u32 = 1;
pub(super) const REWRITE: u32 = 2;

/// Starts the decoder thread, and a thread that reads `source`.
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

/// Reads once, and repeats the call if it is interrupted.
pub(super) fn read(source: &mut impl Read, block: &mut [u8]) -> io::Result<usize> {
    loop {
        match source.read(block) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            answer => return answer,
        }
    }
}

/// The source limited to `length` bytes. It is an error if the source is shorter. Bytes by which a file has grown
/// meanwhile are not read.
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

/// Why decoding stopped.
enum Stop {
    /// The reader has gone.
    Unread,
    /// The compressed file could not be read.
    Input(StreamError),
    /// The content is damaged at this offset of the compressed file.
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
        // The only possible error is that of the reader, who knows it.
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

/// The progress of a decoder.
struct Progress {
    read: u64,
    written: u64,
    whole: bool,
}

impl Progress {
    /// Records a turn that had `input_len` bytes to read. Returns false if it was the last.
    fn note(&mut self, turn: Result<Turn, Damage>, input_len: usize) -> Result<bool, Stop> {
        let turn = turn.map_err(|damage| Stop::Damage(self.read + damage.read as u64, damage.why))?;
        self.read += turn.read as u64;
        self.written += turn.written as u64;
        self.whole = turn.whole;
        match turn.read + turn.written {
            0 if input_len > 0 => Err(Stop::Damage(self.read, "the decoder makes no progress".into())),
            0 if self.whole => Ok(false),
            0 => Err(Stop::Truncated(self.read)),
            _ => Ok(true),
        }
    }
}

/// Takes turns through the pointers of both streams.
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
            // After a failure, the input is throw-away pages, and the result of the turn has no meaning.
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

/// Takes turns on blocks. This is used without page faults, or if the length of the file is unknown.
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
