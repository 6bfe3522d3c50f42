//! Several threads at one file.

use std::io;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::panic::resume_unwind;

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
    threads: NonZeroUsize,
    mut deliver: impl FnMut(u64, S::Part) -> ControlFlow<()>,
) -> Done<S::Worker> {
    let threads = threads.get();
    let queue = Queue::new(if threads == 1 { 1 } else { threads * AHEAD });
    let (mut bytes, mut error) = (0, None);
    let mut own = match Member::new(source, scan, &queue) {
        Ok(own) => own,
        Err(error) => return Done { workers: vec![scan.worker()], bytes: 0, error: Some(error) },
    };
    let mut workers = Vec::with_capacity(threads);
    std::thread::scope(|scope| {
        let _present = queue.presence();
        let help = || {
            let _present = queue.presence();
            // Where there is no memory for one more thread, the others do it.
            let mut member = Member::new(source, scan, &queue).ok()?;
            while let Some(number) = queue.hand_out() {
                member.work(number);
            }
            Some(member.worker)
        };
        let spawn = |_| std::thread::Builder::new().name("eagre-scan".into()).spawn_scoped(scope, help).ok();
        // Where no more threads are to be had, fewer do it.
        let helpers: Vec<_> = (1..threads).map_while(spawn).collect();
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
        for helper in helpers {
            workers.extend(helper.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
    });
    workers.push(own.worker);
    Done { workers, bytes, error }
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
    fn new(source: &'a R, scan: &'a S, queue: &'a Queue<io::Result<Option<Seen<S::Part>>>>) -> io::Result<Self> {
        Ok(Member { source, scan, queue, worker: scan.worker(), lane: source.lane()? })
    }

    fn work(&mut self, number: u64) {
        let (scan, worker) = (self.scan, &mut self.worker);
        let seen = self.source.look(&mut self.lane, number, |offset, bytes| scan.piece(worker, offset, bytes));
        let last = !matches!(&seen, Ok(Some(seen)) if !seen.last);
        self.queue.put(number, seen, last);
    }
}
