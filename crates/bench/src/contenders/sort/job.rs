//! One contender's part in a round, in a process of its own: makes the keys, sorts them, looks at what came of it.

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::array::{Array, Plain};
use super::foreign::{self, Named};
use super::numbers::{self, Element};
use super::rust::{Record, Sort, Sortable, eagre_pairs};
use crate::catalogue::{By, Foreign, Keys, Pattern};
use crate::contenders::Trouble;
use crate::memory::Pages;
use crate::usage::Usage;

/// The hidden subcommand that takes a job.
pub(crate) const COMMAND: &str = "sort-job";

/// What the process is told.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Job {
    /// To sort.
    Sort(Order),
    /// To write the keys to its standard output, for somebody who sorts them elsewhere.
    Pour(Load),
}

/// An array of keys.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Load {
    /// What they are.
    pub keys: Keys,
    /// How they come.
    pub pattern: Pattern,
    /// How many.
    pub count: usize,
}

/// How an array is to be sorted, and by whom.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Order {
    /// The array.
    pub load: Load,
    /// So many keys at a time.
    pub piece: usize,
    /// So often, filled again each time.
    pub repeat: usize,
    /// With so many threads.
    pub threads: usize,
    /// On such pages.
    pub pages: Pages,
    /// By whom.
    pub by: By,
    /// The library it is in.
    pub library: Option<PathBuf>,
}

/// What the process answers. Python's scripts print the same.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Reply {
    Done(Done),
    Unavailable(String),
    Wrong(String),
    Failed(String),
}

/// What came of an order.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Done {
    /// How long the sorting alone took.
    pub seconds: f64,
    /// The processor time it took.
    pub processor: f64,
    /// What was resident before it: the array, and the process itself.
    pub resident: u64,
    /// The digests of all repetitions, added up.
    pub digest: u64,
}

/// Runs the job that `text` describes; the reply is printed.
pub(crate) fn run(text: &str) -> Result<(), String> {
    let job: Job = serde_json::from_str(text).map_err(|e| format!("job: {e}"))?;
    let order = match job {
        Job::Pour(load) => return pour(load).map_err(|e| format!("job: {e}")),
        Job::Sort(order) => order,
    };
    let reply = match sort(&order) {
        Ok(done) => Reply::Done(done),
        Err(Trouble::Unavailable(why)) => Reply::Unavailable(why),
        Err(Trouble::Wrong(why)) => Reply::Wrong(why),
        Err(Trouble::Failed(why)) => Reply::Failed(why),
    };
    let reply = serde_json::to_string(&reply).map_err(|e| format!("job: {e}"))?;
    writeln!(io::stdout(), "{reply}").map_err(|e| format!("job: {e}"))
}

/// The same keys can lie in memory in several ways: as whoever sorts them wants them.
fn sort(order: &Order) -> Result<Done, Trouble> {
    match (order.load.keys, order.by) {
        (Keys::U32, _) => measure::<u32>(order, number(order)?),
        (Keys::U64, _) => measure::<u64>(order, number(order)?),
        (Keys::F64, _) => measure::<f64>(order, number(order)?),
        (Keys::Pairs, By::Foreign(Foreign::Vqsort)) => measure::<u128>(order, foreign(order)?),
        (Keys::Pairs | Keys::Stable, By::Foreign(_)) => measure::<[u64; 2]>(order, foreign(order)?),
        (Keys::Pairs, By::Radsort | By::Voracious | By::Rdst | By::RdstLow) => {
            measure::<u128>(order, u128::sort(order.by, order.threads))
        }
        (Keys::Pairs, _) => measure::<(u64, u64)>(order, <(u64, u64)>::sort(order.by, order.threads)),
        (Keys::Stable, By::Eagre(_)) => measure::<(u64, u64)>(order, eagre_pairs(order.by, order.threads)),
        (Keys::Stable, _) => measure::<Record>(order, Record::sort(order.by, order.threads)),
    }
}

/// A sort of numbers, in Rust or C++.
fn number<T: Sortable + Named>(order: &Order) -> Result<Option<Sort<T>>, Trouble> {
    match order.by {
        By::Foreign(_) => foreign(order),
        by => Ok(T::sort(by, order.threads)),
    }
}

/// A sort in C++.
fn foreign<T: Named>(order: &Order) -> Result<Option<Sort<T>>, Trouble> {
    let (By::Foreign(foreign), Some(library)) = (order.by, &order.library) else { return Ok(None) };
    let threads = order.threads;
    let function = foreign::function::<T>(library, foreign)?;
    Ok(function.map(|function| Box::new(move |keys: &mut [T]| function.sort(keys, threads)) as Sort<T>))
}

/// Fills, sorts and looks, as often as is asked for.
fn measure<T: Plain>(order: &Order, sort: Option<Sort<T>>) -> Result<Done, Trouble> {
    let sort = sort.ok_or_else(|| Trouble::Unavailable("it cannot sort such keys".into()))?;
    let mut array = Array::<T>::new(order.load.count, order.pages).map_err(|e| Trouble::failed("memory", e))?;
    let (mut took, mut processor, mut digest, mut resident) = (Duration::ZERO, 0.0, 0u64, 0);
    let pieces = order.load.count.div_ceil(order.piece);
    for repetition in 0..order.repeat {
        let keys = array.keys_mut();
        if order.repeat > 1 {
            // By the thread that sorts: small pieces are to be in its cache.
            numbers::fill(order.load.pattern, keys, 0, order.load.count as u64);
        } else {
            numbers::fill_all(order.load.pattern, keys);
        }
        if repetition == 0 {
            resident = resident_bytes();
        }
        let (before, start) = (Usage::now(), Instant::now());
        if pieces == 1 {
            sort(keys);
        } else {
            keys.chunks_mut(order.piece).for_each(&sort);
        }
        took += start.elapsed();
        let used = Usage::now().since(before);
        processor += used.user_seconds + used.system_seconds;
        let look = numbers::look(keys, order.piece);
        if let Some(at) = look.disorder {
            return Err(Trouble::Wrong(format!("key {at} stands before a smaller one")));
        }
        digest = digest.wrapping_add(look.digest);
    }
    Ok(Done { seconds: took.as_secs_f64(), processor, resident, digest })
}

/// What this process has resident now.
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes = field.and_then(|field| field.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kibibytes.unwrap_or(0) << 10
}

/// Writes the keys to standard output, as they lie in memory.
fn pour(load: Load) -> io::Result<()> {
    fn numbers<T: Element>(load: Load, bytes: impl Fn(&T, &mut Vec<u8>)) -> io::Result<()> {
        const PORTION: usize = 1 << 16;
        let mut output = io::stdout().lock();
        let (mut keys, mut text) = (vec![T::make(0, 0); PORTION.min(load.count)], Vec::new());
        for at in (0..load.count).step_by(PORTION) {
            let part = &mut keys[..PORTION.min(load.count - at)];
            numbers::fill(load.pattern, part, at as u64, load.count as u64);
            text.clear();
            part.iter().for_each(|key| bytes(key, &mut text));
            output.write_all(&text)?;
        }
        output.flush()
    }
    match load.keys {
        Keys::U32 => numbers(load, |key: &u32, text| text.extend(key.to_ne_bytes())),
        Keys::U64 => numbers(load, |key: &u64, text| text.extend(key.to_ne_bytes())),
        Keys::F64 => numbers(load, |key: &f64, text| text.extend(key.to_ne_bytes())),
        Keys::Pairs | Keys::Stable => Err(io::ErrorKind::Unsupported.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(keys: Keys, by: By) -> Order {
        Order {
            load: Load { keys, pattern: Pattern::Zipf, count: 1 << 17 },
            piece: 1 << 10,
            repeat: 2,
            threads: 2,
            pages: Pages::Small,
            by,
            library: None,
        }
    }

    fn digest<T: Element>(order: &Order) -> u64 {
        let Load { pattern, count, .. } = order.load;
        numbers::digest::<T>(pattern, count, order.piece).wrapping_mul(order.repeat as u64)
    }

    /// Everybody in Rust, on everything, in many pieces.
    #[test]
    fn whoever_can_sort_keys_sorts_them() {
        use crate::catalogue::Slack;
        let eagre = [Slack::Default, Slack::Free, Slack::Part(16)].map(By::Eagre);
        let peers =
            [By::StdUnstable, By::StdStable, By::RayonUnstable, By::Radsort, By::Voracious, By::Rdst, By::RdstLow];
        for by in eagre.into_iter().chain(peers) {
            for keys in [Keys::U32, Keys::U64, Keys::F64, Keys::Pairs, Keys::Stable] {
                let order = order(keys, by);
                let expected = match keys {
                    Keys::U32 => digest::<u32>(&order),
                    Keys::U64 => digest::<u64>(&order),
                    Keys::F64 => digest::<f64>(&order),
                    Keys::Pairs | Keys::Stable => digest::<(u64, u64)>(&order),
                };
                let stable = matches!(by, By::StdStable | By::Voracious | By::Eagre(_));
                match sort(&order) {
                    Ok(done) => assert_eq!(done.digest, expected, "{by:?}, {keys:?}"),
                    Err(Trouble::Unavailable(_)) => assert_eq!(keys == Keys::Stable, !stable, "{by:?}, {keys:?}"),
                    Err(other) => panic!("{by:?}, {keys:?}: {other:?}"),
                }
            }
        }
    }

    #[test]
    fn a_library_that_does_not_sort_is_seen() {
        let directory = tempfile::tempdir().unwrap();
        let library = directory.path().join("library.so");
        let result = |body: &str| {
            let text = format!(
                "#include <algorithm>\n#include <cstdint>\n\
                 extern \"C\" void vqsort_u64(uint64_t* keys, size_t count, unsigned) {{ {body} }}"
            );
            // A name of its own: what is loaded stays.
            let library = library.with_file_name(format!("{}.so", body.len()));
            super::foreign::compile(&text, &library)?;
            let mut order = order(Keys::U64, By::Foreign(Foreign::Vqsort));
            order.library = Some(library);
            Ok::<_, String>((sort(&order).map(|done| done.digest == digest::<u64>(&order)), order))
        };
        let (sorted, order) = match result("std::sort(keys, keys + count);") {
            Ok(result) => result,
            Err(why) => return eprintln!("skipped: c++: {why}"),
        };
        assert!(matches!(sorted, Ok(true)), "{sorted:?}");
        assert!(matches!(result("").unwrap().0, Err(Trouble::Wrong(_))));
        let (lost, _) = result("std::sort(keys, keys + count); keys[count - 2] = keys[count - 1];").unwrap();
        assert!(matches!(lost, Ok(false)), "{lost:?}");
        // A kind of keys it has no function for.
        let other = Order { load: Load { keys: Keys::U32, ..order.load }, ..order };
        assert!(matches!(sort(&other), Err(Trouble::Unavailable(_))));
    }
}
