//! What speeds are shown in.

/// What a row's rates are shown in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Bytes per second, in 10^9.
    GigabytesPerSecond,
    /// The same, divided by the cores that could work on it.
    GigabytesPerSecondPerCore,
    /// Time per block.
    MicrosecondsPerMove,
    /// Time per access.
    NanosecondsPerAccess,
    /// Time per snapshot.
    MicrosecondsPerSnapshot,
    /// Time per update.
    MicrosecondsPerUpdate,
    /// Time per doubling of a directory.
    MicrosecondsPerDoubling,
    /// As the first, with faults, moves, switches and processor time per gigabyte.
    Overhead,
    /// Millions of rows per second, divided by the cores that could work on them.
    MegarowsPerSecondPerCore,
    /// Millions of keys per second.
    MegakeysPerSecond,
}

impl Unit {
    /// As tables write it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Unit::GigabytesPerSecond | Unit::Overhead => "GB/s",
            Unit::GigabytesPerSecondPerCore => "GB/s per core",
            Unit::MicrosecondsPerMove => "us per move",
            Unit::NanosecondsPerAccess => "ns per access",
            Unit::MicrosecondsPerSnapshot => "us per snapshot",
            Unit::MicrosecondsPerUpdate => "us per update",
            Unit::MicrosecondsPerDoubling => "us per doubling",
            Unit::MegarowsPerSecondPerCore => "M rows/s per core",
            Unit::MegakeysPerSecond => "M keys/s",
        }
    }

    /// The unit that tables write as `name`.
    pub(crate) fn named(name: &str) -> Option<Unit> {
        let units = [
            Unit::GigabytesPerSecond,
            Unit::GigabytesPerSecondPerCore,
            Unit::MicrosecondsPerMove,
            Unit::NanosecondsPerAccess,
            Unit::MicrosecondsPerSnapshot,
            Unit::MicrosecondsPerUpdate,
            Unit::MicrosecondsPerDoubling,
            Unit::MegarowsPerSecondPerCore,
            Unit::MegakeysPerSecond,
        ];
        units.into_iter().find(|unit| unit.name() == name)
    }

    /// A rate as tables show it.
    pub(crate) fn shown(self, rate: f64) -> f64 {
        match self {
            Unit::MicrosecondsPerMove
            | Unit::MicrosecondsPerSnapshot
            | Unit::MicrosecondsPerUpdate
            | Unit::MicrosecondsPerDoubling => 1e6 / rate,
            Unit::NanosecondsPerAccess => 1e9 / rate,
            _ => rate,
        }
    }

    /// Whether it is a time: then less is better.
    pub(crate) const fn is_time(self) -> bool {
        matches!(
            self,
            Unit::MicrosecondsPerMove
                | Unit::NanosecondsPerAccess
                | Unit::MicrosecondsPerSnapshot
                | Unit::MicrosecondsPerUpdate
                | Unit::MicrosecondsPerDoubling
        )
    }

    /// What costs are counted per.
    pub(crate) const fn amount_name(self) -> &'static str {
        match self {
            Unit::MicrosecondsPerMove => "move",
            Unit::NanosecondsPerAccess => "access",
            Unit::MicrosecondsPerSnapshot => "snapshot",
            Unit::MicrosecondsPerUpdate => "update",
            Unit::MicrosecondsPerDoubling => "doubling",
            Unit::MegarowsPerSecondPerCore => "M rows",
            Unit::MegakeysPerSecond => "M keys",
            _ => "GB",
        }
    }

    /// What the memory of a contender is: its process's own, or what it took for the work alone.
    pub(crate) const fn memory_name(self) -> &'static str {
        match self {
            Unit::MegakeysPerSecond => "MiB beside the keys",
            _ => "MiB",
        }
    }

    /// The same above a narrow column.
    pub(crate) const fn memory_column(self) -> &'static str {
        match self {
            Unit::MegakeysPerSecond => "extra, MiB",
            _ => "memory, MiB",
        }
    }

    /// Whether bandwidths say anything about it.
    pub(crate) const fn has_roofline(self) -> bool {
        !self.is_time() && !matches!(self, Unit::MegarowsPerSecondPerCore | Unit::MegakeysPerSecond)
    }
}
