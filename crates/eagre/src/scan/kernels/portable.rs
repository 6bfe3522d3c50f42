//! Words of eight bytes, for any processor. Loops that the compiler vectorises better by itself are left to it.

use super::loops::{self, Block};
use super::{Columns, Words};

const ONES: u64 = 0x0101_0101_0101_0101;
const TOPS: u64 = 0x8080_8080_8080_8080;

pub(super) fn count(byte: u8, bytes: &[u8]) -> u64 {
    // SAFETY: needs no particular instructions.
    unsafe { loops::count::<Eight>(byte, bytes) }
}

pub(super) fn words(words: &mut Words, bytes: &[u8]) {
    // SAFETY: as above.
    unsafe { loops::words::<Eight>(words, bytes) }
}

pub(super) fn columns(columns: &mut Columns, bytes: &[u8]) {
    // SAFETY: as above.
    unsafe { loops::columns::<Eight>(columns, bytes) }
}

/// Eight words of eight bytes each. The first byte is the lowest.
#[derive(Clone, Copy)]
struct Eight([u64; 8]);

// SAFETY: needs no particular instructions.
unsafe impl Block for Eight {
    #[inline(always)]
    unsafe fn load(from: *const u8) -> Eight {
        // SAFETY: the caller says that 64 bytes can be read there.
        let bytes = unsafe { from.cast::<[[u8; 8]; 8]>().read() };
        Eight(bytes.map(u64::from_le_bytes))
    }

    #[inline(always)]
    unsafe fn equal(self, byte: u8) -> u64 {
        let wanted = ONES * u64::from(byte);
        self.mask(|word| {
            let differs = word ^ wanted;
            // The top bit of a byte is set where any lower bit differs. No byte carries into the next.
            !(((differs & !TOPS) + !TOPS) | differs)
        })
    }

    #[inline(always)]
    unsafe fn between(self, low: u8, high: u8) -> u64 {
        let (to_low, past_high) = (ONES * u64::from(128 - low), ONES * u64::from(127 - high));
        self.mask(|word| {
            let ascii = word & !TOPS;
            (ascii + to_low) & !(ascii + past_high) & !word
        })
    }

    #[inline(always)]
    unsafe fn count(byte: u8, bytes: &[u8]) -> u64 {
        // The sum of 192 ones fits into a byte.
        let stretch = |stretch: &[u8]| u64::from(stretch.iter().map(|&other| u8::from(other == byte)).sum::<u8>());
        bytes.chunks(192).map(stretch).sum()
    }
}

impl Eight {
    /// The top bits of the bytes that `compare` returns.
    #[inline(always)]
    fn mask(self, compare: impl Fn(u64) -> u64) -> u64 {
        // The product moves bit `8 i` of a word to bit `56 + i`.
        const COLLECT: u64 = 0x0102_0408_1020_4080;
        let collected = |word| ((compare(word) & TOPS) >> 7).wrapping_mul(COLLECT) >> 56;
        self.0.iter().enumerate().fold(0, |mask, (i, &word)| mask | collected(word) << (8 * i))
    }
}
