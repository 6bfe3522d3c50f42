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
    let turns = Turns {
        state: Mutex::new(State { next: 0, put, failure: None }),
        changed: Condvar::new(),
        over: AtomicBool::new(false),
    };
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
            if number >= pieces || turns.over.load(Relaxed) {
                return;
            }
            buffer.clear();
            let mut piece = Piece { buffer: &mut buffer, number, turns: &turns };
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
    let State { failure, .. } = turns.state.into_inner().unwrap_or_else(PoisonError::into_inner);
    failure.map_or(Ok(()), Err)
}

struct Turns<'p> {
    state: Mutex<State<'p>>,
    changed: Condvar,
    /// No more pieces are wanted.
    over: AtomicBool,
}

struct State<'p> {
    /// The piece whose turn it is.
    next: usize,
    put: Put<'p>,
    failure: Option<io::Error>,
}

impl<'p> Turns<'p> {
    /// Waits until it is the turn of a piece.
    fn wait(&self, number: usize) -> io::Result<MutexGuard<'_, State<'p>>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.next != number && !self.over.load(Relaxed) {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        // The failure of another thread is the one that counts.
        if self.over.load(Relaxed) { Err(io::ErrorKind::Interrupted.into()) } else { Ok(state) }
    }

    fn fail(&self, error: io::Error) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.over.swap(true, Relaxed) {
            state.failure = Some(error);
        }
        self.changed.notify_all();
    }
}

/// A thread that panicked never hands its piece over, so the others must not wait for it.
struct StopOnPanic<'a, 'p>(&'a Turns<'p>);

impl Drop for StopOnPanic<'_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
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
}

impl Piece<'_, '_> {
    /// Appends bytes.
    #[inline]
    pub(crate) fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.buffer.capacity() - self.buffer.len() < bytes.len() {
            return self.push_and_hand_over(bytes);
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    /// How many bytes wait in the buffer.
    pub(crate) fn waiting(&self) -> usize {
        self.buffer.len()
    }

    #[cold]
    #[inline(never)]
    fn push_and_hand_over(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.turns.wait(self.number)?;
        (state.put)(self.buffer)?;
        self.buffer.clear();
        if bytes.len() > self.buffer.capacity() {
            return (state.put)(bytes);
        }
        drop(state);
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    /// Hands over what is left, and gives the turn to the next piece.
    fn end(self) -> io::Result<()> {
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
