//! Eagre itself: each job as a user of the library would write it.

use std::fs::File;
use std::path::Path;

use crate::contenders::Trouble;
use crate::contenders::file::Answer;
use crate::kernels::{Tally, fill, fill_at};
use crate::memory::{words_of, words_of_mut};

/// What this build of the library does not have.
fn missing(what: &str) -> Result<Answer, Trouble> {
    Err(Trouble::Unavailable(format!("this build of Eagre has no {what}")))
}

pub(super) fn sum(from: &Path) -> Result<Answer, Trouble> {
    let failed = |e| Trouble::failed("read", e);
    let mut reader = eagre::file::open(from).map_err(|e| Trouble::failed("open", e))?;
    let mut tally = Tally::default();
    loop {
        let bytes = reader.fill(0).map_err(failed)?;
        if bytes.is_empty() {
            return tally.answer().map(Answer::Sum);
        }
        let length = bytes.len();
        tally.add(words_of(bytes)?);
        reader.consume(length);
    }
}

pub(super) fn sum_pointer(from: &Path) -> Result<Answer, Trouble> {
    let length = std::fs::metadata(from).map_err(|e| Trouble::failed("stat", e))?.len();
    let reading = eagre::file::ReadOptions::new().length(length);
    let mut reader = reading.open(from).map_err(|e| Trouble::failed("open", e))?;
    let mut tally = Tally::default();
    let read = reader.scope(|start| {
        // SAFETY: the stream has that many words, and the sum reads them once, forward.
        unsafe { tally.add_at(start.cast(), (length / 8) as usize) }
    });
    read.map_err(|e| Trouble::failed("read", e))?;
    tally.answer().map(Answer::Sum)
}

pub(super) fn write(to: &Path, size: u64) -> Result<Answer, Trouble> {
    let failed = |e: std::io::Error| Trouble::failed("write", e);
    let mut writer = eagre::file::create(to).map_err(failed)?;
    let (words, mut at) = (size / 8, 0);
    while at < words {
        let room = words_of_mut(writer.reserve(8).map_err(|e| failed(e.into()))?)?;
        let n = room.len().min((words - at) as usize);
        fill(&mut room[..n], at);
        writer.commit(8 * n);
        at += n as u64;
    }
    writer.finish().map_err(failed)?;
    Ok(Answer::File)
}

pub(super) fn write_pointer(to: &Path, size: u64) -> Result<Answer, Trouble> {
    let failed = |e: std::io::Error| Trouble::failed("write", e);
    let mut writer = eagre::file::create(to).map_err(failed)?;
    let words = (size / 8) as usize;
    // SAFETY: ascending stores of whole vectors, within the capacity.
    let written = writer.scope(|start| unsafe { fill_at(start.cast(), words, 0) });
    written.map_err(|e| failed(e.into()))?;
    writer.finish_at(8 * words as u64).map_err(failed)?;
    Ok(Answer::File)
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
