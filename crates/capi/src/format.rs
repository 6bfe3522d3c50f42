//! How bytes are cut into records, and ordered.

use crate::arguments;
use crate::status::{EagreStatus, Fault, status};
use crate::text_order::TextFields;
use crate::versioned::{self, Versioned};
use eagre::external::kernels::Order;
use eagre::records::{Fixed, KeyRange, Klv, Lines, Text};
use std::ffi::c_char;
use std::mem::{offset_of, size_of};

/// The version of EagreFormat in this header.
pub const EAGRE_FORMAT_VERSION: u32 = 1;

/// EagreFormat.flags: the largest key comes first. Records with equal keys stay in the order of the input. For EAGRE_RECORDS_TEXT it is
/// -r of GNU sort: a key with letters of its own is not reversed, unless an r is among them.
pub const EAGRE_DESCENDING: u32 = 1;

/// EagreFormat.flags, for EAGRE_RECORDS_KLV: the most significant byte of a length comes first.
pub const EAGRE_BIG_ENDIAN: u32 = 2;

/// EagreFormat.flags, for EAGRE_RECORDS_TEXT: fields may be in double quotes (RFC 4180), which may hold separators, newlines and
/// doubled quotes. A comma separates them unless separator says otherwise. A key is the text without its quotes.
pub const EAGRE_TEXT_CSV: u32 = 4;

/// EagreFormat.flags, for EAGRE_RECORDS_TEXT: lines with equal keys stay in the order of the input, as with sort -s. Without it all
/// their bytes decide.
pub const EAGRE_TEXT_STABLE: u32 = 8;

/// EagreFormat.flags, for EAGRE_RECORDS_FIXED: NaN of floating-point keys come behind all their numbers, in ascending and in
/// descending order; then NaN equals NaN, and -0 equals 0. Without it they are in their total order, as with eagre_sort.
pub const EAGRE_FIXED_NAN_LAST: u32 = 16;

const FLAGS: u32 = EAGRE_DESCENDING | EAGRE_BIG_ENDIAN | EAGRE_TEXT_CSV | EAGRE_TEXT_STABLE | EAGRE_FIXED_NAN_LAST;

/// cbindgen:rename-all=QualifiedScreamingSnakeCase
/// What records are.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EagreRecords {
    /// Lines, ended by terminator. The key is the line without it.
    Lines = 1,
    /// Records of record_size bytes, with the keys that keys names.
    Fixed = 2,
    /// A key of key_size bytes, the length of the value as a number of length_size bytes, the value.
    Klv = 3,
    /// Lines, ended by terminator, in the orders of LC_ALL=C sort of GNU: text_keys, text_options and separator.
    Text = 4,
}

/// How bytes are cut into records, and in which order these come. Fill it with eagre_format_default, then change what
/// should be different. Keys are compared as memcmp compares; a key that is the beginning of another comes first. Those of text
/// are turned into bytes for which that is the order that was asked for.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct EagreFormat {
    /// The size of this struct in bytes.
    pub size: u32,
    /// EAGRE_FORMAT_VERSION.
    pub version: u32,
    /// An EagreRecords. Default: EAGRE_RECORDS_LINES.
    pub records: i32,
    /// EAGRE_DESCENDING, EAGRE_BIG_ENDIAN, EAGRE_TEXT_CSV, EAGRE_TEXT_STABLE and EAGRE_FIXED_NAN_LAST, added up. Default 0.
    pub flags: u32,
    /// Of lines: the byte that ends them, 0 to 255. Default: a newline.
    pub terminator: u32,
    /// Of EAGRE_RECORDS_KLV: how many bytes the length of a value has, 1 to 8.
    pub length_size: u32,
    /// Of EAGRE_RECORDS_KLV: how many bytes a key has.
    pub key_size: u64,
    /// Of EAGRE_RECORDS_FIXED: how many bytes a record has.
    pub record_size: u64,
    /// Of EAGRE_RECORDS_FIXED: the keys, the one that counts most first, with commas between them; or null, the default: the
    /// whole record. A key is OFFSET:LENGTH for bytes, such as "0:10", or OFFSET:TYPE for a number: u, i or f, 8 to 64 bits,
    /// least significant byte first unless be follows, such as "8:i64" or "0:u32be". A final :desc makes it descending.
    pub keys: *const c_char,
    /// Of EAGRE_RECORDS_TEXT: text_key_count keys as -k of GNU sort has them, the one that counts most first, such as "2,2n" or
    /// "1.3,1.5r"; or null, the default: the whole line.
    pub text_keys: *const *const c_char,
    /// Of EAGRE_RECORDS_TEXT: how many keys text_keys has. Default 0.
    pub text_key_count: u64,
    /// Of EAGRE_RECORDS_TEXT: letters of options of GNU sort, b d f g h i M n r V, which keys without letters of their own
    /// inherit, such as "nr"; or null, the default. An r is EAGRE_DESCENDING.
    pub text_options: *const c_char,
    /// Of EAGRE_RECORDS_TEXT: the byte between fields, as -t of GNU sort has it, such as ",", and "\\0" in C for a NUL; or null,
    /// the default: each field begins with the blanks before it.
    pub separator: *const c_char,
}

// SAFETY: numbers and pointers, with size and version first.
unsafe impl Versioned for EagreFormat {
    const NAME: &'static str = "EagreFormat";
    const FILLED_BY: &'static str = "eagre_format_default";
    const VERSION: u32 = EAGRE_FORMAT_VERSION;
    const SMALLEST: usize = offset_of!(EagreFormat, keys) + size_of::<*const c_char>();
    const DEFAULT: EagreFormat = EagreFormat {
        size: size_of::<EagreFormat>() as u32,
        version: EAGRE_FORMAT_VERSION,
        records: EagreRecords::Lines as i32,
        flags: 0,
        terminator: b'\n' as u32,
        length_size: 0,
        key_size: 0,
        record_size: 0,
        keys: std::ptr::null(),
        text_keys: std::ptr::null(),
        text_key_count: 0,
        text_options: std::ptr::null(),
        separator: std::ptr::null(),
    };
}

/// A format.
#[derive(Clone, Debug)]
pub(crate) enum Records {
    Lines(Lines),
    Fixed(Fixed),
    Klv(Klv),
    Text(Text),
}

/// Evaluates an expression in which `$format` is the format that [`Records`] holds.
macro_rules! with_records {
    ($records:expr, $format:ident => $body:expr) => {
        match $records {
            $crate::format::Records::Lines($format) => $body,
            $crate::format::Records::Fixed($format) => $body,
            $crate::format::Records::Klv($format) => $body,
            $crate::format::Records::Text($format) => $body,
        }
    };
}
pub(crate) use with_records;

impl EagreFormat {
    /// What C asks for: lines in ascending order if it is null. `unique` says whether records with equal keys are the same.
    ///
    /// # Safety
    /// As [`versioned::read`]; `keys` is null or a C string, and the fields of text are as [`TextFields::read`] wants them.
    pub(crate) unsafe fn read(from: *const EagreFormat, unique: bool) -> Result<(Records, Order), Fault> {
        // SAFETY: the caller's promise.
        let format = unsafe { versioned::read(from)? };
        let unknown = format.flags & !FLAGS;
        if unknown != 0 {
            return Err(Fault::invalid(format_args!("format: unknown flags {unknown:#x}")));
        }
        let wrong = |why: String| Fault::invalid(format_args!("format: {why}"));
        let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        let descending = format.flags & EAGRE_DESCENDING != 0;
        let nan_last = format.flags & EAGRE_FIXED_NAN_LAST != 0;
        let without_nan =
            || Fault::invalid("format: EAGRE_FIXED_NAN_LAST is set, and no key is a floating-point number");
        if nan_last && format.records != EagreRecords::Fixed as i32 {
            return Err(without_nan());
        }
        let text = format.text(unique);
        if let Some(field) = text.set().filter(|_| format.records != EagreRecords::Text as i32) {
            return Err(Fault::invalid(format_args!(
                "format: {field} is set, and records is {}: use EAGRE_RECORDS_TEXT, or leave it as it was filled in",
                format.records
            )));
        }
        let records = match format.records {
            kind if kind == EagreRecords::Lines as i32 => Records::Lines(Lines::ended_by(format.terminator()?)),
            kind if kind == EagreRecords::Fixed as i32 => {
                // SAFETY: the caller's promise.
                let keys = unsafe { arguments::text(format.keys) };
                let keys = keys.as_deref().filter(|keys| !keys.is_empty());
                let keys = keys.into_iter().flat_map(|keys| keys.split(','));
                let keys = keys.map(|key| key.trim().parse::<KeyRange>()).collect::<Result<Vec<_>, _>>();
                let fixed = keys.and_then(|keys| Fixed::new(size(format.record_size), &keys)).map_err(wrong)?;
                Records::Fixed(if nan_last { fixed.nan_last(descending).ok_or_else(without_nan)? } else { fixed })
            }
            kind if kind == EagreRecords::Klv as i32 => {
                let big_endian = format.flags & EAGRE_BIG_ENDIAN != 0;
                let klv = Klv::new(size(format.key_size), format.length_size as usize, big_endian);
                Records::Klv(klv.map_err(wrong)?)
            }
            kind if kind == EagreRecords::Text as i32 => {
                if !format.keys.is_null() {
                    return Err(Fault::invalid(
                        "format: keys are for EAGRE_RECORDS_FIXED: those of text are in text_keys",
                    ));
                }
                // SAFETY: the caller's promise.
                let text = unsafe { text.read(format.terminator()?)? };
                // An r among its options has turned the order, too.
                let order = Order::new(text.descending());
                return Ok((Records::Text(text), order));
            }
            kind => {
                return Err(Fault::invalid(format_args!(
                    "format: records is {kind}: it must be an EagreRecords, 1 to 4"
                )));
            }
        };
        Ok((records, Order::new(descending)))
    }

    fn terminator(&self) -> Result<u8, Fault> {
        u8::try_from(self.terminator)
            .map_err(|_| Fault::invalid(format_args!("format: terminator is {}: it must be a byte", self.terminator)))
    }

    /// What it says of text.
    fn text(&self, unique: bool) -> TextFields {
        TextFields {
            keys: self.text_keys,
            key_count: self.text_key_count,
            options: self.text_options,
            separator: self.separator,
            csv: self.flags & EAGRE_TEXT_CSV != 0,
            stable: self.flags & EAGRE_TEXT_STABLE != 0,
            descending: self.flags & EAGRE_DESCENDING != 0,
            unique,
        }
    }
}

/// Fills format with the defaults: lines of text. Call it as eagre_format_default(&format, sizeof format).
///
/// Fails with EAGRE_INVALID if format is null, EAGRE_WRONG_VERSION if size is not that of an EagreFormat.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_format_default(format: *mut EagreFormat, size: usize) -> EagreStatus {
    // SAFETY: the caller's promise.
    status(|| unsafe { versioned::fill(format, size) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_version_keeps_its_size() {
        // 64-bit systems. If this fails, old programs stop working.
        assert_eq!(EagreFormat::SMALLEST, 48);
        assert_eq!(size_of::<EagreFormat>(), 48 + 4 * 8);
    }
}
