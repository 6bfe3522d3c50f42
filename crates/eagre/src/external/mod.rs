//! Sorting files of any size, within a budget of memory.
//!
//! What fits into memory is sorted there. Else sorted runs go to temporary files, and are merged. A [`FileSorter`] takes any
//! [`Format`], any number of inputs, and writes an output that appears complete or not at all.
//!
//! ```
//! use eagre::external::{FileSorter, Input};
//! use eagre::records::Lines;
//!
//! # let folder = tempfile::tempdir()?;
//! # let (path, sorted) = (folder.path().join("words"), folder.path().join("sorted"));
//! std::fs::write(&path, "pear\napple\nfig\n")?;
//! FileSorter::new().memory(64 << 20).sort_file(&Lines::default(), &path, &sorted)?;
//! assert_eq!(std::fs::read_to_string(&sorted)?, "apple\nfig\npear\n");
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! The [kernels] sort and merge records in buffers, without files.

#[cfg(feature = "compressed")]
mod blocks;
mod budget;
mod chunk;
mod concurrency;
mod gather_file;
mod index_file;
mod index_sort;
mod inputs;
mod job;
pub mod kernels;
mod merging;
mod numbers;
mod packing;
mod passes;
mod pieces;
mod plan;
mod pointed;
mod pointers;
mod report;
mod run;
mod stream;
mod target;
mod verify;

use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

pub use budget::LEAST_MEMORY;
pub use concurrency::Concurrency;
pub use gather_file::{Gatherer, gather};
pub use index_file::{IndexEntry, IndexHeader};
pub use inputs::Input;
pub use plan::{Choice, Plan};
pub use report::{Part, Phase, Progress, Report};
pub use stream::SortedReader;

use crate::device::{Emulated, Pattern};
use crate::file::Output;
use crate::keys::FileKey;
use crate::records::Format;
use kernels::Order;
use packing::Compression;
use target::Target;

/// A function that is told how far the work is, and decides whether it goes on.
type Hook<'a> = &'a (dyn Fn(Progress) -> ControlFlow<()> + Sync);

/// Sorts files.
#[derive(Clone)]
#[must_use]
pub struct FileSorter<'a> {
    memory: Option<u64>,
    threads: usize,
    temporary: Vec<PathBuf>,
    order: Order,
    unique: bool,
    head: Option<u64>,
    header: &'a [u8],
    by_first: bool,
    nan_last: bool,
    slack: Option<u64>,
    plan: Plan,
    concurrency: Concurrency,
    verify: bool,
    compression: Compression,
    device: Option<&'a Emulated>,
    hook: Option<Hook<'a>>,
}

impl Default for FileSorter<'_> {
    fn default() -> Self {
        FileSorter::new()
    }
}

impl<'a> FileSorter<'a> {
    /// A sorter with all defaults.
    pub fn new() -> FileSorter<'a> {
        FileSorter {
            memory: None,
            threads: 0,
            temporary: Vec::new(),
            order: Order::default(),
            unique: false,
            head: None,
            header: &[],
            by_first: false,
            nan_last: false,
            slack: None,
            plan: Plan::Auto,
            concurrency: Concurrency::Auto,
            verify: false,
            compression: Compression::default(),
            device: None,
            hook: None,
        }
    }

    /// The memory it may use, in bytes: [`LEAST_MEMORY`] at least. Default: half of what this machine, or the control
    /// group of this process, has available.
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// The number of threads that compute; 0, the default, for as many as this process may use. Others wait for files.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Adds a directory for temporary files; several are used in turn. Default: `TMPDIR`, or `/var/tmp`.
    pub fn temporary(mut self, directory: impl Into<PathBuf>) -> Self {
        self.temporary.push(directory.into());
        self
    }

    /// The largest key comes first. Records with equal keys stay in the order of the input.
    pub fn descending(mut self, descending: bool) -> Self {
        self.order.descending = descending;
        self
    }

    /// Of records with equal keys, only the first is written.
    pub fn unique(mut self, unique: bool) -> Self {
        self.unique = unique;
        self
    }

    /// Bytes that are written before the records, such as the [first records](crate::records::take_first) of an input.
    pub fn header(mut self, bytes: &'a [u8]) -> Self {
        self.header = bytes;
        self
    }

    /// Only the first `records` of the result are written.
    pub fn head(mut self, records: u64) -> Self {
        self.head = Some(records);
        self
    }

    /// Pairs are ordered by their first part only, and those with equal first parts stay in the order of the input. It
    /// matters for [`sort_keys`](Self::sort_keys) only.
    pub fn by_first(mut self, by_first: bool) -> Self {
        self.by_first = by_first;
        self
    }

    /// NaN come behind all numbers, in a descending order too. Then NaN equals NaN, and -0 equals 0. It matters for
    /// [`sort_keys`](Self::sort_keys) only: of records, [`Fixed::nan_last`](crate::records::Fixed::nan_last) says it.
    pub fn nan_last(mut self, nan_last: bool) -> Self {
        self.nan_last = nan_last;
        self
    }

    /// How many bytes of the memory sorting [may take](crate::sort::Sorter::slack) beside the keys. It matters for
    /// [`sort_keys`](Self::sort_keys) only. Default: what is the fastest.
    pub fn slack(mut self, bytes: u64) -> Self {
        self.slack = Some(bytes);
        self
    }

    /// How to sort. Default: what is expected to be the fastest.
    pub fn plan(mut self, plan: Plan) -> Self {
        self.plan = plan;
        self
    }

    /// Who reads and who writes at the same time. It matters for records only: numbers are merged by one thread. Default: what
    /// suits the devices.
    pub fn concurrency(mut self, model: Concurrency) -> Self {
        self.concurrency = model;
        self
    }

    /// Whether to read the output back from the device before it appears, and to compare it with the inputs: the records
    /// must be in order and, by their [checksums](crate::records::checksum()), the same. With [`unique`](Self::unique) or
    /// [`head`](Self::head), only their order and their size are compared. A difference is an error of the kind `InvalidData`.
    /// What is written where it cannot be read back, such as to a pipe, is an error of the kind `InvalidInput`.
    pub fn verify(mut self, verify: bool) -> Self {
        self.verify = verify;
        self
    }

    /// Whether temporary files are compressed (lz4): they take less room, and less time on a slow disk. Each part of one has a
    /// checksum; a difference is an error of the kind `InvalidData`. Whether there is room for them is not checked before.
    #[cfg(feature = "compressed")]
    pub fn compress_runs(mut self, compress: bool) -> Self {
        self.compression.runs = compress;
        self
    }

    /// Compresses the output, by all threads: it becomes a file of many members (gzip) or frames (zstd, lz4) of up to 1 MiB
    /// of content, with checksums. Whether there is room for it is not checked before. An [index](Self::index) cannot be
    /// compressed.
    ///
    /// ```
    /// use eagre::compressed::Format;
    /// use eagre::external::FileSorter;
    /// use eagre::records::Lines;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let (path, sorted) = (folder.path().join("words"), folder.path().join("sorted.zst"));
    /// std::fs::write(&path, "pear\napple\n")?;
    /// FileSorter::new().memory(64 << 20).compress(Format::Zstd).sort_file(&Lines::default(), &path, &sorted)?;
    /// assert_eq!(Format::of_bytes(&std::fs::read(&sorted)?), Some(Format::Zstd));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[cfg(feature = "compressed")]
    pub fn compress(mut self, format: crate::compressed::Format) -> Self {
        self.compression.output = Some(format);
        self
    }

    /// Slows all reading and writing down as if files were on this device, and plans for it.
    pub fn emulate(mut self, device: &'a Emulated) -> Self {
        self.device = Some(device);
        self
    }

    /// Calls `hook` with how far the work is, a few times a second at most.
    pub fn progress<'b>(self, hook: &'b (dyn Fn(Progress) -> ControlFlow<()> + Sync)) -> FileSorter<'b>
    where
        'a: 'b,
    {
        FileSorter { hook: Some(hook), ..self }
    }

    /// Sorts the file at `from` into one at `to`, which may be the same.
    ///
    /// # Errors
    /// As [`sort`](Self::sort).
    pub fn sort_file<F: Format>(&self, format: &F, from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<Report> {
        let (from, to) = (from.as_ref(), to.as_ref());
        let name = crate::file::name::shown(from.as_os_str().as_encoded_bytes());
        let about = |path: &Path, what, error: &io::Error| crate::file::failure::Task::of(what, path).error(error);
        let file = File::open(from).map_err(|error| about(from, "read", &error))?;
        let output = Output::create(to).map_err(|error| about(to, "write", &error))?;
        self.sort(format, vec![Input::new(name, file)], output, to)
    }

    /// Sorts all records of `inputs` together into `output`, which is called `name` in messages. The output appears when
    /// all of it is on the disk, and never if anything fails.
    ///
    /// # Errors
    /// Those of reading, of temporary files and of writing, with the name of the file; `InvalidData` for bytes that are
    /// no record; `InvalidInput` if a record does not fit into memory; `OutOfMemory`; `Interrupted` if the progress hook
    /// broke.
    pub fn sort<F: Format>(
        &self,
        format: &F,
        inputs: Vec<Input>,
        output: Output,
        name: impl AsRef<Path>,
    ) -> io::Result<Report> {
        job::Job::new(self, format)?.sort(inputs, Target::File(output), name.as_ref())
    }

    /// Writes the sorted index of a file instead of its records: their keys, and where they are (see [`IndexHeader`]). A
    /// [`Gatherer`] makes records of it. The data must be a regular file, read from its beginning.
    ///
    /// Keys that fit into a word of 12 bytes, of records of one size, are read once, in order. Of others, the records are read
    /// again in the order of their keys.
    ///
    /// # Errors
    /// As [`sort`](Self::sort); `InvalidInput` if `input` is no regular file, or the one that `output` would replace.
    pub fn index<F: Format>(
        &self,
        format: &F,
        input: Input,
        output: Output,
        name: impl AsRef<Path>,
    ) -> io::Result<Report> {
        job::Job::new(self, format)?.index(input, output, name.as_ref())
    }

    /// Sorts all keys of `inputs` together into `output`, which is called `name` in messages. The inputs are [files of
    /// keys](crate::keys). As [`sort`](Self::sort) otherwise, but faster than with a format that has the keys as records.
    ///
    /// ```
    /// use eagre::external::{FileSorter, Input};
    /// use eagre::file::Output;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let (path, sorted) = (folder.path().join("numbers"), folder.path().join("sorted"));
    /// let numbers = [3.5_f64, -1.0, 2.0].map(f64::to_le_bytes);
    /// std::fs::write(&path, numbers.as_flattened())?;
    /// let input = Input::new("numbers", std::fs::File::open(&path)?);
    /// FileSorter::new().memory(64 << 20).sort_keys::<f64>(vec![input], Output::create(&sorted)?, "sorted")?;
    /// assert_eq!(std::fs::read(&sorted)?, [-1.0_f64, 2.0, 3.5].map(f64::to_le_bytes).as_flattened());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`sort`](Self::sort). `InvalidData` if an input ends inside a key.
    pub fn sort_keys<K: FileKey>(
        &self,
        inputs: Vec<Input>,
        output: Output,
        name: impl AsRef<Path>,
    ) -> io::Result<Report> {
        numbers::Numbers::<K>::new(self)?.sort(inputs, numbers::Target::Open(output), name.as_ref())
    }

    /// As [`sort_keys`](Self::sort_keys), but `output` is called when all inputs have been read. So it may be one of them
    /// even if it is written as it is, and not replaced; then it cannot be [verified](Self::verify), which is only found when
    /// it is open.
    ///
    /// # Errors
    /// As [`sort_keys`](Self::sort_keys), and those of `output`.
    pub fn sort_keys_then<K: FileKey>(
        &self,
        inputs: Vec<Input>,
        output: impl FnOnce() -> io::Result<Output>,
        name: impl AsRef<Path>,
    ) -> io::Result<Report> {
        numbers::Numbers::<K>::new(self)?.sort(inputs, numbers::Target::Later(Box::new(output)), name.as_ref())
    }

    /// Merges inputs that are sorted already. Records with equal keys come in the order of the inputs.
    ///
    /// # Errors
    /// As [`sort`](Self::sort).
    pub fn merge<F: Format>(
        &self,
        format: &F,
        inputs: Vec<Input>,
        output: Output,
        name: impl AsRef<Path>,
    ) -> io::Result<Report> {
        job::Job::new(self, format)?.merge_inputs(inputs, Target::File(output), name.as_ref())
    }
}

impl std::fmt::Debug for FileSorter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileSorter")
            .field("memory", &self.memory)
            .field("threads", &self.threads)
            .field("temporary", &self.temporary)
            .field("order", &self.order)
            .field("unique", &self.unique)
            .field("head", &self.head)
            .field("plan", &self.plan)
            .field("concurrency", &self.concurrency)
            .field("verify", &self.verify)
            .field("compression", &self.compression)
            .finish_non_exhaustive()
    }
}

/// What an emulated device adds to reads and writes.
#[derive(Clone, Copy, Debug, Default)]
struct Delays<'a> {
    device: Option<&'a Emulated>,
    /// Whether records are fetched one by one, and about how large they are.
    piece: Option<u64>,
}

impl Delays<'_> {
    /// Whether there are any.
    fn slows(&self) -> bool {
        self.device.is_some()
    }

    fn read<R>(&self, bytes: u64, read: impl FnOnce() -> R) -> R {
        let pattern = self.piece.map_or(Pattern::Sequential, |piece| Pattern::Random { piece });
        match self.device {
            Some(device) => device.read(pattern, bytes, read),
            None => read(),
        }
    }

    fn write<R>(&self, bytes: u64, write: impl FnOnce() -> R) -> R {
        match self.device {
            Some(device) => device.write(bytes, write),
            None => write(),
        }
    }
}

/// An error of memory or of an index as one of a sort.
fn trouble(error: impl Into<Trouble>) -> io::Error {
    let Trouble(kind, why) = error.into();
    io::Error::new(kind, format!("sort: {why}"))
}

/// Its kind and its text.
struct Trouble(io::ErrorKind, String);

impl From<crate::RewireError> for Trouble {
    fn from(error: crate::RewireError) -> Trouble {
        Trouble(io::ErrorKind::OutOfMemory, error.to_string())
    }
}

impl From<crate::OpenError> for Trouble {
    fn from(error: crate::OpenError) -> Trouble {
        Trouble(io::ErrorKind::OutOfMemory, error.to_string())
    }
}

impl From<crate::sort::SortError> for Trouble {
    fn from(error: crate::sort::SortError) -> Trouble {
        let kind = match error {
            crate::sort::SortError::Cancelled => io::ErrorKind::Interrupted,
            _ => io::ErrorKind::OutOfMemory,
        };
        let cure = match error {
            crate::sort::SortError::Memory { .. } => "; use less with --memory, or raise `ulimit -v`",
            _ => "",
        };
        Trouble(kind, format!("{error}{cure}"))
    }
}

impl From<eagre_mem::heap::Refused> for Trouble {
    fn from(error: eagre_mem::heap::Refused) -> Trouble {
        crate::sort::SortError::from(error).into()
    }
}

impl From<kernels::IndexError> for Trouble {
    fn from(error: kernels::IndexError) -> Trouble {
        match error {
            kernels::IndexError::Malformed(..) => Trouble(io::ErrorKind::InvalidData, error.to_string()),
            kernels::IndexError::Memory(error) => error.into(),
        }
    }
}

#[cfg(all(test, feature = "compressed"))]
mod compression_tests;
#[cfg(test)]
mod concurrency_tests;
#[cfg(test)]
mod fault_tests;
#[cfg(all(test, feature = "gensort"))]
mod index_tests;
#[cfg(all(test, feature = "gensort"))]
mod random_tests;
#[cfg(test)]
mod stream_tests;
#[cfg(all(test, feature = "gensort"))]
mod tests;
