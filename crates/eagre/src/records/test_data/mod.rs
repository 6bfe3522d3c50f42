//! Test data in every format.
//!
//! Every byte is computed from its offset, the seed, and nothing else, so any number of threads makes the same file. A
//! file of fixed-size records is one long random sequence, which can be entered anywhere ([`random`]). Where records
//! differ in size, their sizes are added up first: that takes a small part of the time that making them takes
//! ([`starts`]).

mod random;
mod starts;
#[cfg(test)]
mod tests;
mod words;

use std::fmt;
use std::io;
use std::ops::{ControlFlow, RangeInclusive};
use std::path::Path;

use eagre_mem::threads;

use super::key_range::{self, KeyKind};
use super::{Format as _, Klv, Lines};
use crate::file::Output;
use crate::file::computed::{self, Watch};
use crate::file::failure::Task;
use crate::scan::Cancelled;
use random::{Stream, Use, Zipf, fraction};
use starts::Starts;

/// The key of a record is its first ten bytes, or all of it if it is shorter.
const KEY: usize = 10;

/// The widest number, or pair of numbers.
const WIDEST: usize = 16;

/// Makes test data: records, keys with values, numbers or lines of text.
///
/// ```
/// use eagre::records::{Checker, Klv, TestData};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("data");
/// let format = Klv::new(10, 4, false)?;
/// TestData::klv(format, 10..=1000)?.zipf(true).seed(7).file(&path, 1000)?;
/// let found = Checker::new(&format).file(&path)?;
/// assert_eq!(found.checksum.records, 1000);
/// assert!(!found.is_sorted());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct TestData<'a> {
    form: Form,
    zipf: bool,
    seed: u64,
    /// 0: as many as this process may use.
    threads: usize,
    hook: Option<Watch<'a>>,
}

#[derive(Clone, Debug)]
enum Form {
    Fixed { size: usize },
    Klv { format: Klv, values: RangeInclusive<u64> },
    Numbers { kind: KeyKind, width: usize, pair: bool },
    Lines { end: u8 },
}

impl fmt::Debug for TestData<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("TestData");
        shown.field("form", &self.form).field("zipf", &self.zipf).field("seed", &self.seed);
        shown.field("threads", &self.threads).field("progress", &self.hook.is_some()).finish()
    }
}

impl<'a> TestData<'a> {
    fn of(form: Form) -> TestData<'a> {
        TestData { form, zipf: false, seed: 0, threads: 0, hook: None }
    }

    /// Records of `size` random bytes. The key is the first ten bytes, or all of them if there are fewer.
    ///
    /// # Errors
    /// One line: the size is 0.
    pub fn fixed(size: usize) -> Result<TestData<'a>, String> {
        match size {
            0 => Err("a record has a byte at least".to_owned()),
            _ => Ok(TestData::of(Form::Fixed { size })),
        }
    }

    /// Records of a random key, the length of the value, and a random value. The length is uniform within `values`.
    ///
    /// # Errors
    /// One line: the range is empty, or a length does not fit into its bytes.
    pub fn klv(format: Klv, values: RangeInclusive<u64>) -> Result<TestData<'a>, String> {
        let bytes = format.header_bytes() - format.key_bytes();
        if values.is_empty() {
            return Err(format!("no value has {} bytes or more and {} or fewer", values.start(), values.end()));
        }
        if bytes < 8 && values.end() >> (8 * bytes) != 0 {
            return Err(format!("a length of {} does not fit into {bytes} bytes", values.end()));
        }
        Ok(TestData::of(Form::Klv { format, values }))
    }

    /// Numbers, or pairs of them: `u64`, `f32`, `u32:u32`, …, least significant byte first. Integers are uniform over all
    /// that their type has, floating-point numbers from -1 to 1. The second part of a pair is its number in the file.
    ///
    /// # Errors
    /// One line: that is no type of numbers, or its parts differ.
    pub fn numbers(types: &str) -> Result<TestData<'a>, String> {
        let (one, other) = types.split_once(':').map_or((types, None), |(one, other)| (one, Some(other)));
        let wrong = || format!("'{types}' is no type: u, i or f, and 8 to 128 bits, or a pair such as u64:u64");
        let (width, kind) = key_range::number(one).ok_or_else(wrong)?;
        let little = matches!(
            kind,
            KeyKind::Unsigned { big_endian: false }
                | KeyKind::Signed { big_endian: false }
                | KeyKind::Float { big_endian: false }
        );
        if !little || other.is_some_and(|other| other != one || 2 * width > WIDEST) {
            return Err(wrong());
        }
        Ok(TestData::of(Form::Numbers { kind, width, pair: other.is_some() }))
    }

    /// Lines of words, of 8 to 120 characters.
    #[must_use]
    pub fn lines(format: Lines) -> TestData<'a> {
        TestData::of(Form::Lines { end: format.terminator().unwrap_or(b'\n') })
    }

    /// Whether some keys occur often: of as many possible keys as there are records, the k-th most frequent comes with a
    /// probability in proportion to 1/k. Default: all keys are equally likely.
    #[must_use]
    pub fn zipf(mut self, yes: bool) -> TestData<'a> {
        self.zipf = yes;
        self
    }

    /// Another seed makes other data. Default: 0.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> TestData<'a> {
        self.seed = seed;
        self
    }

    /// Writes with at most so many threads, the caller's included. 0, the default, means as many as this process may use.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> TestData<'a> {
        self.threads = threads;
        self
    }

    /// Calls `hook` now and then with the number of bytes made. `Break` cancels: the call returns an error that says so
    /// ([`Cancelled`]), and there is no file. Any thread may call, one at a time.
    #[must_use]
    pub fn progress(mut self, hook: &'a (dyn Fn(u64) -> ControlFlow<()> + Sync)) -> TestData<'a> {
        self.hook = Some(hook);
        self
    }

    /// Writes `records` records to a file, which appears complete or not at all.
    ///
    /// # Errors
    /// As [`Output::create`], [`Output::check_room`] and [`Output::commit`], with the name of the file.
    pub fn file(&self, path: impl AsRef<Path>, records: u64) -> io::Result<()> {
        let (path, task) = (path.as_ref(), Task::of("write", path.as_ref()));
        let output = Output::create(path).map_err(|error| task.error(&error))?;
        self.output(output, path, records)
    }

    /// The same for an output, called `name` in messages.
    ///
    /// # Errors
    /// As [`TestData::file`].
    pub fn output(&self, output: Output, name: impl AsRef<Path>, records: u64) -> io::Result<()> {
        let (name, task) = (name.as_ref(), Task::of("write", name.as_ref()));
        let threads = if self.threads == 0 { threads::available().get() } else { self.threads };
        let maker = Maker::new(self, records, threads)?
            .ok_or_else(|| task.error(&io::Error::from(io::ErrorKind::FileTooLarge)))?;
        let go_on = |_| ControlFlow::Continue(());
        let watch = self.hook.unwrap_or(&go_on);
        let compute = |offset, to: &mut [u8]| maker.fill(offset, to);
        let Some(output) = computed::write(output, name, maker.length, threads, &compute, watch)? else {
            return Err(Cancelled.into());
        };
        output.commit().map_err(|error| task.error(&error))
    }
}

/// Makes any part of one file.
struct Maker<'a> {
    form: &'a Form,
    /// The ranks of the keys, if some occur often.
    zipf: Option<Zipf>,
    bytes: Stream,
    record: Stream,
    rank: Stream,
    key: Stream,
    lengths: Stream,
    /// The length of the file.
    length: u64,
    /// Where records begin, if they are not all of one size.
    starts: Option<Starts>,
}

impl<'a> Maker<'a> {
    /// `None` if no file is so large.
    fn new(data: &'a TestData<'_>, records: u64, threads: usize) -> io::Result<Option<Maker<'a>>> {
        let stream = |purpose| Stream::new(data.seed, purpose);
        let mut maker = Maker {
            form: &data.form,
            zipf: data.zipf.then(|| Zipf::new(records)),
            bytes: stream(Use::Bytes),
            record: stream(Use::Record),
            rank: stream(Use::Rank),
            key: stream(Use::Key),
            lengths: stream(Use::Length),
            length: 0,
            starts: None,
        };
        let length = match maker.even() {
            Some(size) => records.checked_mul(size).filter(|&length| length <= i64::MAX as u64),
            None => {
                maker.starts = Starts::new(records, threads, &|record| maker.size(record))?;
                maker.starts.as_ref().map(Starts::end)
            }
        };
        Ok(length.map(|length| Maker { length, ..maker }))
    }

    /// The size of each record, if all have one size.
    fn even(&self) -> Option<u64> {
        match self.form {
            Form::Fixed { size } => Some(*size as u64),
            Form::Numbers { width, pair, .. } => Some((width << usize::from(*pair)) as u64),
            Form::Klv { format, values } if values.start() == values.end() => {
                Some(values.end().saturating_add(format.header_bytes() as u64))
            }
            Form::Klv { .. } | Form::Lines { .. } => None,
        }
    }

    /// The size of a record.
    fn size(&self, record: u64) -> u64 {
        match self.form {
            Form::Klv { format, values } => self.value(record, values).saturating_add(format.header_bytes() as u64),
            Form::Lines { .. } => words::length(self.line(record)) as u64 + 1,
            _ => self.even().unwrap_or(0),
        }
    }

    /// The length of a value.
    fn value(&self, record: u64, values: &RangeInclusive<u64>) -> u64 {
        match (values.end() - values.start()).checked_add(1) {
            Some(1) => *values.start(),
            Some(many) => values.start() + self.lengths.below(record, many),
            None => self.lengths.word(record),
        }
    }

    /// The stream for a record's key.
    fn key(&self, record: u64) -> Stream {
        match self.zipf {
            Some(zipf) => self.key.of(zipf.rank(self.rank.of(record))),
            None => self.record.of(record),
        }
    }

    fn line(&self, record: u64) -> Stream {
        self.key(record)
    }

    /// Fills any part of the file: the bytes from `offset` on.
    fn fill(&self, offset: u64, to: &mut [u8]) {
        match self.form {
            Form::Fixed { size } => {
                self.bytes.fill(offset, to);
                if self.zipf.is_some() {
                    self.each(offset, to, |record, part| {
                        let mut key = [0; KEY];
                        let key = &mut key[..KEY.min(*size)];
                        self.key(record).fill(0, key);
                        part.put(0, key);
                    });
                }
            }
            Form::Numbers { kind, width, pair } => self.fill_numbers(*kind, *width, *pair, offset, to),
            Form::Klv { format, values } => self.each(offset, to, |record, part| {
                let key = self.key(record);
                part.random(0, format.key_bytes() as u64, key);
                let mut length = [0; 8];
                let value = self.value(record, values);
                format.put_length(value, &mut length);
                let header = format.header_bytes();
                part.put(format.key_bytes() as u64, &length[..header - format.key_bytes()]);
                part.random(header as u64, value, self.bytes.of(record));
            }),
            Form::Lines { end } => {
                let mut room = [0; words::ROOM];
                self.each(offset, to, |record, part| {
                    let line = self.line(record);
                    let length = words::length(line);
                    words::write(line, length, &mut room);
                    room[length] = *end;
                    part.put(0, &room[..=length]);
                });
            }
        }
    }

    fn fill_numbers(&self, kind: KeyKind, width: usize, pair: bool, offset: u64, to: &mut [u8]) {
        self.bytes.fill(offset, to);
        let float = matches!(kind, KeyKind::Float { .. });
        if !float && !pair && self.zipf.is_none() {
            return;
        }
        self.each(offset, to, |record, part| {
            let mut number = [0; WIDEST];
            // Where it is not skewed, it is what the file already has there, or is made of that.
            let size = width << usize::from(pair);
            match self.zipf {
                Some(_) => self.key(record).fill(0, &mut number[..width]),
                None => self.bytes.fill(record * size as u64, &mut number[..width]),
            }
            if float {
                let random = u64::from_le_bytes(*number.first_chunk().expect("longer"));
                if width == 4 {
                    let number32 = fraction(random << 32) as f32 * 2.0 - 1.0;
                    number[..4].copy_from_slice(&number32.to_le_bytes());
                } else {
                    number[..8].copy_from_slice(&(fraction(random) * 2.0 - 1.0).to_le_bytes());
                }
            }
            if pair {
                let second = u128::from(record).to_le_bytes();
                number[width..2 * width].copy_from_slice(&second[..width]);
            }
            part.put(0, &number[..size]);
        });
    }

    /// Calls `make` with each record that has bytes between `offset` and the end of `to`.
    #[inline]
    fn each(&self, offset: u64, to: &mut [u8], mut make: impl FnMut(u64, &mut Part<'_>)) {
        let end = offset + to.len() as u64;
        let even = self.even();
        let (mut record, mut start) = match (&self.starts, even) {
            (Some(starts), _) => starts.before(offset),
            (None, Some(size)) => (offset / size, offset / size * size),
            (None, None) => return,
        };
        while start < end {
            let size = even.unwrap_or_else(|| self.size(record));
            if start + size > offset {
                make(record, &mut Part { start: i128::from(start) - i128::from(offset), to });
            }
            start += size;
            record += 1;
        }
    }
}

/// The place of a record, of which parts may lie outside.
struct Part<'a> {
    /// Where the record begins in `to`.
    start: i128,
    to: &'a mut [u8],
}

impl Part<'_> {
    /// The part of `length` bytes from `at` of the record on that is inside, and how many bytes of it lie before.
    #[inline]
    fn inside(&mut self, at: u64, length: u64) -> (u64, &mut [u8]) {
        let begin = self.start + i128::from(at);
        let clamp = |at: i128| at.clamp(0, self.to.len() as i128);
        let (from, end) = (clamp(begin), clamp(begin + i128::from(length)));
        ((from - begin).max(0) as u64, &mut self.to[from as usize..end as usize])
    }

    #[inline]
    fn put(&mut self, at: u64, bytes: &[u8]) {
        let (skipped, to) = self.inside(at, bytes.len() as u64);
        if !to.is_empty() {
            to.copy_from_slice(&bytes[skipped as usize..][..to.len()]);
        }
    }

    #[inline]
    fn random(&mut self, at: u64, length: u64, stream: Stream) {
        let (skipped, to) = self.inside(at, length);
        if !to.is_empty() {
            stream.fill(skipped, to);
        }
    }
}
