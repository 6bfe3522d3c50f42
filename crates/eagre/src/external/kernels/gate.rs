//! A gate through which a number of threads pass at a time.

use std::sync::{Condvar, Mutex, PoisonError};

/// Lets `room` threads in; others wait until one leaves.
///
/// Whoever is in must not wait for a thread that may stand before the gate.
pub(crate) struct Gate {
    room: Mutex<usize>,
    left: Condvar,
}

impl Gate {
    pub(crate) fn new(room: usize) -> Gate {
        Gate { room: Mutex::new(room.max(1)), left: Condvar::new() }
    }

    /// Waits for room. This thread is in until the result is dropped.
    pub(crate) fn enter(&self) -> Permit<'_> {
        let mut room = self.room.lock().unwrap_or_else(PoisonError::into_inner);
        while *room == 0 {
            room = self.left.wait(room).unwrap_or_else(PoisonError::into_inner);
        }
        *room -= 1;
        Permit(self)
    }
}

/// A thread that is in. A panic lets it out, too.
pub(crate) struct Permit<'a>(&'a Gate);

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        *self.0.room.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.left.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eagre_mem::threads::with_helpers;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    #[test]
    fn no_more_are_in_than_there_is_room_for() {
        for room in [1, 2, 3] {
            let (gate, inside, entered) = (Gate::new(room), AtomicUsize::new(0), AtomicUsize::new(0));
            let work = || {
                for _ in 0..200 {
                    let _permit = gate.enter();
                    assert!(inside.fetch_add(1, SeqCst) < room);
                    std::thread::yield_now();
                    entered.fetch_add(1, SeqCst);
                    inside.fetch_sub(1, SeqCst);
                }
            };
            with_helpers(None, 3, &work, work);
            assert!(entered.load(SeqCst).is_multiple_of(200));
        }
    }

    #[test]
    fn a_panic_inside_lets_the_next_in() {
        let gate = Gate::new(1);
        let attempt = || {
            let _permit = gate.enter();
            panic!("inside");
        };
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(attempt)).unwrap_err();
        drop(gate.enter());
    }
}
