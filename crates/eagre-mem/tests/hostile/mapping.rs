//! Mapped files that lose their end: an error, never a signal.

use super::frame::{Ends, For, Scenario};
use super::util::*;
use eagre_mem::{LookError, Mapping};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering::*};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("mapping::cut_between_looks", For::Once, Ends::Well, cut_between_looks),
    Scenario::new("mapping::cut_during_a_look", For::Once, Ends::Well, cut_during_a_look),
    Scenario::new("mapping::cut_to_nothing_and_grown_again", For::Once, Ends::Well, cut_and_grown),
    Scenario::new("mapping::many_threads_on_the_page_that_is_gone", For::Once, Ends::Well, many_threads),
    Scenario::new("mapping::beside_streams_and_other_mappings", For::Pointers, Ends::Well, beside_streams),
    Scenario::new("mapping::made_in_a_forked_child", For::Once, Ends::Well, made_in_a_child),
    Scenario::new("mapping::inherited_by_a_forked_child", For::Once, Ends::Well, inherited),
    Scenario::new("mapping::behind_another_handler", For::Once, Ends::Well, behind_another_handler),
    Scenario::new("mapping::with_the_signals_blocked", For::Once, Ends::Well, with_signals_blocked),
    Scenario::new("mapping::come_and_go_while_others_fault", For::Once, Ends::Well, come_and_go),
    Scenario::new("mapping::not_ours_dies_as_ever", For::Once, Ends::By(libc::SIGBUS), not_ours),
];

const PAGE: usize = 4096;
const PAGES: usize = 64;
const LENGTH: usize = PAGES * PAGE;

/// A file without a name, each page of it full of its number plus one.
fn numbered() -> File {
    let file = tempfile::tempfile().unwrap();
    for page in 0..PAGES {
        file.write_all_at(&[page as u8 + 1; PAGE], (page * PAGE) as u64).unwrap();
    }
    file
}

fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().map(|&byte| u64::from(byte)).sum()
}

fn sum_of_pages(pages: std::ops::Range<usize>) -> u64 {
    pages.map(|page| (page as u64 + 1) * PAGE as u64).sum()
}

fn map(file: &File) -> Mapping {
    Mapping::new(file, 0, LENGTH).unwrap()
}

fn cut_between_looks() {
    let file = numbered();
    let mapping = map(&file);
    assert_eq!(mapping.look(0..LENGTH, sum), Ok(sum_of_pages(0..PAGES)));
    file.set_len(10 * PAGE as u64).unwrap();
    // What is left can be seen as before.
    assert_eq!(mapping.look(0..10 * PAGE, sum), Ok(sum_of_pages(0..10)));
    assert_eq!(mapping.look(9 * PAGE..12 * PAGE, sum), Err(LookError::Gone { offset: 10 * PAGE }));
    assert_eq!(mapping.look(0..10 * PAGE, sum), Ok(sum_of_pages(0..10)));
    // And what is gone stays gone.
    assert_eq!(mapping.look(20 * PAGE..21 * PAGE, sum), Err(LookError::Gone { offset: 10 * PAGE }));
    drop(mapping);
    // With an offset into the file, offsets are those of the mapping.
    let rest = Mapping::new(&file, 5 * PAGE as u64, 5 * PAGE).unwrap();
    assert_eq!(rest.look(0..rest.len(), sum), Ok(sum_of_pages(5..10)));
    file.set_len(7 * PAGE as u64).unwrap();
    assert_eq!(rest.look(0..rest.len(), sum), Err(LookError::Gone { offset: 2 * PAGE }));
    assert!(Mapping::new(&file, 1, PAGE).is_err());
    assert!(Mapping::new(&file, 0, 0).is_err());
}

fn cut_during_a_look() {
    let file = numbered();
    let mapping = map(&file);
    let seen = mapping.look(0..LENGTH, |bytes| {
        let first = sum(&bytes[..PAGE]);
        file.set_len(3 * PAGE as u64).unwrap();
        let rest = sum(&bytes[PAGE..]);
        assert_eq!((first, rest), (sum_of_pages(0..1), sum_of_pages(1..3)), "zeros where nothing is left");
    });
    assert_eq!(seen, Err(LookError::Gone { offset: 3 * PAGE }));
}

fn cut_and_grown() {
    let file = numbered();
    let mapping = map(&file);
    file.set_len(0).unwrap();
    assert!(matches!(mapping.look(8 * PAGE..9 * PAGE, sum), Err(LookError::Gone { .. })));
    file.set_len(LENGTH as u64).unwrap();
    assert!(matches!(mapping.look(8 * PAGE..LENGTH, sum), Err(LookError::Gone { .. })), "no look mixes old and new");
    assert_eq!(map(&file).look(0..LENGTH, sum), Ok(0));
}

fn many_threads() {
    for round in 0..200 {
        let file = numbered();
        let mapping = map(&file);
        let left = round % 20;
        file.set_len((left * PAGE) as u64).unwrap();
        let start = Barrier::new(4);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (mapping, start) = (&mapping, &start);
                scope.spawn(move || {
                    start.wait();
                    // Some begin at the first page that is gone, some further on.
                    let from = (left + thread % 2) * PAGE;
                    let seen = mapping.look(from..LENGTH, |bytes| assert_eq!(sum(bytes), 0));
                    let Err(LookError::Gone { offset }) = seen else { panic!("{seen:?}") };
                    assert!((left * PAGE..=from).contains(&offset), "{offset} from {from}");
                });
            }
        });
    }
}

fn beside_streams() {
    let files: Vec<File> = (0..5).map(|_| numbered()).collect();
    let mappings: Vec<Mapping> = files.iter().map(map).collect();
    std::thread::scope(|scope| {
        scope.spawn(|| (0..10).for_each(|_| streams_work()));
        for (i, (file, mapping)) in files.iter().zip(&mappings).enumerate() {
            scope.spawn(move || {
                assert_eq!(mapping.look(0..LENGTH, sum), Ok(sum_of_pages(0..PAGES)));
                file.set_len((i * PAGE) as u64).unwrap();
                assert_eq!(mapping.look(0..LENGTH, sum), Err(LookError::Gone { offset: i * PAGE }));
            });
        }
    });
    streams_work();
}

fn made_in_a_child() {
    let in_the_parent = numbered();
    let mapping = map(&in_the_parent);
    let child = fork(|| {
        let file = numbered();
        let mapping = map(&file);
        assert_eq!(mapping.look(0..LENGTH, sum), Ok(sum_of_pages(0..PAGES)));
        file.set_len(PAGE as u64).unwrap();
        assert_eq!(mapping.look(0..LENGTH, sum), Err(LookError::Gone { offset: PAGE }));
        0
    });
    assert_eq!(wait_for(child), 0);
    assert_eq!(mapping.look(0..LENGTH, sum), Ok(sum_of_pages(0..PAGES)));
    in_the_parent.set_len(0).unwrap();
    assert_eq!(mapping.look(0..LENGTH, sum), Err(LookError::Gone { offset: 0 }));
}

fn inherited() {
    let file = numbered();
    let mapping = map(&file);
    let mut mapping = Some(mapping);
    let child = fork(|| {
        assert_eq!(mapping.as_ref().unwrap().look(0..LENGTH, sum), Err(LookError::Unguarded));
        drop(mapping.take());
        // The child's own is not confused with the one it gave up.
        assert_eq!(map(&file).look(0..LENGTH, sum), Ok(sum_of_pages(0..PAGES)));
        0
    });
    assert_eq!(wait_for(child), 0);
    assert_eq!(mapping.unwrap().look(0..LENGTH, sum), Ok(sum_of_pages(0..PAGES)));
}

extern "C" fn exit_at_once(_: i32) {
    // SAFETY: ends the process.
    unsafe { libc::_exit(3) }
}

fn behind_another_handler() {
    let file = numbered();
    let mapping = map(&file);
    set_action(libc::SIGBUS, exit_at_once as *const () as usize, 0);
    file.set_len(PAGE as u64).unwrap();
    assert_eq!(mapping.look(0..LENGTH, |_| panic!("not looked at")), Err::<(), _>(LookError::Unguarded));
    // A new one goes on top again, as a stream does.
    file.set_len(LENGTH as u64).unwrap();
    let again = map(&file);
    file.set_len(PAGE as u64).unwrap();
    assert_eq!(again.look(0..LENGTH, sum), Err(LookError::Gone { offset: PAGE }));
}

fn with_signals_blocked() {
    let file = numbered();
    let mapping = map(&file);
    file.set_len(PAGE as u64).unwrap();
    // SAFETY: the set is initialised by sigfillset.
    unsafe {
        let mut all = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, std::ptr::null_mut());
    }
    assert_eq!(mapping.look(0..LENGTH, sum), Err(LookError::Gone { offset: PAGE }));
}

fn come_and_go() {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let file = numbered();
                while !over.load(SeqCst) {
                    drop(map(&file));
                }
            });
        }
        for _ in 0..300 {
            let file = numbered();
            let mapping = map(&file);
            file.set_len(PAGE as u64).unwrap();
            assert_eq!(mapping.look(0..LENGTH, sum), Err(LookError::Gone { offset: PAGE }));
        }
        over.store(true, SeqCst);
    });
}

fn not_ours() {
    let file = numbered();
    let _ours = map(&file);
    // SAFETY: a mapping of the test's own, read once beyond the end of its file: this is the crash.
    unsafe {
        use std::os::fd::AsRawFd;
        let fd = file.as_raw_fd();
        let there = libc::mmap(std::ptr::null_mut(), LENGTH, libc::PROT_READ, libc::MAP_SHARED, fd, 0);
        file.set_len(0).unwrap();
        Raw(there.cast()).read(PAGE);
    }
}
