//! Files to sort: what they hold, and whether a sorted one holds the same in order.
//!
//! A sorted file is right if each item stands before those that may follow it, and if the number of items and the sum of
//! their digests are those of the input. Records of the sort benchmark are checked by the library, whose checksum is that of
//! `valsort`; all other formats by the plain code here.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use eagre::gensort::{self, Generator};
use serde::{Deserialize, Serialize};

use super::text::{Random, Words};
use crate::catalogue::Data;
use crate::trouble::Trouble;

/// Bytes read or written at a time, at least.
const PORTION: usize = 4 << 20;

/// What a file holds, whatever the order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Contents {
    /// How many records or lines.
    pub items: u64,
    /// The sum of their digests.
    pub digest: u64,
}

impl Contents {
    fn add(&mut self, item: &[u8]) {
        self.items += 1;
        self.digest = self.digest.wrapping_add(digest(item));
    }
}

/// Makes a file of about `size` bytes, and says what a sorted one holds.
pub(super) fn make(path: &Path, data: Data, size: u64) -> io::Result<Contents> {
    let items = size / data.item();
    match data {
        Data::Records | Data::Ascii => {
            Generator::new().ascii(data == Data::Ascii).file(path, 0, items)?;
            Ok(records(path)?.0)
        }
        Data::Fixed { .. } | Data::Words => {
            let mut random = Random::new(2);
            written(path, data, size, |item| {
                item.resize(data.item() as usize, 0);
                item.chunks_mut(8).for_each(|part| part.copy_from_slice(&random.next().to_le_bytes()[..part.len()]));
            })
        }
        Data::Lines => {
            let mut words = Words::new();
            written(path, data, size, |line| words.line(line))
        }
        Data::Table => {
            let (mut words, mut random, mut name) = (Words::new(), Random::new(3), 0u64);
            written(path, data, size, |line| {
                name += 1;
                let cents = random.below(2_000_000_000) as i64 - 1_000_000_000;
                let (sign, cents) = (if cents < 0 { "-" } else { "" }, cents.unsigned_abs());
                line.extend(format!("n{name},{sign}{}.{:02},", cents / 100, cents % 100).bytes());
                words.line(line);
            })
        }
        Data::Few => {
            let (mut words, mut random) = (Words::new(), Random::new(4));
            let lines: Vec<Vec<u8>> = std::iter::repeat_with(|| {
                let mut line = Vec::new();
                words.line(&mut line);
                line
            })
            .take(1000)
            .collect();
            let mut seen = HashSet::new();
            written(path, data, size, |line| {
                let one = &lines[random.below(lines.len() as u64) as usize];
                seen.insert(one);
                line.extend_from_slice(one);
            })?;
            let mut once = Contents::default();
            seen.into_iter().for_each(|line| once.add(&line[..line.len() - 1]));
            Ok(once)
        }
    }
}

/// Writes items until there are `size` bytes.
fn written(path: &Path, data: Data, size: u64, mut next: impl FnMut(&mut Vec<u8>)) -> io::Result<Contents> {
    let mut file = BufWriter::with_capacity(PORTION, File::create_new(path)?);
    let (mut contents, mut item, mut at) = (Contents::default(), Vec::new(), 0);
    while at < size {
        item.clear();
        next(&mut item);
        file.write_all(&item)?;
        at += item.len() as u64;
        // A digest is of a line without its end.
        contents.add(&item[..item.len() - usize::from(data.is_lines())]);
    }
    file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_data()?;
    Ok(contents)
}

/// What the sorted file at `path` holds, if it is in order.
pub(crate) fn check(path: &Path, data: Data) -> Result<Contents, Trouble> {
    let failed = |e| Trouble::failed("output", e);
    let (contents, disorder) = match data {
        Data::Records | Data::Ascii => records(path).map_err(failed)?,
        Data::Fixed { .. } => items(path, Some(data.item() as usize), |a, b| a[..10] <= b[..10]).map_err(failed)?,
        Data::Words => items(path, Some(8), |a, b| word(a) <= word(b)).map_err(failed)?,
        Data::Lines => items(path, None, |a, b| a <= b).map_err(failed)?,
        Data::Few => items(path, None, |a, b| a < b).map_err(failed)?,
        Data::Table => {
            items(path, None, |a, b| number(a).cmp(&number(b)).then(a.cmp(b)) != Ordering::Greater).map_err(failed)?
        }
    };
    match disorder {
        Some(at) => Err(Trouble::Wrong(format!("item {at} stands behind a greater one"))),
        None => Ok(contents),
    }
}

/// Contents, and the first item that stands behind a greater one.
type Looked = (Contents, Option<u64>);

/// Of records of the sort benchmark.
fn records(path: &Path) -> io::Result<Looked> {
    let found = gensort::file(path)?;
    if found.remainder > 0 {
        return Err(io::Error::other(format!("{} bytes behind the last record", found.remainder)));
    }
    let summary = found.summary;
    let contents = Contents { items: summary.records as u64, digest: summary.checksum as u64 };
    Ok((contents, summary.first_unordered.map(|at| at as u64)))
}

/// Of items of `length` bytes, or of lines; `in_order` says whether one may stand before another.
fn items(path: &Path, length: Option<usize>, in_order: impl Fn(&[u8], &[u8]) -> bool) -> io::Result<Looked> {
    let mut file = File::open(path)?;
    let (mut contents, mut disorder) = (Contents::default(), None);
    let (mut buffer, mut held, mut before) = (vec![0; PORTION], 0, Vec::<u8>::new());
    loop {
        let got = file.read(&mut buffer[held..])?;
        held += got;
        let mut at = 0;
        let mut last: Option<&[u8]> = Some(&before).filter(|_| contents.items > 0).map(Vec::as_slice);
        loop {
            let rest = &buffer[at..held];
            let (item, next) = match length {
                Some(length) if length <= rest.len() => (&rest[..length], at + length),
                None => match memchr::memchr(b'\n', rest) {
                    Some(end) => (&rest[..end], at + end + 1),
                    None => break,
                },
                _ => break,
            };
            if disorder.is_none() && last.is_some_and(|last| !in_order(last, item)) {
                disorder = Some(contents.items);
            }
            contents.add(item);
            (last, at) = (Some(item), next);
        }
        if let Some(last) = last.filter(|_| at > 0) {
            before = last.to_vec();
        }
        buffer.copy_within(at..held, 0);
        held -= at;
        if got == 0 && held > 0 {
            return Err(io::Error::other(format!("{held} bytes behind the last item")));
        } else if got == 0 {
            return Ok((contents, disorder));
        } else if held == buffer.len() {
            return Err(io::Error::other("a line without an end"));
        }
    }
}

fn word(bytes: &[u8]) -> u64 {
    bytes.try_into().map_or(0, u64::from_le_bytes)
}

/// The number in the second field of a row, in hundredths.
fn number(row: &[u8]) -> i64 {
    let field = row.split(|&byte| byte == b',').nth(1).unwrap_or_default();
    let (digits, negative) = field.strip_prefix(b"-").map_or((field, false), |digits| (digits, true));
    let digits = digits.iter().filter(|byte| byte.is_ascii_digit());
    let cents = digits.fold(0, |sum: i64, digit| sum * 10 + i64::from(digit - b'0'));
    if negative { -cents } else { cents }
}

/// A number for an item, of all its bytes and its length.
fn digest(item: &[u8]) -> u64 {
    let (words, rest) = item.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let words = words.iter().chain([&last]).map(|word| u64::from_le_bytes(*word));
    let sum =
        words.fold(item.len() as u64, |sum, word| (sum ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29));
    (sum ^ sum >> 32).wrapping_mul(0xD6E8_FEB8_6659_FD93)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Data; 7] =
        [Data::Records, Data::Ascii, Data::Fixed { value: 7 }, Data::Words, Data::Lines, Data::Table, Data::Few];

    /// Sorted by the standard library, from what the file is said to hold.
    fn sorted(text: &[u8], data: Data) -> Vec<Vec<u8>> {
        let mut items: Vec<Vec<u8>> = match data {
            _ if data.is_lines() => text.split_inclusive(|&b| b == b'\n').map(<[u8]>::to_vec).collect(),
            _ => text.chunks(data.item() as usize).map(<[u8]>::to_vec).collect(),
        };
        match data {
            Data::Words => items.sort_by_key(|item| word(item)),
            Data::Table => items.sort_by(|a, b| {
                let number = |row: &[u8]| -> f64 {
                    std::str::from_utf8(row).unwrap().split(',').nth(1).unwrap().parse().unwrap()
                };
                number(a).total_cmp(&number(b)).then(a.cmp(b))
            }),
            _ => items.sort(),
        }
        if data == Data::Few {
            items.dedup();
        }
        items
    }

    #[test]
    fn what_is_sorted_is_right_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let (input, output) = (directory.path().join("input"), directory.path().join("output"));
        for data in ALL {
            let expected = make(&input, data, 200_000 / data.item() * data.item()).unwrap();
            let text = std::fs::read(&input).unwrap();
            assert!(text.len() >= 199_000 && text.len() < 201_000, "{data:?}: {}", text.len());
            let right = sorted(&text, data);
            let look = |items: &[Vec<u8>]| {
                std::fs::write(&output, items.concat()).unwrap();
                check(&output, data)
            };
            assert_eq!(look(&right).unwrap(), expected, "{data:?}");
            // Two that changed places, one missing, one twice, one with another byte, half an item at the end.
            let mut wrong = right.clone();
            wrong.swap(3, 500);
            assert!(matches!(look(&wrong), Err(Trouble::Wrong(_))), "{data:?}");
            let mut wrong = right.clone();
            wrong.remove(5);
            assert_ne!(look(&wrong).unwrap(), expected, "{data:?}");
            let mut wrong = right.clone();
            wrong[8] = wrong[9].clone();
            assert!(!matches!(look(&wrong), Ok(contents) if contents == expected), "{data:?}");
            let mut wrong = right.clone();
            let last = wrong.last_mut().unwrap();
            let place = last.len() - 3;
            last[place] ^= 1;
            assert!(!matches!(look(&wrong), Ok(contents) if contents == expected), "{data:?}");
            std::fs::write(&output, &right.concat()[..text.len().min(right.concat().len()) - 1]).unwrap();
            assert!(check(&output, data).is_err(), "{data:?}");
            std::fs::remove_file(&input).unwrap();
        }
    }

    /// However the reads fall: pieces larger than a portion.
    #[test]
    fn items_across_portions_are_seen() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lines");
        let lines: Vec<String> = (0..400_000).map(|i| format!("line {i:020}\n")).collect();
        std::fs::write(&path, lines.concat()).unwrap();
        let contents = check(&path, Data::Lines).unwrap();
        let mut expected = Contents::default();
        lines.iter().for_each(|line| expected.add(line.trim_end().as_bytes()));
        assert_eq!(contents, expected);
    }
}
