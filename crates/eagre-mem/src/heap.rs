//! Heap memory that may be refused.
//!
//! Where the allocator has no memory, the standard library's boxes, shared pointers and texts end the process; of its
//! collections only vectors can be asked to return an error. What else is needed is here.

use std::alloc::{Layout, alloc};
use std::fmt::{self, Write};
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering::*, fence};

/// The allocator had no memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// How many bytes were asked for.
    pub bytes: usize,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no memory for {} bytes", self.bytes)
    }
}

impl std::error::Error for Refused {}

impl From<Refused> for std::io::Error {
    fn from(_: Refused) -> std::io::Error {
        // A text would take memory.
        std::io::ErrorKind::OutOfMemory.into()
    }
}

/// A box for `value`.
///
/// # Errors
/// [`Refused`]; the value is dropped.
pub fn boxed<T>(value: T) -> Result<Box<T>, Refused> {
    let layout = Layout::new::<T>();
    if layout.size() == 0 {
        return Ok(Box::new(value));
    }
    // SAFETY: the layout is not empty. The memory is that of a box of this type, and is written before it becomes one.
    unsafe {
        let place = NonNull::new(alloc(layout).cast::<T>()).ok_or(Refused { bytes: layout.size() })?;
        place.write(value);
        Ok(Box::from_raw(place.as_ptr()))
    }
}

/// An empty vector with room for `len` elements.
///
/// # Errors
/// [`Refused`].
pub fn list<T>(len: usize) -> Result<Vec<T>, Refused> {
    let mut list = Vec::new();
    reserve(&mut list, len)?;
    Ok(list)
}

/// A vector of `len` elements.
///
/// # Errors
/// [`Refused`]: that of the vector, or of an element.
pub fn several<T, E: From<Refused>>(len: usize, element: impl FnMut() -> Result<T, E>) -> Result<Vec<T>, E> {
    let mut all = list(len)?;
    for made in std::iter::repeat_with(element).take(len) {
        all.push(made?);
    }
    Ok(all)
}

/// A copy of a slice.
///
/// # Errors
/// [`Refused`].
pub fn copied<T: Copy>(from: &[T]) -> Result<Vec<T>, Refused> {
    let mut copy = list(from.len())?;
    copy.extend_from_slice(from);
    Ok(copy)
}

/// A vector of `len` clones of `value`, whose clones take no memory.
///
/// # Errors
/// [`Refused`].
pub fn filled<T: Clone>(len: usize, value: T) -> Result<Vec<T>, Refused> {
    let mut filled = list(len)?;
    filled.resize(len, value);
    Ok(filled)
}

/// Makes sure that a vector has room for `more` elements, and no more than that.
///
/// # Errors
/// [`Refused`].
pub fn reserve<T>(list: &mut Vec<T>, more: usize) -> Result<(), Refused> {
    list.try_reserve_exact(more).map_err(|_| Refused { bytes: more.saturating_mul(size_of::<T>()) })
}

/// Appends an element; the vector grows as vectors do.
///
/// # Errors
/// [`Refused`]; the element is dropped.
pub fn push<T>(list: &mut Vec<T>, element: T) -> Result<(), Refused> {
    list.try_reserve(1).map_err(|_| Refused { bytes: size_of::<T>() })?;
    list.push(element);
    Ok(())
}

/// A text, or as much of its beginning as there is memory for: for messages, which had better be short than be missed.
pub fn text(from: impl fmt::Display) -> String {
    struct Text(String);
    impl Write for Text {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0.try_reserve(text.len()).map_err(|_| fmt::Error)?;
            self.0.push_str(text);
            Ok(())
        }
    }
    let mut to = Text(String::new());
    let _ = write!(to, "{from}");
    to.0
}

/// The same, all of it.
///
/// # Errors
/// [`Refused`].
pub(crate) fn whole_text(from: fmt::Arguments<'_>) -> Result<String, Refused> {
    let text = text(from);
    struct Length(usize);
    impl Write for Length {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0 += text.len();
            Ok(())
        }
    }
    let mut whole = Length(0);
    let _ = whole.write_fmt(from);
    if text.len() == whole.0 { Ok(text) } else { Err(Refused { bytes: whole.0 }) }
}

/// A value with several owners, as [`Arc`](std::sync::Arc) has it.
pub struct Shared<T>(NonNull<Counted<T>>);

/// Memory for a [`Shared`] value that is made later, when nothing may be refused any more.
pub(crate) struct Room<T>(Box<MaybeUninit<Counted<T>>>);

impl<T> Room<T> {
    /// Nothing is in it.
    ///
    /// # Errors
    /// [`Refused`].
    pub(crate) fn new() -> Result<Room<T>, Refused> {
        boxed(MaybeUninit::uninit()).map(Room)
    }

    /// The first owner of `value`.
    pub(crate) fn put(self, value: T) -> Shared<T> {
        let (owners, weaks) = (AtomicUsize::new(1), AtomicUsize::new(1));
        let counted = Counted { owners, weaks, value: ManuallyDrop::new(value) };
        Shared(NonNull::from(Box::leak(Box::write(self.0, counted))))
    }
}

/// A handle that does not keep the value, as [`std::sync::Weak`].
pub(crate) struct Weak<T>(NonNull<Counted<T>>);

struct Counted<T> {
    owners: AtomicUsize,
    /// Weak handles, and one more for all owners together.
    weaks: AtomicUsize,
    /// There as long as it has owners.
    value: ManuallyDrop<T>,
}

// SAFETY: as an `Arc`: references to the value are given to any thread, and the last owner, on any, drops it.
unsafe impl<T: Send + Sync> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for Shared<T> {}
// SAFETY: it may become an owner on any thread.
unsafe impl<T: Send + Sync> Send for Weak<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for Weak<T> {}

impl<T> Shared<T> {
    /// The first owner.
    ///
    /// # Errors
    /// [`Refused`]; the value is dropped.
    pub fn new(value: T) -> Result<Shared<T>, Refused> {
        Ok(Room::new()?.put(value))
    }

    /// Whether two own the same value.
    pub(crate) fn is_same(one: &Shared<T>, other: &Shared<T>) -> bool {
        one.0 == other.0
    }

    /// A handle that does not keep the value.
    pub(crate) fn downgrade(&self) -> Weak<T> {
        count_one(&self.counted().weaks);
        Weak(self.0)
    }

    fn counted(&self) -> &Counted<T> {
        // SAFETY: there as long as somebody owns it, and nobody changes the value.
        unsafe { self.0.as_ref() }
    }
}

/// Counts one more. Without the limit, owners that are forgotten (`mem::forget`) could make the count overflow.
fn count_one(count: &AtomicUsize) {
    assert!(count.fetch_add(1, Relaxed) < isize::MAX as usize, "too many owners");
}

impl<T> Deref for Shared<T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        &self.counted().value
    }
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Shared<T> {
        count_one(&self.counted().owners);
        Shared(self.0)
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        if self.counted().owners.fetch_sub(1, Release) == 1 {
            fence(Acquire);
            // SAFETY: this was the last owner, and weak handles look at the counts only.
            unsafe { ManuallyDrop::drop(&mut (*self.0.as_ptr()).value) };
            drop(Weak(self.0));
        }
    }
}

impl<T> Weak<T> {
    /// An owner, if there is one still.
    pub(crate) fn upgrade(&self) -> Option<Shared<T>> {
        let one_more = |owners: usize| (owners > 0).then_some(owners + 1);
        self.owners().fetch_update(Acquire, Relaxed, one_more).ok().map(|_| Shared(self.0))
    }

    /// Whether two are of the same value, which may be gone.
    pub(crate) fn is_same(one: &Weak<T>, other: &Weak<T>) -> bool {
        one.0 == other.0
    }

    /// Whether there are owners.
    pub(crate) fn is_alive(&self) -> bool {
        self.owners().load(Relaxed) > 0
    }

    fn owners(&self) -> &AtomicUsize {
        // SAFETY: the counts are there as long as somebody watches.
        unsafe { &(*self.0.as_ptr()).owners }
    }
}

impl<T> Clone for Weak<T> {
    fn clone(&self) -> Weak<T> {
        // SAFETY: the counts are there as long as somebody watches.
        count_one(unsafe { &(*self.0.as_ptr()).weaks });
        Weak(self.0)
    }
}

impl<T> Drop for Weak<T> {
    fn drop(&mut self) {
        // SAFETY: as above.
        let weaks = unsafe { &(*self.0.as_ptr()).weaks };
        if weaks.fetch_sub(1, Release) == 1 {
            fence(Acquire);
            // SAFETY: made of a box; the value is gone, and this was the last handle.
            drop(unsafe { Box::from_raw(self.0.as_ptr()) });
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_owner_drops_it() {
        struct Counts<'a>(&'a AtomicUsize);
        impl Deref for Counts<'_> {
            type Target = AtomicUsize;
            fn deref(&self) -> &AtomicUsize {
                self.0
            }
        }
        impl Drop for Counts<'_> {
            fn drop(&mut self) {
                self.0.fetch_add(1, SeqCst);
            }
        }
        let drops = AtomicUsize::new(0);
        let first = Shared::new(Counts(&drops)).unwrap();
        let second = first.clone();
        assert!(Shared::is_same(&first, &second) && !Shared::is_same(&first, &Shared::new(Counts(&drops)).unwrap()));
        assert_eq!(drops.load(SeqCst), 1);
        std::thread::scope(|scope| drop(scope.spawn(move || drop(first))));
        // The other owner's is there.
        assert_eq!((**second).load(SeqCst), 1);
        let weak = second.downgrade();
        assert!(weak.is_alive() && weak.upgrade().is_some_and(|shared| Shared::is_same(&shared, &second)));
        drop(second);
        assert_eq!(drops.load(SeqCst), 2);
        assert!(!weak.is_alive() && weak.upgrade().is_none());
    }

    #[test]
    fn more_than_there_is_is_refused() {
        assert_eq!(list::<u64>(usize::MAX).unwrap_err(), Refused { bytes: usize::MAX });
        assert_eq!(text(format_args!("{} of {}", 1, "two")), "1 of two");
        assert_eq!(*boxed(7).unwrap(), 7);
        assert_eq!(copied(&[1, 2]).unwrap(), [1, 2]);
    }
}
