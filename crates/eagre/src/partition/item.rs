//! What can be partitioned.

/// Something of a fixed size with a key.
///
/// Numbers are their own keys. Pairs have the first as their key. Arrays of bytes have their first eight bytes, compared
/// as text is. For a record of another shape, implement it:
///
/// ```
/// use eagre::partition::{Item, Partitioner};
///
/// #[derive(Clone, Copy)]
/// struct Order {
///     customer: u32,
///     cents: u64,
/// }
///
/// impl Item for Order {
///     const KEY_BITS: u32 = 32;
///     fn key(&self) -> u64 {
///         u64::from(self.customer)
///     }
/// }
///
/// let orders: Vec<_> = (0..1000).map(|i| Order { customer: i * 7919 % 1000, cents: 100 }).collect();
/// let parts = Partitioner::new().bits(0, 1).partition(&orders)?;
/// assert!(parts.bucket(1).iter().all(|order| order.customer % 2 == 1));
/// # Ok::<(), eagre::partition::PartitionError>(())
/// ```
pub trait Item: Copy + Send + Sync + 'static {
    /// How many bits a key has, 1 to 64.
    const KEY_BITS: u32;

    /// The key: a number below 2 to the power of [`Item::KEY_BITS`], in the order that buckets shall have.
    fn key(&self) -> u64;
}

macro_rules! items {
    ($($type:ty, $bits:literal, $item:ident => $key:expr;)*) => {$(
        impl Item for $type {
            const KEY_BITS: u32 = $bits;

            #[inline(always)]
            fn key(&self) -> u64 {
                let $item = *self;
                $key
            }
        }
    )*};
}

items! {
    u32, 32, number => number.into();
    u64, 64, number => number;
    i32, 32, number => (number as u32 ^ 1 << 31).into();
    i64, 64, number => number as u64 ^ 1 << 63;
    f32, 32, number => in_order_32(number.to_bits()).into();
    f64, 64, number => in_order_64(number.to_bits());
    (u32, u32), 32, pair => pair.0.into();
    (u32, u64), 32, pair => pair.0.into();
    (u64, u32), 64, pair => pair.0;
    (u64, u64), 64, pair => pair.0;
}

/// The order of [`f32::total_cmp`]: all bits of a negative number are turned over, of others the sign.
#[inline(always)]
fn in_order_32(bits: u32) -> u32 {
    bits ^ ((bits as i32 >> 31) as u32 | 1 << 31)
}

/// The order of [`f64::total_cmp`].
#[inline(always)]
fn in_order_64(bits: u64) -> u64 {
    bits ^ ((bits as i64 >> 63) as u64 | 1 << 63)
}

impl<const N: usize> Item for [u8; N] {
    const KEY_BITS: u32 = if N < 8 { 8 * N as u32 } else { 64 };

    #[inline(always)]
    fn key(&self) -> u64 {
        let taken = N.min(8);
        let mut bytes = [0; 8];
        bytes[8 - taken..].copy_from_slice(&self[..taken]);
        u64::from_be_bytes(bytes)
    }
}
