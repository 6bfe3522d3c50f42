//! Several threads for the length of one step. They take no memory of the heap.

use std::sync::{Mutex, PoisonError};

use eagre_mem::threads::with_helpers;

/// Runs all jobs, on as many threads if the system has them to give, this one among them. Jobs are made as threads come
/// for them, in order, and one at a time.
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
