//! A `timely` dataflow of two workers: a source on the one, an exchange, a sum on the other.
//!
//! Records are batches of words that change hands by ownership, which is the kindest way to move
//! bulk data through a dataflow system: the machinery per record is paid once a batch. The source
//! runs a few batches ahead of the sum and watches it through a probe, as the library's examples do.
//! Batches of 2 MiB did best of 32 KiB to 4 MiB: 80-95 GB/s when the queue gave 110, against 33 with
//! 256 KiB.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Instant;

use timely::dataflow::channels::pact::Exchange;
use timely::dataflow::operators::{Input, Operator, Probe};
use timely::dataflow::{InputHandle, ProbeHandle};

use crate::contenders::{Contender, Measured, Trouble};
use crate::kernels::{Tally, fill_at};

/// Words in a batch, and how many batches may be on their way.
const BATCH: u64 = (2 << 20) / 8;
const AHEAD: usize = 4;

/// The workers are started anew for each run.
pub(crate) struct Timely;

impl Contender for Timely {
    fn run(&mut self, size: u64) -> Result<Measured, Trouble> {
        let words = size / 8;
        let start = Instant::now();
        let workers = timely::execute(timely::Config::process(2), move |worker| {
            let mut input = InputHandle::new();
            let probe = ProbeHandle::new();
            let tally = Rc::new(RefCell::new(Tally::default()));
            let sum = tally.clone();
            worker.dataflow::<usize, _, _>(|scope| {
                scope
                    .input_from(&mut input)
                    .container::<Vec<Vec<u64>>>()
                    .unary(Exchange::new(|_: &Vec<u64>| 1), "Sum", |_, _| {
                        move |input, output| {
                            input.for_each(|time, batches| {
                                for batch in batches.drain(..) {
                                    sum.borrow_mut().add(&batch);
                                }
                                output.session(&time).give(());
                            });
                        }
                    })
                    .container::<Vec<()>>()
                    .probe_with(&probe);
            });
            if worker.index() == 0 {
                let (mut written, mut epoch) = (0, 0);
                while written < words {
                    let n = (words - written).min(BATCH);
                    input.send(batch(written, n as usize));
                    written += n;
                    epoch += 1;
                    input.advance_to(epoch);
                    worker.step();
                    while epoch > AHEAD && probe.less_than(&(epoch - AHEAD)) {
                        worker.step_or_park(None);
                    }
                }
            }
            input.close();
            while !probe.done() {
                worker.step_or_park(None);
            }
            tally.take().answer().map_err(|trouble| format!("{trouble:?}"))
        })
        .map_err(|e| Trouble::failed("timely", e))?;
        let mut answer = 0u64;
        for worker in workers.join() {
            let sum = worker.map_err(|e| Trouble::failed("timely", e))?;
            answer = answer.wrapping_add(sum.map_err(Trouble::Wrong)?);
        }
        Ok(Measured::pipe(start.elapsed(), size, answer))
    }
}

/// `words` words from word `first` on.
fn batch(first: u64, words: usize) -> Vec<u64> {
    let mut batch = Vec::with_capacity(words);
    // SAFETY: the vector has room for `words` words, and all of them are written.
    unsafe {
        fill_at(batch.as_mut_ptr(), words, first);
        batch.set_len(words);
    }
    batch
}
