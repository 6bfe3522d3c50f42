//! Walks from directory to directory, depth first.
//!
//! Each directory on the way down is open twice, as source and as target. Those far above are closed. They are found
//! again through `..` of the directory below, if that still leads there. So trees may be deeper than the number of
//! files that a process may have open.

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

/// How many directories above the current one stay open.
const OPEN: usize = 24;

/// A directory on the path from the top to the current one.
struct Level {
    /// The names that are left in it.
    names: std::vec::IntoIter<OsString>,
    /// Open, unless it is far above.
    open: Option<Pair>,
    ids: (Id, Id),
    finish: Finish,
}

/// A directory and its copy.
pub(super) struct Pair {
    pub(super) source: File,
    pub(super) target: File,
}

/// The result of handling a name.
pub(super) enum Found {
    /// It was copied, or it failed.
    Done,
    /// It is a directory, whose contents come next.
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
            // The source may contain the target in a way that `check` does not see, for example if it is mounted twice.
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

    /// Checks that must come before anything is made.
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

    /// Enters a directory. Returns the identity of its copy.
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

    /// Leaves a directory that is complete.
    fn leave(&mut self, levels: &mut Vec<Level>, to: &Path, watch: Watch<'_>) {
        let Some(Level { open: Some(pair), finish, .. }) = levels.pop() else { return };
        if let Some(above) = levels.last_mut()
            && above.open.is_none()
        {
            match pair.above(above.ids) {
                Ok(pair) => above.open = Some(pair),
                // The directories further above cannot be found again either.
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
    /// The parents of these directories, if they are still the same.
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

/// The names in a directory by inode number, which approximates their order on the disk.
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
