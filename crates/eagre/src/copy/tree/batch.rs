//! Files and directories that were copied and wait to appear.
//!
//! Making one file durable takes a disk about as long as writing hundreds of small ones, and making several durable
//! takes little longer than one. So files are collected. First, several threads make all of them durable. Then they get
//! their names, in the order in which they were copied. Then the directories that contain them are made durable. Files
//! that must be verified and were written through the page cache are read back as soon as they are durable. A complete
//! directory waits in the same list, behind its contents, for its final mode and times.

use std::fs::File;
use std::io;
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use rustix::fs::{self, Mode, Timestamps};
use rustix::io::Errno;

use super::{Event, Watch};
use crate::copy::pieces::panicked;
use crate::copy::{CopyError, Filled, settle};
use crate::file::Output;
use crate::file::rights::Rights;

/// A file needs two descriptors in the batch, and some processes may have only 256.
const MOST: usize = 32;
/// With this many requests at a time, a journal makes few commits.
const THREADS: usize = 8;

#[derive(Debug, Default)]
pub(super) struct Batch {
    waiting: Vec<Waiting>,
}

#[derive(Debug)]
pub(super) enum Waiting {
    File(Box<Complete>),
    Directory { to: PathBuf, directory: File, finish: Finish },
}

/// A file that has been written.
#[derive(Debug)]
pub(super) struct Complete {
    pub(super) from: PathBuf,
    pub(super) to: PathBuf,
    pub(super) output: Output,
    pub(super) filled: Filled,
    pub(super) keep_existing: bool,
}

/// The final state of a directory.
#[derive(Debug)]
pub(super) enum Finish {
    /// Nothing to do, because it existed before.
    Nothing,
    /// It gets this mode.
    Mode(u32),
    /// It gets all attributes of its source.
    Rights(Box<Rights>, Timestamps),
}

impl Batch {
    /// Adds an entry. If the batch is full, all entries appear.
    pub(super) fn push(&mut self, waiting: Waiting, watch: Watch<'_>) {
        self.waiting.push(waiting);
        if self.waiting.len() >= MOST {
            self.settle(watch);
        }
    }

    /// Makes all entries durable, and lets them appear.
    pub(super) fn settle(&mut self, watch: Watch<'_>) {
        let waiting = mem::take(&mut self.waiting);
        let settled = on_threads(&waiting, |waiting| match waiting {
            Waiting::File(file) => settle(&file.output, &file.filled.copied, &file.filled.late),
            Waiting::Directory { .. } => Ok(()),
        });
        let mut directories = Vec::new();
        for (waiting, settled) in waiting.into_iter().zip(settled) {
            match waiting {
                Waiting::File(file) => {
                    let Complete { from, to, output, filled, keep_existing } = *file;
                    match settled.and_then(|()| output.appear().map_err(CopyError::Target)) {
                        Ok(()) => watch(Event::File { from: &from, to: &to, copied: &filled.copied }),
                        Err(CopyError::Target(error))
                            if keep_existing && error.kind() == io::ErrorKind::AlreadyExists => {}
                        Err(error) => watch(Event::Failed { at: &to, error: &error }),
                    }
                }
                Waiting::Directory { to, directory, finish } => match finish.give_to(&directory, &to, watch) {
                    Ok(()) => directories.push((to, directory)),
                    Err(error) => watch(Event::Failed { at: &to, error: &CopyError::Target(error) }),
                },
            }
        }
        let sync = |(_, directory): &(PathBuf, File)| sync_directory(directory).map_err(CopyError::Target);
        let synced = on_threads(&directories, sync);
        for ((to, _), synced) in directories.iter().zip(synced) {
            match synced {
                Ok(()) => watch(Event::Directory(to)),
                Err(error) => watch(Event::Failed { at: to, error: &error }),
            }
        }
    }
}

/// Makes the names in a directory durable.
pub(super) fn sync_directory(directory: &File) -> io::Result<()> {
    match fs::fsync(directory) {
        // The file system does not sync directories.
        Ok(()) | Err(Errno::BADF | Errno::INVAL | Errno::OPNOTSUPP) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

impl Finish {
    fn give_to(&self, directory: &File, to: &Path, watch: Watch<'_>) -> io::Result<()> {
        match self {
            Finish::Nothing => {}
            Finish::Mode(mode) => fs::fchmod(directory, Mode::from_raw_mode(*mode))?,
            Finish::Rights(rights, times) => {
                let given = rights.give_to(directory)?;
                fs::fchmod(directory, Mode::from_raw_mode(given.mode))?;
                fs::futimens(directory, times)?;
                if !given.unkept.is_empty() {
                    watch(Event::Unkept(to, &given.unkept));
                }
            }
        }
        Ok(())
    }
}

/// Calls `work` for each entry, on a few threads if there are several.
fn on_threads<T: Sync>(all: &[T], work: impl Fn(&T) -> Result<(), CopyError> + Sync) -> Vec<Result<(), CopyError>> {
    let next = AtomicUsize::new(0);
    let take = || {
        let mut done = Vec::new();
        while let Some((at, one)) = Some(next.fetch_add(1, Relaxed)).and_then(|at| Some((at, all.get(at)?))) {
            done.push((at, work(one)));
        }
        done
    };
    let mut results: Vec<_> = all.iter().map(|_| Err(panicked())).collect();
    thread::scope(|scope| {
        let spawn = |_| thread::Builder::new().spawn_scoped(scope, take).ok();
        let helpers: Vec<_> = (1..all.len().min(THREADS)).map_while(spawn).collect();
        let own = take();
        let others = helpers.into_iter().flat_map(|helper| helper.join().unwrap_or_default());
        for (at, result) in own.into_iter().chain(others) {
            results[at] = result;
        }
    });
    results
}
