//! The page that both processes write: how far each end is, and whether it has failed.
//!
//! ```text
//!             writer's half                reader's half
//!   moved     blocks published             blocks released
//!   length    one past the length          one past what was read, when the reader has gone
//!   state     0, or why this end failed    the same
//!   waiting   this end sleeps              the same
//! ```
//!
//! Each half is stored by its own end, but for `waiting`, which the other end clears when it wakes it. What is read of
//! the other half may be anything: the other process may be faulty or hostile. So it is only ever compared; an end
//! keeps its own numbers for itself.
//!
//! # Safety
//! All of the page is atomic words, so it does not matter who else writes there. It is mapped as long as the value lives.

use crate::memory::reservation::Reservation;
use crate::memory::{RewireError, RewireErrorKind};
use crate::sys::shared::{self, Access};
use crate::sys::{Refusal, process};
use crate::trap::End;
use crate::units::PAGE;
use std::os::fd::OwnedFd;
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

/// Words of a message.
const WORDS: usize = 64;

/// One end's half.
#[repr(C, align(128))]
pub(super) struct Half {
    pub(super) moved: AtomicU64,
    pub(super) length: AtomicU64,
    pub(super) state: AtomicU64,
    pub(super) waiting: AtomicU32,
    /// The message of the end that has failed the stream, and how many bytes it has.
    message_len: AtomicU32,
    message: [AtomicU64; WORDS],
}

#[repr(C)]
struct Words {
    halves: [Half; 2],
}

const _: () = assert!(size_of::<Words>() <= PAGE);

/// The page, mapped.
pub(super) struct Page {
    range: Reservation,
    process: u32,
}

impl Page {
    /// A page for a new stream, and the descriptor to pass on.
    pub(super) fn create() -> Result<(Page, OwnedFd), RewireError> {
        let fd = shared::create(PAGE).map_err(refused)?;
        Ok((Page::map(&fd)?, fd))
    }

    /// The page that another process has made; its descriptor is not believed to be one.
    pub(super) fn adopt(fd: &OwnedFd) -> Result<Page, RewireError> {
        shared::check(fd, PAGE).map_err(refused)?;
        Page::map(fd)
    }

    fn map(fd: &OwnedFd) -> Result<Page, RewireError> {
        let range = Reservation::aligned(PAGE, PAGE).map_err(refused)?;
        // SAFETY: our own range, which nobody has seen.
        let mapped = unsafe { shared::map(fd, 0, range.start(), PAGE, Access::ReadWrite) };
        let page = Page { range, process: process::id() };
        mapped.map(|()| page).map_err(|errno| refused(Refusal { call: "mmap", errno }))
    }

    #[inline]
    pub(super) fn half(&self, end: End) -> &Half {
        let words: *const Words = ptr::with_exposed_provenance(self.range.start());
        // SAFETY: mapped, large enough and aligned as a page is; atomic words hold any value at any time.
        unsafe { &(*words).halves[end as usize] }
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        if self.process == process::id() {
            // SAFETY: references to it are bound to this value.
            unsafe { self.range.unmap() };
        }
    }
}

impl Half {
    /// Leaves a message, of which it keeps the beginning, for when the state says that there is one.
    pub(super) fn say(&self, message: &str) {
        let mut len = message.len().min(WORDS * 8);
        while !message.is_char_boundary(len) {
            len -= 1;
        }
        for (word, bytes) in self.message.iter().zip(message.as_bytes()[..len].chunks(8)) {
            let mut whole = [0; 8];
            whole[..bytes.len()].copy_from_slice(bytes);
            word.store(u64::from_ne_bytes(whole), Relaxed);
        }
        self.message_len.store(len as u32, SeqCst);
    }

    /// The message this end has left, if any.
    pub(super) fn message(&self) -> Option<String> {
        let len = (self.message_len.load(SeqCst) as usize).min(WORDS * 8);
        let bytes: Vec<u8> = self.message.iter().flat_map(|word| word.load(Relaxed).to_ne_bytes()).take(len).collect();
        let plain = |letter: char| if letter.is_control() { ' ' } else { letter };
        (len > 0).then(|| String::from_utf8_lossy(&bytes).chars().map(plain).collect())
    }
}

fn refused(refusal: Refusal) -> RewireError {
    let kind = if refusal.is_shortage() { RewireErrorKind::OutOfMemory } else { RewireErrorKind::System };
    RewireError::new(kind, format_args!("the page that both processes share: {refusal}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_see_one_page_and_its_messages() {
        process::remember();
        let (ours, fd) = Page::create().unwrap();
        let theirs = Page::adopt(&fd).unwrap();
        ours.half(End::Writer).moved.store(7, SeqCst);
        assert_eq!(theirs.half(End::Writer).moved.load(SeqCst), 7);
        assert_eq!(theirs.half(End::Reader).moved.load(SeqCst), 0);
        for text in ["", "disk full", &"é".repeat(400), "two\nlines"] {
            ours.half(End::Reader).say(text);
            let cut: String = text.replace('\n', " ").chars().take(256).collect();
            assert_eq!(theirs.half(End::Reader).message().unwrap_or_default(), cut);
        }
        // Garbage is a text all the same.
        theirs.half(End::Reader).message_len.store(u32::MAX, SeqCst);
        theirs.half(End::Reader).message[63].store(u64::MAX, SeqCst);
        assert!(ours.half(End::Reader).message().is_some_and(|text| !text.contains('\n')));
    }
}
