//! The right to bring a block in.

#![forbid(unsafe_code)]

use crate::sys::futex;
use std::sync::atomic::{AtomicU32, Ordering::*};

/// The right to bring a block into a range: several threads may touch the same absent block at once.
///
/// Held only between the first and the last step of one touch, by code that does nothing else.
#[derive(Debug, Default)]
pub(crate) struct Claim(AtomicU32);

const FREE: u32 = 0;
const HELD: u32 = 1;
const CONTENDED: u32 = 2;

impl Claim {
    pub(crate) const fn new() -> Claim {
        Claim(AtomicU32::new(FREE))
    }

    /// Waits for the right and takes it.
    #[inline]
    pub(crate) fn take(&self) -> Claimed<'_> {
        if self.0.compare_exchange(FREE, HELD, SeqCst, SeqCst).is_err() {
            while self.0.swap(CONTENDED, SeqCst) != FREE {
                futex::wait(&self.0, CONTENDED, None);
            }
        }
        Claimed(self)
    }
}

/// The right, given back on drop.
pub(crate) struct Claimed<'c>(&'c Claim);

impl Drop for Claimed<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.0.0.swap(FREE, SeqCst) == CONTENDED {
            futex::wake(&self.0.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holder_at_a_time() {
        let claim = Claim::default();
        let inside = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..if cfg!(miri) { 10 } else { 5_000 } {
                        let _claimed = claim.take();
                        assert_eq!(inside.fetch_add(1, SeqCst), 0);
                        inside.fetch_sub(1, SeqCst);
                    }
                });
            }
        });
    }
}
