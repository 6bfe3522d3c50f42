//! Copying directories with all that is in them, as `cp -r` does, each file complete or not at all.
//!
//! ```text
//! walk      from directory to directory by descriptors, so that no name is too long, and no symbolic link that somebody
//!           puts there meanwhile leads elsewhere
//! item      one name of a directory: what is it, what is there already, copy it
//! batch     files and directories that have been copied wait until several are made durable together, then appear
//! ```
//!
//! Symbolic links are copied as links, pipes, sockets and devices are made anew; hard links become files of their own. What
//! fails is told, and the rest goes on.

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

/// Copies directories, or several files.
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
    /// What was made for a source that was named, and every symbolic link: neither may be written over, or through.
    made: HashSet<Id>,
    /// Where sources that were named went.
    targets: HashSet<PathBuf>,
    umask: u32,
    /// Bytes of files done so far.
    done: u64,
    batch: Batch,
}

/// What happens on the way.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// So many bytes of data have been copied since the beginning.
    Progress(u64),
    /// A file has appeared.
    File {
        /// What was copied.
        from: &'a Path,
        /// Where to.
        to: &'a Path,
        /// How.
        copied: &'a Copied,
    },
    /// A directory has everything that could be copied.
    Directory(&'a Path),
    /// A symbolic link, a pipe, a socket or a device has been made.
    Other(&'a Path),
    /// Something that is no file has not got extended attributes that it should have got. (A file's are told with it.)
    Unkept(&'a Path, &'a [Unkept]),
    /// Something is not copied.
    #[non_exhaustive]
    Failed {
        /// The source if it could not be read, the target otherwise.
        at: &'a Path,
        /// Why.
        error: &'a CopyError,
    },
}

/// Who listens.
type Watch<'w> = &'w mut dyn FnMut(Event<'_>);

impl TreeCopier {
    /// Copies everything as `copier` says. With [`Copier::preserve`] that goes for directories, links and devices too.
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

    /// Whether directories are copied, and symbolic links and devices as what they are (the default). Without, a directory is
    /// an error, and what is named is read.
    pub fn recursive(mut self, yes: bool) -> TreeCopier {
        self.recursive = yes;
        self
    }

    /// Whether what is there already stays, without a word.
    pub fn keep_existing(mut self, yes: bool) -> TreeCopier {
        self.keep_existing = yes;
        self
    }

    /// Copies `from` to `to`, under that name. A directory that is there already gets what it does not have. The last files
    /// appear with [`finish`](TreeCopier::finish).
    pub fn copy(&mut self, from: &Path, to: &Path, watch: Watch<'_>) {
        if !self.targets.insert(to.to_owned()) {
            // What is to be there must be seen.
            self.batch.settle(watch);
        }
        self.walk(from, to, watch);
    }

    /// All has been copied: what still waits to be made durable appears. Dropped without, it does not.
    pub fn finish(mut self, watch: Watch<'_>) {
        self.batch.settle(watch);
        let parents: HashSet<&Path> = self.targets.iter().map(|to| parent(to)).collect();
        for directory in parents {
            // One that cannot be read or is not there has been complained about, or is none of ours.
            let Ok(open) = fs::File::open(directory) else { continue };
            if let Err(error) = batch::sync_directory(&open) {
                watch(Event::Failed { at: directory, error: &CopyError::Target(error) });
            }
        }
    }
}

/// The directory that a path names something in.
fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// How many bytes of data there are to copy, as far as that can be seen: for a line of progress.
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
