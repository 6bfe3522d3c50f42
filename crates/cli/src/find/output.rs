//! The output: lines in the format of `grep`, or JSON objects.
//!
//! There may be very many results, so lines are collected in a buffer before they are printed.

use eagre::find::Match;
use serde::Serialize;

use crate::console::Console;
use crate::exit::Failure;
use crate::inputs::Argument;
use crate::name;

/// The buffer is printed when it has this many bytes.
const BUFFER: usize = 64 * 1024;

/// The results of one input.
pub(super) struct Output {
    lines: Vec<u8>,
    form: Form,
}

enum Form {
    Text {
        /// The name of the input and its end character. Empty if names are not wanted.
        prefix: Vec<u8>,
        offsets: bool,
        /// The end character of a name on its own.
        end: u8,
    },
    Json(name::Json),
}

impl Output {
    /// `null`: names end with a NUL.
    pub(super) fn new(input: &Argument, named: bool, null: bool, json: bool) -> Output {
        let form = if json {
            Form::Json(name::Json::new(input.name()))
        } else {
            let mut prefix = Vec::new();
            if named {
                prefix = match input.path() {
                    Some(path) if null => path.to_vec(),
                    Some(path) => name::in_results(path),
                    None => b"(standard input)".to_vec(),
                };
                prefix.push(if null { 0 } else { b':' });
            }
            Form::Text { prefix, offsets: false, end: if null { 0 } else { b'\n' } }
        };
        Output { lines: Vec::new(), form }
    }

    /// Whether lines show the offsets of occurrences. JSON objects always do.
    pub(super) fn offsets(&mut self, yes: bool) {
        if let Form::Text { offsets, .. } = &mut self.form {
            *offsets = yes;
        }
    }

    /// Adds an occurrence.
    pub(super) fn found(&mut self, found: Match<'_>) {
        match &self.form {
            Form::Text { prefix, offsets, .. } => {
                self.lines.extend_from_slice(prefix);
                if *offsets {
                    self.lines.extend_from_slice(itoa::Buffer::new().format(found.start).as_bytes());
                    self.lines.push(b':');
                }
                self.lines.extend_from_slice(found.bytes);
                self.lines.push(b'\n');
            }
            Form::Json(file) => {
                let exact = std::str::from_utf8(found.bytes).is_err().then(|| name::hex(found.bytes));
                let found =
                    Found { file, offset: found.start, found: String::from_utf8_lossy(found.bytes), found_hex: exact };
                object(&mut self.lines, &found);
            }
        }
    }

    /// Adds the number of occurrences.
    pub(super) fn count(&mut self, count: u64) {
        match &self.form {
            Form::Text { prefix, .. } => {
                self.lines.extend_from_slice(prefix);
                self.lines.extend_from_slice(itoa::Buffer::new().format(count).as_bytes());
                self.lines.push(b'\n');
            }
            Form::Json(file) => object(&mut self.lines, &Count { file, count }),
        }
    }

    /// Adds the name of the input.
    pub(super) fn name(&mut self) {
        match &self.form {
            Form::Text { prefix, end, .. } => {
                self.lines.extend_from_slice(&prefix[..prefix.len() - 1]);
                self.lines.push(*end);
            }
            Form::Json(file) => object(&mut self.lines, file),
        }
    }

    /// Whether the buffer should be printed.
    pub(super) fn is_full(&self) -> bool {
        self.lines.len() >= BUFFER
    }

    /// Prints the buffer.
    pub(super) fn flush(&mut self, console: &mut Console) -> Result<(), Failure> {
        if !self.lines.is_empty() {
            console.print(&self.lines)?;
            self.lines.clear();
        }
        Ok(())
    }
}

/// Adds a JSON object on a line of its own.
fn object(lines: &mut Vec<u8>, value: &impl Serialize) {
    // Writing our own types to memory cannot fail.
    let _ = serde_json::to_writer(&mut *lines, value);
    lines.push(b'\n');
}

#[derive(Serialize)]
struct Found<'a> {
    #[serde(flatten)]
    file: &'a name::Json,
    offset: u64,
    found: std::borrow::Cow<'a, str>,
    /// The exact bytes, if they are not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    found_hex: Option<String>,
}

#[derive(Serialize)]
struct Count<'a> {
    #[serde(flatten)]
    file: &'a name::Json,
    count: u64,
}
