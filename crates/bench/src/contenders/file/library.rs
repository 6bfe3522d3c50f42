//! Eagre itself: each job as a user of the library would write it.

use std::fs::File;
use std::path::Path;

use crate::contenders::Trouble;
use crate::contenders::file::Answer;

/// What this build of the library does not have.
fn missing(what: &str) -> Result<Answer, Trouble> {
    Err(Trouble::Unavailable(format!("this build of Eagre has no {what}")))
}

pub(super) fn sum(_from: &Path) -> Result<Answer, Trouble> {
    missing("file source")
}

pub(super) fn sum_pointer(_from: &Path) -> Result<Answer, Trouble> {
    missing("file source")
}

pub(super) fn write(_to: &Path, _size: u64) -> Result<Answer, Trouble> {
    missing("file sink")
}

pub(super) fn write_pointer(_to: &Path, _size: u64) -> Result<Answer, Trouble> {
    missing("file sink")
}

pub(super) fn count(from: &Path, threads: usize) -> Result<Answer, Trouble> {
    if threads > 1 {
        return missing("counting with several threads");
    }
    let counts = File::open(from).and_then(eagre::count::count);
    Ok(Answer::Lines(counts.map_err(|e| Trouble::failed("count", e))?.lines))
}

pub(super) fn find(_from: &Path, _threads: usize) -> Result<Answer, Trouble> {
    missing("search")
}

pub(super) fn stats(_from: &Path, _threads: usize) -> Result<Answer, Trouble> {
    missing("statistics")
}

pub(super) fn copy(_from: &Path, _to: &Path) -> Result<Answer, Trouble> {
    missing("copy")
}
