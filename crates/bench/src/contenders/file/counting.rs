//! Counting newlines: the bytecount crate on a mapping and on a plain O_DIRECT loop; and what a mapping can give.

use std::path::Path;

use crate::contenders::Trouble;
use crate::contenders::file::Answer;
use crate::contenders::file::reading::{each_direct, map};
use crate::kernels::sum;
use crate::memory::{bytes_of, words_of};

pub(super) fn mapped(path: &Path) -> Result<Answer, Trouble> {
    Ok(Answer::Lines(bytecount::count(&map(path)?, b'\n') as u64))
}

pub(super) fn direct(path: &Path) -> Result<Answer, Trouble> {
    let mut lines = 0;
    each_direct(path, |words, length| {
        lines += bytecount::count(&bytes_of(words)[..length], b'\n') as u64;
        Ok(())
    })?;
    Ok(Answer::Lines(lines))
}

/// Adds up the mapped file with so many threads, each a part of it: the least that can be done with every byte.
pub(super) fn mapped_sum(path: &Path, threads: usize) -> Result<Answer, Trouble> {
    let map = map(path)?;
    let share = map.len().div_ceil(threads).next_multiple_of(1 << 21);
    std::thread::scope(|scope| {
        let parts = map.chunks(share).map(|part| {
            scope.spawn(|| {
                let whole = part.len() / 8 * 8;
                words_of(&part[..whole]).map(|words| std::hint::black_box(sum(words)))
            })
        });
        let parts: Vec<_> = parts.collect();
        for part in parts {
            part.join().map_err(|_| Trouble::Failed("a thread panicked".into()))??;
        }
        Ok(Answer::Bytes(map.len() as u64))
    })
}
