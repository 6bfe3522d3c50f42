//! Which traps and movers work here: tried with real faults, once.

use crate::heap;
use crate::mover::{Engine, Mover};
use crate::options;
use crate::stream::{OpenError, Pipe};
use crate::sys::Errno;
#[cfg(all(target_os = "linux", not(miri)))]
use crate::sys::tools;
use crate::trap::{Context, Trap};
use crate::units::BlockSize;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// A trap and a mover that fit together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pair {
    /// How a touch is noticed.
    pub trap: Trap,
    /// How a block changes its address.
    pub mover: Mover,
}

/// The pairs there are, best first; but those with the mover `map` are for who asks for them.
pub const PAIRS: [Pair; 5] = [
    Pair { trap: Trap::Pager, mover: Mover::Move },
    Pair { trap: Trap::Signal, mover: Mover::Move },
    Pair { trap: Trap::Signal, mover: Mover::Remap },
    Pair { trap: Trap::Signal, mover: Mover::Map },
    Pair { trap: Trap::Off, mover: Mover::Copy },
];

impl Pair {
    /// Whether rewired memory can be made of its blocks. Otherwise the pair is for streams alone.
    pub fn rewires(self) -> bool {
        self.mover != Mover::Map
    }
}

/// The pair of streams that have no pointers. It needs nothing.
pub(crate) const EXPLICIT: Pair = PAIRS[PAIRS.len() - 1];

impl std::fmt::Display for Pair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} + {}", self.trap, self.mover)
    }
}

/// What a pair was found to do here.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PairStatus {
    /// The pair.
    pub pair: Pair,
    /// Nothing if it works, else why not.
    pub refusal: Option<String>,
    /// What would make it work.
    pub cure: Option<String>,
    /// Whether streams get it by default, the environment considered.
    pub selected: bool,
}

/// Tries every pair.
pub fn examine() -> Vec<PairStatus> {
    let selected = choose(None, None).ok();
    PAIRS
        .into_iter()
        .map(|pair| {
            let refusal = works(pair).err();
            let cure = refusal.as_ref().and_then(|_| cure(pair)).map(str::to_owned);
            PairStatus { pair, refusal, cure, selected: selected == Some(pair) }
        })
        .collect()
}

fn cure(pair: Pair) -> Option<&'static str> {
    match (pair.trap, pair.mover) {
        (Trap::Pager, _) => Some(
            "run as root, or let the user open /dev/userfaultfd: setfacl -m u:USER:rw /dev/userfaultfd (lasting: a udev \
             rule KERNEL==\"userfaultfd\", GROUP=\"GROUP\", MODE=\"0660\"); needs Linux 6.14",
        ),
        (Trap::Signal, Mover::Move) => {
            Some("needs Linux 6.8, and a container whose seccomp profile allows userfaultfd(2)")
        }
        (Trap::Signal, Mover::Remap) => Some("needs Linux 5.7"),
        (Trap::Signal, Mover::Map) => Some("raise the limits that its refusal names"),
        _ => None,
    }
}

/// The best pair that works and that the caller, then the environment, asks for.
pub(crate) fn choose(trap: Option<Trap>, mover: Option<Mover>) -> Result<Pair, OpenError> {
    choose_among(&PAIRS, trap, mover)
}

/// The same, of those with pointers.
pub(crate) fn choose_with_pointers(trap: Option<Trap>, mover: Option<Mover>) -> Result<Pair, OpenError> {
    let (_off, with_pointers) = PAIRS.split_last().unwrap_or((&PAIRS[0], &[]));
    choose_among(with_pointers, trap, mover)
}

/// The same for a pool, on which there may be rewired memory: the environment may ask for a mover that is for streams alone.
pub(crate) fn choose_for_pool(trap: Option<Trap>, mover: Option<Mover>) -> Result<Pair, OpenError> {
    let rewires = |mover: &Mover| *mover != Mover::Map;
    choose_exactly(&PAIRS, trap.or(trap_of_environment()?), mover.or(mover_of_environment()?.filter(rewires)))
}

fn trap_of_environment() -> Result<Option<Trap>, OpenError> {
    options::trap::<Trap>().map_err(OpenError::Setting)
}

/// The mover that the environment asks for.
pub(crate) fn mover_of_environment() -> Result<Option<Mover>, OpenError> {
    options::mover::<Mover>().map_err(OpenError::Setting)
}

fn choose_among(pairs: &[Pair], trap: Option<Trap>, mover: Option<Mover>) -> Result<Pair, OpenError> {
    choose_exactly(pairs, trap.or(trap_of_environment()?), mover.or(mover_of_environment()?))
}

fn choose_exactly(pairs: &[Pair], trap: Option<Trap>, mover: Option<Mover>) -> Result<Pair, OpenError> {
    // One with a weaker guard behind the window is for who asks for it.
    let wanted = |pair: &Pair| mover.map_or(pair.mover != Mover::Map, |mover| mover == pair.mover);
    let asked = |pair: &&Pair| trap.is_none_or(|t| t == pair.trap) && wanted(pair);
    // Where a better pair is refused, this is made each time, and dropped.
    let mut refusals = String::new();
    for &pair in pairs.iter().filter(asked) {
        match works(pair) {
            Ok(()) => return Ok(pair),
            Err(why) => {
                let between = if refusals.is_empty() { "" } else { "; " };
                refusals = heap::text(format_args!("{refusals}{between}{pair}: {why}"));
            }
        }
    }
    if !pairs.iter().any(|pair| asked(&pair)) {
        let mut there_are = String::new();
        for pair in pairs {
            let between = if there_are.is_empty() { "" } else { ", " };
            there_are = heap::text(format_args!("{there_are}{between}{pair}"));
        }
        let why = format_args!("this trap and mover do not work together; the pairs are: {there_are}");
        return Err(OpenError::Unavailable(heap::text(why)));
    }
    Err(OpenError::Unavailable(heap::text(format_args!("{refusals}; `eagre doctor` tells the cure"))))
}

/// Whether a pair works here. A first success is remembered; a refusal may pass (no descriptor left, no memory).
fn works(pair: Pair) -> Result<(), String> {
    static WORKED: [OnceLock<()>; PAIRS.len()] = [const { OnceLock::new() }; PAIRS.len()];
    let at = PAIRS.iter().position(|known| *known == pair).ok_or("no pair")?;
    if WORKED[at].get().is_none() {
        attempt(pair)?;
        let _ = WORKED[at].set(());
    }
    Ok(())
}

/// A pager that did not answer once is not tried again: each time would take as long.
static SILENT: AtomicBool = AtomicBool::new(false);

fn attempt(pair: Pair) -> Result<(), String> {
    let (context, engine) = engage(pair.trap, pair.mover)?;
    match pair.trap {
        Trap::Pager => watched(context, engine, PATIENCE, &SILENT),
        trap => flow(small_stream(context, engine)?, trap),
    }
}

/// How long the pager may take to resolve the handful of faults of a probe, in wall-clock time: it answers within
/// microseconds, or something keeps it from running.
const PATIENCE: Duration = Duration::from_secs(5);

/// Tries the pager with a thread that nothing depends on. If no answer came to its touches, it would wait for ever, and no signal
/// could end it.
fn watched(context: Context, engine: Engine, patience: Duration, silent: &AtomicBool) -> Result<(), String> {
    const NO_ANSWER: &str = "its thread does not get to run (a debugger, or a tool that runs one thread at a time?)";
    if silent.load(Relaxed) {
        return Err(NO_ANSWER.into());
    }
    let pipe = small_stream(context, engine)?;
    let control = pipe.control();
    let (tell, told) = mpsc::sync_channel(1);
    let probe = std::thread::Builder::new().name("eagre-probe".into()).stack_size(256 << 10);
    let spawned = probe.spawn(move || drop(tell.send(flow(pipe, Trap::Pager))));
    let probe = spawned.map_err(|error| format!("no thread for the probe: {error}"))?;
    match told.recv_timeout(patience) {
        Ok(outcome) => {
            // Gone before the caller counts its threads, or forks.
            let _ = probe.join();
            outcome
        }
        Err(RecvTimeoutError::Timeout) => {
            silent.store(true, Relaxed);
            control.let_go();
            Err(NO_ANSWER.into())
        }
        Err(RecvTimeoutError::Disconnected) => Err("the probe panicked".into()),
    }
}

/// A stream for a probe.
fn small_stream(context: Context, engine: Engine) -> Result<Pipe, String> {
    let builder = Pipe::builder().name("probe").block_size(BlockSize::MIN).capacity(1 << 20);
    builder.open_on(context, engine).map_err(|error| error.reason().to_owned())
}

/// Sends two blocks through a small stream, by pointer if it has pointers.
fn flow(mut pipe: Pipe, trap: Trap) -> Result<(), String> {
    let length = BlockSize::MIN.bytes() as u64 + 1;
    let failed = |error: crate::stream::StreamError| error.to_string();
    let sent = vec![7; length as usize];
    if trap == Trap::Off {
        pipe.writer().copy_in(&sent).map_err(failed)?;
    } else {
        // SAFETY: ascending stores within the capacity.
        pipe.writer().scope(|to| unsafe { (0..length as usize).for_each(|at| to.add(at).write(7)) }).map_err(failed)?;
    }
    pipe.writer().finish_at(length).map_err(failed)?;
    let intact = if trap == Trap::Off {
        let mut left = &sent[..];
        loop {
            let bytes = pipe.reader().fill(0).map_err(failed)?;
            let len = bytes.len();
            // Whole pieces: to Miri that is one step, and byte by byte a quarter of a minute.
            let expected = left.starts_with(bytes);
            if len == 0 || !expected {
                break expected && left.is_empty();
            }
            pipe.reader().consume(len);
            left = &left[len..];
        }
    } else {
        // SAFETY: ascending loads within the length.
        let add =
            |from: *const u8| (0..length as usize).map(|at| u64::from(unsafe { from.add(at).read() })).sum::<u64>();
        pipe.reader().scope(add).map_err(failed)? == 7 * length
    };
    if intact { Ok(()) } else { Err("the bytes that came out are not those that went in".into()) }
}

/// Makes a pair ready for use.
pub(crate) fn engage(trap: Trap, mover: Mover) -> Result<(Context, Engine), String> {
    match (trap, mover) {
        (Trap::Pager, Mover::Move) => {
            let context = pager_context()?;
            let uffd = context.uffd().ok_or("no userfaultfd")?;
            Ok((context, Engine::Move(uffd)))
        }
        (Trap::Signal, Mover::Move) => {
            let context = signal_context()?;
            let no_uffd = || heap::text("this kernel, or its seccomp filter, has no userfaultfd that moves pages");
            let uffd = context.uffd().ok_or_else(no_uffd)?;
            Ok((context, Engine::Move(uffd)))
        }
        (Trap::Signal, Mover::Remap) => signal_context().map(|_| (Context::Signal(None), Engine::Remap)),
        (Trap::Signal, Mover::Map) => signal_context().map(|_| (Context::Signal(None), Engine::Map)),
        (Trap::Off, Mover::Copy) => Ok((Context::Off, Engine::Copy)),
        _ => Err(heap::text(format_args!("{} do not work together", Pair { trap, mover }))),
    }
}

#[cfg(all(target_os = "linux", not(miri)))]
fn pager_context() -> Result<Context, String> {
    if let Some(tool) = tools::tool() {
        return Err(heap::text(format_args!("{tool:?} runs one thread at a time, and the pager would be another one")));
    }
    if !crate::sys::facts::kernel_at_least(6, 14) {
        return Err(heap::text("this kernel is older than 6.14, whose page tables it needs freed"));
    }
    crate::trap::pager::context().map_err(|errno| match errno {
        Errno::PERM | Errno::ACCES => heap::text("no permission for privileged userfaultfd"),
        Errno::INVAL => heap::text("this kernel's userfaultfd cannot move pages"),
        _ => heap::text(format_args!("userfaultfd: {errno}")),
    })
}

#[cfg(all(target_os = "linux", not(miri)))]
fn signal_context() -> Result<Context, String> {
    if tools::tool() == Some(tools::Tool::Valgrind) {
        return Err(heap::text("Valgrind takes each touch of an absent page for an error of the program"));
    }
    crate::trap::signal::context().map_err(|errno: Errno| heap::text(format_args!("sigaction: {errno}")))
}

#[cfg(any(not(target_os = "linux"), miri))]
fn pager_context() -> Result<Context, String> {
    Err(format!("no faults on this platform: {}", Errno::NOSYS))
}

#[cfg(any(not(target_os = "linux"), miri))]
fn signal_context() -> Result<Context, String> {
    pager_context()
}

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use super::*;
    use crate::sys::uffd::{Mode, Uffd};
    use crate::trap::pager::Pager;

    /// A pager whose thread never runs: the probe says so, and the thread that waited is gone.
    #[test]
    fn a_silent_pager_is_refused() {
        let Ok(uffd) = Uffd::open(Mode::Pager) else {
            eprintln!("skipped: no privileged userfaultfd");
            return;
        };
        let pager: &'static Pager = Box::leak(Box::new(Pager::without_thread(uffd).unwrap()));
        let (context, engine) = (Context::Pager(pager), Engine::Move(pager.uffd()));
        let probes = || {
            let threads = std::fs::read_dir("/proc/self/task").unwrap();
            let names = threads.filter_map(|thread| std::fs::read_to_string(thread.ok()?.path().join("comm")).ok());
            names.filter(|name| name.trim() == "eagre-probe").count()
        };
        let silent = AtomicBool::new(false);
        for _ in 0..2 {
            let refusal = watched(context, engine, Duration::from_millis(50), &silent).unwrap_err();
            assert!(refusal.contains("does not get to run"), "{refusal}");
        }
        // If the thread stays, the test's own time limit ends this.
        while probes() > 0 {
            std::thread::yield_now();
        }
    }
}
