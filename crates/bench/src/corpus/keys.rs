//! Rows of many keys: `key;value` lines, each key a letter and eight hexadecimal digits, each value of one decimal.
//!
//! The keys of the rows are uniform or Zipf-distributed: the second key is half as frequent as the first, the third a third
//! as frequent. The text of a key does not depend on its frequency.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::stations::Random;

/// Figures over all keys, values in tenths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Figures {
    /// How many keys have a row.
    pub keys: u64,
    /// How many rows there are.
    pub rows: u64,
    /// The sum of the smallest values of all keys.
    pub min: i64,
    /// The sum of the largest.
    pub max: i64,
}

/// Writes `rows` rows of up to `keys` keys to a new file.
pub(super) fn make(path: &Path, rows: u64, keys: u32, zipf: bool) -> io::Result<Figures> {
    let mut to = BufWriter::with_capacity(1 << 20, fs::File::create_new(path)?);
    let mut random = Random(u64::from(keys));
    // Cumulative frequencies, most frequent first.
    let mut sum = 0.0;
    let weights = (1..=if zipf { keys } else { 0 }).map(|rank| {
        sum += 1.0 / f64::from(rank);
        sum
    });
    let weights: Vec<f64> = weights.collect();
    let mut seen = vec![(i16::MAX, i16::MIN); keys as usize];
    for _ in 0..rows {
        let rank = match weights.last() {
            None => random.below(keys.into()) as usize,
            Some(all) => {
                let place = random.next() as f64 / u64::MAX as f64 * all;
                weights.partition_point(|&weight| weight < place).min(keys as usize - 1)
            }
        };
        let tenths = random.below(1999) as i16 - 999;
        seen[rank] = (seen[rank].0.min(tenths), seen[rank].1.max(tenths));
        // An odd factor: different keys stay different.
        let key = (rank as u32).wrapping_mul(0x9e37_79b9);
        let (sign, size) = (if tenths < 0 { "-" } else { "" }, tenths.unsigned_abs());
        writeln!(to, "k{key:08x};{sign}{}.{}", size / 10, size % 10)?;
    }
    to.into_inner().map_err(io::IntoInnerError::into_error)?.sync_data()?;
    let seen = seen.iter().filter(|(min, max)| min <= max);
    let add = |sum: Figures, &(min, max): &(i16, i16)| Figures {
        keys: sum.keys + 1,
        min: sum.min + i64::from(min),
        max: sum.max + i64::from(max),
        ..sum
    };
    Ok(seen.fold(Figures { keys: 0, rows, min: 0, max: 0 }, add))
}
