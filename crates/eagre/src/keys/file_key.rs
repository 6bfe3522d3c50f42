//! Keys that files can hold.

use super::Key;

/// A key that files can hold: every [`Key`] but `usize` and `isize`, whose width depends on the machine. The first part
/// of a pair comes first.
pub trait FileKey: Key + Default {
    /// How many bytes a key takes in a file.
    const WIDTH: usize;
    /// Whether a key has two parts.
    const IS_PAIR: bool;

    /// Turns bytes into keys, as many as `to` has room for.
    ///
    /// # Panics
    /// If there are not [`WIDTH`](FileKey::WIDTH) bytes for each key.
    fn decode(from: &[u8], to: &mut [Self]);

    /// Turns keys into bytes.
    ///
    /// # Panics
    /// As [`FileKey::decode`].
    fn encode(from: &[Self], to: &mut [u8]);
}

macro_rules! file_key {
    ($type:ty, $pair:literal, $bytes:ident => $decode:expr, $key:ident => $encode:expr) => {
        impl FileKey for $type {
            const WIDTH: usize = size_of::<$type>();
            const IS_PAIR: bool = $pair;

            fn decode(from: &[u8], to: &mut [$type]) {
                let (from, rest) = from.as_chunks::<{ size_of::<$type>() }>();
                assert!(from.len() == to.len() && rest.is_empty(), "as many bytes as keys");
                for (to, &$bytes) in to.iter_mut().zip(from) {
                    *to = $decode;
                }
            }

            fn encode(from: &[$type], to: &mut [u8]) {
                let (to, rest) = to.as_chunks_mut::<{ size_of::<$type>() }>();
                assert!(from.len() == to.len() && rest.is_empty(), "as many bytes as keys");
                for (to, &$key) in to.iter_mut().zip(from) {
                    *to = $encode;
                }
            }
        }
    };
}

macro_rules! numbers {
    ($($type:ty)*) => {
        $(file_key!($type, false, bytes => <$type>::from_le_bytes(bytes), key => key.to_le_bytes());)*
    };
}

numbers!(u8 i8 u16 i16 u32 i32 f32 u64 i64 f64 u128 i128);
// A pair is one number, whose low half is the first part.
file_key!((u32, u32), true,
    bytes => { let both = u64::from_le_bytes(bytes); (both as u32, (both >> 32) as u32) },
    key => (u64::from(key.0) | u64::from(key.1) << 32).to_le_bytes());
file_key!((u64, u64), true,
    bytes => { let both = u128::from_le_bytes(bytes); (both as u64, (both >> 64) as u64) },
    key => (u128::from(key.0) | u128::from(key.1) << 64).to_le_bytes());
