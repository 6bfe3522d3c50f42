//! How the threads that make pieces of an output share a device (WiscSort, PVLDB 16, 2023, section 3.5).

use std::io;

use super::gate::Gate;
use super::ordered::{self, Piece, Put};
use super::phases::in_phases;

/// Who may read and who may write at the same time.
#[derive(Clone, Copy)]
pub(crate) struct Pace<'a> {
    /// How many threads there are.
    pub(crate) threads: usize,
    /// How many of them make pieces at a time, which is reading.
    pub(crate) readers: usize,
    /// How many of them write at a time.
    pub(crate) writers: usize,
    /// Whether nobody reads while somebody writes.
    pub(crate) apart: bool,
    /// What writing so many bytes takes beside handing them over, by the thread that made them. It must not wait for another
    /// thread.
    pub(crate) write: Option<&'a (dyn Fn(u64) + Sync)>,
}

impl Pace<'_> {
    /// Threads that read and write whenever they want.
    pub(crate) fn free(threads: usize) -> Pace<'static> {
        Pace { threads, readers: threads, writers: threads, apart: false, write: None }
    }

    /// Makes `pieces` pieces with buffers of `size` bytes, and hands them to `put` one after the other.
    ///
    /// # Errors
    /// The first of `make` or of `put`, which ends the work; `OutOfMemory` for the buffers.
    pub(crate) fn run(
        &self,
        pieces: usize,
        size: usize,
        make: &(dyn Fn(usize, &mut Piece<'_, '_>) -> io::Result<()> + Sync),
        put: Put<'_>,
    ) -> io::Result<()> {
        if self.apart {
            return in_phases(pieces, self, size, make, put);
        }
        let gate = |users: usize| (users < self.threads).then(|| Gate::new(users));
        let (reading, writing) = (gate(self.readers), gate(self.writers));
        let make_and_write = |number: usize, piece: &mut Piece<'_, '_>| {
            make(number, piece)?;
            piece.leave();
            if let Some(write) = self.write {
                let _permit = writing.as_ref().map(Gate::enter);
                write(piece.bytes());
            }
            Ok(())
        };
        ordered::in_order_behind(reading.as_ref(), pieces, self.threads, size, &make_and_write, put)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    /// How many are there, and how many there were at most.
    #[derive(Default)]
    struct Users {
        now: AtomicUsize,
        most: AtomicUsize,
    }

    impl Users {
        fn during(&self, work: impl FnOnce()) {
            self.most.fetch_max(self.now.fetch_add(1, SeqCst) + 1, SeqCst);
            work();
            self.now.fetch_sub(1, SeqCst);
        }
    }

    #[test]
    fn no_more_read_or_write_than_may() {
        // With buffers that suffice, and with such that do not.
        for (size, readers, writers) in [(100, 1, 1), (100, 2, 1), (10, 1, 3), (10, 3, 1), (10, 1, 1)] {
            let (reading, writing, mut found) = (Users::default(), Users::default(), Vec::new());
            let write = |_: u64| writing.during(std::thread::yield_now);
            let pace = Pace { readers, writers, write: Some(&write), ..Pace::free(4) };
            let make = |number: usize, piece: &mut Piece<'_, '_>| {
                for _ in 0..number % 7 {
                    reading.during(std::thread::yield_now);
                    piece.push(&[number as u8; 9])?;
                }
                reading.during(|| ());
                Ok(())
            };
            let mut put = |bytes: &[u8]| {
                found.extend_from_slice(bytes);
                Ok(())
            };
            pace.run(300, size, &make, &mut put).unwrap();
            assert!(reading.most.into_inner() <= readers && writing.most.into_inner() <= writers);
            let expected: Vec<u8> = (0..300).flat_map(|number| vec![number as u8; number % 7 * 9]).collect();
            assert!(found == expected, "{size} {readers} {writers}");
        }
    }

    #[test]
    fn all_bytes_of_a_piece_are_written() {
        for (apart, size) in [(false, 10), (false, 10_000), (true, 10), (true, 10_000)] {
            let written = AtomicUsize::new(0);
            let write = |bytes: u64| {
                written.fetch_add(bytes as usize, SeqCst);
            };
            let pace = Pace { apart, write: Some(&write), ..Pace::free(3) };
            let make = |number: usize, piece: &mut Piece<'_, '_>| (0..number).try_for_each(|_| piece.push(&[1; 8]));
            pace.run(40, size, &make, &mut |_| Ok(())).unwrap();
            assert_eq!(written.into_inner(), 40 * 39 / 2 * 8, "{apart} {size}");
        }
    }
}
