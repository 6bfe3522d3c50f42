//! Brings pieces of an input to a scan, and its parts back in order.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, Read, Seek, SeekFrom};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;

use eagre_mem::{heap, threads};

use super::crew::{self, Done};
use super::kernels::Kernels;
use super::plan::{self, Choice, Extent, Plan, Why};
use super::source::{Copied, Mapped, READ, grow};
use super::unbuffered::{self, Unbuffered};
use super::{Input, Scan};
use crate::Reader;

/// Scans inputs one after another with the same settings and the same buffer.
///
/// By default with as many threads as this process may use processors: what the machine has, the affinity mask and the
/// control group's quota allow.
#[derive(Debug, Default)]
pub struct Scanner {
    /// `None` until the first input that is large enough for several: asking takes longer than a small file.
    threads: Option<NonZeroUsize>,
    plan: Option<Plan>,
    buffer: Vec<u8>,
}

/// What is known after a scan, beside its parts.
#[derive(Debug)]
#[non_exhaustive]
pub struct Scanned<W> {
    /// The states of the threads that took part.
    pub workers: Vec<W>,
    /// How many bytes were scanned.
    pub bytes: u64,
    /// How they were brought.
    pub choice: Choice,
}

/// An input could not be read to its end.
#[derive(Debug)]
#[non_exhaustive]
pub struct ScanError {
    /// How many bytes were scanned, and their parts delivered, before that.
    pub bytes: u64,
    /// What the system said.
    pub source: io::Error,
}

impl fmt::Display for ScanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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

impl Scanner {
    /// A scanner of so many threads, the caller's included.
    #[must_use]
    pub fn new(threads: NonZeroUsize) -> Scanner {
        Scanner { threads: Some(threads), ..Scanner::default() }
    }

    /// The same with so many threads.
    #[must_use]
    pub fn threads_at_most(mut self, threads: NonZeroUsize) -> Scanner {
        self.threads = Some(threads);
        self
    }

    /// Brings regular files in this way, whatever suits them, and whatever `EAGRE_PLAN` says. Small ones are read all
    /// the same, and so is what cannot be mapped.
    #[must_use]
    pub fn plan(mut self, plan: Plan) -> Scanner {
        self.plan = Some(plan);
        self
    }

    /// How many threads it uses at most.
    #[must_use]
    pub fn threads(&mut self) -> NonZeroUsize {
        *self.threads.get_or_insert_with(threads::available)
    }

    /// Scans `input` from its present position to its end. `deliver` gets the parts in order, each with the number of
    /// bytes scanned up to its end, on the calling thread; `Break` ends the scan early, which is no error.
    ///
    /// The position of a regular file is moved behind what was delivered.
    ///
    /// # Errors
    /// The first error of reading other than an interruption; parts up to it were delivered. `OutOfMemory` if memory is
    /// refused. `UnexpectedEof` if a file
    /// of some size became shorter meanwhile. `InvalidInput` if `EAGRE_PLAN` or `EAGRE_SIMD` is wrong.
    ///
    /// # Panics
    /// As `scan` and `deliver` do, in whatever thread.
    pub fn run<S: Scan>(
        &mut self,
        input: Input,
        scan: &S,
        mut deliver: impl FnMut(u64, S::Part) -> ControlFlow<()>,
    ) -> Result<Scanned<S::Worker>, ScanError> {
        let invalid = |text| ScanError { bytes: 0, source: io::Error::new(io::ErrorKind::InvalidInput, text) };
        let forced = self.plan.map_or_else(plan::from_environment, |plan| Ok(Some(plan))).map_err(invalid)?;
        Kernels::check().map_err(invalid)?;
        let alone = |plan, why| Choice { plan, threads: NonZeroUsize::MIN, why };
        let (done, choice) = match input {
            Input::Stream(reader) => (stream(reader, scan, &mut deliver), alone(Plan::Stream, Why::Stream)),
            Input::File(file) => match plan::extent(&file) {
                Ok(extent) => {
                    let choice = plan::choose(&file, &extent, self.threads(), forced);
                    self.pieces(&file, extent, choice, scan, &mut deliver)
                }
                Err(why @ Why::Small { size }) => {
                    (read(&file, &mut self.buffer, first_read(size), scan, deliver), alone(Plan::Read, why))
                }
                Err(why) => (read(&file, &mut self.buffer, READ, scan, deliver), alone(Plan::Stream, why)),
            },
        };
        match done {
            Done { workers, bytes, error: None } => Ok(Scanned { workers, bytes, choice }),
            Done { bytes, error: Some(source), .. } => Err(ScanError { bytes, source }),
        }
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
            return (read(file, &mut self.buffer, READ, scan, deliver), choice);
        }
        let threads = choice.threads;
        let done = match choice.plan {
            Plan::Map => Mapped::new(file, extent).ok().map(|source| crew::run(&source, scan, threads, &mut *deliver)),
            Plan::Direct => {
                let threads = threads.min(unbuffered::THREADS);
                let source = Unbuffered::new(file, &extent, threads.get());
                source.ok().map(|source| crew::run(&source, scan, threads, &mut *deliver))
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

/// What one thread has done before it begins.
fn one<S: Scan>(scan: &S) -> io::Result<Done<S::Worker>> {
    let mut workers = heap::list(1)?;
    workers.push(scan.worker());
    Ok(Done { workers, bytes: 0, error: None })
}

/// Reads one piece after the other, as much as comes, into a buffer that later inputs use again.
fn read<S: Scan>(
    mut file: &File,
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
        match file.read(buffer) {
            Ok(0) => return done,
            Ok(n) => {
                let part = scan.piece(&mut done.workers[0], done.bytes, &buffer[..n]);
                done.bytes += n as u64;
                if deliver(done.bytes, part).is_break() {
                    return done;
                }
                // More than its size says.
                if n == buffer.len() {
                    wanted = READ;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Done { error: Some(error), ..done },
        }
    }
}

/// How much to ask for first of a file of so many bytes: memory that is not needed would have to be cleared.
fn first_read(size: u64) -> usize {
    const LEAST: usize = 4 << 10;
    match size {
        // The size of the files of /proc.
        0 => READ,
        size => usize::try_from(size + 1).map_or(READ, |size| size.next_multiple_of(LEAST).min(READ)),
    }
}

/// Looks at the blocks of a stream where they are. One thread: the other end is another one already.
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

    /// Returns every piece as it came.
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
        let scanned = Scanner::new(NonZeroUsize::MIN)
            .run(file.into(), &Echo, |end, (offset, bytes)| {
                assert_eq!(offset, got.len() as u64);
                got.extend(bytes);
                assert_eq!(end, got.len() as u64);
                ControlFlow::Continue(())
            })
            .unwrap();
        assert_eq!((scanned.bytes, got), (data.len() as u64, data));
    }
}
