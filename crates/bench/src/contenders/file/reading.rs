//! Adding up the words of a file: `BufReader`, a mapping, a plain O_DIRECT loop.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use memmap2::{Advice, Mmap, MmapMut};

use crate::contenders::Trouble;
use crate::contenders::file::Answer;
use crate::kernels::Tally;
use crate::memory::{Pages, Region, bytes_of_mut, words_of};

/// What the direct loops ask for at a time.
pub(super) const PIECE: usize = 2 << 20;

/// What `BufReader` and `BufWriter` hold: far more than their default, which would be no match.
pub(super) const BUFFER: usize = 1 << 20;

/// Opens `path` for reading.
pub(super) fn open(path: &Path) -> Result<File, Trouble> {
    File::open(path).map_err(|e| Trouble::failed("open", e))
}

/// Maps `path`, which nobody changes meanwhile.
pub(in crate::contenders) fn map(path: &Path) -> Result<Mmap, Trouble> {
    // SAFETY: the corpus is ours, and nobody writes to it or cuts it while a contender runs.
    unsafe { Mmap::map(&open(path)?) }.map_err(|e| Trouble::failed("mmap", e))
}

/// Maps `file`, which nobody else looks at meanwhile, to be changed.
pub(in crate::contenders) fn map_mut(file: &File) -> Result<MmapMut, Trouble> {
    // SAFETY: what a contender writes is its own until it ends.
    unsafe { MmapMut::map_mut(file) }.map_err(|e| Trouble::failed("mmap", e))
}

pub(super) fn buffered(path: &Path) -> Result<Answer, Trouble> {
    let mut reader = BufReader::with_capacity(BUFFER, open(path)?);
    let mut tally = Tally::default();
    loop {
        let bytes = reader.fill_buf().map_err(|e| Trouble::failed("read", e))?;
        if bytes.is_empty() {
            return tally.answer().map(Answer::Sum);
        }
        let length = bytes.len();
        tally.add(words_of(bytes)?);
        reader.consume(length);
    }
}

pub(super) fn mapped(path: &Path) -> Result<Answer, Trouble> {
    let map = map(path)?;
    map.advise(Advice::Sequential).map_err(|e| Trouble::failed("madvise", e))?;
    let mut tally = Tally::default();
    for piece in map.chunks(PIECE) {
        tally.add(words_of(piece)?);
    }
    tally.answer().map(Answer::Sum)
}

pub(super) fn direct(path: &Path) -> Result<Answer, Trouble> {
    let mut tally = Tally::default();
    each_direct(path, |words, _| {
        tally.add(words);
        Ok(())
    })?;
    tally.answer().map(Answer::Sum)
}

/// Reads `path` past the page cache, one piece after the other; `look` gets each as whole words and as its length in
/// bytes.
pub(super) fn each_direct(
    path: &Path,
    mut look: impl FnMut(&[u64], usize) -> Result<(), Trouble>,
) -> Result<(), Trouble> {
    let file = File::options().read(true).custom_flags(libc::O_DIRECT).open(path).map_err(refused)?;
    let mut buffer = Region::touched(PIECE, Pages::Huge).map_err(|e| Trouble::failed("memory", e))?;
    let mut at = 0;
    loop {
        let piece = bytes_of_mut(&mut buffer.words_mut()[..PIECE / 8]);
        let length = file.read_at(piece, at).map_err(|e| Trouble::failed("pread", e))?;
        if length == 0 {
            return Ok(());
        }
        look(&buffer.words()[..length / 8], length)?;
        at += length as u64;
    }
}

/// A file system that does not take `O_DIRECT` says EINVAL.
pub(super) fn refused(error: std::io::Error) -> Trouble {
    match error.raw_os_error() {
        Some(libc::EINVAL) => Trouble::Unavailable("the file system refuses O_DIRECT; name another with --dir".into()),
        _ => Trouble::failed("open", error),
    }
}
