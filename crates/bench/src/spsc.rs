//! A queue of one producer and one consumer, as fast as we can write one: the ideal to compare with.
//!
//! Two counters, each on a cache line of its own; slot `i % n` belongs to the producer while
//! `sent - received < n`. A waiting side spins for a while, because the other side is usually a few
//! microseconds away and a sleep costs tens, and then sleeps on a futex.
//!
//! Items are whole blocks, so a hand-over costs some 100 ns against 50-100 us of work on the block;
//! what matters is the length of the spin. See [`SPIN`].

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};

use rustix::thread::futex;

/// How often a waiting side looks before it sleeps: some 5 us.
///
/// Measured with blocks of 2 MiB, GB/s: when both cores are free, 200 to 10,000 looks give 117-118, none 112. When a
/// third thread wants a core, 200 give 44-47, none 49, 1,000 give 37, 2,000 give 27 and 5,000 give 16: the spinning side
/// keeps the other one from running. Yielding between looking and sleeping gained nothing.
pub(crate) const SPIN: u32 = 200;

/// A value on a pair of cache lines of its own: neighbouring lines are fetched together.
#[repr(align(128))]
struct Apart<T>(T);

/// One side's place to wait.
struct Bed(AtomicU32);

impl Bed {
    const AWAKE: u32 = 0;
    const ASLEEP: u32 = 1;

    /// Returns when `ready` is true.
    fn wait(&self, spin: u32, ready: impl Fn() -> bool) {
        for _ in 0..spin {
            if ready() {
                return;
            }
            std::hint::spin_loop();
        }
        loop {
            self.0.store(Bed::ASLEEP, Ordering::Relaxed);
            // Against the fence in `wake`: either `ready` sees the other side's counter, or the
            // other side sees that we sleep.
            fence(Ordering::SeqCst);
            if ready() {
                self.0.store(Bed::AWAKE, Ordering::Relaxed);
                return;
            }
            // An early return, for whatever reason, is a turn of the loop.
            let _ = futex::wait(&self.0, futex::Flags::PRIVATE, Bed::ASLEEP, None);
        }
    }

    /// Wakes whoever waits here; to be called after the counter it waits for was stored.
    fn wake(&self) {
        fence(Ordering::SeqCst);
        if self.0.load(Ordering::Relaxed) == Bed::ASLEEP {
            self.0.store(Bed::AWAKE, Ordering::Relaxed);
            let _ = futex::wake(&self.0, futex::Flags::PRIVATE, 1);
        }
    }
}

/// What both ends share.
struct Ring<T> {
    sent: Apart<AtomicU64>,
    received: Apart<AtomicU64>,
    producer: Apart<Bed>,
    consumer: Apart<Bed>,
    closed: AtomicBool,
    spin: u32,
    slots: Box<[UnsafeCell<MaybeUninit<T>>]>,
}

// SAFETY: a slot is touched by the producer while `sent - received < n` and by the consumer while
// `received < sent`; the counters are stored with release and loaded with acquire, so the two never
// overlap, and an item moves from one thread to the other once.
unsafe impl<T: Send> Sync for Ring<T> {}

impl<T> Ring<T> {
    fn slot(&self, index: u64) -> *mut MaybeUninit<T> {
        self.slots[(index % self.slots.len() as u64) as usize].get()
    }
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        let (from, to) = (*self.received.0.get_mut(), *self.sent.0.get_mut());
        for index in from..to {
            // SAFETY: sent and not received: the slot holds an item, and nobody else is left.
            unsafe { (*self.slot(index)).assume_init_drop() };
        }
    }
}

/// The sending end.
pub(crate) struct Producer<T>(Arc<Ring<T>>);

/// The receiving end.
pub(crate) struct Consumer<T>(Arc<Ring<T>>);

/// A queue of `capacity` items whose ends look `spin` times before they sleep.
pub(crate) fn queue<T>(capacity: usize, spin: u32) -> (Producer<T>, Consumer<T>) {
    let ring = Arc::new(Ring {
        sent: Apart(AtomicU64::new(0)),
        received: Apart(AtomicU64::new(0)),
        producer: Apart(Bed(AtomicU32::new(Bed::AWAKE))),
        consumer: Apart(Bed(AtomicU32::new(Bed::AWAKE))),
        closed: AtomicBool::new(false),
        spin,
        slots: (0..capacity.max(1)).map(|_| UnsafeCell::new(MaybeUninit::uninit())).collect(),
    });
    (Producer(ring.clone()), Consumer(ring))
}

impl<T> Producer<T> {
    /// Sends `item`, waiting for room. Hands it back when the consumer is gone.
    pub(crate) fn send(&self, item: T) -> Result<(), T> {
        let ring = &*self.0;
        let (sent, room) = (ring.sent.0.load(Ordering::Relaxed), ring.slots.len() as u64);
        let gone = || ring.closed.load(Ordering::Acquire);
        let free = || sent - ring.received.0.load(Ordering::Acquire) < room;
        ring.producer.0.wait(ring.spin, || free() || gone());
        if gone() {
            return Err(item);
        }
        // SAFETY: there is room, so the slot is the producer's, and this is the one producer.
        unsafe { (*ring.slot(sent)).write(item) };
        ring.sent.0.store(sent + 1, Ordering::Release);
        ring.consumer.0.wake();
        Ok(())
    }
}

impl<T> Consumer<T> {
    /// The next item, waiting for it; `None` when the producer is gone and the queue is empty.
    pub(crate) fn receive(&self) -> Option<T> {
        let ring = &*self.0;
        let received = ring.received.0.load(Ordering::Relaxed);
        let there = || ring.sent.0.load(Ordering::Acquire) > received;
        let gone = || ring.closed.load(Ordering::Acquire);
        ring.consumer.0.wait(ring.spin, || there() || gone());
        if !there() {
            return None;
        }
        // SAFETY: it was sent and not received, so the slot is the consumer's and holds an item,
        // and this is the one consumer.
        let item = unsafe { (*ring.slot(received)).assume_init_read() };
        ring.received.0.store(received + 1, Ordering::Release);
        ring.producer.0.wake();
        Some(item)
    }
}

impl<T> Drop for Producer<T> {
    fn drop(&mut self) {
        self.0.closed.store(true, Ordering::Release);
        self.0.consumer.0.wake();
    }
}

impl<T> Drop for Consumer<T> {
    fn drop(&mut self) {
        self.0.closed.store(true, Ordering::Release);
        self.0.producer.0.wake();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_arrive_in_order_and_once_with_and_without_spinning() {
        for (capacity, spin) in [(1, 0), (1, SPIN), (3, 0), (4, SPIN)] {
            let (producer, consumer) = queue(capacity, spin);
            std::thread::scope(|scope| {
                scope.spawn(move || {
                    for i in 0..20_000u64 {
                        producer.send(Box::new(i)).unwrap();
                    }
                });
                let got: Vec<u64> = std::iter::from_fn(|| consumer.receive().map(|i| *i)).collect();
                assert!(got.iter().copied().eq(0..20_000));
            });
        }
    }

    #[test]
    fn an_end_that_goes_away_ends_the_other() {
        let (producer, consumer) = queue(1, 0);
        producer.send(1).unwrap();
        std::thread::scope(|scope| {
            let sender = scope.spawn(move || producer.send(2));
            std::thread::sleep(std::time::Duration::from_millis(5));
            drop(consumer);
            assert_eq!(sender.join().unwrap(), Err(2));
        });
        let (producer, consumer) = queue::<u32>(1, 0);
        drop(producer);
        assert_eq!(consumer.receive(), None);
    }

    #[test]
    fn what_was_never_received_is_dropped() {
        let (item, (producer, consumer)) = (Arc::new(()), queue(4, 0));
        producer.send(item.clone()).unwrap();
        producer.send(item.clone()).unwrap();
        drop((producer, consumer));
        assert_eq!(Arc::strong_count(&item), 1);
    }
}
