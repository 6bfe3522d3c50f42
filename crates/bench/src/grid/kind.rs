//! The kinds of keys in the grid, and everybody who sorts them.

use eagre::sort::{Key, Sorter};

use super::pattern::Pattern;
use crate::catalogue::{By, Foreign};
use crate::contenders::Trouble;
use crate::contenders::sort::array::Plain;
use crate::contenders::sort::foreign::{self, Named};
use crate::contenders::sort::rust::{Sort, Sortable};
use crate::corpus::Store;

/// A kind of keys.
pub(super) trait Kind {
    const NAME: &'static str;
    /// How many bits of a key a pattern decides.
    const BITS: u32;
    /// What Eagre sorts.
    type Own: Plain + Key;
    /// What the peers sort: pairs are numbers of twice the width for them, which is the same work.
    type Peer: Sortable + Named;

    /// The key that this number of a pattern stands for, the `index`-th of all.
    fn make(number: u64, pattern: Pattern, index: u64) -> (Self::Own, Self::Peer);
}

macro_rules! kinds {
    ($($kind:ident, $name:literal, $bits:literal, $own:ty, $peer:ty, |$number:ident, $wide:ident, $index:ident| $make:expr;)*) => {
        $(
            pub(super) struct $kind;

            impl Kind for $kind {
                const NAME: &'static str = $name;
                const BITS: u32 = $bits;
                type Own = $own;
                type Peer = $peer;

                #[inline]
                fn make($number: u64, pattern: Pattern, $index: u64) -> ($own, $peer) {
                    let ($wide, _) = (pattern.is_wide(), $index);
                    $make
                }
            }
        )*
    };
}

/// A signed number in the middle of which is zero if it is wide.
fn signed(number: u64, wide: bool, bits: u32) -> i64 {
    if wide { number.wrapping_sub(1 << (bits - 1)).cast_signed() } else { number.cast_signed() }
}

/// A number from -1 to 1 if it is wide, else itself.
fn real(number: u64, wide: bool, bits: u32) -> f64 {
    if wide { number as f64 / 2f64.powi(bits.cast_signed() - 1) - 1.0 } else { number as f64 }
}

kinds! {
    U32, "u32", 32, u32, u32, |number, _wide, _index| (number as u32, number as u32);
    I32, "i32", 32, i32, i32, |number, wide, _index| {
        let key = signed(number, wide, 32) as i32;
        (key, key)
    };
    F32, "f32", 32, f32, f32, |number, wide, _index| {
        let key = real(number, wide, 32) as f32;
        (key, key)
    };
    U64, "u64", 64, u64, u64, |number, _wide, _index| (number, number);
    I64, "i64", 64, i64, i64, |number, wide, _index| {
        let key = signed(number, wide, 64);
        (key, key)
    };
    F64, "f64", 64, f64, f64, |number, wide, _index| {
        let key = real(number, wide, 64);
        (key, key)
    };
    Pair32, "u32-pair", 32, (u32, u32), u64, |number, _wide, index| {
        let second = index as u32;
        ((number as u32, second), number << 32 | u64::from(second))
    };
    Pair64, "u64-pair", 64, (u64, u64), u128, |number, _wide, index| {
        ((number, index), u128::from(number) << 64 | u128::from(index))
    };
}

/// The names of all kinds.
pub(super) const NAMES: [&str; 8] =
    [U32::NAME, I32::NAME, F32::NAME, U64::NAME, I64::NAME, F64::NAME, Pair32::NAME, Pair64::NAME];

/// A sort by its name.
pub(super) type Peer<T> = (&'static str, Sort<T>);

/// Eagre, with so many threads.
pub(super) fn own<T: Plain + Key>(threads: usize) -> Sort<T> {
    let sorter = Sorter::new().threads(threads);
    // The process ends, and its last words are why.
    Box::new(move |keys| sorter.sort(keys).unwrap_or_else(|why| panic!("{why}")))
}

/// Peers in C++.
const FOREIGN: [(&str, Foreign); 2] = [("vqsort", Foreign::Vqsort), ("x86-simd-sort", Foreign::X86SimdSort)];

/// The peers that can sort such keys with so many threads, or with one if they have no threads.
pub(super) fn peers<T: Sortable + Named>(threads: usize, store: &Store) -> Vec<Peer<T>> {
    let foreign = FOREIGN.into_iter().filter_map(|(name, by)| {
        let function = foreign::function::<T>(&foreign::library(by, store).ok()?, by).ok()??;
        Some((name, Box::new(move |keys: &mut [T]| function.sort(keys, threads)) as Sort<T>))
    });
    let rust = [("std", By::StdUnstable), ("voracious", By::Voracious), ("rayon", By::RayonUnstable)];
    let rust = rust.into_iter().take(if threads > 1 { 3 } else { 2 });
    foreign.chain(rust.filter_map(|(name, by)| Some((name, T::sort(by, threads)?)))).collect()
}

/// A line for each peer that cannot run on this machine.
pub(super) fn absent(store: &Store) -> Vec<String> {
    let why = |(_, by)| match foreign::library(by, store) {
        Err(Trouble::Unavailable(why) | Trouble::Failed(why) | Trouble::Wrong(why)) => Some(why),
        Ok(_) => None,
    };
    FOREIGN.into_iter().filter_map(why).collect()
}
