//! Refused memory, stores that nothing allows, and forks.

use crate::common::child::{self, Case};
use crate::common::process::refuse_memory;
use crate::{PAIR, numbered, numbers, succeeds};
use eagre_mem::RewireErrorKind;

pub(crate) const CASES: &[Case] =
    &[("no_memory", |_| no_memory()), ("store", |_| store()), ("behind", |_| behind()), ("forked", |_| forked())];

const BLOCK: usize = 64 << 10;

#[test]
fn without_memory_a_write_is_an_error() {
    succeeds("no_memory");
}

fn no_memory() {
    let mut array = numbered(BLOCK, 4, 4);
    let view = array.view(&[2, 1]).unwrap();
    refuse_memory();
    let error = array.write(..).map(drop).unwrap_err();
    assert!(error.to_string().contains("for blocks that views share were refused"), "{error}");
    assert_eq!((numbers(&array, BLOCK), numbers(&view, BLOCK)), (vec![0, 1, 2, 3], vec![2, 1]));
    assert_eq!(array.stats().bytes, 4 * BLOCK as u64);
    let error = array.draft(&[3, 0]).map(drop).unwrap_err();
    assert!(error.to_string().contains("for blocks that views share were refused"), "{error}");
    assert_eq!(array.stats().bytes, 4 * BLOCK as u64);
    // Those that nobody shares need none, and neither do views.
    array.write(3..).unwrap().fill(9);
    assert_eq!(numbers(&array.view(&[3, 0]).unwrap(), BLOCK), [9, 0]);
    drop(view);
    array.write(..).unwrap().fill(5);
    assert_eq!(numbers(&array, BLOCK), [5; 4]);
}

#[test]
fn a_draft_is_for_its_array_alone() {
    let mut array = numbered(BLOCK, 2, 2);
    let other = numbered(BLOCK, 2, 2);
    let panics = |call: &mut dyn FnMut()| std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)).is_err();
    assert!(panics(&mut || array.apply(other.draft(&[1]).unwrap()).unwrap()));
    assert!(panics(&mut || drop(other.draft(&[0, 1, 0]))));
    assert!(panics(&mut || drop(other.draft(&[2]))));
    assert_eq!((numbers(&array, BLOCK), numbers(&other, BLOCK)), (vec![0, 1], vec![0, 1]));
    assert_eq!(other.stats().bytes, 2 * BLOCK as u64);
    array.apply(array.draft(&[]).unwrap()).unwrap();
}

/// An ordinary fault.
#[test]
fn a_view_is_read_only() {
    for case in ["store", "behind"] {
        let outcome = child::run(case, PAIR);
        assert!(matches!(outcome.signal, Some(libc::SIGSEGV | libc::SIGBUS)), "{outcome:?}");
        assert!(outcome.messages().is_empty(), "{outcome:?}");
    }
}

fn store() {
    let array = numbered(BLOCK, 2, 2);
    let view = array.view(&[1]).unwrap();
    // SAFETY: none: this is the misuse.
    unsafe { view.as_ptr().cast_mut().write_volatile(1) };
}

/// Addresses for blocks that are not there yet are closed.
fn behind() {
    let array = numbered(BLOCK, 2, 4);
    // SAFETY: none: this is the misuse.
    unsafe { array.as_ptr().cast_mut().add(array.len()).write_volatile(1) };
}

#[test]
fn a_forked_child_has_no_part_in_it() {
    succeeds("forked");
}

fn forked() {
    let mut array = numbered(BLOCK, 3, 6);
    let view = array.view(&[2, 0]).unwrap();
    // SAFETY: this process has one thread that matters, and the child ends with `_exit`.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let forked = |error: eagre_mem::RewireError| error.kind() == RewireErrorKind::Forked;
        let refused = array.view(&[0]).map(drop).is_err_and(forked)
            && array.write(..).map(drop).is_err_and(forked)
            && array.extend_from_within(..).is_err_and(forked)
            && array.deduplicate().map(drop).is_err_and(forked);
        drop((view, array));
        // SAFETY: ends the child and runs nothing.
        unsafe { libc::_exit(if refused { 0 } else { 1 }) };
    }
    let mut status = 0;
    // SAFETY: our own child, and a place for its status.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0);
    array.write(2..).unwrap().fill(7);
    assert_eq!((numbers(&array, BLOCK), numbers(&view, BLOCK)), (vec![0, 1, 7], vec![2, 0]));
}
