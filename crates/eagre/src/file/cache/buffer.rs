//! Memory that is aligned for `O_DIRECT`.

use std::io;

use super::ALIGN;

/// Bytes whose address is a multiple of [`ALIGN`].
pub(crate) struct Buffer {
    memory: Vec<u8>,
    start: usize,
    len: usize,
}

impl Buffer {
    /// Memory for `len` bytes, rounded up to a multiple of [`ALIGN`].
    ///
    /// # Errors
    /// Memory is refused.
    pub(crate) fn new(len: usize) -> io::Result<Buffer> {
        let len = len.next_multiple_of(ALIGN);
        let mut memory = Vec::new();
        memory.try_reserve_exact(len + ALIGN).map_err(|_| io::ErrorKind::OutOfMemory)?;
        memory.resize(len + ALIGN, 0);
        let start = memory.as_ptr().addr().next_multiple_of(ALIGN) - memory.as_ptr().addr();
        Ok(Buffer { memory, start, len })
    }

    pub(crate) fn bytes(&mut self, len: usize) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.len][..len]
    }
}
