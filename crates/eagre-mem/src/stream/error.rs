//! What can go wrong with a stream, each with its cure.

#![forbid(unsafe_code)]

use crate::heap::{self, Refused};
use crate::mover::Engine;
use crate::sys::{Errno, Refusal, facts};
use crate::trap::End;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::*};
use std::sync::{Mutex, PoisonError};

/// Why a stream failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StreamErrorKind {
    /// The writer said so, with a message, or its callback did.
    WriterFailed,
    /// The writer was dropped before it finished.
    WriterGone,
    /// The reader was dropped, or its callback failed, before the end.
    ReaderGone,
    /// `Control::cancel` was called.
    Cancelled,
    /// One end waited for the other longer than the stream's time limit.
    TimedOut,
    /// Both ends belong to one handle, and one of them would wait for the other for ever.
    Deadlock,
    /// The reader touched bytes after the end of the stream.
    PastEnd,
    /// The writer went past the stream's capacity.
    CapacityExceeded,
    /// The pool's budget is used up.
    OutOfBlocks,
    /// A block the reader needs is pinned by I/O that does not end (O_DIRECT, io_uring, RDMA on a stream pointer), or a block
    /// was locked (`mlock`) after the stream was opened.
    Pinned,
    /// This stream has no pointers: its trap is `off`.
    NoPointer,
    /// A length that contradicts what was published or announced.
    InvalidLength,
    /// More contiguous bytes than the window holds.
    TooLarge,
    /// The other interface of this end is in use: blocks taken are still out.
    Busy,
    /// The operating system refused something.
    System,
    /// This is a forked child, and the stream was opened in its parent.
    Forked,
    /// Both ends are gone.
    Closed,
    /// The file at the far end could not be read or written.
    Io,
    /// The machine, or the control group, has no memory left.
    OutOfMemory,
    /// The window has left behind the bytes that an explicit call asks for.
    BehindWindow,
    /// Between processes: what the other one says of the stream contradicts itself.
    Damaged,
}

const KINDS: [StreamErrorKind; 21] = {
    use StreamErrorKind::*;
    [
        WriterFailed,
        WriterGone,
        ReaderGone,
        Cancelled,
        TimedOut,
        Deadlock,
        PastEnd,
        CapacityExceeded,
        OutOfBlocks,
        Pinned,
        NoPointer,
        InvalidLength,
        TooLarge,
        Busy,
        System,
        Forked,
        Closed,
        Io,
        OutOfMemory,
        BehindWindow,
        Damaged,
    ]
};

impl StreamErrorKind {
    fn why_and_cure(self) -> (&'static str, &'static str) {
        use StreamErrorKind::*;
        match self {
            WriterFailed => ("the writer failed", "see the writer's message"),
            WriterGone => ("the writer was dropped before it finished", "call finish when all is written"),
            ReaderGone => ("the reader is gone", "read to the end, or treat this as the reader's wish to stop"),
            Cancelled => ("cancelled", "none needed"),
            TimedOut => ("one end waited too long for the other", "raise the time limit, or ask for a wait report"),
            Deadlock => {
                ("one handle owns both ends and would wait for itself", "split the pipe, or read before writing more")
            }
            PastEnd => ("read past the end of the stream", "stop at the length, or at the zero byte that follows it"),
            CapacityExceeded => (
                "more written than the stream's capacity",
                "open it with a larger capacity, or for explicit calls only",
            ),
            OutOfBlocks => ("no memory block left in the pool", "raise EAGRE_POOL, or use fewer streams or windows"),
            OutOfMemory => ("no memory left", "use less, or raise `ulimit -v` or the control group's limit"),
            Pinned => (
                "a block is pinned by I/O, or locked",
                "give O_DIRECT, io_uring and the like a buffer of their own, and mlock before the stream is opened",
            ),
            NoPointer => ("this stream has no pointers", "use reserve/commit and fill/consume, or another EAGRE_TRAP"),
            InvalidLength => ("the length contradicts what is written", "pass the number of bytes written"),
            TooLarge => ("more contiguous bytes than the window holds", "ask for less, or open with a wider window"),
            BehindWindow => (
                "the window has left these bytes behind",
                "call advance_to with as many bytes as the pointer has read or written",
            ),
            Busy => ("blocks taken from this end are still out", "complete or release them first"),
            Damaged => (
                "what the other process says of the stream contradicts itself",
                "run the same version of Eagre in both, and see who else writes to their memory",
            ),
            System => ("the operating system refused", "see its message"),
            Closed => ("both ends are gone", "keep an end as long as its pointer is in use"),
            Io => ("the file at the far end failed", "see its message"),
            Forked => ("a forked child has no part in its parent's streams", "open one in the child"),
        }
    }
}

/// What helps a stream on `engine` that the system has refused memory with `errno`.
pub(crate) fn memory_cure(engine: Engine, errno: Errno) -> &'static str {
    match engine {
        // The answer of `mmap` to a process that locks all it maps (`mlockall`).
        _ if errno == Errno::AGAIN => "use less, or raise `ulimit -l`",
        // `mremap` and `mmap` have one answer for all of these.
        Engine::Remap | Engine::Map => {
            "use less, or raise vm.max_map_count, `ulimit -d`, `ulimit -v` or the control group's limit"
        }
        _ => StreamErrorKind::OutOfMemory.why_and_cure().1,
    }
}

/// Why, in a few words that need no allocation.
pub(crate) fn brief(kind: StreamErrorKind) -> &'static str {
    kind.why_and_cure().0
}

/// A stream failed, or could not do what was asked of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamError {
    kind: StreamErrorKind,
    stream: Box<str>,
    detail: Option<Box<str>>,
    errno: i32,
    /// What helps here, if it is not what helps in general.
    cure: Option<&'static str>,
}

impl StreamError {
    pub(crate) fn new(kind: StreamErrorKind, stream: &str, detail: Option<String>) -> StreamError {
        StreamError { kind, stream: stream.into(), detail: detail.map(String::into_boxed_str), errno: 0, cure: None }
    }

    /// The same with another cure.
    pub(crate) fn cured_by(self, cure: &'static str) -> StreamError {
        StreamError { cure: Some(cure), ..self }
    }

    /// The same, with `detail` unless it has one.
    pub(crate) fn or_detail(self, detail: impl FnOnce() -> String) -> StreamError {
        let detail = self.detail.or_else(|| Some(detail().into()));
        StreamError { detail, ..self }
    }

    /// What happened.
    pub fn kind(&self) -> StreamErrorKind {
        self.kind
    }

    /// The writer's message, or the operating system's.
    pub fn detail(&self) -> Option<&str> {
        self.detail.as_deref()
    }

    /// The operating system's number of the error, if it had one.
    pub fn os_error(&self) -> Option<i32> {
        (self.errno != 0).then_some(self.errno)
    }
}

impl fmt::Display for StreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (StreamErrorKind::Io, Some(detail)) = (self.kind, &self.detail) {
            // Of what the user named, the file; the stream is ours.
            return f.write_str(detail);
        }
        let (why, usual) = self.kind.why_and_cure();
        let cure = self.cure.unwrap_or(usual);
        write!(f, "stream {}: {why}", self.stream)?;
        if let Some(detail) = &self.detail {
            write!(f, ": {detail}")?;
        }
        write!(f, "; {cure}")
    }
}

impl std::error::Error for StreamError {}

impl From<StreamError> for std::io::Error {
    fn from(error: StreamError) -> Self {
        use std::io::ErrorKind as Io;
        let kind = match error.kind {
            StreamErrorKind::WriterGone => Io::UnexpectedEof,
            StreamErrorKind::ReaderGone => Io::BrokenPipe,
            StreamErrorKind::TimedOut => Io::TimedOut,
            StreamErrorKind::OutOfBlocks | StreamErrorKind::OutOfMemory => Io::OutOfMemory,
            StreamErrorKind::CapacityExceeded => Io::FileTooLarge,
            StreamErrorKind::Deadlock => Io::Deadlock,
            StreamErrorKind::InvalidLength | StreamErrorKind::TooLarge | StreamErrorKind::BehindWindow => {
                Io::InvalidInput
            }
            StreamErrorKind::NoPointer => Io::Unsupported,
            // A file that fails without the system's refusing anything is one that has ended too early.
            StreamErrorKind::Io => match error.errno {
                0 => Io::UnexpectedEof,
                // Callers repeat what was interrupted; this was repeated enough.
                errno => match std::io::Error::from_raw_os_error(errno).kind() {
                    Io::Interrupted => Io::Other,
                    kind => kind,
                },
            },
            _ => Io::Other,
        };
        std::io::Error::new(kind, error)
    }
}

/// Why a stream could not be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenError {
    /// A setting is out of range, or the environment holds a value that cannot be read.
    Setting(String),
    /// The trap and mover asked for do not work together, or not here.
    Unavailable(String),
    /// The address space, the table of streams, or memory is used up.
    Resources(String),
}

impl OpenError {
    /// Addresses for `what` were refused. `or`: what else would help.
    pub(crate) fn addresses(what: fmt::Arguments<'_>, refusal: Refusal, or: &str) -> OpenError {
        match refusal.is_shortage() {
            // Memory with a descriptor counts as a file.
            _ if refusal.errno == Errno::FBIG => OpenError::Resources(heap::text(format_args!(
                "no memory {what}: {refusal}; raise `ulimit -f`, set EAGRE_POOL to less, or use another mover"
            ))),
            true => OpenError::Resources(heap::text(format_args!(
                "no address space {what}: {refusal}; {}{or}",
                if refusal.is_locked() { "raise `ulimit -l`" } else { facts::address_cure() }
            ))),
            false => OpenError::Unavailable(heap::text(format_args!(
                "the system refuses {refusal}; let this process call it (seccomp filter, security module)"
            ))),
        }
    }

    /// The addresses of a pool were refused.
    pub(crate) fn pool(refusal: Refusal) -> OpenError {
        OpenError::addresses(format_args!("for a pool"), refusal, "")
    }

    /// A thread for a stream was refused.
    pub fn no_thread(error: &std::io::Error) -> OpenError {
        let text = error.to_string();
        let why = text.split(" (os error ").next().unwrap_or(&text);
        let cure = match facts::address_space() {
            Some(_) => "raise `ulimit -v`",
            None => "raise `ulimit -u`, or pids.max of the control group",
        };
        OpenError::Resources(format!("no thread for it: {why}; {cure}"))
    }

    /// Why, and after a semicolon the cure.
    pub fn reason(&self) -> &str {
        let (OpenError::Setting(text) | OpenError::Unavailable(text) | OpenError::Resources(text)) = self;
        // The heap had no room for the reason: then that is one.
        if text.is_empty() { "no memory left; use less" } else { text }
    }
}

impl From<Refused> for OpenError {
    fn from(refused: Refused) -> OpenError {
        OpenError::Resources(heap::text(refused))
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot open a stream: {}", self.reason())
    }
}

impl std::error::Error for OpenError {}

impl From<OpenError> for std::io::Error {
    fn from(error: OpenError) -> Self {
        let kind = match error {
            OpenError::Setting(_) => std::io::ErrorKind::InvalidInput,
            OpenError::Unavailable(_) => std::io::ErrorKind::Unsupported,
            OpenError::Resources(_) => std::io::ErrorKind::OutOfMemory,
        };
        std::io::Error::new(kind, error)
    }
}

/// What a failure looks like from inside a handler: a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) kind: StreamErrorKind,
    /// The operating system's error, or 0.
    pub(crate) errno: i32,
    /// The end that saw it first.
    pub(crate) by: End,
}

impl Failure {
    pub(crate) fn word(self) -> u64 {
        (self.kind as u64 + 1) | (self.by as u64) << 8 | u64::from(self.errno as u32) << 32
    }

    /// The failure that a word stands for. `None` for 0, and for what is no word of a failure.
    pub(crate) fn from_word(word: u64) -> Option<Failure> {
        let kind = *KINDS.get(usize::from(word as u8).checked_sub(1)?)?;
        let by = if word & 0x100 == 0 { End::Writer } else { End::Reader };
        Some(Failure { kind, errno: (word >> 32) as i32, by })
    }
}

impl From<(StreamErrorKind, End)> for Failure {
    fn from((kind, by): (StreamErrorKind, End)) -> Self {
        Failure { kind, errno: 0, by }
    }
}

/// The first failure of a stream, set once, read by anyone.
#[derive(Debug, Default)]
pub(crate) struct Status {
    /// 0 while all is well.
    word: AtomicU64,
    /// The message of the end that failed the stream. Never touched by handlers.
    message: Mutex<Option<String>>,
}

impl Status {
    #[inline]
    pub(crate) fn failure(&self) -> Option<Failure> {
        Failure::from_word(self.word.load(SeqCst))
    }

    /// Records a failure unless there is one already. Returns whether this was the first.
    pub(crate) fn set(&self, failure: Failure) -> bool {
        self.word.compare_exchange(0, failure.word(), SeqCst, SeqCst).is_ok()
    }

    /// Takes a failure back that turned out to be none. False if there is another, or it has a message.
    pub(crate) fn forgive(&self, failure: Failure) -> bool {
        let message = self.message.lock().unwrap_or_else(PoisonError::into_inner);
        message.is_none() && self.word.compare_exchange(failure.word(), 0, SeqCst, SeqCst).is_ok()
    }

    /// Records a failure with a message.
    pub(crate) fn set_with(&self, failure: Failure, message: String) -> bool {
        let mut slot = self.message.lock().unwrap_or_else(PoisonError::into_inner);
        let first = self.set(failure);
        if first {
            *slot = Some(message);
        }
        first
    }

    /// The failure in words.
    pub(crate) fn error(&self, failure: Failure, stream: &str) -> StreamError {
        let message = self.message.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let system = || (failure.errno != 0).then(|| Errno(failure.errno).to_string());
        StreamError { errno: failure.errno, ..StreamError::new(failure.kind, stream, message.or_else(system)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cure_of_refused_memory_names_the_limit() {
        for (engine, errno, limits) in [
            (Engine::Remap, Errno::NOMEM, &["vm.max_map_count", "`ulimit -d`", "`ulimit -v`"][..]),
            (Engine::Copy, Errno::NOMEM, &["`ulimit -v`", "control group"]),
            (Engine::Remap, Errno::AGAIN, &["`ulimit -l`"]),
            (Engine::Copy, Errno::AGAIN, &["`ulimit -l`"]),
        ] {
            let cure = memory_cure(engine, errno);
            assert!(limits.iter().all(|limit| cure.contains(limit)), "{engine:?}, {errno}: {cure}");
        }
    }

    #[test]
    fn a_failure_survives_its_word() {
        for (index, kind) in KINDS.into_iter().enumerate() {
            assert_eq!(kind as usize, index);
            let status = Status::default();
            let failure = Failure { kind, errno: 16, by: End::Reader };
            assert!(status.set(failure));
            assert!(!status.set((StreamErrorKind::Cancelled, End::Writer).into()));
            assert_eq!(status.failure(), Some(failure));
        }
        for word in [0, KINDS.len() as u64 + 1, 0xFF, 1 << 40] {
            assert_eq!(Failure::from_word(word), None);
        }
    }
}
