//! The side that receives.
#![forbid(unsafe_code)]

use std::fs::File;
use std::io::{self, BufRead};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use eagre::file::name::shown;

use super::content::{self, Chunk};
use super::done::{Done, plain};
use super::event::{Event, Transferred, Watch};
use super::failure::TransferError;
use super::finishing::{Finishing, Ticket};
use super::folders::{self, Folders};
use super::have::{self, Have};
use super::incoming::{Complete, Incoming, There};
use super::list::{Entry, List, Time};
use super::name::check_link;
use super::packing::Unpacker;
use super::stop::Stop as Stopper;
use super::stripes::StripedReader;
use super::talk::{Peer, Streams, Talk, give_up, hear, say};
use super::wire;

/// Receives files and directories into a directory, or one file into a pipe.
#[derive(Debug)]
#[must_use]
pub struct Receiver {
    into: Into,
    resume: bool,
    stop: Stopper,
}

#[derive(Debug)]
enum Into {
    Directory(Folders),
    Pipe(File),
}

impl Receiver {
    /// Receives into a directory. What is received never leaves it, and no symbolic link in it is followed.
    ///
    /// # Errors
    /// There is no such directory, or it cannot be opened.
    pub fn into_directory(directory: impl AsRef<Path>) -> Result<Receiver, TransferError> {
        let path = directory.as_ref();
        let folders = Folders::at(path).map_err(|error| {
            let place = shown(path.as_os_str().as_bytes());
            match error.kind() {
                io::ErrorKind::NotFound => {
                    TransferError::Unfit(place, "there is no such directory".into(), "create it first (mkdir)")
                }
                io::ErrorKind::NotADirectory => {
                    TransferError::Unfit(place, "not a directory".into(), "name a directory")
                }
                _ => TransferError::Here(place, error),
            }
        })?;
        Ok(Receiver { into: Into::Directory(folders), resume: false, stop: Stopper::new() })
    }

    /// Receives what comes from a pipe, or a single file, into a pipe. Its bytes arrive there before its digest is known.
    pub fn into_pipe(pipe: File) -> Receiver {
        Receiver { into: Into::Pipe(pipe), resume: false, stop: Stopper::new() }
    }

    /// Keeps files that do not become complete under hidden names (`.NAME.eagre-part`), and goes on with those that are there.
    /// What is there is compared with what is sent by its digest. Without it, a transfer that ends too early leaves nothing of a
    /// file.
    pub fn resume(mut self, resume: bool) -> Receiver {
        self.resume = resume;
        self
    }

    /// Lets another thread end the transfer.
    pub fn stop_by(mut self, stop: &Stopper) -> Receiver {
        self.stop = stop.clone();
        self
    }

    /// Receives one transfer. Returns when all is on the disk and the other side knows it. Files that cannot be sent or taken are
    /// events; the rest is received.
    ///
    /// # Errors
    /// Why the transfer did not reach its end.
    pub fn receive<'a>(
        &self,
        peer: impl std::convert::Into<Peer<'a>>,
        watch: Watch<'_>,
    ) -> Result<Transferred, TransferError> {
        let (folders, pipe) = match &self.into {
            Into::Directory(folders) => (folders.clone(), None),
            Into::Pipe(pipe) => {
                let pipe = pipe.try_clone().map_err(|error| TransferError::Here("standard output".into(), error))?;
                (Folders::none(), Some(pipe))
            }
        };
        let into_pipe = pipe.is_some();
        let mut talk = Talk::begin(peer.into(), false, &self.stop)?;
        let mut work = Work {
            folders,
            pipe,
            into_pipe,
            resume: self.resume && !into_pipe,
            umask: umask(),
            unpacker: Unpacker::default(),
            packed: Vec::new(),
            total: 0,
            passed: 0,
            result: Transferred::default(),
            depth: 0,
        };
        while work.round(&mut talk, watch)? {}
        Ok(work.result)
    }
}

/// A transfer under way.
struct Work {
    folders: Folders,
    /// Where a single file goes instead, until it is there.
    pipe: Option<File>,
    into_pipe: bool,
    resume: bool,
    umask: u32,
    unpacker: Unpacker,
    packed: Vec<u8>,
    total: u64,
    passed: u64,
    result: Transferred,
    depth: usize,
}

/// Why the contents were not received to their end.
enum Stop {
    /// The stream broke, or makes no sense.
    Stream(io::Error),
    /// This side cannot go on.
    Here(TransferError),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Stop {
        Stop::Stream(error)
    }
}

/// What came of a file.
enum Content {
    /// All of it. It may be that it could not be written.
    Whole { before: u64, complete: io::Result<Box<Complete>> },
    /// The sender cannot send it, and says why.
    Failed(String),
}

/// A directory that is complete but for its mode and time.
struct Left {
    entry: usize,
    directory: Arc<OwnedFd>,
    place: String,
    mode: u32,
    time: Time,
}

/// How many of them stay open.
const LEFT: usize = 64;

/// Why something cannot be received into a directory that could not be made.
const ABOVE: &str = "its directory could not be made";

impl Work {
    /// Receives a round. Returns whether another one follows.
    fn round(&mut self, talk: &mut Talk<'_>, watch: Watch<'_>) -> Result<bool, TransferError> {
        let Streams { list, have, mut data, done } = talk.receiver()?;
        let depth = &mut self.depth;
        let list = hear("list", list, |from| List::read(from, depth))?;
        if let Err(error) = self.check(&list) {
            give_up(have, &error);
            return Err(error);
        }
        self.total = list.entries.iter().fold(self.total, |total, entry| match entry {
            Entry::File { size, .. } => total.saturating_add(*size),
            _ => total,
        });
        watch(Event::Total(self.total));
        let mut there = self.look(&list);
        let haves: Vec<Option<Have>> = there.iter().map(|there| there.as_ref().map(There::have)).collect();
        say(have, |to| have::write(to, &haves))?;
        if let Err(error) = talk.stripe_reader(&mut data, list.streams) {
            return Err(data.give_up(error));
        }
        let result = match self.contents(&list, &mut there, &mut data, watch) {
            Ok(result) => result,
            Err(Stop::Stream(error)) => return Err(data.not_heard(&error)),
            Err(Stop::Here(error)) => {
                let error = data.give_up(error);
                // The contents may have arrived to their end before: then the other side listens here.
                give_up(done, &error);
                return Err(error);
            }
        };
        data.finish()?;
        say(done, |to| result.write(to))?;
        Ok(list.more)
    }

    /// Whether what comes can go where it shall go.
    fn check(&self, list: &List) -> Result<(), TransferError> {
        let unfit = |why: &str, cure| Err(TransferError::Unfit("what is sent".into(), why.into(), cure));
        if self.into_pipe {
            return match &list.entries[..] {
                [Entry::File { .. } | Entry::Pipe] if !list.more => Ok(()),
                _ => unfit("it is more than one file, which a pipe cannot take", "receive them into a directory"),
            };
        }
        if list.entries.contains(&Entry::Pipe) {
            return unfit("it is a pipe, which has no name", "receive it with 'eagre receive -'");
        }
        Ok(())
    }

    /// What is there of each file, in the order of the list.
    fn look(&mut self, list: &List) -> Vec<Option<There>> {
        let mut folders = self.folders.clone();
        let mut found = Vec::new();
        for entry in &list.entries {
            match entry {
                Entry::Enter { name } => folders.look_into(name),
                Entry::Leave { .. } => drop(folders.leave()),
                Entry::Pipe => found.push(None),
                Entry::Link { .. } => {}
                Entry::File { name, size, time, .. } => {
                    let here = folders.here().filter(|_| self.resume);
                    // If it cannot be read, the file is received anew, or an error then.
                    found.push(here.and_then(|here| There::find(here, name, *size, *time).ok().flatten()));
                }
            }
        }
        found
    }

    /// Receives what the list announced.
    fn contents(
        &mut self,
        list: &List,
        there: &mut [Option<There>],
        data: &mut StripedReader,
        watch: Watch<'_>,
    ) -> Result<Done, Stop> {
        let mut round = Round { done: Done::default(), finishing: Finishing::new(), left: Vec::new() };
        let mut there = there.iter_mut();
        for (at, entry) in list.entries.iter().enumerate() {
            match entry {
                Entry::Enter { name } => {
                    if let Err(error) = self.folders.enter(name) {
                        let place = self.folders.shown(b"");
                        self.fail(at, place, error, &mut round, watch);
                    }
                }
                Entry::Leave { mode, time } => {
                    let (mode, time) = (mode & !self.umask, *time);
                    if let Some((directory, place)) = self.folders.leave() {
                        round.left.push(Left { entry: at, directory, place, mode, time });
                    }
                    if round.left.len() == LEFT {
                        self.leave(&mut round, watch)?;
                    }
                }
                Entry::Link { name, to } => {
                    let made = match self.folders.here() {
                        None => Err(io::Error::other(ABOVE)),
                        Some(here) => check_link(to, self.folders.depth())
                            .map_err(io::Error::other)
                            .and_then(|()| folders::link(here, name, to)),
                    };
                    if let Err(error) = made {
                        let place = self.folders.shown(name);
                        self.fail(at, place, error, &mut round, watch);
                    }
                }
                Entry::File { name, mode, time, size } => {
                    let passed = self.passed;
                    let there = there.next().and_then(Option::take);
                    let pipe = self.pipe.take();
                    let place = if pipe.is_some() { OUTPUT.to_owned() } else { self.folders.shown(name) };
                    let incoming = match (pipe, self.folders.here()) {
                        (Some(pipe), _) => Ok(Incoming::into_pipe(pipe)),
                        (None, Some(here)) => Incoming::new(here, name, *size, self.resume, there),
                        (None, None) => Err(io::Error::other(ABOVE)),
                    };
                    let content = self.content(incoming, &place, (mode & !self.umask, *time), data, watch)?;
                    let (name, before) = (self.folders.path(name), 0);
                    let ticket = Ticket { entry: at, name, place, bytes: 0, before, digest: [0; 32] };
                    self.settle(ticket, content, &mut round, watch)?;
                    // It may have changed its size.
                    self.passed = self.passed.max(passed.saturating_add(*size));
                }
                Entry::Pipe => {
                    there.next();
                    let pipe = self.pipe.take().ok_or_else(|| wire::wrong("a second pipe"))?;
                    let place = OUTPUT.to_owned();
                    let notes = (0, Time { seconds: 0, nanoseconds: 0 });
                    let content = self.content(Ok(Incoming::into_pipe(pipe)), &place, notes, data, watch)?;
                    let ticket = Ticket { entry: at, name: b"-".to_vec(), place, bytes: 0, before: 0, digest: [0; 32] };
                    self.settle(ticket, content, &mut round, watch)?;
                }
            }
        }
        match Chunk::read(data)? {
            Chunk::All => data.end()?,
            _ => return Err(wire::wrong("more files than announced").into()),
        }
        self.leave(&mut round, watch)?;
        if let Some(here) = self.folders.here().filter(|_| list.entries.iter().any(|entry| !entry.has_content())) {
            // The names of directories and links in it.
            folders::sync(here).map_err(|error| Stop::Here(TransferError::Here(self.folders.shown(b"."), error)))?;
        }
        Ok(round.done)
    }

    /// Receives the content of one file. If it cannot be written, it is read nevertheless, for the next one follows.
    fn content(
        &mut self,
        mut incoming: io::Result<Incoming>,
        place: &str,
        (mode, time): (u32, Time),
        data: &mut impl BufRead,
        watch: Watch<'_>,
    ) -> Result<Content, Stop> {
        let mut begun = false;
        if let Err(error) = incoming {
            incoming = Err(bearable(place, error)?);
        }
        loop {
            let chunk = Chunk::read(data)?;
            if begun == matches!(chunk, Chunk::From(_)) {
                return Err(wire::wrong("a file without a beginning, or with two").into());
            }
            match chunk {
                Chunk::From(offset) => {
                    begun = true;
                    write(&mut incoming, place, |one| one.begin(offset))?;
                    self.passed = self.passed.saturating_add(offset);
                }
                Chunk::Raw(length) => {
                    content::pass(data, length, |bytes| write(&mut incoming, place, |one| one.put(bytes)))?;
                    self.passed = self.passed.saturating_add(length as u64);
                }
                Chunk::Packed { how, raw, packed } => {
                    let room = &mut self.packed;
                    room.clear();
                    content::pass(data, packed, |bytes| {
                        room.extend_from_slice(bytes);
                        io::Result::Ok(())
                    })?;
                    let unpacked = self.unpacker.unpack(how, raw, &self.packed)?;
                    write(&mut incoming, place, |one| one.put(unpacked))?;
                    self.passed = self.passed.saturating_add(raw as u64);
                }
                Chunk::End(digest) => {
                    let before = incoming.as_ref().map_or(0, Incoming::before);
                    let complete = incoming.and_then(|one| one.end(&digest, mode, time)).map(Box::new);
                    return Ok(Content::Whole { before, complete });
                }
                Chunk::Failed(why) => return Ok(Content::Failed(plain(&why))),
                Chunk::All => return Err(wire::wrong("fewer files than announced").into()),
            }
            watch(Event::Progress(self.passed));
        }
    }

    /// Lets a file appear, or notes why it cannot.
    fn settle(&mut self, ticket: Ticket, content: Content, round: &mut Round, watch: Watch<'_>) -> Result<(), Stop> {
        match content {
            Content::Whole { before, complete: Ok(complete) } => {
                let ticket = Ticket { before, bytes: complete.bytes, digest: complete.digest, ..ticket };
                let finished = round.finishing.add(ticket, *complete);
                self.finished(finished, round, watch)?;
            }
            Content::Whole { complete: Err(error), .. } => {
                let error = bearable(&ticket.place, error)?;
                self.fail(ticket.entry, ticket.place, error, round, watch);
            }
            // The sender says it, too.
            Content::Failed(why) => {
                self.result.failed += 1;
                let error = io::Error::other(format!("not sent by the other side: {why}"));
                watch(Event::Failed { error: &TransferError::Here(ticket.place, error) });
            }
        }
        Ok(())
    }

    /// Counts files that have appeared.
    fn finished(
        &mut self,
        finished: Vec<(Ticket, io::Result<()>)>,
        round: &mut Round,
        watch: Watch<'_>,
    ) -> Result<(), Stop> {
        for (Ticket { entry, name, place, bytes, before, digest }, appeared) in finished {
            match appeared {
                Ok(()) => {
                    self.result.files += 1;
                    self.result.bytes += bytes;
                    self.result.before += before;
                    watch(Event::File { name: &name, bytes, before, digest });
                }
                Err(error) => {
                    let error = bearable(&place, error)?;
                    self.fail(entry, place, error, round, watch);
                }
            }
        }
        Ok(())
    }

    /// Completes the directories that were left, after all that is in them.
    fn leave(&mut self, round: &mut Round, watch: Watch<'_>) -> Result<(), Stop> {
        let finished = round.finishing.wait();
        self.finished(finished, round, watch)?;
        for Left { entry, directory, place, mode, time } in std::mem::take(&mut round.left) {
            folders::set_time(&directory, time);
            let complete = folders::set_mode(&directory, mode).and_then(|()| folders::sync(&directory));
            if let Err(error) = complete {
                self.fail(entry, place, error, round, watch);
            }
        }
        Ok(())
    }

    fn fail(&mut self, entry: usize, place: String, error: io::Error, round: &mut Round, watch: Watch<'_>) {
        self.result.failed += 1;
        round.done.add(entry, &crate::error::reason(&error));
        watch(Event::Failed { error: &TransferError::Here(place, error) });
    }
}

/// What belongs to one round.
struct Round {
    done: Done,
    finishing: Finishing,
    left: Vec<Left>,
}

/// What a pipe is called in messages.
const OUTPUT: &str = "standard output";

/// Writes to a file, unless it has failed before.
fn write(
    incoming: &mut io::Result<Incoming>,
    place: &str,
    write: impl FnOnce(&mut Incoming) -> io::Result<()>,
) -> Result<(), Stop> {
    if let Ok(one) = incoming
        && let Err(error) = write(one)
    {
        // A pipe is the only target that there is.
        if place == OUTPUT {
            return Err(Stop::Here(TransferError::Here(place.to_owned(), error)));
        }
        *incoming = Err(bearable(place, error)?);
    }
    Ok(())
}

/// The same error, if the next file may be luckier.
fn bearable(place: &str, error: io::Error) -> Result<io::Error, Stop> {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            Err(Stop::Here(TransferError::Here(place.to_owned(), error)))
        }
        _ => Ok(error),
    }
}

/// The permission bits that the umask removes. If it cannot be read, these are all but the owner's.
fn umask() -> u32 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let digits = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    digits.and_then(|digits| u32::from_str_radix(digits.trim(), 8).ok()).unwrap_or(0o077)
}
