//! Verifying an output by reading it back before it appears.
//!
//! The bytes must come from the device, so the output is made durable first, and dropped from the page cache. A cache inside the
//! device may still answer; a reader cannot tell.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;

use eagre_mem::heap;
use eagre_mem::transfer::set_direct;
use rustix::fs::{Advice, fadvise};
use xxhash_rust::xxh3::Xxh3;

use super::packing::Compression;
use super::trouble;
use crate::file::Output;
use crate::records::{CheckError, Checker, Checksum, Format};
use crate::scan;

/// What an output should be.
pub(super) struct Expected<'a> {
    /// What comes before the records.
    pub(super) header: &'a [u8],
    pub(super) descending: bool,
    pub(super) unique: bool,
    pub(super) bytes: u64,
    /// Whether the output is compressed.
    pub(super) compression: Compression,
    /// Which records it should have, if all of the input.
    pub(super) checksum: Option<Checksum>,
}

/// A file without the page cache in front of it.
fn from_the_device(output: &Output) -> io::Result<File> {
    output.file().sync_all()?;
    // It may have been written past the page cache. How it is read is decided then.
    let _ = set_direct(output.file(), false);
    let _ = fadvise(output.file(), 0, None, Advice::DontNeed);
    let mut file = output.file().try_clone()?;
    file.rewind()?;
    Ok(file)
}

/// Compares an output with what it should be. `name` is that of messages.
///
/// # Errors
/// Those of reading; `InvalidData` if there is a difference.
pub(super) fn records<F: Format>(
    format: &F,
    output: &Output,
    name: &str,
    expected: &Expected<'_>,
    threads: usize,
    hook: &(dyn Fn(u64) -> ControlFlow<()> + Sync),
) -> io::Result<()> {
    let about = |error: io::Error| io::Error::new(error.kind(), format!("verify: {name}: {error}"));
    let file = from_the_device(output).map_err(about)?;
    let mut content = expected.compression.content(file, name).map_err(about)?;
    let mut header = heap::filled(expected.header.len(), 0).map_err(trouble)?;
    match &mut content {
        scan::Input::File(file) => file.read_exact(&mut header),
        scan::Input::Stream(reader) => reader.read_exact(&mut header),
    }
    .map_err(about)?;
    if header != expected.header {
        return Err(differs(name, "its header is another"));
    }
    let checker = Checker::new(format).descending(expected.descending).unique(expected.unique).threads(threads);
    let found = checker.progress(hook).input(content).map_err(|error| match error {
        CheckError::Malformed { .. } => differs(name, &error.to_string()),
        CheckError::Scan(error) => about(error.into()),
    })?;
    if found.bytes != expected.bytes {
        return Err(differs(name, &format!("it has {} bytes of {}", found.bytes, expected.bytes)));
    }
    if let Some(place) = found.first_unordered {
        return Err(differs(name, &format!("record {} at byte {} is out of order", place.record, place.offset)));
    }
    match expected.checksum {
        Some(wanted) if wanted != found.checksum => {
            let (is, was) = (found.checksum, wanted);
            let why = format!(
                "it has {} records with checksum {:032x}, the input {} with {:032x}",
                is.records, is.sum, was.records, was.sum
            );
            Err(differs(name, &why))
        }
        _ => Ok(()),
    }
}

/// Compares the bytes of an output from `start` on with their hash.
///
/// # Errors
/// Those of reading; `InvalidData` if there is a difference.
pub(super) fn bytes(output: &Output, name: &str, start: u64, length: u64, hash: u128) -> io::Result<()> {
    const PIECE: usize = 1 << 20;
    let file = from_the_device(output)?;
    let mut buffer = heap::filled(PIECE, 0).map_err(trouble)?;
    let (mut hasher, mut at) = (Xxh3::new(), start);
    loop {
        match file.read_at(&mut buffer, at) {
            Ok(0) => break,
            Ok(read) => {
                hasher.update(&buffer[..read]);
                at += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(io::Error::new(error.kind(), format!("verify: {name}: {error}"))),
        }
    }
    if at != start + length || hasher.digest128() != hash {
        return Err(differs(name, &format!("its {} bytes are not the {length} that were written", at - start)));
    }
    Ok(())
}

fn differs(name: &str, why: &str) -> io::Error {
    let text =
        format!("verify: {name}: what was read back is wrong: {why}; no output was made, check memory and disks");
    io::Error::new(io::ErrorKind::InvalidData, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::{Lines, checksum};

    #[test]
    fn every_difference_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let lines = Lines::default();
        let check = |bytes: &[u8], unique: bool, like: Option<&[u8]>| {
            let output = Output::create(folder.path().join("out")).unwrap();
            output.file().write_all_at(bytes, 0).unwrap();
            let checksum = like.map(|like| checksum(&lines, like).unwrap());
            let compression = Compression::default();
            let expected = Expected { header: b"", descending: false, unique, bytes: 8, compression, checksum };
            let go_on = |_| ControlFlow::Continue(());
            records(&lines, &output, "out", &expected, 2, &go_on).map_err(|error| error.to_string())
        };
        check(b"a\nb\nb\nc\n", false, Some(b"b\nc\na\nb\n")).unwrap();
        check(b"a\nb\nb\nc\n", false, None).unwrap();
        for (bytes, unique, like, why) in [
            (&b"a\nb\nb\nd\n"[..], false, Some(&b"b\nc\na\nb\n"[..]), "it has 4 records with checksum"),
            (b"a\nb\nb\nc\n", true, None, "record 2 at byte 4 is out of order"),
            (b"b\na\nb\nc\n", false, None, "record 1 at byte 2 is out of order"),
            (b"a\nb\nc\n", false, None, "it has 6 bytes of 8"),
        ] {
            let said = check(bytes, unique, like).unwrap_err();
            assert!(said.contains(why) && said.starts_with("verify: out: "), "{said}");
        }
    }

    #[test]
    fn bytes_that_changed_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let output = Output::create(folder.path().join("out")).unwrap();
        let written: Vec<u8> = (0..2_500_000_u32).map(|number| number as u8).collect();
        output.file().write_all_at(&written, 0).unwrap();
        let hash = xxhash_rust::xxh3::xxh3_128(&written[64..]);
        let length = written.len() as u64 - 64;
        bytes(&output, "out", 64, length, hash).unwrap();
        bytes(&output, "out", 64, length - 1, hash).unwrap_err();
        output.file().write_all_at(b"x", 2_000_001).unwrap();
        bytes(&output, "out", 64, length, hash).unwrap_err();
    }
}
