//! File names in output.
//!
//! In results, a name is printed byte for byte, unless it contains a newline. It is then quoted as GNU tools quote it
//! ([`eagre::file::name`]). In messages, which also go to logs and terminals, a name with any invisible character is quoted
//! in this way. JSON has only characters and no bytes: see [`Json`].

use eagre::file::name;
use serde::Serialize;

/// A name in a line of results. It is quoted only if it contains a newline, as with `wc`.
pub(crate) fn in_results(name: &[u8]) -> Vec<u8> {
    if name.contains(&b'\n') { name::quoted(name) } else { name.to_vec() }
}

/// A name in a message.
pub(crate) fn in_messages(name: &[u8]) -> String {
    name::shown(name)
}

/// A name in JSON: `"file"`, and, if the name is not UTF-8, also `"file_hex"` with its exact bytes.
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

/// Bytes as pairs of hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
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
        assert_eq!(in_messages(b"no \xff utf"), "'no '$'\\377'' utf'");
    }
}
