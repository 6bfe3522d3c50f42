//! System calls on stream pointers that copy: promised under the pager, of any length; refused with `EFAULT` elsewhere.
#![cfg(target_os = "linux")]

#[macro_use]
mod common;

use common::io::file;
use common::{Rng, SMALL, check, put, put_through, sized, small};
use eagre_mem::probe::{PAIRS, Pair};
use eagre_mem::stream::{OnFailure, PipeBuilder, StreamErrorKind};
use eagre_mem::{BlockSize, Trap};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;

/// The longest call.
const LONG: usize = if cfg!(debug_assertions) { 150 << 20 } else { 400 << 20 };

fn pager(body: impl Fn(Pair)) {
    let pair = PAIRS[0];
    assert_eq!(pair.trap, Trap::Pager);
    let _dog = common::Watchdog::new("a system call under the pager");
    match common::refusal(pair) {
        Some(why) => common::say(&format!("skipped: {pair}: {why}")),
        None => body(pair),
    }
}

/// Fills a stream by `call(pointer, len)`, which says how many bytes it moved, until `len` bytes are there.
fn into_stream(builder: PipeBuilder, len: usize, call: impl Fn(*mut u8, usize, usize) -> isize + Send) {
    let (mut writer, mut reader) = builder.open().unwrap().split();
    std::thread::scope(move |scope| {
        scope.spawn(move || {
            let filled = writer.scope(|to| {
                let mut at = 0;
                while at < len {
                    // SAFETY: within the capacity.
                    let got = call(unsafe { to.add(at) }, at, len - at);
                    assert!(got > 0, "at {at}: {got}, {}", std::io::Error::last_os_error());
                    at += got as usize;
                }
            });
            filled.unwrap();
            writer.finish_at(len as u64).unwrap();
        });
        let mut at = 0;
        loop {
            let bytes = reader.fill(0).unwrap();
            check(at, bytes);
            let now = bytes.len();
            if now == 0 {
                break;
            }
            at += now as u64;
            reader.consume(now);
        }
        assert_eq!(at as usize, len);
    });
}

/// Empties a stream by `call(pointer, offset, len)`.
fn out_of_stream(builder: PipeBuilder, len: usize, call: impl Fn(*const u8, usize, usize) -> isize + Send) {
    let (mut writer, mut reader) = builder.open().unwrap().split();
    std::thread::scope(move |scope| {
        scope.spawn(move || {
            let mut at = 0;
            while at < len {
                let room = writer.reserve(0).unwrap();
                let now = room.len().min(len - at);
                put(at as u64, &mut room[..now]);
                writer.commit(now);
                at += now;
            }
            writer.finish().unwrap();
        });
        let emptied = reader.scope(|from| {
            let mut at = 0;
            while at < len {
                // SAFETY: within the length.
                let put = call(unsafe { from.add(at) }, at, len - at);
                assert!(put > 0, "at {at}: {put}, {}", std::io::Error::last_os_error());
                at += put as usize;
            }
        });
        emptied.unwrap();
        reader.advance_to(len as u64).unwrap();
        assert!(reader.fill(1).unwrap().is_empty());
    });
}

fn lengths() -> Vec<usize> {
    let mut rng = Rng::new(11);
    let some = (0..12).map(|_| rng.length(6 << 20));
    [1, 2, 4095, 4096, SMALL + 1, 2 << 20, (4 << 20) + 3].into_iter().chain(some).collect()
}

#[test]
fn read_of_any_length() {
    pager(|pair| {
        let whole = file(LONG);
        for (block, len) in
            lengths().into_iter().map(|len| (BlockSize::DEFAULT, len)).chain([(BlockSize::DEFAULT, LONG)])
        {
            // SAFETY: the room is the stream's.
            let read = |to: *mut u8, at: usize, len: usize| unsafe {
                libc::pread(whole.as_raw_fd(), to.cast(), len, at as i64)
            };
            into_stream(sized(pair, block), len, read);
        }
    });
}

#[test]
fn read_into_small_blocks() {
    pager(|pair| {
        let len = 3 << 20;
        let whole = file(len);
        // SAFETY: the room is the stream's.
        let read =
            |to: *mut u8, at: usize, len: usize| unsafe { libc::pread(whole.as_raw_fd(), to.cast(), len, at as i64) };
        into_stream(small(pair), len, read);
    });
}

#[test]
fn write_of_any_length() {
    pager(|pair| {
        for len in lengths().into_iter().chain([LONG]) {
            let mut copy = file(0);
            // SAFETY: the bytes are the stream's.
            let write = |from: *const u8, at: usize, len: usize| unsafe {
                libc::pwrite(copy.as_raw_fd(), from.cast(), len, at as i64)
            };
            out_of_stream(sized(pair, BlockSize::DEFAULT), len, write);
            let mut buffer = vec![0; 1 << 20];
            let mut at = 0;
            loop {
                let now = copy.read(&mut buffer).unwrap();
                if now == 0 {
                    break;
                }
                check(at, &buffer[..now]);
                at += now as u64;
            }
            assert_eq!(at as usize, len);
        }
    });
}

/// The kernel touches the pages of a long write before it copies them, a folio (up to 2 MiB) at a time. A window must
/// span that much: two blocks of the default size do, small ones need more of them.
#[test]
fn write_from_small_blocks() {
    pager(|pair| {
        let len = 6 << 20;
        let copy = file(0);
        // SAFETY: the bytes are the stream's.
        let write = |from: *const u8, at: usize, len: usize| unsafe {
            libc::pwrite(copy.as_raw_fd(), from.cast(), len, at as i64)
        };
        out_of_stream(small(pair).lookback(33), len, write);
    });
}

/// A socket gives what it has: many short calls, each anywhere in a block.
#[test]
fn recv_and_send() {
    pager(|pair| {
        for len in [1, 70_000, 9 << 20] {
            let (mut here, there) = UnixStream::pair().unwrap();
            std::thread::scope(|scope| {
                scope.spawn(move || {
                    let mut all = vec![0; len];
                    put(0, &mut all);
                    here.write_all(&all).unwrap();
                });
                // SAFETY: the room is the stream's.
                let recv = |to: *mut u8, _: usize, len: usize| unsafe {
                    libc::recv(there.as_raw_fd(), to.cast(), len, libc::MSG_WAITALL)
                };
                into_stream(sized(pair, BlockSize::DEFAULT), len, recv);
            });
            let (here, mut there) = UnixStream::pair().unwrap();
            std::thread::scope(|scope| {
                scope.spawn(move || {
                    let mut all = vec![0; len];
                    there.read_exact(&mut all).unwrap();
                    check(0, &all);
                });
                // SAFETY: the bytes are the stream's.
                let send = |from: *const u8, _: usize, len: usize| unsafe {
                    libc::send(here.as_raw_fd(), from.cast(), len, libc::MSG_NOSIGNAL)
                };
                out_of_stream(sized(pair, BlockSize::DEFAULT), len, send);
            });
        }
    });
}

#[test]
fn fread_and_fwrite() {
    pager(|pair| {
        let len = 20 << 20;
        let whole = file(len);
        // SAFETY: a duplicate of a live descriptor, for C to close.
        let stdio = |file: &File, mode: &std::ffi::CStr| unsafe {
            libc::fdopen(libc::dup(file.as_raw_fd()), mode.as_ptr()).expose_provenance()
        };
        let input = stdio(&whole, c"r");
        for_each_length(len, |from, until| {
            // SAFETY: an open FILE; the room is the stream's.
            let fread = |to: *mut u8, _: usize, len: usize| unsafe {
                libc::fread(to.cast(), 1, len.min(until - from), std::ptr::with_exposed_provenance_mut(input)) as isize
            };
            // SAFETY: an open FILE.
            unsafe { libc::rewind(std::ptr::with_exposed_provenance_mut(input)) };
            into_stream(sized(pair, BlockSize::DEFAULT), len, fread);
        });
        // SAFETY: open, and not used again.
        unsafe { libc::fclose(std::ptr::with_exposed_provenance_mut(input)) };
    });
}

fn for_each_length(len: usize, mut call: impl FnMut(usize, usize)) {
    for piece in [len, 1 << 20, 777_777] {
        call(0, piece);
    }
}

/// A wait inside a system call ends with `EFAULT` when the stream fails and was told to poison.
#[test]
fn a_call_in_a_failed_stream_gets_an_error() {
    pager(|pair| {
        for (what, expect_fault) in [(OnFailure::Poison, true), (OnFailure::Drain, false)] {
            let (writer, mut reader) = small(pair).on_failure(what).open().unwrap().split();
            let mut pipe = [0; 2];
            // SAFETY: the array takes two descriptors.
            assert_eq!(unsafe { libc::pipe(pipe.as_mut_ptr()) }, 0);
            let address = reader.as_ptr().unwrap().as_ptr() as usize;
            std::thread::scope(|scope| {
                let call = scope.spawn(move || {
                    // SAFETY: a write of bytes that are the stream's, or become throw-away pages.
                    let wrote = unsafe { libc::write(pipe[1], address as *const _, 100) };
                    (wrote, std::io::Error::last_os_error().raw_os_error())
                });
                while !eagre_mem::stream::wait_report().iter().any(|wait| wait.waiting == eagre_mem::End::Reader) {
                    std::thread::yield_now();
                }
                drop(writer);
                let (wrote, error) = call.join().unwrap();
                if expect_fault {
                    assert_eq!((wrote, error), (-1, Some(libc::EFAULT)));
                } else {
                    assert_eq!(wrote, 100);
                }
            });
            assert_eq!(reader.fill(1).unwrap_err().kind(), StreamErrorKind::WriterGone);
        }
    });
}

each_pointer_pair! {
    /// Without the pager, absent pages are refused and nothing is harmed; what is in the window works.
    fn elsewhere_absent_pages_are_refused(pair) {
        if pair.trap == Trap::Pager {
            return;
        }
        let whole = file(4 * SMALL);
        let (mut writer, mut reader) = small(pair).open().unwrap().split();
        std::thread::scope(move |scope| {
            scope.spawn(move || {
                let call = |to: *mut u8| {
                    // SAFETY: the room is the stream's, and not there yet.
                    let refused = unsafe { libc::pread(whole.as_raw_fd(), to.cast(), SMALL, 0) };
                    let why = std::io::Error::last_os_error().raw_os_error();
                    assert_eq!((refused, why), (-1, Some(libc::EFAULT)));
                    // SAFETY: the first block, touched so that it is there.
                    let accepted = unsafe {
                        to.write(0);
                        libc::pread(whole.as_raw_fd(), to.cast(), SMALL, 0)
                    };
                    assert_eq!(accepted as usize, SMALL);
                    // SAFETY: onward.
                    unsafe { put_through(to, SMALL as u64, 4 * SMALL as u64, 4096) };
                };
                writer.scope(call).unwrap();
                writer.finish_at(4 * SMALL as u64).unwrap();
            });
            let mut all = vec![0; 4 * SMALL];
            reader.copy_out(&mut all).unwrap();
            check(0, &all);
        });
    }
}
