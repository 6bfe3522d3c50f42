//! A shared ring of words: the `rtrb` crate, written and read in place, a chunk at a time.
//!
//! The crate leaves waiting to its user: here a short spin, then a yield to other threads.
//! A ring of 8 MiB and chunks of 512 KiB to 1 MiB did best of 512 KiB to 8 MiB and 16 KiB to 1 MiB:
//! 90-100 GB/s when the queue gave 110, against 40 with a ring of 1 MiB, because bytes that have
//! left the writer's own cache are read several times faster than those still in it.

use rtrb::RingBuffer;

use crate::contenders::{Contender, Measured, Trouble, two_threads};
use crate::kernels::{Tally, fill_at};
use crate::spsc::SPIN;

/// Words in the ring, and in a chunk of it.
const RING: usize = (8 << 20) / 8;
const CHUNK: usize = (512 << 10) / 8;

/// The ring is made anew for each run, before the clock starts.
pub(crate) struct Ring;

/// Polls for a result: spins, then yields.
fn wait<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let mut turns = 0u32;
    loop {
        if let Some(found) = look() {
            return found;
        }
        turns = turns.saturating_add(1);
        if turns < SPIN {
            std::hint::spin_loop();
        } else {
            std::thread::yield_now();
        }
    }
}

impl Contender for Ring {
    fn run(&mut self, size: u64) -> Result<Measured, Trouble> {
        let words = size / 8;
        let (mut producer, mut consumer) = RingBuffer::<u64>::new(RING);
        // Touch each of its pages once.
        if let Ok(mut chunk) = producer.write_chunk(RING) {
            chunk.as_mut_slices().0.fill(1);
            chunk.commit_all();
        }
        if let Ok(chunk) = consumer.read_chunk(RING) {
            chunk.commit_all();
        }
        let (took, (), answer) = two_threads(
            move || {
                let mut written = 0;
                while written < words {
                    let n = (words - written).min(CHUNK as u64) as usize;
                    wait(|| (producer.slots() >= n || producer.is_abandoned()).then_some(()));
                    let Ok(mut chunk) = producer.write_chunk_uninit(n) else {
                        break;
                    };
                    let (first, second) = chunk.as_mut_slices();
                    let split = first.len() as u64;
                    // SAFETY: both slices are writable over their length, and together they are the
                    // whole chunk, which is therefore initialised when it is committed.
                    unsafe {
                        fill_at(first.as_mut_ptr().cast(), first.len(), written);
                        fill_at(second.as_mut_ptr().cast(), second.len(), written + split);
                        chunk.commit_all();
                    }
                    written += n as u64;
                }
                Ok(())
            },
            move || {
                let (mut tally, mut read) = (Tally::default(), 0);
                while read < words {
                    let n = (words - read).min(CHUNK as u64) as usize;
                    wait(|| (consumer.slots() >= n || consumer.is_abandoned()).then_some(()));
                    let Ok(chunk) = consumer.read_chunk(n) else {
                        break;
                    };
                    let (first, second) = chunk.as_slices();
                    tally.add(first);
                    tally.add(second);
                    chunk.commit_all();
                    read += n as u64;
                }
                tally.answer()
            },
        )?;
        Ok(Measured::pipe(took, size, answer))
    }
}
