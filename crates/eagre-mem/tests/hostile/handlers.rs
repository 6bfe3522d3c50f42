//! Other handlers, before ours and after.
//!
//! One that was there before gets every fault that is not ours, with the arguments it asked for, and may jump out of
//! it. One that comes later may pass on to us or not; opening a stream, or beginning a scope, puts us on top again, and
//! however they are stacked no fault goes round in circles.

use super::frame::{Ends, For, Scenario, skip};
use super::util::*;
use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering::*};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("handlers::earlier_one_with_info", For::Signals, Ends::Well, earlier_with_info),
    Scenario::new("handlers::earlier_plain_one", For::Signals, Ends::Well, earlier_plain),
    Scenario::new("handlers::earlier_one_jumps_out", For::Signals, Ends::Well, earlier_jumps),
    Scenario::new("handlers::earlier_one_jumps_out_of_any_depth", For::Signals, Ends::Well, jumps_from_any_depth),
    Scenario::new("handlers::threads_that_jumped_out_and_ended", For::Signals, Ends::Well, many_threads_jump),
    Scenario::new("handlers::earlier_one_for_one_shot", For::Signals, Ends::By(libc::SIGSEGV), one_shot)
        .says(&["a first and last word"]),
    Scenario::new("handlers::earlier_one_crashes_itself", For::Signals, Ends::By(libc::SIGSEGV), crashes_itself)
        .says(&["a handler that crashes"]),
    Scenario::new("handlers::ignored_before", For::Signals, Ends::By(libc::SIGSEGV), ignored_before),
    Scenario::new("handlers::later_one_that_chains", For::Signals, Ends::Well, later_chains),
    Scenario::new("handlers::later_one_that_chains_then_opened_again", For::Signals, Ends::Well, on_top_again),
    Scenario::new("handlers::crash_with_chained_handlers", For::Signals, Ends::By(libc::SIGSEGV), crash_chained)
        .says(&["a chained handler saw it"]),
    Scenario::new("handlers::later_one_that_does_not_chain", For::Signals, Ends::Well, later_alone),
    Scenario::new("handlers::reinstalled_again_and_again", For::Signals, Ends::Well, reinstalled),
    Scenario::new("handlers::errno_is_left_alone", For::Signals, Ends::Well, errno),
];

const PAGE: usize = 4096;

/// How often a handler of this file ran.
static CALLS: AtomicUsize = AtomicUsize::new(0);

/// A page that may not be touched.
fn forbidden() -> *mut u8 {
    // SAFETY: a new mapping wherever the kernel likes.
    let page = unsafe {
        libc::mmap(std::ptr::null_mut(), PAGE, libc::PROT_NONE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0)
    };
    assert_ne!(page, libc::MAP_FAILED);
    page.cast()
}

fn allow(page: usize) {
    // SAFETY: the page is one that `forbidden` made.
    unsafe { libc::mprotect((page & !(PAGE - 1)) as *mut c_void, PAGE, libc::PROT_READ | libc::PROT_WRITE) };
}

extern "C" fn allows_with_info(signal: i32, info: *mut libc::siginfo_t, context: *mut c_void) {
    CALLS.fetch_add(1, SeqCst);
    assert!(signal == libc::SIGSEGV && !context.is_null());
    // SAFETY: the kernel's siginfo, passed on.
    allow(unsafe { (*info).si_addr() } as usize);
}

/// What `allows_plainly` allows: it is not told the address.
static PLAIN: AtomicUsize = AtomicUsize::new(0);

extern "C" fn allows_plainly(signal: i32) {
    CALLS.fetch_add(1, SeqCst);
    assert_eq!(signal, libc::SIGSEGV);
    allow(PLAIN.load(SeqCst));
}

fn touched(page: *mut u8) {
    // SAFETY: a page of `forbidden`; the handlers allow it.
    unsafe { page.write_volatile(1) };
}

fn earlier_with_info() {
    set_action(libc::SIGSEGV, allows_with_info as InfoHandler as usize, libc::SA_SIGINFO | libc::SA_ONSTACK);
    for round in 1..=3 {
        streams_work();
        touched(forbidden());
        assert_eq!(CALLS.load(SeqCst), round);
    }
}

fn earlier_plain() {
    set_action(libc::SIGSEGV, allows_plainly as extern "C" fn(i32) as usize, 0);
    streams_work();
    let page = forbidden();
    PLAIN.store(page as usize, SeqCst);
    touched(page);
    streams_work();
    assert_eq!(CALLS.load(SeqCst), 1);
}

// Jumping out of a handler, as programs do that feel for memory. `sigsetjmp` returns twice, which Rust must not see:
// one function in assembly calls it and touches the address.
#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(
    ".globl eagre_test_feel",
    "eagre_test_feel:",
    "push rbx",
    "mov rbx, rsi",
    "mov esi, 1",
    "call __sigsetjmp@PLT",
    "test eax, eax",
    "jnz 2f",
    "mov al, [rbx]",
    "xor eax, eax",
    "2:",
    "pop rbx",
    "ret",
);

#[cfg(target_arch = "x86_64")]
unsafe extern "C" {
    /// Reads the byte at `address`. Not 0 if a handler jumped back through `buffer` instead.
    fn eagre_test_feel(buffer: *mut c_void, address: *const u8) -> i32;
    fn siglongjmp(buffer: *mut c_void, value: i32) -> !;
}

#[repr(align(64))]
struct Buffer(UnsafeCell<[u8; 512]>);

thread_local! {
    static BUFFER: Buffer = const { Buffer(UnsafeCell::new([0; 512])) };
}

#[cfg(target_arch = "x86_64")]
extern "C" fn jumps(_: i32) {
    CALLS.fetch_add(1, SeqCst);
    // SAFETY: the buffer was filled by the `feel` that this thread is in.
    BUFFER.with(|buffer| unsafe { siglongjmp(buffer.0.get().cast(), 1) })
}

/// Whether the byte can be read.
#[cfg(target_arch = "x86_64")]
fn feel(address: *const u8) -> bool {
    // SAFETY: the buffer is larger than any sigjmp_buf; a bad address ends in `jumps`.
    BUFFER.with(|buffer| unsafe { eagre_test_feel(buffer.0.get().cast(), address) == 0 })
}

#[cfg(not(target_arch = "x86_64"))]
extern "C" fn jumps(_: i32) {}

#[cfg(not(target_arch = "x86_64"))]
fn feel(_: *const u8) -> bool {
    skip("the jump is written for x86-64")
}

fn install_jumper() {
    if cfg!(not(target_arch = "x86_64")) {
        skip("the jump is written for x86-64");
    }
    set_action(libc::SIGSEGV, jumps as extern "C" fn(i32) as usize, libc::SA_NODEFER);
}

fn earlier_jumps() {
    install_jumper();
    streams_work();
    let page = forbidden();
    for round in 1..=200 {
        assert!(!feel(page));
        assert_eq!(CALLS.load(SeqCst), round);
    }
    allow(page as usize);
    assert!(feel(page));
    streams_work();
}

/// From deeper and deeper in the stack, in a thread without an alternate one: a handler that jumped away has left its
/// traces further up, and must not be taken for one that is still at work.
fn jumps_from_any_depth() {
    install_jumper();
    streams_work();
    let page = forbidden() as usize;
    fn at_depth(depth: usize, page: usize) -> bool {
        let room = black_box([depth; 200]);
        let felt = if depth == 0 { feel(page as *const u8) } else { at_depth(depth - 1, page) };
        felt && black_box(room)[3] == depth
    }
    std::thread::spawn(move || {
        without_alternate_stack();
        for depth in (0..20).chain((0..20).rev()) {
            assert!(!at_depth(depth, page));
        }
    })
    .join()
    .unwrap();
    assert_eq!(CALLS.load(SeqCst), 40);
}

pub(crate) fn without_alternate_stack() {
    let none = libc::stack_t { ss_sp: std::ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
    // SAFETY: takes away what the standard library gave; it puts it back itself.
    assert_eq!(unsafe { libc::sigaltstack(&none, std::ptr::null_mut()) }, 0);
}

/// More threads than are remembered jump out of a handler and end; a stack of chained handlers must still unwind.
fn many_threads_jump() {
    install_jumper();
    streams_work();
    let page = forbidden() as usize;
    for _ in 0..200 {
        std::thread::spawn(move || assert!(!feel(page as *const u8))).join().unwrap();
    }
    chain_on_top();
    streams_work();
    assert!(!feel(page as *const u8));
    assert_eq!(CALLS.load(SeqCst), 202);
}

extern "C" fn speaks(_: i32) {
    say("a first and last word\n");
}

/// As the kernel does it: the action is gone once it has run.
fn one_shot() {
    set_action(libc::SIGSEGV, speaks as extern "C" fn(i32) as usize, libc::SA_RESETHAND);
    streams_work();
    touched(forbidden());
}

extern "C" fn crashes(_: i32) {
    say("a handler that crashes\n");
    touched(forbidden());
}

/// As the kernel does it: a fault while its signal is blocked kills.
fn crashes_itself() {
    set_action(libc::SIGSEGV, crashes as extern "C" fn(i32) as usize, 0);
    streams_work();
    touched(forbidden());
}

/// The kernel does not ignore a fault either; it does ignore a signal that was sent.
fn ignored_before() {
    set_action(libc::SIGSEGV, libc::SIG_IGN, 0);
    streams_work();
    // SAFETY: sends a signal to this thread.
    unsafe { libc::raise(libc::SIGSEGV) };
    streams_work();
    touched(forbidden());
}

/// The action below the chaining handler: ours, for both signals.
static BELOW: AtomicUsize = AtomicUsize::new(0);

/// Passes on what it does not know, which is everything.
extern "C" fn chains(signal: i32, info: *mut libc::siginfo_t, context: *mut c_void) {
    CALLS.fetch_add(1, SeqCst);
    assert!(CALLS.load(SeqCst) < 1000, "round and round");
    // SAFETY: `BELOW` is the handler that was in force, ours, which takes three arguments.
    let below: InfoHandler = unsafe { std::mem::transmute(BELOW.load(SeqCst)) };
    below(signal, info, context);
}

fn chain_on_top() {
    let flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
    for signal in [libc::SIGSEGV, libc::SIGBUS] {
        let before = set_action(signal, chains as InfoHandler as usize, flags);
        BELOW.store(before.sa_sigaction, SeqCst);
    }
}

fn is_on_top(handler: InfoHandler) -> bool {
    action(libc::SIGSEGV).sa_sigaction == handler as usize
}

/// Raw pointers go on working through the chain, until the next scope puts us on top.
fn later_chains() {
    let (mut writer, mut reader) = ends("chained");
    let from = Raw(reader.as_ptr().unwrap().as_ptr());
    chain_on_top();
    writer.copy_in(&[7; 3 * BLOCK]).unwrap();
    // SAFETY: bytes of the stream that are there.
    assert_eq!(unsafe { from.read(0) }, 7);
    assert_eq!(CALLS.load(SeqCst), 1);
    streams_work();
    assert!(!is_on_top(chains));
}

/// A foreign fault goes to the chaining handler, from there to us again, and on to the one that was there first.
fn on_top_again() {
    set_action(libc::SIGSEGV, allows_with_info as InfoHandler as usize, libc::SA_SIGINFO);
    streams_work();
    chain_on_top();
    streams_work();
    assert!(!is_on_top(chains));
    for round in 1..=5 {
        touched(forbidden());
        assert_eq!(CALLS.load(SeqCst), 2 * round);
    }
    streams_work();
}

extern "C" fn tells_and_chains(signal: i32, info: *mut libc::siginfo_t, context: *mut c_void) {
    say("a chained handler saw it\n");
    chains(signal, info, context);
}

fn crash_chained() {
    streams_work();
    let before = set_action(libc::SIGSEGV, tells_and_chains as InfoHandler as usize, libc::SA_SIGINFO);
    BELOW.store(before.sa_sigaction, SeqCst);
    streams_work();
    touched(forbidden());
}

fn later_alone() {
    streams_work();
    set_action(libc::SIGSEGV, allows_with_info as InfoHandler as usize, libc::SA_SIGINFO);
    streams_work();
    assert!(!is_on_top(allows_with_info));
    touched(forbidden());
    assert_eq!(CALLS.load(SeqCst), 1);
    streams_work();
}

/// A library that puts its handler back each time it is used (pytest, faulthandler): it is called once a fault.
fn reinstalled() {
    set_action(libc::SIGSEGV, allows_plainly as extern "C" fn(i32) as usize, 0);
    for round in 1..=30 {
        streams_work();
        chain_on_top();
        streams_work();
        let page = forbidden();
        PLAIN.store(page as usize, SeqCst);
        let before = CALLS.swap(0, SeqCst);
        touched(page);
        assert_eq!(CALLS.swap(0, SeqCst), 2, "round {round}, {before} before");
    }
}

fn errno() {
    let (mut writer, mut reader) = ends("errno");
    let from = Raw(reader.as_ptr().unwrap().as_ptr());
    let thread = std::thread::spawn(move || {
        // SAFETY: errno is this thread's own; the byte is one of the stream, and waited for.
        unsafe {
            *libc::__errno_location() = 4711;
            from.read(0);
            *libc::__errno_location()
        }
    });
    until(|| waits("errno", End::Reader));
    writer.copy_in(&[7; BLOCK]).unwrap();
    assert_eq!(thread.join().unwrap(), 4711);
}
