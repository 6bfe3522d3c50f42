//! The load by other programs, which turns a measurement into noise.
//!
//! `/proc/stat` counts the time of all processors, `getrusage` that of this process. The difference, time stolen by a
//! hypervisor included, belongs to other programs. On two cores one foreign thread has changed the speed of a pipe by a
//! factor of ten, so rounds that others disturbed are repeated. The choice never depends on a result, so it favours no
//! contender.

use std::fs;
use std::time::{Duration, Instant};

use crate::usage::Usage;

/// A round during which other programs used more cores than this is noisy.
pub(crate) const QUIET: f64 = 0.1;

/// Measures the load from one point in time on.
pub(crate) struct Load {
    start: Instant,
    busy: f64,
    own: f64,
}

impl Load {
    /// Starts now.
    pub(crate) fn start() -> Load {
        Load { start: Instant::now(), busy: busy_seconds(), own: own_seconds() }
    }

    /// The time since the start.
    pub(crate) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// How many cores other programs have used since the start, on average.
    pub(crate) fn foreign(&self) -> f64 {
        let elapsed = self.start.elapsed().as_secs_f64();
        let (busy, own) = (busy_seconds() - self.busy, own_seconds() - self.own);
        others(busy, own, elapsed)
    }
}

/// Cores others used, from seconds. The kernel's clock ticks in hundredths, so a short time may come
/// out below zero.
fn others(busy: f64, own: f64, elapsed: f64) -> f64 {
    ((busy - own) / elapsed.max(1e-6)).max(0.0)
}

/// How long a run still waits for a quiet machine, in total.
pub(crate) struct Patience(Duration);

impl Patience {
    /// Waits for up to `seconds` in total.
    pub(crate) fn new(seconds: u64) -> Patience {
        Patience(Duration::from_secs(seconds))
    }

    /// Returns when no other program runs, or when no patience is left.
    pub(crate) fn wait_for_quiet(&mut self) {
        const PROBE: Duration = Duration::from_millis(100);
        while !self.0.is_zero() {
            let load = Load::start();
            std::thread::sleep(PROBE);
            if load.foreign() <= QUIET {
                return;
            }
            self.0 = self.0.saturating_sub(PROBE);
        }
    }

    /// Whether a noisy round that took `time` may be run again; if so, the time is spent.
    pub(crate) fn again(&mut self, time: Duration) -> bool {
        let willing = !self.0.is_zero();
        self.0 = self.0.saturating_sub(time);
        willing
    }
}

/// Seconds of processor time of this process, of its children that have ended, and of the kernel's threads, which write
/// back and complete I/O for this process.
fn own_seconds() -> f64 {
    let seconds = |usage: Usage| usage.user_seconds + usage.system_seconds;
    seconds(Usage::now()) + seconds(Usage::of_children()) + kernel_seconds()
}

/// Seconds of processor time of all threads of the kernel.
fn kernel_seconds() -> f64 {
    let ticks = rustix::param::clock_ticks_per_second().max(1) as f64;
    let processes = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit));
    let stats = processes.filter_map(|process| fs::read_to_string(process.path().join("stat")).ok());
    stats.map(|stat| kernel_ticks(&stat)).sum::<u64>() as f64 / ticks
}

/// The ticks in a line of `/proc/PID/stat`, if it belongs to a thread of the kernel; else 0.
fn kernel_ticks(stat: &str) -> u64 {
    /// The flag of such threads.
    const PF_KTHREAD: u64 = 0x0020_0000;
    // The name, in brackets, may hold anything; what follows it is numbers from the third field on.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let number =
        |field: usize| fields.split_ascii_whitespace().nth(field - 3).and_then(|text| text.parse::<u64>().ok());
    match (number(9), number(14), number(15)) {
        (Some(flags), Some(user), Some(system)) if flags & PF_KTHREAD != 0 => user + system,
        _ => 0,
    }
}

/// Seconds that all processors were busy or stolen; 0 if the system does not count them.
fn busy_seconds() -> f64 {
    let ticks = rustix::param::clock_ticks_per_second().max(1) as f64;
    parse(&fs::read_to_string("/proc/stat").unwrap_or_default()) as f64 / ticks
}

/// The busy ticks of `/proc/stat`: everything but idle and waiting for a device; guests are part of
/// the user's.
fn parse(text: &str) -> u64 {
    let Some(all) = text.lines().find_map(|line| line.strip_prefix("cpu ")) else {
        return 0;
    };
    let ticks = all.split_ascii_whitespace().take(8).map(|n| n.parse().unwrap_or(0));
    ticks.enumerate().filter(|(i, _)| !matches!(i, 3 | 4)).map(|(_, n): (_, u64)| n).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_and_guests_do_not_count() {
        let text = "cpu  10 2 3 1000 500 6 7 8 9 9\ncpu0 1 1 1 1 1 1 1 1 1 1\n";
        assert_eq!(parse(text), 10 + 2 + 3 + 6 + 7 + 8);
        assert_eq!(parse(""), 0);
    }

    #[test]
    fn threads_of_the_kernel_are_told_apart() {
        let stat = |name, flags| format!("12 ({name}) S 2 0 0 0 -1 {flags} 0 0 0 0 5 37 0 0 20 0 1 0 39 0");
        assert_eq!(kernel_ticks(&stat("kworker/0:1-ev", 0x0420_8060)), 42);
        assert_eq!(kernel_ticks(&stat("a) S 2 (b", 0x0420_8060)), 42);
        assert_eq!(kernel_ticks(&stat("bash", 0x0040_0000)), 0);
        assert_eq!(kernel_ticks(""), 0);
    }

    #[test]
    fn our_own_work_is_not_foreign() {
        assert_eq!(others(3.0, 2.0, 0.5), 2.0);
        assert_eq!(others(1.99, 2.0, 0.5), 0.0, "ticks are coarse");
        assert_eq!(others(1.0, 0.0, 0.0), 1e6, "no division by zero");
    }

    #[test]
    fn patience_ends() {
        let mut none = Patience::new(0);
        none.wait_for_quiet();
        assert!(!none.again(Duration::ZERO));
        let mut some = Patience::new(1);
        assert!(some.again(Duration::from_millis(700)));
        assert!(some.again(Duration::from_millis(700)));
        assert!(!some.again(Duration::from_millis(700)));
    }
}
