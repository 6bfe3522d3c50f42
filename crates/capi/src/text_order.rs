//! Lines in the orders of GNU sort: what an EagreFormat says of them.
//!
//! Keys, options and separators are spelled as on the command line of `sort`, and the library's own parser reads them.

use crate::arguments;
use crate::status::Fault;
use eagre::records::{Text, TextKey, TextOptions, TextOrder};
use std::ffi::c_char;

/// What C says of text, and what the rest of the format means for it.
pub(crate) struct TextFields {
    pub(crate) keys: *const *const c_char,
    pub(crate) key_count: u64,
    pub(crate) options: *const c_char,
    pub(crate) separator: *const c_char,
    pub(crate) csv: bool,
    pub(crate) stable: bool,
    pub(crate) descending: bool,
    /// Lines with equal keys are the same: only the keys count then.
    pub(crate) unique: bool,
}

impl TextFields {
    /// A field that is set, if there is one: it would mean nothing for other records.
    pub(crate) fn set(&self) -> Option<&'static str> {
        let fields = [
            (self.key_count > 0, "text_keys"),
            (!self.options.is_null(), "text_options"),
            (!self.separator.is_null(), "separator"),
            (self.csv, "EAGRE_TEXT_CSV"),
            (self.stable, "EAGRE_TEXT_STABLE"),
        ];
        fields.into_iter().find(|(set, _)| *set).map(|(_, name)| name)
    }

    /// Lines that end with `terminator`, in this order.
    ///
    /// # Safety
    /// `keys` is null or points to `key_count` pointers; these, `options` and `separator` are null or C strings.
    pub(crate) unsafe fn read(&self, terminator: u8) -> Result<Text, Fault> {
        // SAFETY: the caller's promise.
        let (letters, separator) = unsafe { (arguments::text(self.options), arguments::string(self.separator)) };
        let letters = letters.unwrap_or_default();
        let mut options: TextOptions = letters.parse().map_err(|why: String| {
            Fault::invalid(format_args!("format: text_options is \"{}\": {why}", letters.escape_debug()))
        })?;
        if self.descending && !letters.contains('r') {
            // The same letters once more, which were right.
            options = format!("{letters}r").parse().map_err(Fault::invalid)?;
        }
        let order = TextOrder::new().terminator(terminator).options(options);
        let mut order = order.csv(self.csv).stable(self.stable).unique(self.unique);
        if let Some(separator) = separator {
            order = order.separator(byte(separator)?);
        }
        for number in 0..self.key_count as usize {
            // SAFETY: the caller's promise: so many pointers, each to a C string unless it is null.
            let key = unsafe { arguments::text(*arguments::shared(self.keys.wrapping_add(number), "text_keys")?) };
            let key =
                key.ok_or_else(|| Fault::invalid(format_args!("format: text_keys[{number}] is a null pointer")))?;
            let parsed: TextKey = key.parse().map_err(|why| {
                let shown = key.escape_debug();
                Fault::invalid(format_args!(
                    "format: text_keys[{number}] is \"{shown}\": {why}; write it as -k of sort, such as 2,2n"
                ))
            })?;
            order = order.key(parsed);
        }
        order.build().map_err(|why| Fault::invalid(format_args!("format: {why}")))
    }
}

/// The byte that separates fields, as `-t` of GNU sort names it.
fn byte(separator: &[u8]) -> Result<u8, Fault> {
    match separator {
        b"\\0" => Ok(0),
        [byte] => Ok(*byte),
        _ => Err(Fault::invalid(format_args!(
            "format: separator is \"{}\": it must be one byte, or \\0 for a NUL",
            separator.escape_ascii()
        ))),
    }
}
