//! Copying from front to back, for files without offsets or without a known length.

use std::fs::File;
use std::io::{self, Read, Write};

use super::CopyError;
use super::verify::{Run, Sums};
use crate::file::cache::Buffer;

/// How many bytes are copied between two calls of `progress`.
const STEP: usize = 1 << 20;

/// Copies everything up to the end of the source, and returns the number of bytes.
pub(super) fn carry(
    mut source: &File,
    mut target: &File,
    sums: Option<&mut Sums>,
    progress: &mut dyn FnMut(u64),
) -> Result<u64, CopyError> {
    let mut buffer = Buffer::new(STEP).map_err(CopyError::Target)?;
    let buffer = buffer.bytes(STEP);
    let mut done = 0;
    let mut run = sums.is_some().then(|| Run::new(STEP));
    loop {
        let read = match source.read(buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(CopyError::Source(error)),
        };
        let bytes = &buffer[..read];
        if let Some(run) = &mut run {
            run.push(bytes);
        }
        target.write_all(bytes).map_err(CopyError::Target)?;
        done += read as u64;
        progress(done);
    }
    if let (Some(sums), Some(run)) = (sums, run) {
        sums.extend(run.finish());
    }
    Ok(done)
}
