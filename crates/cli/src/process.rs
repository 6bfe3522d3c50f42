//! What a command that works for long does about signals and limits of its process.
//!
//! SIGINT and SIGTERM end it with a line and exit code 2. A thread waits for them, so that a command that waits for a pipe
//! ends, too. What is not complete is in files without names, which vanish with the process. Signals that are ignored
//! (`nohup`, jobs in the background of a script) stay so.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use eagre_mem::fatal::FatalHeap;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;

use crate::exit::Exit;
use crate::message::Message;
use crate::progress::Gauge;

/// Prepares for a long work: `what` at `place`.
pub(crate) fn prepare(what: &'static str, place: String, gauge: Gauge) {
    prepare_telling(what, place, gauge, || ());
}

/// The same. `tell` is called before a signal ends the process, and must not take long.
pub(crate) fn prepare_telling(what: &'static str, place: String, gauge: Gauge, tell: impl FnOnce() + Send + 'static) {
    // A file that becomes too large is an error of a write then, and no end of the process.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
    open_many_files();
    let wanted: Vec<i32> = [SIGINT, SIGTERM].into_iter().filter(|&signal| !is_ignored(signal)).collect();
    // Handlers are installed by the thread, so that without a thread signals do what they always do.
    let watch = move || {
        let Ok(mut signals) = Signals::new(wanted) else { return };
        if let Some(signal) = signals.forever().next() {
            tell();
            gauge.wipe();
            let name = if signal == SIGINT { "SIGINT" } else { "SIGTERM" };
            let line = Message::new(what, place, format!("it was stopped by {name}"));
            let _ = writeln!(std::io::stderr(), "{line}");
            std::process::exit(Exit::Trouble as i32);
        }
    };
    let _ = std::thread::Builder::new().name("eagre-signals".into()).stack_size(64 << 10).spawn(watch);
}

/// The standard library panics in a new thread that gets no stack for its signal handler, and ends the process with several
/// lines. Here one is enough.
pub(crate) fn end_where_stacks_are_refused(heap: &'static FatalHeap) {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let text = panic.payload().downcast_ref::<String>().map(String::as_str);
        if text.is_some_and(|text| text.starts_with("failed to allocate an alternative stack")) {
            heap.end();
        }
        usual(panic);
    }));
}

/// Whether a signal was ignored when this process began.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Each temporary file is open until it is merged, and the usual limit is that of `select`, which nothing here uses.
fn open_many_files() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}
