//! Text for people: versions and reports.

use crate::arguments;
use crate::status::value;
use std::ffi::c_char;

/// The version of the library, such as "0.1.0". The text is constant and belongs to the library.
#[unsafe(no_mangle)]
pub extern "C" fn eagre_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Who waits for whom, in every open stream of this process: a line for each waiting end, none if nobody waits.
///
/// Writes at most size bytes to buffer, the zero byte at the end included, and returns how long the whole report is
/// without it, as snprintf does. buffer may be null if size is 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_wait_report(buffer: *mut c_char, size: usize) -> usize {
    value(0, || {
        let report: String = eagre::wait_report().iter().map(|wait| format!("{wait}\n")).collect();
        // SAFETY: the caller's promise.
        let buffer = unsafe { arguments::bytes_mut(buffer.cast(), size)? };
        Ok(print(&report, buffer))
    })
}

/// What works on this machine: a line for each pair of a trap and a mover, with the reason and the cure if it does not.
///
/// Writes to buffer and returns as eagre_wait_report does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_doctor(buffer: *mut c_char, size: usize) -> usize {
    value(0, || {
        let line = |pair: &eagre::probe::PairStatus| {
            let why = pair.refusal.as_deref().unwrap_or(if pair.selected { "works; the default" } else { "works" });
            let cure = pair.cure.as_ref().map_or(String::new(), |cure| format!("; {cure}"));
            format!("{}: {why}{cure}\n", pair.pair)
        };
        let report: String = eagre::probe::examine().iter().map(line).collect();
        // SAFETY: the caller's promise.
        let buffer = unsafe { arguments::bytes_mut(buffer.cast(), size)? };
        Ok(print(&report, buffer))
    })
}

/// Puts as much of `text` as fits into `buffer`, and a zero byte.
pub(crate) fn print(text: &str, buffer: &mut [u8]) -> usize {
    if let Some(room) = buffer.len().checked_sub(1) {
        let len = text.len().min(room);
        buffer[..len].copy_from_slice(&text.as_bytes()[..len]);
        buffer[len] = 0;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_what_fits() {
        let mut buffer = [b'?'; 4];
        assert_eq!(print("abcdef", &mut buffer), 6);
        assert_eq!(&buffer, b"abc\0");
        assert_eq!(print("a", &mut buffer), 1);
        assert_eq!(&buffer, b"a\0c\0");
        assert_eq!(print("a", &mut []), 1);
    }
}
