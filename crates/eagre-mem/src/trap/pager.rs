//! The pager: one thread that resolves the faults of every stream through a privileged userfaultfd.
//!
//! The faulting thread sleeps in the kernel, wherever it was: in user code or in the middle of a system call. The
//! pager asks the owner of the address. The owner never waits: if the other end must move on first, the thread stays
//! parked, and the pager asks again when a fault of the other end, or the bell, says that something has changed.

#![forbid(unsafe_code)]

use super::{Answer, Context, Resolve, registry};
use crate::sys::event::Bell;
use crate::sys::per_process::PerProcess;
use crate::sys::uffd::{Message, Mode, Uffd};
use crate::sys::{Errno, futex, signal};
use crate::trap::End;
use std::time::Duration;

/// How soon the pager asks again for a thread that waits for something that rings no bell: a time limit, a pinned page.
const SOON: Duration = Duration::from_millis(2);

/// The pager of this process.
#[derive(Debug)]
pub(crate) struct Pager {
    uffd: Uffd,
    bell: Bell,
}

impl Pager {
    /// A pager that never answers.
    #[cfg(test)]
    pub(crate) fn without_thread(uffd: Uffd) -> Result<Pager, Errno> {
        Ok(Pager { uffd, bell: Bell::new()? })
    }

    /// The descriptor that ranges are registered with.
    pub(crate) fn uffd(&self) -> &Uffd {
        &self.uffd
    }

    /// Makes the pager ask again for every parked thread.
    #[inline]
    pub(crate) fn ring(&self) {
        self.bell.ring();
    }
}

/// The context of the pager trap. Starts the thread on first use; a refusal is not remembered.
///
/// # Errors
/// What userfaultfd(2) answers: `EPERM` without privilege.
pub(crate) fn context() -> Result<Context, Errno> {
    static PAGER: PerProcess<Pager> = PerProcess::new();
    let pager = PAGER.get_or_make(|| {
        let pager: &'static Pager = Box::leak(Box::new(Pager { uffd: Uffd::open(Mode::Pager)?, bell: Bell::new()? }));
        let thread = std::thread::Builder::new().name("eagre-pager".into()).stack_size(256 << 10);
        let spawned = thread.spawn(move || run(pager));
        spawned.map_err(|error| Errno::of(&error))?;
        Ok::<_, Errno>(pager)
    })?;
    // For the reports of touches outside the window; the faults themselves come to the pager.
    super::signal::ensure_installed()?;
    Ok(Context::Pager(pager))
}

fn run(pager: &'static Pager) -> ! {
    signal::block_all();
    let mut buffer = [Message::default(); 16];
    // When to look at every stream again although nobody has rung.
    let mut due: Option<u64> = None;
    loop {
        let messages = pager.uffd.read(&mut buffer);
        for address in messages.iter().filter_map(Message::fault_address) {
            if resolve(pager, address) == Answer::ParkedBriefly {
                due.get_or_insert_with(soon);
            }
        }
        let left = due.map(|due| Duration::from_nanos(due.saturating_sub(futex::now())));
        let overdue = left.is_some_and(|left| left.is_zero());
        if overdue || (messages.is_empty() && pager.bell.wait(&pager.uffd, left)) {
            due = None;
            for owner in registry::owners() {
                if go_on(owner.resolver()) == Answer::ParkedBriefly {
                    due.get_or_insert_with(soon);
                }
            }
        }
    }
}

fn soon() -> u64 {
    futex::now() + SOON.as_nanos() as u64
}

/// Resolves one fault, and whatever that makes possible for the other end.
fn resolve(pager: &Pager, address: usize) -> Answer {
    let Some(owner) = registry::owner(address) else {
        // The stream went away while the message was under way: the touch finds nothing mapped and is an ordinary
        // fault now.
        pager.uffd.wake(address & !(crate::units::PAGE - 1), crate::units::PAGE);
        return Answer::Resolved;
    };
    let stream = owner.resolver();
    let answer = stream.touch_from_pager(owner.end(), address);
    let others = go_on(stream);
    if others == Answer::ParkedBriefly { others } else { answer }
}

/// Lets the parked threads of both ends of a stream go on as far as they get. One end's step may be what the other
/// waits for, even if it only got part of its way.
fn go_on(stream: &dyn Resolve) -> Answer {
    loop {
        let brief = End::BOTH.map(|end| stream.retry_from_pager(end)).contains(&Some(Answer::ParkedBriefly));
        if !stream.take_news() {
            return if brief { Answer::ParkedBriefly } else { Answer::Resolved };
        }
    }
}
