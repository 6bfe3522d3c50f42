//! Partitioning in one pass: nobody counts, each bucket is a chain of blocks that grows as items come.
//!
//! Several threads take a stripe of the items each, and have chains of their own: a bucket is the chains of all threads,
//! in the order of their stripes. Input that vanishes gives its blocks to the chains as it is read, so that the two
//! together never hold more than the input and a block for each chain.

use super::kernels::assemble::Assembler;
use super::kernels::chains::{Chain, ChainWriter, Written};
use super::kernels::classify::Classify;
use super::kernels::remains::Remains;
use super::kernels::view::{Filled, Piece};
use super::{Item, Layout, PartitionError};
use crate::sort::team;
use eagre_mem::{Pool, RewireError, RewiredVec};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// How it is done.
pub(super) struct Chained<'p, C> {
    pub(super) classify: &'p C,
    pub(super) pool: &'p Pool,
    pub(super) threads: usize,
    pub(super) layout: Layout,
}

impl<C: Classify> Chained<'_, C> {
    /// Partitions items that stay.
    pub(super) fn copy<T: Item>(&self, items: &[T]) -> Result<Filled<T>, PartitionError> {
        let assembler = self.assembler(size_of_val(items))?;
        let stripes = items.chunks(items.len().div_ceil(self.threads).max(1));
        let written = team::gather(stripes.map(|stripe| {
            || {
                let mut writer = ChainWriter::new(self.classify.ways(), self.pool)?;
                let taken = writer.scatter(stripe, self.classify);
                let written = writer.finish();
                match written.failure.clone() {
                    Some(error) => Err(PartitionError::Memory(error)),
                    None => Ok(taken.map(|()| written)?),
                }
            }
        }));
        Ok(self.assemble(assembler, written.into_iter().collect::<Result<_, _>>()?).map_err(|(error, _)| error)?)
    }

    /// Partitions the items of a vector, which is empty afterwards. After an error or a panic it holds them all at the
    /// addresses it had, in some order.
    pub(super) fn vanish<T: Item>(&self, vector: &mut RewiredVec<T>) -> Result<Filled<T>, PartitionError> {
        let assembler = self.assembler(size_of_val(&**vector))?;
        // Whatever heap it takes is had before the vector is touched.
        let writers = (0..self.threads).map(|_| ChainWriter::new(self.classify.ways(), self.pool));
        drop(writers.collect::<Result<Vec<ChainWriter<T>>, _>>()?);
        let mut pieces = Piece::all(vector)?;
        let each = pieces.len().div_ceil(self.threads).max(1);
        let mut stripes = Vec::new();
        while !pieces.is_empty() {
            let later = pieces.split_off(each.min(pieces.len()));
            stripes.push(std::mem::replace(&mut pieces, later));
        }
        let done = team::gather(stripes.into_iter().map(|stripe| move || self.vanish_stripe(stripe)));
        if done.iter().any(|done| done.stop.is_some()) {
            return self.restore(vector, done);
        }
        self.assemble(assembler, done.into_iter().map(|done| done.written).collect()).or_else(|(error, remains)| {
            remains.restore(vector)?;
            Err(error.into())
        })
    }

    fn assembler<T: Item>(&self, bytes: usize) -> Result<Assembler<T>, PartitionError> {
        let block = self.pool.block_size().bytes();
        Ok(Assembler::new(self.pool, bytes + (self.classify.ways() * self.threads + 2) * block)?)
    }

    /// One thread's part of a vector that vanishes.
    fn vanish_stripe<T: Item>(&self, stripe: Vec<Piece<T>>) -> Done<T> {
        let mut writer = match ChainWriter::new(self.classify.ways(), self.pool) {
            Ok(writer) => writer,
            Err(error) => {
                return Done { written: Written::nothing(), rest: stripe, stop: Some(Stop::Error(error.into())) };
            }
        };
        let mut stripe = stripe.into_iter();
        let (mut taken, mut rest, mut panic) = (0, Vec::new(), None);
        for piece in &mut stripe {
            let take = || {
                writer
                    .scatter(piece.items(), self.classify)
                    .and_then(|()| writer.scatter(piece.straddler(), self.classify))
            };
            match catch_unwind(AssertUnwindSafe(take)) {
                Ok(Ok(())) => {
                    taken += piece.items().len() + piece.straddler().len();
                    writer.stock(piece.into_block());
                    continue;
                }
                Ok(Err(_)) => {}
                Err(payload) => panic = Some(payload),
            }
            rest.push(piece);
            break;
        }
        rest.extend(stripe);
        let written = writer.finish();
        let error = written.failure.clone().map(|error| Stop::Error(error.into()));
        if let Some(first) = rest.first_mut() {
            first.skip(written.bytes / size_of::<T>() - taken);
        }
        Done { written, rest, stop: panic.map(Stop::Panic).or(error) }
    }

    /// Makes the buckets of all threads' chains.
    ///
    /// # Errors
    /// As [`Assembler::finish`].
    fn assemble<T: Item>(
        &self,
        mut to: Assembler<T>,
        written: Vec<Written>,
    ) -> Result<Filled<T>, (RewireError, Remains<T>)> {
        let whole_items = self.pool.block_size().bytes().is_multiple_of(size_of::<T>());
        let mut threads: Vec<Vec<Chain>> = Vec::new();
        for written in written {
            to.spare(written.stock);
            threads.push(written.chains);
        }
        for bucket in 0..self.classify.ways() {
            to.begin(self.layout == Layout::Apart);
            let chains = threads.iter_mut().map(|chains| std::mem::take(&mut chains[bucket]));
            match self.layout {
                Layout::DenseAnyOrder if whole_items => to.add_in_any_order(chains),
                _ => chains.for_each(|chain| to.add_chain(chain)),
            }
        }
        to.finish()
    }

    /// Puts everything back.
    fn restore<T: Item>(&self, vector: &mut RewiredVec<T>, done: Vec<Done<T>>) -> Result<Filled<T>, PartitionError> {
        let (mut remains, mut stops) = (Remains::new(), Vec::new());
        for Done { written, rest, stop } in done {
            remains.add_written(written);
            rest.into_iter().for_each(|piece| remains.add_piece(piece));
            stops.extend(stop);
        }
        remains.restore(vector)?;
        match stops.into_iter().next() {
            Some(Stop::Panic(payload)) => resume_unwind(payload),
            Some(Stop::Error(error)) => Err(error),
            None => unreachable!("a thread has stopped early"),
        }
    }
}

/// What one thread has done of a vector that vanishes.
struct Done<T> {
    written: Written,
    /// What it has not taken.
    rest: Vec<Piece<T>>,
    stop: Option<Stop>,
}

/// Why a thread has stopped early.
enum Stop {
    Error(PartitionError),
    /// A key was computed by code that panicked.
    Panic(Box<dyn Any + Send>),
}
