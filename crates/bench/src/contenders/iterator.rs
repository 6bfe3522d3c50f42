//! The hand-written queue behind an iterator: one `push` and one `next` per item, as streaming code is usually written.
//!
//! Every item needs a test for the end of the block, which keeps the compiler from vectorising across items; otherwise the
//! loops are inlined and optimised. `vectors` makes the item a 64-byte vector. Internal iteration (`for_each` over whole
//! blocks) would need no such test; the queue contender measures that.

use crate::contenders::{Contender, Measured, Trouble, two_threads};
use crate::kernels::{LANES, fill_items, sum_items, word};
use crate::memory::{Pages, Region};
use crate::spsc::{self, Consumer, Producer, SPIN};

const BLOCK: usize = 2 << 20;
const BLOCKS: usize = 3;

/// A region of blocks, and the kind of item.
pub(crate) struct Items {
    region: Region,
    vectors: bool,
}

impl Items {
    pub(crate) fn new(vectors: bool) -> Result<Items, Trouble> {
        let region = Region::touched(BLOCK * BLOCKS, Pages::Huge).map_err(|e| Trouble::failed("memory", e))?;
        Ok(Items { region, vectors })
    }
}

/// A block of items in transit, and how many of them are valid.
type Full<'a, T> = (&'a mut [T], usize);

/// The writing end: an item at a time.
struct Pusher<'a, T> {
    block: &'a mut [T],
    used: usize,
    empty: Consumer<&'a mut [T]>,
    full: Producer<Full<'a, T>>,
}

impl<T> Pusher<'_, T> {
    #[inline]
    fn push(&mut self, item: T) {
        if self.used == self.block.len() {
            self.next_block();
        }
        if let Some(slot) = self.block.get_mut(self.used) {
            *slot = item;
            self.used += 1;
        }
    }

    #[cold]
    #[inline(never)]
    fn next_block(&mut self) {
        self.flush();
        self.block = self.empty.receive().unwrap_or_default();
    }

    fn flush(&mut self) {
        if self.used > 0 {
            let block = std::mem::take(&mut self.block);
            // The reader is gone only when it failed, and its error is the one to report.
            let _ = self.full.send((block, self.used));
            self.used = 0;
        }
    }
}

/// The reading end: an iterator.
struct Puller<'a, T> {
    block: &'a mut [T],
    at: usize,
    words: usize,
    full: Consumer<Full<'a, T>>,
    empty: Producer<&'a mut [T]>,
}

impl<T: Copy> Iterator for Puller<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        if self.at == self.words && !self.next_block() {
            return None;
        }
        let item = self.block.get(self.at).copied();
        self.at += 1;
        item
    }
}

impl<T> Puller<'_, T> {
    #[cold]
    #[inline(never)]
    fn next_block(&mut self) -> bool {
        if !self.block.is_empty() {
            let _ = self.empty.send(std::mem::take(&mut self.block));
        }
        let Some((block, words)) = self.full.receive() else {
            (self.at, self.words) = (0, 0);
            return false;
        };
        (self.block, self.at, self.words) = (block, 0, words);
        true
    }
}

/// Both ends over the blocks of `items`.
fn ends<'a, T>(items: &'a mut [T], per_block: usize) -> (Pusher<'a, T>, Puller<'a, T>) {
    let (empty_in, empty_out) = spsc::queue(BLOCKS, SPIN);
    let (full_in, full_out) = spsc::queue(BLOCKS, SPIN);
    for block in items.chunks_exact_mut(per_block).take(BLOCKS) {
        let _ = empty_in.send(block);
    }
    (
        Pusher { block: &mut [], used: 0, empty: empty_out, full: full_in },
        Puller { block: &mut [], at: 0, words: 0, full: full_out, empty: empty_in },
    )
}

impl Contender for Items {
    fn run(&mut self, size: u64) -> Result<Measured, Trouble> {
        let words = size / 8;
        let (took, (), answer) = if self.vectors {
            let (vectors, _) = self.region.words_mut().as_chunks_mut::<LANES>();
            let (mut pusher, mut puller) = ends(vectors, BLOCK / 8 / LANES);
            two_threads(
                move || {
                    fill_items(words / LANES as u64, |item| pusher.push(item));
                    pusher.flush();
                    Ok(())
                },
                move || Ok(sum_items(&mut puller)),
            )?
        } else {
            let (mut pusher, puller) = ends(self.region.words_mut(), BLOCK / 8);
            two_threads(
                move || {
                    for i in 0..words {
                        pusher.push(word(i));
                    }
                    pusher.flush();
                    Ok(())
                },
                move || {
                    let mut total = 0u64;
                    for item in puller {
                        total = total.wrapping_add(item);
                    }
                    Ok(total)
                },
            )?
        };
        Ok(Measured::pipe(took, size, answer))
    }
}
