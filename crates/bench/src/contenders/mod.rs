//! Everyone who takes part, behind one trait: one file per family.

mod channel;
mod compiler;
pub(crate) mod external;
#[allow(unsafe_code, reason = "a signal handler, and the touch that calls it")]
mod fault;
#[allow(unsafe_code, reason = "maps files")]
pub(crate) mod file;
mod first_touch;
mod gensort;
#[allow(unsafe_code, reason = "vectors on mappings of their own")]
pub(crate) mod grow;
mod hash;
mod iperf;
mod iterator;
mod kernel;
mod link;
mod network;
mod os_pipe;
#[allow(unsafe_code, reason = "loops that write past the caches, and chunks of memory")]
pub(crate) mod partition;
mod peer;
#[allow(unsafe_code, reason = "system calls that move pages")]
mod primitive;
#[allow(unsafe_code, reason = "stream pointers, and memory that two processes share")]
pub(crate) mod process;
mod queue;
mod rdma_bare;
mod read;
#[allow(unsafe_code, reason = "memory that changes its address")]
mod rewire;
#[allow(unsafe_code, reason = "fills rtrb's uninitialised chunks")]
mod ring;
mod send;
mod several;
#[allow(unsafe_code, reason = "stores while something keeps what was there")]
mod snapshot;
pub(crate) mod sort;
#[allow(unsafe_code, reason = "stream pointers")]
pub(crate) mod stream;
#[allow(unsafe_code, reason = "fills a batch before its length is set")]
mod timely;
#[allow(unsafe_code, reason = "vanishing arrays behind plain pointers")]
pub(crate) mod vanish;

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::catalogue::{Entry, Way, Work};
pub(crate) use crate::child::Process;
use crate::corpus::Store;
use crate::kernels::expected_sum;
use crate::outcome::Identity;
use crate::timeline::Span;
pub(crate) use crate::trouble::Trouble;

/// One run's result, before anybody has checked it.
#[derive(Debug)]
pub(crate) struct Measured {
    /// How long the work took.
    pub took: Duration,
    /// How much it was: bytes of a stream or file, blocks moved, keys sorted.
    pub amount: u64,
    /// How many threads could work on it at once.
    pub threads: usize,
    /// What the run makes of its data.
    pub answer: u64,
    /// What it should make of it: a closed form, or what the maker of the data knows.
    pub expected: u64,
    /// What the work alone used, where it ran in a process of its own.
    pub process: Option<Process>,
    /// What else the contender counted.
    pub counters: Vec<(&'static str, f64)>,
    /// What it did at which time, if it tells.
    pub timeline: Vec<Span>,
}

impl Measured {
    /// A stream of `bytes` bytes between two threads.
    pub(crate) fn pipe(took: Duration, bytes: u64, answer: u64) -> Measured {
        Measured { threads: 2, ..Measured::alone(took, bytes, answer, bytes / 8) }
    }

    /// `amount` of something done by one thread to `words` words.
    pub(crate) fn alone(took: Duration, amount: u64, answer: u64, words: u64) -> Measured {
        let expected = expected_sum(words);
        Measured {
            took,
            amount,
            threads: 1,
            answer,
            expected,
            process: None,
            counters: Vec::new(),
            timeline: Vec::new(),
        }
    }

    /// This and another stream that ran at the same time, in the time of this one.
    pub(crate) fn beside(mut self, other: Measured) -> Measured {
        self.amount += other.amount;
        self.threads += other.threads;
        self.answer = self.answer.wrapping_add(other.answer);
        self.expected = self.expected.wrapping_add(other.expected);
        for (counter, more) in self.counters.iter_mut().zip(other.counters) {
            counter.1 += more.1;
        }
        self
    }

    /// This, if its answer is the expected one.
    pub(crate) fn verified(self) -> Result<Measured, Trouble> {
        if self.answer == self.expected {
            Ok(self)
        } else {
            Err(Trouble::Wrong(format!("{0} ({0:#x}), expected {1} ({1:#x})", self.answer, self.expected)))
        }
    }
}

/// A way to do a row's work. Memory that may be kept between runs is made once, with the contender.
pub(crate) trait Contender: Send {
    /// Does `size` of the work once. Only what the row is about is timed.
    fn run(&mut self, size: u64) -> Result<Measured, Trouble>;

    /// What this contender is exactly, beyond its line in the catalogue.
    fn identity(&self) -> Identity {
        Identity::default()
    }
}

/// The contender that `entry` describes, ready for `work`.
pub(crate) fn build(entry: &Entry, work: Work, store: &Arc<Store>) -> Result<Box<dyn Contender>, Trouble> {
    match work {
        Work::File(job) => file::build(entry.way, job, store),
        Work::Sort(sorting) => match entry.way {
            Way::Sort(by) => sort::build(by, sorting, store),
            _ => Err(mismatch(entry.way)),
        },
        Work::FileSort(sort) => match entry.way {
            Way::FileSort(sorter) => external::build(sorter, sort, store),
            _ => Err(mismatch(entry.way)),
        },
        Work::Kernel { merge } => match entry.way {
            Way::Kernel(kernel) => Ok(Box::new(kernel::Kernels { kernel, merge })),
            _ => Err(mismatch(entry.way)),
        },
        Work::Gensort { check, threads } => match entry.way {
            Way::Gensort => Ok(Box::new(gensort::Gensort { check, threads })),
            _ => Err(mismatch(entry.way)),
        },
        Work::Pipe { streams } if streams > 1 && !entry.one => Ok(Box::new(several::Several::new(entry.way, streams)?)),
        Work::Pipe { .. } => pipe(entry.way),
        Work::Processes { block } => match entry.way {
            Way::Iceoryx2 => Ok(Box::new(peer::Peer::new("iceoryx2", &[block.to_string()])?)),
            Way::Between(carrier) => Ok(Box::new(process::Processes::new(carrier, block))),
            _ => Err(mismatch(entry.way)),
        },
        Work::Move { block, pages, peer_runs } => {
            let load = primitive::Load { block: block as usize, pages, peer_runs };
            match entry.way {
                Way::Memcpy { warm } => Ok(primitive::memcpy(load, warm)),
                Way::Mremap => Ok(primitive::mremap(load)),
                Way::UffdioMove => primitive::uffdio_move(load),
                Way::FaultAndMove => fault::fault_and_move(load),
                Way::FirstTouch => Ok(Box::new(first_touch::FirstTouch::new(load))),
                Way::Stream(setting) => stream::moves(setting, load),
                _ => Err(mismatch(entry.way)),
            }
        }
        Work::Send => match entry.way {
            Way::Send(courier) => Ok(Box::new(send::Send::new(courier, store)?)),
            _ => Err(mismatch(entry.way)),
        },
        Work::Fill => match entry.way {
            Way::Grow(growth) => Ok(Box::new(grow::Grow(growth))),
            _ => Err(mismatch(entry.way)),
        },
        Work::Partition { bits } => match entry.way {
            Way::Partition(buckets) => Ok(Box::new(partition::Partition::new(buckets, bits))),
            _ => Err(mismatch(entry.way)),
        },
        Work::Rewire(work) => match entry.way {
            Way::Wired(wiring) => Ok(Box::new(rewire::Rewire::new(wiring, work)?)),
            _ => Err(mismatch(entry.way)),
        },
        Work::Vanish(half) => match entry.way {
            Way::Array(behind) => Ok(Box::new(vanish::OneArray::new(behind, half)?)),
            _ => Err(mismatch(entry.way)),
        },
        Work::Snapshot(moments) => match entry.way {
            Way::Moment(keep) => Ok(Box::new(snapshot::Snapshots::new(keep, moments)?)),
            _ => Err(mismatch(entry.way)),
        },
        Work::Hash(hashing) => match entry.way {
            Way::Hash(directory) => Ok(Box::new(hash::Hash { directory, hashing })),
            _ => Err(mismatch(entry.way)),
        },
        Work::Scatter { bits } => match entry.way {
            Way::Array(behind) => Ok(Box::new(vanish::Algorithm9::new(behind, bits)?)),
            _ => Err(mismatch(entry.way)),
        },
        Work::Read => match entry.way {
            Way::BlockRead => Ok(Box::new(read::Blocks::new()?)),
            Way::PlainRead => Ok(Box::new(read::Plain::new())),
            Way::StreamRead(setting) => stream::read(setting),
            _ => Err(mismatch(entry.way)),
        },
    }
}

/// One stream between two threads.
fn pipe(way: Way) -> Result<Box<dyn Contender>, Trouble> {
    Ok(match way {
        Way::Queue { block, blocks } => Box::new(queue::Queue::new(block, blocks)?),
        Way::Iterator { vectors } => Box::new(iterator::Items::new(vectors)?),
        Way::Crossbeam => Box::new(channel::Crossbeam::new()?),
        Way::StdMpsc => Box::new(channel::StdMpsc::new()?),
        Way::Ring => Box::new(ring::Ring),
        Way::OsPipe => Box::new(os_pipe::OsPipe::new()?),
        Way::Timely => Box::new(timely::Timely),
        Way::Stream(setting) => return stream::pipe(setting),
        Way::Network(kind) => return network::network(kind),
        _ => return Err(mismatch(way)),
    })
}

fn mismatch(way: Way) -> Trouble {
    Trouble::Failed(format!("catalogue: {way:?} cannot do this row's work"))
}

/// Runs the two ends of a stream on a thread each; the time is from before both to after both.
pub(crate) fn two_threads<W: Send, R>(
    write: impl FnOnce() -> Result<W, Trouble> + Send,
    read: impl FnOnce() -> Result<R, Trouble>,
) -> Result<(Duration, W, R), Trouble> {
    let start = Instant::now();
    let (written, got) = std::thread::scope(|scope| {
        let writer = scope.spawn(write);
        let got = read();
        (writer.join(), got)
    });
    let took = start.elapsed();
    let written = written.map_err(|_| Trouble::Failed("the writing thread panicked".into()))?;
    // When both failed, a wrong answer is the one to tell; else the reader only noticed.
    match (written, got) {
        (_, Err(Trouble::Wrong(why))) => Err(Trouble::Wrong(why)),
        (Err(trouble), _) | (Ok(_), Err(trouble)) => Err(trouble),
        (Ok(written), Ok(got)) => Ok((took, written, got)),
    }
}
