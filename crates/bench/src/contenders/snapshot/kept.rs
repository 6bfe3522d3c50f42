//! An array, and moments of it, behind one interface.

use std::cell::RefCell;
use std::rc::Rc;

use eagre::{Snapshot, SnapshotArray, SnapshotOptions};

use super::fork::Forking;
use super::private::Private;
use super::sum;
use crate::catalogue::Keep;
use crate::contenders::Trouble;
use crate::memory::{Pages, Region};

/// An array of zeros that moments can be taken of.
pub(super) trait Array {
    fn words(&self) -> &[u64];
    fn words_mut(&mut self) -> &mut [u64];
    /// Takes a moment.
    fn take(&mut self) -> Result<Box<dyn Moment>, Trouble>;
    /// No moment is held any more.
    fn all_ended(&mut self) -> Result<(), Trouble> {
        Ok(())
    }
}

/// One moment of an array.
pub(super) trait Moment {
    /// From here on it can be read at once.
    fn make_readable(&mut self) -> Result<(), Trouble> {
        Ok(())
    }
    /// How many updates it shows.
    fn sum(&mut self) -> Result<u64, Trouble>;
    /// Gives all back that it took.
    fn end(self: Box<Self>) -> Result<(), Trouble>;
}

/// An array of `bytes` bytes, touched, of which so many moments are held at once at most.
pub(super) fn array(keep: Keep, bytes: usize, most: usize) -> Result<Box<dyn Array>, Trouble> {
    Ok(match keep {
        Keep::Eagre { block, reserved } => {
            let options = SnapshotOptions::new().block(block as usize).reserve(if reserved { most } else { 0 });
            Box::new(options.array::<u64>(bytes / 8).map_err(memory)?)
        }
        Keep::Fork(pages) => Box::new(Forking(Region::touched(bytes, pages).map_err(memory)?)),
        Keep::Copy => {
            Box::new(Copying { region: Region::touched(bytes, Pages::Huge).map_err(memory)?, spare: Rc::default() })
        }
        Keep::Private => Box::new(Private::new(bytes)?),
    })
}

pub(super) fn memory(error: impl std::fmt::Display) -> Trouble {
    Trouble::failed("memory", error)
}

impl Array for SnapshotArray<u64> {
    fn words(&self) -> &[u64] {
        self
    }

    fn words_mut(&mut self) -> &mut [u64] {
        self.as_mut_slice().expect("the catalogue asks for pointers")
    }

    fn take(&mut self) -> Result<Box<dyn Moment>, Trouble> {
        Ok(Box::new(self.snapshot().map_err(memory)?))
    }
}

impl Moment for Snapshot<u64> {
    fn make_readable(&mut self) -> Result<(), Trouble> {
        self.as_slice().map(drop).map_err(memory)
    }

    fn sum(&mut self) -> Result<u64, Trouble> {
        self.as_slice().map(sum).map_err(memory)
    }

    fn end(self: Box<Self>) -> Result<(), Trouble> {
        Ok(())
    }
}

/// An array that is copied.
struct Copying {
    region: Region,
    /// Memory that was used for copies before.
    spare: Rc<RefCell<Vec<Region>>>,
}

/// A copy.
struct Copied {
    region: Region,
    spare: Rc<RefCell<Vec<Region>>>,
}

impl Array for Copying {
    fn words(&self) -> &[u64] {
        self.region.words()
    }

    fn words_mut(&mut self) -> &mut [u64] {
        self.region.words_mut()
    }

    fn take(&mut self) -> Result<Box<dyn Moment>, Trouble> {
        let used = self.spare.borrow_mut().pop();
        let mut region = match used {
            Some(region) => region,
            None => Region::touched(self.region.len(), Pages::Huge).map_err(memory)?,
        };
        region.words_mut().copy_from_slice(self.region.words());
        Ok(Box::new(Copied { region, spare: self.spare.clone() }))
    }
}

impl Moment for Copied {
    fn sum(&mut self) -> Result<u64, Trouble> {
        Ok(sum(self.region.words()))
    }

    fn end(self: Box<Self>) -> Result<(), Trouble> {
        self.spare.borrow_mut().push(self.region);
        Ok(())
    }
}
