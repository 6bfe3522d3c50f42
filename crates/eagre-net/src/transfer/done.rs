//! What the receiver says at the end of a round: which files it could not take. All others are on its disk.
#![forbid(unsafe_code)]

use std::io::{self, Read, Write};

use super::wire;

/// The most failures that are told one by one.
pub(super) const MOST: usize = 1000;
/// The most bytes of a reason.
const LONGEST: usize = 500;

/// An entry of the list that the receiver could not take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failed {
    pub(super) entry: u32,
    pub(super) why: String,
}

/// The end of a round.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Done {
    /// How many entries failed, also those that are not told.
    pub(super) failed: u64,
    pub(super) told: Vec<Failed>,
}

impl Done {
    /// Notes a failure.
    pub(super) fn add(&mut self, entry: usize, why: &str) {
        self.failed += 1;
        if self.told.len() < MOST {
            self.told.push(Failed { entry: u32::try_from(entry).unwrap_or(u32::MAX), why: why.to_owned() });
        }
    }

    pub(super) fn write(&self, to: &mut impl Write) -> io::Result<()> {
        to.write_all(&self.failed.to_le_bytes())?;
        to.write_all(&u16::try_from(self.told.len()).unwrap_or(u16::MAX).to_le_bytes())?;
        for Failed { entry, why } in &self.told {
            to.write_all(&entry.to_le_bytes())?;
            wire::put_text(to, cut(why, LONGEST).as_bytes())?;
        }
        Ok(())
    }

    /// Reads the end of a round of `entries` entries. Its texts are one line, and nothing in them that a terminal obeys.
    ///
    /// # Errors
    /// Those of reading. [`io::ErrorKind::InvalidData`] for anything else.
    pub(super) fn read(from: &mut impl Read, entries: usize) -> io::Result<Done> {
        let failed = wire::u64(from)?;
        let told = usize::from(wire::u16(from)?);
        if told > MOST || failed > entries as u64 || (told as u64) > failed {
            return Err(wire::wrong("more failures than files"));
        }
        let mut done = Done { failed, told: Vec::new() };
        for _ in 0..told {
            let entry = wire::u32(from)?;
            if entry as usize >= entries {
                return Err(wire::wrong("a failure of no file"));
            }
            done.told.push(Failed { entry, why: plain(&wire::text(from, LONGEST)?) });
        }
        wire::end(from)?;
        Ok(done)
    }
}

/// A text of the other side, for a line on a terminal.
pub(super) fn plain(text: &[u8]) -> String {
    String::from_utf8_lossy(text).chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect()
}

/// The beginning of a text, within `most` bytes.
fn cut(text: &str, most: usize) -> &str {
    let at = (0..=most.min(text.len())).rev().find(|&at| text.is_char_boundary(at));
    &text[..at.unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut done = Done::default();
        for entries in [0, 3] {
            let mut bytes = Vec::new();
            done.write(&mut bytes).unwrap();
            assert_eq!(Done::read(&mut &bytes[..], entries).unwrap(), done);
            assert!(Done::read(&mut &bytes[..bytes.len() - 1], entries).is_err());
            done.add(2, "disk full");
        }
    }

    #[test]
    fn texts_are_short_and_plain() {
        let mut done = Done::default();
        done.add(0, &format!("a\x1b[31m\n{}", "\u{e4}".repeat(600)));
        let mut bytes = Vec::new();
        done.write(&mut bytes).unwrap();
        let read = Done::read(&mut &bytes[..], 1).unwrap();
        let why = &read.told[0].why;
        assert!(why.starts_with("a?[31m?") && !why.contains('\u{fffd}') && why.len() <= LONGEST, "{why}");
        assert!(Done::read(&mut &bytes[..], 0).is_err());
        for _ in 0..2000 {
            done.add(1, "x");
        }
        assert_eq!((done.failed, done.told.len()), (2001, MOST));
    }
}
