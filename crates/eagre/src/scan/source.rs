//! Regular files as numbered pieces that any thread can scan.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, PoisonError};

use eagre_mem::heap::{self, Shared};
use eagre_mem::{LookError, Mapping};

use super::plan::Extent;

/// The size of a read. It fits into a second-level cache, and makes the cost of the system call negligible.
pub(super) const READ: usize = 256 << 10;
/// The size of a piece in a mapping.
const MAPPED: u64 = 2 << 20;
/// The size of a mapping. It is large because mapping and unmapping stop other threads. It is not the whole file
/// because the page tables of a terabyte in small pages take 2 GiB.
const WINDOW: u64 = 1 << 30;

/// The result for one piece.
pub(super) struct Seen<T> {
    pub(super) part: T,
    /// The length of the piece.
    pub(super) length: usize,
    /// Whether the file ends with this piece.
    pub(super) last: bool,
}

/// A file as numbered pieces.
pub(super) trait Source: Sync {
    /// What one thread needs to get at pieces.
    type Lane: Send;

    fn lane(&self) -> Self::Lane;

    /// Calls `look` with the bytes of piece `number` and their offset in the file. `None` if the file ends before it.
    fn look<T>(
        &self,
        lane: &mut Self::Lane,
        number: u64,
        look: impl FnOnce(u64, &[u8]) -> T,
    ) -> io::Result<Option<Seen<T>>>;
}

/// A file whose pieces are copied into a buffer.
pub(super) struct Copied<'a> {
    pub(super) file: &'a File,
    pub(super) extent: Extent,
}

impl Source for Copied<'_> {
    type Lane = Vec<u8>;

    /// The buffer. It is empty until the first piece.
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

/// A file whose pieces are scanned where the kernel keeps them.
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
    /// The window that was mapped last. Threads that still scan the one before hold a reference to it.
    window: Mutex<Option<(u64, Shared<Mapping>)>>,
}

impl<'a> Mapped<'a> {
    /// Maps the beginning of the extent, which fails if the file cannot be mapped.
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
        // A thread that is late and needs an older window maps it again, for itself.
        if last.as_ref().is_none_or(|(mapped, _)| *mapped < number) {
            *last = Some((number, window.clone()));
        }
        Ok(window)
    }

    /// Scans a range of the file in its window. `None` if that is not possible, and then `look` was not called.
    fn look_mapped<T>(&self, range: Range<u64>, look: &mut impl FnMut(&[u8]) -> T) -> io::Result<Option<T>> {
        let number = range.start / WINDOW;
        let Ok(window) = self.window(number) else { return Ok(None) };
        let base = number * WINDOW;
        let there = (range.start - base) as usize..(range.end - base) as usize;
        window.populate(there.clone());
        let looked = window.look(there.clone(), look);
        // Without this, up to a whole window counts as memory of this process. Unmapping each piece costs no more than
        // unmapping the window at its end: 0.93 to 0.96 of the processor time for 4 GB in the page cache, with one
        // thread and with two. Windows of 16 MiB took as long as before (0.95 to 1.01), and 22 to 36 MiB of memory.
        window.release(there);
        match looked {
            // A file that was cut inside its last page reads as zeros there, without a fault.
            Ok(_) if self.file.metadata()?.len() < range.end => Err(cut(self.file)),
            Ok(seen) => Ok(Some(seen)),
            Err(LookError::Unguarded) => Ok(None),
            // The file was cut or its disk failed. Reading the range fails too, and gives the reason.
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
    /// A buffer for pieces that cannot be scanned in the mapping. It is empty until then.
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

/// Extends a buffer to this length.
pub(super) fn grow(buffer: &mut Vec<u8>, length: usize) -> io::Result<()> {
    heap::reserve(buffer, length.saturating_sub(buffer.len()))?;
    buffer.resize(length, 0);
    Ok(())
}

/// Reads the piece at `offset` of an extent until the buffer is full or the file ends. The file may have become longer
/// than the extent, but it is an error if it became shorter.
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

/// The error for a file that became shorter.
pub(super) fn cut(file: &File) -> io::Error {
    let now = file.metadata().map_or(0, |metadata| metadata.len());
    io::Error::new(
        io::ErrorKind::UnexpectedEof,
        format!("the file became shorter while it was read; it ends at {now} now"),
    )
}
