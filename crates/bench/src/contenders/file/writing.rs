//! Writing words to a new file, safe on the device at the end: `BufWriter`, a mapping, a plain O_DIRECT loop.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use memmap2::MmapMut;

use crate::contenders::Trouble;
use crate::contenders::file::Answer;
use crate::contenders::file::reading::{BUFFER, PIECE, refused};
use crate::kernels::fill;
use crate::memory::{Pages, Region, bytes_of, words_of_mut};

/// Words a producer makes before it hands them to a writer: 4 KiB, in the nearest cache.
const HANDFUL: usize = 512;

/// What `O_DIRECT` wants lengths to be multiples of.
const SECTOR: usize = 4096;

/// A step that failed, by its name.
fn failed(step: &str) -> impl Fn(std::io::Error) -> Trouble {
    move |e| Trouble::failed(step, e)
}

pub(super) fn buffered(path: &Path, size: u64) -> Result<Answer, Trouble> {
    let mut writer = BufWriter::with_capacity(BUFFER, File::create_new(path).map_err(failed("create"))?);
    let mut handful = [0; HANDFUL];
    let (words, mut at) = (size / 8, 0);
    while at < words {
        let n = (words - at).min(HANDFUL as u64);
        fill(&mut handful[..n as usize], at);
        writer.write_all(bytes_of(&handful[..n as usize])).map_err(failed("write"))?;
        at += n;
    }
    let file = writer.into_inner().map_err(|e| Trouble::failed("write", e))?;
    file.sync_all().map_err(failed("fsync"))?;
    Ok(Answer::File)
}

pub(super) fn mapped(path: &Path, size: u64) -> Result<Answer, Trouble> {
    let file = File::options().read(true).write(true).create_new(true).open(path).map_err(failed("create"))?;
    file.set_len(size).map_err(failed("ftruncate"))?;
    // SAFETY: the file is new, and nobody else knows it while the map lives.
    let mut map = unsafe { MmapMut::map_mut(&file) }.map_err(failed("mmap"))?;
    fill(words_of_mut(&mut map)?, 0);
    map.flush().map_err(failed("msync"))?;
    file.sync_all().map_err(failed("fsync"))?;
    Ok(Answer::File)
}

pub(super) fn direct(path: &Path, size: u64) -> Result<Answer, Trouble> {
    let mut options = File::options();
    let file = options.write(true).create_new(true).custom_flags(libc::O_DIRECT).open(path).map_err(refused)?;
    let mut buffer = Region::touched(PIECE, Pages::Huge).map_err(failed("memory"))?;
    let mut at = 0;
    while at < size {
        let length = (size - at).min(PIECE as u64) as usize;
        fill(&mut buffer.words_mut()[..length / 8], at / 8);
        let whole = length.next_multiple_of(SECTOR);
        file.write_all_at(&bytes_of(buffer.words())[..whole], at).map_err(failed("pwrite"))?;
        at += length as u64;
    }
    file.set_len(size).map_err(failed("ftruncate"))?;
    file.sync_all().map_err(failed("fsync"))?;
    Ok(Answer::File)
}
