//! Calls that pin pages, on stream pointers: O_DIRECT, vmsplice, io_uring. Not promised to work. Shown here: refused, or
//! harmless, and never a hang; and the cases where they are neither, with what helps.
//!
//! - O_DIRECT and io_uring take a *pin*, which `UFFDIO_MOVE` sees (`EBUSY`): with `move` a pinned block stays where it
//!   is. The reader waits for a block that is still being filled; the writer takes another for one that is still being
//!   read; a pin that does not end fails the stream.
//! - `mremap` does not look at pins, and `map` moves no pages: with them a block that is still being filled goes on to the reader,
//!   and what arrives late changes it there.
//! - vmsplice takes a *reference*, which nothing looks at: what lies in the pipe changes when the block is used again,
//!   as it would with any buffer used again. `recycle(false)` never uses a page again, and is right with every mover.
#![cfg(target_os = "linux")]

#[macro_use]
mod common;

use common::child;
use common::io::{aligned_copy, direct, errno, file, pin, read_all, read_into_pinned, ring, write_all};
use common::process::Footprint;
use common::{SMALL, byte, check, check_through, pattern, put_through, sized, small};
use eagre_mem::probe::Pair;
use eagre_mem::stream::StreamErrorKind;
use eagre_mem::{BlockSize, Mover, Trap};
use io_uring::{opcode, types};
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};

const BLOCKS: usize = 40;

each_pointer_pair! {
    /// One long O_DIRECT read into a writer's pointer: all bytes, or an error.
    fn direct_read_into_a_stream(pair) {
        for block in [BlockSize::MIN, BlockSize::DEFAULT] {
            let len = 24 << 20;
            let Some(file) = direct(len) else { return };
            let (mut writer, reader) = sized(pair, block).open().unwrap().split();
            std::thread::scope(|scope| {
                let reading = scope.spawn(move || read_all(reader));
                let call = |to: *mut u8| {
                    let mut at = 0;
                    while at < len {
                        // SAFETY: within the capacity.
                        match unsafe { libc::pread(file.as_raw_fd(), to.add(at).cast(), len - at, at as i64) } {
                            -1 => return Err(errno()),
                            got => at += got as usize,
                        }
                    }
                    Ok(())
                };
                match writer.scope(call) {
                    Ok(Ok(())) => {
                        writer.finish_at(len as u64).unwrap();
                        assert_eq!(reading.join().unwrap().unwrap(), len as u64);
                    }
                    Ok(Err(refused)) => {
                        assert_eq!(refused, libc::EFAULT);
                        writer.fail("refused");
                        assert!(reading.join().unwrap().is_err());
                    }
                    Err(error) => assert_eq!(error.kind(), StreamErrorKind::Pinned),
                }
            });
        }
    }

    /// One long O_DIRECT write from a reader's pointer: all bytes, or an error.
    fn direct_write_from_a_stream(pair) {
        for block in [BlockSize::MIN, BlockSize::DEFAULT] {
            let len = 24 << 20;
            let Some(file) = direct(0) else { return };
            let (writer, mut reader) = sized(pair, block).open().unwrap().split();
            std::thread::scope(|scope| {
                scope.spawn(move || write_all(writer, len));
                let wrote = reader.scope(|from| {
                    let mut at = 0;
                    while at < len {
                        // SAFETY: within the length.
                        match unsafe { libc::pwrite(file.as_raw_fd(), from.add(at).cast(), len - at, at as i64) } {
                            -1 => return (at, errno()),
                            put => at += put as usize,
                        }
                    }
                    (at, 0)
                });
                let (until, refused) = wrote.unwrap_or((0, libc::EFAULT));
                assert!(refused == 0 || refused == libc::EFAULT, "{refused}");
                // What the file has is right.
                let copy = aligned_copy(&file, until);
                check(0, &copy[..until]);
                drop(reader);
            });
        }
    }

    /// A block that stays pinned while it is being filled: the reader never gets it before its time. With `remap` and `map`,
    /// which cannot know, it does: that is the reproducer.
    fn a_block_still_being_filled(pair) {
        let (Some(mut ring), Some(file)) = (ring(), direct(4 * SMALL)) else { return };
        let (mut writer, mut reader) = small(pair).open().unwrap().split();
        let to = writer.as_mut_ptr().unwrap().as_ptr();
        // SAFETY: the first block, then the next ones: the first is published while it is pinned.
        unsafe {
            put_through(to, 0, SMALL as u64, 4096);
            pin(&ring, to, SMALL).unwrap();
            put_through(to, SMALL as u64, 3 * SMALL as u64, 4096);
        }
        std::thread::scope(|scope| {
            let reading = scope.spawn(move || {
                let first = reader.fill(1).map(|bytes| bytes[0]);
                (first, reader)
            });
            if pair.mover != Mover::Move {
                let (first, mut reader) = reading.join().unwrap();
                assert_eq!(first.unwrap(), byte(0));
                // Late bytes, from the second block of the file, arrive in the reader's window.
                assert_eq!(read_into_pinned(&mut ring, &file, to, 4096, SMALL as u64), 4096);
                assert_eq!(reader.fill(1).unwrap()[0], byte(SMALL as u64), "{pair} has learnt to see pins: tell the docs");
                return;
            }
            // The reader waits; what arrives is in time.
            assert_eq!(read_into_pinned(&mut ring, &file, to, 4096, 0), 4096);
            drop(ring);
            let (first, reader) = reading.join().unwrap();
            // A machine that is busy enough may call it pinned for good.
            match first {
                Ok(first) => assert_eq!(first, byte(0)),
                Err(error) => assert_eq!(error.kind(), StreamErrorKind::Pinned),
            }
            drop(reader);
        });
    }

    /// A pin that never ends: both ends get the error, and nobody hangs.
    fn a_block_pinned_for_good(pair) {
        let Some(ring) = ring() else { return };
        if pair.mover != Mover::Move {
            return;
        }
        for reads_by_pointer in [false, true] {
            let (mut writer, mut reader) = small(pair).open().unwrap().split();
            let to = writer.as_mut_ptr().unwrap().as_ptr();
            // SAFETY: the first block.
            unsafe { put_through(to, 0, SMALL as u64, 4096) };
            if pin(&ring, to, SMALL).is_err() {
                panic!("no pin");
            }
            std::thread::scope(|scope| {
                let writing = scope.spawn(move || {
                    // SAFETY: ascending stores.
                    writer.scope(|to| unsafe { put_through(to, SMALL as u64, (BLOCKS * SMALL) as u64, 4096) })
                });
                let read = match reads_by_pointer {
                    // SAFETY: ascending loads.
                    true => reader.scope(|from| unsafe { from.read_volatile() }).map(|_| ()),
                    false => reader.fill(1).map(drop),
                };
                assert_eq!(read.unwrap_err().kind(), StreamErrorKind::Pinned);
                assert_eq!(writing.join().unwrap().unwrap_err().kind(), StreamErrorKind::Pinned);
            });
            ring.submitter().unregister_buffers().unwrap();
        }
    }

    /// A block that stays pinned while it is being read: it is not used again, and the stream goes on with others.
    fn a_block_still_being_read(pair) {
        let Some(ring) = ring() else { return };
        for block in [BlockSize::MIN, BlockSize::DEFAULT] {
            let pipe = sized(pair, block).open().unwrap();
            let control = pipe.control();
            let (writer, mut reader) = pipe.split();
            let len = BLOCKS * block.bytes();
            std::thread::scope(|scope| {
                scope.spawn(move || write_all(writer, len));
                let from = reader.as_ptr().unwrap().as_ptr();
                // SAFETY: ascending loads within the length.
                unsafe {
                    check_through(from, 0, 4096, 4096);
                    pin(&ring, from, SMALL).unwrap();
                    check_through(from, 4096, len as u64, 4096);
                }
                reader.advance_to(len as u64).unwrap();
                assert!(reader.fill(1).unwrap().is_empty());
            });
            let stats = control.stats();
            assert_eq!(stats.writer.substituted, u64::from(pair.mover == Mover::Move), "{stats:?}");
            ring.submitter().unregister_buffers().unwrap();
        }
    }

    /// The last blocks of a stream that has ended are copied out from under their pin: the reader need not wait for it.
    fn a_block_pinned_at_the_end(pair) {
        let Some(ring) = ring() else { return };
        let pipe = small(pair).open().unwrap();
        let control = pipe.control();
        let (mut writer, reader) = pipe.split();
        let to = writer.as_mut_ptr().unwrap().as_ptr();
        // SAFETY: the first block.
        unsafe { put_through(to, 0, 100, 4096) };
        pin(&ring, to, SMALL).unwrap();
        writer.finish_at(100).unwrap();
        assert_eq!(std::thread::spawn(move || read_all(reader)).join().unwrap().unwrap(), 100);
        assert_eq!(control.stats().reader.substituted, u64::from(pair.mover == Mover::Move));
    }

    /// Nor is it kept when its pin has ended.
    fn blocks_once_pinned_are_freed(pair) {
        let outcome = child::run("pin_many", pair);
        assert!(outcome.success, "{outcome:?}");
    }

    /// vmsplice from a reader's pointer, and then the stream goes on.
    fn vmsplice_then_onward(pair) {
        for recycle in [false, true] {
            let (right, wrong) = spliced(pair, recycle);
            if recycle {
                // The reproducer of what is not promised: the pages in the pipe have been used again.
                assert!(wrong > 0, "references are seen now: tell the docs");
            } else {
                assert_eq!((right, wrong), (16, 0));
            }
        }
    }

    /// Absent pages cannot be pinned where no pager puts them there; and are put there where one does.
    fn pinning_what_is_absent(pair) {
        let Some(ring) = ring() else { return };
        let (mut writer, _reader) = small(pair).open().unwrap().split();
        let to = writer.as_mut_ptr().unwrap().as_ptr();
        let pinned = pin(&ring, to, SMALL);
        match pair.trap {
            Trap::Pager => assert!(pinned.is_ok(), "{pinned:?}"),
            _ => assert_eq!(pinned.unwrap_err().raw_os_error(), Some(libc::EFAULT)),
        }
    }

    /// io_uring's buffered reads copy: the pager serves its workers, too.
    fn uring_reads_that_copy(pair) {
        let Some(mut ring) = ring() else { return };
        let len = 6 * SMALL;
        let file = file(len);
        let (mut writer, reader) = small(pair).open().unwrap().split();
        std::thread::scope(|scope| {
            let reading = scope.spawn(move || read_all(reader));
            let got = writer.scope(|to| {
                let mut at = 0;
                while at < len {
                    // SAFETY: within the capacity.
                    let room = unsafe { to.add(at) };
                    let read = opcode::Read::new(types::Fd(file.as_raw_fd()), room, (len - at) as u32);
                    // SAFETY: the room is the stream's.
                    unsafe { ring.submission().push(&read.offset(at as u64).build()).unwrap() };
                    ring.submit_and_wait(1).unwrap();
                    match ring.completion().next().unwrap().result() {
                        got if got <= 0 => return got,
                        got => at += got as usize,
                    }
                }
                at as i32
            });
            match (got, pair.trap) {
                (Ok(got), Trap::Pager) => {
                    assert_eq!(got as usize, len);
                    writer.finish_at(len as u64).unwrap();
                    assert_eq!(reading.join().unwrap().unwrap(), len as u64);
                }
                (got, _) => {
                    assert_eq!(got.unwrap(), -libc::EFAULT);
                    drop(writer);
                    assert!(reading.join().unwrap().is_err());
                }
            }
        });
    }
}

#[test]
fn child() {
    child::serve(&[("pin_many", pin_many)]);
}

/// Pins every tenth block of a stream while it leaves the reader's window, and looks at what memory is left.
fn pin_many(pair: Pair) {
    let Some(ring) = ring() else { return };
    let pipe = small(pair).open().unwrap();
    let control = pipe.control();
    let (writer, mut reader) = pipe.split();
    let (pinned, step) = (60, 10 * SMALL as u64);
    let len = pinned * step;
    std::thread::scope(|scope| {
        scope.spawn(move || write_all(writer, len as usize));
        let from = reader.as_ptr().unwrap().as_ptr();
        // The oracle's table comes first.
        assert_ne!(byte(0), 0);
        let before = Footprint::now();
        for at in (0..len).step_by(step as usize) {
            // SAFETY: ascending loads within the length.
            unsafe {
                check_through(from, at, at + 4096, 4096);
                pin(&ring, from.add(at as usize), 4096).unwrap();
                check_through(from, at + 4096, at + step, 4096);
            }
            ring.submitter().unregister_buffers().unwrap();
        }
        let after = Footprint::now();
        reader.advance_to(len).unwrap();
        assert!(reader.fill(1).unwrap().is_empty());
        let stats = control.stats();
        assert_eq!(stats.writer.substituted, if pair.mover == Mover::Move { pinned } else { 0 }, "{stats:?}");
        let slack = 2 * stats.most * SMALL as u64 / 1024 + 512;
        assert!(after.rss <= before.rss + slack, "{before:?}, {after:?}");
    });
}

/// Splices a page from each of sixteen blocks, lets the stream run on, and looks at what the pipe has.
fn spliced(pair: Pair, recycle: bool) -> (usize, usize) {
    let (writer, mut reader) = small(pair).recycle(recycle).open().unwrap().split();
    let mut pipe = [0; 2];
    // SAFETY: the array takes two descriptors, ours alone.
    let (out, into) = unsafe {
        assert_eq!(libc::pipe(pipe.as_mut_ptr()), 0);
        (File::from_raw_fd(pipe[0]), File::from_raw_fd(pipe[1]))
    };
    let mut pages = vec![0; 16 * 4096];
    std::thread::scope(|scope| {
        scope.spawn(move || write_all(writer, BLOCKS * SMALL));
        let from = reader.as_ptr().unwrap().as_ptr();
        for number in 0..16 {
            let at = number * SMALL;
            // SAFETY: ascending loads; the page spliced is in the window.
            unsafe {
                check_through(from, at as u64, at as u64 + 4096, 4096);
                let page = libc::iovec { iov_base: from.add(at).cast(), iov_len: 4096 };
                assert_eq!(libc::vmsplice(into.as_raw_fd(), &page, 1, 0), 4096);
            }
        }
        // SAFETY: onward to the end.
        unsafe { check_through(from, 16 * SMALL as u64, (BLOCKS * SMALL) as u64, 4096) };
        reader.advance_to((BLOCKS * SMALL) as u64).unwrap();
        assert!(reader.fill(1).unwrap().is_empty());
        std::io::Read::read_exact(&mut &out, &mut pages).unwrap();
    });
    let right = pages.chunks(4096).enumerate().filter(|(at, page)| *page == pattern((at * SMALL) as u64, 4096)).count();
    (right, 16 - right)
}
