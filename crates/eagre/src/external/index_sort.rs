//! Writing the index of a file instead of its sorted records.
//!
//! Words are sorted as for [records](super::pointers). Where a word has all that an entry needs, the entries are made of the words
//! alone. Otherwise each record is looked at once more, for its key and its length.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::time::Instant;

use eagre_mem::transfer::set_direct;
use xxhash_rust::xxh3::Xxh3;

use super::index_file::IndexHeader;
use super::inputs::{Input, Inputs};
use super::job::Job;
use super::kernels::{Index, Piece, in_order, keep_first, prefetch};
use super::plan::Plan;
use super::pointed::Pointed;
use super::target::{check_room, check_verifiable};
use super::{Report, verify};
use crate::file::{FileWriter, Output};
use crate::records::Format;
use crate::scan;

/// How many entries a thread makes before it hands them over.
const PIECE: usize = 1 << 13;
/// How many records ahead one is fetched.
const AHEAD: usize = 12;

/// An index being written.
struct Entries {
    header: IndexHeader,
    writer: FileWriter,
    /// The number of entries that the header has, if that was known before.
    promised: Option<u64>,
    /// How many bytes were written.
    written: u64,
    /// Of all behind the header, if it is to be verified.
    hash: Option<Xxh3>,
}

impl<F: Format> Job<'_, F> {
    pub(super) fn index(mut self, input: Input, output: Output, name: &Path) -> io::Result<Report> {
        if self.settings.verify {
            check_verifiable(&output, name)?;
        }
        if self.settings.compression.is_output() {
            let text = "sort: an index is read at any place, and cannot be compressed; sort without one of both";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        if let plan @ (Plan::InMemory | Plan::Classic) = self.settings.plan {
            let text =
                format!("sort: --plan {plan}: an index is made by one-pass or merge-pass; use one of them, or none");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        // The records are not read back: the index is.
        self.checksum = None;
        let Input { name: from, from: input } = input;
        let file = match input {
            scan::Input::File(file) if is_regular(&file)? => file,
            _ => {
                let text = format!(
                    "sort: {from}: an index points into a regular file that is read from its beginning, and this is none; copy it to a file"
                );
                return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
            }
        };
        if output.replaces(&file)? {
            let text = format!(
                "sort: {from}: the index would replace the records that it points to; name another file with -o"
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let mut watched = Inputs::new(Vec::new(), self.budget.block);
        watched.watch(&from, &file)?;
        let header = IndexHeader::of(self.format, &file, self.settings.order.descending)?;
        let length = header.data_bytes;
        watched.done = length;
        let mut index = Index::new(self.format, length, self.settings.order);
        let entries = if length == 0 {
            self.report.plan = Plan::OnePass;
            self.begin_index(header, Some(0), output, name)?
        } else {
            Pointed::with(&file, &watched, &from, length, |input| {
                self.write_index(input, &mut index, header, output, name)
            })?
        };
        self.end_index(&watched, entries, name)
    }

    fn write_index(
        &mut self,
        input: &Pointed<'_>,
        index: &mut Index,
        header: IndexHeader,
        output: Output,
        name: &Path,
    ) -> io::Result<Entries> {
        let mut sorted = self.sort_words(input, index, self.settings.plan, None)?;
        let index = &*index;
        let head = self.settings.head.unwrap_or(u64::MAX);
        if sorted.runs.is_empty() {
            self.report.plan = Plan::OnePass;
            if self.settings.unique {
                keep_first(index, self.format, input.bytes, &mut sorted.words);
            }
            sorted.words.truncate(usize::try_from(head).unwrap_or(usize::MAX));
            let mut entries = self.begin_index(header, Some(sorted.words.len() as u64), output, name)?;
            self.put_entries(input, index, &sorted.words, &mut entries)?;
            return Ok(entries);
        }
        self.report.plan = Plan::MergePass;
        // How many there are of different keys is known in the end.
        let known = (!self.settings.unique).then_some(self.report.records.min(head));
        let mut entries = self.begin_index(header, known, output, name)?;
        self.merge_words(input, index, sorted, |this, words| this.put_entries(input, index, words, &mut entries))?;
        Ok(entries)
    }

    fn begin_index(
        &mut self,
        mut header: IndexHeader,
        promised: Option<u64>,
        output: Output,
        name: &Path,
    ) -> io::Result<Entries> {
        if promised.is_none() && output.is_direct() {
            let text = "sort: --index: how many keys are left by --unique is not known before the end; name a regular file with -o";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        header.records = promised.unwrap_or(0);
        check_room(&output, name, header.file_bytes().unwrap_or(u64::MAX))?;
        let mut writer = self.create(output, name, None)?;
        writer.copy_in(&header.bytes())?;
        header.records = 0;
        let hash = self.settings.verify.then(Xxh3::new);
        Ok(Entries { header, writer, promised, written: IndexHeader::BYTES as u64, hash })
    }

    /// Appends the entries of words.
    fn put_entries(
        &mut self,
        input: &Pointed<'_>,
        index: &Index,
        words: &[u128],
        entries: &mut Entries,
    ) -> io::Result<()> {
        let started = Instant::now();
        let Entries { header, writer, written, hash, .. } = entries;
        header.records += words.len() as u64;
        let before = *written;
        let total = self.report.records * header.entry_bytes() as u64;
        let (format, threads) = (self.format, self.budget.threads);
        let maker = Maker {
            header,
            index,
            format,
            from_words: header.whole_keys && header.key_bytes <= index.prefix() && header.record_size.is_some(),
            bytes: input.bytes,
        };
        let make = |number: usize, piece: &mut Piece<'_, '_>| {
            let (start, end) = (number * PIECE, words.len().min((number + 1) * PIECE));
            maker.entries(&words[start..end], piece)
        };
        let mut put = |bytes: &[u8]| {
            *written += bytes.len() as u64;
            if let Some(hash) = hash {
                hash.update(bytes);
            }
            input.check_unchanged()?;
            writer.copy_in(bytes)?;
            self.tell("write index", *written, Some(total))
        };
        let size = PIECE * header.entry_bytes();
        in_order(words.len().div_ceil(PIECE), threads, size, &make, &mut put)?;
        let written = *written - before;
        self.report.add("write index", threads, started, 0, written);
        Ok(())
    }

    fn end_index(mut self, inputs: &Inputs, entries: Entries, name: &Path) -> io::Result<Report> {
        let started = Instant::now();
        inputs.check_unchanged()?;
        let Entries { header, writer, promised, written, hash } = entries;
        writer.finish_checked(|output| {
            if promised != Some(header.records) {
                // It may have been written past the page cache, which takes whole blocks only.
                let _ = set_direct(output.file(), false);
                output.file().write_all_at(&header.bytes(), 0)?;
            }
            match hash {
                Some(hash) => {
                    let place = crate::file::name::shown(name.as_os_str().as_encoded_bytes());
                    let start = IndexHeader::BYTES as u64;
                    verify::bytes(output, &place, start, written - start, hash.digest128())
                }
                None => Ok(()),
            }
        })?;
        self.report.add("sync", 1, started, 0, 0);
        self.report.written = written;
        self.report.bytes = inputs.done;
        Ok(self.report)
    }
}

/// Whether it is a regular file at its beginning. The files of `/proc` claim to be empty.
fn is_regular(file: &File) -> io::Result<bool> {
    let metadata = file.metadata()?;
    let begins = rustix::fs::tell(file).is_ok_and(|at| at == 0);
    Ok(metadata.is_file() && begins && (metadata.blocks() > 0 || metadata.len() == 0 && is_empty(file)?))
}

fn is_empty(file: &File) -> io::Result<bool> {
    Ok(file.read_at(&mut [0], 0)? == 0)
}

/// Makes entries of words.
struct Maker<'a, F> {
    header: &'a IndexHeader,
    index: &'a Index,
    format: &'a F,
    /// Whether a word has all that an entry needs.
    from_words: bool,
    bytes: &'a [u8],
}

impl<F: Format> Maker<'_, F> {
    fn entries(&self, words: &[u128], out: &mut Piece<'_, '_>) -> io::Result<()> {
        let (mut scratch, mut entry) = (Vec::new(), Vec::new());
        let size = self.header.record_size.unwrap_or(0);
        for (at, &word) in words.iter().enumerate() {
            let position = self.index.position(word);
            entry.clear();
            if self.from_words {
                let key = self.index.order().turn(self.index.key_bits(word)).to_be_bytes();
                self.header.put(&key[..self.header.key_bytes], position as u64, size, &mut entry);
            } else {
                if let Some(&ahead) = words.get(at + AHEAD) {
                    prefetch(self.bytes, self.index.position(ahead));
                }
                let record = self.index.record(self.format, self.bytes, word);
                let key = self.format.key(record, &mut scratch);
                self.header.put(key, position as u64, record.len() as u64, &mut entry);
            }
            out.push(&entry)?;
        }
        Ok(())
    }
}
