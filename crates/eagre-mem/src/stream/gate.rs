//! Where one end waits for the other.
//!
//! A waiter announces itself, looks once more, and sleeps. A notifier changes the protocol's counters, then looks for
//! announcements. All four accesses are sequentially consistent, so at least one of the two sees the other: no wake-up
//! is lost, and a notifier that sees nobody makes no system call.

#![forbid(unsafe_code)]

use crate::sys::futex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::*};
use std::time::Duration;

/// A thread sleeps on the word.
const SLEEPER: u32 = 1;
/// The pager has parked a thread.
const PARKED: u32 = 2;

/// How often a waiter looks again before it sleeps, at most. A block takes some ten microseconds to fill; sleeping and
/// waking cost about as much, so it pays to look that long.
const MOST_SPINS: u32 = if cfg!(miri) { 2 } else { 1600 };
/// And at least. Where spinning does not help (more threads than processors, a slow peer), the number of looks soon falls to this.
/// One wait in sixteen spins for longer, to find out whether it helps again; one in 256 after it has not helped for long (the peer
/// is a disk).
const LEAST_SPINS: u32 = if cfg!(miri) { 1 } else { 50 };
/// The same for a peer that has just been woken: some 100 microseconds, as long as that may take on an idle processor of a virtual machine.
/// With less, one sleep leads to the next: this end has nothing to do until the sleeper is up, and sleeps too.
const SPINS_FOR_A_SLEEPER: u32 = if cfg!(miri) { 2 } else { 6400 };

/// `paid` after about twenty waits in which spinning did not help: it loses a quarter each time.
const IN_VAIN: u32 = 4;

/// How long to look before sleeping: as long as that has paid lately.
#[derive(Debug)]
pub(crate) struct Patience {
    /// For how many looks spinning has paid lately. The waiting thread stores it.
    paid: AtomicU32,
    waits: AtomicU32,
    /// The peer has just been woken, and is late for what this end will wait for next.
    late: AtomicBool,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience { paid: (MOST_SPINS / 2).into(), waits: 0.into(), late: false.into() }
    }
}

impl Patience {
    /// The peer slept, and has been woken.
    #[inline]
    pub(crate) fn peer_is_late(&self) {
        self.late.store(true, Relaxed);
    }

    /// Looks for a while whether `ready` holds.
    pub(crate) fn look(&self, mut ready: impl FnMut() -> bool) -> bool {
        let paid = self.paid.load(Relaxed);
        let waits = self.waits.load(Relaxed);
        self.waits.store(waits.wrapping_add(1), Relaxed);
        let again = if paid < IN_VAIN { 256 } else { 16 };
        let looks = match self.late.swap(false, Relaxed) {
            true if paid >= IN_VAIN => SPINS_FOR_A_SLEEPER,
            _ if waits.is_multiple_of(again) => MOST_SPINS,
            _ => (2 * paid + LEAST_SPINS).min(MOST_SPINS),
        };
        for look in 0..looks {
            if ready() {
                self.paid.store(paid - paid / 4 + look / 4, Relaxed);
                return true;
            }
            std::hint::spin_loop();
        }
        self.paid.store(paid - paid / 4, Relaxed);
        false
    }
}

/// Where one end waits.
#[repr(align(64))]
#[derive(Debug, Default)]
pub(crate) struct Gate {
    /// Changes with every notification.
    turn: AtomicU32,
    waiting: AtomicU32,
    pub(crate) patience: Patience,
}

/// Who was told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Told {
    /// A thread that slept.
    pub(crate) sleeper: bool,
    /// The pager, which must be rung.
    pub(crate) pager: bool,
}

impl Gate {
    /// Waits until `ready` holds or about `limit` has passed. `ready` is called many times and must be cheap.
    pub(crate) fn wait(&self, limit: Option<Duration>, mut ready: impl FnMut() -> bool) {
        if self.patience.look(&mut ready) {
            return;
        }
        let turn = self.turn.load(SeqCst);
        self.waiting.fetch_or(SLEEPER, SeqCst);
        if !ready() {
            futex::wait(&self.turn, turn, limit);
        }
    }

    /// Announces that the pager has parked a thread. Returns whether that was news: then the pager must look once more.
    #[must_use]
    pub(crate) fn park(&self) -> bool {
        self.waiting.fetch_or(PARKED, SeqCst) & PARKED == 0
    }

    /// Whether somebody waits here, or did a moment ago.
    pub(crate) fn is_waiting(&self) -> bool {
        self.waiting.load(SeqCst) != 0
    }

    /// Tells who waits that something has changed.
    #[inline]
    #[must_use]
    pub(crate) fn notify(&self) -> Told {
        if self.waiting.load(SeqCst) == 0 {
            return Told::default();
        }
        // In this order: whoever announces itself after the swap stays announced, and whoever did so before it has
        // loaded the old turn and does not sleep on it.
        let waiting = self.waiting.swap(0, SeqCst);
        self.turn.fetch_add(1, SeqCst);
        let told = Told { sleeper: waiting & SLEEPER != 0, pager: waiting & PARKED != 0 };
        if told.sleeper {
            futex::wake(&self.turn);
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn no_wake_up_is_lost() {
        let rounds = if cfg!(miri) { 30 } else { 20_000 };
        let (there, back) = (Gate::default(), Gate::default());
        let (ping, pong) = (AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for round in 1..=rounds {
                    while ping.load(SeqCst) < round {
                        there.wait(None, || ping.load(SeqCst) >= round);
                    }
                    pong.store(round, SeqCst);
                    assert!(!back.notify().pager);
                }
            });
            for round in 1..=rounds {
                ping.store(round, SeqCst);
                assert!(!there.notify().pager);
                while pong.load(SeqCst) < round {
                    back.wait(None, || pong.load(SeqCst) >= round);
                }
            }
        });
    }
}
