//! Pieces of an output that several threads make, put together in order.
//!
//! Each thread takes the next piece and fills a buffer. When the piece is complete, or the buffer full, it waits for its
//! turn: until all pieces before are out. What follows of a piece that has its turn goes straight on. So pieces may have
//! any size, and no thread needs more memory than its buffer.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use eagre_mem::heap;
use eagre_mem::threads::with_helpers;

use super::gate::{Gate, Permit};

/// Takes the bytes of the output, in order.
pub(crate) type Put<'a> = &'a mut (dyn FnMut(&[u8]) -> io::Result<()> + Send);

/// Makes `pieces` pieces with buffers of `size` bytes, and hands them to `put` one after the other.
///
/// # Errors
/// The first of `make` or of `put`, which ends the work; `OutOfMemory` for the buffers.
pub(crate) fn in_order(
    pieces: usize,
    threads: usize,
    size: usize,
    make: &(dyn Fn(usize, &mut Piece<'_, '_>) -> io::Result<()> + Sync),
    put: Put<'_>,
) -> io::Result<()> {
    in_order_behind(None, pieces, threads, size, make, put)
}

/// The same, but whoever makes a piece is inside of the gate, except while it waits for its turn or hands over.
pub(super) fn in_order_behind(
    gate: Option<&Gate>,
    pieces: usize,
    threads: usize,
    size: usize,
    make: &(dyn Fn(usize, &mut Piece<'_, '_>) -> io::Result<()> + Sync),
    put: Put<'_>,
) -> io::Result<()> {
    let turns = Turns::new(put, Vec::new());
    let taken = AtomicUsize::new(0);
    let work = || {
        let _panic = StopOnPanic(&turns);
        let mut buffer = Vec::new();
        if heap::reserve(&mut buffer, size).is_err() {
            turns.fail(io::ErrorKind::OutOfMemory.into());
            return;
        }
        loop {
            let number = taken.fetch_add(1, Relaxed);
            if number >= pieces || turns.are_over() {
                return;
            }
            buffer.clear();
            let mut piece = Piece::new(&mut buffer, number, &turns, gate);
            match make(number, &mut piece).and_then(|()| piece.end()) {
                Ok(()) => {}
                Err(error) => {
                    turns.fail(error);
                    return;
                }
            }
        }
    };
    with_helpers(Some(c"eagre-order"), threads.min(pieces).saturating_sub(1), &work, work);
    turns.end().map(drop)
}

/// Whose turn it is.
pub(super) struct Turns<'p> {
    state: Mutex<State<'p>>,
    changed: Condvar,
    /// No more pieces are wanted.
    over: AtomicBool,
}

struct State<'p> {
    /// The piece whose turn it is: all before are out or kept.
    next: usize,
    put: Put<'p>,
    failure: Option<io::Error>,
    /// Pieces that are made and wait for all others, by number, if pieces wait for that.
    kept: Vec<Option<Kept>>,
}

/// What is left of a piece that is made, in the buffer, and the size of all of it.
pub(super) struct Kept {
    pub(super) buffer: Vec<u8>,
    pub(super) bytes: u64,
}

impl<'p> Turns<'p> {
    /// `kept` has room for as many pieces as will be [kept](Self::keep).
    pub(super) fn new(put: Put<'p>, kept: Vec<Option<Kept>>) -> Turns<'p> {
        let state = Mutex::new(State { next: 0, put, failure: None, kept });
        Turns { state, changed: Condvar::new(), over: AtomicBool::new(false) }
    }

    /// Waits until it is the turn of a piece, and hands over what is kept of those before.
    fn wait(&self, number: usize) -> io::Result<MutexGuard<'_, State<'p>>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.next != number && !self.are_over() {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        // The failure of another thread is the one that counts.
        if self.are_over() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let State { put, kept, .. } = &mut *state;
        for Kept { buffer, .. } in kept.iter_mut().take(number).flatten().filter(|kept| !kept.buffer.is_empty()) {
            put(buffer)?;
            buffer.clear();
        }
        Ok(state)
    }

    /// Keeps what is left of a piece, and gives its turn on when it comes.
    pub(super) fn keep(&self, number: usize, piece: Kept) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let State { next, kept, .. } = &mut *state;
        if let Some(place) = kept.get_mut(number) {
            *place = Some(piece);
        }
        while kept.get(*next).is_some_and(Option::is_some) {
            *next += 1;
        }
        drop(state);
        self.changed.notify_all();
    }

    pub(super) fn are_over(&self) -> bool {
        self.over.load(Relaxed)
    }

    pub(super) fn fail(&self, error: io::Error) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.over.swap(true, Relaxed) {
            state.failure = Some(error);
        }
        self.changed.notify_all();
    }

    /// What was kept, when nobody works any more.
    pub(super) fn end(self) -> io::Result<Vec<Kept>> {
        let State { failure, kept, .. } = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        match failure {
            Some(failure) => Err(failure),
            None => Ok(kept.into_iter().flatten().collect()),
        }
    }
}

/// A thread that panicked never hands its piece over, so the others must not wait for it.
pub(super) struct StopOnPanic<'a, 'p>(pub(super) &'a Turns<'p>);

impl Drop for StopOnPanic<'_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // So that nobody is between looking and waiting.
            let _state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
            self.0.over.store(true, Relaxed);
            self.0.changed.notify_all();
        }
    }
}

/// A piece being made.
pub(crate) struct Piece<'a, 'p> {
    buffer: &'a mut Vec<u8>,
    number: usize,
    turns: &'a Turns<'p>,
    /// How many bytes have left the buffer.
    out: u64,
    gate: Option<&'a Gate>,
    permit: Option<Permit<'a>>,
}

impl<'a, 'p> Piece<'a, 'p> {
    /// A piece with an empty buffer, whose maker enters the gate.
    pub(super) fn new(
        buffer: &'a mut Vec<u8>,
        number: usize,
        turns: &'a Turns<'p>,
        gate: Option<&'a Gate>,
    ) -> Piece<'a, 'p> {
        Piece { buffer, number, turns, out: 0, gate, permit: gate.map(Gate::enter) }
    }

    /// Appends bytes.
    #[inline]
    pub(crate) fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.buffer.capacity() - self.buffer.len() < bytes.len() {
            return self.push_and_hand_over(bytes);
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    /// How many bytes it has.
    pub(crate) fn bytes(&self) -> u64 {
        self.out + self.buffer.len() as u64
    }

    /// The maker has ended, and leaves the gate.
    pub(super) fn leave(&mut self) {
        self.permit = None;
    }

    #[cold]
    #[inline(never)]
    fn push_and_hand_over(&mut self, bytes: &[u8]) -> io::Result<()> {
        // The piece whose turn it is may stand before the gate.
        self.permit = None;
        let mut state = self.turns.wait(self.number)?;
        self.out += self.buffer.len() as u64;
        (state.put)(self.buffer)?;
        self.buffer.clear();
        let fits = bytes.len() <= self.buffer.capacity();
        if !fits {
            self.out += bytes.len() as u64;
            (state.put)(bytes)?;
        }
        drop(state);
        self.permit = self.gate.map(Gate::enter);
        if fits {
            self.buffer.extend_from_slice(bytes);
        }
        Ok(())
    }

    /// Hands over what is left, and gives the turn to the next piece.
    fn end(mut self) -> io::Result<()> {
        self.leave();
        let mut state = self.turns.wait(self.number)?;
        if !self.buffer.is_empty() {
            (state.put)(self.buffer)?;
        }
        state.next += 1;
        drop(state);
        self.turns.changed.notify_all();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_any_size_arrive_in_order() {
        let sizes = [0, 1, 10, 100, 5000, 0, 3, 70_000, 2];
        let expected: Vec<u8> = sizes.iter().enumerate().flat_map(|(number, &size)| vec![number as u8; size]).collect();
        for threads in [1, 2, 5] {
            let mut found = Vec::new();
            let make = |number: usize, piece: &mut Piece<'_, '_>| {
                for part in vec![number as u8; sizes[number]].chunks(999) {
                    piece.push(part)?;
                }
                Ok(())
            };
            let mut put = |bytes: &[u8]| {
                found.extend_from_slice(bytes);
                Ok(())
            };
            in_order(sizes.len(), threads, 1500, &make, &mut put).unwrap();
            assert!(found == expected, "{threads} threads");
        }
    }

    #[test]
    fn the_first_failure_ends_the_work() {
        let fail = |number: usize, piece: &mut Piece<'_, '_>| match number {
            7 => Err(io::Error::other("piece 7")),
            _ => piece.push(&[1; 100]),
        };
        let error = in_order(100, 3, 10, &fail, &mut |_| Ok(())).unwrap_err();
        assert_eq!(error.to_string(), "piece 7");
        let full = |_: &[u8]| Err(io::ErrorKind::StorageFull.into());
        let error = in_order(100, 3, 10, &|_, piece| piece.push(&[1]), &mut { full }).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        let panic = |number: usize, _: &mut Piece<'_, '_>| -> io::Result<()> { panic!("in piece {number}") };
        let attempt = || in_order(5, 2, 10, &panic, &mut |_| Ok(()));
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(attempt)).map(drop).unwrap_err();
    }
}
