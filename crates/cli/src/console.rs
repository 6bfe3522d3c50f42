//! Everything the command prints.
//!
//! Results go to standard output, complaints and progress to standard error, and the three must not get
//! into one another's way: a line of progress is wiped before anything else is printed.
//!
//! Rust ignores SIGPIPE, so `eagre … | head` shows as an error of a write. It is turned into
//! [`Failure::Unheard`], on which the command ends without a word: whoever closed the pipe had enough. All
//! other errors of a write (a full disk) are trouble.
//!
//! Standard output is written line by line, so that the lines of several commands running at once
//! (`xargs -P`) stay whole, and through a [`File`], because [`io::Stdout`] takes a descriptor that cannot be
//! written for a good one.

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

    /// Whether results may be coloured: a person looks at them and has not asked otherwise.
    pub(crate) fn colours(&self) -> bool {
        let asked_otherwise = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let plain = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        io::stdout().is_terminal() && !asked_otherwise && !plain
    }

    /// Prints a piece of the result.
    pub(crate) fn print(&mut self, bytes: impl AsRef<[u8]>) -> Result<(), Failure> {
        self.wipe();
        self.out.write_all(bytes.as_ref()).map_err(|error| lost(&error))
    }

    /// Prints the result of a command that was asked for `--json`.
    pub(crate) fn print_json(&mut self, value: &impl serde::Serialize) -> Result<(), Failure> {
        // Our own types, whose keys are words: there is nothing that could fail.
        let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
        text.push('\n');
        self.print(text)
    }

    /// Prints what is still held back. Errors of a disk may show only here.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        self.wipe();
        self.out.flush().map_err(|error| lost(&error))
    }

    /// Says on standard error what is wrong. The command may go on, but will end in trouble.
    pub(crate) fn complain(&mut self, line: &str) {
        self.complained = true;
        self.wipe();
        // If nobody hears it there is nobody to tell.
        let _ = writeln!(io::stderr(), "{line}");
    }

    /// Says on standard error what was asked for beside the results.
    pub(crate) fn remark(&mut self, line: &str) {
        self.wipe();
        let _ = writeln!(io::stderr(), "{line}");
    }

    /// Whether anything was wrong so far.
    pub(crate) fn complained(&self) -> bool {
        self.complained
    }

    /// What was wrong makes no difference to the answer: the command does not end in trouble for it.
    pub(crate) fn pardon(&mut self) {
        self.complained = false;
    }

    /// Shows how far long work has come, from now on, if a person is there to see it. Work before it is over.
    pub(crate) fn watch(&mut self, progress: Progress) {
        self.wipe();
        if io::stderr().is_terminal() {
            self.gauge.show(progress);
        }
    }

    /// What tells how many bytes are done while the console is used for other things.
    pub(crate) fn gauge(&self) -> Gauge {
        self.gauge.clone()
    }

    /// Tells how many bytes are done. Cheap: call it as often as is convenient.
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

/// Why output was lost.
fn lost(error: &io::Error) -> Failure {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return Failure::Unheard;
    }
    Failure::Trouble(
        Message::new("write", "standard output", message::reason(error)).cure(message::cure(error)).to_string(),
    )
}
