//! A moment in the memory of a forked child.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use super::kept::{Array, Moment, memory};
use super::sum;
use crate::contenders::Trouble;
use crate::memory::Region;

/// What the child is asked.
const SUM: u8 = 1;
const END: u8 = 0;

/// An array in memory that children inherit.
pub(super) struct Forking(pub(super) Region);

/// A child.
struct Child {
    process: libc::pid_t,
    ask: File,
    answer: File,
}

impl Array for Forking {
    fn words(&self) -> &[u64] {
        self.0.words()
    }

    fn words_mut(&mut self) -> &mut [u64] {
        self.0.words_mut()
    }

    fn take(&mut self) -> Result<Box<dyn Moment>, Trouble> {
        let pipe = || rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(memory);
        let ((asked, ask), (answer, answered)): ((OwnedFd, OwnedFd), (OwnedFd, OwnedFd)) = (pipe()?, pipe()?);
        // SAFETY: the child makes system calls and reads memory; it allocates nothing, and ends with `_exit`.
        match unsafe { libc::fork() } {
            -1 => Err(Trouble::failed("fork", std::io::Error::last_os_error())),
            0 => serve(asked.as_raw_fd(), answered.as_raw_fd(), self.0.words()),
            process => Ok(Box::new(Child { process, ask: ask.into(), answer: answer.into() })),
        }
    }
}

/// The child's life.
fn serve(asked: RawFd, answered: RawFd, words: &[u64]) -> ! {
    // SAFETY: system calls on descriptors of our own, and on variables of this function.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        let mut what = END;
        while libc::read(asked, (&raw mut what).cast(), 1) == 1 && what == SUM {
            let sum = sum(words);
            libc::write(answered, (&raw const sum).cast(), 8);
        }
        libc::_exit(0)
    }
}

impl Moment for Child {
    fn sum(&mut self) -> Result<u64, Trouble> {
        let mut sum = [0; 8];
        let asked = self.ask.write_all(&[SUM]).and_then(|()| self.answer.read_exact(&mut sum));
        asked.map_err(|why| Trouble::failed("child", why))?;
        Ok(u64::from_ne_bytes(sum))
    }

    fn end(mut self: Box<Self>) -> Result<(), Trouble> {
        self.ask.write_all(&[END]).map_err(|why| Trouble::failed("child", why))?;
        let mut status = 0;
        // SAFETY: our own child, and a place for its status.
        match unsafe { libc::waitpid(self.process, &mut status, 0) } {
            process if process == self.process && status == 0 => Ok(()),
            _ => Err(Trouble::failed("child", format_args!("status {status}"))),
        }
    }
}
