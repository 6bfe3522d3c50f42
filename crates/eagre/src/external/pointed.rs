//! An input whose records are looked at where they are: in a mapping.

use std::fs::File;
use std::io;
use std::path::Path;

use eagre_mem::{LookError, Mapping};

use super::inputs::Inputs;

/// A mapped input.
pub(super) struct Pointed<'a> {
    pub(super) bytes: &'a [u8],
    /// The name in messages.
    pub(super) name: &'a str,
    /// What the file was when it was begun.
    watched: &'a Inputs,
}

impl Pointed<'_> {
    /// Maps the first `length` bytes of a file, which is `watched`, while `work` looks at them.
    pub(super) fn with<T>(
        file: &File,
        watched: &Inputs,
        name: &str,
        length: u64,
        work: impl FnOnce(&Pointed<'_>) -> io::Result<T>,
    ) -> io::Result<T> {
        let size = usize::try_from(length).map_err(|_| io::ErrorKind::OutOfMemory)?;
        // An empty file has no pointers to it, and would not be here.
        if size == 0 {
            return Err(io::Error::other(format!("read: {name}: it was changed while it was sorted")));
        }
        let mapping = Mapping::new(file, 0, size).map_err(|error| {
            let why = crate::file::failure::Task::of("read", Path::new(name)).error(&error);
            io::Error::new(error.kind(), format!("{why}; use --plan classic"))
        })?;
        let done = mapping.look(0..size, |bytes| work(&Pointed { bytes, name, watched }));
        match done {
            // What a file seems to hold that was changed is not what is wrong with it.
            Ok(Err(error)) => watched.check_unchanged().and(Err(error)),
            Ok(done) => done,
            Err(LookError::Gone { offset }) => {
                let text =
                    format!("read: {name}: it was cut shorter while it was used, or cannot be read at byte {offset}");
                Err(io::Error::other(text))
            }
            Err(error) => Err(io::Error::other(format!("read: {name}: {error}"))),
        }
    }

    /// # Errors
    /// The file was changed. To ask often is cheap, and better than to work on for hours, or to fill a disk, with what means
    /// nothing.
    pub(super) fn check_unchanged(&self) -> io::Result<()> {
        self.watched.check_unchanged()
    }
}
