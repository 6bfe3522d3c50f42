//! How fast the core is at this moment.
//!
//! A chain of dependent multiplications takes the same number of cycles each time. If it takes longer than it once did, the
//! core's clock is lower, or another program had the core: what was measured beside it counts for nothing.

use std::hint::black_box;
use std::time::Instant;

/// Multiplications in the chain: some twenty microseconds.
const CHAIN: u64 = 20_000;
/// A chain that takes this much longer than the shortest one was disturbed.
const DISTURBED: f64 = 1.08;
/// A sample is repeated at most so often.
const TRIES: usize = 12;

/// The shortest chain so far, in seconds.
pub(super) struct Gauge(f64);

impl Gauge {
    pub(super) fn new() -> Gauge {
        let chains = (0..2000).map(|_| chain());
        Gauge(chains.fold(f64::INFINITY, f64::min))
    }

    /// Takes a sample, in seconds, again if the core was slower before or after it. The shortest of those that were all
    /// disturbed is better than none.
    pub(super) fn sample(&mut self, mut take: impl FnMut() -> f64) -> f64 {
        let mut least = f64::INFINITY;
        for _ in 0..TRIES {
            let before = chain();
            let taken = take();
            let after = chain();
            self.0 = self.0.min(before).min(after);
            least = least.min(taken);
            if before.max(after) < DISTURBED * self.0 {
                return taken;
            }
        }
        least
    }
}

fn chain() -> f64 {
    let start = Instant::now();
    let product = (0..CHAIN).fold(black_box(3u64), |product, _| black_box(product.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    black_box(product);
    start.elapsed().as_secs_f64()
}
