//! What pointers cannot be told of, system calls, and forks.

use crate::common::child::{self, Case};
use crate::common::process::refuse_memory;
use crate::{PAIR, array, succeeds, words};
use eagre_mem::{RewireErrorKind, SnapshotArray, SnapshotOptions};
use std::hint::black_box;
use std::io::Read;

pub(crate) const CASES: &[Case] = &[
    ("no_memory", |_| no_memory()),
    ("no_memory_call", |_| no_memory_call()),
    ("reserved_memory", |_| reserved_memory()),
    ("behind", |_| behind()),
    ("in_front", |_| in_front()),
    ("explicit_store", |_| explicit_store()),
    ("forked", |_| forked()),
    ("off", |_| off()),
];

#[track_caller]
fn dies(case: &str, says: &[&str]) {
    let outcome = child::run(case, PAIR);
    assert!(matches!(outcome.signal, Some(libc::SIGSEGV | libc::SIGBUS)), "{outcome:?}");
    let messages = outcome.messages();
    assert_eq!(messages.len(), usize::from(!says.is_empty()), "{outcome:?}");
    for part in says {
        assert!(messages[0].contains(part), "{part:?}: {messages:?}");
    }
}

#[test]
fn a_store_without_memory_says_so() {
    dies(
        "no_memory",
        &["eagre: snapshots: no memory to keep the block at byte 131072", "pwrite", "reserve", "make_writable"],
    );
}

fn no_memory() {
    let mut array = array(1 << 20, 64 << 10);
    let _snapshot = array.snapshot().unwrap();
    refuse_memory();
    array.as_mut_slice().unwrap()[words(128 << 10) + 3] = 1;
}

#[test]
fn a_call_without_memory_is_an_error() {
    succeeds("no_memory_call");
}

fn no_memory_call() {
    let mut array = array(1 << 20, 64 << 10);
    array.write(..).unwrap().fill(1);
    let snapshot = array.snapshot().unwrap();
    array.write(..1).unwrap()[0] = 2;
    refuse_memory();
    let error = array.write(words(64 << 10)..).map(drop).unwrap_err();
    assert!(error.to_string().contains("the copy of a block for a snapshot was refused: pwrite"), "{error}");
    // All is as it was.
    array.write(1..2).unwrap()[0] = 2;
    assert!(snapshot.iter().all(|&word| word == 1));
    assert!(array[2..].iter().all(|&word| word == 1));
    drop(snapshot);
    array.write(..).unwrap().fill(3);
}

#[test]
fn reserved_memory_is_never_refused() {
    succeeds("reserved_memory");
}

fn reserved_memory() {
    let mut array = SnapshotOptions::new().reserve(1).array::<u64>(words(1 << 20)).unwrap();
    refuse_memory();
    for round in 0..3 {
        let snapshot = array.snapshot().unwrap();
        array.as_mut_slice().unwrap().fill(round + 1);
        assert!(snapshot.iter().all(|&word| word == round));
    }
}

#[test]
fn touches_outside_say_so() {
    dies("behind", &["eagre: snapshots: an array was touched 8 bytes behind its end"]);
    dies("in_front", &["eagre: snapshots: an array was touched 16 bytes in front of it"]);
}

fn behind() {
    let array = array(2 << 20, 64 << 10);
    // SAFETY: none: this is the misuse.
    unsafe { array.as_mut_ptr().unwrap().add(array.len() + 1).write_volatile(1) };
}

fn in_front() {
    let array = array(2 << 20, 64 << 10);
    // SAFETY: none: this is the misuse.
    unsafe { black_box(array.as_mut_ptr().unwrap().wrapping_sub(2).read_volatile()) };
}

#[test]
fn without_a_trap_there_is_the_call() {
    let mut array = SnapshotOptions::new().explicit().array::<u64>(words(1 << 20)).unwrap();
    assert_eq!(array.as_mut_slice().map(drop).unwrap_err().kind(), RewireErrorKind::NoTrap);
    assert_eq!(array.as_mut_ptr().map(drop).unwrap_err().kind(), RewireErrorKind::NoTrap);
    let snapshot = array.snapshot().unwrap();
    array.write(7..=7).unwrap()[0] = 1;
    assert_eq!((snapshot[7], array[7]), (0, 1));
    // An ordinary fault.
    dies("explicit_store", &[]);
    let outcome = child::run_with("off", PAIR, &[("EAGRE_TRAP", "off")]);
    assert!(outcome.success, "{outcome:?}");
}

fn explicit_store() {
    let mut array = SnapshotOptions::new().explicit().array::<u64>(words(1 << 20)).unwrap();
    let to = array.write(..).unwrap().as_mut_ptr();
    let _snapshot = array.snapshot().unwrap();
    // SAFETY: none: this is the misuse.
    unsafe { to.write_volatile(1) };
}

fn off() {
    let mut array = SnapshotArray::<u64>::new(10).unwrap();
    assert_eq!(array.as_mut_slice().map(drop).unwrap_err().kind(), RewireErrorKind::NoTrap);
}

/// A system call gets `EFAULT` where the block is closed, and works where it was opened.
#[test]
fn system_calls_write_to_open_blocks() {
    let mut array = SnapshotOptions::new().array::<u8>(1 << 20).unwrap();
    let snapshot = array.snapshot().unwrap();
    let mut zero = std::fs::File::open("/dev/zero").unwrap();
    let to = &mut array.as_mut_slice().unwrap()[100..200];
    let error = zero.read(to).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::EFAULT));
    let to = array.write(100..200).unwrap();
    to.fill(1);
    assert_eq!(zero.read(to).unwrap(), 100);
    array.make_writable(500_000..).unwrap();
    assert_eq!(zero.read(&mut array.as_mut_slice().unwrap()[500_000..]).unwrap(), (1 << 20) - 500_000);
    // Snapshots are read by system calls like anything else.
    let mut null = std::fs::OpenOptions::new().write(true).open("/dev/null").unwrap();
    std::io::Write::write_all(&mut null, &snapshot).unwrap();
    assert!(snapshot.iter().all(|&byte| byte == 0));
}

#[test]
fn a_forked_child_has_no_part_in_it() {
    succeeds("forked");
}

fn forked() {
    let mut array = array(2 << 20, 64 << 10);
    array.as_mut_slice().unwrap().fill(1);
    let snapshot = array.snapshot().unwrap();
    array.as_mut_slice().unwrap()[0] = 2;
    // SAFETY: this process has one thread that matters, and the child ends with `_exit`.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let forked = |error: eagre_mem::RewireError| error.kind() == RewireErrorKind::Forked;
        let refused = array.snapshot().map(drop).is_err_and(forked)
            && array.write(..).map(drop).is_err_and(forked)
            && array.as_mut_ptr().map(drop).is_err_and(forked);
        drop((snapshot, array));
        // SAFETY: ends the child and runs nothing.
        unsafe { libc::_exit(if refused { 0 } else { 1 }) };
    }
    let mut status = 0;
    // SAFETY: our own child, and a place for its status.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0);
    array.as_mut_slice().unwrap()[words(1 << 20)] = 3;
    assert!(snapshot.iter().all(|&word| word == 1));
    assert_eq!((array[0], array[words(1 << 20)]), (2, 3));
}
