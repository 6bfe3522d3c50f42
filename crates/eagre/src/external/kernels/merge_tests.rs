//! Merges of runs of all kinds, against a stable sort of whole keys.

use std::convert::Infallible;
use std::ops::ControlFlow;

use super::{Merge, MergeError, Order, Source};
use crate::records::{Fixed, Format, KeyRange, Klv, Lines};

/// A source that shows a few bytes more with each refill.
struct Trickle<'a> {
    bytes: &'a [u8],
    shown: usize,
    step: usize,
}

impl Source for Trickle<'_> {
    type Error = Infallible;

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.shown]
    }

    fn consume(&mut self, bytes: usize) {
        self.bytes = &self.bytes[bytes..];
        self.shown -= bytes;
    }

    fn refill(&mut self) -> Result<bool, Infallible> {
        let shown = self.bytes.len().min(self.shown + self.step);
        Ok(std::mem::replace(&mut self.shown, shown) < shown)
    }
}

fn merged<F: Format, S: Source>(format: &F, sources: Vec<S>, order: Order) -> Vec<u8>
where
    S::Error: std::fmt::Debug,
{
    let mut merged = Vec::new();
    Merge::new(format, sources, order)
        .unwrap()
        .each(|record| {
            merged.extend_from_slice(record);
            ControlFlow::Continue(())
        })
        .unwrap();
    merged
}

/// Sorts by keys; records with equal keys stay as they are.
fn sort<F: Format>(format: &F, records: &mut [Vec<u8>], order: Order) {
    records.sort_by(|a, b| {
        let by_key = format.key(a, &mut Vec::new()).cmp(format.key(b, &mut Vec::new()));
        order.of(by_key)
    });
}

fn check<F: Format>(format: &F, mut runs: Vec<Vec<Vec<u8>>>, step: usize) {
    for order in [Order::new(false), Order::new(true)] {
        runs.iter_mut().for_each(|run| sort(format, run, order));
        let mut all = runs.concat();
        sort(format, &mut all, order);
        let runs: Vec<Vec<u8>> = runs.iter().map(|run| run.concat()).collect();
        let whole: Vec<&[u8]> = runs.iter().map(|run| &run[..]).collect();
        assert!(merged(format, whole, order) == all.concat(), "{order:?}");
        let trickles = runs.iter().map(|run| Trickle { bytes: run, shown: 0, step }).collect();
        assert!(merged(format, trickles, order) == all.concat(), "{order:?}, {step} bytes at a time");
    }
}

/// Runs of up to so many records, which `make` makes.
fn runs(random: &mut fastrand::Rng, most: usize, make: impl Fn(&mut fastrand::Rng) -> Vec<u8>) -> Vec<Vec<Vec<u8>>> {
    (0..random.usize(0..12)).map(|_| (0..random.usize(0..most)).map(|_| make(random)).collect()).collect()
}

#[test]
fn records_with_short_and_long_keys() {
    let mut random = fastrand::Rng::with_seed(5);
    for round in 0..40 {
        let most = [3, 40, 2000][round % 3];
        let (low, high) = [(0, 255), (7, 8), (0, 1), (255, 255)][round % 4];
        let make = |random: &mut fastrand::Rng| {
            // What is behind the key tells equal ones apart.
            let mut record: Vec<u8> = (0..20).map(|_| random.u8(low..=high)).collect();
            record.extend(random.u32(..).to_le_bytes());
            record
        };
        let runs = runs(&mut random, most, make);
        for length in [1, 8, 12, 13, 16, 20] {
            let format = Fixed::new(24, &[KeyRange::bytes(0, length)]).unwrap();
            check(&format, runs.clone(), 1 + random.usize(0..200));
        }
    }
}

#[test]
fn lines_and_values_of_any_length() {
    let mut random = fastrand::Rng::with_seed(6);
    for round in 0..40 {
        let prefix = vec![b'x'; random.usize(0..30)];
        let letters = [&b"ab"[..], b"\0a", b"abcdefghijklmnopqrstuvwxyz\xff\0"][round % 3];
        let make = |random: &mut fastrand::Rng| {
            let shared = random.usize(0..=prefix.len());
            let mut line = prefix[..if random.bool() { prefix.len() } else { shared }].to_vec();
            line.extend((0..random.usize(0..9)).map(|_| letters[random.usize(0..letters.len())]));
            if random.u8(..) == 0 {
                line.extend(std::iter::repeat_n(b'y', random.usize(0..40_000)));
            }
            line.push(b'\n');
            line
        };
        let lines = runs(&mut random, [3, 40, 600][round % 3], make);
        check(&Lines::default(), lines, 1 + random.usize(0..300));
        let make = |random: &mut fastrand::Rng| {
            let value = random.u8(0..5);
            let mut record = vec![random.u8(0..2), random.u8(0..3), value];
            record.extend((0..value).map(|_| random.u8(..)));
            record
        };
        let records = runs(&mut random, 300, make);
        check(&Klv::new(2, 1, false).unwrap(), records, 1 + random.usize(0..50));
    }
}

#[test]
fn what_is_left_begins_at_the_record_it_broke_at() {
    let mut random = fastrand::Rng::with_seed(7);
    let format = Lines::default();
    let mut runs: Vec<Vec<Vec<u8>>> =
        (0..5).map(|_| (0..700).map(|_| format!("{}\n", random.u16(..)).into_bytes()).collect()).collect();
    runs.iter_mut().for_each(|run| sort(&format, run, Order::default()));
    let mut all = runs.concat();
    sort(&format, &mut all, Order::default());
    let runs: Vec<Vec<u8>> = runs.iter().map(|run| run.concat()).collect();
    for taken in [0, 1, 255, 256, 1777, 3499, 3500] {
        let sources = runs.iter().map(|run| &run[..]).collect();
        let mut records = Vec::new();
        let left = Merge::new(&format, sources, Order::default()).unwrap().each(|record| {
            if records.len() == taken {
                return ControlFlow::Break(());
            }
            records.push(record.to_vec());
            ControlFlow::Continue(())
        });
        assert_eq!(records, all[..taken]);
        assert!(merged(&format, left.unwrap(), Order::default()) == all[taken..].concat(), "{taken}");
    }
}

#[test]
fn a_source_that_ends_inside_a_record_is_told_after_those_before_it() {
    let format = Klv::new(1, 1, false).unwrap();
    let sources = vec![&b"a\x01.c\x09."[..], b"b\x00"];
    let mut keys = Vec::new();
    let mut merge = Merge::new(&format, sources, Order::default()).unwrap();
    let error = loop {
        keys.extend(merge.record().map(|record| record[0]));
        if let Err(error) = merge.advance() {
            break error;
        }
    };
    assert!(matches!(error, MergeError::Malformed(0, _)), "{error}");
    assert_eq!(keys[0], b'a');
}

#[test]
fn sources_that_are_not_sorted_lose_nothing() {
    let mut random = fastrand::Rng::with_seed(8);
    for round in 0..30 {
        let most = [2, 30, 3000][round % 3];
        let lines = runs(&mut random, most, |random| format!("{}\n", random.u16(..)).into_bytes());
        let numbers = runs(&mut random, most, |random| random.u32(..).to_le_bytes().to_vec());
        for (runs, length) in [(lines, None), (numbers, Some(4))] {
            let whole: Vec<Vec<u8>> = runs.iter().map(|run| run.concat()).collect();
            let sources = whole.iter().map(|run| &run[..]).collect();
            let found = match length {
                Some(size) => merged(&Fixed::new(size, &[]).unwrap(), sources, Order::default()),
                None => merged(&Lines::default(), sources, Order::default()),
            };
            let cut = |bytes: &[u8]| {
                let mut records: Vec<Vec<u8>> = match length {
                    Some(size) => bytes.chunks(size).map(<[u8]>::to_vec).collect(),
                    None => bytes.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect(),
                };
                records.sort();
                records
            };
            assert!(cut(&found) == cut(&whole.concat()), "round {round}");
        }
    }
}
