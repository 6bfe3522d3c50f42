//! An operating-system pipe, as large as an ordinary user may make it.
//!
//! Buffers of 64-128 KiB did best of 32 KiB to 1 MiB, though not by much: 10-12 GB/s.

use std::io::{Read, Write};

use rustix::pipe::fcntl_setpipe_size;

use crate::contenders::{Contender, Measured, Trouble, two_threads};
use crate::kernels::{Tally, fill};
use crate::memory::{Pages, Region, bytes_of, bytes_of_mut};

const PIPE: usize = 1 << 20;
const BUFFER: usize = 128 << 10;

/// A buffer for each end; the pipe is made anew for each run.
pub(crate) struct OsPipe {
    source: Region,
    target: Region,
}

impl OsPipe {
    pub(crate) fn new() -> Result<OsPipe, Trouble> {
        let buffer = || Region::touched(BUFFER, Pages::Huge).map_err(|e| Trouble::failed("memory", e));
        Ok(OsPipe { source: buffer()?, target: buffer()? })
    }
}

impl Contender for OsPipe {
    fn run(&mut self, size: u64) -> Result<Measured, Trouble> {
        let words = size / 8;
        let (mut reader, mut writer) = std::io::pipe().map_err(|e| Trouble::failed("pipe", e))?;
        // Refused above the user's limit: then the pipe stays as large as it is.
        let _ = fcntl_setpipe_size(&writer, PIPE);
        let source = &mut self.source.words_mut()[..BUFFER / 8];
        let target = &mut self.target.words_mut()[..BUFFER / 8];
        let (took, (), answer) = two_threads(
            move || {
                let mut written = 0;
                while written < words {
                    let n = (words - written).min(source.len() as u64) as usize;
                    fill(&mut source[..n], written);
                    writer.write_all(bytes_of(&source[..n])).map_err(|e| Trouble::failed("write", e))?;
                    written += n as u64;
                }
                Ok(())
            },
            move || {
                // A read may end inside a word: what is left over moves to the front.
                let (mut tally, mut held) = (Tally::default(), 0);
                loop {
                    let got = reader.read(&mut bytes_of_mut(target)[held..]).map_err(|e| Trouble::failed("read", e))?;
                    if got == 0 {
                        return tally.answer();
                    }
                    held += got;
                    tally.add(&target[..held / 8]);
                    bytes_of_mut(target).copy_within(held / 8 * 8..held, 0);
                    held %= 8;
                }
            },
        )?;
        Ok(Measured::pipe(took, size, answer))
    }
}
