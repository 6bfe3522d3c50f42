//! The walk through what is sent: files, and directories with all that is in them, in the order of their names.
#![forbid(unsafe_code)]

use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use eagre::file::name::shown;
use rustix::fs::OFlags;

use super::failure::TransferError;
use super::list::{Entry, Time};
use super::name::{DEEPEST, is_part};

/// Something that is sent.
#[derive(Clone, Debug)]
pub(super) enum Source {
    /// A file or directory, under this name. Without one, what is in the directory.
    Path { path: PathBuf, name: Option<Vec<u8>> },
    /// A pipe, without a name.
    Pipe,
}

impl Source {
    /// The source at `path`. It gets the last part of the path as its name; `.` and what ends in `/.` stand for what is in the
    /// directory.
    ///
    /// # Errors
    /// Nothing is there.
    pub(super) fn at(path: &Path) -> Result<Source, TransferError> {
        let here = |error| TransferError::Here(shown(path.as_os_str().as_bytes()), error);
        // A link that is named stands for what it leads to.
        let there = fs::metadata(path).map_err(here)?;
        if let Some(what) = special(&there) {
            let place = shown(path.as_os_str().as_bytes());
            return Err(TransferError::Unfit(place, format!("this is a {what}"), "send what comes from it with '-'"));
        }
        let bytes = path.as_os_str().as_bytes();
        let name = match path.file_name() {
            _ if bytes == b"." || bytes.ends_with(b"/.") || bytes.ends_with(b"/./") => None,
            Some(name) => Some(name.as_bytes().to_owned()),
            // The directory above has a name, too, and the root has none.
            None => fs::canonicalize(path).map_err(here)?.file_name().map(|name| name.as_bytes().to_owned()),
        };
        Ok(Source::Path { path: path.to_owned(), name })
    }
}

/// What something is, if it is neither a file, a directory nor a link.
fn special(there: &Metadata) -> Option<&'static str> {
    let kind = there.file_type();
    match () {
        () if kind.is_file() || kind.is_dir() || kind.is_symlink() => None,
        () if kind.is_fifo() => Some("pipe"),
        () if kind.is_socket() => Some("socket"),
        () => Some("device"),
    }
}

/// A step of the walk.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) entry: Entry,
    /// Where it is here.
    pub(super) path: PathBuf,
    /// Where it goes, byte for byte.
    pub(super) target: Vec<u8>,
}

/// What the walk finds.
#[derive(Debug)]
pub(super) enum Found {
    Step(Step),
    /// It is left out, and why. That is no error.
    Skipped(PathBuf, &'static str),
    /// It cannot be read.
    Failed(PathBuf, io::Error),
}

/// The walk.
#[derive(Debug)]
pub(super) struct Walk {
    sources: std::vec::IntoIter<Source>,
    open: Vec<Level>,
}

#[derive(Debug)]
struct Level {
    path: PathBuf,
    target: Vec<u8>,
    /// The names that are left.
    names: std::vec::IntoIter<OsString>,
    /// Its own mode and time. `None` if it stands for what is in it.
    leave: Option<(u32, Time)>,
}

impl Walk {
    pub(super) fn of(sources: Vec<Source>) -> Walk {
        Walk { sources: sources.into_iter(), open: Vec::new() }
    }

    /// How many directories are entered at the other side.
    fn depth(&self) -> usize {
        self.open.iter().filter(|level| level.leave.is_some()).count()
    }

    fn found(&mut self, path: PathBuf, name: Option<Vec<u8>>, named: bool) -> Option<Found> {
        let there = if named { fs::metadata(&path) } else { fs::symlink_metadata(&path) };
        let there = match there {
            Ok(there) => there,
            Err(error) => return Some(Found::Failed(path, error)),
        };
        if let Some(what) = special(&there) {
            return Some(Found::Skipped(path, what));
        }
        if name.as_deref().is_some_and(is_part) {
            return Some(Found::Skipped(path, "unfinished file of another transfer"));
        }
        let above = self.open.last().map_or(&b""[..], |level| &level.target);
        let target = [above, name.as_deref().unwrap_or_default()].concat();
        let (mode, time) = (there.mode() & 0o7777, time(&there));
        if there.is_dir() {
            return self.enter(path, name, target, (mode, time));
        }
        let name = name.unwrap_or_default();
        let entry = if there.is_symlink() {
            match fs::read_link(&path) {
                Ok(to) => Entry::Link { name, to: to.into_os_string().into_vec() },
                Err(error) => return Some(Found::Failed(path, error)),
            }
        } else {
            Entry::File { name, size: there.len(), mode, time }
        };
        Some(Found::Step(Step { entry, path, target }))
    }

    fn enter(
        &mut self,
        path: PathBuf,
        name: Option<Vec<u8>>,
        mut target: Vec<u8>,
        notes: (u32, Time),
    ) -> Option<Found> {
        if self.depth() == DEEPEST {
            let error = io::Error::other("more than 256 directories inside each other; send them as an archive (tar)");
            return Some(Found::Failed(path, error));
        }
        let names = match names(&path) {
            Ok(names) => names.into_iter(),
            Err(error) => return Some(Found::Failed(path, error)),
        };
        if name.is_some() {
            target.push(b'/');
        }
        let leave = name.is_some().then_some(notes);
        self.open.push(Level { path: path.clone(), target: target.clone(), names, leave });
        let entry = Entry::Enter { name: name? };
        Some(Found::Step(Step { entry, path, target }))
    }
}

impl Iterator for Walk {
    type Item = Found;

    fn next(&mut self) -> Option<Found> {
        loop {
            let found = match self.open.last_mut() {
                Some(level) => match level.names.next() {
                    Some(name) => {
                        let path = level.path.join(&name);
                        self.found(path, Some(name.into_vec()), false)
                    }
                    None => {
                        let Level { path, target, leave, .. } = self.open.pop()?;
                        leave.map(|(mode, time)| Found::Step(Step { entry: Entry::Leave { mode, time }, path, target }))
                    }
                },
                None => match self.sources.next()? {
                    Source::Path { path, name } => self.found(path, name, true),
                    Source::Pipe => {
                        let path = PathBuf::from("-");
                        Some(Found::Step(Step { entry: Entry::Pipe, path, target: b"-".into() }))
                    }
                },
            };
            if found.is_some() {
                return found;
            }
        }
    }
}

/// The names in a directory, in order.
fn names(directory: &Path) -> io::Result<Vec<OsString>> {
    let mut names = fs::read_dir(directory)?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>()?;
    names.sort_unstable();
    Ok(names)
}

fn time(there: &Metadata) -> Time {
    let nanoseconds = u32::try_from(there.mtime_nsec()).unwrap_or(0).min(999_999_999);
    Time { seconds: there.mtime(), nanoseconds }
}

/// Opens a file of the walk. What has taken its place since is not opened.
pub(super) fn open(path: &Path) -> io::Result<(File, u64)> {
    // A pipe would wait for its writer.
    let file = OpenOptions::new().read(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(path)?;
    let there = file.metadata()?;
    if !there.is_file() {
        return Err(io::Error::other("it was replaced by something else"));
    }
    Ok((file, there.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn steps(path: &Path) -> Vec<String> {
        let walk = Walk::of(vec![Source::at(path).unwrap()]);
        walk.map(|found| match found {
            Found::Step(Step { entry, target, .. }) => {
                let target = shown(&target);
                match entry {
                    Entry::File { size, .. } => format!("{target} {size}"),
                    Entry::Link { to, .. } => format!("{target} -> {}", shown(&to)),
                    Entry::Enter { .. } => format!("in {target}"),
                    Entry::Leave { .. } => format!("out {target}"),
                    Entry::Pipe => target,
                }
            }
            Found::Skipped(path, what) => format!("{} is a {what}", path.file_name().unwrap().display()),
            Found::Failed(path, error) => format!("{}: {error}", path.display()),
        })
        .collect()
    }

    #[test]
    fn a_walk_is_in_order() {
        let room = tempfile::tempdir().unwrap();
        let path = |name: &str| room.path().join(name);
        fs::create_dir_all(path("d/b/empty")).unwrap();
        for (name, text) in [("d/c", "123"), ("d/a", ""), ("d/b/x y", "1"), ("d/.a.eagre-part", "")] {
            fs::write(path(name), text).unwrap();
        }
        symlink("../c", path("d/b/link")).unwrap();
        symlink("d", path("to-d")).unwrap();
        drop(std::os::unix::net::UnixListener::bind(path("d/s")).unwrap());
        let inside = [
            ".a.eagre-part is a unfinished file of another transfer",
            "a 0",
            "in b/",
            "in b/empty/",
            "out b/empty/",
            "b/link -> ../c",
            "b/x y 1",
            "out b/",
            "c 3",
            "s is a socket",
        ];
        assert_eq!(steps(&path("d/.")), inside);
        let named = steps(&path("to-d"));
        assert_eq!((named[0].as_str(), named[2].as_str()), ("in to-d/", "to-d/a 0"));
        assert_eq!(named.last().unwrap(), "out to-d/");
        assert_eq!(steps(&path("d/c")), ["c 3"]);
        let above: Vec<_> = named.iter().map(|step| step.replace("to-d/", "d/")).collect();
        assert_eq!(steps(&path("d/b/..")), above);
        assert!(Source::at(&path("missing")).is_err());
        assert!(Source::at(&path("d/s")).is_err());
    }
}
