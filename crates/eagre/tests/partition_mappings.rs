//! A vector keeps its items when mappings run out. A process of its own, for it uses them all up.
#![cfg(target_os = "linux")]

use eagre::partition::{Layout, PartitionError, Partitioner};
use eagre_mem::{BlockSize, Mappings, Mover, Pool, RewireErrorKind, RewiredVec};

const BLOCK: usize = BlockSize::MIN.bytes();

#[test]
fn without_mappings_nothing_is_lost() {
    let blocks = Mappings::now().budget / 2 + 200;
    if blocks * BLOCK as u64 > 4 << 30 {
        eprintln!("skipped: vm.max_map_count is too large to reach in a test");
        return;
    }
    let pool = match Pool::new(BlockSize::MIN, blocks as u32, None, Some(Mover::Remap)) {
        Ok(pool) => pool,
        Err(error) => return eprintln!("skipped: {error}"),
    };
    let items: Vec<[u8; 12]> = (0..8 * BLOCK as u64 / 12 - 5).map(item).collect();
    let mut expected = items.clone();
    expected.sort_unstable();
    let mut vector = RewiredVec::with_limit(&pool, items.len() + 100_000).unwrap();
    vector.extend_from_slice(&items);
    let (start, limit) = (vector.as_ptr(), vector.limit());
    // It takes two mappings a block: whatever others use, these are the last.
    let mut filler: RewiredVec<u8> = RewiredVec::in_pool(&pool).unwrap();
    let error = filler.try_reserve(blocks as usize * BLOCK).unwrap_err();
    assert_eq!(error.kind(), RewireErrorKind::OutOfMappings);
    let full = filler.capacity() / BLOCK;
    // Sixty-four buckets that are apart take as many places at least, and the vector has eight.
    for free in [0, 1, 2, 20, 50] {
        filler.shrink_to((full - free) * BLOCK);
        for layout in [Layout::Apart, Layout::Dense, Layout::DenseAnyOrder] {
            let how = Partitioner::new().ways(64).threads(2).slack(usize::MAX).layout(layout);
            match how.partition_vec(&mut vector) {
                Err(PartitionError::Memory(error)) => assert_eq!(error.kind(), RewireErrorKind::OutOfMappings),
                // Without room between the buckets, they take the places that the vector had.
                Ok(parts) if layout != Layout::Apart => {
                    assert_eq!(parts.len(), items.len());
                    drop(parts);
                    vector.extend_from_slice(&items);
                }
                other => panic!("{free} blocks' mappings are free, {layout:?}: {other:?}"),
            }
            assert_eq!((vector.as_ptr(), vector.limit()), (start, limit));
            let mut got = vector.to_vec();
            got.sort_unstable();
            assert!(got == expected, "{free} blocks' mappings are free, {layout:?}");
        }
    }
    // And it goes on.
    drop(filler);
    let parts = Partitioner::new().ways(64).threads(2).slack(usize::MAX).partition_vec(&mut vector).unwrap();
    assert_eq!((parts.len(), vector.len()), (items.len(), 0));
}

/// Bytes that depend on the number only, and differ for each.
fn item(number: u64) -> [u8; 12] {
    let key = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
    let number = (number as u32).to_be_bytes();
    std::array::from_fn(|i| if i < 8 { key[i] } else { number[i - 8] })
}
