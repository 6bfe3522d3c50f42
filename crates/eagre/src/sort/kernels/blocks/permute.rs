//! Moves the blocks of each bucket together.

use crate::sort::kernels::uninit::UninitSlice;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::super::{Word, prefetch};
use super::classify::PIECE;
use super::{Blocks, FAN, NONE, Stripe};
use crate::sort::progress::Reporter;
use crate::sort::team;

/// How many bytes are prefetched: what memory can deliver at once.
const AHEAD: usize = 4096;

impl<W: Word> Blocks<W> {
    /// Computes which block belongs to each place.
    pub(super) fn find_sources(&mut self, stripes: &[Stripe], places: usize, starts: &[usize]) {
        // The next free place of each bucket.
        let mut place = [0usize; FAN];
        for (place, start) in place.iter_mut().zip(starts) {
            *place = start.div_ceil(self.shape.block);
        }
        let sources = &mut self.sources[..places];
        sources.fill(NONE);
        for stripe in stripes {
            for (i, &rank) in self.ranks[stripe.start..][..stripe.front].iter().enumerate() {
                let place = &mut place[rank as usize];
                sources[*place] = (stripe.start + i) as u32;
                *place += 1;
            }
        }
    }

    /// Moves blocks along paths. A path begins at a place without a block, and ends at a block whose place gets no
    /// other. There is a path for almost every buffer, and the threads share them. Then moves blocks along the
    /// remaining cycles. This cannot be interrupted.
    pub(super) fn permute(&mut self, words: &mut [W], stripes: &[Stripe], progress: Reporter<'_>) {
        let block = self.shape.block;
        let len = words.len();
        let (cut, spare) = (self.cut(), self.spare());
        let next = AtomicUsize::new(0);
        let sources = Shared(self.sources.as_mut_ptr());
        let range = Shared(words.as_mut_ptr());
        let kept = Shared(self.buffers[0][cut].as_mut_ptr().cast::<W>());
        let team = self.buffers.len();
        let walk = || {
            let mut moved = 0;
            while let Some(first) = hole(stripes, next.fetch_add(1, Ordering::Relaxed)) {
                let (sources, range, kept) = (&sources, &range, &kept);
                // SAFETY: a place is on one path only, so that no two threads meet, and it is read before it is
                // written. Blocks lie within the range, but for a place at its very end, which no block comes from.
                unsafe {
                    let ask_for = |source: &mut u32| {
                        if *source != NONE {
                            prefetch_words(range.0.wrapping_add(*source as usize * block), block);
                            *source = *sources.0.add(*source as usize);
                        }
                    };
                    let mut hole = first;
                    let mut ahead = *sources.0.add(hole);
                    (0..AHEAD / (block * size_of::<W>()).min(AHEAD)).for_each(|_| ask_for(&mut ahead));
                    loop {
                        let source = sources.0.add(hole).replace(NONE);
                        if source == NONE {
                            break;
                        }
                        let source = source as usize;
                        ask_for(&mut ahead);
                        let to = if (hole + 1) * block > len { kept.0 } else { range.0.add(hole * block) };
                        std::ptr::copy_nonoverlapping(range.0.add(source * block), to, block);
                        hole = source;
                        moved += block;
                        if moved >= PIECE {
                            let _ = progress.report(std::mem::take(&mut moved));
                        }
                    }
                }
            }
            let _ = progress.report(moved);
        };
        team::run((0..team).map(|_| walk));
        let sources = &mut self.sources;
        for first in stripes.iter().flat_map(|s| s.start..s.start + s.front) {
            if sources[first] == NONE || sources[first] as usize == first {
                continue;
            }
            self.buffers[0][spare.clone()].copied(&words[first * block..][..block]);
            let mut hole = first;
            loop {
                let source = std::mem::replace(&mut sources[hole], NONE) as usize;
                if source == first {
                    // SAFETY: written above.
                    let block_spared = unsafe { self.buffers[0][spare.clone()].written() };
                    words[hole * block..][..block].copy_from_slice(block_spared);
                    break;
                }
                words.copy_within(source * block..(source + 1) * block, hole * block);
                hole = source;
            }
        }
    }
}

/// The `number`-th place without a block.
fn hole(stripes: &[Stripe], mut number: usize) -> Option<usize> {
    for stripe in stripes {
        let holes = stripe.places - stripe.front;
        if number < holes {
            return Some(stripe.start + stripe.front + number);
        }
        number -= holes;
    }
    None
}

/// A pointer that several threads use, each for places of its own.
struct Shared<T>(*mut T);
// SAFETY: who dereferences it keeps to that.
unsafe impl<T: Send> Sync for Shared<T> {}

/// Prefetches the words that move next.
#[inline(always)]
fn prefetch_words<W>(at: *const W, n: usize) {
    for line in (0..n * size_of::<W>()).step_by(64) {
        prefetch(at.cast::<u8>().wrapping_add(line));
    }
}
