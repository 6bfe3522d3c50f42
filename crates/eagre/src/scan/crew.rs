//! Scans one file with several threads.

use std::io;
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

use eagre_mem::heap;
use eagre_mem::threads::with_helpers;

use super::Scan;
use super::queue::{Next, Queue};
use super::source::{Seen, Source};

/// How many pieces per thread may be scanned but not delivered yet. This is enough that no thread waits for a slow one.
const AHEAD: usize = 4;

/// The result of a run.
pub(super) struct Done<W> {
    pub(super) workers: Vec<W>,
    /// How many bytes were delivered.
    pub(super) bytes: u64,
    /// The error that ended the run, if any.
    pub(super) error: Option<io::Error>,
}

/// Scans the pieces of `source` with `threads` threads, the caller's included, and delivers the parts in order on the
/// calling thread. A panic of any thread is resumed here.
pub(super) fn run<S: Scan, R: Source>(
    source: &R,
    scan: &S,
    threads: usize,
    mut deliver: impl FnMut(u64, S::Part) -> ControlFlow<()>,
) -> Done<S::Worker> {
    let ahead = if threads == 1 { 1 } else { threads * AHEAD };
    let (queue, workers) = match Queue::new(ahead).and_then(|queue| Ok((queue, heap::list(threads)?))) {
        Ok((queue, workers)) => (queue, Mutex::new(workers)),
        Err(refused) => return Done { workers: Vec::new(), bytes: 0, error: Some(refused.into()) },
    };
    let (mut bytes, mut error) = (0, None);
    // The list has room for all workers.
    let done = |worker| workers.lock().unwrap_or_else(PoisonError::into_inner).push(worker);
    let help = || {
        let _present = queue.presence();
        let mut member = Member::new(source, scan, &queue);
        while let Some(number) = queue.hand_out() {
            member.work(number);
        }
        done(member.worker);
    };
    // If the system refuses threads, fewer do the work.
    with_helpers(Some(c"eagre-scan"), threads - 1, &help, || {
        let _present = queue.presence();
        let mut own = Member::new(source, scan, &queue);
        loop {
            match queue.next() {
                Next::Work(number) => own.work(number),
                Next::Over => break,
                Next::Deliver(Ok(None)) => break,
                Next::Deliver(Ok(Some(Seen { part, length, last }))) => {
                    bytes += length as u64;
                    if deliver(bytes, part).is_break() || last {
                        break;
                    }
                }
                Next::Deliver(Err(failed)) => {
                    error = Some(failed);
                    break;
                }
            }
        }
        queue.close();
        done(own.worker);
    });
    Done { workers: workers.into_inner().unwrap_or_else(PoisonError::into_inner), bytes, error }
}

/// One thread of the crew.
struct Member<'a, S: Scan, R: Source> {
    source: &'a R,
    scan: &'a S,
    queue: &'a Queue<io::Result<Option<Seen<S::Part>>>>,
    worker: S::Worker,
    lane: R::Lane,
}

impl<'a, S: Scan, R: Source> Member<'a, S, R> {
    fn new(source: &'a R, scan: &'a S, queue: &'a Queue<io::Result<Option<Seen<S::Part>>>>) -> Self {
        Member { source, scan, queue, worker: scan.worker(), lane: source.lane() }
    }

    fn work(&mut self, number: u64) {
        let (scan, worker) = (self.scan, &mut self.worker);
        let seen = self.source.look(&mut self.lane, number, |offset, bytes| scan.piece(worker, offset, bytes));
        let last = !matches!(&seen, Ok(Some(seen)) if !seen.last);
        self.queue.put(number, seen, last);
    }
}
