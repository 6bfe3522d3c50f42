//! From directory to directory, depth first.
//!
//! Each directory on the way down is open twice, as source and as target. Those far above are closed, and found again
//! through `..` of what is below them, if that still leads there: trees may be deeper than a process may have files open.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use rustix::fs::{self, Dir};

use super::batch::{Finish, Waiting};
use super::item::Route;
use super::itself::lies_in;
use super::place::{Id, Place, id};
use super::{Event, TreeCopier, Watch};
use crate::copy::CopyError;

/// How many directories above the one that is being copied stay open.
const OPEN: usize = 24;

/// A directory on the way from the top to what is being copied.
struct Level {
    /// What is left of the names in it.
    names: std::vec::IntoIter<OsString>,
    /// Unless they are far above.
    open: Option<Pair>,
    ids: (Id, Id),
    finish: Finish,
}

/// A directory and its copy.
pub(super) struct Pair {
    pub(super) source: File,
    pub(super) target: File,
}

/// What was found under a name.
pub(super) enum Found {
    /// It is done, or has failed.
    Done,
    /// A directory: what is in it comes next.
    Directory(Box<Entered>),
}

pub(super) struct Entered {
    pub(super) names: Vec<OsString>,
    pub(super) pair: Pair,
    pub(super) finish: Finish,
}

impl TreeCopier {
    pub(super) fn walk(&mut self, from: &Path, to: &Path, watch: Watch<'_>) {
        let (source, target) = (Place::of(from), Place::of(to));
        let (mut from, mut to) = (from.to_owned(), to.to_owned());
        if let Err((at, error)) = self.check(&from, &to) {
            watch(Event::Failed { at, error: &error });
            return;
        }
        let Found::Directory(top) = self.item(Route { source, target, from: &from, to: &to, named: true }, watch)
        else {
            return;
        };
        let mut levels = Vec::new();
        let Some(top_id) = self.enter(*top, &mut levels, &to, watch) else { return };
        while let Some(level) = levels.last_mut() {
            let Some(name) = level.names.next() else {
                self.leave(&mut levels, &to, watch);
                from.pop();
                to.pop();
                continue;
            };
            let Some(open) = &level.open else { return };
            let source = Place { directory: open.source.as_fd(), name: &name };
            let target = Place { directory: open.target.as_fd(), name: &name };
            from.push(&name);
            to.push(&name);
            // The source may hold the target where `check` does not see it: mounted twice.
            let found = if source.look().is_ok_and(|there| there.is_some_and(|there| id(&there) == top_id)) {
                watch(Event::Failed { at: &to, error: &CopyError::IntoItself });
                Found::Done
            } else {
                self.item(Route { source, target, from: &from, to: &to, named: false }, watch)
            };
            let entered = match found {
                Found::Directory(entered) => self.enter(*entered, &mut levels, &to, watch).is_some(),
                Found::Done => false,
            };
            if !entered {
                from.pop();
                to.pop();
            }
        }
    }

    /// What must be known before anything is made.
    fn check<'p>(&self, from: &'p Path, to: &'p Path) -> Result<(), (&'p Path, CopyError)> {
        let Ok(Some(there)) = Place::of(from).look() else { return Ok(()) };
        let is_directory = fs::FileType::from_raw_mode(there.st_mode).is_dir();
        if !is_directory || !self.recursive {
            return Ok(());
        }
        match lies_in(to, id(&there)) {
            Ok(false) => Ok(()),
            Ok(true) => Err((to, CopyError::IntoItself)),
            Err(error) => Err((to, CopyError::Target(error.into()))),
        }
    }

    /// Goes down into a directory. Returns which one the target is.
    fn enter(&mut self, entered: Entered, levels: &mut Vec<Level>, to: &Path, watch: Watch<'_>) -> Option<Id> {
        let Entered { names, pair, finish } = entered;
        let ids = fs::fstat(&pair.source).and_then(|source| Ok((id(&source), id(&fs::fstat(&pair.target)?))));
        let ids = match ids {
            Ok(ids) => ids,
            Err(error) => {
                watch(Event::Failed { at: to, error: &CopyError::Target(error.into()) });
                return None;
            }
        };
        levels.push(Level { names: names.into_iter(), open: Some(pair), ids, finish });
        if let Some(above) = levels.len().checked_sub(OPEN + 1) {
            levels[above].open = None;
        }
        Some(ids.1)
    }

    /// Goes up from a directory that is complete.
    fn leave(&mut self, levels: &mut Vec<Level>, to: &Path, watch: Watch<'_>) {
        let Some(Level { open: Some(pair), finish, .. }) = levels.pop() else { return };
        if let Some(above) = levels.last_mut()
            && above.open.is_none()
        {
            match pair.above(above.ids) {
                Ok(pair) => above.open = Some(pair),
                // Whatever is left above cannot be found any more.
                Err(error) => {
                    watch(Event::Failed { at: to, error: &CopyError::Target(error) });
                    levels.clear();
                }
            }
        }
        self.batch.push(Waiting::Directory { to: to.to_owned(), directory: pair.target, finish }, watch);
    }
}

impl Pair {
    /// The directories that these are in, if they are still those.
    fn above(&self, ids: (Id, Id)) -> io::Result<Pair> {
        let up = |directory: &File, expected: Id| {
            let above = Place { directory: directory.as_fd(), name: "..".as_ref() }.open_directory()?;
            if id(&fs::fstat(&above)?) == expected {
                Ok(above)
            } else {
                Err(io::Error::other("it was moved while it was copied"))
            }
        };
        Ok(Pair { source: up(&self.source, ids.0)?, target: up(&self.target, ids.1)? })
    }
}

/// The names in a directory, in the order of their places on the disk, as far as numbers of inodes tell.
pub(super) fn names(directory: &File) -> rustix::io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
            names.push((entry.ino(), OsString::from_vec(entry.file_name().to_bytes().to_vec())));
        }
    }
    names.sort_unstable();
    Ok(names.into_iter().map(|(_, name)| name).collect())
}
