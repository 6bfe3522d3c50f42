//! Hands out pieces in order, and returns their parts in order.
//!
//! ```text
//! numbers    0 1 2 3 4 5 6 7 8 9 …
//!            delivered ┘ │ │   │ └ handed out next, unless more than `ahead` are on their way
//!                     done │  done
//!                       at work
//! ```
//!
//! A thread that gets far ahead waits until the pieces before its own have been delivered. So only a few parts are
//! kept, however long the file is. The end of the file, an error or a panic closes the queue: no more pieces are handed
//! out, and those that were are finished and delivered up to that place.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use eagre_mem::heap::{self, Refused};

/// Hands out numbers, takes their results in any order, and returns the results in order.
pub(super) struct Queue<T> {
    state: Mutex<State<T>>,
    /// A number can be handed out, or the queue is closed.
    room: Condvar,
    /// The next result can be delivered, or the queue is closed.
    ready: Condvar,
    /// How many numbers may be handed out and not delivered.
    ahead: usize,
}

struct State<T> {
    /// The results that are not delivered, the next one first. `None` while a thread works on it.
    under_way: VecDeque<Option<T>>,
    /// The number of the first of these.
    first: u64,
    closed: bool,
    /// Whether the delivering thread sleeps.
    waited_for: bool,
}

/// What the delivering thread should do next.
pub(super) enum Next<T> {
    /// A result to deliver.
    Deliver(T),
    /// There is nothing to deliver yet. Work on this piece meanwhile.
    Work(u64),
    /// All has been delivered.
    Over,
}

impl<T> Queue<T> {
    /// # Errors
    /// [`Refused`] if there is no memory. Later calls take none.
    pub(super) fn new(ahead: usize) -> Result<Queue<T>, Refused> {
        let under_way = heap::list(ahead)?.into();
        let state = State { under_way, first: 0, closed: false, waited_for: false };
        Ok(Queue { state: Mutex::new(state), room: Condvar::new(), ready: Condvar::new(), ahead })
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next piece to work on. Waits for room for its result. `None` if there is nothing more to do.
    pub(super) fn hand_out(&self) -> Option<u64> {
        let mut state = self.lock();
        loop {
            if state.closed {
                return None;
            }
            if state.under_way.len() < self.ahead {
                return Some(state.hand_out());
            }
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Takes the result of a piece that was handed out. `last`: the pieces after it have no results.
    pub(super) fn put(&self, number: u64, result: T, last: bool) {
        let mut state = self.lock();
        let at = (number - state.first) as usize;
        // The place is gone if the queue was abandoned meanwhile.
        let Some(place) = state.under_way.get_mut(at) else { return };
        *place = Some(result);
        let wanted = at == 0 && state.waited_for;
        if last {
            self.close_locked(&mut state);
        }
        drop(state);
        if wanted {
            self.ready.notify_one();
        }
    }

    /// What the delivering thread should do now. Waits only if it can neither deliver nor work.
    pub(super) fn next(&self) -> Next<T> {
        let mut state = self.lock();
        loop {
            if let Some(Some(_)) = state.under_way.front() {
                let result = state.under_way.pop_front().flatten();
                state.first += 1;
                let was_full = state.under_way.len() + 1 == self.ahead;
                drop(state);
                if was_full {
                    self.room.notify_one();
                }
                return result.map_or(Next::Over, Next::Deliver);
            }
            if !state.closed && state.under_way.len() < self.ahead {
                return Next::Work(state.hand_out());
            }
            if state.closed && state.under_way.is_empty() {
                return Next::Over;
            }
            state.waited_for = true;
            state = self.ready.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.waited_for = false;
        }
    }

    /// Stops handing out numbers.
    pub(super) fn close(&self) {
        self.close_locked(&mut self.lock());
    }

    /// Stops handing out numbers, and drops those under way: a thread that worked on one of them has panicked.
    fn abandon(&self) {
        let mut state = self.lock();
        state.under_way.clear();
        self.close_locked(&mut state);
    }

    fn close_locked(&self, state: &mut State<T>) {
        state.closed = true;
        self.room.notify_all();
        self.ready.notify_one();
    }

    /// A guard to hold while working on pieces. If the thread panics, no other thread waits for it forever.
    pub(super) fn presence(&self) -> Presence<'_, T> {
        Presence(self)
    }
}

impl<T> State<T> {
    fn hand_out(&mut self) -> u64 {
        self.under_way.push_back(None);
        self.first + self.under_way.len() as u64 - 1
    }
}

/// See [`Queue::presence`].
pub(super) struct Presence<'a, T>(&'a Queue<T>);

impl<T> Drop for Presence<'_, T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.abandon();
        }
    }
}
