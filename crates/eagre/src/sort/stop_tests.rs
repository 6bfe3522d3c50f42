//! Progress, and sorts that are stopped at every point there is.

use std::fmt::Debug;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::kernels::Level;
use super::order::SortOrder;
use super::patterns::seeded;
use super::progress::Hook;
use super::{Progress, SortError, Sorter};

/// Large enough to be split in place, by one thread.
const N: usize = if cfg!(miri) { 3000 } else { 150_001 };

/// Sorts with a hook that is called every so many bytes of work.
fn hooked<'a>(sorter: Sorter<'_>, call: &'a (dyn Fn(Progress) -> ControlFlow<()> + Sync), step: u64) -> Sorter<'a> {
    Sorter {
        level: sorter.level,
        threads: sorter.threads,
        slack: sorter.slack,
        hook: Some(Hook { call, step }),
        order: sorter.order,
    }
}

/// Runs a sort to its end, and checks what it reports; then stops it at each call, by an answer and by a panic.
/// `sorted` says whether elements are in order; however it ends, they are those it began with.
fn stop_everywhere<T: Clone + Ord + Debug>(
    what: &str,
    items: &[T],
    sorter: Sorter<'_>,
    sort: impl Fn(&Sorter<'_>, &mut [T]) -> Result<(), SortError>,
    sorted: impl Fn(&[T]) -> bool,
) {
    let mut same = items.to_vec();
    same.sort_unstable();
    // Often enough for few elements; and for many, which take a while each time, not too often.
    let step = if cfg!(miri) { 1 << 10 } else { (size_of_val(items) as u64 / 4).max(1 << 18) };

    let reports = Mutex::new(Vec::new());
    let listen = |progress: Progress| {
        reports.lock().unwrap().push(progress);
        ControlFlow::Continue(())
    };
    let mut all = items.to_vec();
    sort(&hooked(sorter, &listen, step), &mut all).unwrap();
    assert!(sorted(&all), "{what}");
    let reports = reports.into_inner().unwrap();
    assert!(reports.is_sorted_by_key(|progress| progress.done), "{what}: {reports:?}");
    assert!(reports.iter().all(|progress| progress.total == items.len() as u64), "{what}: {reports:?}");
    assert_eq!(reports.last().unwrap().done, items.len() as u64, "{what}");

    let mut stopped = 0;
    for at in 0..reports.len() {
        let panics = at % 3 == 2;
        let calls = AtomicUsize::new(0);
        let stop = |_| {
            if calls.fetch_add(1, Ordering::Relaxed) < at {
                return ControlFlow::Continue(());
            }
            if panics {
                resume_unwind(Box::new("as the test wants"));
            }
            ControlFlow::Break(())
        };
        let mut some = items.to_vec();
        let result = catch_unwind(AssertUnwindSafe(|| sort(&hooked(sorter, &stop, step), &mut some)));
        let calls = calls.into_inner();
        match result {
            // With several threads there may be fewer calls than the first time.
            Ok(Ok(())) => assert!(sorted(&some), "{what}"),
            Ok(Err(error)) => {
                assert_eq!((error, panics, calls), (SortError::Cancelled, false, at + 1), "{what}");
                stopped += 1;
            }
            Err(_) => assert!(panics && calls == at + 1, "{what}"),
        }
        some.sort_unstable();
        assert!(some == same, "{what}: stopped at call {at}, {} elements are not those it had", some.len());
    }
    eprintln!("{what}: {} calls, stopped at {stopped}", reports.len());
    assert!(cfg!(miri) || stopped > 0, "{what}: {} calls", reports.len());
}

fn sorters() -> impl Iterator<Item = (String, Sorter<'static>)> {
    [(1, None), (3, None), (1, Some(1_500_000)), (1, Some(0))].into_iter().map(|(threads, slack)| {
        let what = format!("{threads} threads, {slack:?} bytes");
        (what, Sorter { level: Ok(Level::best()), threads, slack, hook: None, order: SortOrder::default() })
    })
}

#[test]
fn sorts_stop() {
    let mut random = seeded(4);
    let uniform: Vec<u64> = (0..N).map(|_| random.u64(..)).collect();
    // Keys that need more than one split in place.
    let skewed: Vec<u64> = (0..N).map(|_| random.u64(..) >> (random.u64(0..3) * 20)).collect();
    for (what, sorter) in sorters() {
        stop_everywhere(&what, &uniform, sorter, |sorter, items| sorter.sort(items), |items| items.is_sorted());
        stop_everywhere(&what, &skewed, sorter, |sorter, items| sorter.sort(items), |items| items.is_sorted());
    }
}

/// So many that they are split before a worker takes them, by one thread and by several: each step of that is stopped.
#[test]
#[cfg_attr(miri, ignore = "millions of keys")]
fn sorts_in_memory_stop() {
    let mut random = seeded(8);
    let many: Vec<u64> = (0..1_200_003).map(|_| random.u64(..)).collect();
    for threads in [1, 3] {
        let sorter = Sorter::new().threads(threads);
        let what = format!("in memory, {threads} threads");
        stop_everywhere(&what, &many, sorter, |sorter, items| sorter.sort(items), |items| items.is_sorted());
    }
}

/// Keys of one and two bytes are counted.
#[test]
#[cfg_attr(miri, ignore = "millions of keys")]
fn sorts_of_narrow_keys_stop() {
    let mut random = seeded(9);
    let narrow: Vec<u16> = (0..4_200_003).map(|_| random.u16(..)).collect();
    for threads in [1, 3] {
        let sorter = Sorter::new().threads(threads);
        let what = format!("narrow, {threads} threads");
        stop_everywhere(&what, &narrow, sorter, |sorter, items| sorter.sort(items), |items| items.is_sorted());
    }
}

#[test]
fn sorts_of_pairs_stop() {
    let mut random = seeded(5);
    let pairs: Vec<(u64, usize)> = (0..N / 2).map(|i| (random.u64(..) >> 44, i)).collect();
    for (what, sorter) in sorters() {
        stop_everywhere(&what, &pairs, sorter, |sorter, items| sorter.sort_pairs(items), |items| items.is_sorted());
    }
}

#[test]
fn sorts_by_key_stop() {
    let mut random = seeded(6);
    let texts: Vec<String> = (0..N / 8).map(|_| random.u64(..).to_string()).collect();
    let key = |text: &String| text.parse::<u64>().unwrap();
    let sorted = |texts: &[String]| texts.is_sorted_by_key(key);
    for slack in [None, Some(1 << 20)] {
        let sorter = Sorter { slack, ..Sorter::new() };
        stop_everywhere("by key", &texts, sorter, |sorter, texts| sorter.sort_by_key(texts, key), sorted);
        stop_everywhere("by cached key", &texts, sorter, |sorter, texts| sorter.sort_by_cached_key(texts, key), sorted);
    }
}

#[test]
fn partial_sorts_stop() {
    let mut random = seeded(7);
    let items: Vec<u64> = (0..N).map(|_| random.u64(..)).collect();
    let k = N / 10;
    let mut smallest = items.clone();
    smallest.sort_unstable();
    smallest.truncate(k);
    for (what, sorter) in sorters() {
        stop_everywhere(
            &what,
            &items,
            sorter,
            |sorter, items| sorter.smallest(items, k),
            |items| items[..k] == smallest,
        );
    }
}

/// Nothing is asked of a hook but whether to go on: the result is the same.
#[test]
fn small_sorts_report_their_end() {
    let reports = Mutex::new(Vec::new());
    let listen = |progress: Progress| {
        reports.lock().unwrap().push((progress.done, progress.total));
        ControlFlow::Break(())
    };
    let mut numbers = [3u64, 1, 2];
    Sorter::new().progress(&listen).sort(&mut numbers).unwrap();
    assert_eq!((numbers, reports.into_inner().unwrap()), ([1, 2, 3], vec![(3, 3)]));
}
