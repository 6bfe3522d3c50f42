//! One stream between two processes: this one reads, and this program once more writes.
//!
//! Everything is opened, and memory touched, before the clock starts; then a byte tells the other process to begin. The time is until
//! the reader has everything.

mod ring;

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use eagre::BlockSize;
use eagre::process::{Connection, Options, Reader, Writer};
use rustix::pipe::fcntl_setpipe_size;
use serde::{Deserialize, Serialize};

use crate::catalogue::Carrier;
use crate::contenders::{Contender, Measured, Trouble};
use crate::kernels::{Tally, fill, fill_at};
use crate::memory::{Pages, Region, bytes_of, bytes_of_mut, words_of, words_of_mut};
use ring::Ring;

/// The hidden subcommand that writes.
pub(crate) const COMMAND: &str = "process-job";
/// The best of 64 KiB to 1 MiB, for pipes and for sockets.
const BUFFER: usize = 128 << 10;
const PIPE: usize = 1 << 20;
/// What a reader on a pointer looks at in one go.
const PIECE: u64 = 256 << 10;
/// As many as a stream with default windows has.
const BLOCKS: usize = 5;

/// What the other process is told.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Job {
    carrier: Carrier,
    block: u64,
    size: u64,
}

fn trouble(what: &'static str) -> impl Fn(io::Error) -> Trouble {
    move |error| Trouble::failed(what, error)
}

/// Two processes and what is between them.
pub(crate) struct Processes {
    carrier: Carrier,
    block: u64,
}

impl Processes {
    pub(crate) fn new(carrier: Carrier, block: u64) -> Processes {
        Processes { carrier, block }
    }
}

/// The reading side.
enum Near {
    Ring(Ring),
    Bytes(Box<dyn Read>),
    Stream(Reader),
}

impl Contender for Processes {
    fn run(&mut self, size: u64) -> Result<Measured, Trouble> {
        let (mut control, far) = UnixStream::pair().map_err(trouble("socket"))?;
        let job = Job { carrier: self.carrier, block: self.block, size };
        let child = start(job, far.into()).map_err(trouble("the other process"))?;
        let mut child = Ended(child);
        let near = self.near(&control)?;
        // A child that has failed has closed its side.
        control.read_exact(&mut [0]).map_err(trouble("the other process"))?;
        let start = Instant::now();
        control.write_all(b"g").map_err(trouble("the other process"))?;
        let answer = match near {
            Near::Ring(ring) => {
                let mut tally = Tally::default();
                ring.read(size / 8, |words| tally.add(words));
                tally.answer()
            }
            Near::Bytes(from) => read_bytes(from),
            Near::Stream(reader) => self.read_stream(reader, size),
        }?;
        let took = start.elapsed();
        let status = child.0.wait().map_err(trouble("the other process"))?;
        match status.success() {
            true => Ok(Measured::pipe(took, size, answer)),
            false => Err(Trouble::Failed(format!("the other process: {status}"))),
        }
    }
}

impl Processes {
    /// Opens this side, and passes the other one on.
    fn near(&self, control: &UnixStream) -> Result<Near, Trouble> {
        let pass = |fd: OwnedFd| Connection::from(fd).send_over(control).map_err(trouble("sendmsg"));
        Ok(match self.carrier {
            Carrier::Ring => {
                let (ring, fd) = Ring::create(self.block as usize, BLOCKS).map_err(trouble("memory"))?;
                pass(fd)?;
                Near::Ring(ring)
            }
            Carrier::OsPipe => {
                let (reader, writer) = io::pipe().map_err(trouble("pipe"))?;
                // Refused above the user's limit: then the pipe stays as large as it is.
                let _ = fcntl_setpipe_size(&writer, PIPE);
                pass(writer.into())?;
                Near::Bytes(Box::new(reader))
            }
            Carrier::Socket => {
                let (reader, writer) = UnixStream::pair().map_err(trouble("socket"))?;
                pass(writer.into())?;
                Near::Bytes(Box::new(reader))
            }
            Carrier::Explicit | Carrier::Pointer => {
                let (ours, theirs) = Connection::pair().map_err(|e| Trouble::failed("open", e))?;
                let block = BlockSize::new(self.block as usize)
                    .ok_or_else(|| Trouble::Failed(format!("catalogue: {} is no block size", self.block)))?;
                let reader = Options::new().block_size(block).reader(ours).map_err(|e| Trouble::failed("open", e))?;
                theirs.send_over(control).map_err(trouble("sendmsg"))?;
                Near::Stream(reader)
            }
        })
    }

    fn read_stream(&self, mut reader: Reader, size: u64) -> Result<u64, Trouble> {
        let mut tally = Tally::default();
        if self.carrier == Carrier::Pointer {
            let read = reader.scope(|start| {
                let mut at = 0;
                while at < size {
                    let bytes = (size - at).min(PIECE);
                    // SAFETY: the stream's reading end, up to its length, in ascending order, and never further back than
                    // one piece, which is less than the window of one block.
                    unsafe { tally.add_at(start.add(at as usize).cast(), (bytes / 8) as usize) };
                    at += bytes;
                }
            });
            read.map_err(|e| Trouble::failed("reader", e))?;
            return tally.answer();
        }
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
}

/// Ended, if the run fails.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(job: Job, control: OwnedFd) -> io::Result<Child> {
    let job = serde_json::to_string(&job)?;
    Command::new(std::env::current_exe()?).args([COMMAND, &job]).stdin(control).stdout(Stdio::null()).spawn()
}

/// A read may end inside a word: what is left over moves to the front.
fn read_bytes(mut from: Box<dyn Read>) -> Result<u64, Trouble> {
    let mut region = buffer()?;
    let target = &mut region.words_mut()[..BUFFER / 8];
    let (mut tally, mut held) = (Tally::default(), 0);
    loop {
        let got = from.read(&mut bytes_of_mut(target)[held..]).map_err(trouble("read"))?;
        if got == 0 {
            return tally.answer();
        }
        held += got;
        tally.add(&target[..held / 8]);
        bytes_of_mut(target).copy_within(held / 8 * 8..held, 0);
        held %= 8;
    }
}

fn buffer() -> Result<Region, Trouble> {
    Region::touched(BUFFER, Pages::Huge).map_err(trouble("memory"))
}

/// The other process: does the job that its argument names, with the control socket as standard input.
pub(crate) fn run(job: &str) -> Result<(), String> {
    let job: Job = serde_json::from_str(job).map_err(|e| format!("job: {e}"))?;
    let control = io::stdin().as_fd().try_clone_to_owned().map_err(|e| format!("control: {e}"))?;
    write(job, control.into()).map_err(|trouble| match trouble {
        Trouble::Unavailable(why) | Trouble::Wrong(why) | Trouble::Failed(why) => why,
    })
}

fn write(job: Job, mut control: UnixStream) -> Result<(), Trouble> {
    let passed = Connection::receive_over(&control).map_err(trouble("recvmsg"))?;
    let mut wait =
        || control.write_all(b"r").and_then(|()| control.read_exact(&mut [0])).map_err(trouble("the first process"));
    match job.carrier {
        Carrier::Ring => {
            let ring = Ring::open(passed.into(), job.block as usize, BLOCKS).map_err(trouble("memory"))?;
            wait()?;
            ring.write(job.size / 8, fill);
            Ok(())
        }
        Carrier::OsPipe | Carrier::Socket => {
            let mut to = std::fs::File::from(OwnedFd::from(passed));
            let mut region = buffer()?;
            let source = &mut region.words_mut()[..BUFFER / 8];
            wait()?;
            let (mut written, words) = (0, job.size / 8);
            while written < words {
                let now = (words - written).min(source.len() as u64) as usize;
                fill(&mut source[..now], written);
                to.write_all(bytes_of(&source[..now])).map_err(trouble("write"))?;
                written += now as u64;
            }
            Ok(())
        }
        Carrier::Explicit | Carrier::Pointer => {
            let writer = Writer::join(passed).map_err(|e| Trouble::failed("join", e))?;
            wait()?;
            write_stream(writer, job)
        }
    }
}

fn write_stream(mut writer: Writer, job: Job) -> Result<(), Trouble> {
    if job.carrier == Carrier::Pointer {
        let written = writer.scope(|start| {
            // SAFETY: the stream's writing end, filled once, in ascending order, a vector at a time.
            unsafe { fill_at(start.cast(), (job.size / 8) as usize, 0) };
        });
        written.map_err(|e| Trouble::failed("writer", e))?;
    } else {
        let mut written = 0;
        while written < job.size {
            let room = writer.reserve(8).map_err(|e| Trouble::failed("reserve", e))?;
            let room = words_of_mut(room)?;
            let words = room.len().min(((job.size - written) / 8) as usize);
            fill(&mut room[..words], written / 8);
            writer.commit(words * 8);
            written += words as u64 * 8;
        }
    }
    writer.finish_at(job.size).map_err(|e| Trouble::failed("finish", e))
}
