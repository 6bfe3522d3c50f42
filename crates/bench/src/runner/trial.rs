//! The trial: if there are many peers, it selects those that run the rounds.

use super::Kept;
use super::entrant::Entrant;
use super::rounds::one_round;
use crate::catalogue::{PEERS, Row, SHARE};
use crate::figures::number;

/// Runs every contender on `size` of the work and leaves out peers that are slow, but for the best of each group of `kept`.
pub(super) fn trial(
    row: &Row,
    size: u64,
    kept: &[Kept],
    entrants: &mut [Entrant],
) -> Result<(), (&'static str, String)> {
    let mut best = vec![0f64; entrants.len()];
    // Twice, so that one disturbance leaves no peer out.
    for round in 0..2 {
        for (best, part) in best.iter_mut().zip(one_round(size.max(1), round, false, entrants)?) {
            *best = best.max(part.map_or(0.0, |(measured, _)| row.unit.rate(&measured)));
        }
    }
    let peer = |(index, rate): &(usize, f64)| *rate > 0.0 && !entrants[*index].entry.way.is_ours();
    let mut peers: Vec<(usize, f64)> = best.into_iter().enumerate().filter(peer).collect();
    peers.sort_by(|a, b| b.1.total_cmp(&a.1));
    let Some(&(_, best)) = peers.first() else { return Ok(()) };
    let first_of = |kept: &Kept| peers.iter().find(|(index, _)| kept.peers.contains(&entrants[*index].entry.name));
    let kept: Vec<usize> =
        kept.iter().filter(|kept| kept.row == row.name).filter_map(first_of).map(|(index, _)| *index).collect();
    for (place, (index, rate)) in peers.into_iter().enumerate() {
        if (place >= PEERS || rate < SHARE * best) && !kept.contains(&index) {
            let [rate, best] = [rate, best].map(number);
            entrants[index].left_out = Some(format!("{rate} {} in the trial, the best peer {best}", row.unit.name()));
        }
    }
    Ok(())
}
