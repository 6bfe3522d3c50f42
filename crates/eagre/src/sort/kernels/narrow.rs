//! Keys that differ in no more bits than half as wide a number has are packed, in place, into such numbers. These are
//! sorted in about half of the time, and unpacked. Counts, positions, addresses and times of day are such keys, and pairs of
//! them.
//!
//! Packing goes from the first word to the last, unpacking back from the last: no word is written over before it was read.

use std::marker::PhantomData;

use super::{Level, Word};

/// How many words are read before the first of them is written.
const GROUP: usize = 16;
/// How many words are looked at between two decisions whether to go on.
const STEP: usize = 1 << 10;
/// So many words, far apart, are looked at first.
const FIRST: usize = 16;

/// A word as one number, or as two of which the first counts more.
pub(crate) trait Halves: Word {
    /// Whether both parts count. If not, the first one is 0.
    const PAIR: bool;

    fn parts(self) -> (u64, u64);
    fn from_parts(high: u64, low: u64) -> Self;
}

macro_rules! halves {
    ($($type:ty, $pair:literal, $word:ident => $parts:expr, ($high:ident, $low:ident) => $back:expr;)*) => { $(
        impl Halves for $type {
            const PAIR: bool = $pair;

            #[inline(always)]
            fn parts(self) -> (u64, u64) {
                let $word = self;
                $parts
            }

            #[inline(always)]
            fn from_parts($high: u64, $low: u64) -> $type {
                $back
            }
        }
    )* };
}

const SIGN: u64 = 1 << 63;

halves! {
    u64, false, word => (0, word), (_high, low) => low;
    i64, false, word => (0, word as u64 ^ SIGN), (_high, low) => (low ^ SIGN) as i64;
    (u32, u32), true, word => (word.0.into(), word.1.into()), (high, low) => (high as u32, low as u32);
    (u64, u64), true, word => word, (high, low) => (high, low);
    u128, true, word => ((word >> 64) as u64, word as u64), (high, low) => u128::from(high) << 64 | u128::from(low);
    i128, true, word => ((word >> 64) as u64 ^ SIGN, word as u64),
        (high, low) => (u128::from(high ^ SIGN) << 64 | u128::from(low)) as i128;
}
#[cfg(target_pointer_width = "64")]
halves! {
    usize, false, word => (0, word as u64), (_high, low) => low as usize;
    isize, false, word => (0, word as u64 ^ SIGN), (_high, low) => (low ^ SIGN) as isize;
}

/// A number half as wide.
pub(crate) trait Half: Word {
    const BITS: u32;

    fn new(number: u64) -> Self;
    fn number(self) -> u64;
}

impl Half for u32 {
    const BITS: u32 = u32::BITS;

    #[inline(always)]
    fn new(number: u64) -> u32 {
        number as u32
    }

    #[inline(always)]
    fn number(self) -> u64 {
        self.into()
    }
}

impl Half for u64 {
    const BITS: u32 = u64::BITS;

    #[inline(always)]
    fn new(number: u64) -> u64 {
        number
    }

    #[inline(always)]
    fn number(self) -> u64 {
        self
    }
}

/// How words are packed: what is subtracted from each part, and by how many bits the first part is shifted.
#[derive(Clone, Copy, Debug)]
struct Packing {
    high: u64,
    low: u64,
    shift: u32,
}

impl Packing {
    /// The packing of all words into `bits` bits, if there is one.
    #[inline(always)]
    fn of<W: Halves>(words: &[W], bits: u32) -> Option<Packing> {
        let (first_high, first_low) = words[0].parts();
        let far = (0..FIRST).map(|i| words[i * (words.len() - 1) / (FIRST - 1)].parts());
        if !W::PAIR {
            // A window around the first few.
            let (mut least, mut most) = (first_low, first_low);
            for (_, low) in far {
                (least, most) = (least.min(low), most.max(low));
                if most - least >= 1 << (bits - 1) {
                    return None;
                }
            }
            let middle = least + (most - least) / 2;
            let low = middle.saturating_sub(1 << (bits - 1));
            let fits = |beyond: u64| beyond >> bits == 0;
            let mut beyond = 0;
            for step in words.chunks(STEP) {
                beyond = step.iter().fold(beyond, |beyond, word| beyond | word.parts().1.wrapping_sub(low));
                if !fits(beyond) {
                    return None;
                }
            }
            return Some(Packing { high: 0, low, shift: 0 });
        }
        let width = |differ: u64| u64::BITS - differ.leading_zeros();
        let (mut high, mut low) = (0, 0);
        for (far_high, far_low) in far {
            (high, low) = (high | far_high ^ first_high, low | far_low ^ first_low);
            if width(high) + width(low) > bits {
                return None;
            }
        }
        for step in words.chunks(STEP) {
            for word in step {
                let parts = word.parts();
                (high, low) = (high | parts.0 ^ first_high, low | parts.1 ^ first_low);
            }
            if width(high) + width(low) > bits {
                return None;
            }
        }
        let above = |part: u64, differ: u64| part & !(u64::MAX.checked_shr(differ.leading_zeros()).unwrap_or(0));
        Some(Packing { high: above(first_high, high), low: above(first_low, low), shift: width(low) })
    }

    #[inline(always)]
    fn pack<W: Halves, H: Half>(self, word: W) -> H {
        let (high, low) = word.parts();
        let low = low.wrapping_sub(self.low);
        H::new(if W::PAIR { (high - self.high).wrapping_shl(self.shift) | low } else { low })
    }

    #[inline(always)]
    fn unpack<W: Halves, H: Half>(self, half: H) -> W {
        let number = half.number();
        if !W::PAIR {
            return W::from_parts(0, number.wrapping_add(self.low));
        }
        // A shift by all bits, of a number that has nothing above, is none.
        let mask = u64::MAX.checked_shl(self.shift).map_or(u64::MAX, |above| !above);
        let high = number.checked_shr(self.shift).unwrap_or(0);
        W::from_parts(high + self.high, (number & mask) + self.low)
    }
}

/// Words that are packed; unpacked when this is dropped, whatever has happened.
pub(crate) struct Packed<'a, H> {
    halves: *mut H,
    n: usize,
    packing: Packing,
    level: Level,
    unpack: unsafe fn(Level, *mut H, usize, Packing),
    words: PhantomData<&'a mut [H]>,
}

/// Packed words, by what they became.
pub(crate) enum Narrowed<'a> {
    To32(Packed<'a, u32>),
    To64(Packed<'a, u64>),
}

/// [`Word::narrowed`] for words of 64 bits.
pub(super) fn to_32<W: Halves>(level: Level, words: &mut [W]) -> Option<Narrowed<'_>> {
    Packed::new(level, words).map(Narrowed::To32)
}

/// The same for words of 128 bits.
pub(super) fn to_64<W: Halves>(level: Level, words: &mut [W]) -> Option<Narrowed<'_>> {
    Packed::new(level, words).map(Narrowed::To64)
}

impl<'a, H: Half> Packed<'a, H> {
    fn new<W: Halves>(level: Level, words: &'a mut [W]) -> Option<Packed<'a, H>> {
        const { assert!(size_of::<W>() == 2 * size_of::<H>() && align_of::<W>() >= align_of::<H>()) };
        let n = words.len();
        if n < FIRST {
            return None;
        }
        let packing = level.run(
            #[inline(always)]
            || Packing::of(words, H::BITS),
        )?;
        let at = words.as_mut_ptr();
        // SAFETY: n words, borrowed for as long as the result is.
        level.run(
            #[inline(always)]
            || unsafe { pack::<W, H>(at, n, packing) },
        );
        Some(Packed { halves: at.cast(), n, packing, level, unpack: unpack::<W, H>, words: PhantomData })
    }
}

impl<H> Packed<'_, H> {
    /// The packed words, in the same order until they are sorted.
    pub(crate) fn halves(&mut self) -> &mut [H] {
        // SAFETY: there are so many, borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.halves, self.n) }
    }
}

impl<H> Drop for Packed<'_, H> {
    fn drop(&mut self) {
        // SAFETY: the function for the words that these were.
        unsafe { (self.unpack)(self.level, self.halves, self.n, self.packing) }
    }
}

/// Packs `n` words into the front half of their place.
///
/// # Safety
/// They may be read and written, and fit the packing.
#[inline(always)]
unsafe fn pack<W: Halves, H: Half>(words: *mut W, n: usize, packing: Packing) {
    let halves = words.cast::<H>();
    let whole = n - n % GROUP;
    // SAFETY: the caller's promise. A half is written where no later word begins.
    unsafe {
        for at in (0..whole).step_by(GROUP) {
            let group = words.add(at).cast::<[W; GROUP]>().read();
            halves.add(at).cast::<[H; GROUP]>().write(group.map(
                #[inline(always)]
                |word| packing.pack(word),
            ));
        }
        for at in whole..n {
            halves.add(at).write(packing.pack(words.add(at).read()));
        }
    }
}

/// The inverse.
///
/// # Safety
/// There is room for `n` words, the halves in front.
unsafe fn unpack<W: Halves, H: Half>(level: Level, halves: *mut H, n: usize, packing: Packing) {
    let words = halves.cast::<W>();
    let whole = n - n % GROUP;
    level.run(
        #[inline(always)]
        || {
            // SAFETY: the caller's promise. A word is written where no earlier half ends.
            unsafe {
                for at in (whole..n).rev() {
                    words.add(at).write(packing.unpack(halves.add(at).read()));
                }
                for at in (0..whole).step_by(GROUP).rev() {
                    let group = halves.add(at).cast::<[H; GROUP]>().read();
                    words.add(at).cast::<[W; GROUP]>().write(group.map(
                        #[inline(always)]
                        |half| packing.unpack(half),
                    ));
                }
            }
        },
    );
}
