//! File names in messages. They take one line and contain nothing that a terminal would interpret, whatever the file is
//! called.
//!
//! Names are bytes. A name with invisible characters is quoted as GNU tools quote it, in a form that a shell reads
//! back: `'one'$'\n''two'`.

use std::fmt::{self, Write};

/// A name for a message: as it is if every character is visible, quoted otherwise.
#[must_use]
pub fn shown(name: &[u8]) -> String {
    Shown(name).to_string()
}

/// The same as a value to display, without allocating.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a>(pub &'a [u8]);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match std::str::from_utf8(self.0) {
            Ok(text) if !text.is_empty() && !text.contains(is_unseen) => f.write_str(text),
            _ => quote(self.0, f),
        }
    }
}

/// Control characters, and characters that break lines, change the direction of text or have no width.
fn is_unseen(c: char) -> bool {
    let formats = ['\u{200b}'..='\u{200f}', '\u{2028}'..='\u{202e}', '\u{2060}'..='\u{206f}', '\u{feff}'..='\u{feff}'];
    c.is_control() || formats.iter().any(|range| range.contains(&c))
}

/// A name quoted for a shell. Visible UTF-8 characters stay as they are, and the rest become escapes inside `$'…'`.
#[must_use]
pub fn quoted(name: &[u8]) -> Vec<u8> {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = quote(name, &mut out);
    out.into_bytes()
}

fn quote(name: &[u8], out: &mut dyn Write) -> fmt::Result {
    let mut out = Quoting { out, escaping: false };
    out.out.write_char('\'')?;
    for chunk in name.utf8_chunks() {
        for c in chunk.valid().chars() {
            let mut utf8 = [0; 4];
            let text = c.encode_utf8(&mut utf8);
            if c == '\'' {
                out.quote()?;
            } else if is_unseen(c) {
                text.bytes().try_for_each(|byte| out.escape(byte))?;
            } else {
                out.plain(text)?;
            }
        }
        chunk.invalid().iter().try_for_each(|&byte| out.escape(byte))?;
    }
    out.out.write_char('\'')
}

/// The state of quoting. It is always inside quotes, either `'…'` or `$'…'`.
struct Quoting<'a> {
    out: &'a mut dyn Write,
    escaping: bool,
}

impl Quoting<'_> {
    fn plain(&mut self, text: &str) -> fmt::Result {
        if self.escaping {
            self.out.write_str("''")?;
            self.escaping = false;
        }
        self.out.write_str(text)
    }

    /// A single quote cannot stand inside quotes: this leaves them, escapes it and enters them again.
    fn quote(&mut self) -> fmt::Result {
        self.escaping = false;
        self.out.write_str("'\\''")
    }

    fn escape(&mut self, byte: u8) -> fmt::Result {
        if !self.escaping {
            self.out.write_str("'$'")?;
            self.escaping = true;
        }
        let letter = match byte {
            0x07 => 'a',
            0x08 => 'b',
            0x09 => 't',
            0x0a => 'n',
            0x0b => 'v',
            0x0c => 'f',
            0x0d => 'r',
            _ => return write!(self.out, "\\{byte:03o}"),
        };
        write!(self.out, "\\{letter}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_quoted() {
        for (name, there) in [
            (&b"plain name"[..], "plain name"),
            ("gr\u{f6}\u{df}e".as_bytes(), "gr\u{f6}\u{df}e"),
            (b"", "''"),
            (b"a\nb", "'a'$'\\n''b'"),
            (b"\x1b[31m", "''$'\\033''[31m'"),
            (b"\xff'", "''$'\\377'\\'''"),
            ("\u{202e}txt".as_bytes(), "''$'\\342\\200\\256''txt'"),
        ] {
            assert_eq!(shown(name), there);
        }
    }
}
