//! How an array with snapshots is made.

use super::SnapshotArray;
use super::backing::Backing;
use super::geometry::Geometry;
use crate::heap::Room;
use crate::memory::Plain;
use crate::memory::error::{RewireError, RewireErrorKind};
use crate::memory::mapping_budget::Mappings;
use crate::options;
use crate::sys::process;
use crate::trap::registry::{self, Registration};
use crate::trap::{self, End, Resolve, Trap};
use crate::units::Bytes;
use std::marker::PhantomData;

/// How a [`SnapshotArray`] is made.
///
/// ```
/// # use eagre_mem::SnapshotOptions;
/// // Few scattered stores between snapshots, none of which may be refused memory.
/// let array = SnapshotOptions::new().block(4096).reserve(1).array::<u32>(1 << 20)?;
/// assert_eq!(array.stats().block, 4096);
/// # Ok::<(), eagre_mem::RewireError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct SnapshotOptions {
    block: usize,
    reserve: usize,
    explicit: bool,
}

impl Default for SnapshotOptions {
    fn default() -> Self {
        SnapshotOptions { block: SnapshotOptions::BLOCK, reserve: 0, explicit: false }
    }
}

impl SnapshotOptions {
    /// The default block, in bytes.
    pub const BLOCK: usize = 64 << 10;

    /// The defaults.
    pub fn new() -> SnapshotOptions {
        SnapshotOptions::default()
    }

    /// What the first store copies, in bytes: a power of two from 4 KiB to 2 MiB. Smaller blocks copy less where stores are few and
    /// scattered; larger ones take fewer faults and mappings. When eight blocks of 2 MiB have been copied, the rest of these
    /// 2 MiB is copied at once.
    pub fn block(mut self, bytes: usize) -> SnapshotOptions {
        self.block = bytes;
        self
    }

    /// Takes memory now for all the copies that `snapshots` snapshots can come to need, each as much as the array, and keeps it:
    /// as long as there are no more of them, no store is refused memory. Copies take half the time or less. Otherwise memory is
    /// taken when a block is copied, and given back when no snapshot needs the copy.
    pub fn reserve(mut self, snapshots: usize) -> SnapshotOptions {
        self.reserve = snapshots;
        self
    }

    /// No trap: [`SnapshotArray::write`] is the only way to store. It needs no signal handler. So it is with `EAGRE_TRAP=off`; other
    /// traps make no difference here, where signals notice stores.
    pub fn explicit(mut self) -> SnapshotOptions {
        self.explicit = true;
        self
    }

    /// Makes an array of `len` zeros. Its memory is taken now, and made of huge pages where the kernel can (Linux 6.1): that takes a
    /// second or two a GiB.
    ///
    /// # Errors
    /// [`OutOfMappings`](RewireErrorKind::OutOfMappings): stores after one snapshot could need more mappings than a process may
    /// have; the message names a block with which they fit. [`OutOfMemory`](RewireErrorKind::OutOfMemory),
    /// [`OutOfAddresses`](RewireErrorKind::OutOfAddresses), [`System`](RewireErrorKind::System), also for a block that is none.
    pub fn array<T: Plain>(self, len: usize) -> Result<SnapshotArray<T>, RewireError> {
        process::remember();
        let invalid = |what: std::fmt::Arguments<'_>| RewireError::new(RewireErrorKind::System, what);
        let bytes = len.checked_mul(size_of::<T>()).filter(|&bytes| bytes <= isize::MAX as usize);
        let bytes = bytes.ok_or_else(|| {
            RewireError::new(
                RewireErrorKind::OutOfAddresses,
                format_args!("{len} elements are more than there are addresses"),
            )
        })?;
        let geometry = Geometry::new(bytes, self.block).ok_or_else(|| {
            invalid(format_args!("a block of {} bytes is no power of two from 4096 to 2097152", self.block))
        })?;
        check_mappings(geometry)?;
        let trap = !self.explicit && !matches!(options::trap::<Trap>(), Ok(Some(Trap::Off)));
        if trap {
            trap::install_handler().map_err(|errno| RewireError::new(RewireErrorKind::System, errno))?;
        }
        let room = Room::new()?;
        let backing = room.put(Backing::new(geometry, self.reserve)?);
        let mut registration = None;
        if trap {
            let resolver = &raw const *backing as *const dyn Resolve;
            // SAFETY: the array ends the registration before it lets go of the backing.
            registration = unsafe { Registration::new(backing.range.addresses(), resolver, End::Writer) };
            if registration.is_none() {
                let detail = format_args!("{} ranges with pointers are in use", registry::CAPACITY);
                return Err(RewireError::new(RewireErrorKind::OutOfAddresses, detail));
            }
        }
        Ok(SnapshotArray { backing, registration, len, elements: PhantomData })
    }
}

/// Whether one snapshot fits into what a process may have.
fn check_mappings(geometry: Geometry) -> Result<(), RewireError> {
    let Mappings { budget, .. } = Mappings::now();
    let most = |geometry: Geometry| 2 * geometry.most_mappings(1);
    if most(geometry) <= budget {
        return Ok(());
    }
    let fits = |block: &usize| Geometry::new(geometry.len, *block).is_some_and(|larger| most(larger) <= budget);
    let larger =
        (geometry.block.trailing_zeros()..=Geometry::MOST_BLOCK.trailing_zeros()).map(|shift| 1 << shift).find(fits);
    let detail = |cure: std::fmt::Arguments<'_>| {
        RewireError::new(
            RewireErrorKind::OutOfMappings,
            format_args!(
                "with blocks of {} the stores after a snapshot can come to {} mappings of {budget}{cure}",
                Bytes(geometry.block as u64),
                most(geometry)
            ),
        )
        .cured_by("raise vm.max_map_count, or use larger blocks (SnapshotOptions::block)")
    };
    Err(match larger {
        Some(block) => detail(format_args!("; blocks of {} fit", Bytes(block as u64))),
        None => detail(format_args!("")),
    })
}
