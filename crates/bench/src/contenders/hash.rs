//! An extendible hash table, that of Eagre's example, with one directory or another.
//!
//! Keys are the words of the known sequence, and the value of each is its number. So the sum of all values is known.

#[path = "../../../eagre/examples/extendible_hash/table.rs"]
mod table;

use std::time::{Duration, Instant};

use eagre::ViewOptions;

use crate::catalogue::{self, Hashing};
use crate::contenders::{Contender, Measured, Trouble};
use crate::kernels::word;
use table::{Directory, Table};

/// What the directory has at first, in bytes and entries.
const FIRST: usize = 64 << 10;
/// What it may come to have, in bytes: addresses only.
const MOST: usize = 1 << 30;

/// Inserts keys and looks them up.
pub(crate) struct Hash {
    pub(crate) directory: catalogue::Directory,
    pub(crate) hashing: Hashing,
}

impl Contender for Hash {
    fn run(&mut self, size: u64) -> Result<Measured, Trouble> {
        match self.directory {
            catalogue::Directory::Vec => run(vec![0; FIRST / 8], self.hashing, size),
            catalogue::Directory::Eagre { block } => {
                let block = block as usize;
                let options = ViewOptions::new().block(block).limit(MOST / block);
                run(options.array::<u64>(FIRST / block).map_err(memory)?, self.hashing, size)
            }
        }
    }
}

fn memory(error: impl std::fmt::Display) -> Trouble {
    Trouble::failed("memory", error)
}

/// A directory, and how long it took to double.
struct Timed<D> {
    directory: D,
    doublings: u32,
    took: Duration,
}

impl<D: Directory> Directory for Timed<D> {
    #[inline]
    fn entries(&self) -> &[u64] {
        self.directory.entries()
    }

    fn double(&mut self) -> Result<(), eagre::RewireError> {
        let start = Instant::now();
        self.directory.double()?;
        self.took += start.elapsed();
        self.doublings += 1;
        Ok(())
    }

    #[inline]
    fn set(&mut self, first: usize, step: usize, bucket: u64) -> Result<(), eagre::RewireError> {
        self.directory.set(first, step, bucket)
    }
}

fn run(directory: impl Directory, hashing: Hashing, keys: u64) -> Result<Measured, Trouble> {
    let mut table = Table::new(Timed { directory, doublings: 0, took: Duration::ZERO });
    let start = Instant::now();
    for number in 0..keys {
        table.insert(word(number), number).map_err(memory)?;
    }
    let inserted = start.elapsed();
    // An odd factor makes another order of as many numbers as a power of two.
    let in_disorder = (0..keys).map(|number| number.wrapping_mul(0x9E37_79B1) & (keys - 1));
    let start = Instant::now();
    let answer = in_disorder.filter_map(|number| table.get(word(number))).fold(0, u64::wrapping_add);
    let found = start.elapsed();
    let (took, amount) = match hashing {
        Hashing::Lookups => (found, keys),
        Hashing::Doublings => (table.directory.took, u64::from(table.directory.doublings)),
        Hashing::Inserts => (inserted, keys),
    };
    Ok(Measured { expected: keys * (keys - 1) / 2, ..Measured::alone(took, amount, answer, 0) })
}
