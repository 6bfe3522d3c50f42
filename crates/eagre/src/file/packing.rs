//! Between the writer of a file and the stream into it: the bytes are cut into pieces, and several threads give each piece
//! another form, of which the file has one after the other.
//!
//! ```text
//! your Writer ──stream──> pieces ──> lane 0 ──> pieces, packed, in order ──stream──> file
//!                                ──> lane 1 ──>
//! ```
//!
//! Pieces go to the lanes in turn, and come back in turn. So they stay in order, and a lane has one piece at a time.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use eagre_mem::heap;
use rustix::io::Errno;

use super::failure::Task;
use super::writing::Started;
use crate::{Reader, StreamError, Writer};

/// What a lane does with a piece.
pub(crate) trait Pack: Send {
    /// The most bytes that a piece of `raw` bytes can become.
    fn bound(&mut self, raw: usize) -> usize;

    /// Packs a piece, which begins at byte `at` of what is written, into `packed`, and returns how many bytes it takes there.
    /// `packed` has as many as [`bound`](Pack::bound) says.
    ///
    /// # Errors
    /// Why it cannot be packed.
    fn pack(&mut self, at: u64, raw: &[u8], packed: &mut [u8]) -> Result<usize, String>;
}

/// Called with the sizes of all pieces in order, as they were and as they are written.
pub(crate) type Note = Box<dyn FnMut(usize, usize) + Send>;

/// How to pack.
pub(crate) struct Packing {
    /// One for each thread.
    pub(crate) lanes: Vec<Box<dyn Pack>>,
    /// The bytes of a piece.
    pub(crate) piece: usize,
    /// Whether a file without content has a piece nevertheless, as formats of compressed files demand.
    pub(crate) never_empty: bool,
    pub(crate) note: Note,
}

/// Why packing stopped.
enum Stop {
    /// The writer failed, or is gone.
    Content(StreamError),
    /// The file failed.
    File(StreamError),
    /// A piece could not be packed.
    Packing(io::Error),
}

impl Packing {
    /// Packs all of `reader` into the stream of a file, and returns how many bytes the file has.
    pub(super) fn pump(self, mut reader: Reader, mut packed: Started, task: &Task) -> io::Result<u64> {
        match self.pack(&mut reader, &mut packed.writer) {
            Ok(()) => {
                let finished = packed.writer.finish();
                packed.end(finished)
            }
            Err(Stop::Content(error)) => packed.end(Err(error)),
            Err(Stop::File(error)) => {
                let errno = error.os_error().unwrap_or(0);
                let why = packed.end(Err(error.clone())).err().unwrap_or_else(|| error.into());
                reader.fail_io(&io::Error::from_raw_os_error(errno), &why.to_string());
                Err(why)
            }
            Err(Stop::Packing(why)) => {
                let errno = if why.kind() == io::ErrorKind::OutOfMemory { Errno::NOMEM } else { Errno::IO };
                let why = io::Error::new(why.kind(), task.message(why));
                packed.writer.fail_io(&errno.into(), &why.to_string());
                reader.fail_io(&errno.into(), &why.to_string());
                // The file has the same error.
                let _ = packed.helper.join();
                Err(why)
            }
        }
    }

    fn pack(mut self, reader: &mut Reader, writer: &mut Writer) -> Result<(), Stop> {
        let mut pieces = Vec::new();
        for lane in &mut self.lanes {
            let bound = lane.bound(self.piece);
            pieces.push(Piece::new(self.piece, bound).map_err(|error| Stop::Packing(refused(&error)))?);
        }
        thread::scope(|scope| {
            let mut lanes = Vec::new();
            for lane in std::mem::take(&mut self.lanes) {
                lanes.push(Lane::start(scope, lane).map_err(Stop::Packing)?);
            }
            let (mut begun, mut at) = (0_usize, 0_u64);
            loop {
                // `pieces` are those that are in no lane.
                let lane = &lanes[begun % lanes.len()];
                let mut piece = match pieces.pop() {
                    Some(piece) => piece,
                    None => lane.take(&mut self.note, writer)?,
                };
                piece.at = at;
                piece.fill(reader, self.piece)?;
                if piece.raw.is_empty() && (begun > 0 || !self.never_empty) {
                    pieces.push(piece);
                    break;
                }
                at += piece.raw.len() as u64;
                lane.give.send(piece).map_err(|_| Stop::Packing(panicked()))?;
                begun += 1;
            }
            // The oldest one comes next.
            let inside = lanes.len() - pieces.len();
            for number in begun - inside..begun {
                lanes[number % lanes.len()].take(&mut self.note, writer)?;
            }
            Ok(())
        })
    }
}

/// A thread that packs.
struct Lane {
    give: SyncSender<Piece>,
    done: Receiver<(Piece, Result<usize, String>)>,
}

impl Lane {
    fn start<'scope>(scope: &'scope thread::Scope<'scope, '_>, mut pack: Box<dyn Pack>) -> io::Result<Lane> {
        let (give, given) = sync_channel::<Piece>(1);
        let (give_back, done) = sync_channel(1);
        let work = move || {
            for mut piece in given {
                let packed = pack.pack(piece.at, &piece.raw, &mut piece.packed);
                if give_back.send((piece, packed)).is_err() {
                    return;
                }
            }
        };
        // A thread takes addresses for its stack, and counts among those of the user.
        let spawned = thread::Builder::new().name("eagre-pack".into()).spawn_scoped(scope, work);
        spawned.map_err(|error| {
            let text = format!("no thread for it: {error}; raise `ulimit -v` or `ulimit -u`, or use fewer threads");
            io::Error::new(error.kind(), text)
        })?;
        Ok(Lane { give, done })
    }

    /// Waits for the piece in the lane, and writes it.
    fn take(&self, note: &mut Note, writer: &mut Writer) -> Result<Piece, Stop> {
        let (piece, packed) = self.done.recv().map_err(|_| Stop::Packing(panicked()))?;
        let packed = packed.map_err(|why| Stop::Packing(io::Error::other(why)))?;
        writer.copy_in(&piece.packed[..packed]).map_err(Stop::File)?;
        note(piece.raw.len(), packed);
        Ok(piece)
    }
}

/// A part of what is written.
struct Piece {
    at: u64,
    raw: Vec<u8>,
    packed: Vec<u8>,
}

impl Piece {
    fn new(raw: usize, packed: usize) -> Result<Piece, heap::Refused> {
        Ok(Piece { at: 0, raw: heap::list(raw)?, packed: heap::filled(packed, 0)? })
    }

    /// Reads as many bytes as it has room for, fewer only at the end.
    fn fill(&mut self, reader: &mut Reader, most: usize) -> Result<(), Stop> {
        self.raw.clear();
        while self.raw.len() < most {
            let bytes = reader.fill(0).map_err(Stop::Content)?;
            if bytes.is_empty() {
                break;
            }
            let now = bytes.len().min(most - self.raw.len());
            self.raw.extend_from_slice(&bytes[..now]);
            reader.consume(now);
        }
        Ok(())
    }
}

fn refused(error: &heap::Refused) -> io::Error {
    io::Error::new(io::ErrorKind::OutOfMemory, error.to_string())
}

fn panicked() -> io::Error {
    io::Error::other("a helper thread panicked")
}
