//! Sizes and times in readable form.

use std::time::Duration;

/// A size with at most four digits: `512 B`, `1.5 KiB`, `23.4 GiB`.
pub(crate) fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    // 1023.95 would be printed as 1024.0.
    while value >= 1023.95 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let number = format!("{value:.1}");
    format!("{} {}", number.trim_end_matches(".0"), UNITS[unit])
}

/// A time in whole seconds, minutes or hours: `7 s`, `3 min 20 s`, `2 h 5 min`.
pub(crate) fn time(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (size, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1 KiB"),
            (1536, "1.5 KiB"),
            (1 << 20, "1 MiB"),
            ((1 << 20) - 1, "1 MiB"),
            (u64::MAX, "16 EiB"),
        ] {
            assert_eq!(bytes(size), text);
        }
    }

    #[test]
    fn times() {
        for (seconds, text) in [(7, "7 s"), (200, "3 min 20 s"), (7500, "2 h 5 min")] {
            assert_eq!(time(Duration::from_secs(seconds)), text);
        }
    }
}
