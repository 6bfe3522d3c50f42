//! One line to standard error from places where nothing may allocate or lock.

/// A message under construction, on the stack: built in place, because a handler may have no room to move it about.
pub(crate) struct Line {
    bytes: [u8; 400],
    len: usize,
}

impl Line {
    /// An empty line.
    #[inline(always)]
    pub(crate) fn new() -> Line {
        Line { bytes: [0; 400], len: 0 }
    }

    /// Appends `text`; what does not fit is dropped.
    pub(crate) fn text(&mut self, text: &str) -> &mut Line {
        let room = self.bytes.len() - 1 - self.len;
        let take = text.len().min(room);
        self.bytes[self.len..self.len + take].copy_from_slice(&text.as_bytes()[..take]);
        self.len += take;
        self
    }

    /// Appends a decimal number.
    pub(crate) fn number(&mut self, mut value: u64) -> &mut Line {
        let mut digits = [0u8; 20];
        let mut at = digits.len();
        loop {
            at -= 1;
            digits[at] = b'0' + (value % 10) as u8;
            value /= 10;
            if value == 0 {
                break;
            }
        }
        match std::str::from_utf8(&digits[at..]) {
            Ok(text) => self.text(text),
            Err(_) => self,
        }
    }

    /// Writes the line with one system call.
    pub(crate) fn send(&mut self) {
        self.bytes[self.len] = b'\n';
        write_to_stderr(&self.bytes[..self.len + 1]);
    }
}

#[cfg(all(target_os = "linux", not(miri)))]
fn write_to_stderr(bytes: &[u8]) {
    // SAFETY: descriptor 2 may be closed or anything else; a failed write harms nobody.
    let stderr = unsafe { rustix::fd::BorrowedFd::borrow_raw(2) };
    let _ = rustix::io::write(stderr, bytes);
}

#[cfg(any(not(target_os = "linux"), miri))]
fn write_to_stderr(bytes: &[u8]) {
    let _ = std::io::Write::write_all(&mut std::io::stderr(), bytes);
}
