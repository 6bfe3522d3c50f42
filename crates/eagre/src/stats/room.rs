//! Memory accounting. Memory is accounted for before it is used, so that a lack of it is an error and the process is
//! not killed.
//!
//! The system is asked only when the grant is used up. Each grant is a fraction of what is left. So when memory runs
//! short, grants become small and questions frequent.

use std::fs::File;
use std::io::Read;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::StatsError;
use crate::doctor::{Available, Bound, available_memory};

/// Granted without asking, because asking takes longer than processing a small file.
const FREE: u64 = 8 << 20;
/// The largest grant.
const GRANT: u64 = 64 << 20;
/// Left to the rest of the process: buffers, sorting, page tables.
const SPARE: u64 = 8 << 20;

/// The memory account of the tables of one result.
#[derive(Debug)]
pub(super) struct Room {
    taken: AtomicU64,
    granted: AtomicU64,
    /// The memory of the process without these tables.
    before: OnceLock<u64>,
    asking: Mutex<()>,
}

/// Memory was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refused {
    /// How many bytes the tables take.
    pub(super) taken: u64,
    /// How much memory is left, if the system was asked. `None` if an allocation failed.
    pub(super) available: Option<Available>,
}

impl Refused {
    /// The public error, given the number of keys so far.
    pub(super) fn into_error(self, keys: usize) -> StatsError {
        StatsError::Memory { keys: keys as u64, taken: self.taken, available: self.available }
    }
}

impl Default for Room {
    fn default() -> Room {
        let (taken, granted) = (AtomicU64::new(0), AtomicU64::new(FREE));
        Room { taken, granted, before: OnceLock::new(), asking: Mutex::new(()) }
    }
}

impl Room {
    /// Accounts for this many bytes.
    pub(super) fn take(&self, bytes: usize) -> Result<(), Refused> {
        let bytes = bytes as u64;
        let taken = self.taken.fetch_add(bytes, Relaxed) + bytes;
        if taken <= self.granted.load(Relaxed) {
            return Ok(());
        }
        let _one = self.asking.lock().unwrap_or_else(PoisonError::into_inner);
        let granted = self.granted.load(Relaxed);
        if taken <= granted {
            return Ok(());
        }
        let missing = taken - granted;
        let available = available_memory();
        let left = available.map_or(u64::MAX, |available| match available.bound {
            // Reserved addresses count as used.
            Bound::AddressSpace => available.bytes,
            _ => available.bytes.saturating_sub(self.promised(granted)),
        });
        if left < missing.saturating_add(SPARE) {
            self.taken.fetch_sub(bytes, Relaxed);
            return Err(Refused { taken: taken - bytes, available });
        }
        self.granted.fetch_add(missing + ((left - missing - SPARE) / 4).min(GRANT), Relaxed);
        Ok(())
    }

    /// Memory that was granted but not touched yet, which the system still counts as free.
    fn promised(&self, granted: u64) -> u64 {
        let Some(now) = anonymous() else { return 0 };
        let before = *self.before.get_or_init(|| now.saturating_sub(self.taken.load(Relaxed).min(FREE)));
        granted.saturating_sub(now.saturating_sub(before))
    }

    /// Returns this many bytes to the account.
    pub(super) fn give(&self, bytes: usize) {
        self.taken.fetch_sub(bytes as u64, Relaxed);
    }

    /// The error when the system refuses memory that was granted.
    pub(super) fn refused(&self) -> Refused {
        Refused { taken: self.taken.load(Relaxed), available: None }
    }

    /// A vector with this capacity.
    pub(super) fn vector<T>(&self, capacity: usize) -> Result<Vec<T>, Refused> {
        let bytes = capacity.saturating_mul(size_of::<T>());
        self.take(bytes)?;
        let mut vector = Vec::new();
        match vector.try_reserve_exact(capacity) {
            Ok(()) => Ok(vector),
            Err(_) => {
                self.give(bytes);
                Err(self.refused())
            }
        }
    }
}

/// The anonymous memory of this process in bytes, as the system counts it.
fn anonymous() -> Option<u64> {
    let mut text = [0; 4096];
    let length = File::open("/proc/self/status").ok()?.read(&mut text).ok()?;
    let mut lines = text[..length].split(|&byte| byte == b'\n');
    let kib = std::str::from_utf8(lines.find_map(|line| line.strip_prefix(b"RssAnon:"))?).ok()?;
    kib.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_memory_is_not_charged() {
        let room = Room::default();
        assert!(room.take(1 << 20).is_ok());
        let refused = room.take(usize::MAX / 4).unwrap_err();
        assert_eq!(refused.taken, 1 << 20);
        assert!(room.vector::<u64>(usize::MAX / 64).is_err());
        assert!(room.take(1 << 20).is_ok());
        assert_eq!(room.taken.load(Relaxed), 2 << 20);
    }
}
