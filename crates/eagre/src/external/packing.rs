//! What of a sort is compressed: runs, the output, both or nothing.

use std::fs::File;
use std::io;
use std::path::Path;

#[cfg(feature = "compressed")]
use super::blocks;
#[cfg(feature = "compressed")]
use super::budget::BLOCKS;
use super::budget::Budget;
#[cfg(feature = "compressed")]
use crate::compressed;
use crate::file::{FileWriter, Output, WriteOptions};
use crate::scan;

/// The settings.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Compression {
    #[cfg(feature = "compressed")]
    pub(super) runs: bool,
    #[cfg(feature = "compressed")]
    pub(super) output: Option<compressed::Format>,
}

#[cfg(feature = "compressed")]
impl Compression {
    pub(super) fn is_output(self) -> bool {
        self.output.is_some()
    }

    /// A budget that has memory for it. Runs and output are written when the memory of sorting is free, or by merges; so only
    /// merges have less.
    pub(super) fn within(self, budget: Budget) -> Budget {
        let stream = BLOCKS * budget.block.bytes() as u64;
        let runs = if self.runs { stream + blocks::writing(budget.threads) } else { 0 };
        // A piece, what it becomes, and what the library needs for it.
        let output = if self.is_output() { stream + 5 * (budget.threads * piece(&budget)) as u64 } else { 0 };
        let unpacking = if self.runs { blocks::READING } else { 0 };
        Budget { packing: runs.max(output), unpacking, ..budget }
    }

    /// Begins to write an output of `length` bytes, if their number is known.
    pub(super) fn write(
        self,
        options: WriteOptions,
        budget: &Budget,
        (output, name): (Output, &Path),
        length: Option<u64>,
    ) -> io::Result<FileWriter> {
        let Some(format) = self.output else { return plainly(options, output, name, length) };
        let mut lanes = Vec::new();
        for _ in 0..budget.threads {
            lanes.push(compressed::encoder(format)?);
        }
        let note = Box::new(|_, _| ());
        let packing = crate::file::packing::Packing { lanes, piece: piece(budget), never_empty: true, note };
        options.write_packed(output, name, packing)
    }

    /// The content of an output.
    pub(super) fn content(self, file: File, name: &str) -> io::Result<scan::Input> {
        match self.output {
            Some(format) => {
                let length = file.metadata()?.len();
                Ok(compressed::decompress(format, name, Some(length), file)?.into())
            }
            None => Ok(file.into()),
        }
    }
}

/// How much of the output becomes a member or frame: enough for a good ratio, if there is memory for it.
#[cfg(feature = "compressed")]
fn piece(budget: &Budget) -> usize {
    let most = (budget.total / budget.threads as u64 / 64).clamp(64 << 10, 1 << 20);
    1 << most.ilog2()
}

#[cfg(not(feature = "compressed"))]
impl Compression {
    pub(super) fn is_output(self) -> bool {
        false
    }

    pub(super) fn within(self, budget: Budget) -> Budget {
        budget
    }

    pub(super) fn write(
        self,
        options: WriteOptions,
        _: &Budget,
        (output, name): (Output, &Path),
        length: Option<u64>,
    ) -> io::Result<FileWriter> {
        plainly(options, output, name, length)
    }

    pub(super) fn content(self, file: File, _: &str) -> io::Result<scan::Input> {
        Ok(file.into())
    }
}

fn plainly(options: WriteOptions, output: Output, name: &Path, length: Option<u64>) -> io::Result<FileWriter> {
    let options = match length {
        Some(length) => options.length(length),
        None => options,
    };
    options.write(output, name)
}
