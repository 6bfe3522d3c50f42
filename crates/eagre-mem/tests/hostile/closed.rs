//! Streams that are closed cost nobody anything, and their pointers are stale.

use super::frame::{Ends, For, Scenario};
use super::taken::{ROUNDS, again_and_again, rounds, some_rounds};
use super::util::*;
use eagre_mem::stream::{OnFailure, Pipe};
use eagre_mem::{BlockSize, GrowingBuffer, Pool, RewireErrorKind, RewiredVec, StreamPool};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("closed::unfinished_again_and_again", For::Pointers, Ends::Well, unfinished),
    Scenario::new("closed::drained_again_and_again", For::Pointers, Ends::Well, drained),
    Scenario::new("closed::poisoned_again_and_again", For::Pointers, Ends::Well, poisoned),
    Scenario::new("closed::refused_again_and_again", For::Pointers, Ends::Well, refused),
    Scenario::new("closed::under_waiting_threads_again_and_again", For::Pointers, Ends::Well, parked),
    Scenario::new("closed::rewired_again_and_again", For::Pointers, Ends::Well, rewired),
    Scenario::new("closed::default_capacity_stays", For::Pointers, Ends::Well, capacity_stays),
    Scenario::new("closed::who_was_let_go_and_goes_on", For::Pointers, Ends::ByFault, goes_on)
        .says(&["stream stale: read at offset 65536 after both ends were closed; keep an end as long as"]),
    Scenario::new("closed::stores_are_not_swallowed", For::Pointers, Ends::ByFault, stores),
];

/// Touches both ends through raw pointers and drops them unfinished, in either order.
fn unfinished() {
    again_and_again(ROUNDS, |round| {
        let (mut writer, mut reader) = Pipe::builder().block_size(BlockSize::MIN).open().unwrap().split();
        let (to, _from) = (writer.as_mut_ptr().unwrap().as_ptr(), reader.as_ptr().unwrap());
        // SAFETY: the first byte of the stream.
        unsafe { to.write_volatile(1) };
        if round % 2 == 0 { drop(writer) } else { drop(reader) }
    });
}

/// Code on a raw pointer that runs on after the failure, on throw-away pages.
fn drained() {
    again_and_again(ROUNDS, |_| {
        let (mut writer, mut reader) = ends("drained");
        let (to, from) = (writer.as_mut_ptr().unwrap().as_ptr(), reader.as_ptr().unwrap().as_ptr());
        writer.control().cancel();
        // SAFETY: ascending touches of a failed stream that drains.
        unsafe {
            to.write_volatile(1);
            to.add(5 * BLOCK).write_volatile(1);
            assert_eq!(from.add(BLOCK).read_volatile(), 0);
        }
    });
}

fn poisoned() {
    again_and_again(some_rounds(), |_| {
        let (mut writer, mut reader) = small("poisoned").on_failure(OnFailure::Poison).open().unwrap().split();
        let (to, _from) = (writer.as_mut_ptr().unwrap().as_ptr(), reader.as_ptr().unwrap());
        // SAFETY: the first byte of the stream.
        unsafe { to.write_volatile(1) };
        writer.fail("as expected");
    });
}

/// What is refused leaves nothing behind.
fn refused() {
    let pool = Pool::new(BlockSize::MIN, 2, None, None).unwrap();
    again_and_again(some_rounds(), |round| {
        if round % 2 == 0 {
            assert!(Pipe::builder().rewrite(99).open().is_err());
        } else {
            // Opens, but cannot have its first block.
            let mut pipe = small("refused").pool(&pool).open().unwrap();
            assert!(pipe.writer().copy_in(&[1]).is_err());
        }
    });
}

/// A thread waits in a touch of the reader's raw pointer while both ends are dropped: at the first block, or when blocks have come round.
fn parked() {
    again_and_again(rounds(300), |round| {
        let (mut writer, mut reader) = ends("parked");
        let (to, from) = (writer.as_mut_ptr().unwrap().as_ptr(), Raw(reader.as_ptr().unwrap().as_ptr()));
        let seen = if round % 2 == 0 { 0 } else { 10 };
        for block in 0..seen + 2 {
            // SAFETY: ascending stores and loads; the reader is two blocks behind.
            unsafe {
                to.add(block * BLOCK).write_volatile(1);
                if block >= 2 {
                    assert_eq!(from.read((block - 2) * BLOCK), 1);
                }
            }
            if seen == 0 {
                break;
            }
        }
        // SAFETY: waits until both ends are gone, and is let go with a throw-away page.
        let thread = std::thread::spawn(move || unsafe { from.read(seen * BLOCK) });
        until(|| waits("parked", End::Reader));
        drop((reader, writer));
        assert_eq!(thread.join().unwrap(), 0);
    });
}

/// Growing buffers that run out, vanishing arrays that are dropped half-way, vectors that are full.
fn rewired() {
    let pool = Pool::new(BlockSize::MIN, 4, None, None).unwrap();
    let arrays = StreamPool::on(&pool);
    again_and_again(some_rounds(), |_| {
        let mut buffer = GrowingBuffer::new(&pool, 8 * BLOCK as u64).unwrap();
        // SAFETY: ascending stores; beyond what the pool has they are lost.
        let write = |start: *mut u8| unsafe { (0..6).for_each(|at| start.add(at * BLOCK).write_volatile(1)) };
        assert_eq!(buffer.scope(write).unwrap_err().kind(), RewireErrorKind::OutOfBlocks);
        drop(buffer);
        let mut array = arrays.array::<u64>(1 << 20).unwrap();
        let to = array.writer().unwrap();
        // SAFETY: ascending stores within the limit.
        unsafe { (0..3).for_each(|at| to.add(at * BLOCK / 8).write_volatile(1)) };
        drop(array);
        let mut vector = RewiredVec::<u8>::with_limit(&pool, BLOCK).unwrap();
        assert!(vector.try_extend_from_slice(&[1; 2 * BLOCK]).is_err());
    });
    assert_eq!(pool.stats().taken, 0);
}

/// Streams that were closed take nothing from the default capacity of the next one.
fn capacity_stays() {
    let before = Pipe::open().unwrap().capacity();
    for _ in 0..300 {
        let (mut writer, mut reader) = Pipe::open().unwrap().split();
        let (to, _from) = (writer.as_mut_ptr().unwrap().as_ptr(), reader.as_ptr().unwrap());
        writer.control().cancel();
        // SAFETY: the first byte of a failed stream that drains.
        unsafe { to.write_volatile(1) };
        drop((writer, reader));
        let (writer, _reader) = Pipe::open().unwrap().split();
        assert_eq!(writer.control().stats().capacity, before);
    }
}

/// The thread that is let go has its page, and no other.
fn goes_on() {
    let (writer, mut reader) = ends("stale");
    let from = Raw(reader.as_ptr().unwrap().as_ptr());
    let (close, closed) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        // SAFETY: waits until both ends are gone, and is let go with a throw-away page.
        assert_eq!(unsafe { from.read(0) }, 0);
        closed.recv().unwrap();
        // SAFETY: none: this is the error under test.
        unsafe { from.read(BLOCK) }
    });
    until(|| waits("stale", End::Reader));
    drop((writer, reader));
    close.send(()).unwrap();
    let _ = thread.join();
}

fn stores() {
    let (mut writer, reader) = ends("stale");
    let to = writer.as_mut_ptr().unwrap().as_ptr();
    // SAFETY: the first byte of the stream; then none: the pointer is stale.
    unsafe {
        to.write_volatile(1);
        drop((writer, reader));
        to.write_volatile(2);
    }
}
