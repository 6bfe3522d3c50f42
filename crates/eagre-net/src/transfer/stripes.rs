//! Contents over several streams at once: several cores encrypt and check them, and a stream that waits for a lost packet does not
//! hold up the others.
//!
//! What is sent is cut into units, which go to one stream each. The last byte of a unit is the number of the stream on which the next
//! one comes, so the other side reads the units in the order in which they were written. The sender chooses: the stream that will
//! have delivered the unit first, if it goes on as it did so far.
#![forbid(unsafe_code)]

use std::cmp::Ordering;
use std::io::{self, BufRead, Read, Write};

use crate::ends::{NetworkReader, NetworkWriter};

use super::failure::TransferError;
use super::talk::{give_up, not_heard, told};
use super::wire;

/// The most streams.
pub(super) const MOST: usize = 16;
/// The bytes of a unit. Both sides have blocks of which it is a multiple: so none of it stays in a block that is not full.
pub(super) const UNIT: usize = 1 << 20;
/// How many bytes make another stream worth while.
const WORTH: u64 = 4 << 20;

/// How many of `wanted` streams to use for `bytes` bytes.
pub(super) fn useful(wanted: usize, bytes: u64) -> usize {
    let most = usize::try_from(bytes / WORTH).unwrap_or(MOST).saturating_add(1);
    wanted.clamp(1, MOST).min(most)
}

/// The writing ends.
#[derive(Debug)]
pub(super) struct StripedWriter {
    streams: Vec<NetworkWriter>,
    /// The one in use.
    at: usize,
}

impl StripedWriter {
    /// One stream, which has no units.
    pub(super) fn new(stream: NetworkWriter) -> StripedWriter {
        StripedWriter { streams: vec![stream], at: 0 }
    }

    /// More of them. Nothing has been written yet.
    pub(super) fn extend(&mut self, streams: Vec<NetworkWriter>) {
        self.streams.extend(streams);
    }

    /// How many bytes of the unit are left, without its last one.
    fn left(&self) -> usize {
        match self.streams.len() {
            1 => usize::MAX,
            _ => UNIT - 1 - (self.streams[self.at].position() % UNIT as u64) as usize,
        }
    }

    /// Room for some bytes, at least one. Waits for the other side.
    ///
    /// # Errors
    /// That of the stream.
    pub(super) fn reserve(&mut self) -> io::Result<&mut [u8]> {
        let left = self.left();
        let room = self.streams[self.at].reserve(0)?;
        let most = room.len().min(left);
        Ok(&mut room[..most])
    }

    /// The first `bytes` bytes of the room are written.
    ///
    /// # Errors
    /// That of the stream.
    pub(super) fn commit(&mut self, bytes: usize) -> io::Result<()> {
        self.streams[self.at].commit(bytes);
        if self.left() == 0 {
            let next = self.next();
            self.streams[self.at].write_all(&[next as u8])?;
            self.at = next;
        }
        Ok(())
    }

    /// The stream for the next unit.
    fn next(&self) -> usize {
        let ways: Vec<_> = self.streams.iter().map(Way::of).collect();
        // Of equal ones, the next in turn.
        let turn = (1..=ways.len()).map(|step| (self.at + step) % ways.len());
        turn.min_by(|&one, &other| ways[one].compare(&ways[other])).unwrap_or(self.at)
    }

    /// Ends all streams, and waits until the other side has all of them. If one has failed, the other side hears of it on the others.
    ///
    /// # Errors
    /// Why one has not arrived.
    pub(super) fn finish(self) -> Result<(), TransferError> {
        let (failed, others): (Vec<_>, Vec<_>) =
            self.streams.into_iter().partition(|stream| stream.control().failure().is_some());
        let mut why = NetworkWriter::finish_all(failed).into_iter().find_map(Result::err).map(told);
        match &why {
            Some(why) => others.into_iter().for_each(|stream| give_up(stream, why)),
            None => why = NetworkWriter::finish_all(others).into_iter().find_map(Result::err).map(told),
        }
        why.map_or(Ok(()), Err)
    }

    /// This side cannot go on; the other side hears why.
    pub(super) fn give_up(self, why: &TransferError) {
        self.streams.into_iter().for_each(|stream| give_up(stream, why));
    }
}

impl Write for StripedWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        let room = self.reserve()?;
        let now = room.len().min(bytes.len());
        room[..now].copy_from_slice(&bytes[..now]);
        self.commit(now)?;
        Ok(now)
    }

    /// Does nothing: bytes travel in whole blocks, the last ones when the streams are finished.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// How fast a stream is.
struct Way {
    /// The bytes that the other side has.
    arrived: u64,
    /// Those that are on their way.
    under_way: u64,
}

impl Way {
    fn of(stream: &NetworkWriter) -> Way {
        let arrived = stream.control().stats().reader.position;
        Way { arrived, under_way: stream.position().saturating_sub(arrived) }
    }

    /// Which of the two would have delivered another unit first.
    fn compare(&self, other: &Way) -> Ordering {
        let unit = UNIT as u128;
        let (work, speed) = (|way: &Way| u128::from(way.under_way) + unit, |way: &Way| u128::from(way.arrived) + unit);
        (work(self) * speed(other)).cmp(&(work(other) * speed(self)))
    }
}

/// The reading ends.
#[derive(Debug)]
pub(super) struct StripedReader {
    streams: Vec<NetworkReader>,
    /// The one that comes next, and how many bytes of its unit are left, without the last one.
    at: usize,
    left: usize,
}

impl StripedReader {
    /// One stream, which has no units.
    pub(super) fn new(stream: NetworkReader) -> StripedReader {
        StripedReader { streams: vec![stream], at: 0, left: usize::MAX }
    }

    /// More of them. Nothing has been read yet.
    pub(super) fn extend(&mut self, streams: Vec<NetworkReader>) {
        if !streams.is_empty() {
            self.left = UNIT - 1;
        }
        self.streams.extend(streams);
    }

    /// Nothing may follow, on any stream.
    ///
    /// # Errors
    /// That of a stream, or something follows.
    pub(super) fn end(&mut self) -> io::Result<()> {
        self.streams.iter_mut().try_for_each(wire::end)
    }

    /// Waits until the other side knows that everything has arrived.
    ///
    /// # Errors
    /// Why it has not.
    pub(super) fn finish(self) -> Result<(), TransferError> {
        self.streams.into_iter().try_for_each(|stream| stream.finish().map(drop).map_err(told))
    }

    /// Why the contents could not be read to their end; the other side hears it.
    pub(super) fn not_heard(self, error: &io::Error) -> TransferError {
        let at = self.at;
        let failed = self.streams.iter().position(|stream| stream.control().failure().is_some());
        self.one_for_all(failed.unwrap_or(at), |stream| not_heard("data", stream, error))
    }

    /// This side cannot go on; the other side hears why.
    pub(super) fn give_up(self, why: TransferError) -> TransferError {
        let text = why.to_string();
        self.one_for_all(0, |stream| {
            fail(stream, &text);
            why
        })
    }

    /// What `end` says of one stream is said of all others.
    fn one_for_all(mut self, one: usize, end: impl FnOnce(NetworkReader) -> TransferError) -> TransferError {
        let why = end(self.streams.swap_remove(one));
        let text = why.to_string();
        self.streams.into_iter().for_each(|stream| fail(stream, &text));
        why
    }
}

fn fail(mut stream: NetworkReader, why: &str) {
    // This text alone reaches the other side.
    stream.fail_io(&io::Error::other(""), why);
    drop(stream.finish());
}

impl Read for StripedReader {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let now = self.fill_buf()?.read(bytes)?;
        self.consume(now);
        Ok(now)
    }
}

impl BufRead for StripedReader {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.left == 0 {
            let next = usize::from(wire::u8(&mut self.streams[self.at])?);
            if next >= self.streams.len() {
                return Err(wire::wrong("contents that go on where there is no stream"));
            }
            (self.at, self.left) = (next, UNIT - 1);
        }
        let bytes = self.streams[self.at].fill_buf()?;
        Ok(&bytes[..bytes.len().min(self.left)])
    }

    fn consume(&mut self, bytes: usize) {
        self.streams[self.at].consume(bytes);
        if self.streams.len() > 1 {
            self.left -= bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_that_delivers_first_is_chosen() {
        let way = |arrived: u64, under_way: u64| Way { arrived: arrived << 20, under_way: under_way << 20 };
        // Ten times as fast: ten times as much may be on its way.
        assert_eq!(way(100, 20).compare(&way(10, 3)), Ordering::Less);
        assert_eq!(way(100, 40).compare(&way(10, 3)), Ordering::Greater);
        assert_eq!(way(0, 0).compare(&way(0, 0)), Ordering::Equal);
        assert_eq!(way(u64::MAX >> 20, 1).compare(&way(0, 1)), Ordering::Less);
    }

    #[test]
    fn little_goes_over_one_stream() {
        for (wanted, bytes, streams) in
            [(0, 1 << 40, 1), (8, 0, 1), (8, 4 << 20, 2), (8, 9 << 20, 3), (8, 1 << 40, 8), (99, u64::MAX, MOST)]
        {
            assert_eq!(useful(wanted, bytes), streams, "{wanted} {bytes}");
        }
    }
}
