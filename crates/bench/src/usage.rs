//! What the process has used so far: faults, context switches, processor time.

use serde::Serialize;

/// Totals from `getrusage`, or the difference of two.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Usage {
    /// Faults that the kernel served without a device; faults that raise SIGSEGV do not count.
    pub minor_faults: f64,
    /// Switches because a thread waited.
    pub voluntary_switches: f64,
    /// Switches because its time slice ended.
    pub involuntary_switches: f64,
    /// Seconds of processor time in the program.
    pub user_seconds: f64,
    /// Seconds of processor time in the kernel.
    pub system_seconds: f64,
}

impl Usage {
    /// The totals of the process, including threads that have ended.
    pub(crate) fn now() -> Usage {
        Usage::of(libc::RUSAGE_SELF)
    }

    /// The totals of the child processes that this process has waited for.
    pub(crate) fn of_children() -> Usage {
        Usage::of(libc::RUSAGE_CHILDREN)
    }

    fn of(whom: libc::c_int) -> Usage {
        let mut raw = std::mem::MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: the call fills the structure it is given, and zeroes are a valid one.
        let raw = unsafe {
            libc::getrusage(whom, raw.as_mut_ptr());
            raw.assume_init()
        };
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
        Usage {
            minor_faults: raw.ru_minflt as f64,
            voluntary_switches: raw.ru_nvcsw as f64,
            involuntary_switches: raw.ru_nivcsw as f64,
            user_seconds: seconds(raw.ru_utime),
            system_seconds: seconds(raw.ru_stime),
        }
    }

    /// What was used since `before`.
    pub(crate) fn since(self, before: Usage) -> Usage {
        Usage {
            minor_faults: self.minor_faults - before.minor_faults,
            voluntary_switches: self.voluntary_switches - before.voluntary_switches,
            involuntary_switches: self.involuntary_switches - before.involuntary_switches,
            user_seconds: self.user_seconds - before.user_seconds,
            system_seconds: self.system_seconds - before.system_seconds,
        }
    }

    /// Name and value of everything, for tables and means.
    pub(crate) fn fields(&self) -> [(&'static str, f64); 5] {
        [
            ("minor_faults", self.minor_faults),
            ("voluntary_switches", self.voluntary_switches),
            ("involuntary_switches", self.involuntary_switches),
            ("user_seconds", self.user_seconds),
            ("system_seconds", self.system_seconds),
        ]
    }
}
