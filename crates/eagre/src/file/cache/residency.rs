//! How much of a file is in the page cache.
//!
//! The kernel counts the pages of a range (`cachestat`, Linux 6.5). Older kernels have no such call, and it may refuse
//! to answer for a file of another user. Then a few single bytes across the range are read with `RWF_NOWAIT`: a refusal
//! means that the byte is not in the cache. (The kernel starts to read it all the same. If a fast device finishes that
//! before the call returns, the byte counts as cached.)

use std::fs::File;
use std::io::IoSliceMut;

use rustix::fs::{Advice, FsWord, fadvise};
use rustix::io::{Errno, ReadWriteFlags, preadv2};

/// How many bytes are sampled where the kernel does not count. The answer is then off by a few percent.
const SAMPLES: u64 = 32;

/// Whether a file lives in memory (tmpfs, ramfs, hugetlbfs). There is no disk under it, so no cache to bypass.
pub(crate) fn lives_in_memory(file: &File) -> bool {
    const IN_MEMORY: [FsWord; 3] = [0x0102_1994, 0x8584_58f6, 0x9584_58f6];
    rustix::fs::fstatfs(file).is_ok_and(|system| IN_MEMORY.contains(&system.f_type))
}

/// How much of a range of a file was in the page cache a moment ago.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Residency {
    /// Bytes in the page cache; an estimate where the kernel does not count.
    pub(super) cached: u64,
    /// Bytes of the range.
    pub(super) of: u64,
}

impl Residency {
    /// From 0 (nothing is in memory) to 1 (everything is). An empty range counts as 1.
    pub(super) fn fraction(self) -> f64 {
        if self.of == 0 { 1.0 } else { self.cached as f64 / self.of as f64 }
    }
}

/// How much of `length` bytes from `offset` is in the page cache. `None` if there is no way to know.
pub(super) fn residency(file: &File, offset: u64, length: u64) -> Option<Residency> {
    counted(file, offset, length).or_else(|| sampled(file, offset, length))
}

fn counted(file: &File, offset: u64, length: u64) -> Option<Residency> {
    let cached = eagre_mem::cache::resident(file, offset, length).ok()?;
    // The kernel counts whole pages, which may be more than the range.
    Some(Residency { cached: cached.min(length), of: length })
}

fn sampled(file: &File, offset: u64, length: u64) -> Option<Residency> {
    // Without this the kernel would read ahead of each sample, and the following samples would find their bytes cached.
    fadvise(file, 0, None, Advice::Random).ok()?;
    let samples = SAMPLES.min(length);
    let hits = (0..samples).try_fold(0u64, |hits, sample| {
        let at = offset + (u128::from(length) * u128::from(sample) / u128::from(samples)) as u64;
        match preadv2(file, &mut [IoSliceMut::new(&mut [0])], at, ReadWriteFlags::NOWAIT) {
            Ok(_) => Some(hits + 1),
            Err(Errno::AGAIN) => Some(hits),
            // The file system does not support `RWF_NOWAIT`.
            Err(_) => None,
        }
    });
    let _ = fadvise(file, 0, None, Advice::Normal);
    let cached = (u128::from(length) * u128::from(hits?) / u128::from(samples.max(1))) as u64;
    Some(Residency { cached: if samples == 0 { length } else { cached }, of: length })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    const SIZE: u64 = 8 << 20;

    type Way = fn(&File, u64, u64) -> Option<Residency>;

    const WAYS: [Way; 2] = [counted, sampled];

    #[test]
    fn written_pages_are_cached_and_dropped_ones_are_not() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&vec![7; SIZE as usize]).unwrap();
        for way in WAYS {
            let Some(residency) = way(&file, 0, SIZE) else {
                eprintln!("skipped: this kernel or file system does not tell");
                continue;
            };
            assert_eq!(residency, Residency { cached: SIZE, of: SIZE });
        }
        file.sync_all().unwrap();
        fadvise(&file, SIZE / 2, None, Advice::DontNeed).unwrap();
        if counted(&file, SIZE / 2, SIZE / 2).is_none_or(|residency| residency.cached > 0) {
            eprintln!("skipped: this file system keeps its files in memory");
            return;
        }
        for way in WAYS {
            if way(&file, 0, SIZE).is_none() {
                continue;
            }
            let mut seen = Vec::new();
            // A fast device may bring a sampled byte in time, so that it counts as cached. One right result of many is
            // enough.
            let is_right = (0..50).any(|_| {
                let fraction_of = |offset, length| {
                    fadvise(&file, SIZE / 2, None, Advice::DontNeed).unwrap();
                    way(&file, offset, length).unwrap().fraction()
                };
                let (all, dropped) = (fraction_of(0, SIZE), fraction_of(SIZE / 2, SIZE / 2));
                seen.push((all, dropped));
                (0.45..=0.55).contains(&all) && dropped < 0.05
            });
            assert!(is_right, "{seen:?}");
        }
    }

    #[test]
    fn an_empty_range_counts_as_cached() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!(residency(&file, 0, 0).unwrap().fraction(), 1.0);
    }
}
