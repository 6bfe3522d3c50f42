//! Any text in any columns: nothing panics, and the answer is that of a naive reader that takes one line after another.
//! The text comes several times over, so that it fills blocks whose rows are alike.
#![no_main]

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Seek, Write};
use std::num::NonZeroUsize;

use eagre::stats::Aggregator;
use libfuzzer_sys::fuzz_target;

/// The text is repeated up to about this length.
const LONG: usize = 20_000;

/// What rows are made of: most of the time the text consists of these, so that there are some.
const LETTERS: &[u8; 32] = b"0123456789..--+e;;;;\n\n\n\n\r ,abcZ\xc3";

fuzz_target!(|input: (u8, u8, u8, bool, Vec<u8>)| {
    let (delimiter, key, value, header, mut line) = input;
    let delimiter = match delimiter % 4 {
        0 => delimiter,
        1 => b',',
        _ => b';',
    };
    if key >= 64 {
        line.iter_mut().for_each(|byte| *byte = LETTERS[usize::from(*byte % 32)]);
    }
    if line.is_empty() || matches!(delimiter, b'\n' | b'\r') {
        return;
    }
    let text = line.repeat(LONG / line.len() + 1);
    let (key, value) = (usize::from(key % 4), usize::from(value % 4));
    let column = |number: usize| NonZeroUsize::new(number + 1).unwrap();

    let mut aggregator = Aggregator::new().delimiter(delimiter).columns(column(key), column(value));
    aggregator = aggregator.header(header).skip_bad(true).threads(1);
    let added = aggregator.input(file(&text).into()).unwrap();
    let table = aggregator.finish().unwrap();

    let mut groups: BTreeMap<&[u8], (u64, i128, i128, i128)> = BTreeMap::new();
    let mut skipped = 0;
    let body = text.strip_suffix(b"\n").unwrap_or(&text);
    for line in body.split(|&byte| byte == b'\n').skip(usize::from(header)) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            continue;
        }
        let fields: Vec<&[u8]> = line.split(|&byte| byte == delimiter).collect();
        let number = fields.get(value).and_then(|field| number(field));
        let (Some(key), Some(number)) = (fields.get(key), number) else {
            skipped += 1;
            continue;
        };
        let group = groups.entry(key).or_insert((0, number, 0, number));
        *group = (group.0 + 1, group.1.min(number), group.2.saturating_add(number), group.3.max(number));
    }
    assert_eq!(added.skipped, skipped);
    assert_eq!(table.len(), groups.len());
    for (got, (key, (count, min, sum, max))) in table.iter().zip(groups) {
        assert_eq!((got.key, got.count), (key, count));
        let units = |number: eagre::stats::Decimal| self::number(number.to_text(18).as_bytes()).unwrap();
        assert_eq!((units(got.min), units(got.max)), (min, max));
        if sum.unsigned_abs() >= i128::MAX.unsigned_abs() / 2 {
            // Too much for the naive way.
            continue;
        }
        // Half up to whole units: the mean has no more digits.
        let count = i128::from(count);
        let mean = sum.div_euclid(count) + i128::from(2 * sum.rem_euclid(count) >= count);
        assert_eq!(units(got.mean(18)), mean);
    }
});

/// A number in units of 10^-18.
fn number(text: &[u8]) -> Option<i128> {
    let text = std::str::from_utf8(text.trim_ascii()).ok()?;
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (digits, exponent) = match digits.split_once(['e', 'E']) {
        Some((digits, exponent)) if !exponent.is_empty() && exponent.trim_start_matches(['-', '+']).len() + 1 >= exponent.len() => {
            let (size, all) = (exponent.trim_start_matches(['-', '+']), exponent.len());
            if size.is_empty() || !size.bytes().all(|byte| byte.is_ascii_digit()) || all - size.len() > 1 {
                return None;
            }
            let size = size.parse().unwrap_or(1_000_000).min(1_000_000_i64);
            (digits, Some(if exponent.starts_with('-') { -size } else { size }))
        }
        Some(_) => return None,
        None => (digits, None),
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.len() + part.len() == 0 || !whole.bytes().chain(part.bytes()).all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let all = format!("{whole}{part}");
    let mantissa = all.trim_start_matches('0');
    // Zeros at the end move the point.
    let short = mantissa.trim_end_matches('0');
    let behind = part.len() as i64 - exponent.unwrap_or(0) - (mantissa.len() - short.len()) as i64;
    if short.is_empty() {
        return Some(0);
    }
    // What is beyond the eighteenth decimal is rounded, half away from zero.
    let units = if behind > 18 {
        let kept = short.len() as i64 - (behind - 18);
        let up = i128::from(kept >= 0 && short.as_bytes()[kept as usize] >= b'5');
        let head = if kept > 0 { short[..kept as usize].parse::<i128>().unwrap_or(i128::MAX / 2) } else { 0 };
        head + up
    } else if short.len() as i64 - behind > 18 {
        return None;
    } else {
        format!("{short}{}", "0".repeat((18 - behind) as usize)).parse().ok()?
    };
    if units >= 10_i128.pow(36) {
        return None;
    }
    Some(if text.starts_with('-') { -units } else { units })
}

fn file(text: &[u8]) -> File {
    let mut file = File::from(rustix::fs::memfd_create("text", rustix::fs::MemfdFlags::CLOEXEC).unwrap());
    file.write_all(text).unwrap();
    file.rewind().unwrap();
    file
}
