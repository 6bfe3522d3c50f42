//! Limits of the process: mappings, addresses, memory.

use crate::common::child::Case;
use crate::common::*;
use crate::{numbered, numbers, programs, succeeds};
use eagre_mem::{Mappings, RewireErrorKind, ViewArray, ViewOptions};

pub(crate) const CASES: &[Case] = &[
    ("used_up", |_| used_up()),
    ("counted", |_| programs::mappings_are_counted()),
    ("equal_scattered", |_| equal_scattered()),
];

const BLOCK: usize = 4096;

/// Where the limit is too high to come near, there is nothing to see.
fn budget() -> Option<usize> {
    let budget = Mappings::now().budget;
    if budget > 1 << 17 {
        say(&format!("skipped: {budget} mappings are more than a test should make"));
        return None;
    }
    Some(budget as usize)
}

#[test]
fn too_many_mappings_are_refused_by_name() {
    let _dog = Watchdog::new("too_many_mappings_are_refused_by_name");
    let Some(budget) = budget() else { return };
    let array = numbered(BLOCK, 2, 2);
    let error = array.view(&vec![1; budget + 1]).map(drop).unwrap_err();
    assert_eq!(error.kind(), RewireErrorKind::OutOfMappings);
    let message = error.to_string();
    for part in [&format!("{} more pieces", budget + 1), "vm.max_map_count", "larger blocks (ViewOptions::block)"] {
        assert!(message.contains(part), "{message}");
    }
    // Neighbours are one mapping.
    assert_eq!(numbers(&array.view(&[0, 1]).unwrap(), BLOCK), [0, 1]);
}

/// When mappings are used up, calls are errors, and everything shows what it did.
#[test]
fn mappings_are_used_up() {
    succeeds("used_up");
}

fn used_up() {
    let Some(budget) = budget() else { return };
    let mut array = numbered(BLOCK, 4, 8);
    let used = Mappings::now().used;
    let all = array.view(&[0, 1, 2, 3]).unwrap();
    let left = budget - Mappings::now().used as usize;
    // One is for the addresses, one for what a first piece could cut.
    let most = array.view(&vec![2; left - 2]).unwrap();
    let error = array.write(1..2).map(drop).unwrap_err();
    assert_eq!(error.kind(), RewireErrorKind::OutOfMappings, "{error}");
    let error = array.view(&[1]).map(drop).unwrap_err();
    assert_eq!(error.kind(), RewireErrorKind::OutOfMappings, "{error}");
    let error = array.extend_from_within(0..1).unwrap_err();
    assert_eq!(error.kind(), RewireErrorKind::OutOfMappings, "{error}");
    let error = array.draft(&[1]).map(drop).unwrap_err();
    assert_eq!(error.kind(), RewireErrorKind::OutOfMappings, "{error}");
    assert_eq!((numbers(&array, BLOCK), numbers(&all, BLOCK)), (vec![0, 1, 2, 3], vec![0, 1, 2, 3]));
    assert_eq!((array.stats().bytes, most.len()), (4 * BLOCK as u64, (left - 2) * BLOCK / 8));
    assert!(most.iter().all(|&word| word == 2));
    drop(most);
    array.write(1..2).unwrap().fill(7);
    array.extend_from_within(1..2).unwrap();
    assert_eq!((numbers(&array, BLOCK), numbers(&all, BLOCK)), (vec![0, 7, 2, 3, 7], vec![0, 1, 2, 3]));
    drop(all);
    // Block 1 lies elsewhere now, and there is one more.
    assert_eq!(Mappings::now().used, used + 3);
    drop(array);
    assert_eq!(Mappings::now().used, 0);
}

/// Equal blocks that would come to too many mappings are refused before one is shared.
#[test]
fn equal_blocks_are_not_shared_in_part() {
    succeeds("equal_scattered");
}

fn equal_scattered() {
    let Some(budget) = budget() else { return };
    let blocks = budget + 10;
    let mut array = ViewOptions::new().block(BLOCK).array::<u64>(blocks).unwrap();
    array.write(..).unwrap().chunks_mut(BLOCK / 8).enumerate().for_each(|(number, words)| {
        words[0] = if number % 2 == 0 { 0 } else { number as u64 };
    });
    let used = Mappings::now().used;
    let error = array.deduplicate().unwrap_err();
    assert_eq!(error.kind(), RewireErrorKind::OutOfMappings);
    assert_eq!((array.stats().bytes, Mappings::now().used), ((blocks * BLOCK) as u64, used));
    assert!(error.to_string().contains("larger blocks (ViewOptions::block)"), "{error}");
}

#[test]
fn there_are_no_more_mappings_than_were_counted() {
    succeeds("counted");
}

#[test]
fn what_is_no_block_is_refused() {
    for block in [0, 2048, 5000, 4 << 20] {
        let error = ViewOptions::new().block(block).array::<u8>(1).map(drop).unwrap_err();
        assert!(error.to_string().contains("no power of two from 4096 to 2097152"), "{error}");
    }
    let error = ViewArray::<u64>::new(usize::MAX).map(drop).unwrap_err();
    assert_eq!(error.kind(), RewireErrorKind::OutOfMemory, "{error}");
    let error = ViewOptions::new().limit(1 << 43).array::<u64>(1).map(drop).unwrap_err();
    assert!(matches!(error.kind(), RewireErrorKind::OutOfMemory | RewireErrorKind::OutOfAddresses), "{error}");
}

#[test]
fn an_array_ends_at_its_limit() {
    let mut array = numbered(BLOCK, 3, 5);
    array.extend_from_within(1..).unwrap();
    let error = array.extend_from_within(..1).unwrap_err();
    assert_eq!(error.kind(), RewireErrorKind::Full);
    assert!(error.to_string().ends_with("1 more blocks than 5 with a limit of 5; raise it (ViewOptions::limit)"));
    array.extend_from_within(2..2).unwrap();
    assert_eq!(numbers(&array, BLOCK), [0, 1, 2, 1, 2]);
}

/// Nothing is something, too.
#[test]
fn there_may_be_no_blocks() {
    let mut none = ViewOptions::new().block(BLOCK).limit(3).array::<u64>(0).unwrap();
    assert_eq!((none.len(), none.view(&[]).unwrap().len()), (0, 0));
    assert!(none.write(..).unwrap().is_empty());
    none.extend_from_within(..).unwrap();
    assert_eq!(none.deduplicate().unwrap(), 0);
    let array = numbered(BLOCK, 3, 3);
    assert!(array.view(&[]).unwrap().is_empty());
}

#[test]
fn blocks_that_are_not_there_panic() {
    let array = std::panic::AssertUnwindSafe(numbered(BLOCK, 3, 5));
    let caught = std::panic::catch_unwind(|| array.view(&[0, 3]).map(drop));
    assert!(caught.is_err());
    let mut array = array;
    let caught = std::panic::catch_unwind(move || array.write(2..4).map(drop));
    assert!(caught.is_err());
}
