//! Checking what C passes in.

use crate::status::Fault;
use eagre::heap;
use std::borrow::Cow;
use std::ffi::{CStr, OsStr, c_char};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

fn null(name: &str) -> Fault {
    Fault::invalid(format_args!("{name} is a null pointer"))
}

/// A handle for reading.
///
/// # Safety
/// `pointer` is null or valid for as long as the reference is used.
pub(crate) unsafe fn shared<'a, T>(pointer: *const T, name: &str) -> Result<&'a T, Fault> {
    // SAFETY: the caller's promise.
    unsafe { pointer.as_ref() }.ok_or_else(|| null(name))
}

/// A handle for use, or a place for a result that is initialised.
///
/// # Safety
/// `pointer` is null or valid for as long as the reference is used, and nobody else uses it meanwhile.
pub(crate) unsafe fn exclusive<'a, T>(pointer: *mut T, name: &str) -> Result<&'a mut T, Fault> {
    // SAFETY: the caller's promise.
    unsafe { pointer.as_mut() }.ok_or_else(|| null(name))
}

/// A place for a handle, and memory for what the handle is of: nothing that the call has made is lost because there is no
/// memory for it. Nothing is there until the call succeeds.
pub(crate) struct Place<T> {
    to: *mut *mut T,
    room: Box<MaybeUninit<T>>,
}

impl<T> Place<T> {
    /// Checks the place and puts a null pointer there.
    ///
    /// # Safety
    /// `pointer` is null or may be written through as long as this value lives.
    pub(crate) unsafe fn new(pointer: *mut *mut T, name: &str) -> Result<Place<T>, Fault> {
        if pointer.is_null() {
            return Err(null(name));
        }
        // SAFETY: not null, so valid for writing.
        unsafe { pointer.write(std::ptr::null_mut()) };
        Ok(Place { to: pointer, room: heap::boxed(MaybeUninit::uninit())? })
    }

    /// Puts a handle there, which C gives back to [`take`].
    pub(crate) fn put(self, value: T) {
        // SAFETY: valid for writing, as `new` was promised.
        unsafe { self.to.write(Box::into_raw(Box::write(self.room, value))) };
    }
}

/// Takes back a handle that [`Place::put`] gave out. `None` if it is null.
///
/// # Safety
/// `pointer` is null or came from [`Place::put`] and is not used any more.
pub(crate) unsafe fn take<T>(pointer: *mut T) -> Option<Box<T>> {
    // SAFETY: not null, and the caller's promise.
    (!pointer.is_null()).then(|| unsafe { Box::from_raw(pointer) })
}

/// Bytes to read.
///
/// # Safety
/// `pointer` is null or valid for reading `size` bytes for as long as the slice is used.
pub(crate) unsafe fn bytes<'a>(pointer: *const u8, size: usize) -> Result<&'a [u8], Fault> {
    check_span(pointer, size)?;
    // SAFETY: not null or empty, and the caller's promise.
    Ok(if size == 0 { &[] } else { unsafe { std::slice::from_raw_parts(pointer, size) } })
}

/// Bytes to write.
///
/// # Safety
/// `pointer` is null or valid for writing `size` bytes for as long as the slice is used, by nobody else meanwhile.
pub(crate) unsafe fn bytes_mut<'a>(pointer: *mut u8, size: usize) -> Result<&'a mut [u8], Fault> {
    check_span(pointer, size)?;
    // SAFETY: not null or empty, and the caller's promise.
    Ok(if size == 0 { &mut [] } else { unsafe { std::slice::from_raw_parts_mut(pointer, size) } })
}

pub(crate) fn check_span(pointer: *const u8, size: usize) -> Result<(), Fault> {
    if size > isize::MAX as usize {
        return Err(Fault::invalid(format_args!("{size} bytes: more than there are addresses")));
    }
    if pointer.is_null() && size > 0 { Err(null("bytes")) } else { Ok(()) }
}

/// A C string; what is not UTF-8 in it is replaced. `None` if it is null.
///
/// # Safety
/// `text` is null or a C string for as long as the result is used.
pub(crate) unsafe fn text<'a>(text: *const c_char) -> Option<Cow<'a, str>> {
    // SAFETY: not null, and the caller's promise.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy())
}

/// The bytes of a C string. `None` if it is null.
///
/// # Safety
/// `text` is null or a C string for as long as the result is used.
pub(crate) unsafe fn string<'a>(text: *const c_char) -> Option<&'a [u8]> {
    // SAFETY: not null, and the caller's promise.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_bytes())
}

/// A path.
///
/// # Safety
/// `text` is null or a C string for as long as the path is used.
pub(crate) unsafe fn path<'a>(text: *const c_char) -> Result<&'a Path, Fault> {
    if text.is_null() {
        return Err(null("path"));
    }
    // SAFETY: not null, and the caller's promise.
    Ok(Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(text) }.to_bytes())))
}
