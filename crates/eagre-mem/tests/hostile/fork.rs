//! Forks. A child has none of its parent's ranges: not the memory, and soon other things at the same addresses.

use super::frame::{Ends, For, Scenario};
use super::util::*;
use eagre_mem::stream::Pipe;
use std::ffi::c_void;
use std::os::unix::process::ExitStatusExt;
use std::sync::atomic::{AtomicBool, Ordering::*};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("fork::child_touches_a_stream_pointer", For::Pointers, Ends::Well, child_touches),
    Scenario::new("fork::child_puts_its_own_memory_there", For::Pointers, Ends::Well, child_reuses),
    Scenario::new("fork::child_crashes_at_our_addresses", For::Pointers, Ends::Well, child_crashes_there),
    Scenario::new("fork::child_drops_the_ends", For::Pointers, Ends::Well, child_drops),
    Scenario::new("fork::child_calls_the_explicit_interface", For::Pointers, Ends::Well, child_calls),
    Scenario::new("fork::child_opens_streams_of_its_own", For::Pointers, Ends::Well, child_opens),
    Scenario::new("fork::grandchild_opens_streams_too", For::Pointers, Ends::Well, grandchild_opens),
    Scenario::new("fork::parent_goes_on_while_children_come_and_go", For::Pointers, Ends::Well, storm),
    Scenario::new("fork::exec", For::Pointers, Ends::Well, exec),
];

fn is_fault(status: i32) -> bool {
    matches!(killed_by(status), libc::SIGSEGV | libc::SIGBUS)
}

/// Both pointers, with blocks in flight: what was written and what will never come.
fn child_touches() {
    let (mut writer, mut reader) = ends("parent");
    writer.copy_in(&[7; BLOCK + 1]).unwrap();
    let pointers = [writer.as_mut_ptr().unwrap().as_ptr(), reader.as_ptr().unwrap().as_ptr()];
    for pointer in pointers {
        for at in [0, BLOCK, 5 * BLOCK] {
            let child = fork(|| {
                end_if_it_hangs();
                // SAFETY: not mapped in this process: this is the crash.
                unsafe { Raw(pointer).read(at) };
                0
            });
            assert!(is_fault(wait_for(child)), "byte {at}");
        }
    }
    writer.finish().unwrap();
    let mut bytes = vec![0; 2 * BLOCK];
    assert_eq!(reader.copy_out(&mut bytes).unwrap(), BLOCK + 1);
    assert!(bytes[..BLOCK + 1].iter().all(|&byte| byte == 7));
    streams_work();
}

/// Maps pages at a stream's addresses in a child, where they are free.
fn map_there(at: *mut u8, len: usize, protection: i32) -> *mut u8 {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
    // SAFETY: MAP_FIXED_NOREPLACE fails where there is anything.
    let page = unsafe { libc::mmap(at.cast::<c_void>(), len, protection, flags, -1, 0) };
    assert_eq!(page.cast(), at, "the addresses are free in the child");
    page.cast()
}

fn child_reuses() {
    let (mut writer, mut reader) = ends("parent");
    writer.copy_in(&[7; BLOCK]).unwrap();
    let pointers = [writer.as_mut_ptr().unwrap().as_ptr(), reader.as_ptr().unwrap().as_ptr()];
    let child = fork(|| {
        end_if_it_hangs();
        for pointer in pointers {
            let mine = map_there(pointer, 8 * BLOCK, libc::PROT_READ | libc::PROT_WRITE);
            for at in (0..8 * BLOCK).step_by(4096) {
                // SAFETY: the child's own pages.
                unsafe { mine.add(at).write(1) };
            }
            // SAFETY: the same.
            assert!((0..8 * BLOCK).step_by(4096).all(|at| unsafe { mine.add(at).read() } == 1));
        }
        0
    });
    assert_eq!(wait_for(child), 0);
    assert_eq!(reader.fill(1).unwrap()[0], 7);
    streams_work();
}

/// A guard page of the child's at our address: its fault is not ours, even when the child has streams of its own.
fn child_crashes_there() {
    let (mut writer, _reader) = ends("parent");
    let pointer = writer.as_mut_ptr().unwrap().as_ptr();
    for opens in [false, true] {
        let child = fork(|| {
            end_if_it_hangs();
            map_there(pointer, BLOCK, libc::PROT_NONE);
            if opens {
                streams_work();
            }
            // SAFETY: a page that may not be touched: this is the crash.
            unsafe { pointer.write(1) };
            0
        });
        assert_eq!(killed_by(wait_for(child)), libc::SIGSEGV);
    }
    streams_work();
}

/// Destructors run in a child that unwinds, or ends from `main`: they must not unmap what the child has put there.
fn child_drops() {
    let (mut writer, mut reader) = ends("parent");
    writer.copy_in(&[7; 2 * BLOCK]).unwrap();
    let pointers = [writer.as_mut_ptr().unwrap().as_ptr(), reader.as_ptr().unwrap().as_ptr()];
    let mut held = Some((writer, reader));
    let child = fork(|| {
        end_if_it_hangs();
        for pointer in pointers {
            // SAFETY: the child's own page.
            unsafe { map_there(pointer, BLOCK, libc::PROT_READ | libc::PROT_WRITE).write(9) };
        }
        drop(held.take());
        // SAFETY: still the child's own pages.
        let still = pointers.iter().all(|pointer| unsafe { pointer.read() } == 9);
        if still { 0 } else { 1 }
    });
    assert_eq!(wait_for(child), 0);
    let (mut writer, mut reader) = held.take().unwrap();
    writer.finish().unwrap();
    assert_eq!(reader.fill(1).unwrap()[0], 7);
    drop((writer, reader));
    streams_work();
}

/// An error, and not a crash or somebody else's memory.
fn child_calls() {
    let (mut writer, mut reader) = ends("parent");
    writer.copy_in(&[7; BLOCK]).unwrap();
    let child = fork(|| {
        end_if_it_hangs();
        let errors = [writer.copy_in(&[8]).unwrap_err(), reader.fill(1).unwrap_err(), writer.finish().unwrap_err()];
        assert!(errors.iter().all(|error| error.to_string().contains("fork")), "{}", errors[0]);
        let scope = writer.scope(|_| ()).unwrap_err();
        assert!(scope.to_string().contains("fork"), "{scope}");
        0
    });
    assert_eq!(wait_for(child), 0);
    assert_eq!(reader.fill(1).unwrap()[0], 7);
    writer.finish().unwrap();
}

fn child_opens() {
    let (mut writer, reader) = ends("parent");
    let thread = park("parent", reader);
    let child = fork(|| {
        end_if_it_hangs();
        streams_work();
        flow_through(Pipe::open().unwrap().split(), 1 << 20);
        0
    });
    assert_eq!(wait_for(child), 0);
    writer.copy_in(&[7; BLOCK]).unwrap();
    assert_eq!(thread.join().unwrap(), Ok(7));
    streams_work();
}

fn grandchild_opens() {
    streams_work();
    let child = fork(|| {
        end_if_it_hangs();
        streams_work();
        let grandchild = fork(|| {
            end_if_it_hangs();
            streams_work();
            0
        });
        streams_work();
        wait_for(grandchild)
    });
    assert_eq!(wait_for(child), 0);
    streams_work();
}

/// Streams flow in several threads while another one forks: blocks shared with a child for a moment refuse to move.
fn storm() {
    streams_work();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let flows: Vec<_> = (0..2).map(|_| scope.spawn(|| flow_through(ends("flow"), 200 * BLOCK / 8))).collect();
        let forks = scope.spawn(|| {
            let mut children = 0;
            while !done.load(SeqCst) || children < 5 {
                let child = fork(|| {
                    end_if_it_hangs();
                    // Memory of all sizes, at once.
                    let sizes = [64usize, 4 << 10, 200 << 10, 4 << 20];
                    let all: Vec<_> = sizes.map(|size| vec![1u8; size]).into();
                    i32::from(all.iter().any(|bytes| bytes.iter().any(|&byte| byte != 1)))
                });
                assert_eq!(wait_for(child), 0);
                children += 1;
            }
        });
        flows.into_iter().for_each(|flow| flow.join().unwrap());
        done.store(true, SeqCst);
        forks.join().unwrap();
    });
    streams_work();
}

/// The new program starts with default actions and none of our descriptors.
fn exec() {
    let (mut writer, reader) = ends("parent");
    let thread = park("parent", reader);
    let status = std::process::Command::new("sh").args(["-c", "kill -SEGV $$"]).status().unwrap();
    assert_eq!(status.signal(), Some(libc::SIGSEGV));
    let listed = std::process::Command::new("sh").args(["-c", "ls -l /proc/self/fd"]).output().unwrap();
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert!(!listed.contains("userfaultfd") && !listed.contains("eventfd"), "{listed}");
    writer.copy_in(&[7; BLOCK]).unwrap();
    assert_eq!(thread.join().unwrap(), Ok(7));
}
