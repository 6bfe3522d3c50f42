//! Files whose content is complete are made durable and visible by a few threads, so that many small files do not wait for the disk
//! one by one.
#![forbid(unsafe_code)]

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

use super::have::Digest;
use super::incoming::Complete;

const THREADS: usize = 4;
/// How many files may wait: they are open.
const WAITING: usize = 16;

/// What is told of a file when it has appeared.
#[derive(Debug)]
pub(super) struct Ticket {
    /// Its place in the list.
    pub(super) entry: usize,
    /// Its path below the top, byte for byte, and for messages.
    pub(super) name: Vec<u8>,
    pub(super) place: String,
    pub(super) bytes: u64,
    /// How many of them were there before.
    pub(super) before: u64,
    pub(super) digest: Digest,
}

type Finished = (Ticket, io::Result<()>);

/// The threads, which start with the first file.
pub(super) struct Finishing {
    jobs: Option<SyncSender<(Ticket, Complete)>>,
    finished: Option<Receiver<Finished>>,
    threads: Vec<JoinHandle<()>>,
    out: usize,
}

impl Finishing {
    pub(super) fn new() -> Finishing {
        Finishing { jobs: None, finished: None, threads: Vec::new(), out: 0 }
    }

    /// Lets a file appear soon, and returns those that have appeared meanwhile.
    pub(super) fn add(&mut self, ticket: Ticket, complete: Complete) -> Vec<Finished> {
        if self.threads.is_empty() {
            self.start();
        }
        // Without a thread, it is done here.
        let Some(jobs) = self.jobs.as_ref().filter(|_| !self.threads.is_empty()) else {
            return vec![(ticket, complete.appear())];
        };
        match jobs.send((ticket, complete)) {
            Ok(()) => self.out += 1,
            Err(back) => {
                let (ticket, complete) = back.0;
                return vec![(ticket, complete.appear())];
            }
        }
        let finished: Vec<_> = self.finished.iter().flat_map(Receiver::try_iter).collect();
        self.out -= finished.len();
        finished
    }

    /// Waits until all have appeared, and returns those that were not returned before.
    pub(super) fn wait(&mut self) -> Vec<Finished> {
        let finished: Vec<_> = self.finished.iter().flat_map(|finished| finished.iter().take(self.out)).collect();
        self.out -= finished.len();
        finished
    }

    fn start(&mut self) {
        let (jobs, waiting) = sync_channel::<(Ticket, Complete)>(WAITING);
        let (done, finished) = channel();
        let waiting = Arc::new(Mutex::new(waiting));
        for _ in 0..THREADS {
            let (waiting, done) = (Arc::clone(&waiting), done.clone());
            let work = move || {
                loop {
                    let job = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
                    let Ok((ticket, complete)) = job else { return };
                    if done.send((ticket, complete.appear())).is_err() {
                        return;
                    }
                }
            };
            self.threads.extend(Builder::new().name("eagre-files".into()).stack_size(256 << 10).spawn(work));
        }
        (self.jobs, self.finished) = (Some(jobs), Some(finished));
    }
}

impl Drop for Finishing {
    fn drop(&mut self) {
        self.jobs = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
