//! Copying directories with all their contents, as `cp -r` does. Each file is complete or absent.
//!
//! ```text
//! walk      goes from directory to directory by file descriptors, so that no path is too long, and a symbolic link
//!           that another program creates meanwhile leads nowhere else
//! item      handles one name in a directory: what it is, what exists at the target, how it is copied
//! batch     collects files and directories that were copied, makes several durable together, and lets them appear
//! ```
//!
//! Symbolic links are copied as links. Pipes, sockets and devices are created anew. Hard links become separate files.
//! Errors are reported, and the rest is copied.

mod batch;
mod item;
mod itself;
mod place;
#[cfg(test)]
mod tests;
mod walk;

use std::collections::HashSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use batch::Batch;
use place::Id;

use super::{Copied, Copier, CopyError};
use crate::file::{Unkept, output};

/// Copies directories and files.
///
/// ```no_run
/// use eagre::copy::{Copier, tree::{Event, TreeCopier}};
///
/// let mut trees = TreeCopier::new(Copier::new().preserve(true));
/// let mut watch = |event: Event<'_>| {
///     if let Event::Failed { at, error, .. } = event {
///         eprintln!("{}: {error}", at.display());
///     }
/// };
/// trees.copy("photos".as_ref(), "/mnt/backup/photos".as_ref(), &mut watch);
/// trees.finish(&mut watch);
/// ```
#[derive(Debug)]
#[must_use]
pub struct TreeCopier {
    copier: Copier,
    recursive: bool,
    keep_existing: bool,
    /// What was made for the named sources, and all symbolic links that were made. The copy must not overwrite them, or
    /// write through them.
    made: HashSet<Id>,
    /// The targets of the named sources.
    targets: HashSet<PathBuf>,
    umask: u32,
    /// Bytes of finished files so far.
    done: u64,
    batch: Batch,
}

/// What happens during a copy.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// The number of data bytes copied so far.
    Progress(u64),
    /// A file has appeared.
    File {
        /// The source.
        from: &'a Path,
        /// The target.
        to: &'a Path,
        /// How it was copied.
        copied: &'a Copied,
    },
    /// A directory is complete, except for what failed.
    Directory(&'a Path),
    /// A symbolic link, a pipe, a socket or a device was made.
    Other(&'a Path),
    /// Extended attributes that could not be copied to something that is not a regular file. (For a file, they are in
    /// `copied`.)
    Unkept(&'a Path, &'a [Unkept]),
    /// Something could not be copied.
    #[non_exhaustive]
    Failed {
        /// The source if it could not be read, otherwise the target.
        at: &'a Path,
        /// The reason.
        error: &'a CopyError,
    },
}

/// Gets the events.
type Watch<'w> = &'w mut dyn FnMut(Event<'_>);

impl TreeCopier {
    /// A copier of trees with the settings of `copier`. [`Copier::preserve`] applies to directories, links and devices
    /// too.
    pub fn new(copier: Copier) -> TreeCopier {
        let umask = output::umask();
        TreeCopier {
            copier: Copier { umask: Some(umask), ..copier },
            recursive: true,
            keep_existing: false,
            made: HashSet::new(),
            targets: HashSet::new(),
            umask,
            done: 0,
            batch: Batch::default(),
        }
    }

    /// Whether directories are copied, and symbolic links and devices are copied as such (the default). Otherwise a
    /// directory is an error, and the contents of links and devices are copied.
    pub fn recursive(mut self, yes: bool) -> TreeCopier {
        self.recursive = yes;
        self
    }

    /// Whether existing files are kept silently. By default, they are replaced.
    pub fn keep_existing(mut self, yes: bool) -> TreeCopier {
        self.keep_existing = yes;
        self
    }

    /// Copies `from` to `to`. An existing directory gets what it lacks. The last files appear with
    /// [`finish`](TreeCopier::finish).
    pub fn copy(&mut self, from: &Path, to: &Path, watch: Watch<'_>) {
        if !self.targets.insert(to.to_owned()) {
            // The files in the batch must exist before this copy looks at its target.
            self.batch.settle(watch);
        }
        self.walk(from, to, watch);
    }

    /// Makes the remaining files durable and lets them appear. If the copier is dropped without this call, they do not
    /// appear.
    pub fn finish(mut self, watch: Watch<'_>) {
        self.batch.settle(watch);
        let parents: HashSet<&Path> = self.targets.iter().map(|to| parent(to)).collect();
        for directory in parents {
            // A directory that cannot be opened was reported already, or is not one of ours.
            let Ok(open) = fs::File::open(directory) else { continue };
            if let Err(error) = batch::sync_directory(&open) {
                watch(Event::Failed { at: directory, error: &CopyError::Target(error) });
            }
        }
    }
}

/// The parent directory of a path.
fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The number of data bytes to copy, as far as it can be determined, for a progress display.
#[must_use]
pub fn measure(from: &Path, recursive: bool) -> u64 {
    let mut total: u64 = 0;
    let mut directories: Vec<PathBuf> = Vec::new();
    let mut add = |path: PathBuf, metadata: io::Result<fs::Metadata>, directories: &mut Vec<PathBuf>| match metadata {
        Ok(there) if there.is_dir() && recursive => directories.push(path),
        Ok(there) if there.is_file() => {
            total = total.saturating_add(there.len().min(there.blocks().saturating_mul(512)));
        }
        _ => {}
    };
    let first = if recursive { fs::symlink_metadata(from) } else { fs::metadata(from) };
    add(from.to_owned(), first, &mut directories);
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            add(entry.path(), entry.metadata(), &mut directories);
        }
    }
    total
}
