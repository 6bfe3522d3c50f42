//! Eagre itself: streams with their default windows, through plain pointers or explicit calls.
//!
//! Streams are opened anew for each run, before the clock starts; their memory comes from the pool
//! that all streams of a process share, and is there after the first round, which does not count.

use std::fs::File;
use std::io::{self, Seek};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use eagre::{BlockSize, Mover, Pipe, PipeBuilder, Reader, StreamStats, Trap, Writer};

use crate::catalogue::Setting;
use crate::contenders::primitive::{Load, TOTAL};
use crate::contenders::{Contender, Measured, Trouble, read, two_threads};
use crate::kernels::{Tally, fill, fill_at, word};
use crate::memory::{Pages, words_of, words_of_mut};

/// What a reader on a pointer looks at in one go: it is foreign code and knows nothing of blocks.
const PIECE: u64 = 1 << 20;

/// A builder of the setting's streams, all else left at its default.
fn builder(setting: Setting) -> PipeBuilder {
    let builder = Pipe::builder();
    match setting {
        Setting::SignalMove => builder.trap(Trap::Signal).mover(Mover::Move),
        Setting::SignalRemap => builder.trap(Trap::Signal).mover(Mover::Remap),
        Setting::PagerMove => builder.trap(Trap::Pager).mover(Mover::Move),
        Setting::SignalMap => builder.trap(Trap::Signal).mover(Mover::Map),
        Setting::SignalMoveSparse => builder.trap(Trap::Signal).mover(Mover::Move).sparse(true),
        Setting::Explicit => builder.trap(Trap::Off),
        Setting::ExplicitNarrow => builder.trap(Trap::Off).rewrite(0).lookback(0).read_ahead(2),
    }
}

/// A builder that has opened a stream once, or why it cannot here.
fn checked(builder: PipeBuilder) -> Result<PipeBuilder, Trouble> {
    builder.clone().open().map_err(|e| Trouble::Unavailable(e.to_string()))?;
    Ok(builder)
}

fn open(builder: &PipeBuilder) -> Result<Pipe, Trouble> {
    builder.clone().open().map_err(|e| Trouble::failed("open", e))
}

/// What the stream counted.
fn counters(stats: &StreamStats) -> Vec<(&'static str, f64)> {
    let (writer, reader) = (stats.writer, stats.reader);
    vec![
        ("writer_faults", writer.faults as f64),
        ("reader_faults", reader.faults as f64),
        ("moves", (writer.moves + reader.moves) as f64),
        ("writer_waits", writer.waits as f64),
        ("reader_waits", reader.waits as f64),
        ("writer_wait_seconds", writer.wait_ns as f64 * 1e-9),
        ("reader_wait_seconds", reader.wait_ns as f64 * 1e-9),
    ]
}

/// One stream between two threads.
pub(crate) fn pipe(setting: Setting) -> Result<Box<dyn Contender>, Trouble> {
    let builder = checked(builder(setting))?;
    Ok(match setting {
        Setting::Explicit | Setting::ExplicitNarrow => Box::new(Calls(builder)),
        _ => Box::new(Pointers(builder)),
    })
}

/// Plain pointers on both ends: one fill over the whole stream, one sum.
struct Pointers(PipeBuilder);

impl Contender for Pointers {
    fn run(&mut self, size: u64) -> Result<Measured, Trouble> {
        let (mut writer, mut reader) = open(&self.0)?.split();
        let control = writer.control();
        let (took, (), answer) =
            two_threads(move || write_pointer(&mut writer, size), move || read_pointer(&mut reader, size))?;
        let counters = counters(&control.stats());
        Ok(Measured { counters, ..Measured::pipe(took, size, answer) })
    }
}

/// Fills `size` bytes through the pointer, in one go.
pub(crate) fn fill_pointer(writer: &mut Writer, size: u64) -> Result<(), Trouble> {
    let written = writer.scope(|start| {
        // SAFETY: the stream's writing end, filled once, in ascending order, a vector at a time.
        unsafe { fill_at(start.cast(), (size / 8) as usize, 0) };
    });
    written.map_err(|e| Trouble::failed("writer", e))
}

fn write_pointer(writer: &mut Writer, size: u64) -> Result<(), Trouble> {
    fill_pointer(writer, size)?;
    writer.finish_at(size).map_err(|e| Trouble::failed("finish", e))
}

/// Adds up `size` bytes through the pointer.
pub(crate) fn read_pointer(reader: &mut Reader, size: u64) -> Result<u64, Trouble> {
    let read = reader.scope(|start| {
        let mut tally = Tally::default();
        let mut at = 0;
        while at < size {
            let bytes = (size - at).min(PIECE);
            // SAFETY: the stream's reading end, up to its length, read in ascending order and never
            // further back than one piece, which is less than the window of one block.
            unsafe { tally.add_at(start.add(at as usize).cast(), (bytes / 8) as usize) };
            at += bytes;
        }
        tally
    });
    read.map_err(|e| Trouble::failed("reader", e))?.answer()
}

/// Explicit calls on both ends: no pointers, no faults.
struct Calls(PipeBuilder);

impl Contender for Calls {
    fn run(&mut self, size: u64) -> Result<Measured, Trouble> {
        let (mut writer, mut reader) = open(&self.0)?.split();
        let control = writer.control();
        let (took, (), answer) = two_threads(
            move || {
                write_calls(&mut writer, size)?;
                writer.finish().map_err(|e| Trouble::failed("finish", e))
            },
            move || read_calls(&mut reader),
        )?;
        let counters = counters(&control.stats());
        Ok(Measured { counters, ..Measured::pipe(took, size, answer) })
    }
}

/// Fills `size` bytes by explicit calls, in place.
pub(crate) fn write_calls(writer: &mut Writer, size: u64) -> Result<(), Trouble> {
    let mut written = 0;
    while written < size {
        let room = writer.reserve(8).map_err(|e| Trouble::failed("reserve", e))?;
        let room = words_of_mut(room)?;
        let words = room.len().min(((size - written) / 8) as usize);
        fill(&mut room[..words], written / 8);
        writer.commit(words * 8);
        written += words as u64 * 8;
    }
    Ok(())
}

/// Adds up everything by explicit calls, in place.
pub(crate) fn read_calls(reader: &mut Reader) -> Result<u64, Trouble> {
    let mut tally = Tally::default();
    loop {
        let bytes = reader.fill(8).map_err(|e| Trouble::failed("fill", e))?;
        if bytes.is_empty() {
            return tally.answer();
        }
        let len = bytes.len();
        tally.add(words_of(bytes)?);
        reader.consume(len);
    }
}

/// One block after the other through a stream, one word touched in each: a fault and a move per
/// block and end.
pub(crate) fn moves(setting: Setting, load: Load) -> Result<Box<dyn Contender>, Trouble> {
    let native = if load.block >= 2 << 20 { Pages::Huge } else { Pages::Small };
    if load.pages != native {
        return Err(Trouble::Unavailable("streams use huge pages for blocks of 2 MiB and more".into()));
    }
    let block = BlockSize::new(load.block)
        .ok_or_else(|| Trouble::Failed(format!("catalogue: {} is no block size", load.block)))?;
    // One thread does both ends, so the writer must be able to go ahead without the reader's help.
    let builder = checked(builder(setting).block_size(block).read_ahead(2))?;
    Ok(Box::new(Moves { builder, load }))
}

struct Moves {
    builder: PipeBuilder,
    load: Load,
}

/// How many blocks the writer is ahead of the reader: its rewrite window and the one it writes.
const AHEAD: u64 = 2;

impl Contender for Moves {
    fn run(&mut self, passes: u64) -> Result<Measured, Trouble> {
        let mut pipe = open(&self.builder)?;
        let control = pipe.control();
        let (block, blocks) = (self.load.block, passes * (TOTAL / self.load.block) as u64);
        let failed = |e| Trouble::failed("pointer", e);
        let to = pipe.writer().as_mut_ptr().map_err(failed)?;
        let from = pipe.reader().as_ptr().map_err(failed)?;
        let mut tally = Tally::default();
        // The pool's blocks are there afterwards; the stream begins before the clock does.
        let touch = |range: std::ops::Range<u64>, tally: &mut Tally| {
            for i in range {
                let ahead = i as usize * block;
                // SAFETY: both ends belong to this thread; the writer goes forward, the reader
                // follows two blocks behind, where the writer has been, and never goes back.
                unsafe {
                    if i < blocks {
                        to.add(ahead).cast::<u64>().write(word(i));
                    }
                    if i >= AHEAD {
                        tally.add(&[from.add(ahead - AHEAD as usize * block).cast().read()]);
                    }
                }
            }
        };
        // The first blocks may have to come from the system.
        let begun = AHEAD * 3;
        touch(0..begun, &mut tally);
        let before = control.stats();
        let took = self.load.beside_peer(|| {
            let start = Instant::now();
            touch(begun..blocks, &mut tally);
            start.elapsed()
        });
        let after = control.stats();
        let finished = pipe.writer().finish_at(blocks * block as u64);
        finished.map_err(|e| Trouble::failed("finish", e))?;
        touch(blocks..blocks + AHEAD, &mut tally);
        if let Some(failure) = control.failure() {
            return Err(Trouble::failed("stream", failure));
        }
        let moves = |stats: &StreamStats| stats.writer.moves + stats.reader.moves;
        let moved = moves(&after) - moves(&before);
        let counters = counters(&after);
        Ok(Measured { counters, ..Measured::alone(took, moved, tally.answer()?, blocks) })
    }
}

/// One `read(2)` into a stream pointer, a second thread consuming.
pub(crate) fn read(setting: Setting) -> Result<Box<dyn Contender>, Trouble> {
    Ok(Box::new(ReadCall { builder: checked(builder(setting))?, file: None }))
}

struct ReadCall {
    builder: PipeBuilder,
    file: Option<Arc<File>>,
}

impl Contender for ReadCall {
    /// The time is that of the call, as for the peer; that until the reader has everything is counted
    /// beside it.
    fn run(&mut self, size: u64) -> Result<Measured, Trouble> {
        let file = match &self.file {
            Some(file) => file.clone(),
            None => self.file.insert(read::file(size)?).clone(),
        };
        let (mut writer, mut reader) = open(&self.builder)?.split();
        let control = writer.control();
        let (all, took, answer) = two_threads(
            move || {
                let took = read_into(&mut writer, &file, size)?;
                writer.finish_at(size).map_err(|e| Trouble::failed("finish", e))?;
                Ok(took)
            },
            move || read_pointer(&mut reader, size),
        )?;
        let mut counters = counters(&control.stats());
        counters.push(("seconds_until_read", all.as_secs_f64()));
        Ok(Measured { threads: 2, counters, ..Measured::alone(took, size, answer, size / 8) })
    }
}

/// The call and its time.
fn read_into(writer: &mut Writer, mut file: &File, size: u64) -> Result<Duration, Trouble> {
    file.rewind().map_err(|e| Trouble::failed("seek", e))?;
    let result = writer.scope(|start| {
        let clock = Instant::now();
        // SAFETY: the kernel writes at most `size` bytes, in ascending order, to the stream's writing
        // end, which is open and has room for them.
        let got = unsafe { libc::read(file.as_raw_fd(), start.cast(), size as usize) };
        (clock.elapsed(), got, io::Error::last_os_error())
    });
    let (took, got, error) = result.map_err(|e| Trouble::failed("writer", e))?;
    match u64::try_from(got) {
        Ok(all) if all == size => Ok(took),
        Ok(some) => Err(Trouble::Failed(format!("read: {some} of {size} bytes in one call"))),
        Err(_) => Err(Trouble::failed("read", error)),
    }
}
