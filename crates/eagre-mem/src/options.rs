//! What the environment may say: one table. Who asks for a value says what type it is of, so that this module knows no other.
#![forbid(unsafe_code)]

use std::str::FromStr;
use std::time::Duration;

/// One environment variable.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Its name.
    pub name: &'static str,
    /// What it may be.
    pub values: &'static str,
    /// What holds without it.
    pub default: &'static str,
    /// What it does.
    pub doc: &'static str,
}

/// Every environment variable Eagre reads.
pub const SETTINGS: &[Setting] = &[
    Setting {
        name: "EAGRE_TRAP",
        values: "pager, signal, off",
        default: "the first that works, in this order",
        doc: "how a touch of a stream pointer is noticed",
    },
    Setting {
        name: "EAGRE_MOVER",
        values: "move, remap, map, copy",
        default: "the first that works, in this order, but for map, which is for who asks for it",
        doc: "how a block changes its address",
    },
    Setting {
        name: "EAGRE_POOL",
        values: "a number of bytes; K, M, G or T may follow",
        default: "half of the memory this process may use",
        doc: "the most memory that streams hold together",
    },
    Setting {
        name: "EAGRE_IO",
        values: "uring, blocking",
        default: "reading: uring where it works; writing: blocking",
        doc: "how files are read and written past the page cache: many requests at a time, or one after the other",
    },
    Setting {
        name: "EAGRE_WAIT_REPORT",
        values: "a number of seconds",
        default: "never",
        doc: "after how long a wait of one end for the other is reported on standard error",
    },
    Setting {
        name: "EAGRE_PLAN",
        values: "map, read, direct, stream",
        default: "what suits the file: how large it is, and how much of it is in memory",
        doc: "how regular files are scanned",
    },
    Setting {
        name: "EAGRE_SIMD",
        values: "avx512, avx2, neon, portable",
        default: "the best that this processor has",
        doc: "the vector instructions of scanning and sorting",
    },
];

fn read<T>(name: &str, parse: impl Fn(&str) -> Option<T>) -> Result<Option<T>, String> {
    let Some(value) = std::env::var_os(name) else { return Ok(None) };
    let text = value.to_string_lossy();
    if text.is_empty() {
        return Ok(None);
    }
    let values = SETTINGS.iter().find(|setting| setting.name == name).map_or("", |setting| setting.values);
    parse(&text).map(Some).ok_or_else(|| format!("{name}={text}: not a value it takes; set one of: {values}"))
}

/// The trap the environment asks for.
pub(crate) fn trap<T: FromStr>() -> Result<Option<T>, String> {
    read("EAGRE_TRAP", |text| text.parse().ok())
}

/// The mover the environment asks for.
pub(crate) fn mover<T: FromStr>() -> Result<Option<T>, String> {
    read("EAGRE_MOVER", |text| text.parse().ok())
}

/// The pool budget the environment asks for, in bytes. A value that cannot be read is reported by
/// [`check_numbers`].
pub(crate) fn pool_bytes() -> Option<u64> {
    read("EAGRE_POOL", parse_bytes).ok().flatten()
}

/// After how long a wait is reported.
pub(crate) fn wait_report() -> Option<Duration> {
    read("EAGRE_WAIT_REPORT", |text| text.parse().ok().and_then(|s| Duration::try_from_secs_f64(s).ok())).ok().flatten()
}

/// How files are read and written past the page cache, if the environment says so.
///
/// # Errors
/// The value is not one: a message of one line.
pub fn io<T: FromStr>() -> Result<Option<T>, String> {
    read("EAGRE_IO", |text| text.parse().ok())
}

/// How the environment wants regular files scanned, read by `parse`.
///
/// # Errors
/// The value is not one: a message of one line.
pub fn plan<T>(parse: impl Fn(&str) -> Option<T>) -> Result<Option<T>, String> {
    read("EAGRE_PLAN", parse)
}

/// The vector instructions that the environment asks for, read by `parse`.
///
/// # Errors
/// The value is not one: a message of one line.
pub fn simd<T>(parse: impl Fn(&str) -> Option<T>) -> Result<Option<T>, String> {
    read("EAGRE_SIMD", parse)
}

/// Reports the first of the numbers that cannot be read, in one line.
pub(crate) fn check_numbers() -> Result<(), String> {
    read("EAGRE_POOL", parse_bytes)?;
    read("EAGRE_WAIT_REPORT", |text| text.parse::<f64>().ok().filter(|s| *s >= 0.0))?;
    Ok(())
}

/// A number of bytes as people write it: `4096`, `64K`, `3MiB`, `1T`. Powers of 1024. `None` if it is not one.
pub fn parse_bytes(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" | "KIB" => 10,
        "M" | "MIB" => 20,
        "G" | "GIB" => 30,
        "T" | "TIB" => 40,
        _ => return None,
    };
    let number = digits.bytes().all(|digit| digit.is_ascii_digit()).then_some(digits)?;
    number.parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_with_and_without_units() {
        for (text, bytes) in [("0", 0), ("512", 512), ("4K", 4096), ("3m", 3 << 20), ("2GiB", 2 << 30)] {
            assert_eq!(parse_bytes(text), Some(bytes), "{text}");
        }
        for text in ["", "x", "4 K", "-1", "9999999999999T", "1E", "+2"] {
            assert_eq!(parse_bytes(text), None, "{text}");
        }
    }
}
