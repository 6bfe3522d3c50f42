//! What the processor counts: cycles, instructions and misses, where the machine lets a program count them.
//!
//! Virtual machines mostly do not. Then [`crate::callgrind`] counts instructions, and nobody misses.

use perf_event::events::{Cache, CacheOp, CacheResult, Event, Hardware, WhichCache};
use perf_event::{Builder, Counter};

const fn misses(which: WhichCache) -> Event {
    Event::Cache(Cache { which, operation: CacheOp::READ, result: CacheResult::MISS })
}

/// What is counted, by the names that tables show.
const EVENTS: [(&str, Event); 6] = [
    ("cycles", Event::Hardware(Hardware::CPU_CYCLES)),
    ("instructions", Event::Hardware(Hardware::INSTRUCTIONS)),
    ("branch_misses", Event::Hardware(Hardware::BRANCH_MISSES)),
    ("L1_data_misses", misses(WhichCache::L1D)),
    ("last_level_misses", misses(WhichCache::LL)),
    ("TLB_misses", misses(WhichCache::DTLB)),
];

/// Counters that run.
pub(crate) struct Counters(Vec<(&'static str, Counter)>);

impl Counters {
    /// Begins to count, in this thread and in those that it starts from now on, in the program and in the kernel. What the
    /// machine does not count, or not for this user, is left out.
    pub(crate) fn start() -> Counters {
        let open = |(name, event): (&'static str, Event)| {
            let mut builder = Builder::new().kind(event);
            builder.inherit(true).include_kernel();
            let mut counter = builder.build().ok()?;
            counter.enable().ok()?;
            Some((name, counter))
        };
        Counters(EVENTS.into_iter().filter_map(open).collect())
    }

    /// What was counted. Where the processor has fewer counters than there are events, each counts for a part of the time, and
    /// stands for all of it.
    pub(crate) fn stop(self) -> Vec<(&'static str, f64)> {
        let read = |(name, mut counter): (&'static str, Counter)| {
            counter.disable().ok()?;
            let counted = counter.read_count_and_time().ok()?;
            let share = counted.time_running as f64 / counted.time_enabled as f64;
            (share > 0.0).then(|| (name, counted.count as f64 / share))
        };
        self.0.into_iter().filter_map(read).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where instructions are counted, those of another thread are.
    #[test]
    fn threads_that_are_started_count() {
        let spin = |turns: u64| (0..turns).map(std::hint::black_box).sum::<u64>();
        let counters = Counters::start();
        std::thread::scope(|scope| scope.spawn(|| spin(10_000_000)).join()).unwrap();
        let counted = counters.stop();
        match counted.iter().find(|(name, _)| *name == "instructions") {
            Some((_, instructions)) => assert!(*instructions > 1e7, "{counted:?}"),
            None => eprintln!("skipped: this machine counts no instructions"),
        }
    }
}
