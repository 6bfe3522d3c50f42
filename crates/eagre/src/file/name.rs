//! Names of files in messages: one line, whatever a file is called, and nothing that a terminal would obey.
//!
//! Names are bytes. What cannot be seen is quoted as GNU tools quote it, in a form that a shell reads back:
//! `'one'$'\n''two'`.

/// A name in a message: as it is, if all of it can be seen, else quoted.
#[must_use]
pub fn shown(name: &[u8]) -> String {
    match std::str::from_utf8(name) {
        Ok(text) if !text.is_empty() && !text.contains(is_unseen) => text.to_owned(),
        _ => String::from_utf8_lossy(&quoted(name)).into_owned(),
    }
}

/// Control characters, and those that break lines, change the direction of text or take no room.
fn is_unseen(c: char) -> bool {
    let formats = ['\u{200b}'..='\u{200f}', '\u{2028}'..='\u{202e}', '\u{2060}'..='\u{206f}', '\u{feff}'..='\u{feff}'];
    c.is_control() || formats.iter().any(|range| range.contains(&c))
}

/// A name quoted for a shell. Characters of UTF-8 that can be seen stay as they are; the rest become
/// escapes inside `$'…'`.
#[must_use]
pub fn quoted(name: &[u8]) -> Vec<u8> {
    let mut out = Quoting::new();
    for chunk in name.utf8_chunks() {
        for c in chunk.valid().chars() {
            let mut utf8 = [0; 4];
            let bytes = c.encode_utf8(&mut utf8).as_bytes();
            if c == '\'' {
                out.quote();
            } else if is_unseen(c) {
                bytes.iter().for_each(|&byte| out.escape(byte));
            } else {
                out.plain(bytes);
            }
        }
        chunk.invalid().iter().for_each(|&byte| out.escape(byte));
    }
    out.finish()
}

/// The quoting machine: always inside quotes, either `'…'` or `$'…'`.
struct Quoting {
    out: Vec<u8>,
    escaping: bool,
}

impl Quoting {
    fn new() -> Self {
        Self { out: vec![b'\''], escaping: false }
    }

    fn plain(&mut self, bytes: &[u8]) {
        if self.escaping {
            self.out.extend(b"''");
            self.escaping = false;
        }
        self.out.extend(bytes);
    }

    /// A single quote, which cannot stand inside quotes: leave them, escape it, enter them again.
    fn quote(&mut self) {
        self.escaping = false;
        self.out.extend(b"'\\''");
    }

    fn escape(&mut self, byte: u8) {
        if !self.escaping {
            self.out.extend(b"'$'");
            self.escaping = true;
        }
        let letter = match byte {
            0x07 => b'a',
            0x08 => b'b',
            0x09 => b't',
            0x0a => b'n',
            0x0b => b'v',
            0x0c => b'f',
            0x0d => b'r',
            _ => {
                self.out.extend(format!("\\{byte:03o}").as_bytes());
                return;
            }
        };
        self.out.extend([b'\\', letter]);
    }

    fn finish(mut self) -> Vec<u8> {
        self.out.push(b'\'');
        self.out
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
