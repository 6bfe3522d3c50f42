//! Ends that know each other by name: those of one machine.
//!
//! The provider `shm` keeps a file for each end in `/dev/shm`, and leaves it there if the process is killed. When both ends have mapped
//! both files, these are removed: the memory stays until it is unmapped. Names say whose they are, so that the next process that opens
//! an end removes what those have left that were killed before.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::{FabricError, FabricErrorKind};

/// Where the files are.
const FOLDER: &str = "/dev/shm";
/// How all names begin; the process and a number follow.
const PREFIX: &str = "eagre-fabric-";

/// The ends of this process. Within one process the library gives an end the other one's memory itself, and not a mapping of its own:
/// so an end must not go while another one knows it, and none may get to know it that is about to go.
static ENDS: Mutex<Ends> = Mutex::new(Ends { open: BTreeMap::new(), left: Vec::new() });

struct Ends {
    /// Those that are open, by name, and whom each knows.
    open: BTreeMap<String, Option<String>>,
    /// What the library has made for ends that are not open, and that another end knows.
    left: Vec<Left>,
}

/// What an end has left to another one.
struct Left {
    to: String,
    own: Box<dyn Send>,
}

fn ends() -> MutexGuard<'static, Ends> {
    ENDS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the end of that name belongs to this process.
fn is_here(name: &str) -> bool {
    file(name).strip_prefix(PREFIX).and_then(|rest| rest.split('-').next()) == Some(&std::process::id().to_string())
}

/// The name without what the library writes before it.
fn file(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or_default()
}

/// A name that no other end has.
pub(crate) fn fresh() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    remove_leftovers();
    format!("{PREFIX}{}-{}", std::process::id(), NEXT.fetch_add(1, Relaxed))
}

/// An end has been opened.
pub(crate) fn enter(name: &str) {
    ends().open.insert(file(name).to_owned(), None);
}

/// An end gets to know another one, by what `learn` does, unless that has gone.
pub(crate) fn learn<R>(name: &str, other: &str, learn: impl FnOnce() -> R) -> Option<R> {
    let mut ends = ends();
    if is_here(other) && !ends.open.contains_key(file(other)) {
        return None;
    }
    ends.open.insert(file(name).to_owned(), Some(file(other).to_owned()));
    Some(learn())
}

/// An end is not used any more. What the library has made for it goes when no other end knows it any more.
pub(crate) fn leave(name: &str, own: Box<dyn Send>) {
    let name = file(name);
    let mut ends = ends();
    ends.open.remove(name);
    let known_by = ends.open.iter().find(|(_, knows)| knows.as_deref() == Some(name)).map(|(other, _)| other.clone());
    let mut gone: Vec<_> = ends.left.extract_if(.., |left| left.to == name).map(|left| left.own).collect();
    match known_by {
        Some(to) => ends.left.push(Left { to, own }),
        None => gone.push(own),
    }
    drop(ends);
    drop(gone);
}

/// The name in an answer of the other side.
pub(crate) fn of_answer(bytes: &[u8]) -> Result<String, FabricError> {
    let name = std::str::from_utf8(bytes).ok().filter(|name| name.contains(PREFIX) && name.len() <= 128);
    let wrong = || FabricError::new(FabricErrorKind::Damaged, "the other side of the ring answers without a name");
    name.map(str::to_owned).ok_or_else(wrong)
}

/// Removes the file of an end that both sides have mapped.
pub(crate) fn remove(name: &str) {
    if file(name).starts_with(PREFIX) {
        let _ = std::fs::remove_file(std::path::Path::new(FOLDER).join(file(name)));
    }
}

/// Removes the files of processes that are no more. What cannot be removed is not ours.
fn remove_leftovers() {
    let Ok(files) = std::fs::read_dir(FOLDER) else { return };
    for file in files.flatten() {
        let name = file.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(PREFIX)).and_then(|rest| rest.split('-').next());
        let dead = process.and_then(|number| number.parse::<i32>().ok()).and_then(rustix::process::Pid::from_raw);
        let dead = dead.is_some_and(|pid| rustix::process::test_kill_process(pid) == Err(rustix::io::Errno::SRCH));
        if dead {
            let _ = std::fs::remove_file(file.path());
        }
    }
}
