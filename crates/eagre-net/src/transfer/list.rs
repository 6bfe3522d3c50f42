//! The list: what the sender has, in the order in which it sends it.
//!
//! A tree is a walk: a directory is entered, what is in it follows, and it is left. So a name is always that of something in the
//! directory where the walk is, and there are no paths. A large tree comes in several lists, one for each round.
#![forbid(unsafe_code)]

use std::io::{self, Read, Write};

use eagre::heap;

use super::name::{self, DEEPEST, LONGEST_LINK, LONGEST_NAME};
use super::{stripes, wire};

/// What every list begins with. Behind it is the version of all that a transfer says.
const MAGIC: [u8; 7] = *b"eagre-t";
/// The contents come over one stream.
const PLAIN: u8 = 1;
/// They come over several, whose number is behind the list.
const STRIPED: u8 = 2;
/// The most entries of a list. The sender makes them shorter.
const MOST: usize = 1 << 16;
/// How many entries a sender puts into a list.
pub(super) const ROUND: usize = 1 << 14;

/// When something was changed last: seconds and nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Time {
    pub(super) seconds: i64,
    pub(super) nanoseconds: u32,
}

/// One step of the walk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// A file. Its size may change until it is sent.
    File { name: Vec<u8>, size: u64, mode: u32, time: Time },
    /// A symbolic link.
    Link { name: Vec<u8>, to: Vec<u8> },
    /// A directory begins.
    Enter { name: Vec<u8> },
    /// It ends.
    Leave { mode: u32, time: Time },
    /// Bytes without a name and a known length.
    Pipe,
}

impl Entry {
    /// Whether its content is sent.
    pub(super) fn has_content(&self) -> bool {
        matches!(self, Entry::File { .. } | Entry::Pipe)
    }

    /// How many bytes its content has, as far as that is known. A pipe has as many as there are.
    pub(super) fn size(&self) -> u64 {
        match self {
            Entry::File { size, .. } => *size,
            Entry::Pipe => u64::MAX,
            _ => 0,
        }
    }

    fn write(&self, to: &mut impl Write) -> io::Result<()> {
        match self {
            Entry::File { name, size, mode, time } => {
                to.write_all(b"f")?;
                wire::put_text(to, name)?;
                to.write_all(&size.to_le_bytes())?;
                write_notes(to, *mode, *time)
            }
            Entry::Link { name, to: target } => {
                to.write_all(b"l")?;
                wire::put_text(to, name)?;
                wire::put_text(to, target)
            }
            Entry::Enter { name } => {
                to.write_all(b"d")?;
                wire::put_text(to, name)
            }
            Entry::Leave { mode, time } => {
                to.write_all(b"u")?;
                write_notes(to, *mode, *time)
            }
            Entry::Pipe => to.write_all(b"p"),
        }
    }

    fn read(kind: u8, from: &mut impl Read) -> io::Result<Entry> {
        Ok(match kind {
            b'f' => {
                let (name, size) = (read_name(from)?, wire::u64(from)?);
                let (mode, time) = read_notes(from)?;
                Entry::File { name, size, mode, time }
            }
            b'l' => Entry::Link { name: read_name(from)?, to: wire::text(from, LONGEST_LINK)? },
            b'd' => Entry::Enter { name: read_name(from)? },
            b'u' => {
                let (mode, time) = read_notes(from)?;
                Entry::Leave { mode, time }
            }
            b'p' => Entry::Pipe,
            _ => return Err(wire::wrong("an entry of an unknown kind")),
        })
    }
}

fn write_notes(to: &mut impl Write, mode: u32, time: Time) -> io::Result<()> {
    to.write_all(&mode.to_le_bytes())?;
    to.write_all(&time.seconds.to_le_bytes())?;
    to.write_all(&time.nanoseconds.to_le_bytes())
}

fn read_notes(from: &mut impl Read) -> io::Result<(u32, Time)> {
    // Nobody gets the rights of another by a file that comes over the network.
    let mode = wire::u32(from)? & 0o777;
    let seconds = i64::from_le_bytes(wire::bytes(from)?);
    let nanoseconds = wire::u32(from)?;
    if nanoseconds >= 1_000_000_000 {
        return Err(wire::wrong("a time with too many nanoseconds"));
    }
    Ok((mode, Time { seconds, nanoseconds }))
}

fn read_name(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let name = wire::text(from, LONGEST_NAME)?;
    name::check(&name).map_err(wire::wrong)?;
    Ok(name)
}

/// One round.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct List {
    pub(super) entries: Vec<Entry>,
    /// Another round follows.
    pub(super) more: bool,
    /// Over how many streams the contents come.
    pub(super) streams: usize,
}

impl List {
    pub(super) fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let striped = self.streams > 1;
        to.write_all(&MAGIC)?;
        to.write_all(&[if striped { STRIPED } else { PLAIN }])?;
        for entry in &self.entries {
            entry.write(to)?;
        }
        to.write_all(if self.more { b"+" } else { b"." })?;
        if striped { to.write_all(&[self.streams as u8]) } else { Ok(()) }
    }

    /// Reads a list. `depth` is that of the directory where the walk stands, before and behind the list.
    ///
    /// # Errors
    /// Those of reading. [`io::ErrorKind::InvalidData`] for anything that a sender does not say.
    pub(super) fn read(from: &mut impl Read, depth: &mut usize) -> io::Result<List> {
        if wire::bytes(from)? != MAGIC {
            return Err(wire::wrong("this is no list of files"));
        }
        let striped = match wire::u8(from)? {
            PLAIN => false,
            STRIPED => true,
            _ => return Err(wire::wrong("the other side speaks another version; update the older one")),
        };
        let mut entries = Vec::new();
        loop {
            let more = match wire::u8(from)? {
                b'.' => false,
                b'+' => true,
                kind => {
                    if entries.len() == MOST {
                        return Err(wire::wrong("a list of too many files"));
                    }
                    heap::push(&mut entries, Entry::read(kind, from)?)?;
                    match entries.last() {
                        Some(Entry::Enter { .. }) if *depth == DEEPEST => {
                            return Err(wire::wrong("directories deeper than 256"));
                        }
                        Some(Entry::Enter { .. }) => *depth += 1,
                        Some(Entry::Leave { .. }) => {
                            *depth = depth.checked_sub(1).ok_or_else(|| wire::wrong("a step out of the directory"))?;
                        }
                        _ => {}
                    }
                    continue;
                }
            };
            if !more && *depth != 0 {
                return Err(wire::wrong("a directory without an end"));
            }
            let streams = match striped {
                true => usize::from(wire::u8(from)?),
                false => 1,
            };
            if striped && !(2..=stripes::MOST).contains(&streams) {
                return Err(wire::wrong(format!("contents over {streams} streams")));
            }
            wire::end(from)?;
            return Ok(List { entries, more, streams });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: Time = Time { seconds: -5, nanoseconds: 999_999_999 };

    fn file(name: &[u8]) -> Entry {
        Entry::File { name: name.into(), size: u64::MAX, mode: 0o640, time: TIME }
    }

    fn directory(name: &[u8]) -> Entry {
        Entry::Enter { name: name.into() }
    }

    fn written(entries: Vec<Entry>, more: bool) -> Vec<u8> {
        let mut bytes = Vec::new();
        List { entries, more, streams: 1 }.write(&mut bytes).unwrap();
        bytes
    }

    fn read(bytes: &[u8]) -> io::Result<List> {
        List::read(&mut &bytes[..], &mut 0)
    }

    fn assert_refused(bytes: &[u8], why: &str) {
        let error = read(bytes).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        assert!(error.to_string().contains(why), "{error}");
    }

    #[test]
    fn what_is_written_is_read() {
        let entries = vec![
            file(b"\xff\n"),
            directory(b"d"),
            Entry::Link { name: b"l".into(), to: b"../x".into() },
            Entry::Leave { mode: 0o755, time: TIME },
            Entry::Pipe,
        ];
        let bytes = written(entries.clone(), false);
        assert_eq!(read(&bytes).unwrap(), List { entries, more: false, streams: 1 });
        // Cut anywhere, it is an error and nothing else.
        for length in 0..bytes.len() {
            assert_refused(&bytes[..length], "it ends too early");
        }
    }

    #[test]
    fn several_streams_are_announced() {
        for (streams, fits) in [(1, true), (2, true), (stripes::MOST, true), (stripes::MOST + 1, false), (255, false)] {
            let list = List { entries: vec![file(b"a")], more: false, streams };
            let mut bytes = Vec::new();
            list.write(&mut bytes).unwrap();
            match fits {
                true => assert_eq!(read(&bytes).unwrap(), list),
                false => assert_refused(&bytes, "contents over"),
            }
            assert_refused(&bytes[..bytes.len() - 1], "it ends too early");
        }
        for streams in [0, 1] {
            assert_refused(&[b"eagre-t\x02.", &[streams][..]].concat(), "contents over");
        }
    }

    #[test]
    fn a_walk_goes_on_in_the_next_list() {
        let mut depth = 0;
        List::read(&mut &written(vec![directory(b"d")], true)[..], &mut depth).unwrap();
        assert_eq!(depth, 1);
        let leave = || vec![Entry::Leave { mode: 0, time: TIME }];
        List::read(&mut &written(leave(), false)[..], &mut depth).unwrap();
        assert_eq!(depth, 0);
        assert_refused(&written(leave(), false), "a step out of the directory");
        assert_refused(&written(vec![directory(b"d")], false), "without an end");
    }

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        for name in [&b"../x"[..], b"/x", b"..", b"", b"a/b", b"a\0", b".x.eagre-part"] {
            assert_refused(&written(vec![file(name)], false), "a name");
            assert_refused(&written(vec![directory(name)], false), "a name");
            assert_refused(&written(vec![Entry::Link { name: name.into(), to: b"x".into() }], false), "a name");
        }
        assert_refused(&written(vec![file(&[b'x'; 300])], false), "a text of 300 bytes where 255 are the most");
    }

    #[test]
    fn rights_of_others_are_not_given() {
        let entries = vec![Entry::File { name: b"a".into(), size: 0, mode: 0o106_755, time: TIME }];
        let Entry::File { mode, .. } = read(&written(entries, false)).unwrap().entries[0] else { panic!() };
        assert_eq!(mode, 0o755);
    }

    #[test]
    fn lists_are_bounded() {
        assert_refused(&written(vec![Entry::Pipe; MOST + 1], false), "too many");
        assert_refused(&written(vec![directory(b"d"); DEEPEST + 1], true), "deeper");
        assert_refused(&written(vec![Entry::Pipe], false)[1..], "no list");
        let mut other = written(Vec::new(), false);
        other[7] = 9;
        assert_refused(&other, "another version");
        let mut more = written(Vec::new(), false);
        more.push(b'.');
        assert_refused(&more, "follows");
        more[8] = b'?';
        assert_refused(&more, "unknown kind");
        let wrong = Time { seconds: 0, nanoseconds: 1_000_000_000 };
        assert_refused(&written(vec![Entry::Leave { mode: 0, time: wrong }], false), "nanoseconds");
    }

    /// Whatever bytes come: a list or an error, and no memory that they only announce.
    #[test]
    fn garbage_is_an_error() {
        let mut random = fastrand::Rng::with_seed(7);
        let whole = written(vec![file(b"abc"), directory(b"d"), Entry::Leave { mode: 0, time: TIME }], false);
        for _ in 0..20_000 {
            let mut bytes = whole.clone();
            for _ in 0..random.usize(1..5) {
                let at = random.usize(..bytes.len());
                bytes[at] = random.u8(..);
            }
            if let Ok(list) = read(&bytes) {
                assert!(list.entries.len() <= bytes.len());
            }
            crate::transfer::read_anything(&bytes);
        }
    }
}
