//! From front to back, for what has no offsets or no length.

use std::fs::File;
use std::io::{self, Read, Write};

use super::CopyError;
use super::verify::{Sum, Sums};

/// How much goes by between two words of progress.
const STEP: usize = 1 << 20;

/// Copies all that comes, and returns how much that was.
pub(super) fn carry(
    mut source: &File,
    mut target: &File,
    mut sums: Option<&mut Sums>,
    progress: &mut dyn FnMut(u64),
) -> Result<u64, CopyError> {
    let mut buffer = vec![0; STEP];
    let mut done = 0;
    loop {
        let read = match source.read(&mut buffer) {
            Ok(0) => return Ok(done),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(CopyError::Source(error)),
        };
        let bytes = &buffer[..read];
        target.write_all(bytes).map_err(CopyError::Target)?;
        if let Some(sums) = &mut sums {
            sums.push(Sum::of(done, bytes));
        }
        done += read as u64;
        progress(done);
    }
}
