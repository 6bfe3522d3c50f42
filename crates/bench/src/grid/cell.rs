//! One cell of the grid: keys of one kind and pattern, so many of them, so many threads; Eagre and its peers in turn.

use std::time::Instant;

use fastrand::Rng;
use serde::Serialize;

use super::gauge::Gauge;
use super::kind::{self, Kind, Peer};
use super::pattern::Pattern;
use crate::contenders::sort::array::{Array, Plain};
use crate::contenders::sort::numbers::mix;
use crate::contenders::sort::rust::{Sort, Sortable};
use crate::corpus::Store;
use crate::memory::Pages;

/// The least number of keys sorted in a sample: small pieces come many at a time, each with keys of its own.
const BATCH: usize = 1 << 16;
/// A peer that is this much slower than the best in the trial does not run the rounds.
const HOPELESS: f64 = 1.3;
/// So many samples of each in the trial.
const TRIAL: usize = 2;

/// What was found in a cell.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Cell {
    pub kind: &'static str,
    pub pattern: &'static str,
    pub keys: usize,
    pub threads: usize,
    /// The best peer.
    pub peer: &'static str,
    /// Nanoseconds a key: Eagre, and the best peer.
    pub own: f64,
    pub best: f64,
    /// The speed of Eagre divided by that of the best peer: the median over the rounds.
    pub ratio: f64,
    pub rounds: usize,
}

/// How a cell is measured.
#[derive(Clone, Copy)]
pub(super) struct Care {
    pub rounds: usize,
    /// Cells below this ratio get so many rounds instead.
    pub doubt: f64,
    pub more: usize,
    pub seed: u64,
}

/// Keys, and a place to sort a copy of them.
struct Desk<T> {
    source: Array<T>,
    work: Array<T>,
    piece: usize,
}

impl<T: Plain> Desk<T> {
    fn new(keys: usize, piece: usize) -> Result<Desk<T>, String> {
        let array = || Array::new(keys, Pages::Huge).map_err(|e| format!("sort-grid: memory for the keys: {e}"));
        Ok(Desk { source: array()?, work: array()?, piece })
    }

    /// Seconds for a key.
    fn time(&mut self, sort: &Sort<T>) -> f64 {
        let work = self.work.keys_mut();
        work.copy_from_slice(self.source.keys_mut());
        let start = Instant::now();
        work.chunks_mut(self.piece).for_each(sort);
        start.elapsed().as_secs_f64() / work.len() as f64
    }

    /// Whether the last sort left the same keys in order.
    fn is_right(&mut self) -> bool {
        let digest = |keys: &[T]| keys.iter().fold(0u64, |sum, key| sum.wrapping_add(mix(key.word())));
        let pieces = |keys: &[T]| keys.chunks(self.piece).map(digest).collect::<Vec<_>>();
        let (source, work) = (pieces(self.source.keys_mut()), self.work.keys_mut());
        source == pieces(work) && work.chunks(self.piece).all(|keys| keys.windows(2).all(|two| two[0].before(&two[1])))
    }
}

/// A cell's shape.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub pattern: Pattern,
    pub keys: usize,
    pub threads: usize,
}

/// The keys of a cell, as Eagre and the peers want them.
struct Desks<K: Kind> {
    own: Desk<K::Own>,
    peer: Desk<K::Peer>,
}

impl<K: Kind> Desks<K> {
    fn new(shape: Shape, random: &mut Rng) -> Result<Desks<K>, String> {
        let count = shape.keys * BATCH.div_ceil(shape.keys).max(1);
        let mut desks = Desks { own: Desk::new(count, shape.keys)?, peer: Desk::new(count, shape.keys)? };
        let mut numbers = vec![0; shape.keys];
        let own = desks.own.source.keys_mut().chunks_mut(shape.keys);
        for (own, peer) in own.zip(desks.peer.source.keys_mut().chunks_mut(shape.keys)) {
            shape.pattern.fill(&mut numbers, K::BITS, random);
            for (i, &number) in numbers.iter().enumerate() {
                (own[i], peer[i]) = K::make(number, shape.pattern, i as u64);
            }
        }
        Ok(desks)
    }
}

/// Nanoseconds a key that Eagre alone takes: the median of the rounds.
pub(super) fn alone<K: Kind>(shape: Shape, care: Care, gauge: &mut Gauge) -> Result<f64, String> {
    let sort = kind::own::<K::Own>(shape.threads);
    let mut own = Desks::<K>::new(shape, &mut Rng::with_seed(care.seed))?.own;
    let times = (0..care.rounds).map(|_| gauge.sample(|| own.time(&sort))).collect();
    Ok(1e9 * median(times))
}

/// Measures a cell.
pub(super) fn measure<K: Kind>(shape: Shape, care: Care, gauge: &mut Gauge, store: &Store) -> Result<Cell, String>
where
    K::Peer: Sortable,
{
    let mut desks = Desks::<K>::new(shape, &mut Rng::with_seed(care.seed))?;
    let wrong = |name: &str| {
        format!("sort-grid: {name}: {}, {}, {} keys: not sorted", K::NAME, shape.pattern.name(), shape.keys)
    };
    let sort = kind::own::<K::Own>(shape.threads);
    desks.own.time(&sort);
    if !desks.own.is_right() {
        return Err(wrong("eagre"));
    }
    let mut trial = Vec::new();
    for peer in kind::peers::<K::Peer>(shape.threads, store) {
        let times = (0..TRIAL).map(|_| gauge.sample(|| desks.peer.time(&peer.1)));
        let least = times.fold(f64::INFINITY, f64::min);
        if !desks.peer.is_right() {
            return Err(wrong(peer.0));
        }
        trial.push((least, peer));
    }
    let best = trial.iter().map(|(time, _)| *time).fold(f64::INFINITY, f64::min);
    let peers: Vec<Peer<K::Peer>> =
        trial.into_iter().filter(|(time, _)| *time <= HOPELESS * best).map(|(_, peer)| peer).collect();
    let mut owns = Vec::new();
    let mut theirs = vec![Vec::new(); peers.len()];
    loop {
        // Whoever comes first in one round comes last in the next.
        let forward = owns.len() % 2 == 0;
        if forward {
            owns.push(gauge.sample(|| desks.own.time(&sort)));
        }
        for (peer, times) in peers.iter().zip(&mut theirs) {
            times.push(gauge.sample(|| desks.peer.time(&peer.1)));
        }
        if !forward {
            owns.push(gauge.sample(|| desks.own.time(&sort)));
        }
        let rounds = owns.len();
        if rounds < care.rounds {
            continue;
        }
        let (i, best) = theirs
            .iter()
            .map(|times| median(times.clone()))
            .enumerate()
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .expect("std is everywhere");
        let ratio = median(theirs[i].iter().zip(&owns).map(|(peer, own)| peer / own).collect());
        if ratio >= care.doubt || rounds >= care.more {
            let own = 1e9 * median(owns);
            return Ok(Cell {
                kind: K::NAME,
                pattern: shape.pattern.name(),
                keys: shape.keys,
                threads: shape.threads,
                peer: peers[i].0,
                own,
                best: 1e9 * best,
                ratio,
                rounds,
            });
        }
    }
}

/// The middle one.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
