//! Vectors that grow without copying.

use crate::arguments::{self, Place, exclusive, shared, take};
use crate::pool::EagrePool;
use crate::status::{EagreStatus, Fault, status, value};
use eagre::RewiredVec;
use std::ffi::c_void;
use std::ptr;

/// A vector of elements of any one size. It grows by rewiring blocks of memory from a pool into addresses reserved
/// beforehand: growing copies nothing, and the address of an element never changes. Memory comes in blocks, of 2 MiB
/// usually: it is for few large vectors.
pub struct EagreVector {
    bytes: RewiredVec<u8>,
    /// The size of an element.
    width: usize,
}

impl EagreVector {
    /// How many bytes so many elements have.
    fn size_of(&self, count: usize) -> Result<usize, Fault> {
        let too_many = || Fault::new(EagreStatus::EagreCapacityExceeded, "more elements than there are addresses");
        count.checked_mul(self.width).ok_or_else(too_many)
    }
}

/// Makes an empty vector for elements of element_size bytes. It has addresses for limit elements, which cost no memory;
/// 0: for as many as the pool can hold. pool is where memory comes from, or null: the one that all streams share. Close
/// it with eagre_vector_close.
///
/// Fails with EAGRE_INVALID, EAGRE_RESOURCES or EAGRE_UNAVAILABLE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_vector_open(
    element_size: usize,
    limit: u64,
    pool: *const EagrePool,
    vector: *mut *mut EagreVector,
) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let (place, pool) = unsafe { (Place::new(vector, "vector")?, pool.as_ref()) };
        if element_size == 0 {
            return Err(Fault::invalid("element_size is 0; give the size of an element"));
        }
        let limit = usize::try_from(limit).ok().and_then(|limit| limit.checked_mul(element_size)).unwrap_or(usize::MAX);
        let bytes = match (pool, limit) {
            (None, 0) => RewiredVec::new()?,
            (Some(pool), 0) => RewiredVec::in_pool(&pool.0)?,
            (None, limit) => RewiredVec::with_limit(&eagre::Pool::shared(eagre::BlockSize::DEFAULT)?, limit)?,
            (Some(pool), limit) => RewiredVec::with_limit(&pool.0, limit)?,
        };
        place.put(EagreVector { bytes, width: element_size });
        Ok(())
    })
}

/// The first element. The same as long as the vector lives, however it grows. Null only if vector is.
///
/// Memory behind the last element may be written as far as eagre_vector_capacity reaches: eagre_vector_set_length says
/// then how many elements there are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_vector_data(vector: *mut EagreVector) -> *mut c_void {
    // SAFETY: the caller's promise.
    value(ptr::null_mut(), || Ok(unsafe { exclusive(vector, "vector")? }.bytes.as_mut_ptr().cast()))
}

/// How many elements there are; 0 for a null pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_vector_length(vector: *const EagreVector) -> usize {
    // SAFETY: the caller's promise.
    value(0, || unsafe { shared(vector, "vector") }.map(|vector| vector.bytes.len() / vector.width))
}

/// For how many elements there is memory now; 0 for a null pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_vector_capacity(vector: *const EagreVector) -> usize {
    // SAFETY: the caller's promise.
    value(0, || unsafe { shared(vector, "vector") }.map(|vector| vector.bytes.capacity() / vector.width))
}

/// How many elements there are addresses for; 0 for a null pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_vector_limit(vector: *const EagreVector) -> usize {
    // SAFETY: the caller's promise.
    value(0, || unsafe { shared(vector, "vector") }.map(|vector| vector.bytes.limit() / vector.width))
}

/// Sees to it that there is memory for so many more elements.
///
/// Fails with EAGRE_CAPACITY_EXCEEDED beyond the limit, EAGRE_OUT_OF_BLOCKS if the pool or the machine has no memory
/// left, EAGRE_RESOURCES if there are too many mappings, EAGRE_FORKED, EAGRE_SYSTEM or EAGRE_INVALID; the vector is as it
/// was then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_vector_reserve(vector: *mut EagreVector, additional: usize) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let vector = unsafe { exclusive(vector, "vector")? };
        Ok(vector.bytes.try_reserve(vector.size_of(additional)?)?)
    })
}

/// Appends a copy of an element. Fails as eagre_vector_reserve.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_vector_push(vector: *mut EagreVector, element: *const c_void) -> EagreStatus {
    // SAFETY: the caller's promise.
    unsafe { eagre_vector_extend(vector, element, 1) }
}

/// Appends copies of count elements in a row, all or none. Fails as eagre_vector_reserve.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_vector_extend(
    vector: *mut EagreVector,
    elements: *const c_void,
    count: usize,
) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let vector = unsafe { exclusive(vector, "vector")? };
        let size = vector.size_of(count)?;
        // SAFETY: the caller's promise.
        let elements = unsafe { arguments::bytes(elements.cast(), size)? };
        Ok(vector.bytes.try_extend_from_slice(elements)?)
    })
}

/// Declares how many elements there are: at most as many as there is memory for. Those that are new hold whatever was
/// written there, or bytes of no meaning. With fewer, the memory is kept: see eagre_vector_shrink_to_fit.
///
/// Fails with EAGRE_INVALID_LENGTH if there is no memory for so many, or EAGRE_INVALID.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_vector_set_length(vector: *mut EagreVector, length: usize) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        let vector = unsafe { exclusive(vector, "vector")? };
        let capacity = vector.bytes.capacity() / vector.width;
        if length > capacity {
            let text =
                format_args!("length is {length}: there is memory for {capacity}; call eagre_vector_reserve before");
            return Err(Fault::new(EagreStatus::EagreInvalidLength, text));
        }
        // SAFETY: within the capacity, which is initialised: pools zero what they get and keep what comes back.
        unsafe { vector.bytes.set_len(length * vector.width) };
        Ok(())
    })
}

/// Gives memory behind the last element back to the pool. Fails with EAGRE_INVALID.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_vector_shrink_to_fit(vector: *mut EagreVector) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        unsafe { exclusive(vector, "vector")? }.bytes.shrink_to_fit();
        Ok(())
    })
}

/// Gives up a vector and its memory. Null is nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_vector_close(vector: *mut EagreVector) {
    status(|| {
        // SAFETY: the caller's promise.
        drop(unsafe { take(vector) });
        Ok(())
    });
}
