//! Which traps and movers work here: tried with real faults, once.

use crate::mover::{Engine, Mover};
use crate::options;
use crate::stream::{OpenError, Pipe};
use crate::sys::Errno;
use crate::trap::{Context, Trap};
use crate::units::BlockSize;
use std::sync::OnceLock;

/// A trap and a mover that fit together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pair {
    /// How a touch is noticed.
    pub trap: Trap,
    /// How a block changes its address.
    pub mover: Mover,
}

/// The pairs there are, best first.
pub const PAIRS: [Pair; 4] = [
    Pair { trap: Trap::Pager, mover: Mover::Move },
    Pair { trap: Trap::Signal, mover: Mover::Move },
    Pair { trap: Trap::Signal, mover: Mover::Remap },
    Pair { trap: Trap::Off, mover: Mover::Copy },
];

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
        (Trap::Signal, _) => Some("needs Linux 5.7"),
        _ => None,
    }
}

/// The best pair that works and that the caller, then the environment, asks for.
pub(crate) fn choose(trap: Option<Trap>, mover: Option<Mover>) -> Result<Pair, OpenError> {
    let trap = trap.or(options::trap().map_err(OpenError::Setting)?);
    let mover = mover.or(options::mover().map_err(OpenError::Setting)?);
    let asked = |pair: &Pair| trap.is_none_or(|t| t == pair.trap) && mover.is_none_or(|m| m == pair.mover);
    let mut refusals = Vec::new();
    for pair in PAIRS.into_iter().filter(asked) {
        match works(pair) {
            Ok(()) => return Ok(pair),
            Err(why) => refusals.push(format!("{pair}: {why}")),
        }
    }
    if refusals.is_empty() {
        let pairs = PAIRS.map(|pair| pair.to_string()).join(", ");
        return Err(OpenError::Unavailable(format!("this trap and mover are no pair; there are: {pairs}")));
    }
    Err(OpenError::Unavailable(format!("{}; `eagre doctor` tells the cure", refusals.join("; "))))
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

/// Sends two blocks through a small stream of this pair, by pointer if it has pointers.
fn attempt(pair: Pair) -> Result<(), String> {
    let block = BlockSize::MIN;
    let length = block.bytes() as u64 + 1;
    let open = Pipe::builder().name("probe").block_size(block).capacity(1 << 20).open_with(pair.trap, pair.mover);
    let mut pipe = open.map_err(|error| error.reason().to_owned())?;
    let failed = |error: crate::stream::StreamError| error.to_string();
    let sent = vec![7; length as usize];
    if pair.trap == Trap::Off {
        pipe.writer().copy_in(&sent).map_err(failed)?;
    } else {
        // SAFETY: ascending stores within the capacity.
        pipe.writer().scope(|to| unsafe { (0..length as usize).for_each(|at| to.add(at).write(7)) }).map_err(failed)?;
    }
    pipe.writer().finish_at(length).map_err(failed)?;
    let intact = if pair.trap == Trap::Off {
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
            let uffd =
                context.uffd().ok_or("this kernel, or its seccomp filter, has no userfaultfd that moves pages")?;
            Ok((context, Engine::Move(uffd)))
        }
        (Trap::Signal, Mover::Remap) => signal_context().map(|_| (Context::Signal(None), Engine::Remap)),
        (Trap::Off, Mover::Copy) => Ok((Context::Off, Engine::Copy)),
        _ => Err(format!("{} is no pair", Pair { trap, mover })),
    }
}

#[cfg(all(target_os = "linux", not(miri)))]
fn pager_context() -> Result<Context, String> {
    if !crate::sys::facts::kernel_at_least(6, 14) {
        return Err("this kernel is older than 6.14, whose page tables it needs freed".into());
    }
    crate::trap::pager::context().map_err(|Errno(errno)| match errno {
        libc::EPERM | libc::EACCES => "no permission for privileged userfaultfd".to_owned(),
        libc::EINVAL => "this kernel's userfaultfd cannot move pages".to_owned(),
        _ => format!("userfaultfd: {}", Errno(errno)),
    })
}

#[cfg(all(target_os = "linux", not(miri)))]
fn signal_context() -> Result<Context, String> {
    crate::trap::signal::context().map_err(|errno: Errno| format!("sigaction: {errno}"))
}

#[cfg(any(not(target_os = "linux"), miri))]
fn pager_context() -> Result<Context, String> {
    Err(format!("no faults on this platform: {}", Errno::NOSYS))
}

#[cfg(any(not(target_os = "linux"), miri))]
fn signal_context() -> Result<Context, String> {
    pager_context()
}
