//! Copying one name: what it is, what exists at the target, and how it is copied.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{self, AtFlags, CWD, FileType, Gid, Mode, OFlags, Stat, Timespec, Timestamps, Uid};
use rustix::io::Errno;

use super::batch::{Complete, Finish, Waiting};
use super::place::{Place, id};
use super::walk::{Entered, Found, Pair, names};
use super::{Event, TreeCopier, Watch};
use crate::copy::CopyError;
use crate::file::Output;
use crate::file::attributes::{Attributes, Bearer};
use crate::file::naming::with_fresh_name;
use crate::file::rights::Rights;

/// A source and a target.
#[derive(Clone, Copy)]
pub(super) struct Route<'a> {
    pub(super) source: Place<'a>,
    pub(super) target: Place<'a>,
    /// The whole paths, for messages.
    pub(super) from: &'a Path,
    pub(super) to: &'a Path,
    /// Whether the caller named this source.
    pub(super) named: bool,
}

/// What is copied along a route.
struct Item<'a> {
    route: Route<'a>,
    /// The metadata of the source.
    there: Stat,
    /// The metadata of what exists at the target.
    existing: Option<Stat>,
}

fn unreadable(error: Errno) -> CopyError {
    CopyError::Source(error.into())
}

fn unwritable(error: Errno) -> CopyError {
    CopyError::Target(error.into())
}

fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

fn times(stat: &Stat) -> Timestamps {
    Timestamps {
        last_access: Timespec { tv_sec: stat.st_atime as _, tv_nsec: stat.st_atime_nsec as _ },
        last_modification: Timespec { tv_sec: stat.st_mtime as _, tv_nsec: stat.st_mtime_nsec as _ },
    }
}

impl TreeCopier {
    /// Copies what is at the source. For a directory, makes the target directory and leaves its contents to the caller.
    pub(super) fn item(&mut self, route: Route<'_>, watch: Watch<'_>) -> Found {
        self.try_item(route, watch).unwrap_or_else(|error| {
            let at = if matches!(error, CopyError::Source(_)) { route.from } else { route.to };
            watch(Event::Failed { at, error: &error });
            Found::Done
        })
    }

    fn try_item(&mut self, route: Route<'_>, watch: Watch<'_>) -> Result<Found, CopyError> {
        let Route { source, target, .. } = route;
        let there = if self.recursive {
            source.look().and_then(|there| there.ok_or(Errno::NOENT))
        } else {
            source.look_through()
        };
        let there = there.map_err(unreadable)?;
        let existing = target.look().map_err(unwritable)?;
        let item = Item { route, there, existing };
        match kind(&item.there) {
            FileType::Directory if self.recursive => return self.directory(&item).map(Found::Directory),
            FileType::Directory => return Err(CopyError::Source(std::io::ErrorKind::IsADirectory.into())),
            _ => {}
        }
        if let Some(existing) = &item.existing {
            // A dangling link at the target is an error, as with cp.
            let leads_nowhere = || kind(existing) == FileType::Symlink && target.look_through().is_err();
            if self.keep_existing && !(kind(&item.there) == FileType::RegularFile && leads_nowhere()) {
                return Ok(Found::Done);
            }
            if kind(existing) == FileType::Directory {
                return Err(CopyError::OverDirectory);
            }
            // If the link replaced the file that it refers to, only the link would be left.
            let means_it = || source.look_through().is_ok_and(|meant| id(&meant) == id(existing));
            if id(existing) == id(&item.there) || means_it() {
                return Err(CopyError::SameFile);
            }
            if self.made.contains(&id(existing)) {
                return Err(CopyError::OverCopy);
            }
        }
        match kind(&item.there) {
            FileType::Symlink => self.link(&item, watch)?,
            FileType::Fifo | FileType::Socket | FileType::CharacterDevice | FileType::BlockDevice if self.recursive => {
                self.device(&item, watch)?;
            }
            _ => self.file(&item, watch)?,
        }
        Ok(Found::Done)
    }

    fn file(&mut self, item: &Item<'_>, watch: Watch<'_>) -> Result<(), CopyError> {
        let source = self.open(item)?;
        let path = item.route.target.path();
        let output = match item.existing.as_ref().map(kind) {
            Some(FileType::Symlink) => {
                // As with cp, the copy goes to the file that the link refers to. It is an error if that is the source,
                // or does not exist.
                let behind = item.route.target.look_through().map_err(|error| match error {
                    Errno::NOENT => CopyError::DanglingLink,
                    error => unwritable(error),
                })?;
                if kind(&behind) == FileType::Directory {
                    return Err(CopyError::OverDirectory);
                }
                if id(&behind) == id(&item.there) {
                    return Err(CopyError::SameFile);
                }
                if self.made.contains(&id(&behind)) {
                    return Err(CopyError::OverCopy);
                }
                // An entry of the batch may have the same target.
                self.batch.settle(watch);
                Output::create(&path)
            }
            _ => Output::create_unlinked(&path),
        };
        let mut output = output.map_err(CopyError::Target)?;
        if item.existing.is_none() {
            output.must_be_new();
        }
        let before = self.done;
        let mut progress = |done| watch(Event::Progress(before + done));
        let filled = self.copier.fill(&source, &mut output, &mut progress)?;
        self.done = before + filled.copied.data;
        if item.route.named && !output.is_direct() {
            let made = output.file().metadata().map_err(CopyError::Target)?;
            self.made.insert((made.dev(), made.ino()));
        }
        let (from, to) = (item.route.from.to_owned(), item.route.to.to_owned());
        let complete = Complete { from, to, output, filled, keep_existing: self.keep_existing };
        self.batch.push(Waiting::File(Box::new(complete)), watch);
        if item.existing.as_ref().map(kind) == Some(FileType::Symlink) {
            self.batch.settle(watch);
        }
        Ok(())
    }

    fn open(&self, item: &Item<'_>) -> Result<File, CopyError> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        // If a pipe appears there meanwhile, opening it must not block.
        let flags = if self.recursive { flags | OFlags::NOFOLLOW | OFlags::NONBLOCK } else { flags };
        let Place { directory, name } = item.route.source;
        let file = File::from(fs::openat(directory, name, flags, Mode::empty()).map_err(unreadable)?);
        if self.recursive && id(&fs::fstat(&file).map_err(unreadable)?) != id(&item.there) {
            return Err(CopyError::Source(std::io::Error::other("it was replaced while it was copied")));
        }
        Ok(file)
    }

    fn directory(&mut self, item: &Item<'_>) -> Result<Box<Entered>, CopyError> {
        // Steps that can fail without leaving anything behind come first.
        let source = item.route.source.open_directory().map_err(unreadable)?;
        let names = names(&source).map_err(unreadable)?;
        let rights = self.copier.preserve.then(|| Rights::of(&source)).transpose().map_err(CopyError::Source)?;
        let Place { directory, name } = item.route.target;
        let is_new = match &item.existing {
            // `link/.` is the directory that the link refers to.
            Some(there) if kind(there) == FileType::Directory => false,
            Some(_) => return Err(CopyError::OverFile),
            None => {
                // This process must be able to enter. Others must not before the final mode is known.
                let mode = if rights.is_some() { 0 } else { item.there.st_mode & 0o1755 };
                fs::mkdirat(directory, name, Mode::from_raw_mode(mode | 0o700)).map_err(unwritable)?;
                true
            }
        };
        let target = item.route.target.open_directory().map_err(unwritable)?;
        let mut finish = Finish::Nothing;
        if is_new {
            let now = fs::fstat(&target).map_err(unwritable)?.st_mode & 0o7777;
            if now & 0o700 != 0o700 {
                fs::fchmod(&target, Mode::from_raw_mode(now | 0o700)).map_err(unwritable)?;
            }
            // The kernel has applied the umask, the default list of the parent directory, and its group, but not these
            // bits.
            let wanted = (now & !0o700) | (item.there.st_mode & 0o722 & !self.umask);
            if wanted != now | 0o700 {
                finish = Finish::Mode(wanted);
            }
        }
        if let Some(rights) = rights {
            finish = Finish::Rights(Box::new(rights), times(&item.there));
        }
        Ok(Box::new(Entered { names, pair: Pair { source, target }, finish }))
    }

    fn link(&mut self, item: &Item<'_>, watch: Watch<'_>) -> Result<(), CopyError> {
        let Place { directory, name } = item.route.source;
        let text = fs::readlinkat(directory, name, Vec::new()).map_err(unreadable)?;
        self.make(item, watch, |place| fs::symlinkat(&text, place.directory, place.name))?;
        if let Ok(Some(made)) = item.route.target.look() {
            self.made.insert(id(&made));
        }
        Ok(())
    }

    fn device(&mut self, item: &Item<'_>, watch: Watch<'_>) -> Result<(), CopyError> {
        let (kind, mode) = (kind(&item.there), Mode::from_raw_mode(item.there.st_mode & 0o777));
        let number = item.there.st_rdev;
        self.make(item, watch, |place| fs::mknodat(place.directory, place.name, kind, mode, number as _))
    }

    /// Makes a file without contents, and replaces what exists.
    fn make(
        &self,
        item: &Item<'_>,
        watch: Watch<'_>,
        make: impl Fn(Place<'_>) -> rustix::io::Result<()>,
    ) -> Result<(), CopyError> {
        let target = item.route.target;
        if item.existing.is_none() {
            make(target).map_err(unwritable)?;
            self.dress(item, target, watch).map_err(CopyError::Target)?;
        } else {
            let beside = |name: &OsStr| Path::new(target.name).with_file_name(name).into_os_string();
            let ((), name) =
                with_fresh_name(|name| make(Place { name: &beside(name), ..target })).map_err(CopyError::Target)?;
            let name = beside(&name);
            let temporary = Place { name: &name, ..target };
            let done = self.dress(item, temporary, watch);
            let rename = || fs::renameat(target.directory, &name, target.directory, target.name);
            if let Err(error) = done.and_then(|()| Ok(rename()?)) {
                let _ = fs::unlinkat(target.directory, &name, AtFlags::empty());
                return Err(CopyError::Target(error));
            }
        }
        watch(Event::Other(item.route.to));
        Ok(())
    }

    /// Gives a file without contents the owner, attributes, mode and times of its source, if that is wanted.
    fn dress(&self, item: &Item<'_>, place: Place<'_>, watch: Watch<'_>) -> io::Result<()> {
        if !self.copier.preserve {
            return Ok(());
        }
        let Place { directory, name } = place;
        let there = &item.there;
        let held = place.hold(there)?;
        let group = fs::chownat(&held, "", None, Some(Gid::from_raw(there.st_gid)), AtFlags::EMPTY_PATH);
        let user = fs::chownat(&held, "", Some(Uid::from_raw(there.st_uid)), None, AtFlags::EMPTY_PATH);
        let unkept = Attributes::of(Bearer::Named(&item.route.source.path())).give_to(Bearer::Named(&place.path()));
        if !unkept.is_empty() {
            watch(Event::Unkept(item.route.to, &unkept));
        }
        if kind(there) != FileType::Symlink {
            let lent = if user.is_ok() && group.is_ok() { 0o7777 } else { 0o777 };
            // `fchmod` does not accept a descriptor opened with `O_PATH`, and another program could exchange the name.
            let held = format!("/proc/self/fd/{}", held.as_raw_fd());
            fs::chmodat(CWD, held, Mode::from_raw_mode(there.st_mode & lent), AtFlags::empty())?;
        }
        Ok(fs::utimensat(directory, name, &times(there), AtFlags::SYMLINK_NOFOLLOW)?)
    }
}
