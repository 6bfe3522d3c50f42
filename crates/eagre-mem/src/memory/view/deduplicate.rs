//! Which blocks are equal: found by a hash, proved by comparing them.

#![forbid(unsafe_code)]

use crate::heap::{self, Refused};
use std::hash::{BuildHasher, Hasher, RandomState};

/// For each place that is to be given up, the place that is to be shown in its stead; in the order of the former.
///
/// `places` is what each slot shows, `block` what its bytes are. Of equal blocks the one in the first slot stays.
pub(super) fn equal<'b>(places: &[usize], block: impl Fn(usize) -> &'b [u8]) -> Result<Vec<(usize, usize)>, Refused> {
    // Each place once, with the first slot that shows it.
    let mut slots = heap::list(places.len())?;
    slots.extend(0..places.len());
    slots.sort_unstable_by_key(|&slot| (places[slot], slot));
    slots.dedup_by_key(|slot| places[*slot]);

    // Keyed at random, so that nobody can make up blocks that collide.
    let keys = RandomState::new();
    let mut hashed = heap::list(slots.len())?;
    hashed.extend(slots.iter().map(|&slot| {
        let mut hasher = keys.build_hasher();
        hasher.write(block(slot));
        (hasher.finish(), slot)
    }));
    hashed.sort_unstable();

    let mut equal = Vec::new();
    let mut different: Vec<usize> = Vec::new();
    for group in hashed.chunk_by(|one, next| one.0 == next.0).filter(|group| group.len() > 1) {
        different.clear();
        for &(_, slot) in group {
            match different.iter().find(|&&first| block(first) == block(slot)) {
                Some(&first) => heap::push(&mut equal, (places[slot], places[first]))?,
                None => heap::push(&mut different, slot)?,
            }
        }
    }
    equal.sort_unstable();
    Ok(equal)
}
