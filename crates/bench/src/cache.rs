//! The part of a file in the page cache: queried, dropped, filled.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::{Advice, fadvise};

use crate::trouble::Trouble;

/// `cachestat`, with the same number on all architectures that this program runs on; libc and rustix lack it.
const SYS_CACHESTAT: libc::c_long = 451;

#[repr(C)]
struct Range {
    offset: u64,
    len: u64,
}

#[repr(C)]
#[derive(Default)]
struct Cachestat {
    cached: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

/// How many bytes of `file` are in the page cache.
fn resident(file: &File) -> io::Result<u64> {
    let (range, mut stat) = (Range { offset: 0, len: 0 }, Cachestat::default());
    // SAFETY: the call reads one structure and writes the other, both of the layout the kernel documents.
    let result = unsafe { libc::syscall(SYS_CACHESTAT, file.as_raw_fd(), &raw const range, &raw mut stat, 0) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(stat.cached * rustix::param::page_size() as u64)
}

/// As [`resident`]; on a kernel without the call the contender is unavailable.
fn looked_up(file: &File) -> Result<u64, Trouble> {
    resident(file).map_err(|e| match e.raw_os_error() {
        Some(libc::ENOSYS) => Trouble::Unavailable("the kernel has no cachestat; it needs Linux 6.5".into()),
        _ => Trouble::failed("cachestat", e),
    })
}

/// Drops the file from the page cache, and checks that no page is left.
pub(crate) fn cold(path: &Path) -> Result<(), Trouble> {
    let file = File::open(path).map_err(|e| Trouble::failed("corpus", e))?;
    // A page that is being written or read stays for a moment.
    for _ in 0..20 {
        file.sync_data().map_err(|e| Trouble::failed("fdatasync", e))?;
        fadvise(&file, 0, None, Advice::DontNeed).map_err(|e| Trouble::failed("fadvise", e))?;
        if looked_up(&file)? == 0 {
            return Ok(());
        }
    }
    Err(Trouble::Unavailable(format!(
        "{} stays in the page cache; name a directory on a device with --dir",
        path.display()
    )))
}

/// Has the page cache hold all of the file, read once from its beginning to its end if it does not.
pub(crate) fn warm(path: &Path) -> Result<(), Trouble> {
    let file = File::open(path).map_err(|e| Trouble::failed("corpus", e))?;
    let size = file.metadata().map_err(|e| Trouble::failed("corpus", e))?.len();
    for _ in 0..3 {
        if looked_up(&file)? >= size {
            return Ok(());
        }
        let (mut buffer, mut at) = (vec![0; 1 << 20], 0);
        while at < size {
            match file.read_at(&mut buffer, at) {
                Ok(0) => break,
                Ok(n) => at += n as u64,
                Err(e) => return Err(Trouble::failed("corpus", e)),
            }
        }
    }
    Err(Trouble::Unavailable(format!("{}: the page cache does not keep {size} bytes; more memory", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_go_and_come() {
        // Beside the program: on a device more likely than the directory for temporary files.
        let directory = std::env::current_exe().unwrap().parent().unwrap().to_owned();
        let file = tempfile::NamedTempFile::new_in(directory).unwrap();
        file.as_file().set_len(0).unwrap();
        std::fs::write(file.path(), vec![7; 300_000]).unwrap();
        match cold(file.path()) {
            Err(Trouble::Unavailable(why)) => return eprintln!("skipped: {why}"),
            other => other.unwrap(),
        }
        assert_eq!(resident(file.as_file()).unwrap(), 0);
        warm(file.path()).unwrap();
        assert!(resident(file.as_file()).unwrap() >= 300_000);
    }
}
