//! Structs that C fills: they start with their size and version, so that old programs work with new libraries.

use crate::arguments;
use crate::status::{EagreStatus, Fault};
use std::fmt::Arguments;
use std::mem::size_of;

/// A size larger than this is not a size.
const LARGEST: usize = 4096;

/// A struct that C fills.
///
/// # Safety
/// It is `repr(C)` and begins with its size and its version, both `u32`; every value of its bytes is one.
pub(crate) unsafe trait Versioned: Copy {
    /// What the header calls it.
    const NAME: &'static str;
    /// The function that fills it with defaults.
    const FILLED_BY: &'static str;
    /// The version in this header.
    const VERSION: u32;
    /// The size of the struct in the first version that had it. Never changes.
    const SMALLEST: usize;
    /// All defaults, with size and version.
    const DEFAULT: Self;
}

/// What C passes: all defaults if it is null, and defaults for the fields its struct does not have yet.
///
/// # Safety
/// `from` is null or points to as many bytes as it says.
pub(crate) unsafe fn read<T: Versioned>(from: *const T) -> Result<T, Fault> {
    if from.is_null() {
        return Ok(T::DEFAULT);
    }
    let header = from.cast::<u32>();
    // SAFETY: every version of the struct starts with these two fields.
    let (size, version) = unsafe { (header.read() as usize, header.add(1).read()) };
    let (name, filled_by) = (T::NAME, T::FILLED_BY);
    let unknown = |text: Arguments<'_>| Err(Fault::new(EagreStatus::EagreWrongVersion, text));
    if version == 0 || version > T::VERSION {
        return unknown(format_args!(
            "{name} of version {version}: this library knows 1 to {}; fill the struct with {filled_by}, or install a \
             newer library",
            T::VERSION
        ));
    }
    if !(T::SMALLEST..=LARGEST).contains(&size) {
        let least = T::SMALLEST;
        return unknown(format_args!(
            "{name} of {size} bytes: it has at least {least}; fill the struct with {filled_by}"
        ));
    }
    let known = size.min(size_of::<T>());
    // SAFETY: the struct is `size` bytes long.
    let beyond = unsafe { arguments::bytes(from.cast::<u8>().add(known), size - known)? };
    if beyond.iter().any(|&byte| byte != 0) {
        return unknown(format_args!("{name} has a field set that this library does not know; install a newer one"));
    }
    let mut read = T::DEFAULT;
    // SAFETY: both are at least `known` bytes long, and every value of the fields' bytes is one.
    unsafe { (&raw mut read).cast::<u8>().copy_from_nonoverlapping(from.cast(), known) };
    Ok(read)
}

/// Puts the defaults into a struct of which C has `size` bytes.
///
/// # Safety
/// `to` is null or points to `size` bytes.
pub(crate) unsafe fn fill<T: Versioned>(to: *mut T, size: usize) -> Result<(), Fault> {
    if !(T::SMALLEST..=LARGEST).contains(&size) {
        let text = format_args!("{size} bytes is not the size of an {}; pass sizeof options", T::NAME);
        return Err(Fault::new(EagreStatus::EagreWrongVersion, text));
    }
    // SAFETY: the caller has a struct of `size` bytes there.
    let bytes = unsafe { arguments::bytes_mut(to.cast(), size)? };
    bytes.fill(0);
    let default = T::DEFAULT;
    // SAFETY: both are at least so many bytes long; the size, its first field, is that of C's struct.
    unsafe {
        let known = size.min(size_of::<T>());
        (&raw const default).cast::<u8>().copy_to_nonoverlapping(bytes.as_mut_ptr(), known);
        to.cast::<u32>().write(size as u32);
    }
    Ok(())
}
