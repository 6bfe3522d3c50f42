//! Cutting records in memory into parts: boundaries from a sample, and a sort that says where each part ends.

use crate::arguments::{self, Place, exclusive, shared, take};
use crate::format::{EagreFormat, with_records};
use crate::sort::{EAGRE_STABLE, EagreSortOptions, with_sorter};
use crate::status::{EagreStatus, Fault, status, value};
use eagre::external::kernels;
use eagre::heap;
use std::ffi::c_void;
use std::mem::size_of;
use std::ptr::null;

/// Some bytes in a row.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct EagreBytes {
    /// The first of them. May be null if there are none.
    pub bytes: *const c_void,
    /// How many.
    pub size: usize,
}

/// Keys that cut records into parts, which it owns.
pub struct EagreBoundaries {
    views: Vec<EagreBytes>,
    _keys: Vec<Vec<u8>>,
}

/// Chooses the keys that cut records into parts parts of like size, from a sample of whole records: parts - 1 keys in order,
/// none if the sample is empty. Part n has the keys from boundary n - 1 on, and before boundary n. format may be null: lines.
/// Close what comes out with eagre_boundaries_close.
///
/// Fails with EAGRE_MALFORMED if the sample does not end with a record (a last line needs its end), EAGRE_RESOURCES,
/// EAGRE_INVALID or EAGRE_WRONG_VERSION.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_sample_boundaries(
    sample: *const c_void,
    size: usize,
    parts: usize,
    format: *const EagreFormat,
    boundaries: *mut *mut EagreBoundaries,
) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let (place, sample) =
            unsafe { (Place::new(boundaries, "boundaries")?, arguments::bytes(sample.cast(), size)?) };
        // SAFETY: the caller's promise.
        let (records, order) = unsafe { EagreFormat::read(format, false)? };
        if parts == 0 {
            return Err(Fault::invalid("parts is 0: there is one at least"));
        }
        let keys = with_records!(&records, format => kernels::sample_boundaries(format, sample, parts, order))?;
        let mut views = heap::list(keys.len())?;
        views.extend(keys.iter().map(|key| EagreBytes { bytes: key.as_ptr().cast(), size: key.len() }));
        place.put(EagreBoundaries { views, _keys: keys });
        Ok(())
    })
}

/// The boundaries, and in count how many they are. Valid until they are closed. Null only on failure: EAGRE_INVALID.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_boundaries_keys(
    boundaries: *const EagreBoundaries,
    count: *mut usize,
) -> *const EagreBytes {
    value(null(), || {
        // SAFETY: the caller's promise.
        let (boundaries, count) = unsafe { (shared(boundaries, "boundaries")?, exclusive(count, "count")?) };
        *count = boundaries.views.len();
        Ok(boundaries.views.as_ptr())
    })
}

/// Frees boundaries. Null is nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_boundaries_close(boundaries: *mut EagreBoundaries) {
    status(|| {
        // SAFETY: the caller's promise.
        drop(unsafe { take(boundaries) });
        Ok(())
    });
}

/// Writes the size bytes of records to out in order, and where each part ends in out to ends, which has room for
/// boundary_count + 1 numbers. Boundaries are keys in order, such as those of eagre_boundaries_keys. Records with equal keys
/// stay in order. out has room for size bytes, and must not lie over records, not even in part.
///
/// format may be null: lines. options may be null: of an EagreSortOptions, threads, slack and progress count. Beside both
/// buffers it takes 16 bytes per record, and the slack.
///
/// Fails with EAGRE_MALFORMED if records do not end with a record (a last line needs its end), EAGRE_CANCELLED,
/// EAGRE_RESOURCES, EAGRE_INVALID or EAGRE_WRONG_VERSION. What out and ends hold then has no meaning.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_sort_and_partition(
    records: *const c_void,
    size: usize,
    boundaries: *const EagreBytes,
    boundary_count: usize,
    format: *const EagreFormat,
    options: *const EagreSortOptions,
    out: *mut c_void,
    ends: *mut usize,
) -> EagreStatus {
    status(|| {
        let (from, to) = (records.addr(), out.addr());
        if size > 0 && from < to.saturating_add(size) && to < from.saturating_add(size) {
            return Err(Fault::invalid("out and records overlap"));
        }
        if boundary_count >= isize::MAX as usize / size_of::<EagreBytes>() {
            return Err(Fault::invalid("more boundaries than there are addresses"));
        }
        if ends.is_null() || !ends.is_aligned() {
            return Err(Fault::invalid("ends is a null pointer, or not at a multiple of its size"));
        }
        // SAFETY: the caller's promise, and that they are apart is checked before there are slices of both.
        let (bytes, out) =
            unsafe { (arguments::bytes(records.cast(), size)?, arguments::bytes_mut(out.cast(), size)?) };
        let mut keys = heap::list(boundary_count)?;
        for index in 0..boundary_count {
            // SAFETY: the caller's promise: so many boundaries, each with as many bytes as it says.
            let key = unsafe {
                let key = shared(boundaries.wrapping_add(index), "boundaries")?;
                arguments::bytes(key.bytes.cast(), key.size)?
            };
            keys.push(heap::copied(key)?);
        }
        // SAFETY: the caller's promise.
        let (records, order) = unsafe { EagreFormat::read(format, false)? };
        // SAFETY: the caller's promise.
        let found = unsafe {
            with_sorter(
                options,
                EAGRE_STABLE,
                |sorter, _| with_records!(&records, format => kernels::sort_and_partition(format, bytes, &keys, order, sorter, out)),
            )?
        };
        for (index, end) in found.into_iter().enumerate().take(boundary_count + 1) {
            // SAFETY: room for so many, as the caller has promised.
            unsafe { ends.add(index).write(end) };
        }
        Ok(())
    })
}
