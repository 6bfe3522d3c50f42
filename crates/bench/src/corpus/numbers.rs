//! A file with the known sequence of words, and the check of such a file.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::kernels::{Tally, expected_sum, fill, word};
use crate::memory::{bytes_of, bytes_of_mut};
use crate::trouble::Trouble;

/// Words that are made or checked at a time.
const PIECE: usize = (1 << 20) / 8;

/// Writes the first `size / 8` words to a new file.
pub(super) fn make(path: &Path, size: u64) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    let mut buffer = vec![0u64; PIECE];
    let (words, mut written) = (size / 8, 0);
    while written < words {
        let n = (words - written).min(PIECE as u64) as usize;
        fill(&mut buffer[..n], written);
        file.write_all(bytes_of(&buffer[..n]))?;
        written += n as u64;
    }
    file.sync_data()
}

/// How much of a file is checked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// Every byte.
    All,
    /// Its length, its first and its last page, and a page in each 4 MiB.
    Samples,
}

/// The sum of the words of the file at `path`. It is an error if they are not the first `size / 8` of the sequence, as far as
/// `look` checks.
pub(crate) fn check(path: &Path, size: u64, look: Look) -> Result<u64, Trouble> {
    let failed = |e| Trouble::failed("check of the output", e);
    let file = File::open(path).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    if length != size {
        return Err(Trouble::Wrong(format!("an output of {length} bytes instead of {size}")));
    }
    match look {
        Look::All => sum(&file, size),
        Look::Samples => samples(&file, size).map(|()| expected_sum(size / 8)),
    }
}

fn sum(file: &File, size: u64) -> Result<u64, Trouble> {
    let mut buffer = vec![0u64; PIECE];
    let (words, mut at, mut tally) = (size / 8, 0, Tally::default());
    while at < words {
        let n = (words - at).min(PIECE as u64) as usize;
        read(file, &mut buffer[..n], at)?;
        tally.add(&buffer[..n]);
        at += n as u64;
    }
    tally.answer()
}

fn samples(file: &File, size: u64) -> Result<(), Trouble> {
    const PAGE: u64 = 4096 / 8;
    const STEP: u64 = (4 << 20) / 8;
    let words = size / 8;
    let mut page = [0u64; PAGE as usize];
    for at in (0..words).step_by(STEP as usize).chain([words.saturating_sub(PAGE)]) {
        let n = (words - at).min(PAGE) as usize;
        read(file, &mut page[..n], at)?;
        if let Some(i) = (0..n).find(|i| page[*i] != word(at + *i as u64)) {
            return Err(Trouble::Wrong(format!("the word at byte {} of the output", (at + i as u64) * 8)));
        }
    }
    Ok(())
}

fn read(file: &File, words: &mut [u64], at: u64) -> Result<(), Trouble> {
    file.read_exact_at(bytes_of_mut(words), at * 8).map_err(|e| Trouble::failed("reading the output", e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_numbers_is_one_and_a_changed_one_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("numbers");
        let size = (9 << 20) + 8;
        make(&path, size).unwrap();
        for look in [Look::All, Look::Samples] {
            assert_eq!(check(&path, size, look).unwrap(), expected_sum(size / 8));
            assert!(matches!(check(&path, size + 8, look), Err(Trouble::Wrong(_))));
        }
        // The middle of a sampled page: an exchange, which leaves the sum as it was.
        let file = File::options().read(true).write(true).open(&path).unwrap();
        let mut two = [0u64; 2];
        read(&file, &mut two, STEP_WORD).unwrap();
        two.swap(0, 1);
        file.write_all_at(bytes_of(&two), STEP_WORD * 8).unwrap();
        assert!(check(&path, size, Look::Samples).is_err());
        file.write_all_at(b"x", (3 << 20) + 100).unwrap();
        assert_ne!(check(&path, size, Look::All).unwrap(), expected_sum(size / 8));
    }

    const STEP_WORD: u64 = (4 << 20) / 8 + 100;
}
