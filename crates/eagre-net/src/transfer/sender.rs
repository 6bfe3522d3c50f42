//! The side that sends.
#![forbid(unsafe_code)]

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use blake3::Hasher;
use eagre::file::name::shown;
use eagre::heap;

use super::content::{CACHED, Chunk, PIECE};
use super::done::Done;
use super::event::{Event, Transferred, Watch};
use super::failure::TransferError;
use super::have::{self, Digest, Have};
use super::incoming::prefix;
use super::list::{Entry, List, ROUND};
use super::packing::{Compression, Packer};
use super::stop::Stop as Stopper;
use super::stripes::{self, StripedWriter};
use super::talk::{Peer, Streams, Talk, hear, say};
use super::walk::{self, Found, Source, Step, Walk};

/// Sends files, directories, or what comes from a pipe.
#[derive(Debug, Default)]
#[must_use]
pub struct Sender {
    sources: Vec<Source>,
    pipe: Option<File>,
    compression: Compression,
    streams: usize,
    stop: Stopper,
}

impl Sender {
    /// Sends nothing yet.
    pub fn new() -> Sender {
        Sender::default()
    }

    /// Adds a file, or a directory with all that is in it. It gets the last part of the path as its name at the other side. `.`
    /// and what ends in `/.` stand for what is in the directory.
    ///
    /// # Errors
    /// It is not there, is neither a file nor a directory, or has the name of another one.
    pub fn add(&mut self, path: impl AsRef<Path>) -> Result<(), TransferError> {
        let path = path.as_ref();
        let place = || shown(path.as_os_str().as_bytes());
        let source = Source::at(path)?;
        let name_of = |source: &Source| match source {
            Source::Path { name, .. } => name.clone(),
            Source::Pipe => None,
        };
        let names: HashSet<_> = self.sources.iter().filter_map(name_of).collect();
        if name_of(&source).is_some_and(|name| names.contains(&name)) {
            return Err(TransferError::Unfit(place(), "another one has the same name".into(), "send them one by one"));
        }
        if self.pipe.is_some() {
            return Err(TransferError::Unfit(place(), "a pipe is sent alone".into(), "send them one by one"));
        }
        self.sources.push(source);
        Ok(())
    }

    /// Sends what comes from a pipe, and nothing else.
    ///
    /// # Errors
    /// There are files to send.
    pub fn pipe(&mut self, pipe: File) -> Result<(), TransferError> {
        if !self.sources.is_empty() {
            let why = "a pipe is sent alone".to_owned();
            return Err(TransferError::Unfit("standard input".into(), why, "send them one by one"));
        }
        self.pipe = Some(pipe);
        self.sources.push(Source::Pipe);
        Ok(())
    }

    /// What is compressed on the way. Default: nothing.
    pub fn compression(mut self, compression: Compression) -> Sender {
        self.compression = compression;
        self
    }

    /// Over how many streams contents go at once, 1 to 16: where one core cannot encrypt as fast as the link is, or where packets
    /// are lost on a long way. Little goes over fewer. Each takes memory for its window. Default: 1.
    pub fn streams(mut self, streams: usize) -> Sender {
        self.streams = streams;
        self
    }

    /// Lets another thread end the transfer.
    pub fn stop_by(mut self, stop: &Stopper) -> Sender {
        self.stop = stop.clone();
        self
    }

    /// Sends everything. Returns when the other side has it on its disk. Files that cannot be sent or taken are events; the rest
    /// is sent.
    ///
    /// # Errors
    /// Why the transfer did not reach its end.
    pub fn send<'a>(mut self, peer: impl Into<Peer<'a>>, watch: Watch<'_>) -> Result<Transferred, TransferError> {
        let packer = Packer::new(self.compression).map_err(|error| TransferError::Here("compression".into(), error))?;
        let mut talk = Talk::begin(peer.into(), true, &self.stop)?;
        let mut work = Work {
            walk: Walk::of(std::mem::take(&mut self.sources)),
            pipe: self.pipe.take(),
            streams: self.streams,
            packer,
            buffer: Vec::new(),
            total: 0,
            passed: 0,
            result: Transferred::default(),
        };
        while work.round(&mut talk, watch)? {}
        Ok(work.result)
    }
}

/// A transfer under way.
struct Work {
    walk: Walk,
    pipe: Option<File>,
    streams: usize,
    packer: Option<Packer>,
    buffer: Vec<u8>,
    /// The bytes of all files so far, and how many of them are sent or need not be.
    total: u64,
    passed: u64,
    result: Transferred,
}

/// Why a file was not sent to its end.
enum Stop {
    /// The file. The next one can be sent.
    File(io::Error),
    /// The stream. Its end says why.
    Stream,
}

/// An error of the stream.
fn broken<E>(_: E) -> Stop {
    Stop::Stream
}

impl Work {
    /// Sends a round. Returns whether another one follows.
    fn round(&mut self, talk: &mut Talk<'_>, watch: Watch<'_>) -> Result<bool, TransferError> {
        let Streams { list, have, mut data, done } = talk.sender()?;
        let (steps, more) = self.collect(watch);
        let entries = steps.iter().map(|step| step.entry.clone()).collect();
        let streams = stripes::useful(self.streams, steps.iter().map(|step| step.entry.size()).sum());
        let announced = List { entries, more, streams };
        say(list, |to| announced.write(to))?;
        let files = steps.iter().filter(|step| step.entry.has_content()).count();
        let haves = hear("answer", have, |from| have::read(from, files))?;
        if let Err(error) = talk.stripe_writer(&mut data, streams) {
            data.give_up(&error);
            return Err(error);
        }
        // If it cannot be written, the end of the stream says why.
        let sent = self.contents(&steps, &haves, &mut data, watch);
        data.finish()?;
        let sent = sent.map_err(|()| TransferError::Protocol("data", "the stream ended too early".into()))?;
        let done = hear("end", done, |from| Done::read(from, steps.len()))?;
        self.account(&steps, sent, &done, watch);
        Ok(more)
    }

    /// The next steps of the walk.
    fn collect(&mut self, watch: Watch<'_>) -> (Vec<Step>, bool) {
        let mut steps = Vec::new();
        while steps.len() < ROUND {
            match self.walk.next() {
                None => return (steps, false),
                Some(Found::Step(step)) => {
                    if let Entry::File { size, .. } = step.entry {
                        self.total += size;
                    }
                    steps.push(step);
                }
                Some(Found::Skipped(path, what)) => {
                    self.result.skipped += 1;
                    watch(Event::Skipped {
                        place: &shown(path.as_os_str().as_bytes()),
                        why: &format!("this is {what}"),
                    });
                }
                Some(Found::Failed(path, error)) => {
                    self.result.failed += 1;
                    let error = TransferError::Here(shown(path.as_os_str().as_bytes()), error);
                    watch(Event::Failed { error: &error });
                }
            }
        }
        (steps, true)
    }

    /// Sends the contents of a round's files, and returns what was sent of each step.
    fn contents(
        &mut self,
        steps: &[Step],
        haves: &[Option<Have>],
        data: &mut StripedWriter,
        watch: Watch<'_>,
    ) -> Result<Vec<Option<Sent>>, ()> {
        watch(Event::Total(self.total));
        let mut sent = heap::list(steps.len()).map_err(drop)?;
        let mut haves = haves.iter();
        for step in steps {
            if !step.entry.has_content() {
                sent.push(None);
                continue;
            }
            let have = haves.next().copied().flatten();
            let before = self.passed;
            match self.content(step, have, data, watch) {
                Ok(one) => sent.push(Some(one)),
                Err(Stop::Stream) => return Err(()),
                Err(Stop::File(error)) => {
                    let why = crate::error::reason(&error);
                    Chunk::Failed(why.into_bytes()).write(data).map_err(drop)?;
                    sent.push(None);
                    self.result.failed += 1;
                    let place = shown(step.path.as_os_str().as_bytes());
                    watch(Event::Failed { error: &TransferError::Here(place, error) });
                }
            }
            if let Entry::File { size, .. } = step.entry {
                // It may have changed its size.
                self.passed = self.passed.max(before + size);
            }
        }
        Chunk::All.write(data).map_err(drop)?;
        Ok(sent)
    }

    fn content(
        &mut self,
        step: &Step,
        have: Option<Have>,
        data: &mut StripedWriter,
        watch: Watch<'_>,
    ) -> Result<Sent, Stop> {
        if let Some(packer) = &mut self.packer {
            packer.begin();
        }
        if let Some(mut pipe) = self.pipe.take() {
            Chunk::From(0).write(data).map_err(broken)?;
            return self.rest(&mut pipe, Hasher::new(), None, 0, data, watch);
        }
        let (mut file, size) = match walk::open(&step.path) {
            Ok(opened) => opened,
            Err(error) => {
                // Every file has a beginning.
                Chunk::From(0).write(data).map_err(broken)?;
                return Err(Stop::File(error));
            }
        };
        let mut offset = 0;
        let mut hasher = Hasher::new();
        if let Some(have) = have.filter(|have| have.bytes <= size)
            && let Ok(Some(found)) = prefix(&file, have.bytes)
            && found.finalize() == blake3::Hash::from(have.digest)
        {
            (offset, hasher) = (have.bytes, found);
            self.passed += offset;
            watch(Event::Progress(self.passed));
        }
        Chunk::From(offset).write(data).map_err(broken)?;
        if offset > 0 {
            io::Seek::seek(&mut file, io::SeekFrom::Start(offset)).map_err(Stop::File)?;
        }
        // Files of /proc have a size of 0, and content.
        let left = (size > 0).then_some(size - offset);
        self.rest(&mut file, hasher, left, offset, data, watch)
    }

    /// Sends the rest of a file: so many bytes, or all there are.
    fn rest(
        &mut self,
        file: &mut File,
        mut hasher: Hasher,
        left: Option<u64>,
        offset: u64,
        data: &mut StripedWriter,
        watch: Watch<'_>,
    ) -> Result<Sent, Stop> {
        let mut bytes = offset;
        let mut left_over = left;
        while left_over != Some(0) {
            let most = left_over.map_or(PIECE, |left| usize::try_from(left).unwrap_or(PIECE).min(PIECE));
            let now = match (&mut self.packer, left_over) {
                (None, Some(_)) => straight(file, most, &mut hasher, data)?,
                (packer, _) => {
                    if self.buffer.is_empty() {
                        self.buffer = heap::filled(PIECE, 0).map_err(|refused| Stop::File(refused.into()))?;
                    }
                    let now = read(file, &mut self.buffer[..most]).map_err(Stop::File)?;
                    let raw = &self.buffer[..now];
                    hasher.update(raw);
                    put(packer.as_mut(), raw, data).map_err(broken)?;
                    now
                }
            };
            bytes += now as u64;
            self.passed += now as u64;
            watch(Event::Progress(self.passed));
            match &mut left_over {
                None if now == 0 => break,
                Some(_) if now < most => {
                    return Err(Stop::File(io::Error::other("the file shrank while it was sent; send it again")));
                }
                None => {}
                Some(left) => *left -= now as u64,
            }
        }
        let digest = hasher.finalize().into();
        Chunk::End(digest).write(data).map_err(broken)?;
        Ok(Sent { bytes, before: offset, digest })
    }

    /// Counts what the other side has now.
    fn account(&mut self, steps: &[Step], sent: Vec<Option<Sent>>, done: &Done, watch: Watch<'_>) {
        let refused: HashSet<usize> = done.told.iter().map(|failed| failed.entry as usize).collect();
        for (at, (step, sent)) in steps.iter().zip(sent).enumerate() {
            if let Some(Sent { bytes, before, digest }) = sent.filter(|_| !refused.contains(&at)) {
                self.result.files += 1;
                self.result.bytes += bytes;
                self.result.before += before;
                watch(Event::File { name: &step.target, bytes, before, digest });
            }
        }
        let told: Vec<_> = done.told.iter().collect();
        for failed in &told {
            let step = &steps[failed.entry as usize];
            self.result.failed += 1;
            let place = shown(step.path.as_os_str().as_bytes());
            let why = io::Error::other(format!("not taken by the other side: {}", failed.why));
            watch(Event::Failed { error: &TransferError::Here(place, why) });
        }
        let untold = done.failed - told.len() as u64;
        if untold > 0 {
            self.result.failed += untold;
            let why = io::Error::other(format!("{untold} more were not taken"));
            watch(Event::Failed { error: &TransferError::Here("the other side".into(), why) });
        }
    }
}

/// What was sent of a file.
struct Sent {
    bytes: u64,
    before: u64,
    digest: Digest,
}

/// Reads `length` bytes straight into the stream. Returns how many of them the file has; zeros stand for the rest.
fn straight(file: &mut File, length: usize, hasher: &mut Hasher, data: &mut StripedWriter) -> Result<usize, Stop> {
    Chunk::Raw(length).write(data).map_err(broken)?;
    let mut done = 0;
    let mut failed = None;
    while done < length {
        let room = data.reserve().map_err(broken)?;
        let most = room.len().min(length - done).min(CACHED);
        let now = match read(file, &mut room[..most]) {
            Ok(now) => now,
            Err(error) => {
                failed = Some(error);
                0
            }
        };
        hasher.update(&room[..now]);
        if now < most {
            room[now..most].fill(0);
            data.commit(most).map_err(broken)?;
            // The piece has the length that it has announced.
            zeros(length - done - most, data).map_err(broken)?;
            return failed.map_or(Ok(done + now), |error| Err(Stop::File(error)));
        }
        data.commit(most).map_err(broken)?;
        done += most;
    }
    Ok(done)
}

fn zeros(length: usize, data: &mut StripedWriter) -> io::Result<()> {
    io::copy(&mut io::repeat(0).take(length as u64), data).map(drop)
}

/// Sends a piece, smaller if possible.
fn put(packer: Option<&mut Packer>, raw: &[u8], data: &mut impl Write) -> io::Result<()> {
    if raw.is_empty() {
        return Ok(());
    }
    match packer.and_then(|packer| packer.pack(raw)) {
        Some((how, packed)) => {
            Chunk::Packed { how, raw: raw.len(), packed: packed.len() }.write(data)?;
            data.write_all(packed)
        }
        None => {
            Chunk::Raw(raw.len()).write(data)?;
            data.write_all(raw)
        }
    }
}

/// Reads until the buffer is full or the file ends.
fn read(file: &mut File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut done = 0;
    while done < buffer.len() {
        match file.read(&mut buffer[done..]) {
            Ok(0) => break,
            Ok(now) => done += now,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}
