//! Minimum, mean and maximum of each station, computed in the simplest way while the rows are written, and compared with the
//! answers of contenders.

use std::collections::HashMap;
use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use crate::trouble::Trouble;

/// One station's temperatures, in tenths of a degree.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Station {
    min: i64,
    max: i64,
    sum: i64,
    rows: i64,
}

/// All stations, by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Table(HashMap<String, Station>);

impl Table {
    /// Adds one line, without its end.
    fn line(&mut self, line: &[u8]) -> io::Result<()> {
        let odd = || io::Error::other(format!("an odd row: {:?}", String::from_utf8_lossy(line)));
        let text = std::str::from_utf8(line).map_err(|_| odd())?;
        let (name, value) = text.split_once(';').ok_or_else(odd)?;
        let tenths: i64 = value.replace('.', "").parse().map_err(|_| odd())?;
        if !self.0.contains_key(name) {
            self.0.insert(name.into(), Station { min: tenths, max: tenths, sum: 0, rows: 0 });
        }
        if let Some(station) = self.0.get_mut(name) {
            station.min = station.min.min(tenths);
            station.max = station.max.max(tenths);
            station.sum += tenths;
            station.rows += 1;
        }
        Ok(())
    }

    /// The number of stations, if `rows` says of each what is true: minimum and maximum exactly, the mean to the
    /// decimal it is printed with.
    pub(crate) fn compare(&self, rows: &[(String, f64, f64, f64)]) -> Result<u64, Trouble> {
        let mut seen = HashMap::new();
        for (name, min, mean, max) in rows {
            let wrong = |what: &str, got: f64| Trouble::Wrong(format!("station {name:?}: {what} {got}"));
            let station = self.0.get(name).ok_or_else(|| wrong("unknown, mean", *mean))?;
            let differs = |got: f64, tenths: f64, by: f64| (got * 10.0 - tenths).abs() > by;
            if differs(*min, station.min as f64, 1e-3) {
                return Err(wrong("minimum", *min));
            }
            if differs(*max, station.max as f64, 1e-3) {
                return Err(wrong("maximum", *max));
            }
            if differs(*mean, station.sum as f64 / station.rows as f64, 0.501) {
                return Err(wrong("mean", *mean));
            }
            if seen.insert(name, ()).is_some() {
                return Err(wrong("twice, mean", *mean));
            }
        }
        Ok(self.0.len() as u64)
    }
}

/// A writer of lines that are taken into account on their way.
pub(super) struct Watched<W> {
    writer: W,
    table: Table,
    /// The line that has no end yet.
    rest: Vec<u8>,
}

impl<W: Write> Watched<W> {
    pub(super) fn new(writer: W) -> Watched<W> {
        Watched { writer, table: Table::default(), rest: Vec::new() }
    }

    /// The writer, and the table of all whole lines.
    pub(super) fn into_parts(self) -> (W, Table) {
        (self.writer, self.table)
    }
}

impl<W: Write> Write for Watched<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.writer.write(bytes)?;
        for piece in bytes[..written].split_inclusive(|byte| *byte == b'\n') {
            self.rest.extend_from_slice(piece);
            if self.rest.last() == Some(&b'\n') {
                self.table.line(&self.rest[..self.rest.len() - 1])?;
                self.rest.clear();
            }
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str, pieces: usize) -> Table {
        let mut watched = Watched::new(Vec::new());
        text.as_bytes().chunks(pieces).for_each(|piece| watched.write_all(piece).unwrap());
        let (written, table) = watched.into_parts();
        assert_eq!(written, text.as_bytes());
        table
    }

    #[test]
    fn rows_are_taken_into_account_however_they_are_cut() {
        let text = "Oslo;-1.5\nRio;30.0\nOslo;2.0\nOslo;0.1\n";
        for pieces in 1..20 {
            let table = table(text, pieces);
            let right = [("Rio".to_owned(), 30.0, 30.0, 30.0), ("Oslo".to_owned(), -1.5, 0.2, 2.0)];
            assert_eq!(table.compare(&right).unwrap(), 2);
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let table = table("a;1.0\na;2.0\nb;3.0\n", 100);
        let row = |min, mean, max| vec![("a".to_owned(), min, mean, max)];
        assert_eq!(table.compare(&row(1.0, 1.5, 2.0)).unwrap(), 2, "and the caller misses b");
        for (rows, what) in [
            (row(1.1, 1.5, 2.0), "minimum"),
            (row(1.0, 1.6, 2.0), "mean"),
            (row(1.0, 1.5, 2.1), "maximum"),
            (vec![("c".to_owned(), 1.0, 1.0, 1.0)], "unknown"),
            ([row(1.0, 1.5, 2.0), row(1.0, 1.5, 2.0)].concat(), "twice"),
        ] {
            let Err(Trouble::Wrong(why)) = table.compare(&rows) else { panic!("{what}") };
            assert!(why.contains(what), "{why}");
        }
    }
}
