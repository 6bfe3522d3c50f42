//! How a call ends: a status, a message for whoever wants one, and never a panic.

use eagre::external::kernels::IndexError;
use eagre::heap::Refused;
use eagre::partition::PartitionError;
use eagre::sort::SortError;
use eagre::{OpenError, RewireError, RewireErrorKind, StreamError, StreamErrorKind};
use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int};
use std::fmt::{self, Write};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// cbindgen:rename-all=ScreamingSnakeCase
/// How a call ended. 0 is success. A later version of the library may add to them.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::enum_variant_names, reason = "C has one name space: the prefix is part of the C name")]
pub enum EagreStatus {
    /// Success.
    EagreOk = 0,
    /// The writer said that it failed, with a message, or its callback did.
    EagreWriterFailed = 1,
    /// The writer was closed before it finished, or its process has ended.
    EagreWriterGone = 2,
    /// The reader was closed, its callback failed, or its process has ended, before the end of the stream.
    EagreReaderGone = 3,
    /// The stream was cancelled, or the sort was.
    EagreCancelled = 4,
    /// One end waited for the other longer than the stream's time limit; or nobody called a listener within its limit.
    EagreTimedOut = 5,
    /// Both ends belong to one handle, and one of them would wait for the other for ever.
    EagreDeadlock = 6,
    /// The reader touched bytes after the end of the stream.
    EagrePastEnd = 7,
    /// The writer went past the stream's capacity.
    EagreCapacityExceeded = 8,
    /// The pool's budget, or the machine's memory, is used up.
    EagreOutOfBlocks = 9,
    /// A block the reader needs is pinned by I/O that does not end (O_DIRECT, io_uring, RDMA on a stream pointer), or a block
    /// was locked (mlock) after the stream was opened.
    EagrePinned = 10,
    /// This stream has no pointers: its trap is off.
    EagreNoPointer = 11,
    /// A length that contradicts what was published or announced; finishing twice.
    EagreInvalidLength = 12,
    /// More contiguous bytes than the window holds; or bytes that the window has left behind, because a pointer has moved ahead of
    /// the position.
    EagreTooLarge = 13,
    /// Blocks taken from this end are still out.
    EagreBusy = 14,
    /// The operating system refused something.
    EagreSystem = 15,
    /// This is a forked child, and the stream was opened in its parent.
    EagreForked = 16,
    /// Both ends are gone; between processes, this one's.
    EagreClosed = 17,
    /// An argument is wrong: a null pointer, a number out of range. Nothing was done.
    EagreInvalid = 64,
    /// A setting is out of range, or the environment holds a value that cannot be read.
    EagreSetting = 65,
    /// The trap and mover asked for do not work together, or not on this machine. Or the library was built without what is asked for. Or
    /// there is no other process: nobody listens, or it is gone.
    EagreUnavailable = 66,
    /// The address space, the table of streams, memory, threads, sockets or ports are used up or refused.
    EagreResources = 67,
    /// A struct of a size or version that this library does not know.
    EagreWrongVersion = 68,
    /// The data are not what their format says: they end inside a record. Or what was written does not verify.
    EagreMalformed = 70,
    /// A bug in Eagre, stopped before it reached the caller. Please report it. The handle can only be closed.
    EagrePanic = 69,
    /// A stream between hosts: nobody answers, the two sides do not trust each other or the other one does not want the stream, the
    /// connection was lost, or the program there stopped or gave up.
    EagreNetwork = 71,
}

use EagreStatus::*;

const WORDS: &[(EagreStatus, &CStr)] = &[
    (EagreOk, c"success"),
    (EagreWriterFailed, c"the writer failed"),
    (EagreWriterGone, c"the writer was closed before it finished"),
    (EagreReaderGone, c"the reader is gone"),
    (EagreCancelled, c"cancelled"),
    (EagreTimedOut, c"one end waited too long for the other"),
    (EagreDeadlock, c"one handle owns both ends and would wait for itself"),
    (EagrePastEnd, c"read past the end of the stream"),
    (EagreCapacityExceeded, c"more written than the stream's capacity"),
    (EagreOutOfBlocks, c"no memory block left in the pool"),
    (EagrePinned, c"a block is pinned by I/O, or locked"),
    (EagreNoPointer, c"this stream has no pointers"),
    (EagreInvalidLength, c"the length contradicts what is written"),
    (EagreTooLarge, c"more contiguous bytes than the window holds, or bytes behind it"),
    (EagreBusy, c"blocks taken from this end are still out"),
    (EagreSystem, c"the operating system refused"),
    (EagreForked, c"a forked child has no part in its parent's streams"),
    (EagreClosed, c"both ends are gone"),
    (EagreInvalid, c"invalid argument"),
    (EagreSetting, c"a setting is out of range"),
    (EagreUnavailable, c"not to be had here: this trap and mover, this part of the library, or the other process"),
    (EagreResources, c"address space, streams, memory, threads or sockets are used up"),
    (EagreWrongVersion, c"a struct of unknown size or version"),
    (EagreMalformed, c"data that end inside a record"),
    (EagrePanic, c"a bug in Eagre"),
    (EagreNetwork, c"no stream between the hosts, or it was lost"),
];

/// A status in a few words. Never null; the text is constant and belongs to the library.
#[unsafe(no_mangle)]
pub extern "C" fn eagre_strerror(status: c_int) -> *const c_char {
    let known = WORDS.iter().find(|(known, _)| *known as c_int == status);
    known.map_or(c"unknown status", |(_, words)| words).as_ptr()
}

/// Why a call did not do what it was asked. Its message waits in the thread's memory for messages: of several faults it is
/// the last one's, so that is the one to return.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) status: EagreStatus,
}

impl Fault {
    pub(crate) fn new(status: EagreStatus, message: impl fmt::Display) -> Fault {
        LAST.with(|last| {
            let mut to = Message { to: &last.next, length: 0 };
            // Cut at its end if it is too long.
            let _ = write!(to, "{message}");
            to.end();
        });
        Fault { status }
    }

    pub(crate) fn invalid(message: impl fmt::Display) -> Fault {
        Fault::new(EagreInvalid, message)
    }

    /// An error of the system about a file, or the failure of the stream it was read through.
    pub(crate) fn about(what: &str, path: &Path, error: &io::Error) -> Fault {
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<StreamError>());
        let refused = error.kind() == io::ErrorKind::OutOfMemory;
        let other = if refused { EagreResources } else { EagreSystem };
        let status = inner.map_or(other, |inner| Fault::from(inner.clone()).status);
        Fault::new(status, format_args!("{what}: {}: {error}", eagre::file::name::Shown(path.as_os_str().as_bytes())))
    }
}

impl Fault {
    /// An error of a sort of files or streams.
    pub(crate) fn of_sort(error: &io::Error) -> Fault {
        let status = match error.get_ref().and_then(|inner| inner.downcast_ref::<StreamError>()) {
            Some(inner) => Fault::from(inner.clone()).status,
            None => match error.kind() {
                io::ErrorKind::InvalidData => EagreMalformed,
                io::ErrorKind::InvalidInput => EagreInvalid,
                io::ErrorKind::Interrupted => EagreCancelled,
                io::ErrorKind::OutOfMemory => EagreResources,
                _ => EagreSystem,
            },
        };
        Fault::new(status, error)
    }
}

impl From<IndexError> for Fault {
    fn from(error: IndexError) -> Fault {
        match error {
            IndexError::Memory(error) => error.into(),
            error => Fault::new(EagreMalformed, format_args!("sort: {error}")),
        }
    }
}

impl From<StreamError> for Fault {
    fn from(error: StreamError) -> Fault {
        let status = match error.kind() {
            StreamErrorKind::WriterFailed => EagreWriterFailed,
            StreamErrorKind::WriterGone => EagreWriterGone,
            StreamErrorKind::ReaderGone => EagreReaderGone,
            StreamErrorKind::Cancelled => EagreCancelled,
            StreamErrorKind::TimedOut => EagreTimedOut,
            StreamErrorKind::Deadlock => EagreDeadlock,
            StreamErrorKind::PastEnd => EagrePastEnd,
            StreamErrorKind::CapacityExceeded => EagreCapacityExceeded,
            StreamErrorKind::OutOfBlocks | StreamErrorKind::OutOfMemory => EagreOutOfBlocks,
            StreamErrorKind::Pinned => EagrePinned,
            StreamErrorKind::NoPointer => EagreNoPointer,
            StreamErrorKind::InvalidLength => EagreInvalidLength,
            StreamErrorKind::TooLarge | StreamErrorKind::BehindWindow => EagreTooLarge,
            StreamErrorKind::Busy => EagreBusy,
            StreamErrorKind::Forked => EagreForked,
            StreamErrorKind::Closed => EagreClosed,
            _ => EagreSystem,
        };
        Fault::new(status, error)
    }
}

impl From<OpenError> for Fault {
    fn from(error: OpenError) -> Fault {
        let status = match error {
            OpenError::Setting(_) => EagreSetting,
            OpenError::Unavailable(_) => EagreUnavailable,
            _ => EagreResources,
        };
        Fault::new(status, error)
    }
}

impl From<RewireError> for Fault {
    fn from(error: RewireError) -> Fault {
        let status = match error.kind() {
            RewireErrorKind::NoPool | RewireErrorKind::Moves => EagreUnavailable,
            RewireErrorKind::Full => EagreCapacityExceeded,
            RewireErrorKind::OutOfBlocks | RewireErrorKind::OutOfMemory => EagreOutOfBlocks,
            RewireErrorKind::OutOfAddresses | RewireErrorKind::OutOfMappings => EagreResources,
            RewireErrorKind::Pinned => EagrePinned,
            RewireErrorKind::Forked => EagreForked,
            _ => EagreSystem,
        };
        Fault::new(status, error)
    }
}

impl From<PartitionError> for Fault {
    fn from(error: PartitionError) -> Fault {
        let status = match error {
            PartitionError::Memory(error) => return error.into(),
            PartitionError::Slack { .. } | PartitionError::OutOfHeap => EagreResources,
            _ => EagreInvalid,
        };
        Fault::new(status, error)
    }
}

impl From<SortError> for Fault {
    fn from(error: SortError) -> Fault {
        let status = match error {
            SortError::Cancelled => EagreCancelled,
            SortError::Memory { .. } => EagreResources,
            _ => EagreInvalid,
        };
        Fault::new(status, format_args!("sort: {error}"))
    }
}

impl From<Refused> for Fault {
    fn from(refused: Refused) -> Fault {
        Fault::new(EagreResources, refused)
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Fault {
        match error.get_ref().and_then(|inner| inner.downcast_ref::<StreamError>()) {
            Some(inner) => inner.clone().into(),
            None if error.kind() == io::ErrorKind::OutOfMemory => Fault::new(EagreResources, error),
            None => Fault::new(EagreSystem, error),
        }
    }
}

/// The longest message kept, its zero included. What is longer loses its end.
const LONGEST: usize = 1024;

/// The last failure of a thread. It stays where it is for the thread's life, and is written over: a pointer to it that a
/// caller got before a call failed shows that failure afterwards, in whatever order C evaluates arguments.
struct Last {
    status: Cell<EagreStatus>,
    text: [Cell<u8>; LONGEST],
    /// The message of a fault that is on its way. No heap: that may be what is short.
    next: [Cell<u8>; LONGEST],
}

/// Puts a text where a message goes.
struct Message<'a> {
    to: &'a [Cell<u8>; LONGEST],
    length: usize,
}

impl Message<'_> {
    fn end(self) {
        self.to[self.length].set(0);
    }
}

impl fmt::Write for Message<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = LONGEST - 1 - self.length;
        let end = (0..=room.min(text.len())).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
        let fits = &text[..end];
        for byte in fits.bytes().filter(|&byte| byte != 0) {
            self.to[self.length].set(byte);
            self.length += 1;
        }
        if fits.len() < text.len() { Err(fmt::Error) } else { Ok(()) }
    }
}

thread_local! {
    static LAST: Last = const {
        Last {
            status: Cell::new(EagreOk),
            text: [const { Cell::new(0) }; LONGEST],
            next: [const { Cell::new(0) }; LONGEST],
        }
    };
}

/// Stores why the call failed for this thread to ask for.
fn remember(fault: Fault) -> EagreStatus {
    LAST.with(|last| {
        last.status.set(fault.status);
        last.text.iter().zip(&last.next).for_each(|(place, byte)| place.set(byte.get()));
    });
    fault.status
}

fn caught<T>(call: impl FnOnce() -> Result<T, Fault>) -> Result<T, EagreStatus> {
    catch_unwind(AssertUnwindSafe(call))
        .unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
            Err(Fault::new(EagrePanic, format_args!("a bug in Eagre, please report it: {text}")))
        })
        .map_err(remember)
}

/// Runs the body of a function that returns a status.
pub(crate) fn status(call: impl FnOnce() -> Result<(), Fault>) -> EagreStatus {
    caught(call).err().unwrap_or(EagreOk)
}

/// Runs the body of a function that returns something else, and `otherwise` on failure.
pub(crate) fn value<T>(otherwise: T, call: impl FnOnce() -> Result<T, Fault>) -> T {
    caught(call).unwrap_or(otherwise)
}

/// What the last failed call in this thread had to say: one line with the stream, the reason and the cure.
///
/// Never null; empty if no call has failed in this thread. The pointer is the same for the thread's life; the next call
/// that fails in this thread writes over the text, and one that succeeds leaves it alone, as with errno. Of a message of
/// more than 1023 bytes the end is missing.
#[unsafe(no_mangle)]
pub extern "C" fn eagre_last_error() -> *const c_char {
    LAST.with(|last| last.text.as_ptr().cast())
}

/// The status of the last failed call in this thread, for functions that return a pointer.
///
/// EAGRE_OK if no call has failed in this thread.
#[unsafe(no_mangle)]
pub extern "C" fn eagre_last_status() -> EagreStatus {
    LAST.with(|last| last.status.get())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_status_and_a_message() {
        assert_eq!(status(|| panic!("of {}", "some kind")), EagrePanic);
        assert_eq!(eagre_last_status(), EagrePanic);
        // SAFETY: valid until the next failing call.
        let text = unsafe { CStr::from_ptr(eagre_last_error()) }.to_str().unwrap();
        assert!(text.contains("of some kind"), "{text}");
        assert_eq!(value(7, || panic!()), 7);
    }

    #[test]
    fn a_message_stays_where_it_is_and_loses_only_its_end() {
        let text = eagre_last_error();
        for message in ["short".to_owned(), "with \0 a zero".to_owned(), "é".repeat(2000)] {
            let _ = status(|| Err(Fault::invalid(message.clone())));
            assert_eq!(eagre_last_error(), text);
            // SAFETY: a string for the thread's life.
            let told = unsafe { CStr::from_ptr(text) }.to_str().unwrap();
            assert!(message.replace('\0', "").starts_with(told) && told.len() >= message.len().min(1022) - 1, "{told}");
        }
    }

    #[test]
    fn words_for_every_status() {
        for (index, (status, words)) in WORDS.iter().enumerate() {
            // SAFETY: constant text.
            assert_eq!(unsafe { CStr::from_ptr(eagre_strerror(*status as c_int)) }, *words);
            assert!(WORDS[..index].iter().all(|(other, text)| other != status && text != words));
        }
        // SAFETY: constant text.
        assert_eq!(unsafe { CStr::from_ptr(eagre_strerror(-5)) }, c"unknown status");
    }
}
