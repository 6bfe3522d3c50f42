//! Counting newlines: the bytecount crate on a mapping and on a plain O_DIRECT loop; plainer loops, the rungs of a ladder; and
//! what a mapping can give.

use std::hint::black_box;
use std::io::{BufRead, BufReader};
use std::path::Path;

use crate::catalogue::Loop;
use crate::contenders::Trouble;
use crate::contenders::file::Answer;
use crate::contenders::file::reading::{BUFFER, each_direct, map, open};
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

/// Reads the file piece by piece, and counts in each with such a loop.
pub(super) fn looped(path: &Path, how: Loop) -> Result<Answer, Trouble> {
    let failed = |e| Trouble::failed("read", e);
    let mut reader = BufReader::with_capacity(BUFFER, open(path)?);
    let mut lines = 0;
    if how == Loop::Lines {
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line).map_err(failed)? > 0 {
            lines += u64::from(line.ends_with(b"\n"));
            line.clear();
        }
        return Ok(Answer::Lines(lines));
    }
    loop {
        let bytes = reader.fill_buf().map_err(failed)?;
        if bytes.is_empty() {
            return Ok(Answer::Lines(lines));
        }
        lines += newlines(bytes, how);
        let length = bytes.len();
        reader.consume(length);
    }
}

fn newlines(bytes: &[u8], how: Loop) -> u64 {
    match how {
        Loop::Lines | Loop::Compiled => bytes.iter().map(|byte| u64::from(*byte == b'\n')).sum(),
        // The compiler sees one byte at a time only.
        Loop::Bytes => bytes.iter().map(|byte| u64::from(black_box(*byte) == b'\n')).sum(),
        // Its `count` would be another rung: it does not stop at each newline.
        Loop::Memchr => {
            memchr::memchr_iter(b'\n', bytes).fold(0, |lines, at| lines + u64::from(black_box(at) < bytes.len()))
        }
        Loop::Bytecount => bytecount::count(bytes, b'\n') as u64,
    }
}

/// Adds up the mapped file with so many threads, each a part of it: the least that can be done with every byte.
pub(super) fn mapped_sum(path: &Path, threads: usize) -> Result<Answer, Trouble> {
    let map = map(path)?;
    let share = map.len().div_ceil(threads).next_multiple_of(1 << 21);
    std::thread::scope(|scope| {
        let parts = map.chunks(share).map(|part| {
            scope.spawn(|| {
                let whole = part.len() / 8 * 8;
                words_of(&part[..whole]).map(|words| black_box(sum(words)))
            })
        });
        let parts: Vec<_> = parts.collect();
        for part in parts {
            part.join().map_err(|_| Trouble::Failed("a thread panicked".into()))??;
        }
        Ok(Answer::Bytes(map.len() as u64))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_loop_counts_the_same() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("text");
        for text in [&b""[..], b"\n", b"no end", b"a\n\nb", &b"some words and\n more\n".repeat(100_000)] {
            std::fs::write(&path, text).unwrap();
            let want = text.iter().filter(|byte| **byte == b'\n').count() as u64;
            for how in [Loop::Lines, Loop::Bytes, Loop::Compiled, Loop::Memchr, Loop::Bytecount] {
                let answer = looped(&path, how).unwrap();
                assert!(matches!(answer, Answer::Lines(lines) if lines == want), "{how:?}: {answer:?}");
            }
        }
    }
}
