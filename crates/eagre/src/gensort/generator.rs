//! Makes records.

use std::fmt;
use std::io;
use std::path::Path;

use eagre_mem::threads;

use super::sequence::Sequence;
use super::{KEY, RECORD};
use crate::file::Output;
use crate::file::computed::{self, Watch};
use crate::file::failure::Task;
use crate::scan::Cancelled;

/// Parts of a binary record: ten bytes of a random number each.
const PARTS: usize = RECORD / KEY;

/// What each part but the first is combined with (exclusive or), so that a record does not repeat its neighbours.
const MASKS: [u128; PARTS] = [
    0,
    0xF0E8_E4E2_E1D8_D4D2_D1CC,
    0xCAC9_C6C5_C3B8_B4B2_B1AC,
    0xAAA9_A6A5_A39C_9A99_9695,
    0x938E_8D8B_8778_7472_716C,
    0x6A69_6665_635C_5A59_5655,
    0x534E_4D4B_473C_3A39_3635,
    0x332E_2D2B_271E_1D1B_170F,
    0xC8C4_C2C1_9894_9291_8CE0,
    0x170F_332E_2D2B_271E_1D1B,
];

/// So many records share a piece of the random sequence that is computed before they are written: it stays in the
/// first-level cache.
const BATCH: usize = 64;

/// Skewed keys begin like one of so many others.
const MODELS: usize = 129;

/// Makes records as `gensort` does. Binary and uniform, unless something else is asked for.
///
/// ```
/// use eagre::gensort::{Generator, RECORD};
///
/// let mut record = [0; RECORD];
/// Generator::new().ascii(true).fill(0, &mut record);
/// assert!(record.starts_with(b"AsfAGHM5om  0000") && record.ends_with(b"1111\r\n"));
/// ```
#[derive(Clone, Default)]
pub struct Generator<'a> {
    ascii: bool,
    /// The first key bytes of the records 0 to 128, plain.
    models: Option<[[u8; 6]; MODELS]>,
    /// 0: as many as this process may use.
    threads: usize,
    hook: Option<Watch<'a>>,
}

impl fmt::Debug for Generator<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Generator");
        shown.field("ascii", &self.ascii).field("skewed", &self.models.is_some()).field("threads", &self.threads);
        shown.field("progress", &self.hook.is_some()).finish()
    }
}

impl<'a> Generator<'a> {
    /// Binary records with uniform keys.
    #[must_use]
    pub fn new() -> Generator<'a> {
        Generator::default()
    }

    /// Whether records are lines of printable characters, ended by carriage return and newline (`gensort -a`).
    #[must_use]
    pub fn ascii(mut self, yes: bool) -> Generator<'a> {
        self.ascii = yes;
        let skewed = self.models.take().is_some();
        self.skewed(skewed)
    }

    /// Whether many keys begin alike (`gensort -s`).
    #[must_use]
    pub fn skewed(mut self, yes: bool) -> Generator<'a> {
        self.models = None;
        if yes {
            let mut models = [[0; 6]; MODELS];
            for (number, model) in models.iter_mut().enumerate() {
                let mut record = [0; RECORD];
                self.fill(number as u128, &mut record);
                model.copy_from_slice(&record[..6]);
            }
            self.models = Some(models);
        }
        self
    }

    /// Writes files with at most so many threads, the caller's included. 0, the default, means as many as this process may use.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Generator<'a> {
        self.threads = threads;
        self
    }

    /// Calls `hook` now and then with the number of bytes made. `Break` cancels: the call returns an error that says so
    /// ([`Cancelled`]), and there is no file. Any thread may call, one at a time.
    #[must_use]
    pub fn progress(mut self, hook: &'a (dyn Fn(u64) -> std::ops::ControlFlow<()> + Sync)) -> Generator<'a> {
        self.hook = Some(hook);
        self
    }

    /// Writes `records` records, from number `first` on, to a file, which appears complete or not at all.
    ///
    /// # Errors
    /// As [`Output::create`], [`Output::check_room`] and [`Output::commit`], with the name of the file.
    pub fn file(&self, path: impl AsRef<Path>, first: u128, records: u64) -> io::Result<()> {
        let (path, task) = (path.as_ref(), Task::of("write", path.as_ref()));
        let output = Output::create(path).map_err(|error| task.error(&error))?;
        self.output(output, path, first, records)
    }

    /// The same for an output, called `name` in messages.
    ///
    /// # Errors
    /// As [`Generator::file`].
    pub fn output(&self, output: Output, name: impl AsRef<Path>, first: u128, records: u64) -> io::Result<()> {
        let (name, task) = (name.as_ref(), Task::of("write", name.as_ref()));
        let too_large = || task.error(&io::Error::from(io::ErrorKind::FileTooLarge));
        let length =
            records.checked_mul(RECORD as u64).filter(|&bytes| bytes <= i64::MAX as u64).ok_or_else(too_large)?;
        let threads = if self.threads == 0 { threads::available().get() } else { self.threads };
        let compute = |offset, to: &mut [u8]| self.fill_from(first, offset, to);
        let go_on = |_| std::ops::ControlFlow::Continue(());
        let watch = self.hook.unwrap_or(&go_on);
        let Some(output) = computed::write(output, name, length, threads, &compute, watch)? else {
            return Err(Cancelled.into());
        };
        output.commit().map_err(|error| task.error(&error))
    }

    /// Makes the records from number `first` on, as many as fit into `to`.
    ///
    /// # Panics
    /// If the length of `to` is no multiple of [`RECORD`].
    pub fn fill(&self, first: u128, to: &mut [u8]) {
        let (records, rest) = to.as_chunks_mut::<RECORD>();
        assert!(rest.is_empty(), "the length is a multiple of {RECORD}");
        if self.ascii { self.fill_ascii(first, records) } else { self.fill_binary(first, records) }
    }

    /// Fills any part of the file that begins with record `first`: the bytes from `offset` on.
    pub(super) fn fill_from(&self, first: u128, offset: u64, to: &mut [u8]) {
        let number = first.wrapping_add(u128::from(offset / RECORD as u64));
        let begun = (offset % RECORD as u64) as usize;
        // The end of a record, whole ones, and the beginning of one.
        let head = if begun == 0 { 0 } else { (RECORD - begun).min(to.len()) };
        let (head, rest) = to.split_at_mut(head);
        let (whole, tail) = rest.split_at_mut(rest.len() / RECORD * RECORD);
        let mut record = [0; RECORD];
        if !head.is_empty() {
            self.fill(number, &mut record);
            head.copy_from_slice(&record[begun..][..head.len()]);
        }
        let number = number.wrapping_add(u128::from(begun > 0));
        self.fill(number, whole);
        if !tail.is_empty() {
            self.fill(number.wrapping_add((whole.len() / RECORD) as u128), &mut record);
            tail.copy_from_slice(&record[..tail.len()]);
        }
    }

    fn fill_binary(&self, first: u128, records: &mut [[u8; RECORD]]) {
        let mut sequence = Sequence::after(first);
        // Record r is made of ten numbers, and the next one of the last nine of those and one more.
        let mut numbers = [0; BATCH + PARTS - 1];
        for number in &mut numbers[..PARTS - 1] {
            *number = sequence.next();
        }
        let mut number = first;
        for batch in records.chunks_mut(BATCH) {
            for number in &mut numbers[PARTS - 1..][..batch.len()] {
                *number = sequence.next();
            }
            for (at, record) in batch.iter_mut().enumerate() {
                let parts = record.as_chunks_mut::<KEY>().0;
                for ((part, random), mask) in parts.iter_mut().zip(&numbers[at..][..PARTS]).zip(&MASKS) {
                    let bytes = (random ^ (mask << (128 - 8 * KEY))).to_be_bytes();
                    part.copy_from_slice(&bytes[..KEY]);
                }
                if let Some(models) = &self.models {
                    skew_bits(record, &models[model_of(number)], numbers[at]);
                }
                number = number.wrapping_add(1);
            }
            numbers.copy_within(batch.len()..batch.len() + PARTS - 1, 0);
        }
    }

    fn fill_ascii(&self, first: u128, records: &mut [[u8; RECORD]]) {
        let mut sequence = Sequence::after(first);
        let mut number = first;
        for record in records {
            let random = sequence.next();
            let (mut high, mut low) = ((random >> 64) as u64, random as u64);
            for byte in &mut record[..8] {
                *byte = printable(&mut high);
            }
            for byte in &mut record[8..10] {
                *byte = printable(&mut low);
            }
            let low = random as u64;
            record[10..12].fill(b' ');
            for (at, byte) in record[12..44].iter_mut().enumerate() {
                *byte = hexadecimal((number >> (124 - 4 * at)) as u8);
            }
            record[44..46].fill(b' ');
            for (at, four) in record[46..98].as_chunks_mut::<4>().0.iter_mut().enumerate() {
                *four = [hexadecimal((low >> (48 - 4 * at)) as u8); 4];
            }
            record[98..].copy_from_slice(b"\r\n");
            if let Some(models) = &self.models {
                let taken = (low >> 32 & 7) as usize;
                if taken <= 6 {
                    record[..taken].copy_from_slice(&models[model_of(number)][..taken]);
                }
            }
            number = number.wrapping_add(1);
        }
    }
}

/// Replaces up to 48 high bits of a key, as many as its own random number says.
fn skew_bits(record: &mut [u8; RECORD], model: &[u8; 6], random: u128) {
    let bits = (random >> 32 & 63) as u32;
    if bits == 0 || bits > 48 {
        return;
    }
    let whole = |bytes: &[u8; 6]| bytes.iter().fold(0u64, |number, &byte| number << 8 | u64::from(byte));
    let own = whole(record[..6].try_into().expect("six bytes"));
    let kept = (1 << (48 - bits)) - 1;
    let key = own & kept | whole(model) & !kept;
    record[..6].copy_from_slice(&key.to_be_bytes()[2..]);
}

/// Which model the key of a record with this number follows: the number's length in bits. As in `gensort`, a word whose four
/// high bits are not all zero counts as full.
fn model_of(number: u128) -> usize {
    let length = |word: u64| if word >> 60 != 0 { 64 } else { (64 - word.leading_zeros()) as usize };
    let (high, low) = ((number >> 64) as u64, number as u64);
    if high == 0 { length(low) } else { 64 + length(high) }
}

/// The lowest digit of a number to the base 95, as a printable character; the number loses it.
#[inline(always)]
fn printable(number: &mut u64) -> u8 {
    let digit = (*number % 95) as u8;
    *number /= 95;
    b' ' + digit
}

/// The four low bits as a digit.
#[inline(always)]
fn hexadecimal(nibble: u8) -> u8 {
    b"0123456789ABCDEF"[usize::from(nibble & 15)]
}
