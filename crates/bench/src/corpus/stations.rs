//! The text of the one-billion-row challenge: `station;temperature` lines, the same for the same number of rows.
//!
//! Stations have made-up names with lengths like those of cities (3 to 26 bytes, some with letters of two bytes, some of
//! several words) and a mean each. A row has a random station, all equally likely, and a temperature around its mean. Rows
//! have 13.8 bytes on average.

use std::io::{self, Write};

/// The number of stations.
pub(crate) const STATIONS: usize = 413;

/// A generator of pseudo-random numbers (splitmix64).
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        number ^ (number >> 31)
    }

    pub(super) fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(end)) >> 64) as u64
    }
}

/// The stations' names, each once.
pub(crate) fn names() -> Vec<String> {
    const FIRST: [&str; 24] = [
        "A", "Ba", "Be", "Bo", "Ca", "Da", "El", "Fa", "Ga", "Ha", "I", "Ja", "Ka", "La", "Ma", "Ni", "O", "Po", "Ra",
        "Sa", "Ta", "U", "Va", "Zü",
    ];
    const MIDDLE: [&str; 20] = [
        "ba", "cri", "da", "go", "hi", "je", "ka", "lo", "ma", "no", "ra", "sé", "ti", "vo", "wa", "la", "ne", "ro",
        "su", "ña",
    ];
    const LAST: [&str; 16] =
        ["", "n", "ria", "k", "ng", "burg", "ville", "s", "ton", "r", "pur", "l", "stadt", "m", " City", " Falls"];
    let mut random = Random(413);
    let mut names: Vec<String> = Vec::new();
    while names.len() < STATIONS {
        let mut name = String::new();
        if random.below(12) == 0 {
            name += ["San ", "Port ", "Saint ", "New "][random.below(4) as usize];
        }
        name += FIRST[random.below(24) as usize];
        for _ in 0..1 + random.below(3) {
            name += MIDDLE[random.below(20) as usize];
        }
        name += LAST[random.below(16) as usize];
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Writes `rows` rows.
pub(crate) fn write(rows: u64, to: &mut impl Write) -> io::Result<()> {
    let mut random = Random(1_000_000_000);
    let stations: Vec<(Vec<u8>, i64)> =
        names().into_iter().map(|name| (name.into_bytes(), random.below(500) as i64 - 120)).collect();
    let mut line = Vec::with_capacity(64);
    for _ in 0..rows {
        let (name, mean) = &stations[random.below(STATIONS as u64) as usize];
        // The sum of four uniform numbers is nearly normal: standard deviation 10 degrees.
        let bell = (0..4).map(|_| random.below(174) as i64).sum::<i64>() - 346;
        let tenths = (mean + bell).clamp(-999, 999);
        line.clear();
        line.extend(name);
        line.push(b';');
        if tenths < 0 {
            line.push(b'-');
        }
        let tenths = tenths.unsigned_abs();
        if tenths >= 100 {
            line.push(b'0' + (tenths / 100) as u8);
        }
        line.extend([b'0' + (tenths / 10 % 10) as u8, b'.', b'0' + (tenths % 10) as u8, b'\n']);
        to.write_all(&line)?;
    }
    to.flush()
}
