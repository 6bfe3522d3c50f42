//! How the threads of a sort share a device.

use std::fmt;
use std::str::FromStr;

use super::FileSorter;
use super::kernels::Pace;
use crate::device::{Access, Profile};

/// Who reads and who writes at the same time, while several threads make pieces of a file: when records are fetched by
/// pointers, when runs are merged, and when records in memory are written (WiscSort, PVLDB 16, 2023, section 3.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Concurrency {
    /// [`Aware`](Self::Aware) on a device that loses if it is read and written at the same time, else
    /// [`Overlap`](Self::Overlap) if fewer threads than there are would be best, else [`NoSync`](Self::NoSync). What a device
    /// does is known if it is emulated, or if files there are memory and it has been measured. Of other devices, threads read
    /// the page cache and what streams have read ahead, so there it is `NoSync`.
    #[default]
    Auto,
    /// Any number of threads read, and any number write, at any time.
    NoSync,
    /// Reads and writes overlap. No more threads read, and no more write, than is best by the profile of the device; without a
    /// profile, any number.
    Overlap,
    /// The same, but no thread reads from the device while another writes. What is apart is what the threads of the sort do:
    /// a stream writes behind them, and may still have a few blocks to write when they read again.
    Aware,
}

impl Concurrency {
    const NAMES: [(Concurrency, &'static str); 4] = [
        (Concurrency::Auto, "auto"),
        (Concurrency::NoSync, "no-sync"),
        (Concurrency::Overlap, "overlap"),
        (Concurrency::Aware, "aware"),
    ];
}

impl fmt::Display for Concurrency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Concurrency::NAMES.iter().find(|(model, _)| model == self);
        f.pad(name.map_or("", |(_, name)| name))
    }
}

impl FromStr for Concurrency {
    type Err = String;

    fn from_str(text: &str) -> Result<Concurrency, String> {
        let found = Concurrency::NAMES.iter().find(|(_, name)| *name == text);
        found
            .map(|(model, _)| *model)
            .ok_or_else(|| "not a model of concurrency; there are auto, no-sync, overlap and aware".to_owned())
    }
}

/// A model for so many threads on some devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Controller {
    /// Not [`Concurrency::Auto`].
    pub(super) model: Concurrency,
    threads: usize,
    /// How many threads may read at a time, and how many write.
    readers: usize,
    writers: usize,
}

/// What is known about the devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Known {
    /// With how many threads reads and writes are the fastest.
    readers: usize,
    writers: usize,
    /// Whether reads and writes at the same time are slower than one after the other.
    loses: bool,
    /// Whether threads themselves read and write the device.
    direct: bool,
}

impl Controller {
    /// `profiles` are those of the devices of the input, of temporary files and of the output.
    pub(super) fn new(settings: &FileSorter<'_>, threads: usize, profiles: Option<&[Profile; 3]>) -> Controller {
        let known = match (settings.device, profiles) {
            (Some(device), _) => Known {
                readers: threads,
                writers: device.model().writers as usize,
                loses: device.model().read_beside_writer > 0.0,
                direct: true,
            },
            (None, Some(profiles)) => known(profiles, threads),
            (None, None) => Known { readers: threads, writers: threads, loses: false, direct: false },
        };
        Controller::of(settings.concurrency, threads, known)
    }

    fn of(wanted: Concurrency, threads: usize, known: Known) -> Controller {
        let (readers, writers) = (known.readers.clamp(1, threads), known.writers.clamp(1, threads));
        let model = match wanted {
            Concurrency::Auto if !known.direct => Concurrency::NoSync,
            Concurrency::Auto if known.loses => Concurrency::Aware,
            Concurrency::Auto if readers.min(writers) < threads => Concurrency::Overlap,
            Concurrency::Auto => Concurrency::NoSync,
            model => model,
        };
        let free = model == Concurrency::NoSync;
        let (readers, writers) = if free { (threads, threads) } else { (readers, writers) };
        Controller { model, threads, readers, writers }
    }

    /// The pace of up to `threads` threads. `write` is what writing takes. If they make pieces of what is in memory, nobody
    /// `reads` the device.
    pub(super) fn pace<'a>(&self, threads: usize, reads: bool, write: Option<&'a (dyn Fn(u64) + Sync)>) -> Pace<'a> {
        let threads = threads.min(self.threads);
        Pace {
            threads,
            readers: if reads { self.readers.min(threads) } else { threads },
            writers: self.writers.min(threads),
            apart: reads && self.model == Concurrency::Aware,
            write,
        }
    }
}

/// What profiles tell.
fn known([input, temporary, output]: &[Profile; 3], threads: usize) -> Known {
    /// Below this, reads and writes at the same time lose for sure, and not by chance.
    const CLEARLY: f64 = 0.8;
    let depth = |profile: &Profile, access: Access| {
        let depths = profile.measured.iter().filter(|measured| measured.access == access).count();
        // One number does not tell which is the best.
        if depths > 1 { profile.depth(access) as usize } else { threads }
    };
    let reading = |profile: &Profile| depth(profile, Access::SequentialRead).max(depth(profile, Access::RandomRead));
    let shared = [input, temporary].iter().any(|other| other.identity.is_same_device(&output.identity));
    Known {
        readers: reading(input).min(reading(temporary)),
        writers: depth(temporary, Access::SequentialWrite).min(depth(output, Access::SequentialWrite)),
        loses: shared && output.overlap() < CLEARLY,
        direct: [input, temporary, output].iter().all(|profile| profile.identity.is_byte_addressable()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{Emulated, Identity, Measured, Thoroughness};

    #[test]
    fn names_are_known_and_others_are_listed() {
        for (model, name) in Concurrency::NAMES {
            assert_eq!((name.parse(), model.to_string()), (Ok(model), name.to_owned()));
        }
        let error = "sync".parse::<Concurrency>().unwrap_err();
        assert!(Concurrency::NAMES.iter().all(|(_, name)| error.contains(name)), "{error}");
    }

    #[test]
    fn the_device_decides() {
        let of = |device: &str, threads| {
            let device: Emulated = device.parse().unwrap();
            let Controller { model, readers, writers, .. } =
                Controller::new(&FileSorter::new().emulate(&device), threads, None);
            (model, readers, writers)
        };
        assert_eq!(of("braid", 8), (Concurrency::Aware, 8, 2));
        assert_eq!(of("braid", 1), (Concurrency::Aware, 1, 1));
        assert_eq!(of("bard", 8), (Concurrency::NoSync, 8, 8));
        let free = Controller::new(&FileSorter::new(), 4, None);
        assert_eq!(
            (free.model, free.pace(8, true, None).readers, free.pace(2, true, None).writers),
            (Concurrency::NoSync, 4, 2)
        );
        let aware = Controller::new(&FileSorter::new().concurrency(Concurrency::Aware), 4, None);
        assert!(aware.pace(4, true, None).apart && !aware.pace(4, false, None).apart);
    }

    #[test]
    fn a_profile_counts_where_files_are_memory() {
        let rate = |access, depth, rate| Measured::new(access, 1 << 20, depth, rate);
        let measured = [
            rate(Access::SequentialRead, 1, 4e9),
            rate(Access::SequentialRead, 4, 8e9),
            rate(Access::SequentialWrite, 1, 1e9),
            rate(Access::SequentialWrite, 4, 1e9),
            rate(Access::ReadBesideWrite, 4, 1e9),
            rate(Access::WriteBesideRead, 4, 2e8),
        ];
        let folder = tempfile::tempdir().unwrap();
        let mut identity = Identity::of(folder.path()).unwrap();
        for (in_memory, measured, model, writers) in [
            (true, &measured[..], Concurrency::Aware, 1),
            (true, &measured[..4], Concurrency::Overlap, 1),
            (true, &measured[..2], Concurrency::NoSync, 4),
            (true, &[], Concurrency::NoSync, 4),
            (false, &measured[..], Concurrency::NoSync, 4),
        ] {
            (identity.in_memory, identity.dax) = (in_memory, false);
            let profile = Profile::new(identity.clone(), Thoroughness::Full, measured.to_vec());
            let profiles = [profile.clone(), profile.clone(), profile];
            let found = Controller::new(&FileSorter::new(), 4, Some(&profiles));
            assert_eq!((found.model, found.writers), (model, writers));
        }
    }
}
