//! Making records of an index: late materialisation.
//!
//! The index is read from front to back, a few entries at a time. Their records are copied by several threads, piece by piece.
//! Nothing in an index is trusted: an entry that points outside the data is an error.

use std::fs::File;
use std::io;
use std::ops::{ControlFlow, Range};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use eagre_mem::{LookError, Mapping, heap, threads};

use super::index_file::{IndexEntry, IndexHeader};
use super::kernels::{Piece, in_order, prefetch};
use super::report::Progress;
use super::{Hook, trouble};
use crate::file::failure::Task;
use crate::file::{FileWriter, Output, WriteOptions, name};

/// How many entries are read at once.
const BATCH: usize = 1 << 16;
/// How many bytes of records a thread copies before it hands them over.
const PIECE: u64 = 256 << 10;
/// How many records ahead one is fetched.
const AHEAD: usize = 12;

/// Writes the records of `data`, in the order of an index, to a file at `to`. Returns how many there are.
///
/// ```
/// use eagre::external::{FileSorter, Input, gather};
/// use eagre::file::Output;
/// use eagre::records::Lines;
///
/// # let folder = tempfile::tempdir()?;
/// # let [data, index, sorted] = ["data", "index", "sorted"].map(|name| folder.path().join(name));
/// std::fs::write(&data, "pear\napple\nfig\n")?;
/// let input = Input::new("data", std::fs::File::open(&data)?);
/// FileSorter::new().memory(64 << 20).index(&Lines::default(), input, Output::create(&index)?, &index)?;
/// gather(&index, &data, &sorted)?;
/// assert_eq!(std::fs::read_to_string(&sorted)?, "apple\nfig\npear\n");
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// As [`Gatherer::files`].
pub fn gather(index: impl AsRef<Path>, data: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<u64> {
    Gatherer::new().files(index, data, to)
}

/// Makes records of an index that [`FileSorter::index`](super::FileSorter::index) has written.
#[derive(Clone, Default)]
#[must_use]
pub struct Gatherer<'a> {
    threads: usize,
    range: (u64, Option<u64>),
    copied: bool,
    hook: Option<Hook<'a>>,
}

impl<'a> Gatherer<'a> {
    /// With all defaults: all records.
    pub fn new() -> Gatherer<'a> {
        Gatherer::default()
    }

    /// The number of threads that copy; 0, the default, for as many as this process may use.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Only the entries from number `start` on, counted from 0, and before number `end`, or to the last.
    pub fn range(mut self, start: u64, end: Option<u64>) -> Self {
        self.range = (start, end);
        self
    }

    /// Whether the data may have been copied since they were indexed. Then their time does not count, only their size.
    pub fn copied(mut self, copied: bool) -> Self {
        self.copied = copied;
        self
    }

    /// Calls `hook` with how far the work is.
    pub fn progress<'b>(self, hook: &'b (dyn Fn(Progress) -> ControlFlow<()> + Sync)) -> Gatherer<'b> {
        Gatherer { hook: Some(hook), ..self }
    }

    /// Writes the records of the file `data` in the order of `index` to a file at `to`, which may be one of them. Returns
    /// how many.
    ///
    /// # Errors
    /// As [`gather`](Self::gather).
    pub fn files(&self, index: impl AsRef<Path>, data: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<u64> {
        let open = |path: &Path| File::open(path).map_err(|error| Task::of("gather", path).error(&error));
        let (index, data, to) = (index.as_ref(), data.as_ref(), to.as_ref());
        let shown = |path: &Path| name::shown(path.as_os_str().as_encoded_bytes());
        let (from, of) = (open(index)?, open(data)?);
        let output = Output::create(to).map_err(|error| Task::of("write", to).error(&error))?;
        self.gather((&from, &shown(index)), (&of, &shown(data)), output, to)
    }

    /// Writes records to `output`, which appears complete or not at all. Each file comes with its name in messages.
    ///
    /// # Errors
    /// Those of reading and of writing, with the name of the file. `InvalidData` if the index is no index, is damaged, or
    /// points outside the data, or if the data are not those that were indexed: they have another size, or another time of
    /// change and are not said to be [copied](Self::copied). `InvalidInput` if the range has entries that the index does not.
    /// `OutOfMemory`. `Interrupted` if the progress hook broke.
    pub fn gather(
        &self,
        index: (&File, &str),
        data: (&File, &str),
        output: Output,
        name: impl AsRef<Path>,
    ) -> io::Result<u64> {
        let about = |place: &str, error: &io::Error| io::Error::new(error.kind(), format!("gather: {place}: {error}"));
        let header = IndexHeader::read(index.0).map_err(|error| about(index.1, &error))?;
        let range = self.ranks(&header).map_err(|error| about(index.1, &error))?;
        check_data(&header, data.0, self.copied).map_err(|error| about(data.1, &error))?;
        let name = name.as_ref();
        let mut writer = WriteOptions::new().explicit().write(output, name)?;
        if !range.is_empty() {
            let work = Work { gatherer: self, header: &header, index, data: data.1 };
            if header.data_bytes == 0 {
                return Err(work.outside(range.start));
            }
            // Addresses may be limited. What is not mapped is read.
            let size = usize::try_from(header.data_bytes).ok();
            let mapping = size.and_then(|size| Some((Mapping::new(data.0, 0, size).ok()?, size)));
            if let Some((mapping, size)) = mapping {
                let done = mapping.look(0..size, |bytes| work.run(range.clone(), &Data::Mapped(bytes), &mut writer));
                done.map_err(|error| match error {
                    LookError::Gone { offset } => {
                        io::Error::other(format!("gather: {}: it cannot be read at byte {offset}", data.1))
                    }
                    error => io::Error::other(format!("gather: {}: {error}", data.1)),
                })??;
            } else {
                work.run(range.clone(), &Data::Read(data.0), &mut writer)?;
            }
        }
        check_data(&header, data.0, self.copied).map_err(|error| about(data.1, &error))?;
        writer.finish()?;
        Ok(range.end - range.start)
    }

    fn ranks(&self, header: &IndexHeader) -> io::Result<Range<u64>> {
        let (start, end) = (self.range.0, self.range.1.unwrap_or(header.records.max(self.range.0)));
        if start > end || end.max(start) > header.records {
            let text = format!("it has {} entries, and {start}..{end} is no range of them", header.records);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        Ok(start..end)
    }
}

impl std::fmt::Debug for Gatherer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gatherer")
            .field("threads", &self.threads)
            .field("range", &self.range)
            .field("copied", &self.copied)
            .finish_non_exhaustive()
    }
}

/// That the data are those that were indexed.
fn check_data(header: &IndexHeader, data: &File, copied: bool) -> io::Result<()> {
    let metadata = data.metadata()?;
    let wrong = |why: String| Err(io::Error::new(io::ErrorKind::InvalidData, why));
    if !metadata.is_file() {
        return wrong("it is not a regular file".to_owned());
    }
    if metadata.len() != header.data_bytes {
        let (is, was) = (metadata.len(), header.data_bytes);
        return wrong(format!("the index is of another file: it has {is} bytes, and the file that was indexed {was}"));
    }
    if !copied && (metadata.mtime(), metadata.mtime_nsec() as u32) != header.data_modified {
        return wrong(
            "it was changed since it was indexed; index it again, or use --copied if it is a copy".to_owned(),
        );
    }
    Ok(())
}

/// Where records come from.
enum Data<'a> {
    Mapped(&'a [u8]),
    /// A file that cannot be mapped.
    Read(&'a File),
}

impl Data<'_> {
    /// Appends a record and returns its last byte. The old contents of `buffer` are lost.
    fn append(
        &self,
        offset: u64,
        length: u64,
        buffer: &mut Vec<u8>,
        out: &mut Piece<'_, '_>,
    ) -> io::Result<Option<u8>> {
        let file = match self {
            Data::Mapped(bytes) => {
                let record = &bytes[offset as usize..][..length as usize];
                out.push(record)?;
                return Ok(record.last().copied());
            }
            Data::Read(file) => file,
        };
        // How long a record is the index says, so it is not memory that follows it.
        let most = length.min(PIECE) as usize;
        if buffer.len() < most {
            let more = most - buffer.len();
            heap::reserve(buffer, more).map_err(trouble)?;
            buffer.resize(most, 0);
        }
        let (mut at, end, mut last) = (offset, offset + length, None);
        while at < end {
            let part = &mut buffer[..(end - at).min(PIECE) as usize];
            file.read_exact_at(part, at).map_err(|error| match error.kind() {
                io::ErrorKind::UnexpectedEof => io::Error::other("it was cut shorter while it was used"),
                _ => error,
            })?;
            out.push(part)?;
            last = part.last().copied();
            at += part.len() as u64;
        }
        Ok(last)
    }
}

/// One gathering.
struct Work<'a, 'b> {
    gatherer: &'a Gatherer<'b>,
    header: &'a IndexHeader,
    index: (&'a File, &'a str),
    /// The name of the data.
    data: &'a str,
}

impl Work<'_, '_> {
    fn run(&self, range: Range<u64>, data: &Data<'_>, writer: &mut FileWriter) -> io::Result<()> {
        let threads = match self.gatherer.threads {
            0 => threads::available().get(),
            threads => threads,
        };
        let size = self.header.entry_bytes();
        let most = (range.end - range.start).min(BATCH as u64) as usize;
        let (mut bytes, mut pieces) = (heap::filled(most * size, 0).map_err(trouble)?, Vec::new());
        let mut at = range.start;
        while at < range.end {
            let count = (range.end - at).min(BATCH as u64) as usize;
            let bytes = &mut bytes[..count * size];
            let place = IndexHeader::BYTES as u64 + at * size as u64;
            let read = self.index.0.read_exact_at(bytes, place);
            read.map_err(|error| io::Error::new(error.kind(), format!("gather: {}: {error}", self.index.1)))?;
            self.cut(at, bytes, &mut pieces)?;
            let make = |number: usize, out: &mut Piece<'_, '_>| self.copy(&bytes[pieces[number].clone()], data, out);
            let mut put = |bytes: &[u8]| Ok(writer.copy_in(bytes)?);
            in_order(pieces.len(), threads, PIECE as usize, &make, &mut put)?;
            at += count as u64;
            self.tell(at - range.start, range.end - range.start)?;
        }
        Ok(())
    }

    /// Cuts entries from number `first` on into pieces with about as many bytes of records, and checks where they point.
    fn cut(&self, first: u64, bytes: &[u8], pieces: &mut Vec<Range<usize>>) -> io::Result<()> {
        let size = self.header.entry_bytes();
        pieces.clear();
        let (mut start, mut sum) = (0, 0_u64);
        for (number, entry) in bytes.chunks_exact(size).enumerate() {
            let IndexEntry { offset, length, .. } = self.header.entry(entry);
            if length == 0 || offset.checked_add(length).is_none_or(|end| end > self.header.data_bytes) {
                return Err(self.outside(first + number as u64));
            }
            let at = number * size;
            if at > start && sum + length > PIECE {
                heap::push(pieces, start..at).map_err(trouble)?;
                (start, sum) = (at, 0);
            }
            sum += length;
        }
        heap::push(pieces, start..bytes.len()).map_err(trouble)
    }

    /// Appends the records of entries.
    fn copy(&self, entries: &[u8], data: &Data<'_>, out: &mut Piece<'_, '_>) -> io::Result<()> {
        let mut buffer = Vec::new();
        let about = |error: io::Error| io::Error::new(error.kind(), format!("gather: {}: {error}", self.data));
        let size = self.header.entry_bytes();
        for (at, bytes) in entries.chunks_exact(size).enumerate() {
            if let (Data::Mapped(data), Some(ahead)) = (data, entries.get((at + AHEAD) * size..(at + AHEAD + 1) * size))
            {
                prefetch(data, self.header.entry(ahead).offset as usize);
            }
            let IndexEntry { offset, length, .. } = self.header.entry(bytes);
            let last = data.append(offset, length, &mut buffer, out).map_err(about)?;
            // The last line of the data may lack its end.
            if let Some(end) = self.header.terminator.filter(|_| last != self.header.terminator) {
                out.push(&[end])?;
            }
        }
        Ok(())
    }

    fn outside(&self, number: u64) -> io::Error {
        let text = format!("gather: {}: the index is damaged: entry {number} points outside the data", self.index.1);
        io::Error::new(io::ErrorKind::InvalidData, text)
    }

    fn tell(&self, done: u64, total: u64) -> io::Result<()> {
        let Some(hook) = self.gatherer.hook else { return Ok(()) };
        match hook(Progress { phase: "gather", done, total: Some(total) }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(io::Error::new(io::ErrorKind::Interrupted, "gather: it was stopped")),
        }
    }
}
