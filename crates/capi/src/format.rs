//! How bytes are cut into records, and ordered.

use crate::arguments;
use crate::status::{EagreStatus, Fault, status};
use crate::versioned::{self, Versioned};
use eagre::external::kernels::Order;
use eagre::records::{Fixed, KeyRange, Klv, Lines};
use std::ffi::c_char;
use std::mem::{offset_of, size_of};

/// The version of EagreFormat in this header.
pub const EAGRE_FORMAT_VERSION: u32 = 1;

/// EagreFormat.flags: the largest key comes first. Records with equal keys stay in the order of the input.
pub const EAGRE_DESCENDING: u32 = 1;

/// EagreFormat.flags, for EAGRE_RECORDS_KLV: the most significant byte of a length comes first.
pub const EAGRE_BIG_ENDIAN: u32 = 2;

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
}

/// How bytes are cut into records, and in which order these come. Fill it with eagre_format_default, then change what
/// should be different. Keys are compared as memcmp compares; a key that is the beginning of another comes first.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct EagreFormat {
    /// The size of this struct in bytes.
    pub size: u32,
    /// EAGRE_FORMAT_VERSION.
    pub version: u32,
    /// An EagreRecords. Default: EAGRE_RECORDS_LINES.
    pub records: i32,
    /// EAGRE_DESCENDING and EAGRE_BIG_ENDIAN, added up. Default 0.
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
    };
}

/// A format.
#[derive(Clone, Debug)]
pub(crate) enum Records {
    Lines(Lines),
    Fixed(Fixed),
    Klv(Klv),
}

/// Evaluates an expression in which `$format` is the format that [`Records`] holds.
macro_rules! with_records {
    ($records:expr, $format:ident => $body:expr) => {
        match $records {
            $crate::format::Records::Lines($format) => $body,
            $crate::format::Records::Fixed($format) => $body,
            $crate::format::Records::Klv($format) => $body,
        }
    };
}
pub(crate) use with_records;

impl EagreFormat {
    /// What C asks for: lines in ascending order if it is null.
    ///
    /// # Safety
    /// As [`versioned::read`]; `keys` is null or a C string.
    pub(crate) unsafe fn read(from: *const EagreFormat) -> Result<(Records, Order), Fault> {
        // SAFETY: the caller's promise.
        let format = unsafe { versioned::read(from)? };
        let unknown = format.flags & !(EAGRE_DESCENDING | EAGRE_BIG_ENDIAN);
        if unknown != 0 {
            return Err(Fault::invalid(format_args!("format: unknown flags {unknown:#x}")));
        }
        let wrong = |why: String| Fault::invalid(format_args!("format: {why}"));
        let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        let records = match format.records {
            kind if kind == EagreRecords::Lines as i32 => {
                let terminator = u8::try_from(format.terminator).map_err(|_| {
                    Fault::invalid(format_args!("format: terminator is {}: it must be a byte", format.terminator))
                })?;
                Records::Lines(Lines::ended_by(terminator))
            }
            kind if kind == EagreRecords::Fixed as i32 => {
                // SAFETY: the caller's promise.
                let keys = unsafe { arguments::text(format.keys) };
                let keys = keys.as_deref().filter(|keys| !keys.is_empty());
                let keys = keys.into_iter().flat_map(|keys| keys.split(','));
                let keys = keys.map(|key| key.trim().parse::<KeyRange>()).collect::<Result<Vec<_>, _>>();
                Records::Fixed(keys.and_then(|keys| Fixed::new(size(format.record_size), &keys)).map_err(wrong)?)
            }
            kind if kind == EagreRecords::Klv as i32 => {
                let big_endian = format.flags & EAGRE_BIG_ENDIAN != 0;
                let klv = Klv::new(size(format.key_size), format.length_size as usize, big_endian);
                Records::Klv(klv.map_err(wrong)?)
            }
            kind => {
                return Err(Fault::invalid(format_args!(
                    "format: records is {kind}: it must be an EagreRecords, 1 to 3"
                )));
            }
        };
        Ok((records, Order::new(format.flags & EAGRE_DESCENDING != 0)))
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
    }
}
