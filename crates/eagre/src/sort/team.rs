//! Threads for the length of one step. They take no memory from the heap.

use std::sync::{Mutex, PoisonError};

use eagre_mem::threads::with_helpers;

/// Runs all jobs on as many threads, this one among them, or on fewer if the system refuses some. The iterator makes
/// jobs in order, one at a time, when threads ask for them.
pub(crate) fn run<J: FnOnce() + Send>(jobs: impl ExactSizeIterator<Item = J> + Send) {
    let threads = jobs.len();
    let jobs = Mutex::new(jobs);
    let next = || jobs.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        while let Some(job) = next() {
            job();
        }
    };
    match threads {
        0 | 1 => work(),
        threads => with_helpers(None, threads - 1, &work, work),
    }
}
