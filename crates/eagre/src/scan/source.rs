//! Regular files as numbered pieces that any thread may look at.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, PoisonError};

use eagre_mem::heap::{self, Shared};
use eagre_mem::{LookError, Mapping};

use super::plan::Extent;

/// How much is read at a time: stays inside a second-level cache, and makes the cost of a system call vanish.
pub(super) const READ: usize = 256 << 10;
/// How much is looked at at a time in a mapping.
const MAPPED: u64 = 2 << 20;
/// How much is mapped at a time: large, since mapping and unmapping stop other threads; not the whole file, since
/// the page tables of a terabyte of small pages take 2 GiB.
const WINDOW: u64 = 1 << 30;

/// What was seen in one piece.
pub(super) struct Seen<T> {
    pub(super) part: T,
    /// The length of the piece.
    pub(super) length: usize,
    /// The file ends with it.
    pub(super) last: bool,
}

/// A file in numbered pieces.
pub(super) trait Source: Sync {
    /// What one thread needs to look at pieces.
    type Lane: Send;

    fn lane(&self) -> Self::Lane;

    /// Brings piece `number` to `look`, with its offset in the file. `None` if the file ends before it.
    fn look<T>(
        &self,
        lane: &mut Self::Lane,
        number: u64,
        look: impl FnOnce(u64, &[u8]) -> T,
    ) -> io::Result<Option<Seen<T>>>;
}

/// Copies pieces into a buffer.
pub(super) struct Copied<'a> {
    pub(super) file: &'a File,
    pub(super) extent: Extent,
}

impl Source for Copied<'_> {
    type Lane = Vec<u8>;

    /// A buffer, empty until the first piece.
    fn lane(&self) -> Vec<u8> {
        Vec::new()
    }

    fn look<T>(
        &self,
        buffer: &mut Vec<u8>,
        number: u64,
        look: impl FnOnce(u64, &[u8]) -> T,
    ) -> io::Result<Option<Seen<T>>> {
        let offset = number * READ as u64;
        grow(buffer, READ)?;
        let length = read_piece(self.file, &self.extent, buffer, offset)?;
        Ok((length > 0).then(|| Seen { part: look(offset, &buffer[..length]), length, last: length < buffer.len() }))
    }
}

/// Looks at pieces where the kernel keeps them.
///
/// ```text
/// file     |--------- window ---------|--------- window ---------|--------- window -------…      mapped one by one
/// extent      |------------------------------------------------------------------------|
/// pieces      |.|...|...|...|...|...|...|...|...|...|...|...|...|...|...|...|...|...|...|         at multiples of their size
///                                                                                    └ read: the file may have grown or shrunk
/// ```
pub(super) struct Mapped<'a> {
    file: &'a File,
    extent: Extent,
    /// The window mapped last. Threads that still look at the one before hold it.
    window: Mutex<Option<(u64, Shared<Mapping>)>>,
}

impl<'a> Mapped<'a> {
    /// Maps the beginning of the extent, to see whether the file can be mapped.
    pub(super) fn new(file: &'a File, extent: Extent) -> io::Result<Mapped<'a>> {
        let first = extent.start / WINDOW;
        let mapped = Mapped { file, extent, window: Mutex::new(None) };
        mapped.window(first)?;
        Ok(mapped)
    }

    fn window(&self, number: u64) -> io::Result<Shared<Mapping>> {
        let mut last = self.window.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((mapped, window)) = &*last
            && *mapped == number
        {
            return Ok(window.clone());
        }
        let start = number * WINDOW;
        let length = WINDOW.min(self.extent.end - start);
        let window = Shared::new(Mapping::new(self.file, start, length as usize)?)?;
        // A thread that comes late to a window passed maps it once more, for itself.
        if last.as_ref().is_none_or(|(mapped, _)| *mapped < number) {
            *last = Some((number, window.clone()));
        }
        Ok(window)
    }

    /// Looks at a range of the file in its window. `None` if that cannot be done; nothing was looked at then.
    fn look_mapped<T>(&self, range: Range<u64>, look: &mut impl FnMut(&[u8]) -> T) -> io::Result<Option<T>> {
        let number = range.start / WINDOW;
        let Ok(window) = self.window(number) else { return Ok(None) };
        let base = number * WINDOW;
        let there = (range.start - base) as usize..(range.end - base) as usize;
        window.populate(there.clone());
        let looked = window.look(there.clone(), look);
        // Else up to a whole window counts as memory of this process. Unmapping each piece costs no more than unmapping the window
        // at its end: 0.93 to 0.96 of the processor time for 4 GB in the page cache, with one thread and with two. Windows of
        // 16 MiB instead took as long as before (0.95 to 1.01), and 22 to 36 MiB of memory.
        window.release(there);
        match looked {
            // Cut inside its last page, a file reads as zeros there, and nothing faults.
            Ok(_) if self.file.metadata()?.len() < range.end => Err(cut(self.file)),
            Ok(seen) => Ok(Some(seen)),
            Err(LookError::Unguarded) => Ok(None),
            // Cut, or its disk has failed: then reading fails as well, and says how.
            Err(_) => {
                let mut byte = [0];
                let pages = range.step_by(Mapping::ALIGN as usize);
                pages
                    .map(|at| read_fully(self.file, &mut byte, at))
                    .find_map(Result::err)
                    .map_or_else(|| Err(cut(self.file)), Err)
            }
        }
    }
}

impl Source for Mapped<'_> {
    /// A buffer for what cannot be looked at in the mapping; empty until then.
    type Lane = Vec<u8>;

    fn lane(&self) -> Vec<u8> {
        Vec::new()
    }

    fn look<T>(
        &self,
        buffer: &mut Vec<u8>,
        number: u64,
        look: impl FnOnce(u64, &[u8]) -> T,
    ) -> io::Result<Option<Seen<T>>> {
        let piece = self.extent.start / MAPPED + number;
        let (start, end) = ((piece * MAPPED).max(self.extent.start), (piece + 1) * MAPPED);
        let (offset, length) = (start - self.extent.start, (end - start) as usize);
        let mut look = Some(look);
        let mut look = |bytes: &[u8]| look.take().map(|look| look(offset, bytes));
        if end <= self.extent.end
            && let Some(part) = self.look_mapped(start..end, &mut look)?
        {
            return Ok(part.map(|part| Seen { part, length, last: false }));
        }
        grow(buffer, length)?;
        let length = read_piece(self.file, &self.extent, buffer, offset)?;
        let part = if length > 0 { look(&buffer[..length]) } else { None };
        Ok(part.map(|part| Seen { part, length, last: length < buffer.len() }))
    }
}

/// Gives a buffer its length.
pub(super) fn grow(buffer: &mut Vec<u8>, length: usize) -> io::Result<()> {
    heap::reserve(buffer, length.saturating_sub(buffer.len()))?;
    buffer.resize(length, 0);
    Ok(())
}

/// Reads the piece at `offset` of an extent until the buffer is full or the file ends, which it may have done later than
/// it seemed at first, but not earlier.
fn read_piece(file: &File, extent: &Extent, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let length = read_fully(file, buffer, extent.start + offset)?;
    let end = extent.start + offset + length as u64;
    if length < buffer.len() && end < extent.end { Err(cut(file)) } else { Ok(length) }
}

fn read_fully(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match file.read_at(&mut buffer[length..], offset + length as u64) {
            Ok(0) => break,
            Ok(n) => length += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}

/// The error of a file that lost its end.
pub(super) fn cut(file: &File) -> io::Error {
    let now = file.metadata().map_or(0, |metadata| metadata.len());
    io::Error::new(
        io::ErrorKind::UnexpectedEof,
        format!("the file became shorter while it was read; it ends at {now} now"),
    )
}
