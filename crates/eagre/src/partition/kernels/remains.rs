//! Puts the remains of a vector that was taken apart back to where they were.
//!
//! The blocks stay where they are at home until all is packed, so that packing takes neither memory nor mappings; and
//! all lists have the room they need before the vector is taken apart. Then they move to the vector's own places, no
//! more of them than lay there before.

use super::chains::{Chain, Written};
use super::scatter::Left;
use super::view::{Piece, bytes_of};
use crate::partition::Keyed;
use eagre_mem::heap::{self, Refused};
use eagre_mem::{RawBlock, RewireError, RewiredVec};
use std::mem::MaybeUninit;
use std::ops::Range;

/// Items, packed: together the bytes that were added are those of whole items.
pub(crate) struct Remains<T> {
    /// All are full but the last.
    packed: Vec<RawBlock>,
    /// How many bytes are packed.
    bytes: usize,
    /// Blocks without items.
    spare: Vec<RawBlock>,
    /// Items that are in no block. They come last: by then there are blocks to spare, as there were when all were in
    /// order.
    outside: Vec<Left>,
    straddlers: Vec<T>,
    /// Blocks on their way from the buckets' memory.
    pub(super) taken: Vec<RawBlock>,
}

impl<T: Keyed> Remains<T> {
    /// With room for so many blocks, writers' buffers, and items that lie in two blocks.
    ///
    /// # Errors
    /// [`Refused`].
    pub(crate) fn new(blocks: usize, writers: usize, straddlers: usize) -> Result<Remains<T>, Refused> {
        Ok(Remains {
            packed: heap::list(blocks)?,
            bytes: 0,
            spare: heap::list(blocks)?,
            outside: heap::list(writers)?,
            straddlers: heap::list(straddlers)?,
            taken: heap::list(blocks)?,
        })
    }

    /// Adds these bytes of a block.
    pub(crate) fn add(&mut self, mut block: RawBlock, mut bytes: Range<usize>) {
        let first = bytes.len().min(self.room());
        self.copy(&block.bytes_mut()[bytes.start..][..first]);
        bytes.start += first;
        if bytes.is_empty() {
            self.spare.push(block);
            return;
        }
        self.bytes += bytes.len();
        if bytes.start > 0 {
            block.bytes_mut().copy_within(bytes, 0);
        }
        self.packed.push(block);
    }

    /// Adds what an interrupted writer took.
    pub(crate) fn add_written(&mut self, written: Written) {
        self.spare.extend(written.stock);
        self.outside.push(written.left);
        for Chain { mut blocks, last } in written.chains {
            let end = blocks.pop();
            for mut block in blocks {
                let whole = block.bytes_mut().len();
                self.add(block, 0..whole);
            }
            end.into_iter().for_each(|block| self.add(block, 0..last));
        }
    }

    /// Adds what it did not take.
    pub(crate) fn add_piece(&mut self, piece: Piece<T>) {
        self.straddlers.extend_from_slice(piece.straddler());
        if let Some((block, bytes)) = piece.into_parts() {
            self.add(block, bytes);
        }
    }

    /// Puts the items into the vector that was taken apart.
    ///
    /// # Errors
    /// As [`RewiredVec::put_blocks`].
    pub(crate) fn restore(mut self, vector: &mut RewiredVec<T>) -> Result<(), RewireError> {
        let (outside, straddlers) = (std::mem::take(&mut self.outside), std::mem::take(&mut self.straddlers));
        for mut outside in outside.iter().map(Left::bytes).chain([bytes_of(&straddlers)]) {
            while !outside.is_empty() {
                if self.room() == 0 {
                    self.packed.push(self.spare.pop().expect("the blocks held all items before"));
                }
                let (now, later) = outside.split_at(outside.len().min(self.room()));
                self.copy(now);
                outside = later;
            }
        }
        assert!(self.bytes.is_multiple_of(size_of::<T>()));
        drop(self.spare);
        // SAFETY: packed are the bytes of so many whole items, one after the other.
        unsafe { vector.put_blocks(self.packed, self.bytes / size_of::<T>()) }
    }

    /// How many bytes the last block has room for.
    fn room(&mut self) -> usize {
        let count = self.packed.len();
        self.packed.last_mut().map_or(0, |last| count * last.bytes_mut().len() - self.bytes)
    }

    /// Adds a copy of bytes that there is room for.
    fn copy(&mut self, bytes: &[MaybeUninit<u8>]) {
        let room = self.room();
        if let Some(last) = self.packed.last_mut() {
            let last = last.bytes_mut();
            let start = last.len() - room;
            last[start..][..bytes.len()].copy_from_slice(bytes);
            self.bytes += bytes.len();
        }
    }
}
