//! Signals that have nothing to do with us: masks, timers, Ctrl-C, while threads wait in our faults.

use super::frame::{Ends, For, Scenario};
use super::util::*;
use std::os::unix::thread::JoinHandleExt;
use std::sync::atomic::{AtomicUsize, Ordering::*};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("signals::blocked_ones_open_within_a_scope", For::Signals, Ends::Well, blocked_scope),
    Scenario::new("signals::blocked_ones_kill_outside_of_a_scope", For::Signals, Ends::ByFault, blocked_raw),
    Scenario::new("signals::blocked_ones_do_not_concern_the_pager", For::Pager, Ends::Well, blocked_pager),
    Scenario::new("signals::handlers_run_while_threads_wait", For::Pointers, Ends::Well, handlers_run),
    Scenario::new("signals::a_timer_interrupts_a_flow", For::Pointers, Ends::Well, timer),
    Scenario::new("signals::ctrl_c_while_all_wait", For::Pointers, Ends::By(libc::SIGINT), ctrl_c),
    Scenario::new("signals::ctrl_c_while_a_system_call_waits", For::Pager, Ends::By(libc::SIGINT), ctrl_c_in_a_call),
    Scenario::new("signals::terminated_while_all_wait", For::Pointers, Ends::By(libc::SIGTERM), terminated),
    Scenario::new("signals::stopped_and_continued", For::Pointers, Ends::Well, stopped),
];

/// Blocks or unblocks every signal in this thread.
fn mask_all(how: i32) {
    // SAFETY: sigfillset initialises the set.
    unsafe {
        let mut all = std::mem::zeroed();
        libc::sigfillset(&mut all);
        assert_eq!(libc::pthread_sigmask(how, &all, std::ptr::null_mut()), 0);
    }
}

fn blocked(signal: i32) -> bool {
    // SAFETY: a query that fills the set.
    unsafe {
        let mut now = std::mem::zeroed();
        libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &mut now);
        libc::sigismember(&now, signal) == 1
    }
}

fn blocked_scope() {
    mask_all(libc::SIG_BLOCK);
    let (mut writer, mut reader) = ends("blocked");
    writer.copy_in(&[7; BLOCK]).unwrap();
    // SAFETY: the first byte of the stream.
    let (byte, usr1) = reader.scope(|from| (unsafe { from.read_volatile() }, blocked(libc::SIGUSR1))).unwrap();
    assert_eq!((byte, usr1), (7, true));
    assert!(blocked(libc::SIGSEGV) && blocked(libc::SIGBUS) && blocked(libc::SIGINT), "the mask is back");
}

/// What the documentation says: the kernel kills on a fault whose signal is blocked.
fn blocked_raw() {
    streams_work();
    let (_writer, mut reader) = ends("blocked");
    let from = Raw(reader.as_ptr().unwrap().as_ptr());
    mask_all(libc::SIG_BLOCK);
    // SAFETY: the first byte of the stream; this is the end.
    unsafe { from.read(0) };
}

fn blocked_pager() {
    mask_all(libc::SIG_BLOCK);
    let (mut writer, mut reader) = ends("blocked");
    let from = Raw(reader.as_ptr().unwrap().as_ptr());
    writer.copy_in(&[7; BLOCK]).unwrap();
    // SAFETY: the first byte of the stream.
    assert_eq!(unsafe { from.read(0) }, 7);
}

static CALLS: AtomicUsize = AtomicUsize::new(0);

/// A handler as people write them, with a little on its stack.
extern "C" fn counts(_: i32) {
    let room = std::hint::black_box([1u8; 1500]);
    CALLS.fetch_add(usize::from(room[700]), SeqCst);
}

/// Signals reach threads that wait, their handlers run there, and the wait goes on.
fn handlers_run() {
    set_action(libc::SIGUSR1, counts as extern "C" fn(i32) as usize, libc::SA_ONSTACK);
    let (mut writer, reader) = ends("reader waits");
    let waiting = park("reader waits", reader);
    let (mut full, mut other) = ends("writer waits");
    let control = full.control();
    let writing = std::thread::spawn(move || write_words(&mut full, 40 * BLOCK / 8).map_err(|error| error.kind()));
    until(|| waits("writer waits", End::Writer));
    for round in 0..50 {
        let before = CALLS.load(SeqCst);
        // SAFETY: the threads wait and have not been joined.
        unsafe {
            libc::pthread_kill(waiting.as_pthread_t(), libc::SIGUSR1);
            libc::pthread_kill(writing.as_pthread_t(), libc::SIGUSR1);
        }
        until(|| CALLS.load(SeqCst) == before + 2);
        assert!(round < 50 && waits("reader waits", End::Reader) && control.failure().is_none());
    }
    writer.copy_in(&[7; BLOCK]).unwrap();
    assert_eq!(waiting.join().unwrap(), Ok(7));
    assert_eq!(read_words(&mut other, 40 * BLOCK / 8).unwrap(), 0);
    assert_eq!(writing.join().unwrap(), Ok(()));
}

/// Every half millisecond, in whatever thread the kernel likes.
fn timer() {
    set_action(libc::SIGALRM, counts as extern "C" fn(i32) as usize, libc::SA_ONSTACK | libc::SA_RESTART);
    let often = libc::timeval { tv_sec: 0, tv_usec: 500 };
    let timer = libc::itimerval { it_interval: often, it_value: often };
    // SAFETY: plain values.
    assert_eq!(unsafe { libc::setitimer(libc::ITIMER_REAL, &timer, std::ptr::null_mut()) }, 0);
    let mut rounds = 0;
    while rounds < 3 || CALLS.load(SeqCst) < 20 {
        flow_through(ends("flow"), 100 * BLOCK / 8);
        rounds += 1;
    }
}

fn interrupt(signal: i32) {
    // SAFETY: sends a signal to this process.
    unsafe { libc::kill(libc::getpid(), signal) };
}

/// Every thread waits: this one in a fault too. A forked child sends the signal.
fn all_wait_then(signal: i32) {
    let (_writer, reader) = ends("waits");
    let _thread = park("waits", reader);
    let (_peer, mut mine) = ends("main waits");
    std::thread::spawn(move || {
        until(|| waits("main waits", End::Reader));
        interrupt(signal);
        let (_keeps, mut last) = ends("sender waits");
        // SAFETY: the first byte of the stream, which never comes.
        let _ = last.scope(|from| unsafe { from.read_volatile() });
    });
    // SAFETY: the first byte of the stream, which never comes.
    let _ = mine.scope(|from| unsafe { from.read_volatile() });
}

fn ctrl_c() {
    all_wait_then(libc::SIGINT);
}

fn terminated() {
    all_wait_then(libc::SIGTERM);
}

fn ctrl_c_in_a_call() {
    let (_writer, mut reader) = ends("call");
    let from = Raw(reader.as_ptr().unwrap().as_ptr());
    let mut pipe = [0; 2];
    // SAFETY: the array takes two descriptors.
    assert_eq!(unsafe { libc::pipe(pipe.as_mut_ptr()) }, 0);
    std::thread::spawn(|| {
        until(|| waits("call", End::Reader));
        interrupt(libc::SIGINT);
    });
    // SAFETY: bytes of the stream, which never come: the call waits for them.
    unsafe { libc::write(pipe[1], from.0.cast(), 4096) };
}

/// SIGSTOP and SIGCONT, as a shell's job control sends them.
fn stopped() {
    let (mut writer, reader) = ends("stopped");
    let thread = park("stopped", reader);
    // SAFETY: takes nothing.
    let parent = unsafe { libc::getpid() };
    let child = fork(|| {
        // SAFETY: sends signals to the parent, which waits for this child.
        unsafe {
            for _ in 0..20 {
                libc::kill(parent, libc::SIGSTOP);
                libc::kill(parent, libc::SIGCONT);
            }
        }
        0
    });
    assert_eq!(wait_for(child), 0);
    assert!(waits("stopped", End::Reader));
    writer.copy_in(&[7; BLOCK]).unwrap();
    assert_eq!(thread.join().unwrap(), Ok(7));
}
