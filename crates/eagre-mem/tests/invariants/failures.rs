//! Invariant 5: nothing hangs, and no correct program is killed.
//!
//! One end waits; then something goes wrong at the other end, or from outside. Every cause, for every combination of
//! pointers and calls at the two ends. A call returns the error; a closure on a pointer runs to its end over throw-away
//! pages, and its value is dropped.

use super::waits::until_waiting;
use crate::common::{SMALL, small};
use eagre_mem::probe::Pair;
use eagre_mem::stream::{Control, Reader, StreamError, StreamErrorKind, Writer};
use eagre_mem::{BlockSize, End, Pool, Trap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Cause {
    Says,
    Panics,
    Drops,
    Cancel,
    Timeout,
}

const CAUSES: [Cause; 5] = [Cause::Says, Cause::Panics, Cause::Drops, Cause::Cancel, Cause::Timeout];

/// How an end is used.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Use {
    Calls,
    Pointer,
}

fn uses(pair: Pair) -> &'static [Use] {
    if pair.trap == Trap::Off { &[Use::Calls] } else { &[Use::Calls, Use::Pointer] }
}

/// Counts as kept unless it is dropped.
struct Value<'f>(&'f AtomicBool);

impl Drop for Value<'_> {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

const LENGTH: usize = 12 * SMALL;

/// Runs a closure on a pointer that must run to its end and lose its value.
fn lost(run: impl FnOnce(&mut dyn FnMut(usize)) -> Result<(), StreamError>) -> Result<(), StreamError> {
    let mut reached = 0;
    let result = run(&mut |at| reached = at);
    assert_eq!(reached, LENGTH, "the code on the pointer did not run to its end");
    result
}

fn read_all(reader: &mut Reader, how: Use) -> Result<(), StreamError> {
    if how == Use::Calls {
        return reader.copy_out(&mut vec![0; LENGTH]).map(|_| ());
    }
    let dropped = AtomicBool::new(false);
    let result = lost(|reached| {
        reader.scope(|from| {
            // SAFETY: ascending loads; behind the failure there are zeros.
            let _sum: u64 = (0..LENGTH).map(|at| u64::from(unsafe { from.add(at).read_volatile() })).sum();
            reached(LENGTH);
            Value(&dropped)
        })?;
        Ok(())
    });
    assert!(dropped.load(SeqCst));
    result
}

fn write_all(writer: &mut Writer, how: Use) -> Result<(), StreamError> {
    if how == Use::Calls {
        return writer.copy_in(&vec![5; LENGTH]);
    }
    let dropped = AtomicBool::new(false);
    let result = lost(|reached| {
        writer.scope(|to| {
            // SAFETY: ascending stores; behind the failure they are thrown away.
            (0..LENGTH).for_each(|at| unsafe { to.add(at).write_volatile(5) });
            reached(LENGTH);
            Value(&dropped)
        })?;
        Ok(())
    });
    assert!(dropped.load(SeqCst));
    result
}

/// Lets it happen, at one end.
fn happen<E>(cause: Cause, mut end: E, control: &Control, fail: impl Fn(&mut E)) -> Option<E> {
    match cause {
        Cause::Says => fail(&mut end),
        Cause::Drops => return None,
        Cause::Panics => {
            let panicked = catch_unwind(AssertUnwindSafe(move || {
                let _end = end;
                std::panic::resume_unwind(Box::new("on purpose"));
            }));
            assert!(panicked.is_err());
            return None;
        }
        Cause::Cancel => control.cancel(),
        Cause::Timeout => {}
    }
    Some(end)
}

fn expected(cause: Cause, end: End) -> StreamErrorKind {
    match (cause, end) {
        (Cause::Cancel, _) => StreamErrorKind::Cancelled,
        (Cause::Timeout, _) => StreamErrorKind::TimedOut,
        (Cause::Says, End::Writer) => StreamErrorKind::WriterFailed,
        (_, End::Writer) => StreamErrorKind::WriterGone,
        _ => StreamErrorKind::ReaderGone,
    }
}

fn each_case(pair: Pair, mut case: impl FnMut(Cause, Use, Use)) {
    for cause in CAUSES {
        for &writes in uses(pair) {
            for &reads in uses(pair) {
                case(cause, writes, reads);
            }
        }
    }
}

each_pair! {
    fn invariant_5_a_waiting_reader_gets_the_error(pair) {
        let pool = Pool::new(BlockSize::MIN, 8, Some(pair.trap), Some(pair.mover)).unwrap();
        each_case(pair, |cause, writes, reads| {
            let name = format!("{cause:?}, {writes:?} to {reads:?}, {pair}");
            let mut builder = small(pair).name(&name).pool(&pool);
            if cause == Cause::Timeout {
                builder = builder.timeout(Duration::from_millis(20));
            }
            let pipe = builder.open().unwrap();
            let control = pipe.control();
            let (mut writer, mut reader) = pipe.split();
            std::thread::scope(|scope| {
                let reading = scope.spawn(move || read_all(&mut reader, reads));
                match writes {
                    Use::Calls => writer.copy_in(&vec![1; 2 * SMALL]).unwrap(),
                    Use::Pointer => {
                        // SAFETY: ascending stores.
                        let wrote = writer.scope(|to| unsafe { (0..2 * SMALL).for_each(|at| to.add(at).write(1)) });
                        if let Err(error) = wrote {
                            assert_eq!((error.kind(), cause), (StreamErrorKind::TimedOut, Cause::Timeout));
                        }
                    }
                }
                if cause != Cause::Timeout {
                    until_waiting(&name, End::Reader);
                }
                let writer = happen(cause, writer, &control, |writer| writer.fail("no more"));
                let error = reading.join().unwrap().unwrap_err();
                assert_eq!(error.kind(), expected(cause, End::Writer), "{name}");
                if cause == Cause::Says {
                    assert_eq!(error.detail(), Some("no more"));
                }
                // The end that is left learns of it from its next call.
                if let Some(mut writer) = writer {
                    assert_eq!(writer.finish().unwrap_err().kind(), error.kind());
                    assert_eq!(writer.reserve(1).unwrap_err().kind(), error.kind());
                }
            });
            assert_eq!(control.failure().map(|error| error.kind()), Some(expected(cause, End::Writer)));
            assert_eq!((pool.stats().taken, pool.stats().committed), (0, 0), "{name}: blocks are missing");
        });
    }

    fn invariant_5_a_waiting_writer_gets_the_error(pair) {
        let pool = Pool::new(BlockSize::MIN, 8, Some(pair.trap), Some(pair.mover)).unwrap();
        each_case(pair, |cause, writes, reads| {
            let name = format!("{cause:?}, {reads:?} from {writes:?}, {pair}");
            let mut builder = small(pair).name(&name).pool(&pool);
            if cause == Cause::Timeout {
                builder = builder.timeout(Duration::from_millis(20));
            }
            let pipe = builder.open().unwrap();
            let control = pipe.control();
            let (mut writer, mut reader) = pipe.split();
            std::thread::scope(|scope| {
                let writing = scope.spawn(move || write_all(&mut writer, writes));
                match reads {
                    Use::Calls => drop(reader.copy_out(&mut vec![0; SMALL])),
                    // SAFETY: ascending loads.
                    Use::Pointer => drop(reader.scope(|from| unsafe { from.add(SMALL - 1).read() })),
                }
                if cause != Cause::Timeout {
                    until_waiting(&name, End::Writer);
                }
                let reader = happen(cause, reader, &control, |reader| reader.fail("enough"));
                let error = writing.join().unwrap().unwrap_err();
                assert_eq!(error.kind(), expected(cause, End::Reader), "{name}");
                if let Some(mut reader) = reader {
                    assert_eq!(reader.fill(1).unwrap_err().kind(), error.kind());
                }
            });
            assert_eq!((pool.stats().taken, pool.stats().committed), (0, 0), "{name}: blocks are missing");
        });
    }

    /// Nobody waits yet: the next call, or the next scope, says it.
    fn invariant_5_a_failure_is_not_forgotten(pair) {
        let (mut writer, mut reader) = small(pair).open().unwrap().split();
        writer.copy_in(&[1; 100]).unwrap();
        writer.fail("the disk is full");
        for _ in 0..3 {
            assert_eq!(writer.reserve(1).unwrap_err().kind(), StreamErrorKind::WriterFailed);
            let error = reader.fill(1).unwrap_err();
            assert_eq!(error.detail(), Some("the disk is full"));
            if pair.trap != Trap::Off {
                assert_eq!(reader.scope(|_| ()).unwrap_err(), error);
            }
        }
    }

    /// What was published before the end is all there, whatever happens to the writer afterwards.
    fn invariant_5_a_finished_stream_survives_its_writer(pair) {
        let (mut writer, mut reader) = small(pair).open().unwrap().split();
        writer.copy_in(&[8; 1000]).unwrap();
        writer.finish().unwrap();
        drop(writer);
        let mut all = vec![0; 2000];
        assert_eq!(reader.copy_out(&mut all).unwrap(), 1000);
        assert!(all[..1000].iter().all(|&byte| byte == 8));
    }
}

each_pointer_pair! {
    /// A raw pointer outlives both ends while a thread is stopped in it: the thread gets a zero and goes on, even if
    /// other streams open and close at once.
    fn invariant_5_a_stopped_thread_outlives_its_stream(pair) {
        for round in 0..20 {
            let name = format!("outlived {round}, {pair}");
            let (writer, mut reader) = small(pair).name(&name).open().unwrap().split();
            let address = reader.as_ptr().unwrap().as_ptr() as usize;
            std::thread::scope(|scope| {
                // SAFETY: a load of the reader's range, which stays mapped while the thread is stopped in it.
                let stopped = scope.spawn(move || unsafe { (address as *const u8).read_volatile() });
                until_waiting(&name, End::Reader);
                drop(writer);
                drop(reader);
                drop(small(pair).open().unwrap());
                assert_eq!(stopped.join().unwrap(), 0);
            });
        }
    }

    /// Code that jumps about after the failure, back and forth, still runs to its end.
    fn invariant_5_draining_takes_any_pattern(pair) {
        let (writer, mut reader) = small(pair).open().unwrap().split();
        drop(writer);
        let raw = reader.as_ptr().unwrap().as_ptr();
        let mut rng = crate::common::Rng::new(5);
        for _ in 0..2000 {
            let at = rng.below(1 << 36) as usize;
            // SAFETY: inside the reservation of a failed stream, which drains.
            assert_eq!(unsafe { raw.add(at).read_volatile() }, 0);
        }
        assert_eq!(reader.scope(|_| ()).unwrap_err().kind(), StreamErrorKind::WriterGone);
    }
}
