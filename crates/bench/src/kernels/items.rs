//! The same sequence one item of several words at a time, for contenders whose interface is an iterator.

#[cfg(target_arch = "x86_64")]
use super::x86;
use super::{Level, STEP, word};

/// Words per item of the vector iterator: 64 bytes.
pub(crate) const LANES: usize = 8;

/// Hands the stream's first `items` vectors to `push`, one at a time.
#[inline(never)] // Its vectors would otherwise share the caller's stack frame with the loop over words.
pub(crate) fn fill_items(items: u64, push: impl FnMut([u64; LANES])) {
    match Level::best() {
        // SAFETY: the level says the feature is there.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { x86::fill_items_avx512(items, push) },
        // SAFETY: the level says the feature is there.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { x86::fill_items_avx2(items, push) },
        Level::Portable => fill_items_plain(items, push),
    }
}

/// The sum of all words of all `items`.
#[inline(never)] // As above.
pub(crate) fn sum_items(items: impl Iterator<Item = [u64; LANES]>) -> u64 {
    match Level::best() {
        // SAFETY: the level says the feature is there.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { x86::sum_items_avx512(items) },
        // SAFETY: the level says the feature is there.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { x86::sum_items_avx2(items) },
        Level::Portable => sum_items_plain(items),
    }
}

/// The item loop; inlined into one function per instruction set, where it becomes vector code.
#[inline(always)]
pub(super) fn fill_items_plain(items: u64, mut push: impl FnMut([u64; LANES])) {
    let mut item: [u64; LANES] = std::array::from_fn(|i| word(i as u64));
    for _ in 0..items {
        push(item);
        item = item.map(|value| value.wrapping_add(STEP.wrapping_mul(LANES as u64)));
    }
}

/// The other item loop, likewise.
#[inline(always)]
pub(super) fn sum_items_plain(items: impl Iterator<Item = [u64; LANES]>) -> u64 {
    let mut totals = [0u64; LANES];
    for item in items {
        for (total, value) in totals.iter_mut().zip(item) {
            *total = total.wrapping_add(value);
        }
    }
    totals.iter().fold(0, |a, b| a.wrapping_add(*b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::expected_sum;
    use crate::kernels::tests::naive;

    #[test]
    fn items_carry_the_same_sequence() {
        let mut items = Vec::new();
        fill_items(100, |item| items.push(item));
        assert!(items.as_flattened().iter().eq(&naive(0, 800)));
        assert_eq!(sum_items(items.into_iter()), expected_sum(800));
    }
}
