//! Fills the parts of each bucket before its first and after its last whole block.

use super::super::Word;
use super::{Blocks, FAN, Shift, Stripe};
use crate::sort::kernels::uninit::UninitSlice;

impl<W: Word> Blocks<W> {
    /// Fills the parts of each bucket before its first and after its last whole block.
    pub(super) fn clean_up(&mut self, words: &mut [W], starts: &[usize], counts: &[u32; FAN], stripes: &[Stripe]) {
        let block = self.shape.block;
        for (rank, (ends, &count)) in starts.windows(2).zip(counts).enumerate() {
            let (start, end) = (ends[0], ends[1]);
            let first = if count == 0 { end } else { start.next_multiple_of(block) };
            let last = first + count as usize * block;
            let mut at = start;
            if last > end {
                // The words that stick out lie where later, unfilled buckets begin, or beyond the range.
                let within = last.min(words.len());
                if last > within {
                    // SAFETY: only the block that the end of the range cuts reaches beyond it, and it was kept.
                    let cut = unsafe { self.buffers[0][self.cut()].written() };
                    let (inside, beyond) = cut.split_at(block - (last - within));
                    words[within - inside.len()..within].copy_from_slice(inside);
                    words[at..at + beyond.len()].copy_from_slice(beyond);
                    at += beyond.len();
                }
                words.copy_within(end..within, at);
                at += within - end;
            }
            for (stripe, buffers) in stripes.iter().zip(&self.buffers) {
                let mut rest = stripe.rest(buffers, rank);
                while !rest.is_empty() {
                    if at == first {
                        at = last;
                    }
                    let room = if at < first { first - at } else { rest.len() };
                    let (now, later) = rest.split_at(room.min(rest.len()));
                    words[at..at + now.len()].copy_from_slice(now);
                    at += now.len();
                    rest = later;
                }
            }
        }
    }
}

impl<W: Word> Blocks<W> {
    /// [`Blocks::clean_up`] for words that keep their order.
    pub(super) fn clean_up_in_order(&mut self, words: &mut [W], starts: &[usize], stripes: &mut [Stripe]) {
        let block = self.shape.block;
        for stripe in &mut *stripes {
            stripe.full = [0; FAN];
            self.ranks[stripe.start..][..stripe.front].iter().for_each(|&rank| stripe.full[rank as usize] += 1);
        }
        for (rank, ends) in starts.windows(2).enumerate() {
            let (mut from, mut to) = (ends[0].next_multiple_of(block), ends[0]);
            for stripe in &mut *stripes {
                let len = stripe.full[rank] as usize * block;
                stripe.shift = Shift { from, to, len };
                from += len;
                to += len + stripe.left[rank] as usize;
            }
            // From one stripe to the next, blocks move further to the right. To overwrite nothing, first those that
            // move to the right are moved, from the last, then the others, from the first.
            let first_to_right = stripes.partition_point(|stripe| stripe.shift.to <= stripe.shift.from);
            for i in (first_to_right..stripes.len()).rev().chain(0..first_to_right) {
                let Shift { from, to, len } = stripes[i].shift;
                // Only the block that the end of the range cuts lies elsewhere, in its own place. Behind it a bucket
                // without blocks may seem to begin.
                let whole = if len > 0 && from + len > words.len() { len - block } else { len };
                if whole > 0 {
                    words.copy_within(from..from + whole, to);
                }
                if whole < len {
                    // SAFETY: see above.
                    let cut = unsafe { self.buffers[0][self.cut()].written() };
                    words[to + whole..to + len].copy_from_slice(cut);
                }
                let rest = stripes[i].rest(&self.buffers[i], rank);
                words[to + len..][..rest.len()].copy_from_slice(rest);
            }
        }
    }
}
