//! File names as output shows them.
//!
//! A name is printed as it is, byte for byte, unless that would break a line in two: then it is quoted as
//! GNU tools quote it, in a form a shell reads back (`'one'$'\n''two'`). In messages, which also go to
//! logs and terminals, all control characters are quoted so. JSON knows no bytes, only characters: [`Json`].

use serde::Serialize;

/// A name in a line of results: quoted only if it holds a newline, as `wc` does.
pub(crate) fn in_results(name: &[u8]) -> Vec<u8> {
    if name.contains(&b'\n') { quoted(name) } else { name.to_vec() }
}

/// A name in a message.
pub(crate) fn in_messages(name: &[u8]) -> String {
    let shown = if name.is_empty() || name.iter().any(u8::is_ascii_control) { quoted(name) } else { name.to_vec() };
    String::from_utf8_lossy(&shown).into_owned()
}

/// A name in JSON: `"file"` to look at, and, for a name that is not UTF-8, `"file_hex"` with its exact bytes.
#[derive(Serialize)]
pub(crate) struct Json {
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_hex: Option<String>,
}

impl Json {
    pub(crate) fn new(name: Option<&[u8]>) -> Self {
        let odd = name.filter(|name| std::str::from_utf8(name).is_err());
        Self { file: name.map(|name| String::from_utf8_lossy(name).into_owned()), file_hex: odd.map(hex) }
    }
}

/// Bytes as pairs of digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A name quoted for a shell. Characters of UTF-8 that can be seen stay as they are; the rest become
/// escapes inside `$'…'`.
fn quoted(name: &[u8]) -> Vec<u8> {
    let mut out = Quoting::new();
    for chunk in name.utf8_chunks() {
        for c in chunk.valid().chars() {
            let mut utf8 = [0; 4];
            let bytes = c.encode_utf8(&mut utf8).as_bytes();
            if c == '\'' {
                out.quote();
            } else if c.is_control() {
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
    fn only_a_newline_makes_results_quote() {
        assert_eq!(in_results(b"a b\t'\xff"), b"a b\t'\xff");
        assert_eq!(in_results(b"n\nl"), b"'n'$'\\n''l'");
        assert_eq!(in_results(b"n\n"), b"'n'$'\\n'");
        assert_eq!(in_results(b"q'u\n\x01\xc3\xa9\xff\\"), b"'q'\\''u'$'\\n\\001''\xc3\xa9'$'\\377''\\'");
    }

    #[test]
    fn messages_hold_no_control_characters() {
        assert_eq!(in_messages(b"plain name"), "plain name");
        assert_eq!(in_messages(b"bell\x07"), "'bell'$'\\a'");
        assert_eq!(in_messages(b""), "''");
    }
}
