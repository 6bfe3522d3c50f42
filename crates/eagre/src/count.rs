//! Counting the lines and bytes of a file or a stream.
//!
//! A line is what `wc -l` takes it for: one newline byte. The loop is the plain one, a buffer filled by
//! `read` and a vectorised count of newlines over it:
//!
//! ```text
//! until the source ends:
//!     read up to 256 KiB
//!     bytes += what came;  lines += newlines in it
//! ```
//!
//! 256 KiB stays inside the second-level cache of the machines we know and makes the cost of a system
//! call vanish (64 to 512 KiB measure alike). A [`Counter`] keeps its buffer, so counting a thousand
//! small files allocates once.
//!
//! When only bytes are asked for, a regular file need not be read: its size is in its metadata. That is
//! wrong for the files of `/proc` and `/sys`, which claim to be empty or one page long and hold something
//! else, so a size that is a multiple of the page size is never trusted: we seek near the end and read the
//! rest, as GNU `wc` does.
//!
//! # Example
//!
//! ```
//! let counts = eagre::count::count(&b"one\ntwo\nno newline here"[..])?;
//! assert_eq!((counts.lines, counts.bytes), (2, 23));
//! # Ok::<(), std::io::Error>(())
//! ```

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use memchr::memchr_iter;

/// How much is read at a time.
const BUFFER: usize = 256 * 1024;

/// What was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Newline bytes. Zero when the [`Counter`] was told not to count lines.
    pub lines: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Counts {
    /// The sum of two counts, or `None` where a number would not fit (sparse files can claim nearly
    /// 2^63 bytes each, so three of them are enough).
    #[must_use]
    pub fn checked_add(self, other: Self) -> Option<Self> {
        Some(Self { lines: self.lines.checked_add(other.lines)?, bytes: self.bytes.checked_add(other.bytes)? })
    }
}

/// A source could not be read to its end. What was counted before that is handed back.
#[derive(Debug)]
#[non_exhaustive]
pub struct CountError {
    /// The counts up to the error.
    pub counts: Counts,
    /// What the system said.
    pub source: io::Error,
}

impl fmt::Display for CountError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "after {} bytes: {}", self.counts.bytes, self.source)
    }
}

impl std::error::Error for CountError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

impl From<CountError> for io::Error {
    fn from(error: CountError) -> Self {
        error.source
    }
}

/// Counts sources one after another with one buffer.
#[derive(Debug)]
pub struct Counter {
    lines: bool,
    /// Empty until the first read: a counter that only asks for sizes needs none.
    buffer: Vec<u8>,
}

impl Default for Counter {
    fn default() -> Self {
        Self::new()
    }
}

impl Counter {
    /// A counter of lines and bytes.
    #[must_use]
    pub fn new() -> Self {
        Self { lines: true, buffer: Vec::new() }
    }

    /// Whether lines are counted (they are unless told otherwise). Bytes always are. Without lines,
    /// [`count_file`](Self::count_file) needs to read only what metadata cannot answer.
    #[must_use]
    pub fn lines(mut self, yes: bool) -> Self {
        self.lines = yes;
        self
    }

    /// Reads `source` to its end. `progress` is told, after every read, how many bytes were counted so far.
    ///
    /// # Errors
    ///
    /// The first error of `source` other than an interruption, with the counts up to it.
    pub fn count(&mut self, source: impl Read, progress: impl FnMut(u64)) -> Result<Counts, CountError> {
        self.read_to_end(source, 0, progress)
    }

    /// Counts an open file from its present position to its end, taking the short cut through its
    /// metadata where only bytes are asked for. The file's position is moved to its end, except where
    /// nothing had to be read: as with `wc -c`, the next reader finds the file untouched then.
    ///
    /// # Errors
    ///
    /// The first error of reading other than an interruption, with the counts up to it. A directory is
    /// such an error.
    pub fn count_file(&mut self, file: &File, mut progress: impl FnMut(u64)) -> Result<Counts, CountError> {
        let mut skipped = 0;
        if !self.lines {
            let skip = skip_by_size(file);
            progress(skip.bytes);
            if skip.complete {
                return Ok(Counts { lines: 0, bytes: skip.bytes });
            }
            skipped = skip.bytes;
        }
        advise_sequential(file);
        self.read_to_end(file, skipped, progress)
    }

    fn read_to_end(
        &mut self,
        mut source: impl Read,
        already: u64,
        mut progress: impl FnMut(u64),
    ) -> Result<Counts, CountError> {
        self.buffer.resize(BUFFER, 0);
        let mut counts = Counts { lines: 0, bytes: already };
        loop {
            match source.read(&mut self.buffer) {
                Ok(0) => return Ok(counts),
                Ok(n) => {
                    counts.bytes += n as u64;
                    if self.lines {
                        counts.lines += newlines(&self.buffer[..n]);
                    }
                    progress(counts.bytes);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(CountError { counts, source }),
            }
        }
    }
}

/// Counts the lines and bytes of anything that can be read.
///
/// # Errors
///
/// The first error of `source` other than an interruption.
pub fn count(source: impl Read) -> io::Result<Counts> {
    Ok(Counter::new().count(source, |_| ())?)
}

/// The newline bytes in a slice.
fn newlines(bytes: &[u8]) -> u64 {
    // `memchr` specialises `count` on its iterator: no position is ever produced.
    memchr_iter(b'\n', bytes).count() as u64
}

/// What a file's metadata says about the bytes that are left in it.
#[derive(Default)]
struct Skip {
    /// Bytes that need not be read.
    bytes: u64,
    /// Nothing is left to read.
    complete: bool,
}

/// Asks the metadata of a regular file how much is left in it. Where the size can be trusted, that is all
/// there is to do; else the position is moved near the end, and the rest is to be read. Never fails: where
/// anything is odd, nothing is skipped and reading finds out.
fn skip_by_size(file: &File) -> Skip {
    let mut handle = file;
    let (Ok(metadata), Ok(position)) = (file.metadata(), handle.stream_position()) else {
        return Skip::default();
    };
    if !metadata.is_file() {
        return Skip::default();
    }
    let size = metadata.len();
    if !size.is_multiple_of(rustix::param::page_size() as u64) {
        return Skip {
            // The position may be past the end already: a shell can open a file that way.
            bytes: size.saturating_sub(position),
            complete: true,
        };
    }
    let near_the_end = size - size % (block_size(&metadata) + 1);
    if position >= near_the_end || handle.seek(SeekFrom::Start(near_the_end)).is_err() {
        return Skip::default();
    }
    Skip { bytes: near_the_end - position, complete: false }
}

/// The size of read the file system prefers.
fn block_size(metadata: &std::fs::Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt;
    metadata.blksize().max(512)
}

/// Asks the kernel to read further ahead. Only advice: pipes and odd file systems may refuse it.
fn advise_sequential(file: &File) {
    let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::Sequential);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn counts_newlines_and_bytes() {
        for (text, lines) in [("", 0), ("a", 0), ("\n", 1), ("a\nb", 1), ("\n\n\n", 3)] {
            let counts = count(text.as_bytes()).unwrap();
            assert_eq!((counts.lines, counts.bytes), (lines, text.len() as u64), "{text:?}");
        }
    }

    #[test]
    fn agrees_with_a_naive_count_across_buffer_borders() {
        let data: Vec<u8> = (0..3 * BUFFER + 17).map(|i| if i % 7 == 0 { b'\n' } else { b'x' }).collect();
        let naive = data.iter().filter(|&&byte| byte == b'\n').count() as u64;
        let mut reports = Vec::new();
        let counts = Counter::new().count(&data[..], |n| reports.push(n)).unwrap();
        assert_eq!((counts.lines, counts.bytes), (naive, data.len() as u64));
        assert_eq!(reports.last(), Some(&counts.bytes));
        assert!(reports.is_sorted());
    }

    /// A reader that is interrupted, gives a little, then fails.
    struct Failing(u32);

    impl Read for Failing {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0 += 1;
            match self.0 {
                1 => Err(io::ErrorKind::Interrupted.into()),
                2 => {
                    buffer[..4].copy_from_slice(b"a\nb\n");
                    Ok(4)
                }
                _ => Err(io::Error::other("broken")),
            }
        }
    }

    #[test]
    fn an_error_hands_back_what_was_counted() {
        let error = Counter::new().count(Failing(0), |_| ()).unwrap_err();
        assert_eq!((error.counts.lines, error.counts.bytes), (2, 4));
        assert_eq!(error.to_string(), "after 4 bytes: broken");
    }

    #[test]
    fn sizes_come_from_metadata_but_only_where_they_can_be_trusted() {
        let page = rustix::param::page_size();
        for size in [0, 1, 511, page - 1, page, page + 1, 8 * page, 100_003, 1 << 20] {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&vec![b'\n'; size]).unwrap();
            for start in [0, 1, size / 2, size, size + 5] {
                file.seek(SeekFrom::Start(start as u64)).unwrap();
                let counts = Counter::new().lines(false).count_file(&file, |_| ());
                let left = size.saturating_sub(start) as u64;
                assert_eq!(counts.unwrap().bytes, left, "size {size} from {start}");
            }
        }
    }

    #[test]
    fn proc_files_have_bytes_though_their_size_is_zero() {
        let file = File::open("/proc/version").unwrap();
        assert_eq!(file.metadata().unwrap().len(), 0);
        let counts = Counter::new().lines(false).count_file(&file, |_| ()).unwrap();
        assert_eq!(counts.bytes, std::fs::read("/proc/version").unwrap().len() as u64);
    }

    #[test]
    fn sums_that_do_not_fit_are_noticed() {
        let huge = Counts { lines: 0, bytes: u64::MAX };
        assert_eq!(huge.checked_add(Counts::default()), Some(huge));
        assert_eq!(huge.checked_add(Counts { lines: 0, bytes: 1 }), None);
    }
}
