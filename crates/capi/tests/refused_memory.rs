//! Refused memory is a status with a message for C too, whichever allocation it is.
//!
//! The allocator is the process's, and the test harness's threads allocate too: so there is none.

#[path = "../../eagre/tests/refused_memory/refusing.rs"]
mod refusing;

use eagre_c::*;
use refusing::{Attempt, each_allocation};
use std::ffi::{CStr, CString, c_void};
use std::ptr::{null, null_mut};

fn main() {
    refusing::run(&[
        ("sort", sort),
        ("argsort", argsort),
        ("partition", partition),
        ("records", records),
        ("vectors", vectors),
        ("options", options),
        ("streams", streams),
        ("files", files),
    ]);
}

/// What eagre_last_error says.
fn message() -> &'static str {
    // SAFETY: a C string for the thread's life.
    unsafe { CStr::from_ptr(eagre_last_error()) }.to_str().unwrap()
}

/// Whether a call succeeded. If not, it has been refused memory, and says so.
fn succeeded(attempt: &Attempt, status: EagreStatus) -> bool {
    if status == EagreStatus::EagreOk {
        return true;
    }
    assert!(attempt.refused(), "{status:?}: {}", message());
    assert!(matches!(status, EagreStatus::EagreResources | EagreStatus::EagreOutOfBlocks), "{status:?}: {}", message());
    assert_eq!(eagre_last_status(), status);
    assert!(message().contains("memory"), "{}", message());
    false
}

fn random(i: usize) -> u64 {
    let i = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (i ^ i >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

fn sorting(threads: u32) -> EagreSortOptions {
    let mut options = std::mem::MaybeUninit::uninit();
    // SAFETY: as large as it says, and filled if the answer is good.
    unsafe {
        assert_eq!(
            eagre_sort_options_default(options.as_mut_ptr(), size_of::<EagreSortOptions>()),
            EagreStatus::EagreOk
        );
        EagreSortOptions { threads, ..options.assume_init() }
    }
}

fn sort() {
    let input: Vec<u64> = (0..262_145).map(random).collect();
    let mut expected = input.clone();
    expected.sort_unstable();
    let mut keys = input.clone();
    for options in [sorting(1), sorting(0)] {
        each_allocation(&format!("eagre_sort: {} threads", options.threads), |attempt| {
            keys.copy_from_slice(&input);
            // SAFETY: so many keys, and options.
            let status = attempt
                .call(|| unsafe { eagre_sort(keys.as_mut_ptr().cast(), keys.len(), EagreKey::U64 as i32, &options) });
            if !succeeded(attempt, status) && keys != input {
                keys.sort_unstable();
            }
            assert!(keys == expected || keys == input);
        });
    }
}

fn argsort() {
    let keys: Vec<u64> = (0..40_001).map(random).collect();
    let mut expected: Vec<u64> = (0..keys.len() as u64).collect();
    expected.sort_by_key(|&place| keys[place as usize]);
    let mut places = vec![7; keys.len()];
    each_allocation("eagre_argsort", |attempt| {
        places.fill(7);
        // SAFETY: so many keys and places.
        let status = attempt.call(|| unsafe {
            eagre_argsort(keys.as_ptr().cast(), keys.len(), EagreKey::U64 as i32, null(), places.as_mut_ptr())
        });
        match succeeded(attempt, status) {
            true => assert!(places == expected),
            false => assert!(places.iter().all(|&place| place == 7)),
        }
    });
}

/// Lines in memory: boundaries, a sort into parts, and a merge of these.
fn records() {
    let line = |i| format!("{:07}\n", random(i) % 10_000_000).into_bytes().try_into().unwrap();
    let input: Vec<[u8; 8]> = (0..20_001).map(line).collect();
    let mut sorted = input.clone();
    sorted.sort_unstable();
    let bytes = size_of_val(&input[..]);
    each_allocation("eagre_sample_boundaries", |attempt| {
        let (mut boundaries, mut count) = (null_mut(), 0);
        // SAFETY: so many bytes, and a place for a handle.
        let status = attempt
            .call(|| unsafe { eagre_sample_boundaries(input.as_ptr().cast(), bytes, 4, null(), &mut boundaries) });
        assert_eq!(succeeded(attempt, status), !boundaries.is_null());
        if !boundaries.is_null() {
            // SAFETY: the handle is open, and not used any more.
            unsafe {
                eagre_boundaries_keys(boundaries, &mut count);
                eagre_boundaries_close(boundaries);
            }
            assert_eq!(count, 3);
        }
    });
    let border = EagreBytes { bytes: sorted[10_000].as_ptr().cast(), size: 7 };
    let mut out = input.clone();
    for options in [sorting(1), sorting(2)] {
        each_allocation(&format!("eagre_sort_and_partition: {} threads", options.threads), |attempt| {
            let mut ends = [0; 2];
            // SAFETY: so many bytes, a boundary, options, and room for as many bytes and two ends.
            let status = attempt.call(|| unsafe {
                let (from, to) = (input.as_ptr().cast(), out.as_mut_ptr().cast());
                eagre_sort_and_partition(from, bytes, &border, 1, null(), &options, to, ends.as_mut_ptr())
            });
            if succeeded(attempt, status) {
                let before = sorted.partition_point(|line| line < &sorted[10_000]);
                assert!(out == sorted && ends == [8 * before, bytes]);
            }
        });
    }
    let halves = sorted.split_at(10_000);
    let sources = [halves.1, halves.0].map(|half| EagreBytes { bytes: half.as_ptr().cast(), size: size_of_val(half) });
    each_allocation("eagre_merge_open and _copy_out", |attempt| {
        let (mut merge, mut copied) = (null_mut(), 0);
        // SAFETY: two sources, a place for a handle, and room for so many bytes.
        let status = attempt.call(|| unsafe {
            match eagre_merge_open(sources.as_ptr(), 2, null(), None, null_mut(), &mut merge) {
                EagreStatus::EagreOk => eagre_merge_copy_out(merge, out.as_mut_ptr().cast(), bytes, &mut copied),
                status => status,
            }
        });
        if succeeded(attempt, status) {
            assert!(out == sorted && copied == bytes);
        }
        // SAFETY: the handle is open or null, and not used any more.
        unsafe { eagre_merge_close(merge) };
    });
}

/// A pool of small blocks, outside of the calls under test.
fn pool() -> *mut EagrePool {
    let mut pool = null_mut();
    // SAFETY: a place for a handle.
    let status = unsafe { eagre_pool_open(64 << 10, 100, 0, 0, &mut pool) };
    assert_eq!(status, EagreStatus::EagreOk, "{}", message());
    pool
}

fn partition() {
    let keys: Vec<u64> = (0..50_000).map(random).collect();
    let borders = [1u64 << 60, 1 << 62];
    let mut options = std::mem::MaybeUninit::<EagrePartitionOptions>::uninit();
    // SAFETY: as large as it says.
    let mut options = unsafe {
        eagre_partition_options_default(options.as_mut_ptr(), size_of::<EagrePartitionOptions>());
        options.assume_init()
    };
    let pool = pool();
    (options.pool, options.boundaries, options.boundary_count) = (pool, borders.as_ptr().cast(), 2);
    each_allocation("eagre_partition", |attempt| {
        let mut parts = null_mut();
        // SAFETY: so many keys, options, and a place for a handle.
        let status = attempt.call(|| unsafe {
            eagre_partition(keys.as_ptr().cast(), keys.len(), EagreKey::U64 as i32, &options, &mut parts)
        });
        assert_eq!(succeeded(attempt, status), !parts.is_null());
        if parts.is_null() {
            return;
        }
        for bucket in 0..3 {
            let mut count = 0;
            // SAFETY: the handle is open; a bucket of so many keys.
            let got = unsafe {
                let start = eagre_partition_bucket(parts, bucket, &mut count);
                std::slice::from_raw_parts(start.cast::<u64>(), count)
            };
            let within = |key: &&u64| borders.partition_point(|border| border <= *key) == bucket;
            assert!(got.iter().eq(keys.iter().filter(within)));
        }
        // SAFETY: the handle is open, and not used any more.
        unsafe { eagre_partition_close(parts) };
    });
    // SAFETY: as above.
    unsafe { eagre_pool_close(pool) };
}

fn vectors() {
    let pool = pool();
    let numbers: Vec<u64> = (0..40_000).map(random).collect();
    each_allocation("eagre_vector_open, _extend and _push", |attempt| {
        let mut vector = null_mut();
        // SAFETY: a pool, a place for a handle, and numbers.
        let (status, length) = attempt.call(|| unsafe {
            let mut status = eagre_vector_open(8, 0, pool, &mut vector);
            if status == EagreStatus::EagreOk {
                status = eagre_vector_extend(vector, numbers.as_ptr().cast(), numbers.len());
            }
            if status == EagreStatus::EagreOk {
                status = eagre_vector_push(vector, numbers.as_ptr().cast());
            }
            (status, if vector.is_null() { 0 } else { eagre_vector_length(vector) })
        });
        match succeeded(attempt, status) {
            true => assert_eq!(length, numbers.len() + 1),
            false => assert!(length == 0 || length == numbers.len(), "{length}"),
        }
        if length > 0 {
            // SAFETY: so many elements of a vector that is open.
            let got = unsafe { std::slice::from_raw_parts(eagre_vector_data(vector).cast::<u64>(), length) };
            assert!(got[..numbers.len()] == numbers[..]);
        }
        // SAFETY: the handle is open or null, and not used any more.
        unsafe { eagre_vector_close(vector) };
    });
    // SAFETY: as above.
    unsafe { eagre_pool_close(pool) };
}

/// What is wrong is said without memory.
fn options() {
    each_allocation("messages", |attempt| {
        let mut options = sorting(1);
        options.flags = 0xff00;
        // SAFETY: no keys, and options.
        let status = attempt.call(|| unsafe { eagre_sort(null_mut(), 0, EagreKey::U64 as i32, &options) });
        assert_eq!(status, EagreStatus::EagreInvalid);
        assert_eq!(message(), "flags is 0xff00: only EAGRE_STABLE, EAGRE_SORT_DESCENDING and EAGRE_NAN_LAST are known");
        let mut vector = null_mut();
        // SAFETY: a place for a handle.
        let status = attempt.call(|| unsafe { eagre_vector_open(0, 0, null(), &mut vector) });
        if status != EagreStatus::EagreInvalid {
            assert!(!succeeded(attempt, status));
        }
    });
}

fn streams() {
    let pool = pool();
    let mut options = std::mem::MaybeUninit::<EagreOptions>::uninit();
    // SAFETY: as large as it says.
    let mut options = unsafe {
        eagre_options_default(options.as_mut_ptr(), size_of::<EagreOptions>());
        options.assume_init()
    };
    (options.pool, options.block_size, options.capacity) = (pool, 64 << 10, 1 << 20);
    options.name = c"a name".as_ptr();
    let sent: Vec<u8> = (0..100_000).map(|i| random(i) as u8).collect();
    each_allocation("eagre_open", |attempt| {
        let (mut writer, mut reader) = (null_mut(), null_mut());
        // SAFETY: options, and places for handles.
        let status = attempt.call(|| unsafe { eagre_open(&options, &mut writer, &mut reader) });
        let open = succeeded(attempt, status);
        assert_eq!((writer.is_null(), reader.is_null()), (!open, !open));
        if open {
            let mut got = vec![0u8; sent.len()];
            // SAFETY: both ends are open; so many bytes.
            unsafe {
                let sent: *const c_void = sent.as_ptr().cast();
                assert_eq!(eagre_writer_copy_in(writer, sent, got.len()), EagreStatus::EagreOk, "{}", message());
                assert_eq!(eagre_writer_finish(writer), EagreStatus::EagreOk);
                let status = eagre_reader_copy_out(reader, got.as_mut_ptr().cast(), got.len(), null_mut());
                assert_eq!(status, EagreStatus::EagreOk);
            }
            assert!(got == sent);
        }
        // SAFETY: the handles are open or null, and not used any more.
        unsafe {
            eagre_writer_close(writer);
            eagre_reader_close(reader);
        }
    });
    // SAFETY: as above.
    unsafe { eagre_pool_close(pool) };
}

fn files() {
    // A name that messages quote.
    let place = std::env::temp_dir().join(format!("eagre\nrefused-{}", std::process::id()));
    let mut text = vec![b'x'; 5 << 20];
    text.iter_mut().step_by(1000).for_each(|byte| *byte = b'\n');
    std::fs::write(&place, &text).unwrap();
    let path = CString::new(place.to_str().unwrap()).unwrap();
    let lines = text.len().div_ceil(1000) as u64;
    let pattern = EagrePattern { bytes: c"\nxx".as_ptr().cast(), size: 3 };
    let mut finder = null_mut();
    // SAFETY: one pattern, and a place for a handle.
    assert_eq!(unsafe { eagre_finder_open(&pattern, 1, 0, &mut finder) }, EagreStatus::EagreOk);
    for threads in [1, 2] {
        each_allocation(&format!("eagre_count_file: {threads} threads"), |attempt| {
            let mut counts = EagreCounts { lines: 0, words: 0, bytes: 0, longest: 0 };
            // SAFETY: a path, and a place as large as it says.
            let status = attempt.call(|| unsafe {
                eagre_count_file(path.as_ptr(), EAGRE_LINES, threads, &mut counts, size_of::<EagreCounts>())
            });
            let expected = if succeeded(attempt, status) { (lines, text.len() as u64) } else { (0, 0) };
            assert_eq!((counts.lines, counts.bytes), expected);
        });
        each_allocation(&format!("eagre_finder_count_file: {threads} threads"), |attempt| {
            let mut count = 0;
            // SAFETY: a finder that is open, a path, and a place.
            let status =
                attempt.call(|| unsafe { eagre_finder_count_file(finder, path.as_ptr(), threads, &mut count) });
            assert_eq!(count, if succeeded(attempt, status) { lines } else { 0 });
        });
    }
    // SAFETY: the handle is open, and not used any more.
    unsafe { eagre_finder_close(finder) };
    std::fs::remove_file(&place).unwrap();
}
