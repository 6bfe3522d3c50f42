//! Reading a file that is in the page cache: with one `read(2)` into plain memory, the peer of `read-1gib`, and block by block
//! through the hand-written queue, which uses the caches as a stream does.

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::sync::{Arc, Mutex, Weak};
use std::time::Instant;

use crate::contenders::{Contender, Measured, Trouble, two_threads};
use crate::kernels::{Tally, fill};
use crate::memory::{Pages, Region, bytes_of, bytes_of_mut};
use crate::spsc::{self, SPIN};

/// The file that all contenders of a row read: an unlinked file with the known sequence, already written back, so that no
/// contender runs during the write-back.
pub(crate) fn file(size: u64) -> Result<Arc<File>, Trouble> {
    static CURRENT: Mutex<(u64, Weak<File>)> = Mutex::new((0, Weak::new()));
    let mut current = CURRENT.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let (true, Some(file)) = (current.0 == size, current.1.upgrade()) {
        return Ok(file);
    }
    let file = Arc::new(write(size).map_err(|e| Trouble::failed("temporary file", e))?);
    *current = (size, Arc::downgrade(&file));
    Ok(file)
}

fn write(size: u64) -> std::io::Result<File> {
    let mut file = tempfile::tempfile()?;
    let mut buffer = vec![0u64; (1 << 20) / 8];
    let (words, mut written) = (size / 8, 0);
    while written < words {
        let n = (words - written).min(buffer.len() as u64) as usize;
        fill(&mut buffer[..n], written);
        file.write_all(bytes_of(&buffer[..n]))?;
        written += n as u64;
    }
    file.sync_data()?;
    Ok(file)
}

/// Into huge pages that were touched before.
pub(crate) struct Plain {
    kept: Option<(Arc<File>, Region)>,
}

impl Plain {
    pub(crate) fn new() -> Plain {
        Plain { kept: None }
    }
}

impl Contender for Plain {
    fn run(&mut self, size: u64) -> Result<Measured, Trouble> {
        if self.kept.is_none() {
            let region = Region::touched(size as usize, Pages::Huge).map_err(|e| Trouble::failed("memory", e))?;
            self.kept = Some((file(size)?, region));
        }
        let Some((file, region)) = &mut self.kept else {
            return Err(Trouble::Failed("no file".into()));
        };
        let target = &mut region.words_mut()[..size as usize / 8];
        target.fill(0);
        let mut from = file.as_ref();
        from.rewind().map_err(|e| Trouble::failed("seek", e))?;
        let start = Instant::now();
        let got = from.read(bytes_of_mut(target)).map_err(|e| Trouble::failed("read", e))?;
        let took = start.elapsed();
        if got as u64 != size {
            return Err(Trouble::Failed(format!("read: {got} of {size} bytes in one call")));
        }
        let mut tally = Tally::default();
        target.chunks(1 << 18).for_each(|piece| tally.add(piece));
        Ok(Measured::alone(took, size, tally.answer()?, size / 8))
    }
}

/// Into a few recycled blocks, one call each, a second thread adding them up.
pub(crate) struct Blocks {
    blocks: Region,
    file: Option<Arc<File>>,
}

const BLOCK: usize = 2 << 20;
const BLOCKS: usize = 3;

impl Blocks {
    pub(crate) fn new() -> Result<Blocks, Trouble> {
        let blocks = Region::touched(BLOCK * BLOCKS, Pages::Huge).map_err(|e| Trouble::failed("memory", e))?;
        Ok(Blocks { blocks, file: None })
    }
}

impl Contender for Blocks {
    /// The time is that until the last call returns, as for the stream.
    fn run(&mut self, size: u64) -> Result<Measured, Trouble> {
        let file = match &self.file {
            Some(file) => file.clone(),
            None => self.file.insert(file(size)?).clone(),
        };
        let (empty_in, empty_out) = spsc::queue(BLOCKS, SPIN);
        let (full_in, full_out) = spsc::queue::<(&mut [u64], usize)>(BLOCKS, SPIN);
        for block in self.blocks.words_mut().chunks_exact_mut(BLOCK / 8).take(BLOCKS) {
            let _ = empty_in.send(block);
        }
        let (_, took, answer) = two_threads(
            move || {
                let mut from = file.as_ref();
                from.rewind().map_err(|e| Trouble::failed("seek", e))?;
                let start = Instant::now();
                while let Some(block) = empty_out.receive() {
                    let got = from.read(bytes_of_mut(block)).map_err(|e| Trouble::failed("read", e))?;
                    if got == 0 {
                        break;
                    }
                    let _ = full_in.send((block, got / 8));
                }
                Ok(start.elapsed())
            },
            move || {
                let mut tally = Tally::default();
                while let Some((block, words)) = full_out.receive() {
                    tally.add(&block[..words]);
                    let _ = empty_in.send(block);
                }
                tally.answer()
            },
        )?;
        Ok(Measured { threads: 2, ..Measured::alone(took, size, answer, size / 8) })
    }
}
