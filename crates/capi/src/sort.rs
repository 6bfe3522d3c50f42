//! Sorting arrays of the caller's, in place.

use crate::arguments;
use crate::status::{EagreStatus, Fault, status};
use crate::versioned::{self, Versioned};
use eagre::keys::FileKey;
use eagre::sort::{Progress, SortError, Sorter};
use std::ffi::{c_int, c_void};
use std::mem::{align_of, offset_of, size_of};
use std::ops::ControlFlow;

/// cbindgen:rename-all=QualifiedScreamingSnakeCase
/// What is sorted: numbers of the machine, and pairs of them, which are structs of two. Pairs are ordered by their first
/// part, then by their second. Floating-point numbers are in their total order: -NaN, -infinity, negative numbers, -0, 0,
/// positive numbers, infinity, NaN.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EagreKey {
    /// uint32_t.
    U32 = 1,
    /// int32_t.
    I32 = 2,
    /// float.
    F32 = 3,
    /// uint64_t.
    U64 = 4,
    /// int64_t.
    I64 = 5,
    /// double.
    F64 = 6,
    /// unsigned __int128, at a multiple of 16.
    U128 = 7,
    /// __int128, at a multiple of 16.
    I128 = 8,
    /// Two of uint32_t.
    U32U32 = 9,
    /// Two of uint64_t.
    U64U64 = 10,
}

/// The version of EagreSortOptions in this header.
pub const EAGRE_SORT_OPTIONS_VERSION: u32 = 1;

/// EagreSortOptions.slack: 64 MiB, or an eighth of the keys' own memory if that is more.
pub const EAGRE_SLACK_DEFAULT: u64 = u64::MAX;

/// EagreSortOptions.flags: pairs are ordered by their first part only, and those that agree in it stay in the order they
/// were in.
pub const EAGRE_STABLE: u32 = 1;

/// EagreSortOptions.flags: the largest key comes first. With EAGRE_STABLE, and in eagre_argsort, equal keys stay in the order
/// they are in.
pub const EAGRE_SORT_DESCENDING: u32 = 2;

/// EagreSortOptions.flags: NaN comes behind all numbers, in ascending and in descending order, and -0 equals 0, as in NumPy and
/// databases. Without it, floating-point numbers are in their total order. For other keys it says nothing.
pub const EAGRE_NAN_LAST: u32 = 4;

/// Told how far a sort is: done of total keys. Returns 0 to go on, anything else to end with EAGRE_CANCELLED. Any thread
/// of the sort may call it, one at a time.
pub type EagreProgress = Option<unsafe extern "C" fn(context: *mut c_void, done: u64, total: u64) -> c_int>;

/// How to sort. Fill it with eagre_sort_options_default, then change what should be different.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct EagreSortOptions {
    /// The size of this struct in bytes.
    pub size: u32,
    /// EAGRE_SORT_OPTIONS_VERSION.
    pub version: u32,
    /// How many threads may be used at most, the caller's included. 0, the default: as many as this process may run on.
    pub threads: u32,
    /// EAGRE_STABLE, EAGRE_SORT_DESCENDING, EAGRE_NAN_LAST, or 0, the default.
    pub flags: u32,
    /// The most bytes of memory taken beside the keys, or beside the copies that eagre_argsort makes of them. Default:
    /// EAGRE_SLACK_DEFAULT. With too little it takes longer.
    pub slack: u64,
    /// Called every few MiB of work, or null, the default. It must return: no longjmp, no exception.
    pub progress: EagreProgress,
    /// The first argument of progress.
    pub context: *mut c_void,
}

// SAFETY: numbers and pointers (a null function is one), with size and version first.
unsafe impl Versioned for EagreSortOptions {
    const NAME: &'static str = "EagreSortOptions";
    const FILLED_BY: &'static str = "eagre_sort_options_default";
    const VERSION: u32 = EAGRE_SORT_OPTIONS_VERSION;
    const SMALLEST: usize = offset_of!(EagreSortOptions, context) + size_of::<*mut c_void>();
    const DEFAULT: EagreSortOptions = EagreSortOptions {
        size: size_of::<EagreSortOptions>() as u32,
        version: EAGRE_SORT_OPTIONS_VERSION,
        threads: 0,
        flags: 0,
        slack: EAGRE_SLACK_DEFAULT,
        progress: None,
        context: std::ptr::null_mut(),
    };
}

/// The caller's function, to be asked by any thread.
struct Hook {
    call: unsafe extern "C" fn(*mut c_void, u64, u64) -> c_int,
    context: *mut c_void,
}

// SAFETY: the header says that any thread of the sort may call, one at a time.
unsafe impl Sync for Hook {}

impl Hook {
    fn ask(&self, progress: Progress) -> ControlFlow<()> {
        // SAFETY: the caller's function, with the arguments it was promised.
        match unsafe { (self.call)(self.context, progress.done, progress.total) } {
            0 => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        }
    }
}

/// All flags.
const ALL: u32 = EAGRE_STABLE | EAGRE_SORT_DESCENDING | EAGRE_NAN_LAST;

/// Calls `sort` with the sorter that C asks for, and whether it is to be stable. Of the flags it takes those `known`.
///
/// # Safety
/// As [`versioned::read`].
pub(crate) unsafe fn with_sorter<R, E>(
    options: *const EagreSortOptions,
    known: u32,
    sort: impl FnOnce(&Sorter<'_>, bool) -> Result<R, E>,
) -> Result<R, Fault>
where
    Fault: From<E>,
{
    // SAFETY: the caller's promise.
    let options = unsafe { versioned::read(options)? };
    if options.flags & !known != 0 {
        let names = match known {
            ALL => "only EAGRE_STABLE, EAGRE_SORT_DESCENDING and EAGRE_NAN_LAST are known",
            EAGRE_NAN_LAST => "only EAGRE_NAN_LAST is for this",
            _ => "only EAGRE_STABLE is for this",
        };
        return Err(Fault::invalid(format_args!("flags is {:#x}: {names}", options.flags)));
    }
    let mut sorter = Sorter::new().threads(options.threads as usize);
    sorter =
        sorter.descending(options.flags & EAGRE_SORT_DESCENDING != 0).nan_last(options.flags & EAGRE_NAN_LAST != 0);
    if options.slack != EAGRE_SLACK_DEFAULT {
        sorter = sorter.slack(usize::try_from(options.slack).unwrap_or(usize::MAX));
    }
    let hook = options.progress.map(|call| Hook { call, context: options.context });
    let ask = |progress| hook.as_ref().map_or(ControlFlow::Continue(()), |hook| hook.ask(progress));
    if hook.is_some() {
        sorter = sorter.progress(&ask);
    }
    Ok(sort(&sorter, options.flags & EAGRE_STABLE != 0)?)
}

/// Evaluates an expression in which `$key` is the Rust type of an [`EagreKey`] that came as a number.
macro_rules! with_key {
    ($value:expr, $key:ident => $body:expr) => {
        with_key!($value, $key => $body,
            U32: u32, I32: i32, F32: f32, U64: u64, I64: i64, F64: f64, U128: u128, I128: i128,
            U32U32: (u32, u32), U64U64: (u64, u64))
    };
    ($value:expr, $key:ident => $body:expr, $($name:ident: $rust:ty),*) => {
        match $value {
            $(value if value == EagreKey::$name as i32 => {
                type $key = $rust;
                $body
            })*
            value => Err(Fault::invalid(format_args!("key is {value}: it must be an EagreKey, 1 to 10"))),
        }
    };
}

// A pair of ours is laid out as the struct of two in C.
const _: () = assert!(offset_of!((u32, u32), 0) == 0 && offset_of!((u32, u32), 1) == 4 && size_of::<(u32, u32)>() == 8);
const _: () =
    assert!(offset_of!((u64, u64), 0) == 0 && offset_of!((u64, u64), 1) == 8 && size_of::<(u64, u64)>() == 16);

/// The caller's keys, to change.
///
/// # Safety
/// `keys` is null or points to `count` keys for as long as the slice is used, by nobody else meanwhile.
unsafe fn keys_mut<'a, K: FileKey>(keys: *mut c_void, count: usize) -> Result<&'a mut [K], Fault> {
    check_keys::<K>(keys, count)?;
    // SAFETY: aligned, not null or empty, and the caller's promise; every value of their bytes is a key.
    Ok(if count == 0 { &mut [] } else { unsafe { std::slice::from_raw_parts_mut(keys.cast(), count) } })
}

/// The caller's keys, to read.
///
/// # Safety
/// As [`keys_mut`], but others may read them too.
pub(crate) unsafe fn keys<'a, K: FileKey>(keys: *const c_void, count: usize) -> Result<&'a [K], Fault> {
    check_keys::<K>(keys, count)?;
    // SAFETY: aligned, not null or empty, and the caller's promise; every value of their bytes is a key.
    Ok(if count == 0 { &[] } else { unsafe { std::slice::from_raw_parts(keys.cast(), count) } })
}

fn check_keys<K>(keys: *const c_void, count: usize) -> Result<(), Fault> {
    let bytes =
        count.checked_mul(size_of::<K>()).ok_or_else(|| Fault::invalid("more keys than there are addresses"))?;
    arguments::check_span(keys.cast(), bytes)?;
    if !keys.cast::<K>().is_aligned() && count > 0 {
        return Err(Fault::invalid(format_args!("keys is not at a multiple of {} bytes", align_of::<K>())));
    }
    Ok(())
}

/// Fails if `count` keys and as many places have bytes in common.
fn check_apart<K>(keys: *const c_void, places: *const u64, count: usize) -> Result<(), Fault> {
    let (keys, places) = (keys.addr(), places.addr());
    let keys_end = keys.saturating_add(count.saturating_mul(size_of::<K>()));
    let places_end = places.saturating_add(count.saturating_mul(size_of::<u64>()));
    if count > 0 && keys < places_end && places < keys_end {
        return Err(Fault::invalid("places and keys overlap"));
    }
    Ok(())
}

/// Fills options with the defaults. Call it as eagre_sort_options_default(&options, sizeof options).
///
/// Fails with EAGRE_INVALID if options is null, EAGRE_WRONG_VERSION if size is not that of an EagreSortOptions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_sort_options_default(options: *mut EagreSortOptions, size: usize) -> EagreStatus {
    // SAFETY: the caller's promise.
    status(|| unsafe { versioned::fill(options, size) })
}

/// Sorts count keys in ascending order, in place. key is an EagreKey; options may be null.
///
/// Fails with EAGRE_RESOURCES if memory is not to be had, EAGRE_CANCELLED if progress said so, EAGRE_INVALID or
/// EAGRE_WRONG_VERSION. Even then keys holds the same keys, in some order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_sort(
    keys: *mut c_void,
    count: usize,
    key: i32,
    options: *const EagreSortOptions,
) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        with_key!(key, K => unsafe {
            let keys = keys_mut::<K>(keys, count)?;
            with_sorter(options, ALL, |sorter, stable| match stable {
                true => sorter.sort_by_first(keys),
                false => sorter.sort(keys),
            })
        })
    })
}

/// Brings the few smallest of count keys to the front, in ascending order; the others follow in any order. Of the flags it
/// takes EAGRE_NAN_LAST only: then NaN is never among them unless all numbers are. Otherwise as eagre_sort.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_sort_smallest(
    keys: *mut c_void,
    count: usize,
    key: i32,
    few: usize,
    options: *const EagreSortOptions,
) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        with_key!(key, K => unsafe { some(keys_mut::<K>(keys, count)?, options, |sorter, keys| sorter.smallest(keys, few)) })
    })
}

/// Brings the few largest of count keys to the front, in descending order; the others follow in any order. Flags as for
/// eagre_sort_smallest. Otherwise as eagre_sort.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_sort_largest(
    keys: *mut c_void,
    count: usize,
    key: i32,
    few: usize,
    options: *const EagreSortOptions,
) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise.
        with_key!(key, K => unsafe { some(keys_mut::<K>(keys, count)?, options, |sorter, keys| sorter.largest(keys, few)) })
    })
}

/// Sorts some of the keys, for which there is no stable way.
///
/// # Safety
/// As [`versioned::read`].
unsafe fn some<K>(
    keys: &mut [K],
    options: *const EagreSortOptions,
    sort: impl FnOnce(&Sorter<'_>, &mut [K]) -> Result<(), SortError>,
) -> Result<(), Fault> {
    // SAFETY: the caller's promise.
    unsafe { with_sorter(options, EAGRE_NAN_LAST, |sorter, _| sort(sorter, keys)) }
}

/// Puts into places, which has room for count numbers, where the keys are in order: first the index of the smallest, or with
/// EAGRE_SORT_DESCENDING of the largest. Equal keys come in the order they are in, EAGRE_STABLE or not. The keys stay where
/// they are: places must not lie over them, not even in part.
///
/// It takes memory for copies of the keys, each with its place: 8, 16 or 32 bytes for a key of 4, 8 or 16, and 8 for the
/// result.
///
/// Fails as eagre_sort, and with EAGRE_INVALID if places and keys overlap; places is as it was then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eagre_argsort(
    keys: *const c_void,
    count: usize,
    key: i32,
    options: *const EagreSortOptions,
    places: *mut u64,
) -> EagreStatus {
    status(|| {
        // SAFETY: the caller's promise, and that they are apart is checked before there are slices of both.
        with_key!(key, K => unsafe {
            check_apart::<K>(keys, places, count)?;
            let places = keys_mut::<u64>(places.cast(), count)?;
            let keys = self::keys::<K>(keys, count)?;
            let order = with_sorter(options, ALL, |sorter, _| sorter.argsort(keys))?;
            places.iter_mut().zip(order).for_each(|(place, index)| *place = index as u64);
            Ok(())
        })
    })
}
