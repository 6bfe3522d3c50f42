//! Files to work on: made when first needed, byte for byte the same on all machines, removed when the program ends.
//!
//! The kind and the size of a corpus determine its bytes, and with them the right answers ([`Expected`]), which no contender
//! has to supply. So its generators stay as they are: with others, kept files and recorded results would be of other bytes.
//! One corpus exists at a time, in several forms if it is to
//! be sorted; the next one replaces it. All files are in a directory of this process, `run-PID`, below the
//! bench directory. It is removed at the end, on SIGINT and SIGTERM too; the next run removes what a killed run left. With
//! `--keep` corpora stay in the bench directory itself, and later runs use them.

pub(crate) mod keys;
pub(crate) mod numbers;
pub(crate) mod sortable;
mod stations;
pub(crate) mod table;
mod text;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use serde::{Deserialize, Serialize};

use crate::catalogue::{Corpus, Data, Place};
use crate::corpus::table::Table;
use crate::trouble::Trouble;

/// The pattern to find.
pub(crate) const PATTERN: &[u8; 16] = b"rising tide wave";

/// The right answers for a corpus.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Expected {
    /// Of the known sequence: a closed form has them.
    Numbers,
    /// Of lines of words.
    Text {
        /// Its newlines.
        lines: u64,
        /// The offsets of [`PATTERN`].
        places: Places,
    },
    /// Of rows of stations and temperatures.
    Stations(Table),
    /// Of rows of many keys.
    Keys(keys::Figures),
    /// Of something to sort.
    Sorted(sortable::Contents),
}

/// Ascending offsets, as their count and a digest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Places {
    /// How many.
    pub count: u64,
    /// A digest of the offsets and their order.
    pub digest: u64,
}

impl Places {
    /// Adds one.
    pub(crate) fn push(&mut self, offset: u64) {
        self.count += 1;
        // FNV's step, a word at a time: other offsets, or another order, give another digest.
        self.digest = (self.digest ^ offset).wrapping_mul(0x0000_0100_0000_01B3).rotate_left(23);
    }
}

impl FromIterator<u64> for Places {
    fn from_iter<I: IntoIterator<Item = u64>>(offsets: I) -> Places {
        let mut places = Places::default();
        offsets.into_iter().for_each(|offset| places.push(offset));
        places
    }
}

/// A corpus that has been made.
#[derive(Debug)]
pub(crate) struct Made {
    /// Where.
    pub path: PathBuf,
    /// Its length in bytes.
    pub bytes: u64,
    /// What is to be found out about it.
    pub expected: Expected,
    /// Whether it stays when it is no longer needed.
    kept: bool,
}

impl Drop for Made {
    fn drop(&mut self) {
        if !self.kept {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// The identity of a corpus: its kind, where it is, its size, and its form, which is empty as it was made.
type Key = (Corpus, Place, u64, &'static str);

/// Up to this size, in bytes, all forms of a corpus exist together; larger ones are made anew for each contender.
const TOGETHER: u64 = 6_000_000_000;

/// Whether a corpus may stay when another one is made: if it holds the same in another form, and both are small.
fn together(a: Key, b: Key) -> bool {
    let kind = |corpus| if corpus == Corpus::Sortable(Data::Ascii) { Corpus::Sortable(Data::Records) } else { corpus };
    (kind(a.0), a.1, a.2) == (kind(b.0), b.1, b.2) && a.2 <= TOGETHER
}

/// The place of corpora and outputs.
pub(crate) struct Store {
    disk: PathBuf,
    keep: bool,
    current: Mutex<Vec<(Key, Arc<Made>)>>,
}

/// The bench directory on a tmpfs.
const MEMORY: &str = "/dev/shm/eagre-bench";

impl Store {
    /// Files on a device go below `directory`, else `$EAGRE_BENCH_DIR`, else `/var/tmp/eagre-bench`.
    pub(crate) fn new(directory: Option<PathBuf>, keep: bool) -> io::Result<Store> {
        let set = || std::env::var_os("EAGRE_BENCH_DIR").filter(|value| !value.is_empty()).map(PathBuf::from);
        let disk = directory.or_else(set).unwrap_or_else(|| "/var/tmp/eagre-bench".into());
        let store = Store { disk, keep, current: Mutex::default() };
        for place in [Place::Disk, Place::Memory] {
            remove_leftovers(store.root(place));
        }
        Ok(store)
    }

    /// Removes this process's directories when it is told to end; at most once a process.
    pub(crate) fn remove_on_signals(self: &Arc<Store>) {
        let store = Arc::downgrade(self);
        // A second handler is refused; the first one does.
        let _ = ctrlc::set_handler(move || {
            if let Some(store) = store.upgrade() {
                store.clear();
            }
            std::process::exit(130);
        });
    }

    fn root(&self, place: Place) -> &Path {
        match place {
            Place::Disk => &self.disk,
            Place::Memory => Path::new(MEMORY),
        }
    }

    /// The directory of this process at `place`; makes it if necessary.
    fn room(&self, place: Place) -> Result<PathBuf, Trouble> {
        if place == Place::Memory && !Path::new("/dev/shm").is_dir() {
            return Err(Trouble::Unavailable("no tmpfs at /dev/shm; mount one".into()));
        }
        let room = self.root(place).join(format!("run-{}", std::process::id()));
        fs::create_dir_all(&room)
            .map_err(|e| Trouble::Failed(format!("{}: {e}; name another directory with --dir", room.display())))?;
        Ok(room)
    }

    /// The path for a program that is built for this run.
    pub(crate) fn tool(&self, name: &str) -> Result<PathBuf, Trouble> {
        Ok(self.room(Place::Disk)?.join(name))
    }

    /// The path for what a contender writes; no file is there.
    pub(crate) fn output(&self, place: Place) -> Result<PathBuf, Trouble> {
        let path = self.room(place)?.join("output");
        match fs::remove_file(&path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(Trouble::failed("output", e)),
            _ => Ok(path),
        }
    }

    /// An empty directory for what a contender sets aside.
    pub(crate) fn temporary(&self, place: Place) -> Result<PathBuf, Trouble> {
        let path = self.room(place)?.join("temporary");
        match fs::remove_dir_all(&path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(Trouble::failed("temporary", e)),
            _ => fs::create_dir(&path).map_err(|e| Trouble::failed("temporary", e))?,
        }
        Ok(path)
    }

    /// The corpus of this kind and size; makes it if necessary. The previous corpus is removed first.
    pub(crate) fn corpus(&self, corpus: Corpus, place: Place, size: u64) -> Result<Arc<Made>, Trouble> {
        self.current_or((corpus, place, size, ""), || self.make(corpus, place, size))
    }

    /// The same corpus in another form, which `convert` makes of one file in another.
    pub(crate) fn form(
        &self,
        (corpus, place, size): (Corpus, Place, u64),
        form: &'static str,
        convert: impl FnOnce(&Path, &Path) -> Result<(), Trouble>,
    ) -> Result<Arc<Made>, Trouble> {
        let plain = self.corpus(corpus, place, size)?;
        self.current_or((corpus, place, size, form), || {
            let path = self.room(place)?.join(form);
            let mut made = Made { path, bytes: 0, expected: plain.expected.clone(), kept: false };
            convert(&plain.path, &made.path)?;
            made.bytes = fs::metadata(&made.path).map_err(|e| Trouble::failed(form, e))?.len();
            Ok(made)
        })
    }

    /// What there is by this name, or else what `make` makes, after all is gone that may not stay beside it.
    fn current_or(&self, key: Key, make: impl FnOnce() -> Result<Made, Trouble>) -> Result<Arc<Made>, Trouble> {
        let mut current = self.current();
        if let Some((_, made)) = current.iter().find(|(other, _)| *other == key) {
            return Ok(Arc::clone(made));
        }
        current.retain(|(other, _)| together(*other, key));
        let made = Arc::new(make()?);
        current.push((key, Arc::clone(&made)));
        Ok(made)
    }

    fn make(&self, corpus: Corpus, place: Place, size: u64) -> Result<Made, Trouble> {
        let name = match corpus {
            Corpus::Numbers => format!("numbers-{size}"),
            Corpus::Text { every } => format!("text-{every}-{size}"),
            Corpus::Stations => format!("stations-{size}"),
            Corpus::Sortable(data) => format!("{}-{size}", sortable_name(data)),
            Corpus::Keys { keys, zipf } => format!("keys-{keys}-{}-{size}", if zipf { "zipf" } else { "uniform" }),
        };
        let kept = self.root(place).join(&name);
        if let Some(expected) = read_note(&kept) {
            let bytes = fs::metadata(&kept).map_err(|e| Trouble::failed("corpus", e))?.len();
            return Ok(Made { path: kept, bytes, expected, kept: true });
        }
        let mut made = Made { path: self.room(place)?.join(&name), bytes: 0, expected: Expected::Numbers, kept: false };
        let failed = |e: io::Error| Trouble::Failed(format!("corpus {name}: {e}; another directory: --dir"));
        made.expected = match corpus {
            Corpus::Numbers => numbers::make(&made.path, size).map(|()| Expected::Numbers),
            Corpus::Text { every } => text::make(&made.path, size, every),
            Corpus::Stations => make_stations(&made.path, size),
            Corpus::Sortable(data) => sortable::make(&made.path, data, size).map(Expected::Sorted),
            Corpus::Keys { keys, zipf } => keys::make(&made.path, size, keys, zipf).map(Expected::Keys),
        }
        .map_err(failed)?;
        made.bytes = fs::metadata(&made.path).map_err(failed)?.len();
        if self.keep {
            // The note comes last: a corpus with a note is whole.
            fs::rename(&made.path, &kept).map_err(failed)?;
            (made.path, made.kept) = (kept, true);
            write_note(&made).map_err(failed)?;
        }
        Ok(made)
    }

    /// The directories that were used, each with its file system.
    pub(crate) fn places(&self) -> Vec<String> {
        let used = [Place::Disk, Place::Memory].map(|place| self.root(place)).into_iter().filter(|root| root.exists());
        used.map(|root| format!("{} ({})", root.display(), file_system(root))).collect()
    }

    fn current(&self) -> MutexGuard<'_, Vec<(Key, Arc<Made>)>> {
        self.current.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Removes what this process made, except what it keeps.
    pub(crate) fn clear(&self) {
        for place in [Place::Disk, Place::Memory] {
            let _ = fs::remove_dir_all(self.root(place).join(format!("run-{}", std::process::id())));
            // Stays if something else is in it.
            let _ = fs::remove_dir(self.root(place));
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.clear();
    }
}

/// What a file to sort is called.
fn sortable_name(data: Data) -> String {
    match data {
        Data::Fixed { value } => format!("fixed-{value}"),
        other => format!("{other:?}").to_lowercase(),
    }
}

/// Writes `rows` rows of stations to a new file; a plain table takes the right answers from the rows.
fn make_stations(path: &Path, rows: u64) -> io::Result<Expected> {
    let mut watched = table::Watched::new(io::BufWriter::with_capacity(1 << 20, fs::File::create_new(path)?));
    stations::write(rows, &mut watched)?;
    let (writer, table) = watched.into_parts();
    writer.into_inner().map_err(io::IntoInnerError::into_error)?.sync_data()?;
    Ok(Expected::Stations(table))
}

/// The file beside a kept corpus that holds the right answers.
fn note(path: &Path) -> PathBuf {
    path.with_extension("json")
}

fn write_note(made: &Made) -> io::Result<()> {
    fs::write(note(&made.path), serde_json::to_vec(&made.expected)?)
}

fn read_note(path: &Path) -> Option<Expected> {
    serde_json::from_slice(&fs::read(note(path)).ok()?).ok()
}

/// The name of the file system `path` is on, or its number.
fn file_system(path: &Path) -> String {
    match rustix::fs::statfs(path).map(|stat| stat.f_type as u64 & 0xffff_ffff) {
        Ok(0xef53) => "ext4".into(),
        Ok(0x5846_5342) => "xfs".into(),
        Ok(0x9123_683e) => "btrfs".into(),
        Ok(0x0102_1994) => "tmpfs".into(),
        Ok(0x794c_7630) => "overlayfs".into(),
        Ok(other) => format!("file system {other:#x}"),
        Err(e) => e.to_string(),
    }
}

/// Removes the directories of processes that no longer exist.
fn remove_leftovers(root: &Path) {
    for entry in fs::read_dir(root).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.strip_prefix("run-")?.parse::<u32>().ok());
        if pid.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store(directory: &Path, keep: bool) -> Store {
        Store::new(Some(directory.join("bench")), keep).unwrap()
    }

    #[test]
    fn corpora_are_made_once_replaced_by_the_next_and_gone_at_the_end() {
        let directory = tempfile::tempdir().unwrap();
        let here = store(directory.path(), false);
        let first = here.corpus(Corpus::Numbers, Place::Disk, 80).unwrap();
        assert_eq!((first.bytes, &first.expected), (80, &Expected::Numbers));
        assert!(Arc::ptr_eq(&first, &here.corpus(Corpus::Numbers, Place::Disk, 80).unwrap()));
        let path = first.path.clone();
        drop(first);
        let second = here.corpus(Corpus::Numbers, Place::Disk, 88).unwrap();
        assert!(!path.exists() && second.path.exists());
        drop(second);
        drop(here);
        assert!(!directory.path().join("bench").exists());
    }

    #[test]
    fn what_is_kept_is_found_again() {
        let directory = tempfile::tempdir().unwrap();
        let text = Corpus::Text { every: 4096 };
        let first = store(directory.path(), true).corpus(text, Place::Disk, 10_000).unwrap();
        let other = store(directory.path(), false);
        let again = other.corpus(text, Place::Disk, 10_000).unwrap();
        assert_eq!((&first.path, &first.expected), (&again.path, &again.expected));
        drop((first, again, other));
        assert!(directory.path().join("bench/text-4096-10000").exists());
    }

    #[test]
    fn what_a_killed_run_left_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        // No process has the largest number a process can have.
        let left = directory.path().join("bench/run-4194304");
        fs::create_dir_all(&left).unwrap();
        let mine = directory.path().join(format!("bench/run-{}", std::process::id()));
        fs::create_dir_all(&mine).unwrap();
        let _here = store(directory.path(), false);
        assert!(!left.exists() && mine.exists());
    }

    #[test]
    fn digests_see_order_and_number() {
        let digest = |offsets: &[u64]| offsets.iter().copied().collect::<Places>();
        assert_eq!(digest(&[1, 2, 3]), digest(&[1, 2, 3]));
        for other in [&[1, 3, 2][..], &[1, 2], &[1, 2, 4], &[0, 1, 2, 3]] {
            assert_ne!(digest(other), digest(&[1, 2, 3]));
        }
    }
}
