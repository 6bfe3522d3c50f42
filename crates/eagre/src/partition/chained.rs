//! Partitioning in one pass, without counting: each bucket is a chain of blocks that grows as items come.
//!
//! Each thread takes a stripe of the items and has chains of its own. A bucket consists of the chains of all threads,
//! in the order of their stripes. Input that vanishes gives its blocks to the chains as it is read, so that both
//! together never hold more than the input and a block for each chain.

use super::kernels::assemble::{Assembler, NotAssembled};
use super::kernels::chains::{ChainWriter, Written};
use super::kernels::classify::Classify;
use super::kernels::view::{Filled, Piece};
use super::{Keyed, Layout, PartitionError};
use crate::sort::team;
use eagre_mem::{Pool, RewiredVec, heap};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// How to partition.
pub(super) struct Chained<'p, C> {
    pub(super) classify: &'p C,
    pub(super) pool: &'p Pool,
    pub(super) threads: usize,
    pub(super) layout: Layout,
}

impl<C: Classify> Chained<'_, C> {
    /// Partitions items that are only read.
    pub(super) fn copy<T: Keyed>(&self, items: &[T]) -> Result<Filled<T>, PartitionError> {
        let assembler = self.assembler(size_of_val(items), false)?;
        let stripes = items.chunks(items.len().div_ceil(self.threads).max(1));
        let mut outcomes = heap::several(stripes.len(), || Ok::<_, PartitionError>(None))?;
        let mut written = heap::list(stripes.len())?;
        team::run(
            stripes.zip(&mut outcomes).map(|(stripe, outcome)| move || *outcome = Some(self.copy_stripe(stripe))),
        );
        for outcome in outcomes.into_iter().flatten() {
            written.push(outcome?);
        }
        Ok(self.assemble(assembler, written).map_err(|(error, _)| error)?)
    }

    /// One thread's part of items that are only read.
    fn copy_stripe<T: Keyed>(&self, stripe: &[T]) -> Result<Written, PartitionError> {
        let mut writer = ChainWriter::new(self.classify.ways(), self.pool, 0)?;
        let taken = writer.scatter(stripe, self.classify);
        let mut written = writer.finish();
        match written.failure.take() {
            Some(error) => Err(error),
            None => Ok(taken.map(|()| written)?),
        }
    }

    /// Partitions the items of a vector, which is empty afterwards. After an error or a panic it has all items at the
    /// addresses it had, in some order.
    pub(super) fn vanish<T: Keyed>(&self, vector: &mut RewiredVec<T>) -> Result<Filled<T>, PartitionError> {
        let bytes = size_of_val(&**vector);
        // All memory that putting the items back needs is allocated before the vector is touched. Later allocations may
        // be refused.
        let assembler = self.assembler(bytes, true)?;
        let each = bytes.div_ceil(self.pool.block_size().bytes()).div_ceil(self.threads).max(1);
        let writer = || ChainWriter::new(self.classify.ways(), self.pool, each);
        let writers = heap::several(self.threads, writer)?;
        let mut done = heap::several(self.threads, || Ok::<_, PartitionError>(None))?;
        let mut written = heap::list(self.threads)?;
        let mut pieces = Piece::all(vector)?;
        let jobs = pieces.chunks_mut(each).zip(writers).zip(&mut done);
        team::run(jobs.map(|((stripe, writer), done)| move || *done = Some(self.vanish_stripe(stripe, writer))));
        let mut stop = None;
        for done in done.into_iter().flatten() {
            written.push(done.written);
            stop = stop.or(done.stop);
        }
        let Some(stop) = stop else {
            return self.assemble(assembler, written).or_else(|(error, remains)| {
                remains.map_or(Ok(()), |remains| remains.restore(vector))?;
                Err(error.into())
            });
        };
        // All items go back.
        if let Some(mut remains) = assembler.into_remains() {
            written.into_iter().for_each(|written| remains.add_written(written));
            pieces.into_iter().for_each(|piece| remains.add_piece(piece));
            remains.restore(vector)?;
        }
        match stop {
            Stop::Panic(payload) => resume_unwind(payload),
            Stop::Error(error) => Err(error),
        }
    }

    /// `fragile`: the items are not copies, and must not be lost.
    fn assembler<T: Keyed>(&self, bytes: usize, fragile: bool) -> Result<Assembler<T>, PartitionError> {
        Assembler::new(self.pool, bytes, self.classify.ways(), self.threads, fragile)
    }

    /// One thread's part of a vector that vanishes. Pieces that were not taken as a whole stay in the stripe.
    fn vanish_stripe<T: Keyed>(&self, stripe: &mut [Piece<T>], mut writer: ChainWriter<T>) -> Done {
        let (mut taken, mut panic) = (0, None);
        for piece in &mut *stripe {
            let take = || {
                writer
                    .scatter(piece.items(), self.classify)
                    .and_then(|()| writer.scatter(piece.straddler(), self.classify))
            };
            match catch_unwind(AssertUnwindSafe(take)) {
                Ok(Ok(())) => {
                    taken += piece.items().len() + piece.straddler().len();
                    piece.take_block().into_iter().for_each(|block| writer.stock(block));
                    continue;
                }
                Ok(Err(_)) => {}
                Err(payload) => panic = Some(payload),
            }
            break;
        }
        let mut written = writer.finish();
        let error = written.failure.take().map(Stop::Error);
        if let Some(first) = stripe.iter_mut().find(|piece| piece.is_there()) {
            first.skip(written.bytes / size_of::<T>() - taken);
        }
        Done { written, stop: panic.map(Stop::Panic).or(error) }
    }

    /// Makes the buckets of all threads' chains.
    ///
    /// # Errors
    /// As [`Assembler::finish`].
    fn assemble<T: Keyed>(
        &self,
        mut to: Assembler<T>,
        mut written: Vec<Written>,
    ) -> Result<Filled<T>, NotAssembled<T>> {
        let whole_items = self.pool.block_size().bytes().is_multiple_of(size_of::<T>());
        written.iter_mut().for_each(|written| to.spare(written.stock.drain(..)));
        for bucket in 0..self.classify.ways() {
            to.begin(self.layout == Layout::Apart);
            let chains = written.iter_mut().map(|written| std::mem::take(&mut written.chains[bucket]));
            match self.layout {
                Layout::DenseAnyOrder if whole_items => to.add_in_any_order(chains),
                _ => chains.for_each(|chain| to.add_chain(chain)),
            }
        }
        to.finish()
    }
}

/// What one thread has done with its stripe.
struct Done {
    written: Written,
    stop: Option<Stop>,
}

/// Why a thread has stopped early.
enum Stop {
    Error(PartitionError),
    /// Code that computes a key panicked.
    Panic(Box<dyn Any + Send>),
}
