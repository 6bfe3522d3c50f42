//! Files whose bytes are computed from their offsets, by several threads.
//!
//! Threads take the blocks of the file's stream in turn, fill them in parallel, and complete each when it is full. The
//! stream writes them to the file in order.

use std::io;
use std::ops::ControlFlow;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use eagre_mem::threads::with_helpers;

use super::{FileWriter, Output, WriteOptions};
use crate::{BlockSize, StreamError, StreamErrorKind, WriteBlock};

/// What [`PipeBuilder::rewrite`](crate::PipeBuilder::rewrite) takes at most.
const MOST: u64 = 60;

/// Computes the bytes at an offset of the file.
pub(crate) type Compute<'a> = &'a (dyn Fn(u64, &mut [u8]) + Sync);

/// Gets the number of bytes computed so far, and decides whether to go on.
pub(crate) type Watch<'a> = &'a (dyn Fn(u64) -> ControlFlow<()> + Sync);

/// Computes `length` bytes and writes them to `output`, called `name` in messages. The output that is returned is
/// finished but has not appeared yet. `None` if `watch` stopped the work.
///
/// # Errors
/// As [`WriteOptions::write`] and [`FileWriter::finish`].
pub(crate) fn write(
    output: Output,
    name: &std::path::Path,
    length: u64,
    threads: usize,
    compute: Compute<'_>,
    watch: Watch<'_>,
) -> io::Result<Option<Output>> {
    // No more threads than there are blocks, or than may hold one each.
    let blocks = length.div_ceil(BlockSize::DEFAULT.bytes() as u64).clamp(1, MOST);
    let threads = threads.clamp(1, blocks as usize);
    let mut writer = WriteOptions::new().explicit().rewrite(threads as u32).length(length).write(output, name)?;
    let crew = Crew::new(&mut writer, length, compute, watch);
    with_helpers(Some(c"eagre-compute"), threads - 1, &|| crew.work(), || crew.work());
    let State { stopped, failure, .. } = crew.state.into_inner().unwrap_or_else(PoisonError::into_inner);
    match failure {
        // The error of the file comes first: it says more than the stream's.
        Some(error) => writer.finish_unseen().and(Err(error.into())),
        None if stopped => Ok(None),
        None => writer.finish_unseen_at(length).map(Some),
    }
}

struct Crew<'a> {
    state: Mutex<State<'a>>,
    /// A block was completed, or the work is over.
    changed: Condvar,
    length: u64,
    compute: Compute<'a>,
    watch: Watch<'a>,
}

struct State<'a> {
    writer: &'a mut FileWriter,
    /// The size of a block in bytes.
    block: usize,
    taken: u64,
    done: u64,
    stopped: bool,
    failure: Option<StreamError>,
}

impl<'a> Crew<'a> {
    fn new(writer: &'a mut FileWriter, length: u64, compute: Compute<'a>, watch: Watch<'a>) -> Crew<'a> {
        let block = writer.control().block_size().bytes();
        let state = State { writer, block, taken: 0, done: 0, stopped: false, failure: None };
        Crew { state: Mutex::new(state), changed: Condvar::new(), length, compute, watch }
    }

    fn lock(&self) -> MutexGuard<'_, State<'a>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What each thread runs.
    fn work(&self) {
        let _over = Over(self);
        while let Some((mut block, bytes)) = self.take() {
            (self.compute)(block.offset(), &mut block.as_mut_slice()[..bytes]);
            self.give(block, bytes);
        }
    }

    /// The next block, and the number of bytes to fill in it. Waits while the window has no free block.
    fn take(&self) -> Option<(WriteBlock, usize)> {
        let mut state = self.lock();
        loop {
            if state.taken >= self.length || state.stopped || state.failure.is_some() {
                return None;
            }
            match state.writer.take() {
                Ok(block) => {
                    let bytes = (state.block as u64).min(self.length - state.taken) as usize;
                    state.taken += bytes as u64;
                    return Some((block, bytes));
                }
                Err(busy) if busy.kind() == StreamErrorKind::Busy => {
                    state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
                Err(error) => state.failure = Some(error),
            }
        }
    }

    fn give(&self, block: WriteBlock, bytes: usize) {
        let mut state = self.lock();
        if bytes < state.block {
            // The last block. The stream ends inside it.
            state.writer.put_back(block);
        } else {
            state.writer.complete(block);
        }
        state.done += bytes as u64;
        if (self.watch)(state.done).is_break() {
            state.stopped = true;
        }
        self.changed.notify_all();
    }
}

/// Marks the end of a thread. A thread that panicked never completes its block, so the others must not wait for it.
struct Over<'a, 'b>(&'a Crew<'b>);

impl Drop for Over<'_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.lock().stopped = true;
        }
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that depend on their offset.
    fn compute(offset: u64, bytes: &mut [u8]) {
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = (((offset + at as u64) * 0x9E37_79B9) >> 13) as u8;
        }
    }

    #[test]
    fn files_of_any_length_with_any_number_of_threads() {
        let folder = tempfile::tempdir().unwrap();
        for length in [0, 1, 100, (2 << 20) - 1, 2 << 20, (2 << 20) + 1, 9_876_543] {
            let mut expected = vec![0; length];
            compute(0, &mut expected);
            for threads in [1, 2, 5, 1000] {
                let path = folder.path().join("computed");
                let done = Mutex::new(Vec::new());
                let watch = |bytes| {
                    done.lock().unwrap().push(bytes);
                    ControlFlow::Continue(())
                };
                let output = Output::create(&path).unwrap();
                let written = write(output, &path, length as u64, threads, &compute, &watch).unwrap();
                written.expect("not stopped").commit().unwrap();
                assert!(std::fs::read(&path).unwrap() == expected, "{length} bytes, {threads} threads");
                let done = done.into_inner().unwrap();
                assert!(done.is_sorted() && done.last().copied().unwrap_or(0) == length as u64, "{done:?}");
            }
        }
    }

    #[test]
    fn stopping_or_a_panic_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("computed");
        let stop = |done| if done > 5 << 20 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
        let output = Output::create(&path).unwrap();
        assert!(write(output, &path, 64 << 20, 2, &compute, &stop).unwrap().is_none());
        let panic = |offset, bytes: &mut [u8]| {
            assert!(offset < 8 << 20, "as planned");
            compute(offset, bytes);
        };
        let attempt = || {
            let go_on = |_| ControlFlow::Continue(());
            write(Output::create(&path).unwrap(), &path, 64 << 20, 3, &panic, &go_on)
        };
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(attempt)).map(drop).unwrap_err();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
