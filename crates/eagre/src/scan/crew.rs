//! Several threads at one file.

use std::io;
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

use eagre_mem::heap;
use eagre_mem::threads::with_helpers;

use super::Scan;
use super::queue::{Next, Queue};
use super::source::{Seen, Source};

/// How many pieces may be on their way for each thread: enough to let nobody wait for a slow neighbour.
const AHEAD: usize = 4;

/// What came of it.
pub(super) struct Done<W> {
    pub(super) workers: Vec<W>,
    /// How many bytes were delivered.
    pub(super) bytes: u64,
    /// The error that came next.
    pub(super) error: Option<io::Error>,
}

/// Lets so many threads, this one among them, look at the pieces of `source`, and delivers the parts in order on this
/// one. A panic of a thread goes on here.
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
    // There is room for all of them.
    let done = |worker| workers.lock().unwrap_or_else(PoisonError::into_inner).push(worker);
    let help = || {
        let _present = queue.presence();
        let mut member = Member::new(source, scan, &queue);
        while let Some(number) = queue.hand_out() {
            member.work(number);
        }
        done(member.worker);
    };
    // Where no more threads are to be had, fewer do it.
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
