//! Numbers and texts as they are written and read.
//!
//! What is read comes from somebody else: a length is checked before anything of that size is made.
#![forbid(unsafe_code)]

use std::io::{self, Read, Write};

/// An error for something that the other side may not say.
pub(super) fn wrong(why: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why.into())
}

/// Reads exactly so many bytes.
pub(super) fn bytes<const N: usize>(from: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    from.read_exact(&mut bytes).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => wrong("it ends too early"),
        _ => error,
    })?;
    Ok(bytes)
}

pub(super) fn u8(from: &mut impl Read) -> io::Result<u8> {
    bytes::<1>(from).map(|[byte]| byte)
}

pub(super) fn u16(from: &mut impl Read) -> io::Result<u16> {
    bytes(from).map(u16::from_le_bytes)
}

pub(super) fn u32(from: &mut impl Read) -> io::Result<u32> {
    bytes(from).map(u32::from_le_bytes)
}

pub(super) fn u64(from: &mut impl Read) -> io::Result<u64> {
    bytes(from).map(u64::from_le_bytes)
}

/// Reads a text of at most `most` bytes behind its length.
pub(super) fn text(from: &mut impl Read, most: usize) -> io::Result<Vec<u8>> {
    let length = usize::from(u16(from)?);
    if length > most {
        return Err(wrong(format!("a text of {length} bytes where {most} are the most")));
    }
    let mut text = vec![0; length];
    from.read_exact(&mut text).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => wrong("it ends too early"),
        _ => error,
    })?;
    Ok(text)
}

/// Writes a text of at most 65,535 bytes behind its length. A longer one is cut.
pub(super) fn put_text(to: &mut impl Write, text: &[u8]) -> io::Result<()> {
    let length = u16::try_from(text.len()).unwrap_or(u16::MAX);
    to.write_all(&length.to_le_bytes())?;
    to.write_all(&text[..usize::from(length)])
}

/// Nothing may follow.
pub(super) fn end(from: &mut impl Read) -> io::Result<()> {
    match from.read(&mut [0])? {
        0 => Ok(()),
        _ => Err(wrong("something follows its end")),
    }
}
