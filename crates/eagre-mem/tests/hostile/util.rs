//! What the scenarios share.

use eagre_mem::BlockSize;
use eagre_mem::stream::{Pipe, PipeBuilder, Reader, StreamError, StreamErrorKind, Writer, wait_report};
use std::mem::MaybeUninit;
use std::sync::OnceLock;

pub(crate) use eagre_mem::End;

/// The blocks most scenarios use: small, so that a little data is many blocks.
pub(crate) const BLOCK: usize = BlockSize::MIN.bytes();

/// A stream of small blocks.
pub(crate) fn small(name: &str) -> PipeBuilder {
    Pipe::builder().name(name).block_size(BlockSize::MIN).capacity(1 << 30)
}

/// The two ends of a stream of small blocks.
pub(crate) fn ends(name: &str) -> (Writer, Reader) {
    small(name).open().unwrap_or_else(|error| panic!("{error}")).split()
}

/// The word a test stream carries at a place.
pub(crate) fn word(at: usize) -> u64 {
    (at as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// Writes `words` words by pointer and finishes.
pub(crate) fn write_words(writer: &mut Writer, words: usize) -> Result<(), StreamError> {
    writer.scope(|to| {
        for at in 0..words {
            // SAFETY: ascending aligned stores within the capacity.
            unsafe { to.cast::<u64>().add(at).write(word(at)) };
        }
    })?;
    writer.finish_at(words as u64 * 8)
}

/// Reads `words` words by pointer and returns how many were not as written.
pub(crate) fn read_words(reader: &mut Reader, words: usize) -> Result<usize, StreamError> {
    // SAFETY: ascending aligned loads within the length.
    reader.scope(|from| (0..words).filter(|&at| unsafe { from.cast::<u64>().add(at).read() } != word(at)).count())
}

/// Whether the streams of this process have pointers.
pub(crate) fn has_pointers() -> bool {
    static POINTERS: OnceLock<bool> = OnceLock::new();
    *POINTERS.get_or_init(|| ends("asked").0.as_mut_ptr().is_ok())
}

/// Sends some blocks through a new stream, by pointer on both ends if there are any, and checks them: streams work here
/// and now.
pub(crate) fn streams_work() {
    if has_pointers() {
        return flow_through(ends("check"), 20 * BLOCK / 8);
    }
    let bytes: Vec<u8> = (0..20 * BLOCK).map(|at| word(at) as u8).collect();
    let (mut writer, mut reader) = ends("check");
    std::thread::scope(|scope| {
        scope.spawn(|| writer.copy_in(&bytes).and_then(|()| writer.finish()).unwrap_or_else(|error| panic!("{error}")));
        let mut came = vec![0; bytes.len()];
        reader.copy_out(&mut came).unwrap_or_else(|error| panic!("{error}"));
        assert!(came == bytes, "bytes that came out wrong");
    });
}

/// Sends `words` words from one end to the other and checks them.
pub(crate) fn flow_through((mut writer, mut reader): (Writer, Reader), words: usize) {
    std::thread::scope(|scope| {
        scope.spawn(move || write_words(&mut writer, words).unwrap_or_else(|error| panic!("{error}")));
        let wrong = read_words(&mut reader, words).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(wrong, 0, "words that came out wrong");
    });
}

/// Ends a forked child that hangs, by a signal: after ten seconds of processor time, or ten times as long of the clock's, for
/// a hang may sleep, and the machine may be busy.
pub(crate) fn end_if_it_hangs() {
    let never = libc::timeval { tv_sec: 0, tv_usec: 0 };
    let limit = libc::itimerval { it_interval: never, it_value: libc::timeval { tv_sec: 10, tv_usec: 0 } };
    // SAFETY: plain values; the default action of both signals ends the child.
    unsafe {
        assert_eq!(libc::setitimer(libc::ITIMER_PROF, &limit, std::ptr::null_mut()), 0);
        libc::alarm(100);
    }
}

/// Lets other threads run until `reached` holds. The watchdog ends it if that never comes.
pub(crate) fn until(mut reached: impl FnMut() -> bool) {
    while !reached() {
        std::thread::yield_now();
    }
}

/// Whether an end of the stream of this name waits for the other.
pub(crate) fn waits(stream: &str, end: End) -> bool {
    wait_report().iter().any(|wait| wait.stream == stream && wait.waiting == end)
}

/// Starts a thread that touches the first byte of a reader's pointer and so waits in a fault, and returns once it does.
pub(crate) fn park(name: &'static str, mut reader: Reader) -> std::thread::JoinHandle<Result<u8, StreamErrorKind>> {
    let thread = std::thread::spawn(move || {
        // SAFETY: the first byte of the stream.
        reader.scope(|from| unsafe { from.read_volatile() }).map_err(|error| error.kind())
    });
    until(|| waits(name, End::Reader));
    thread
}

/// A pointer that travels.
#[derive(Clone, Copy)]
pub(crate) struct Raw(pub(crate) *mut u8);

// SAFETY: a number; who uses it says why that is sound.
unsafe impl Send for Raw {}

impl Raw {
    /// Touches the byte `at` bytes further.
    ///
    /// # Safety
    /// Whatever the scenario is about.
    pub(crate) unsafe fn read(self, at: usize) -> u8 {
        // SAFETY: the caller's contract.
        unsafe { self.0.add(at).read_volatile() }
    }
}

/// Whether this process is root.
pub(crate) fn is_root() -> bool {
    // SAFETY: takes nothing.
    unsafe { libc::geteuid() == 0 }
}

/// A handler with the signature that `SA_SIGINFO` means.
pub(crate) type InfoHandler = extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void);

/// Puts an action in force and returns the one before.
pub(crate) fn set_action(signal: i32, handler: usize, flags: i32) -> libc::sigaction {
    // SAFETY: an all-zero sigaction is valid; the handlers of these scenarios are what their flags say.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler;
        action.sa_flags = flags;
        let mut before = MaybeUninit::uninit();
        assert_eq!(libc::sigaction(signal, &action, before.as_mut_ptr()), 0);
        before.assume_init()
    }
}

/// The action in force.
pub(crate) fn action(signal: i32) -> libc::sigaction {
    // SAFETY: a query; on success the structure is filled.
    unsafe {
        let mut now = MaybeUninit::uninit();
        assert_eq!(libc::sigaction(signal, std::ptr::null(), now.as_mut_ptr()), 0);
        now.assume_init()
    }
}

/// Writes to standard error without allocating, for handlers and forked children.
pub(crate) fn say(text: &str) {
    // SAFETY: the bytes are valid for their length.
    unsafe { libc::write(2, text.as_ptr().cast(), text.len()) };
}

/// How a process that was forked here ended.
pub(crate) fn wait_for(child: i32) -> i32 {
    let mut status = 0;
    // SAFETY: the status is ours to write.
    while unsafe { libc::waitpid(child, &mut status, 0) } != child {}
    status
}

/// Forks; the child runs `child` and ends with what it returns, without any destructor.
pub(crate) fn fork(child: impl FnOnce() -> i32) -> i32 {
    // SAFETY: the scenarios are about what a child may do after this.
    match unsafe { libc::fork() } {
        0 => {
            let status = child();
            // SAFETY: ends the process.
            unsafe { libc::_exit(status) }
        }
        child => child,
    }
}

/// The signal that killed a process, or 0.
pub(crate) fn killed_by(status: i32) -> i32 {
    if libc::WIFSIGNALED(status) { libc::WTERMSIG(status) } else { 0 }
}
