//! Ends that read and write all there is, and input and output that pins pages: O_DIRECT files and io_uring.

use super::{check, pattern, put};
use eagre_mem::stream::{Reader, StreamError, Writer};
use io_uring::{IoUring, opcode, types};
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

/// A file without a name that holds the oracle's bytes, at its beginning.
pub(crate) fn file(len: usize) -> File {
    let mut file = tempfile::tempfile().unwrap();
    put_into(&mut file, len);
    file.seek(SeekFrom::Start(0)).unwrap();
    file
}

/// The same open for O_DIRECT; or nothing, where the file system has no such thing.
pub(crate) fn direct(len: usize) -> Option<File> {
    let mut named = tempfile::NamedTempFile::new().unwrap();
    put_into(named.as_file_mut(), len);
    let opened = File::options().read(true).write(true).custom_flags(libc::O_DIRECT).open(named.path());
    match opened {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            super::say("skipped: O_DIRECT: not on this file system");
            None
        }
        opened => Some(opened.unwrap()),
    }
}

fn put_into(file: &mut File, len: usize) {
    let mut at = 0;
    while at < len {
        let piece = pattern(at as u64, len - at);
        file.write_all(piece).unwrap();
        at += piece.len();
    }
}

pub(crate) fn ring() -> Option<IoUring> {
    match IoUring::new(4) {
        Ok(ring) => Some(ring),
        Err(error) => {
            super::say(&format!("skipped: io_uring: {error}"));
            None
        }
    }
}

pub(crate) fn errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

/// Reads to the end and checks all. An error is for the caller to judge; a wrong byte is not.
pub(crate) fn read_all(mut reader: Reader) -> Result<u64, StreamError> {
    loop {
        let at = reader.position();
        let bytes = reader.fill(0)?;
        check(at, bytes);
        match bytes.len() {
            0 => return Ok(at),
            len => reader.consume(len),
        }
    }
}

/// Pins `len` bytes as io_uring's buffer 0 for as long as the ring lives.
pub(crate) fn pin(ring: &IoUring, address: *mut u8, len: usize) -> std::io::Result<()> {
    let buffer = libc::iovec { iov_base: address.cast(), iov_len: len };
    // SAFETY: whether the memory may be given away like this is the question.
    unsafe { ring.submitter().register_buffers(&[buffer]) }
}

/// Reads from the file into the start of the pinned buffer, and waits for it.
pub(crate) fn read_into_pinned(ring: &mut IoUring, file: &File, address: *mut u8, len: u32, offset: u64) -> i32 {
    let read = opcode::ReadFixed::new(types::Fd(file.as_raw_fd()), address, len, 0).offset(offset).build();
    // SAFETY: buffer 0 is registered.
    unsafe { ring.submission().push(&read).unwrap() };
    ring.submit_and_wait(1).unwrap();
    ring.completion().next().unwrap().result()
}

/// Writes all of the oracle's bytes, if nobody minds.
pub(crate) fn write_all(mut writer: Writer, len: usize) {
    while writer.position() < len as u64 {
        let at = writer.position();
        let Ok(room) = writer.reserve(0) else { return };
        let now = room.len().min(len - at as usize);
        put(at, &mut room[..now]);
        writer.commit(now);
    }
    drop(writer.finish());
}

/// What an O_DIRECT file holds.
pub(crate) fn aligned_copy(file: &File, len: usize) -> Vec<u8> {
    let mut copy = vec![0u8; len + 8192];
    let skip = copy.as_ptr().align_offset(4096);
    let mut at = 0;
    while at < len {
        // SAFETY: the buffer has room for `len` bytes behind the alignment, and more.
        let got = unsafe {
            libc::pread(
                file.as_raw_fd(),
                copy.as_mut_ptr().add(skip + at).cast(),
                (len - at).next_multiple_of(4096),
                at as i64,
            )
        };
        assert!(got > 0, "{}", std::io::Error::last_os_error());
        at += got as usize;
    }
    copy.split_off(skip)
}
