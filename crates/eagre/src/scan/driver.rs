//! Brings pieces of an input to a scan, and its parts back in order.

use std::fmt;
use std::io::{self, BufRead, Read};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;

use super::{Input, Scan};
use crate::Reader;

/// How much is read at a time: stays inside a second-level cache, and makes the cost of a system call vanish.
const PIECE: usize = 256 * 1024;

/// Scans inputs one after another with the same threads and buffers.
#[derive(Debug)]
pub struct Scanner {
    threads: NonZeroUsize,
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
        Scanner { threads, buffer: Vec::new() }
    }

    /// How many threads it uses at most.
    #[must_use]
    pub fn threads(&self) -> NonZeroUsize {
        self.threads
    }

    /// Scans `input` from its present position to its end. `deliver` gets the parts in order, each with the number of
    /// bytes scanned up to its end, on the calling thread; `Break` ends the scan early, which is no error.
    ///
    /// # Errors
    /// The first error of reading other than an interruption; parts up to it were delivered.
    pub fn run<S: Scan>(
        &mut self,
        input: Input,
        scan: &S,
        mut deliver: impl FnMut(u64, S::Part) -> ControlFlow<()>,
    ) -> Result<Scanned<S::Worker>, ScanError> {
        let mut worker = scan.worker();
        let mut bytes = 0;
        let mut look = |piece: &[u8]| {
            let part = scan.piece(&mut worker, bytes, piece);
            bytes += piece.len() as u64;
            deliver(bytes, part)
        };
        let read = match input {
            Input::File(file) => read(&file, &mut self.buffer, &mut look),
            Input::Stream(reader) => stream(reader, &mut look),
        };
        match read {
            Ok(()) => Ok(Scanned { workers: vec![worker], bytes }),
            Err(source) => Err(ScanError { bytes, source }),
        }
    }
}

fn read(
    mut file: &std::fs::File,
    buffer: &mut Vec<u8>,
    look: &mut impl FnMut(&[u8]) -> ControlFlow<()>,
) -> io::Result<()> {
    buffer.resize(PIECE, 0);
    loop {
        match file.read(buffer) {
            Ok(0) => return Ok(()),
            Ok(n) => {
                if look(&buffer[..n]).is_break() {
                    return Ok(());
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn stream(mut reader: Reader, look: &mut impl FnMut(&[u8]) -> ControlFlow<()>) -> io::Result<()> {
    loop {
        let piece = reader.fill_buf()?;
        let length = piece.len();
        if length == 0 || look(piece).is_break() {
            return Ok(());
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
        let data: Vec<u8> = (0..3 * PIECE + 17).map(|i| (i % 251) as u8).collect();
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
