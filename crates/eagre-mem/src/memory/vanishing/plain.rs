//! What a vanishing array may hold.

/// Values that any bytes make, of a size that divides every block: numbers, and arrays of them.
///
/// # Safety
/// Every pattern of bits is a value, none of its bytes is padding, and the size is a power of two of at most 4 KiB.
pub unsafe trait Plain: Copy + Send + Sync + 'static {}

macro_rules! plain {
    ($($number:ty)+) => {$(
        // SAFETY: a number of 1, 2, 4, 8 or 16 bytes, all of which count.
        unsafe impl Plain for $number {}
    )+};
}

plain! { u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64 }

// SAFETY: as its elements; `VanishingArray` refuses to compile for a size that is no power of two.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}
