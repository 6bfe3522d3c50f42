//! Pieces of an output that are made and written in phases: nobody makes one while others are written.
//!
//! ```text
//! readers   make  make  make |                  | make  make …
//! writers                    | write write write|
//! ```
//!
//! A batch of pieces is made, each in a buffer of its own. When all of its makers have ended, it is written. A piece that is
//! larger than its buffer cannot wait for that: as in [`ordered`](super::ordered), it waits until all before it are made,
//! hands these over, and goes straight on.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use eagre_mem::heap;
use eagre_mem::threads::with_helpers;

use super::ordered::{Kept, Piece, Put, StopOnPanic, Turns};
use super::pace::Pace;

/// How many bytes a thread makes before it writes, if its pieces are small.
const BATCH: usize = 1 << 20;
/// How many pieces of a batch a thread makes at most.
const MOST: usize = 16;

/// Makes `pieces` pieces with buffers of `size` bytes, and hands them to `put` one after the other, batch by batch.
///
/// # Errors
/// The first of `make` or of `put`, which ends the work; `OutOfMemory` for the buffers.
pub(super) fn in_phases(
    pieces: usize,
    pace: &Pace<'_>,
    size: usize,
    make: &(dyn Fn(usize, &mut Piece<'_, '_>) -> io::Result<()> + Sync),
    put: Put<'_>,
) -> io::Result<()> {
    let readers = pace.readers.clamp(1, pieces.max(1));
    let batch = readers * (BATCH / size.max(1)).clamp(1, MOST);
    let free = Mutex::new(Vec::new());
    let mut first = 0;
    while first < pieces {
        let count = batch.min(pieces - first);
        let made = read(first, count, readers, size, make, &free, put)?;
        write(&made, pace, put)?;
        let mut free = free.lock().unwrap_or_else(PoisonError::into_inner);
        for Kept { buffer, .. } in made {
            heap::push(&mut free, buffer).map_err(|_| io::ErrorKind::OutOfMemory)?;
        }
        first += count;
    }
    Ok(())
}

/// Makes the pieces of a batch, with buffers that are free.
fn read(
    first: usize,
    count: usize,
    readers: usize,
    size: usize,
    make: &(dyn Fn(usize, &mut Piece<'_, '_>) -> io::Result<()> + Sync),
    free: &Mutex<Vec<Vec<u8>>>,
    put: Put<'_>,
) -> io::Result<Vec<Kept>> {
    let mut kept = heap::list(count).map_err(|_| io::ErrorKind::OutOfMemory)?;
    kept.resize_with(count, || None);
    let turns = Turns::new(put, kept);
    let taken = AtomicUsize::new(0);
    let one = |number: usize| {
        let mut buffer = free.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
        buffer.clear();
        if buffer.capacity() < size {
            heap::reserve(&mut buffer, size).map_err(|_| io::ErrorKind::OutOfMemory)?;
        }
        let mut piece = Piece::new(&mut buffer, number, &turns, None);
        make(first + number, &mut piece)?;
        let bytes = piece.bytes();
        drop(piece);
        turns.keep(number, Kept { buffer, bytes });
        Ok(())
    };
    let work = || {
        let _panic = StopOnPanic(&turns);
        loop {
            let number = taken.fetch_add(1, Relaxed);
            if number >= count || turns.are_over() {
                return;
            }
            if let Err(error) = one(number) {
                turns.fail(error);
                return;
            }
        }
    };
    with_helpers(Some(c"eagre-read"), readers.min(count) - 1, &work, work);
    turns.end()
}

/// Writes the pieces of a batch.
fn write(made: &[Kept], pace: &Pace<'_>, put: Put<'_>) -> io::Result<()> {
    let mut put_all = || made.iter().filter(|kept| !kept.buffer.is_empty()).try_for_each(|kept| put(&kept.buffer));
    let Some(write) = pace.write else { return put_all() };
    let taken = AtomicUsize::new(0);
    let work = || {
        while let Some(kept) = made.get(taken.fetch_add(1, Relaxed)) {
            write(kept.bytes);
        }
    };
    let own = || {
        let done = put_all();
        work();
        done
    };
    with_helpers(Some(c"eagre-write"), pace.writers.clamp(1, made.len()) - 1, &work, own)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(readers: usize) -> Pace<'static> {
        Pace { apart: true, ..Pace::free(readers) }
    }

    #[test]
    fn pieces_of_any_size_arrive_in_order() {
        let sizes: Vec<usize> = [0, 1, 10, 100, 5000, 0, 3, 70_000, 2].repeat(9);
        let expected: Vec<u8> = sizes.iter().enumerate().flat_map(|(number, &size)| vec![number as u8; size]).collect();
        for (readers, size) in [(1, 1500), (2, 1500), (5, 1500), (3, 1 << 20), (3, 0)] {
            let mut found = Vec::new();
            let make = |number: usize, piece: &mut Piece<'_, '_>| {
                vec![number as u8; sizes[number]].chunks(999).try_for_each(|part| piece.push(part))
            };
            let mut put = |bytes: &[u8]| {
                found.extend_from_slice(bytes);
                Ok(())
            };
            in_phases(sizes.len(), &pace(readers), size, &make, &mut put).unwrap();
            assert!(found == expected, "{readers} readers, {size} bytes");
        }
        in_phases(0, &pace(2), 10, &|_, _| Ok(()), &mut |_| Err(io::ErrorKind::Other.into())).unwrap();
    }

    #[test]
    fn nobody_makes_a_piece_while_others_are_written() {
        let (making, writing) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let write = |_: u64| {
            assert!(writing.fetch_add(1, Relaxed) < 2);
            assert_eq!(making.load(Relaxed), 0);
            std::thread::yield_now();
            writing.fetch_sub(1, Relaxed);
        };
        let make = |number: usize, piece: &mut Piece<'_, '_>| {
            assert!(making.fetch_add(1, Relaxed) < 3);
            assert_eq!(writing.load(Relaxed), 0);
            std::thread::yield_now();
            piece.push(&[number as u8; 900])?;
            making.fetch_sub(1, Relaxed);
            Ok(())
        };
        let mut bytes = 0;
        let mut put = |piece: &[u8]| {
            assert_eq!(making.load(Relaxed), 0);
            bytes += piece.len();
            Ok(())
        };
        let pace = Pace { readers: 3, writers: 2, write: Some(&write), ..pace(4) };
        in_phases(500, &pace, 1000, &make, &mut put).unwrap();
        assert_eq!(bytes, 500 * 900);
    }

    #[test]
    fn the_first_failure_ends_the_work() {
        let fail = |number: usize, piece: &mut Piece<'_, '_>| match number {
            7 => Err(io::Error::other("piece 7")),
            _ => piece.push(&[1; 100]),
        };
        // With buffers that suffice, and with such that do not.
        for size in [1000, 10] {
            let error = in_phases(100, &pace(3), size, &fail, &mut |_| Ok(())).unwrap_err();
            assert_eq!(error.to_string(), "piece 7");
            let full = |_: &[u8]| Err(io::ErrorKind::StorageFull.into());
            let error = in_phases(100, &pace(3), size, &|_, piece| piece.push(&[1; 50]), &mut { full }).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::StorageFull);
            let panic = |number: usize, piece: &mut Piece<'_, '_>| match number {
                2 => panic!("in piece {number}"),
                _ => piece.push(&[1; 50]),
            };
            let attempt = || in_phases(5, &pace(2), size, &panic, &mut |_| Ok(()));
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(attempt)).map(drop).unwrap_err();
        }
    }
}
