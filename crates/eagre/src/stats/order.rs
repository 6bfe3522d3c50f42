//! Sorting the keys of all parts by their bytes.
//!
//! Keys are sorted by eight of their bytes as a number, together with their place. Only keys whose eight bytes are
//! equal are looked at again, at the bytes behind their common prefix. So most keys are read once, one after another,
//! and the rest of the work is sorting pairs of numbers.

use std::cmp::Ordering;
use std::ops::Range;

use super::room::{Refused, Room};
use super::shard::Shard;
use crate::sort::Sorter;

/// Up to this many keys are compared in full.
const FEW: usize = 24;

/// Eight bytes of a key as a number, and the place of the key.
pub(super) type Ranked = (u64, u64);

/// The place of a key: its part of the table, and its number in the part.
pub(super) fn place(shard: usize, number: usize) -> u64 {
    (shard as u64) << 32 | number as u64
}

/// The key at a place.
pub(super) fn key(shards: &[Shard], place: u64) -> &[u8] {
    shards[(place >> 32) as usize].key((place & u64::from(u32::MAX)) as usize)
}

/// All keys in the order of their bytes.
pub(super) fn by_key(shards: &[Shard], threads: usize, room: &Room) -> Result<Vec<Ranked>, Refused> {
    let mut ranked = room.vector(shards.iter().map(Shard::len).sum())?;
    for (shard, keys) in shards.iter().enumerate() {
        ranked.extend((0..keys.len()).map(|number| (0, place(shard, number))));
    }
    let refused = |_| room.refused();
    // Ranges of keys with the same prefix, and the length of that prefix.
    let mut open: Vec<(Range<usize>, usize)> = Vec::new();
    open.try_reserve(1).map_err(|_| room.refused())?;
    open.push((0..ranked.len(), 0));
    while let Some((range, depth)) = open.pop() {
        let part = &mut ranked[range.clone()];
        if part.len() <= FEW {
            part.sort_unstable_by(|a, b| compare(key(shards, a.1), key(shards, b.1), depth));
            continue;
        }
        let (shared, longest) = common(shards, part, depth);
        if shared >= longest {
            // The keys are equal, except for zeros at their ends. The longest key has been compared to its end.
            part.sort_unstable_by_key(|rank| key(shards, rank.1).len());
            continue;
        }
        part.iter_mut().for_each(|rank| rank.0 = eight(key(shards, rank.1), shared));
        Sorter::lenient().threads(threads).sort(part).map_err(refused)?;
        let mut start = range.start;
        for run in part.chunk_by(|a, b| a.0 == b.0) {
            if run.len() > 1 {
                open.try_reserve(1).map_err(|_| room.refused())?;
                open.push((start..start + run.len(), shared + 8));
            }
            start += run.len();
        }
    }
    Ok(ranked)
}

/// Compares two keys that share the first `depth` bytes. The shorter one is padded with zeros.
fn compare(a: &[u8], b: &[u8], depth: usize) -> Ordering {
    match (a.get(depth..), b.get(depth..)) {
        (Some(a), Some(b)) => a.cmp(b),
        _ => a.cmp(b),
    }
}

/// The length of the common prefix of these keys (padded with zeros), and the length of the longest key. They are known
/// to share the first `depth` bytes.
fn common(shards: &[Shard], ranked: &[Ranked], depth: usize) -> (usize, usize) {
    let first = key(shards, ranked[0].1);
    let (mut shared, mut longest) = (usize::MAX, 0);
    for rank in ranked {
        let key = key(shards, rank.1);
        longest = longest.max(key.len());
        let end = shared.min(first.len().max(key.len()));
        let mut at = depth;
        while at < end && first.get(at).unwrap_or(&0) == key.get(at).unwrap_or(&0) {
            at += 1;
        }
        shared = if at < first.len().max(key.len()) { shared.min(at) } else { shared };
    }
    (shared.min(longest), longest)
}

/// Eight bytes of a key, padded with zeros, as a number.
fn eight(key: &[u8], from: usize) -> u64 {
    let rest = key.get(from..).unwrap_or_default();
    match rest.first_chunk() {
        Some(eight) => u64::from_be_bytes(*eight),
        None => {
            let mut eight = [0; 8];
            eight[..rest.len()].copy_from_slice(rest);
            u64::from_be_bytes(eight)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::number::Number;
    use super::super::shard::{Details, Key};
    use super::*;

    fn sorted(keys: &[&[u8]]) {
        let room = Room::default();
        let mut shards = [Shard::new(1, Details::default()), Shard::new(1, Details::default())];
        for (number, bytes) in keys.iter().enumerate() {
            let key = Key { bytes, hash: (number as u32).wrapping_mul(0x9e37_79b9) };
            shards[(key.hash >> 31) as usize].add_one(key, Number::Short { mantissa: 1, decimals: 0 }, &room).unwrap();
        }
        let order = by_key(&shards, 2, &room).unwrap();
        let got: Vec<_> = order.iter().map(|rank| key(&shards, rank.1)).collect();
        let mut expected = keys.to_vec();
        expected.sort_unstable();
        assert!(got == expected, "{got:?}");
    }

    #[test]
    fn keys_come_in_the_order_of_their_bytes() {
        sorted(&[]);
        sorted(&[b""]);
        sorted(&[b"b", b"a", b"", b"ab", b"a\0", b"a\0\0", b"\xff"]);
        let zeros: Vec<Vec<u8>> = (0..100).map(|length| vec![0; length * 7 % 100]).collect();
        sorted(&zeros.iter().map(|key| &key[..]).collect::<Vec<_>>());
        for (head, tail) in
            [("", ""), ("key", ""), ("https://a.b.example/", ""), ("", "/a tail that all have"), ("x", "\0\0\0")]
        {
            let text = |number: u32| format!("{head}{}{tail}", number.wrapping_mul(0x9e37_79b9) % 7919);
            let mut keys: Vec<String> = (0..5000).map(text).collect();
            keys.sort_unstable();
            keys.dedup();
            // Keys of other lengths among them, with zeros at the end.
            keys.extend((1..40).map(|length| format!("{head}5{}", "\0".repeat(length))));
            keys.rotate_left(1234);
            sorted(&keys.iter().map(String::as_bytes).collect::<Vec<_>>());
        }
    }
}
