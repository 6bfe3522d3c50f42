//! What can be partitioned.

use crate::sort::Word;

/// Something of a fixed size with a key.
///
/// Numbers of up to 64 bits are their own keys. The key of a pair is that of its first part. The key of an array of
/// bytes is its first eight bytes, compared as text is. Implement the trait for your own records:
///
/// ```
/// use eagre::partition::{Keyed, Partitioner};
///
/// #[derive(Clone, Copy)]
/// struct Order {
///     customer: u32,
///     cents: u64,
/// }
///
/// impl Keyed for Order {
///     const KEY_BITS: u32 = 32;
///     fn key(&self) -> u64 {
///         self.customer.into()
///     }
/// }
///
/// let orders: Vec<_> = (0..1000).map(|i| Order { customer: i * 7919 % 1000, cents: 100 }).collect();
/// let parts = Partitioner::new().bits(0, 1).partition(&orders)?;
/// assert!(parts.bucket(1).iter().all(|order| order.customer % 2 == 1));
/// # Ok::<(), eagre::partition::PartitionError>(())
/// ```
pub trait Keyed: Copy + Send + Sync + 'static {
    /// How many bits a key has, 1 to 64.
    const KEY_BITS: u32;

    /// The key: a number below 2 to the power of [`Keyed::KEY_BITS`]. Buckets are in the order of these numbers.
    fn key(&self) -> u64;
}

macro_rules! numbers {
    ($($type:ty)*) => {$(
        impl Keyed for $type {
            const KEY_BITS: u32 = <$type as Word>::KEY_BITS;

            #[inline(always)]
            fn key(&self) -> u64 {
                Word::key(*self) as u64
            }
        }
    )*};
}

numbers!(u8 i8 u16 i16 u32 i32 f32 u64 i64 f64 usize isize);

impl<K: Keyed, V: Copy + Send + Sync + 'static> Keyed for (K, V) {
    const KEY_BITS: u32 = K::KEY_BITS;

    #[inline(always)]
    fn key(&self) -> u64 {
        self.0.key()
    }
}

impl<const N: usize> Keyed for [u8; N] {
    const KEY_BITS: u32 = if N < 8 { 8 * N as u32 } else { 64 };

    #[inline(always)]
    fn key(&self) -> u64 {
        let taken = N.min(8);
        let mut bytes = [0; 8];
        bytes[8 - taken..].copy_from_slice(&self[..taken]);
        u64::from_be_bytes(bytes)
    }
}
