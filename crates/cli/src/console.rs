//! Everything the command prints.
//!
//! Results go to standard output, errors and progress to standard error. The progress line is wiped before anything else
//! is printed, so that they do not mix on a terminal.
//!
//! Rust ignores SIGPIPE, so `eagre … | head` causes a write error. It becomes [`Failure::Unheard`], with which the command
//! ends silently, because the reader has enough. All other write errors (a full disk) are errors of the command.
//!
//! Standard output is written line by line, so that the lines of several commands that run at once (`xargs -P`) stay
//! whole. It is written through a [`File`], because [`io::Stdout`] ignores a descriptor that cannot be written.

use std::fs::File;
use std::io::{self, IsTerminal, LineWriter, Write};
use std::os::fd::AsFd;

use crate::exit::Failure;
use crate::message::{self, Message};
use crate::progress::{Gauge, Progress};

/// Standard output and standard error.
pub(crate) struct Console {
    out: LineWriter<Box<dyn Write + Send>>,
    gauge: Gauge,
    complained: bool,
}

impl Console {
    pub(crate) fn new() -> Self {
        let out: Box<dyn Write + Send> = match io::stdout().as_fd().try_clone_to_owned() {
            Ok(descriptor) => Box::new(File::from(descriptor)),
            Err(_) => Box::new(io::stdout()),
        };
        Self { out: LineWriter::new(out), gauge: Gauge::default(), complained: false }
    }

    /// Whether results may be coloured: standard output is a terminal, and the environment does not forbid it.
    pub(crate) fn colours(&self) -> bool {
        let asked_otherwise = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let plain = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        io::stdout().is_terminal() && !asked_otherwise && !plain
    }

    /// Prints a part of the result.
    pub(crate) fn print(&mut self, bytes: impl AsRef<[u8]>) -> Result<(), Failure> {
        self.wipe();
        self.out.write_all(bytes.as_ref()).map_err(|error| lost(&error))
    }

    /// Prints the result of a command with `--json`.
    pub(crate) fn print_json(&mut self, value: &impl serde::Serialize) -> Result<(), Failure> {
        // Serialising our own types cannot fail.
        let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
        text.push('\n');
        self.print(text)
    }

    /// Prints what is still buffered. Errors of a disk may appear only here.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        self.wipe();
        self.out.flush().map_err(|error| lost(&error))
    }

    /// Prints an error on standard error. The command may continue, but ends with exit code 2.
    pub(crate) fn complain(&mut self, line: &str) {
        self.complained = true;
        self.wipe();
        // An error of standard error cannot be reported anywhere.
        let _ = writeln!(io::stderr(), "{line}");
    }

    /// Prints additional information on standard error.
    pub(crate) fn remark(&mut self, line: &str) {
        self.wipe();
        let _ = writeln!(io::stderr(), "{line}");
    }

    /// Whether an error was printed so far.
    pub(crate) fn complained(&self) -> bool {
        self.complained
    }

    /// Forgets the errors so far, because they do not affect the result. They do not change the exit code.
    pub(crate) fn pardon(&mut self) {
        self.complained = false;
    }

    /// Shows a progress line from now on, if standard error is a terminal. It replaces an earlier one.
    pub(crate) fn watch(&mut self, progress: Progress) {
        self.wipe();
        if io::stderr().is_terminal() {
            self.gauge.show(progress);
        }
    }

    /// A handle that reports the number of bytes done while the console is used otherwise.
    pub(crate) fn gauge(&self) -> Gauge {
        self.gauge.clone()
    }

    /// Reports the number of bytes done. This is cheap and may be called often.
    pub(crate) fn advance(&mut self, done: u64) {
        self.gauge.advance(done);
    }

    fn wipe(&mut self) {
        self.gauge.wipe();
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        self.wipe();
    }
}

/// The failure for a write error of standard output.
fn lost(error: &io::Error) -> Failure {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return Failure::Unheard;
    }
    Failure::Trouble(
        Message::new("write", "standard output", message::reason(error)).cure(message::cure(error)).to_string(),
    )
}
