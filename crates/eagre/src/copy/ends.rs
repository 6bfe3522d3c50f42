//! The two ends of a copy: reading and writing, through the page cache or past it.

use std::fs::File;
use std::io::{self, IoSliceMut};
use std::os::unix::fs::FileExt;

use rustix::fs;
use rustix::io::{Errno, ReadWriteFlags, preadv2, retry_on_intr};

use crate::file::cache::{self, ALIGN};

/// The end that pieces are read from.
pub(super) struct Source<'f> {
    pub(super) file: &'f File,
    pub(super) direct: Option<File>,
}

impl Source<'_> {
    /// Fills `bytes` with the bytes at `offset`.
    ///
    /// # Errors
    /// Those of the system. `UnexpectedEof` if the file has become shorter.
    pub(super) fn read(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        let mut done = 0;
        while done < bytes.len() {
            let (rest, at) = (&mut bytes[done..], offset + done as u64);
            let read = match &self.direct {
                Some(direct) => self.read_cached(rest, at).or_else(|_| read_direct(direct, self.file, rest, at)),
                None => self.file.read_at(rest, at),
            };
            match read {
                Ok(0) => {
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file shrank while it was copied"));
                }
                Ok(n) => done += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads a piece through the page cache if all of it is there, or if that is unknown. Fails with `EAGAIN`
    /// otherwise. A partial read is cut to whole units, so that `O_DIRECT` can continue behind it.
    ///
    /// A read with `RWF_NOWAIT` starts readahead even if it fails. If it were tried on every piece, it would bring the
    /// whole file into the cache, besides what is read past it.
    fn read_cached(&self, bytes: &mut [u8], offset: u64) -> Result<usize, Errno> {
        let whole = bytes.len();
        if cache::holds_all(self.file, offset, whole as u64) == Some(false) {
            return Err(Errno::AGAIN);
        }
        let read = preadv2(self.file, &mut [IoSliceMut::new(bytes)], offset, ReadWriteFlags::NOWAIT)?;
        match if read == whole { read } else { read - read % ALIGN } {
            0 => Err(Errno::AGAIN),
            read => Ok(read),
        }
    }
}

/// Reads the aligned part past the page cache, and the rest through it.
fn read_direct(direct: &File, file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    let whole = bytes.len() - bytes.len() % ALIGN;
    let aligned = offset.is_multiple_of(ALIGN as u64) && bytes.as_ptr().addr().is_multiple_of(ALIGN);
    if whole == 0 || !aligned {
        return file.read_at(bytes, offset);
    }
    match direct.read_at(&mut bytes[..whole], offset) {
        // The disk has larger units, or the file system no longer supports direct reads.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => file.read_at(bytes, offset),
        other => other,
    }
}

/// The end that pieces are written to.
pub(super) struct Sink<'f> {
    pub(super) file: &'f File,
    pub(super) direct: Option<File>,
}

/// Where written bytes are when the call returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// All of them are on the device.
    Device,
    /// At least some of them are in the page cache.
    Cache,
}

impl Sink<'_> {
    /// Writes `bytes` at `offset`.
    ///
    /// # Errors
    /// Those of the system.
    pub(super) fn write(&self, bytes: &[u8], offset: u64) -> io::Result<Written> {
        let whole = bytes.len() - bytes.len() % ALIGN;
        let aligned = offset.is_multiple_of(ALIGN as u64) && bytes.as_ptr().addr().is_multiple_of(ALIGN);
        let cached = |from: usize| {
            self.file.write_all_at(&bytes[from..], offset + from as u64)?;
            Ok(Written::Cache)
        };
        let Some(direct) = self.direct.as_ref().filter(|_| aligned && whole > 0) else {
            return cached(0);
        };
        match direct.write_all_at(&bytes[..whole], offset) {
            Ok(()) if whole == bytes.len() => Ok(Written::Device),
            Ok(()) => cached(whole),
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => cached(0),
            Err(error) => Err(error),
        }
    }

    /// Makes the file `bytes` long, and reserves room for the `data` stretches (offset and length) where that is
    /// possible.
    ///
    /// # Errors
    /// `ENOSPC` if there is not enough room.
    pub(super) fn make_room(&self, bytes: u64, data: &[(u64, u64)]) -> io::Result<()> {
        // A file system that is asked to reserve more than it has fills up before it refuses, and others find no room
        // meanwhile.
        if self.is_full_enough(data.iter().map(|(_, len)| len).sum())? {
            return Err(Errno::NOSPC.into());
        }
        self.file.set_len(bytes)?;
        // In a memory file system, reserved blocks are cleared, which costs as much as filling them.
        if self.direct.is_some() {
            for &(offset, len) in data {
                let none = fs::FallocateFlags::empty();
                match retry_on_intr(|| fs::fallocate(self.file, none, offset, len)) {
                    Ok(()) => {}
                    Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => break,
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(())
    }

    fn is_full_enough(&self, data: u64) -> io::Result<bool> {
        let system = fs::fstatvfs(self.file)?;
        // Some network file systems do not tell their size.
        Ok(system.f_blocks > 0 && data.div_ceil(system.f_frsize) > system.f_bavail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::cache::Buffer;
    use rustix::fs::OFlags;

    /// A file that is not in the page cache is not in it after the copy either.
    #[test]
    fn copying_does_not_fill_the_cache() {
        const SIZE: usize = 8 << 20;
        const PIECE: usize = 1 << 20;
        let file = tempfile::tempfile().unwrap();
        let content: Vec<u8> = (0..SIZE).map(|at| (at % 251) as u8).collect();
        file.write_all_at(&content, 0).unwrap();
        file.sync_all().unwrap();
        let Some(direct) = cache::past(&file, OFlags::RDONLY) else {
            eprintln!("skipped: there is no way past the page cache here");
            return;
        };
        let _ = fs::fadvise(&file, 0, None, fs::Advice::DontNeed);
        let resident = || eagre_mem::cache::resident(&file, 0, SIZE as u64);
        if !matches!(resident(), Ok(0)) {
            eprintln!(
                "skipped: this kernel does not count what is cached, or this file system keeps its files in memory"
            );
            return;
        }
        let source = Source { file: &file, direct: Some(direct) };
        let mut buffer = Buffer::new(PIECE).unwrap();
        for at in (0..SIZE).step_by(PIECE) {
            let bytes = buffer.bytes(PIECE);
            source.read(bytes, at as u64).unwrap();
            assert!(*bytes == content[at..at + PIECE]);
        }
        assert_eq!(resident().unwrap(), 0);
    }

    #[test]
    fn a_lack_of_room_is_known_beforehand() {
        let file = tempfile::tempfile().unwrap();
        // No disk of ours has this size, but a file may.
        let much = 8 << 40;
        for direct in [None, cache::past(&file, OFlags::WRONLY)] {
            let error = Sink { file: &file, direct }.make_room(much, &[(0, much)]).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        }
    }
}
