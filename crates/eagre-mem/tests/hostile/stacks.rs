//! Little room: small alternate signal stacks, none at all, small thread stacks.

use super::frame::{Ends, For, Scenario};
use super::handlers::without_alternate_stack;
use super::util::*;
use eagre_mem::stream::{OnFailure, Reader};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("stacks::alternate_one_of_8_kib", For::Pointers, Ends::Well, alternate_of_8_kib),
    Scenario::new("stacks::no_alternate_one", For::Pointers, Ends::Well, no_alternate),
    Scenario::new("stacks::threads_of_16_kib", For::Pointers, Ends::Well, threads_of_16_kib),
    Scenario::new("stacks::reports_on_8_kib", For::Signals, Ends::ByFault, report_on_8_kib)
        .says(&["eagre: stream bitter: read after it failed"]),
    Scenario::new("stacks::what_the_handler_uses", For::Signals, Ends::Well, painted),
];

/// An alternate stack of `len` bytes, painted, with what overflows it falling on a page of its own.
fn alternate(len: usize) -> &'static mut [u8] {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: new mappings, kept for ever; the lowest page stays forbidden.
    unsafe {
        let start = libc::mmap(std::ptr::null_mut(), len + 4096, libc::PROT_NONE, flags, -1, 0).cast::<u8>();
        libc::mprotect(start.add(4096).cast(), len, libc::PROT_READ | libc::PROT_WRITE);
        let stack = std::slice::from_raw_parts_mut(start.add(4096), len);
        stack.fill(0xA5);
        let install = libc::stack_t { ss_sp: stack.as_mut_ptr().cast(), ss_flags: 0, ss_size: len };
        assert_eq!(libc::sigaltstack(&install, std::ptr::null_mut()), 0);
        stack
    }
}

/// Reads what comes by pointer, outside of any scope.
fn read_raw(mut reader: Reader, words: usize) -> usize {
    let from = reader.as_ptr().unwrap().as_ptr().cast::<u64>();
    // SAFETY: ascending loads within the length.
    (0..words).filter(|&at| unsafe { from.add(at).read() } != word(at)).count()
}

/// Streams in both directions, waits and failures included, in this thread.
fn all_sorts() {
    let words = 20 * BLOCK / 8;
    let (mut writer, reader) = ends("raw");
    std::thread::scope(|scope| {
        scope.spawn(move || write_words(&mut writer, words).unwrap());
        assert_eq!(read_raw(reader, words), 0);
    });
    let (mut writer, mut reader) = ends("scope");
    std::thread::scope(|scope| {
        scope.spawn(move || write_words(&mut writer, words).unwrap());
        assert_eq!(read_words(&mut reader, words).unwrap(), 0);
    });
    let (mut writer, reader) = ends("gone");
    drop(reader);
    let _ = writer.scope(|to| {
        for at in 0..30 {
            // SAFETY: ascending stores within the capacity, drained.
            unsafe { to.add(at * BLOCK).write(1) };
        }
    });
}

fn alternate_of_8_kib() {
    std::thread::spawn(|| {
        alternate(8 << 10);
        all_sorts();
        without_alternate_stack();
    })
    .join()
    .unwrap();
}

fn no_alternate() {
    std::thread::spawn(|| {
        without_alternate_stack();
        all_sorts();
    })
    .join()
    .unwrap();
}

/// As small as the C library lets a thread be: a raw thread, because Rust's gives itself an alternate stack.
fn threads_of_16_kib() {
    extern "C" fn reads(argument: *mut libc::c_void) -> *mut libc::c_void {
        // SAFETY: the byte is one of the stream's, and comes.
        unsafe { argument.cast::<u8>().read_volatile() as usize as *mut libc::c_void }
    }
    let (mut writer, mut reader) = ends("tiny");
    let from = reader.as_ptr().unwrap().as_ptr();
    // SAFETY: the attributes are initialised first; the thread is joined before anything it uses goes.
    unsafe {
        let mut attributes = std::mem::zeroed();
        libc::pthread_attr_init(&mut attributes);
        assert_eq!(libc::pthread_attr_setstacksize(&mut attributes, 16 << 10), 0);
        let mut thread = 0;
        assert_eq!(libc::pthread_create(&mut thread, &attributes, reads, from.cast()), 0);
        until(|| waits("tiny", End::Reader));
        writer.copy_in(&[7; BLOCK]).unwrap();
        let mut value = std::ptr::null_mut();
        assert_eq!(libc::pthread_join(thread, &mut value), 0);
        assert_eq!(value as usize, 7);
    }
}

fn report_on_8_kib() {
    let (writer, mut reader) = small("bitter").on_failure(OnFailure::Poison).open().unwrap().split();
    let from = Raw(reader.as_ptr().unwrap().as_ptr());
    writer.control().cancel();
    std::thread::spawn(move || {
        alternate(8 << 10);
        // SAFETY: a failed stream that poisons: this is the crash.
        unsafe { from.read(0) }
    })
    .join()
    .unwrap();
}

/// Our own frames below what the kernel puts there: under 1 KiB in a release build, under 4 KiB in any.
fn painted() {
    let used = std::thread::spawn(|| {
        let stack = alternate(64 << 10);
        all_sorts();
        let untouched = stack.iter().take_while(|&&byte| byte == 0xA5).count();
        without_alternate_stack();
        stack.len() - untouched
    })
    .join()
    .unwrap();
    // SAFETY: asks for a number.
    let frame = unsafe { libc::getauxval(libc::AT_MINSIGSTKSZ) } as usize;
    println!("{used} bytes used, {frame} of them the kernel's");
    let ours = used.saturating_sub(frame);
    let most = if cfg!(debug_assertions) { 4 << 10 } else { 1 << 10 };
    assert!(ours < most, "{ours} bytes of the alternate stack are ours");
}
