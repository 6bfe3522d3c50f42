//! Partitioning arrays of the caller's into buckets.

use crate::arguments::{Place, exclusive, shared, take};
use crate::pool::EagrePool;
use crate::sort::{EAGRE_SLACK_DEFAULT, EagreKey, keys};
use crate::status::{EagreStatus, Fault, status, value};
use crate::versioned::{self, Versioned};
use eagre::heap;
use eagre::keys::FileKey;
use eagre::partition::{Keyed, Layout, Partitioner, Partitions};
use std::any::Any;
use std::ffi::c_void;
use std::mem::{offset_of, size_of};
use std::ptr;

/// The version of EagrePartitionOptions in this header.
pub const EAGRE_PARTITION_OPTIONS_VERSION: u32 = 1;

/// EagrePartitionOptions.flags: the buckets lie in one array, each behind the one before.
pub const EAGRE_DENSE: u32 = 1;

/// By what to partition, and how. Fill it with eagre_partition_options_default, then change what should be different.
///
/// With boundaries, by these; else with bits, by these bits of the key; else into so many ways of equal width. Numbers
/// with a sign, floating-point ones in their total order, are seen as the unsigned ones that have the same order.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct EagrePartitionOptions {
    /// The size of this struct in bytes.
    pub size: u32,
    /// EAGRE_PARTITION_OPTIONS_VERSION.
    pub version: u32,
    /// Into so many ranges of equal width, 2 to 1024. Default: 256.
    pub ways: u32,
    /// By so many bits, 1 to 10; 0, the default, for ways.
    pub bits: u32,
    /// The lowest of those bits.
    pub shift: u32,
    /// How many threads may be used at most, the caller's included. 0, the default: as many as this process may run on.
    pub threads: u32,
    /// EAGRE_DENSE or 0, the default: each bucket begins where it suits.
    pub flags: u32,
    /// How many boundaries there are: 1 to 1023, or 0, the default, if boundaries is null.
    pub boundary_count: u32,
    /// Boundaries in ascending order, or null, the default: keys, or of pairs first parts. Bucket i begins with boundary
    /// i - 1 and ends before boundary i.
    pub boundaries: *const c_void,
    /// The most bytes of memory taken beside the keys and the buckets. Default: EAGRE_SLACK_DEFAULT, as many as the keys
    /// have.
    pub slack: u64,
    /// Where the memory of the buckets comes from, or null, the default: the pool that all streams share.
    pub pool: *const EagrePool,
}

// SAFETY: numbers and pointers, with size and version first.
unsafe impl Versioned for EagrePartitionOptions {
    const NAME: &'static str = "EagrePartitionOptions";
    const FILLED_BY: &'static str = "eagre_partition_options_default";
    const VERSION: u32 = EAGRE_PARTITION_OPTIONS_VERSION;
    const SMALLEST: usize = offset_of!(EagrePartitionOptions, pool) + size_of::<*const EagrePool>();
    const DEFAULT: EagrePartitionOptions = EagrePartitionOptions {
        size: size_of::<EagrePartitionOptions>() as u32,
        version: EAGRE_PARTITION_OPTIONS_VERSION,
        ways: 256,
        bits: 0,
        shift: 0,
        threads: 0,
        flags: 0,
        boundary_count: 0,
        boundaries: ptr::null(),
        slack: EAGRE_SLACK_DEFAULT,
        pool: ptr::null(),
    };
}

impl EagrePartitionOptions {
    /// What is asked for, with boundaries of type `B`.
    ///
    /// # Safety
    /// `boundaries` and `pool` are null or what they say.
    unsafe fn partitioner<B: FileKey + Keyed>(&self) -> Result<Partitioner, Fault> {
        if self.flags & !EAGRE_DENSE != 0 {
            return Err(Fault::invalid(format_args!("flags is {:#x}: only EAGRE_DENSE is known", self.flags)));
        }
        if self.boundaries.is_null() && self.boundary_count > 0 {
            let why = format_args!("boundaries is a null pointer, and boundary_count is {}", self.boundary_count);
            return Err(Fault::invalid(why));
        }
        let mut partitioner = Partitioner::new();
        partitioner = match (self.boundaries.is_null(), self.bits) {
            (false, _) => {
                // SAFETY: the caller's promise.
                let boundaries = unsafe { keys::<B>(self.boundaries, self.boundary_count as usize)? };
                let mut keys = heap::list(boundaries.len())?;
                keys.extend(boundaries.iter().map(Keyed::key));
                partitioner.boundaries(&keys)
            }
            (true, 0) => partitioner.ways(self.ways as usize),
            (true, bits) => partitioner.bits(self.shift, bits),
        };
        if self.flags & EAGRE_DENSE != 0 {
            partitioner = partitioner.layout(Layout::Dense);
        }
        partitioner = partitioner.threads(self.threads as usize);
        if self.slack != EAGRE_SLACK_DEFAULT {
            partitioner = partitioner.slack(usize::try_from(self.slack).unwrap_or(usize::MAX));
        }
        // SAFETY: the caller's promise.
        Ok(match unsafe { self.pool.as_ref() } {
            Some(pool) => partitioner.pool(&pool.0),
            None => partitioner,
        })
    }
}

/// Keys in buckets, which it owns.
pub struct EagrePartition {
    /// Where each bucket's keys begin, and how many they are.
    buckets: Vec<(*mut c_void, usize)>,
    /// The memory they are in.
    _memory: Box<dyn Any>,
}

impl EagrePartition {
    fn new<T: Keyed>(keys: Partitions<T>) -> Result<EagrePartition, Fault> {
        let (mut buckets, mut keys) = (heap::list(keys.ways())?, heap::boxed(keys)?);
        buckets.extend(keys.iter_mut().map(|bucket| (bucket.as_mut_ptr().cast(), bucket.len())));
        Ok(EagrePartition { buckets, _memory: keys })
    }
}

/// Fills options with the defaults. Call it as eagre_partition_options_default(&options, sizeof options).
///
/// Fails with EAGRE_INVALID if options is null, EAGRE_WRONG_VERSION if size is not that of an EagrePartitionOptions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_partition_options_default(
    options: *mut EagrePartitionOptions,
    size: usize,
) -> EagreStatus {
    // SAFETY: the caller's promise.
    status(|| unsafe { versioned::fill(options, size) })
}

/// Copies count keys into buckets, in one pass; in a bucket they keep their order. key is an EagreKey of 32 or 64 bits, or
/// pairs, which go by their first part; options may be null. Close what comes out with eagre_partition_close.
///
/// Fails with EAGRE_OUT_OF_BLOCKS or EAGRE_RESOURCES if memory is not to be had, EAGRE_INVALID if options ask for what
/// cannot be, or EAGRE_WRONG_VERSION.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_partition(
    keys: *const c_void,
    count: usize,
    key: i32,
    options: *const EagrePartitionOptions,
    partition: *mut *mut EagrePartition,
) -> EagreStatus {
    /// The buckets of keys of type `K` with boundaries of type `B`.
    unsafe fn part<K: FileKey + Keyed, B: FileKey + Keyed>(
        keys: *const c_void,
        count: usize,
        options: &EagrePartitionOptions,
    ) -> Result<EagrePartition, Fault> {
        // SAFETY: the caller's promise.
        let (keys, partitioner) = unsafe { (self::keys::<K>(keys, count)?, options.partitioner::<B>()?) };
        EagrePartition::new(partitioner.partition(keys)?)
    }
    status(|| {
        // SAFETY: the caller's promise.
        let (place, options) = unsafe { (Place::new(partition, "partition")?, versioned::read(options)?) };
        let part = match key {
            key if key == EagreKey::U32 as i32 => part::<u32, u32>,
            key if key == EagreKey::I32 as i32 => part::<i32, i32>,
            key if key == EagreKey::F32 as i32 => part::<f32, f32>,
            key if key == EagreKey::U64 as i32 => part::<u64, u64>,
            key if key == EagreKey::I64 as i32 => part::<i64, i64>,
            key if key == EagreKey::F64 as i32 => part::<f64, f64>,
            key if key == EagreKey::U32U32 as i32 => part::<(u32, u32), u32>,
            key if key == EagreKey::U64U64 as i32 => part::<(u64, u64), u64>,
            key => {
                return Err(Fault::invalid(format_args!(
                    "key is {key}: it must be an EagreKey of 32 or 64 bits, or pairs"
                )));
            }
        };
        // SAFETY: the caller's promise.
        place.put(unsafe { part(keys, count, &options)? });
        Ok(())
    })
}

/// How many buckets there are; 0 for a null pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_partition_ways(partition: *const EagrePartition) -> usize {
    // SAFETY: the caller's promise.
    value(0, || unsafe { shared(partition, "partition") }.map(|partition| partition.buckets.len()))
}

/// The keys of a bucket, to read and change, and in count how many they are. Several threads may ask at a time, and
/// have a bucket each. Null only on failure: EAGRE_INVALID.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_partition_bucket(
    partition: *const EagrePartition,
    bucket: usize,
    count: *mut usize,
) -> *mut c_void {
    value(ptr::null_mut(), || {
        // SAFETY: the caller's promise.
        let (partition, count) = unsafe { (shared(partition, "partition")?, exclusive(count, "count")?) };
        let Some(&(keys, len)) = partition.buckets.get(bucket) else {
            return Err(Fault::invalid(format_args!("bucket is {bucket}: there are {}", partition.buckets.len())));
        };
        *count = len;
        Ok(keys)
    })
}

/// Gives up buckets and their memory. Null is nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_partition_close(partition: *mut EagrePartition) {
    status(|| {
        // SAFETY: the caller's promise.
        drop(unsafe { take(partition) });
        Ok(())
    });
}
