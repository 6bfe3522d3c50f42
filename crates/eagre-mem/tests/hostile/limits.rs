//! Little of everything: addresses, mappings, descriptors, locked memory, memory.
//!
//! Each ends in streams that work within what there is, or in an error of one line with its cure.

use super::frame::{Ends, For, Scenario, skip};
use super::util::*;
use eagre_mem::BlockSize;
use eagre_mem::stream::Pipe;
use std::ffi::c_void;

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("limits::addresses_halve", For::Pointers, Ends::Well, addresses_halve),
    Scenario::new("limits::addresses_run_out", For::Pointers, Ends::Well, addresses_run_out),
    Scenario::new("limits::explicit_streams_take_none", For::Once, Ends::Well, explicit_take_none),
    Scenario::new("limits::at_least_so_many", For::Pointers, Ends::Well, at_least),
    Scenario::new("limits::mappings_run_out", For::Pointers, Ends::Well, mappings_run_out),
    Scenario::new("limits::mappings_run_out_in_mid_stream", For::Pointers, Ends::Well, mappings_mid_stream),
    Scenario::new("limits::descriptors_run_out", For::Once, Ends::Well, descriptors_run_out),
    Scenario::new("limits::standard_error_closed", For::Pointers, Ends::ByFault, stderr_closed),
    Scenario::new("limits::threads_run_out", For::Once, Ends::Well, threads_run_out),
    Scenario::new("limits::memory_locked_before", For::Pointers, Ends::Well, locked_before),
    Scenario::new("limits::memory_locked_after", For::Signals, Ends::Well, locked_after),
    Scenario::new("limits::file_size_and_cpu_do_not_matter", For::Pointers, Ends::Well, unrelated),
];

fn limit(resource: libc::__rlimit_resource_t, to: u64) {
    let limit = libc::rlimit { rlim_cur: to, rlim_max: to };
    // SAFETY: plain values.
    assert_eq!(unsafe { libc::setrlimit(resource, &limit) }, 0);
}

/// Leaves this process `more` bytes of addresses.
pub(crate) fn limit_addresses(more: u64) {
    limit(libc::RLIMIT_AS, addresses() + more);
}

/// The bytes of addresses this process has now.
fn addresses() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').next().unwrap().parse::<u64>().unwrap() * 4096
}

fn addresses_halve() {
    limit_addresses(4 << 30);
    let pipe = Pipe::open().unwrap();
    let capacity = pipe.capacity();
    assert!((64 << 20..4 << 30).contains(&capacity), "{capacity}");
    flow_through(pipe.split(), 32 << 17);
    // And there is room for others.
    let others: Vec<_> = (0..3).map(|_| Pipe::open().unwrap()).collect();
    assert!(vec![1u8; 64 << 20].iter().all(|&byte| byte == 1));
    drop(others);
}

fn is_one_line_with_a_cure(error: &dyn std::fmt::Display) {
    let text = error.to_string();
    assert!(text.contains("; ") && !text.contains('\n'), "{text}");
}

fn addresses_run_out() {
    streams_work();
    // The C library's heap takes 64 MiB at once for a new thread, if there are so many.
    limit_addresses(48 << 20);
    let error = Pipe::builder().capacity(1 << 40).open().unwrap_err();
    is_one_line_with_a_cure(&error);
    assert!(error.to_string().contains("ulimit -v"), "{error}");
    // What is small enough works, and what was refused has left nothing behind.
    for _ in 0..50 {
        Pipe::builder().capacity(1 << 40).open().unwrap_err();
    }
    flow_through(small("small").capacity(2 << 20).open().unwrap().split(), 20 * BLOCK / 8);
}

/// More flows through a stream for explicit calls than there are addresses.
fn explicit_take_none() {
    limit_addresses(96 << 20);
    let (mut writer, mut reader) = Pipe::builder().name("explicit").explicit().open().unwrap().split();
    let length = 200 << 20;
    let thread = std::thread::spawn(move || {
        let bytes = vec![7; 1 << 20];
        (0..length >> 20).for_each(|_| writer.copy_in(&bytes).unwrap());
        writer.finish().unwrap();
    });
    let mut got = 0;
    loop {
        let bytes = reader.fill(0).unwrap();
        let len = bytes.len();
        assert!(bytes.iter().all(|&byte| byte == 7));
        if len == 0 {
            break;
        }
        got += len;
        reader.consume(len);
    }
    thread.join().unwrap();
    assert_eq!(got, length);
}

/// A stream that will carry so much has the addresses for it, however few others get; or says that there are none.
fn at_least() {
    limit_addresses(4 << 30);
    assert!(Pipe::builder().open().unwrap().capacity() < 1 << 30);
    assert!(Pipe::builder().at_least(1 << 30).open().unwrap().capacity() >= 1 << 30);
    let error = Pipe::builder().at_least(4 << 30).open().unwrap_err();
    is_one_line_with_a_cure(&error);
    assert!(error.to_string().contains("ulimit -v"), "{error}");
}

/// Maps single pages that cannot merge until the kernel refuses, and gives `leave` back.
fn use_up_mappings(leave: usize) {
    let most = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap().trim().parse::<usize>().unwrap();
    if most > 1 << 20 {
        skip("vm.max_map_count is too high to use up");
    }
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new range; changing the protection of every other page of it makes mappings of its pages.
    unsafe {
        let len = 2 * most * 4096;
        let start = libc::mmap(std::ptr::null_mut(), len, libc::PROT_NONE, flags, -1, 0).cast::<u8>();
        assert_ne!(start.cast::<c_void>(), libc::MAP_FAILED);
        let page = |at: usize| start.add(at * 4096).cast::<c_void>();
        let refused = (1..most).find(|at| libc::mprotect(page(2 * at), 4096, libc::PROT_READ) != 0);
        let used = refused.expect("the kernel refuses");
        for at in used - leave / 2..used {
            libc::mprotect(page(2 * at), 4096, libc::PROT_NONE);
        }
    }
}

/// Few mappings are left: each opening succeeds or says so.
fn mappings_run_out() {
    streams_work();
    use_up_mappings(60);
    let mut open = Vec::new();
    let error = loop {
        match small("another").open() {
            Ok(pipe) => open.push(pipe),
            Err(error) => break error,
        }
        assert!(open.len() < 100, "mappings are left");
    };
    is_one_line_with_a_cure(&error);
    // What was opened still goes, or fails with an error, and the process lives. No thread could start any more.
    for mut pipe in open {
        let wrote = pipe.writer().scope(|to| {
            // SAFETY: the first byte of the stream.
            unsafe { to.write(7) }
        });
        let finished = pipe.writer().finish_at(1);
        // SAFETY: the first byte of the stream.
        let read = pipe.reader().scope(|from| unsafe { from.read() });
        assert!(read == Ok(7) || finished.is_err() || wrote.is_err() || read.is_err(), "{read:?}");
    }
}

/// Sends a little through a stream that may fail at any step.
fn end_somehow(pipe: Pipe) {
    let (mut writer, mut reader) = pipe.split();
    let thread = std::thread::Builder::new().spawn(move || write_words(&mut writer, 20 * BLOCK / 8).err());
    let Ok(thread) = thread else { return };
    let read = read_words(&mut reader, 20 * BLOCK / 8);
    drop(reader);
    let write = thread.join().unwrap();
    assert!(read == Ok(0) || read.is_err(), "{read:?}, {write:?}");
}

/// None are left when a stream is half way. It goes on, or fails with an error; where not even a throw-away page can
/// be mapped (blocks that change their mapping need one each), the process ends after saying why.
fn mappings_mid_stream() {
    let status = wait_for(fork(|| {
        end_if_it_hangs();
        half_way();
        0
    }));
    let remaps = small("which").open().unwrap().mover() == eagre_mem::Mover::Remap;
    let ended = remaps && killed_by(status) == libc::SIGSEGV;
    assert!(status == 0 || ended, "{status:#x}");
}

fn half_way() {
    let (mut writer, mut reader) = ends("half way");
    let words = 400 * BLOCK / 8;
    let half = words / 2;
    std::thread::scope(|scope| {
        let (tell, told) = std::sync::mpsc::channel();
        scope.spawn(move || {
            let _ = writer.scope(|to| {
                for at in 0..words {
                    if at == half {
                        tell.send(()).unwrap();
                    }
                    // SAFETY: ascending aligned stores within the capacity.
                    unsafe { to.cast::<u64>().add(at).write(word(at)) };
                }
            });
            let _ = writer.finish_at(words as u64 * 8);
        });
        scope.spawn(move || {
            told.recv().unwrap();
            use_up_mappings(0);
        });
        let read = read_words(&mut reader, words);
        assert!(read == Ok(0) || read.is_err(), "{read:?}");
    });
}

/// With no descriptor left, the trap that needs none is chosen; if that is not wanted, it is an error.
fn descriptors_run_out() {
    limit(libc::RLIMIT_NOFILE, 3);
    let pipe = small("without").open();
    match pipe {
        Ok(pipe) => {
            assert_eq!(format!("{} + {}", pipe.trap(), pipe.mover()), "signal + remap");
            flow_through(pipe.split(), 20 * BLOCK / 8);
        }
        Err(error) => is_one_line_with_a_cure(&error),
    }
    let error = small("pager").trap(eagre_mem::Trap::Pager).open().unwrap_err();
    is_one_line_with_a_cure(&error);
}

/// Messages go nowhere, and not into whatever has got number 2 since; the end is the same.
fn stderr_closed() {
    // SAFETY: number 2 belongs to this process, and nothing here writes to it any more.
    unsafe { libc::close(2) };
    let (writer, mut reader) = small("mute").on_failure(eagre_mem::stream::OnFailure::Poison).open().unwrap().split();
    flow_through(ends("flow"), 20 * BLOCK / 8);
    let target = std::fs::read_link("/proc/self/fd/2");
    assert!(target.is_err(), "number 2 is {target:?}");
    let _ = reader.scope(|from| {
        writer.control().cancel();
        // SAFETY: a failed stream that poisons: this is the crash.
        unsafe { from.read_volatile() }
    });
}

/// The pager cannot start; a signal trap is chosen.
fn threads_run_out() {
    if is_root() {
        skip("the limit does not hold for root");
    }
    limit(libc::RLIMIT_NPROC, 1);
    let mut pipe = small("alone").open().unwrap();
    pipe.writer().copy_in(&[7; 10]).unwrap();
    pipe.writer().finish().unwrap();
    assert_eq!(pipe.reader().fill(10).unwrap(), [7; 10]);
}

/// Bytes locked by this process, or the reason why it cannot lock.
fn lock_everything(flags: i32) {
    // SAFETY: locks pages, changes no contents.
    if unsafe { libc::mlockall(flags) } != 0 {
        skip(&format!("mlockall: {}", std::io::Error::last_os_error()));
    }
}

fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

/// Everything this process maps is filled at once from here on, but for what streams reserve.
fn locked_before() {
    lock_everything(libc::MCL_CURRENT | libc::MCL_FUTURE);
    let pipe = match Pipe::open() {
        Ok(pipe) => pipe,
        Err(error) if !is_root() => {
            is_one_line_with_a_cure(&error);
            assert!(error.to_string().contains("raise `ulimit -l`"), "{error}");
            skip(&format!("RLIMIT_MEMLOCK is too low: {error}"))
        }
        Err(error) => panic!("{error}"),
    };
    flow_through(pipe.split(), 64 << 17);
    streams_work();
    let resident = resident();
    assert!(resident < 400 << 20, "{resident} bytes resident");
}

/// The documentation says to lock before: locking a stream that is open fills its open part. It must not hang or lose
/// a byte all the same.
fn locked_after() {
    let pipe = Pipe::builder().block_size(BlockSize::MIN).capacity(64 << 20).open().unwrap();
    lock_everything(libc::MCL_CURRENT);
    end_somehow(pipe);
}

/// Limits that have nothing to do with memory, but for the mover `map`.
fn unrelated() {
    limit(libc::RLIMIT_FSIZE, 0);
    limit(libc::RLIMIT_STACK, 1 << 20);
    if std::env::var("EAGRE_MOVER").is_ok_and(|mover| mover == "map") {
        // Memory with a descriptor is a file to that limit.
        let error = Pipe::open().unwrap_err();
        is_one_line_with_a_cure(&error);
        return assert!(error.to_string().contains("raise `ulimit -f`"), "{error}");
    }
    streams_work();
}
