//! Prevents copying a directory into itself, which would never end.

use std::fs::File;
use std::path::Path;

use rustix::fs;
use rustix::io::Errno;

use super::parent;
use super::place::{Id, Place, id};

/// Whether `to`, which need not exist yet, is the directory `inside` or lies in it.
pub(super) fn lies_in(to: &Path, inside: Id) -> rustix::io::Result<bool> {
    if Place::of(to).look()?.is_some_and(|there| id(&there) == inside) {
        return Ok(true);
    }
    let flags = fs::OFlags::PATH | fs::OFlags::DIRECTORY | fs::OFlags::CLOEXEC;
    let mut directory = File::from(fs::open(parent(to), flags, fs::Mode::empty())?);
    let mut here = id(&fs::fstat(&directory)?);
    loop {
        if here == inside {
            return Ok(true);
        }
        let up = match fs::openat(&directory, "..", flags, fs::Mode::empty()) {
            Ok(up) => File::from(up),
            // The directory may not be searched. So the copy cannot reach it from above either.
            Err(Errno::ACCESS) => return Ok(false),
            Err(error) => return Err(error),
        };
        let above = id(&fs::fstat(&up)?);
        if above == here {
            return Ok(false);
        }
        (directory, here) = (up, above);
    }
}
