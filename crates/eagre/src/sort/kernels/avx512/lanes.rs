//! Words as 64-bit lanes and back.

use std::arch::x86_64::*;

use super::super::Word;

/// A word whose key fits a lane.
///
/// # Safety
/// `back` is the inverse of the key; a word has 8 bytes or 4.
pub(in super::super) unsafe trait Lane: Word {
    /// The words' size: 8 bytes or 4.
    const HALF: bool = size_of::<Self>() == 4;

    /// From keys to the bits of the words.
    ///
    /// # Safety
    /// The processor is [`super::available`].
    unsafe fn back(keys: __m512i) -> __m512i;

    /// From a key to its word.
    fn from_lane(key: u64) -> Self;

    /// The key, as a lane holds it.
    #[inline(always)]
    fn lane(self) -> u64 {
        self.key() as u64
    }
}

macro_rules! lanes {
    ($($type:ty, $key:ident => $word:expr, $keys:ident => $back:expr;)*) => { $(
        // SAFETY: see the tests: each key comes back as its word.
        unsafe impl Lane for $type {
            #[inline(always)]
            #[allow(unused_unsafe, reason = "where the word is its key")]
            unsafe fn back($keys: __m512i) -> __m512i {
                // SAFETY: the caller's promise.
                unsafe { $back }
            }

            #[inline(always)]
            fn from_lane($key: u64) -> $type {
                $word
            }
        }
    )* };
}

lanes! {
    u64, key => key, keys => keys;
    i64, key => (key ^ 1 << 63) as i64, keys => _mm512_xor_si512(keys, _mm512_set1_epi64(i64::MIN));
    // All bits are turned over where the key's highest is 0, and the highest in any case.
    f64, key => f64::from_bits(key ^ ((!key as i64 >> 63) as u64 | 1 << 63)), keys => _mm512_xor_si512(keys, _mm512_or_si512(
        _mm512_srai_epi64::<63>(_mm512_xor_si512(keys, _mm512_set1_epi64(-1))), _mm512_set1_epi64(i64::MIN)));
    // The first field may lie in the lower half.
    (u32, u32), key => ((key >> 32) as u32, key as u32), keys => if std::mem::offset_of!((u32, u32), 0) == 0 { _mm512_rol_epi64::<32>(keys) } else { keys };
    u32, key => key as u32, keys => keys;
    i32, key => (key as u32 ^ 1 << 31) as i32, keys => _mm512_xor_si512(keys, _mm512_set1_epi64(1 << 31));
    f32, key => f32::from_bits(key as u32 ^ ((!key as i32 >> 31) as u32 | 1 << 31)), keys => _mm512_xor_si512(
        keys,
        _mm512_or_si512(
            _mm512_srai_epi32::<31>(_mm512_xor_si512(keys, _mm512_set1_epi64(-1))),
            _mm512_set1_epi64(1 << 31),
        ),
    );
}

/// Stores the words of those keys that `mask` names, which must not be a constant: of a constant mask with one bit LLVM 22
/// makes a scalar store of the whole key, although the word is half of it, and the next word in memory is lost
/// (llvm/llvm-project#179489).
///
/// # Safety
/// There is room for them.
#[target_feature(enable = "avx512f,avx512vl")]
#[inline]
pub(super) unsafe fn store_some<T: Lane>(to: *mut T, mask: u8, keys: __m512i) {
    // SAFETY: the caller's promise; the processor has what this function is compiled for.
    unsafe {
        let words = T::back(keys);
        if T::HALF {
            _mm256_mask_storeu_epi32(to.cast(), mask, _mm512_cvtepi64_epi32(words));
        } else {
            _mm512_mask_storeu_epi64(to.cast(), mask, words);
        }
    }
}

/// Stores the words of eight keys.
///
/// # Safety
/// There is room for them.
#[target_feature(enable = "avx512f,avx512vl")]
#[inline]
pub(super) unsafe fn store<T: Lane>(to: *mut T, keys: __m512i) {
    // SAFETY: the caller's promise; the processor has what this function is compiled for.
    unsafe {
        let words = T::back(keys);
        if T::HALF {
            _mm256_storeu_si256(to.cast(), _mm512_cvtepi64_epi32(words));
        } else {
            _mm512_storeu_si512(to.cast(), words);
        }
    }
}
