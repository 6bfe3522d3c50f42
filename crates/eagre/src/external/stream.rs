//! Sorting a stream into a stream.
//!
//! ```text
//! Writer ──stream──> a thread: chunk, runs, merge ──stream──> SortedReader
//! ```
//!
//! Both streams are ordinary ones, and their blocks are part of the sort's memory. All that can end early is an error at the
//! other end: a sort that fails, a writer that is dropped, a reader that is dropped. So nobody takes a part for the whole, and
//! nobody waits forever.

use std::io::{self, BufRead, Read};
use std::ops::{ControlFlow, Deref, DerefMut};
use std::path::Path;
use std::thread::JoinHandle;

use super::inputs::Input;
use super::job::Job;
use super::target::Target;
use super::{FileSorter, Progress, Report};
use crate::records::Format;
use crate::{Control, OpenError, Pipe, Reader, StreamError, StreamErrorKind, Writer};

impl FileSorter<'_> {
    /// Sorts all records of `inputs` together into a stream, and finishes it. The stream is the caller's, and so is its memory.
    /// Somebody must read it meanwhile, in another thread if the result is larger than what the stream holds.
    ///
    /// # Errors
    /// As [`sort`](Self::sort), and those of the stream. If anything fails, so does the stream, and its reader is told why.
    /// `InvalidInput` if the result is to be [verified](Self::verify).
    pub fn sort_into<F: Format>(&self, format: &F, inputs: Vec<Input>, output: &mut Writer) -> io::Result<Report> {
        let sorted =
            Job::new(self, format).and_then(|job| job.sort(inputs, Target::Stream(output), Path::new("output")));
        sorted.inspect_err(|error| output.fail(&error.to_string()))
    }

    /// [Merges](Self::merge) inputs that are sorted already into a stream, and finishes it.
    ///
    /// # Errors
    /// As [`sort_into`](Self::sort_into).
    pub fn merge_into<F: Format>(&self, format: &F, inputs: Vec<Input>, output: &mut Writer) -> io::Result<Report> {
        let job = Job::new(self, format);
        let merged = job.and_then(|job| job.merge_inputs(inputs, Target::Stream(output), Path::new("output")));
        merged.inspect_err(|error| output.fail(&error.to_string()))
    }
}

impl FileSorter<'static> {
    /// Sorts a stream into a stream: what is written to the writer comes out of the reader in order. A thread sorts.
    ///
    /// The first byte comes out after the writer has [finished](Writer::finish). One thread may write everything, finish, and
    /// then read everything, however much it is. The memory of both streams is part of the [memory](Self::memory) of the sort.
    ///
    /// ```
    /// use std::io::{Read, Write};
    /// use eagre::external::FileSorter;
    /// use eagre::records::Lines;
    ///
    /// let (mut input, mut output) = FileSorter::new().memory(64 << 20).stream(Lines::default())?;
    /// input.write_all(b"pear\napple\nfig\n")?;
    /// input.finish()?;
    /// let mut sorted = String::new();
    /// output.read_to_string(&mut sorted)?;
    /// assert_eq!(sorted, "apple\nfig\npear\n");
    /// assert_eq!(output.report()?.records, 3);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`sort`](Self::sort) before anything is read: too little memory, a plan that streams do not have. `InvalidInput` if
    /// the result is to be [verified](Self::verify). Later errors come out of the reader, which never ends as if all were
    /// there. A writer that is dropped before it has finished is one of them (`UnexpectedEof`). A writer that has not
    /// finished gets an error, too: [`StreamErrorKind::ReaderGone`] with the reason, or without one if the reader was dropped.
    pub fn stream<F: Format + Send + 'static>(&self, format: F) -> io::Result<(Writer, SortedReader)> {
        match self.hook {
            Some(hook) => self.stream_with_progress(format, hook),
            None => self.stream_with_progress(format, |_| ControlFlow::Continue(())),
        }
    }

    /// As [`stream`](Self::stream), and calls `hook` as [`progress`](Self::progress) does, from the thread that sorts. It is not
    /// called any more when the reader has been dropped.
    ///
    /// # Errors
    /// As [`stream`](Self::stream).
    pub fn stream_with_progress<F: Format + Send + 'static>(
        &self,
        format: F,
        hook: impl Fn(Progress) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> io::Result<(Writer, SortedReader)> {
        let budget = Job::new(self, &format)?.budget;
        // The default depends on what is available, which may change until the thread runs.
        let sorter = self.clone().memory(budget.total);
        let open = |name| Pipe::builder().name(name).block_size(budget.block).explicit().open();
        let (input, unsorted) = open("sort input")?.split();
        let (mut sorted, output) = open("sort output")?.split();
        sorter.check_streamable(&mut sorted)?;
        let run = move || sorter.run(&format, unsorted, sorted, &hook);
        let thread = std::thread::Builder::new().name("eagre-sort".into()).spawn(run);
        let thread = thread.map_err(|error| OpenError::no_thread(&error))?;
        let reader = SortedReader { reader: output, input: input.control(), thread: Some(thread), report: None };
        Ok((input, reader))
    }

    /// # Errors
    /// A setting is not for streams.
    fn check_streamable(&self, sorted: &mut Writer) -> io::Result<()> {
        use super::Plan::{MergePass, OnePass};
        if self.verify {
            Target::Stream(sorted).check_verifiable(Path::new("output"))?;
        }
        if let OnePass | MergePass = self.plan {
            let text = format!("sort: --plan {}: the input is not a single file; use another plan", self.plan);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        Ok(())
    }

    /// What the thread does.
    fn run<F: Format>(
        &self,
        format: &F,
        input: Reader,
        mut output: Writer,
        hook: &(dyn Fn(Progress) -> ControlFlow<()> + Sync),
    ) -> io::Result<Report> {
        // Runs may be written and merged for long before a byte goes to a reader that is gone.
        let control = output.control();
        let watch = |progress| match control.failure() {
            Some(_) => ControlFlow::Break(()),
            None => hook(progress),
        };
        let sorter = self.clone().progress(&watch);
        let sorted = Job::new(&sorter, format).and_then(|mut job| {
            job.budget = job.budget.beside_input();
            job.sort(vec![Input::new("input", input)], Target::Stream(&mut output), Path::new("output"))
        });
        sorted.inspect_err(|error| output.fail(&error.to_string()))
    }
}

/// The end of a sort where its records come out in order (see [`FileSorter::stream`]). It dereferences to [`Reader`], and reads
/// as one does; but errors of `Read` and `BufRead` are those of the sort, with their kinds.
///
/// Dropped before the end, it stops the sort and waits for that: then its memory and its temporary files are gone.
#[derive(Debug)]
pub struct SortedReader {
    reader: Reader,
    /// The stream that is sorted.
    input: Control,
    thread: Option<JoinHandle<io::Result<Report>>>,
    report: Option<Report>,
}

impl SortedReader {
    /// What the sort did, when everything has been read.
    ///
    /// # Errors
    /// Why the sort failed. `InvalidInput` if there is more to read.
    pub fn report(&mut self) -> io::Result<Report> {
        let more = match self.reader.fill(0) {
            Ok(bytes) => !bytes.is_empty(),
            Err(error) => return Err(self.reason(error)),
        };
        if more {
            let text = "sort: there is no report yet: read to the end first";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        self.join()?;
        self.report.clone().ok_or_else(|| io::Error::other("sort: it failed, as was told before"))
    }

    /// Waits for the thread, and takes its error if it has one.
    fn join(&mut self) -> io::Result<()> {
        let Some(thread) = self.thread.take() else { return Ok(()) };
        let joined = thread.join().unwrap_or_else(|_| Err(io::Error::other("sort: its thread panicked")));
        self.report = Some(joined?);
        Ok(())
    }

    /// The error of the sort that has made the stream fail.
    fn reason(&mut self, error: StreamError) -> io::Error {
        match error.kind() {
            // The thread has said so, and ends.
            StreamErrorKind::WriterFailed | StreamErrorKind::WriterGone => self.join().err().unwrap_or(error.into()),
            _ => error.into(),
        }
    }
}

impl Drop for SortedReader {
    fn drop(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        let why = "the reader of the sorted records was dropped";
        self.input.fail_reader(why);
        self.reader.fail(why);
        // A progress hook may own the reader.
        if thread.thread().id() != std::thread::current().id() {
            let _ = thread.join();
        }
    }
}

impl Deref for SortedReader {
    type Target = Reader;
    fn deref(&self) -> &Reader {
        &self.reader
    }
}

impl DerefMut for SortedReader {
    fn deref_mut(&mut self) -> &mut Reader {
        &mut self.reader
    }
}

impl Read for SortedReader {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        let there = self.fill_buf()?;
        let now = there.len().min(bytes.len());
        bytes[..now].copy_from_slice(&there[..now]);
        self.reader.consume(now);
        Ok(now)
    }
}

impl BufRead for SortedReader {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if let Err(error) = self.reader.fill(0) {
            let error = self.reason(error);
            // Callers repeat what was interrupted.
            let repeated = error.kind() == io::ErrorKind::Interrupted;
            return Err(if repeated { io::Error::other(error.to_string()) } else { error });
        }
        Ok(self.reader.fill(0)?)
    }

    fn consume(&mut self, bytes: usize) {
        self.reader.consume(bytes);
    }
}
