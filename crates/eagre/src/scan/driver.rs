//! Brings the pieces of an input to a scan, and delivers its parts in order.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, Read, Seek, SeekFrom};
use std::ops::ControlFlow;
use std::path::Path;

use eagre_mem::{heap, threads};

use super::crew::{self, Done};
use super::plan::{self, Choice, Extent, Plan, Why};
use super::settings::{Cancelled, Hook, Settings, about, setting_methods};
use super::source::{Copied, Mapped, READ, grow};
use super::unbuffered::{self, Unbuffered};
use super::{Input, Scan};
use crate::Reader;

/// Scans inputs one after another. They share the settings and a buffer.
///
/// A clone has the same settings and its own buffer.
#[derive(Debug, Default)]
pub struct Scanner<'a> {
    pub(crate) settings: Settings<'a>,
    /// The number of threads that this process may use. It is found out for the first input that is large enough for
    /// several threads, because that takes longer than scanning a small file.
    available: Option<usize>,
    buffer: Vec<u8>,
}

impl Clone for Scanner<'_> {
    fn clone(&self) -> Self {
        Scanner { settings: self.settings, available: self.available, buffer: Vec::new() }
    }
}

/// The result of a scan, besides its parts.
#[derive(Debug)]
#[non_exhaustive]
pub struct Scanned<W> {
    /// The states of the threads that took part.
    pub workers: Vec<W>,
    /// How many bytes were scanned.
    pub bytes: u64,
    /// How the input was read.
    pub choice: Choice,
}

/// An input could not be read to its end.
#[derive(Debug)]
#[non_exhaustive]
pub struct ScanError {
    /// How many bytes were scanned before the error. Their parts were delivered.
    pub bytes: u64,
    /// The cause.
    pub source: io::Error,
}

impl fmt::Display for ScanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_cancelled() {
            return write!(f, "cancelled after {} bytes", self.bytes);
        }
        write!(f, "after {} bytes: {}", self.bytes, self.source)
    }
}

impl std::error::Error for ScanError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

impl From<ScanError> for io::Error {
    fn from(error: ScanError) -> io::Error {
        error.source
    }
}

impl ScanError {
    /// Whether the [progress hook](Scanner::progress) ended the scan.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        Cancelled::is_cause_of(&self.source)
    }
}

impl<'a> Scanner<'a> {
    /// A scanner with default settings.
    #[must_use]
    pub fn new() -> Scanner<'a> {
        Scanner::default()
    }

    setting_methods!(settings);

    /// The most threads that the scanner uses.
    pub(crate) fn thread_count(&mut self) -> usize {
        match self.settings.threads {
            0 => *self.available.get_or_insert_with(|| threads::available().get()),
            threads => threads,
        }
    }

    /// Opens a file and scans it to its end: see [`input`](Self::input). Errors name the file.
    ///
    /// # Errors
    /// Those of opening the file, and those of [`input`](Self::input).
    pub fn file<S: Scan>(
        &mut self,
        path: impl AsRef<Path>,
        scan: &S,
        deliver: impl FnMut(u64, S::Part) -> ControlFlow<()>,
    ) -> Result<Scanned<S::Worker>, ScanError> {
        let opened = Input::open(&path).map_err(|source| ScanError { bytes: 0, source });
        opened
            .and_then(|input| self.input(input, scan, deliver))
            .map_err(|ScanError { bytes, source }| ScanError { bytes, source: about("scan", path.as_ref(), source) })
    }

    /// Scans `input` from its position to its end. `deliver` is called on the calling thread with each part, in order,
    /// and with the number of bytes scanned up to the end of that part. If it returns `Break`, the scan ends early
    /// without an error.
    ///
    /// Moves the position of a regular file to the end of the last part that was delivered.
    ///
    /// # Errors
    /// - The first error of reading other than an interruption. The parts before it were delivered.
    /// - `OutOfMemory` if memory is refused.
    /// - `UnexpectedEof` if the file became shorter during the scan.
    /// - `InvalidInput` if `EAGRE_PLAN` or `EAGRE_SIMD` is invalid, or the processor lacks the instructions.
    /// - [`Cancelled`] if the progress hook ended the scan.
    ///
    /// # Panics
    /// If `scan`, `deliver` or the progress hook panics, on whichever thread.
    pub fn input<S: Scan>(
        &mut self,
        input: Input,
        scan: &S,
        deliver: impl FnMut(u64, S::Part) -> ControlFlow<()>,
    ) -> Result<Scanned<S::Worker>, ScanError> {
        self.input_behind(0, input, scan, deliver)
    }

    /// Scans any source to its end, on the calling thread. Otherwise as [`input`](Self::input).
    ///
    /// # Errors
    /// As for [`input`](Self::input).
    ///
    /// # Panics
    /// If `scan`, `deliver` or the progress hook panics.
    pub fn read<S: Scan>(
        &mut self,
        source: impl Read,
        scan: &S,
        deliver: impl FnMut(u64, S::Part) -> ControlFlow<()>,
    ) -> Result<Scanned<S::Worker>, ScanError> {
        self.settings.check().map_err(|source| ScanError { bytes: 0, source })?;
        let mut watch = Watch::new(self.settings.hook, 0, deliver);
        let done = read(source, &mut self.buffer, READ, scan, |bytes, part| watch.deliver(bytes, part));
        watch.result(done, Choice { plan: Plan::Stream, threads: 1, why: Why::NoSize })
    }

    /// As [`input`](Self::input), for an input of which some bytes are done already. The progress hook counts them too.
    pub(crate) fn input_behind<S: Scan>(
        &mut self,
        before: u64,
        input: Input,
        scan: &S,
        deliver: impl FnMut(u64, S::Part) -> ControlFlow<()>,
    ) -> Result<Scanned<S::Worker>, ScanError> {
        let failed = |source| ScanError { bytes: 0, source };
        let forced = self.settings.plan().map_err(failed)?;
        self.settings.check().map_err(failed)?;
        let alone = |plan, why| Choice { plan, threads: 1, why };
        let mut watch = Watch::new(self.settings.hook, before, deliver);
        let mut deliver = |bytes, part| watch.deliver(bytes, part);
        let (done, choice) = match input {
            Input::Stream(reader) => (stream(reader, scan, &mut deliver), alone(Plan::Stream, Why::Stream)),
            Input::File(file) => match plan::extent(&file) {
                Ok(extent) => {
                    let choice = plan::choose(&file, &extent, self.thread_count(), forced);
                    self.pieces(&file, extent, choice, scan, &mut deliver)
                }
                Err(why @ Why::Small { size }) => {
                    (read(&file, &mut self.buffer, first_read(size), scan, deliver), alone(Plan::Read, why))
                }
                Err(why) => (read(&file, &mut self.buffer, READ, scan, deliver), alone(Plan::Stream, why)),
            },
        };
        watch.result(done, choice)
    }

    /// Scans a regular file piece by piece.
    fn pieces<S: Scan>(
        &mut self,
        mut file: &File,
        extent: Extent,
        mut choice: Choice,
        scan: &S,
        deliver: &mut impl FnMut(u64, S::Part) -> ControlFlow<()>,
    ) -> (Done<S::Worker>, Choice) {
        if choice.plan == Plan::Stream {
            return (read(file, &mut self.buffer, READ, scan, deliver), Choice { threads: 1, ..choice });
        }
        let threads = choice.threads;
        let done = match choice.plan {
            Plan::Map => Mapped::new(file, extent).ok().map(|source| crew::run(&source, scan, threads, &mut *deliver)),
            Plan::Direct => {
                let threads = threads.min(unbuffered::THREADS);
                let source = Unbuffered::new(file, &extent, threads);
                source.ok().map(|source| {
                    choice.threads = threads;
                    crew::run(&source, scan, threads, &mut *deliver)
                })
            }
            Plan::Read | Plan::Stream => None,
        };
        let done = done.unwrap_or_else(|| {
            if choice.plan != Plan::Read {
                choice = Choice { plan: Plan::Read, why: Why::NotPossible { wanted: choice.plan }, ..choice };
            }
            // Only advice: odd file systems may refuse it.
            let _ = rustix::fs::fadvise(file, extent.start, None, rustix::fs::Advice::Sequential);
            crew::run(&Copied { file, extent }, scan, threads, deliver)
        });
        let _ = file.seek(SeekFrom::Start(extent.start + done.bytes));
        (done, choice)
    }
}

/// Delivers parts, and reports each to the progress hook.
struct Watch<'a, D> {
    hook: Option<Hook<'a>>,
    before: u64,
    deliver: D,
    cancelled: bool,
}

impl<'a, D> Watch<'a, D> {
    fn new(hook: Option<Hook<'a>>, before: u64, deliver: D) -> Self {
        Watch { hook, before, deliver, cancelled: false }
    }

    fn deliver<P>(&mut self, bytes: u64, part: P) -> ControlFlow<()>
    where
        D: FnMut(u64, P) -> ControlFlow<()>,
    {
        (self.deliver)(bytes, part)?;
        let flow = self.hook.map_or(ControlFlow::Continue(()), |hook| hook(self.before + bytes));
        self.cancelled = flow.is_break();
        flow
    }

    fn result<W>(self, done: Done<W>, choice: Choice) -> Result<Scanned<W>, ScanError> {
        let Done { workers, bytes, error } = done;
        match error.or_else(|| self.cancelled.then(|| Cancelled.into())) {
            None => Ok(Scanned { workers, bytes, choice }),
            Some(source) => Err(ScanError { bytes, source }),
        }
    }
}

/// The initial result of a scan by one thread.
fn one<S: Scan>(scan: &S) -> io::Result<Done<S::Worker>> {
    let mut workers = heap::list(1)?;
    workers.push(scan.worker());
    Ok(Done { workers, bytes: 0, error: None })
}

/// Reads piece after piece, as many bytes as arrive, into a buffer that later inputs reuse.
fn read<S: Scan>(
    mut source: impl Read,
    buffer: &mut Vec<u8>,
    first: usize,
    scan: &S,
    mut deliver: impl FnMut(u64, S::Part) -> ControlFlow<()>,
) -> Done<S::Worker> {
    let mut done = match one(scan) {
        Ok(done) => done,
        Err(error) => return Done { workers: Vec::new(), bytes: 0, error: Some(error) },
    };
    let mut wanted = first;
    loop {
        if buffer.len() < wanted
            && let Err(error) = grow(buffer, wanted)
        {
            return Done { error: Some(error), ..done };
        }
        match source.read(buffer) {
            Ok(0) => return done,
            Ok(n) => {
                let part = scan.piece(&mut done.workers[0], done.bytes, &buffer[..n]);
                done.bytes += n as u64;
                if deliver(done.bytes, part).is_break() {
                    return done;
                }
                // The file is longer than its size says.
                if n == buffer.len() {
                    wanted = READ;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Done { error: Some(error), ..done },
        }
    }
}

/// The size of the first read of a file of `size` bytes. A larger buffer would have to be cleared for nothing.
fn first_read(size: u64) -> usize {
    const LEAST: usize = 4 << 10;
    match size {
        // The files of `/proc` claim this size.
        0 => READ,
        size => usize::try_from(size + 1).map_or(READ, |size| size.next_multiple_of(LEAST).min(READ)),
    }
}

/// Scans the blocks of a stream in place, with one thread: the other end of the stream already runs on another.
fn stream<S: Scan>(
    mut reader: Reader,
    scan: &S,
    deliver: &mut impl FnMut(u64, S::Part) -> ControlFlow<()>,
) -> Done<S::Worker> {
    let mut done = match one(scan) {
        Ok(done) => done,
        Err(error) => return Done { workers: Vec::new(), bytes: 0, error: Some(error) },
    };
    loop {
        let piece = match reader.fill_buf() {
            Ok(piece) => piece,
            Err(error) => return Done { error: Some(error), ..done },
        };
        let length = piece.len();
        if length == 0 {
            return done;
        }
        let part = scan.piece(&mut done.workers[0], done.bytes, piece);
        done.bytes += length as u64;
        if deliver(done.bytes, part).is_break() {
            return done;
        }
        reader.consume(length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Seek, Write};

    /// Returns every piece unchanged.
    struct Echo;

    impl Scan for Echo {
        type Worker = ();
        type Part = (u64, Vec<u8>);
        fn worker(&self) {}
        fn piece(&self, (): &mut (), offset: u64, bytes: &[u8]) -> Self::Part {
            (offset, bytes.to_vec())
        }
    }

    #[test]
    fn parts_come_in_order_and_cover_the_input() {
        let data: Vec<u8> = (0..30 * READ + 17).map(|i| (i % 251) as u8).collect();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&data).unwrap();
        file.rewind().unwrap();
        let mut got = Vec::new();
        let scanned = Scanner::new()
            .threads(1)
            .input(file.into(), &Echo, |end, (offset, bytes)| {
                assert_eq!(offset, got.len() as u64);
                got.extend(bytes);
                assert_eq!(end, got.len() as u64);
                ControlFlow::Continue(())
            })
            .unwrap();
        assert_eq!((scanned.bytes, got), (data.len() as u64, data));
    }
}
