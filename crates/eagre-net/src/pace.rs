//! A limit of bytes a second, for several streams together.

use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::link::{Broken, TICK};

/// The smallest piece, for slow links.
const LEAST_PIECE: u64 = 4 << 10;

/// When the next bytes may be sent.
#[derive(Debug)]
pub(crate) struct Pace {
    rate: u64,
    next: Mutex<Instant>,
}

impl Pace {
    /// So many bytes a second, at least one.
    pub(crate) fn new(rate: u64) -> Pace {
        Pace { rate: rate.max(1), next: Mutex::new(Instant::now()) }
    }

    /// Pieces of an eighth of a second.
    pub(crate) fn piece(&self, most: u64) -> u64 {
        let wanted = (self.rate / 8).max(1);
        (1 << wanted.ilog2()).clamp(LEAST_PIECE.min(most), most)
    }

    /// Waits until so many bytes may be sent. What `tick` says now and then ends the wait.
    pub(crate) fn wait(&self, bytes: u64, mut tick: impl FnMut() -> Result<(), Broken>) -> Result<(), Broken> {
        let time = Duration::from_secs_f64(bytes as f64 / self.rate as f64);
        while let Some(left) = self.take(time) {
            thread::sleep(left.min(TICK));
            tick()?;
        }
        Ok(())
    }

    /// Takes this much time of the link, or says when the link is free.
    fn take(&self, time: Duration) -> Option<Duration> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let left = next.saturating_duration_since(now);
        if !left.is_zero() {
            return Some(left);
        }
        // After a pause nothing is made up for.
        *next = now.max(*next) + time;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_share_the_time() {
        let pace = Pace::new(1000);
        assert_eq!(pace.take(Duration::from_secs(60)), None);
        for _ in 0..2 {
            let left = pace.take(Duration::from_secs(1)).unwrap();
            assert!(left > Duration::from_secs(1), "{left:?}");
        }
    }

    #[test]
    fn pieces_fit_the_rate() {
        assert_eq!(Pace::new(0).piece(1 << 18), LEAST_PIECE);
        assert_eq!(Pace::new(1 << 20).piece(1 << 18), 1 << 17);
        assert_eq!(Pace::new(u64::MAX).piece(1 << 18), 1 << 18);
        assert_eq!(Pace::new(1).piece(512), 512);
    }
}
