//! A file on its way in. It appears complete, or not at all.
//!
//! Without resuming, its bytes go to a file without a name. With resuming, they go to a hidden file next to the target, which
//! stays if the transfer ends too early, and is found by the next one.
#![forbid(unsafe_code)]

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use blake3::Hasher;
use eagre::file::Output;
use eagre::heap;
use rustix::fs::{self, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::folders::{in_the_way, kind, look, set_time, sync};
use super::have::{Digest, Have};
use super::list::Time;
use super::name::part_of;
use super::wire;

/// How many bytes of a file are read at once.
const READ: usize = 1 << 20;

/// What is there of a file already.
#[derive(Debug)]
pub(super) enum There {
    /// The first bytes, in an unfinished file.
    Part(Part),
    /// A file of the same size and time.
    Whole(Have),
}

/// An unfinished file, and the state of its digest at its end.
#[derive(Debug)]
pub(super) struct Part {
    file: File,
    bytes: u64,
    hasher: Box<Hasher>,
}

impl There {
    /// Looks for `name`, which has `size` bytes and was changed at `time`.
    pub(super) fn find(directory: &OwnedFd, name: &[u8], size: u64, time: Time) -> io::Result<Option<There>> {
        if let Some(part) = Part::open(directory, name, OFlags::RDWR)? {
            return Ok(Some(There::Part(part)));
        }
        let Some(there) = look(directory, name) else { return Ok(None) };
        let same_time =
            there.st_mtime == time.seconds && i128::from(there.st_mtime_nsec) == i128::from(time.nanoseconds);
        // An empty file is sent as fast as compared.
        if kind(&there) != FileType::RegularFile || size == 0 || there.st_size as u64 != size || !same_time {
            return Ok(None);
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let Ok(file) = fs::openat(directory, OsStr::from_bytes(name), flags, Mode::empty()) else { return Ok(None) };
        let mut hasher = Hasher::new();
        let bytes = hash(&mut File::from(file), &mut hasher)?;
        Ok((bytes == size).then(|| There::Whole(Have { bytes, digest: hasher.finalize().into() })))
    }

    pub(super) fn have(&self) -> Have {
        match self {
            There::Whole(have) => *have,
            There::Part(part) => Have { bytes: part.bytes, digest: part.hasher.finalize().into() },
        }
    }
}

impl Part {
    /// Opens the unfinished file for `name`. `None` if there is none.
    fn open(directory: &OwnedFd, name: &[u8], flags: OFlags) -> io::Result<Option<Part>> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        let file = match fs::openat(directory, OsStr::from_bytes(&part_of(name)), flags, mode) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let there = fs::fstat(&file)?;
        if kind(&there) != FileType::RegularFile || there.st_nlink != 1 {
            return Err(in_the_way(kind(&there)));
        }
        if fs::flock(&file, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, "another transfer writes its unfinished file"));
        }
        let mut file = file;
        let mut hasher = Box::new(Hasher::new());
        let bytes = hash(&mut file, &mut hasher)?;
        Ok(Some(Part { file, bytes, hasher }))
    }
}

/// Hashes the rest of a file, and returns how many bytes it is.
pub(super) fn hash(file: &mut File, hasher: &mut Hasher) -> io::Result<u64> {
    let mut buffer = heap::filled(READ, 0)?;
    let mut bytes = 0;
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(bytes),
            Ok(now) => {
                hasher.update(&buffer[..now]);
                bytes += now as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// A file that is being received.
pub(super) struct Incoming {
    place: Place,
    hasher: Box<Hasher>,
    /// How many bytes of it are there.
    bytes: u64,
    /// How many of them were there before.
    before: u64,
}

enum Place {
    /// A file without a name, which gets one.
    New(Box<Output>),
    /// An unfinished file with a hidden name.
    Part { file: File, directory: Arc<OwnedFd>, name: Vec<u8> },
    /// The same file is there already, unless the sender finds otherwise.
    Whole { digest: Digest, directory: Arc<OwnedFd>, name: Vec<u8> },
    /// A pipe, or whatever standard output is.
    Pipe(File),
}

impl Place {
    /// An unfinished file, which is made if it is not there.
    fn part(directory: &Arc<OwnedFd>, name: &[u8]) -> io::Result<Place> {
        let part = Part::open(directory, name, OFlags::RDWR | OFlags::CREATE)?;
        let file = part.ok_or(io::ErrorKind::NotFound)?.file;
        Ok(Place::Part { file, directory: Arc::clone(directory), name: name.to_owned() })
    }
}

impl Incoming {
    /// Begins a file of about `size` bytes in `directory`.
    ///
    /// # Errors
    /// Those of the system. Something else than a file is there.
    pub(super) fn new(
        directory: &Arc<OwnedFd>,
        name: &[u8],
        size: u64,
        resume: bool,
        there: Option<There>,
    ) -> io::Result<Incoming> {
        if let Some(there) = look(directory, name)
            && kind(&there) != FileType::RegularFile
        {
            return Err(in_the_way(kind(&there)));
        }
        let (place, hasher, bytes) = match there {
            Some(There::Whole(Have { bytes, digest })) => {
                let place = Place::Whole { digest, directory: Arc::clone(directory), name: name.to_owned() };
                (place, Box::default(), bytes)
            }
            Some(There::Part(part)) => {
                let place = Place::Part { file: part.file, directory: Arc::clone(directory), name: name.to_owned() };
                (place, part.hasher, part.bytes)
            }
            None if resume => (Place::part(directory, name)?, Box::default(), 0),
            None => {
                let output = Output::create_in(directory, OsStr::from_bytes(name))?;
                output.check_room(size)?;
                (Place::New(Box::new(output)), Box::default(), 0)
            }
        };
        Ok(Incoming { place, hasher, bytes, before: 0 })
    }

    /// Bytes that go to a pipe as they come.
    pub(super) fn into_pipe(file: File) -> Incoming {
        Incoming { place: Place::Pipe(file), hasher: Box::default(), bytes: 0, before: 0 }
    }

    /// How many bytes did not have to come.
    pub(super) fn before(&self) -> u64 {
        self.before
    }

    /// The content begins at `offset`: at the end of what is there, or at the start.
    ///
    /// # Errors
    /// Those of the system; any other offset.
    pub(super) fn begin(&mut self, offset: u64) -> io::Result<()> {
        if offset != 0 && offset == self.bytes {
            self.before = offset;
        } else if offset != 0 {
            return Err(wire::wrong("a file begins at another byte than it ended"));
        } else {
            // What is there is not the beginning of this file.
            if let Place::Whole { directory, name, .. } = &self.place {
                self.place = Place::part(directory, name)?;
            }
            self.hasher.reset();
            self.bytes = 0;
        }
        if let Place::Part { file, .. } = &mut self.place {
            file.set_len(offset)?;
            file.seek(SeekFrom::Start(offset))?;
        }
        Ok(())
    }

    /// Takes the next bytes.
    ///
    /// # Errors
    /// Those of the system.
    pub(super) fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.place {
            Place::New(output) => output.file().write_all(bytes)?,
            Place::Part { file, .. } | Place::Pipe(file) => file.write_all(bytes)?,
            Place::Whole { .. } => return Err(wire::wrong("a file that was complete goes on")),
        }
        self.hasher.update(bytes);
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// The content is complete, and has this digest.
    ///
    /// # Errors
    /// It has another one. Nothing appears, and no unfinished file stays.
    pub(super) fn end(self, digest: &Digest, mode: u32, time: Time) -> io::Result<Complete> {
        let found = match &self.place {
            Place::Whole { digest, .. } => *digest,
            _ => self.hasher.finalize().into(),
        };
        if blake3::Hash::from(found) != blake3::Hash::from(*digest) {
            if let Place::Part { directory, name, .. } = &self.place {
                let _ = fs::unlinkat(directory, OsStr::from_bytes(&part_of(name)), fs::AtFlags::empty());
            }
            return Err(io::Error::new(io::ErrorKind::InvalidData, "what arrived is not what was sent; send it again"));
        }
        Ok(Complete { place: self.place, bytes: self.bytes, digest: found, mode, time })
    }
}

/// A file whose content is complete. It has no name yet.
pub(super) struct Complete {
    place: Place,
    pub(super) bytes: u64,
    pub(super) digest: Digest,
    mode: u32,
    time: Time,
}

impl Complete {
    /// Makes it durable, then visible.
    ///
    /// # Errors
    /// Those of the system.
    pub(super) fn appear(self) -> io::Result<()> {
        let Complete { place, mode, time, .. } = self;
        match place {
            Place::New(mut output) => {
                output.set_mode(mode);
                set_time(output.file(), time);
                output.commit()
            }
            Place::Part { file, directory, name } => {
                fs::fchmod(&file, Mode::from_raw_mode(mode))?;
                set_time(&file, time);
                file.sync_all()?;
                let (part, name) = (part_of(&name), OsStr::from_bytes(&name));
                fs::renameat(&directory, OsStr::from_bytes(&part), &directory, name)?;
                sync(&directory)
            }
            Place::Whole { .. } | Place::Pipe(_) => Ok(()),
        }
    }
}

/// The digest of the first `bytes` bytes of a file, and the hasher that made it. `None` if it has fewer.
pub(super) fn prefix(file: &File, bytes: u64) -> io::Result<Option<Hasher>> {
    let mut hasher = Hasher::new();
    let mut buffer = heap::filled(READ, 0)?;
    let mut at = 0;
    while at < bytes {
        let most = usize::try_from(bytes - at).unwrap_or(READ).min(READ);
        match file.read_at(&mut buffer[..most], at) {
            Ok(0) => return Ok(None),
            Ok(now) => {
                hasher.update(&buffer[..now]);
                at += now as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Some(hasher))
}
