//! The output. Keys are formatted one after another, so it takes little memory however many there are.

use std::num::NonZeroUsize;

use eagre::stats::{Group, Table};
use serde::Serialize;

use super::Totals;
use super::columns::Columns;
use crate::console::Console;
use crate::exit::Failure;
use crate::message::Message;
use crate::name;

/// The number of keys that a thread formats at a time, and the length of the text at which it stops earlier.
const PART: usize = 1 << 14;
const TEXT: usize = 1 << 20;

/// More threads than this would only wait to print.
const THREADS: usize = 16;

/// Beyond this width, keys are not aligned.
const WIDEST: usize = 100;

/// A result to print.
pub(super) struct Output<'a> {
    pub(super) table: &'a Table,
    pub(super) columns: &'a Columns,
    pub(super) threads: NonZeroUsize,
}

/// The text of some keys, and the first key after it. The text may end before the requested key.
struct Part {
    text: Vec<u8>,
    next: usize,
}

impl Output<'_> {
    /// Prints the text that `write` makes for each key. Several threads call it, each for some thousand keys at a time.
    /// It also gets the number of the key.
    fn each(
        &self,
        console: &mut Console,
        write: impl Fn(usize, &Group<'_>, &mut Vec<u8>) + Sync,
    ) -> Result<(), Failure> {
        let end = |start: usize| self.table.len().min(start + PART);
        let part = |start: usize, end: usize| {
            let mut part = Part { text: Vec::new(), next: start };
            for group in self.table.range(start..end) {
                // Room for the quoted key and its figures.
                part.text.try_reserve(4 * group.key.len() + 4096).map_err(|_| out_of_memory())?;
                write(part.next, &group, &mut part.text);
                part.next += 1;
                if part.text.len() >= TEXT {
                    break;
                }
            }
            Ok::<_, Failure>(part)
        };
        let threads = self.threads.get().min(THREADS);
        for first in (0..self.table.len()).step_by(PART * threads) {
            let starts = (first..self.table.len()).step_by(PART).take(threads);
            let parts = std::thread::scope(|scope| {
                let spawn = |start: usize| {
                    let thread = std::thread::Builder::new().spawn_scoped(scope, move || part(start, end(start)));
                    (start, thread.ok())
                };
                let others: Vec<_> = starts.clone().skip(1).map(spawn).collect();
                let own = part(first, end(first));
                let join = |(start, thread): (usize, Option<std::thread::ScopedJoinHandle<'_, _>>)| match thread {
                    Some(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                    // The system refused the thread, so this one does its work.
                    None => part(start, end(start)),
                };
                std::iter::once(own).chain(others.into_iter().map(join)).collect::<Result<Vec<Part>, _>>()
            })?;
            for (start, mut written) in starts.zip(parts) {
                console.print(&written.text)?;
                while written.next < end(start) {
                    written = part(written.next, end(start))?;
                    console.print(&written.text)?;
                }
            }
        }
        Ok(())
    }

    /// A line for each key.
    pub(super) fn plain(&self, delimiter: u8, csv: bool, console: &mut Console) -> Result<(), Failure> {
        let decimals = self.table.decimals();
        self.each(console, |_, group, out| {
            if csv {
                quoted(group.key, delimiter, out)
            } else {
                out.extend_from_slice(group.key)
            }
            for column in self.columns.iter() {
                out.push(delimiter);
                column.write(group, decimals, out);
            }
            out.push(b'\n');
        })
    }

    /// Aligned columns with headings. This goes over all keys twice, first for the widths.
    pub(super) fn aligned(&self, console: &mut Console) -> Result<(), Failure> {
        let decimals = self.table.decimals();
        let mut widths: Vec<usize> = self.columns.iter().map(|column| column.name.len()).collect();
        let mut widest = "key".len();
        let mut text = Vec::new();
        for group in self.table.iter() {
            widest = widest.max(name::in_messages(group.key).chars().count()).min(WIDEST);
            for (column, width) in self.columns.iter().zip(&mut widths) {
                text.clear();
                column.write(&group, decimals, &mut text);
                *width = (*width).max(text.len());
            }
        }
        let right = |text: &[u8], width: usize, out: &mut Vec<u8>| {
            out.resize(out.len() + 2 + width - text.len(), b' ');
            out.extend_from_slice(text);
        };
        let left = |key: &str, out: &mut Vec<u8>| {
            out.extend_from_slice(key.as_bytes());
            out.resize(out.len() + widest.saturating_sub(key.chars().count()), b' ');
        };
        let mut heading = Vec::new();
        left("key", &mut heading);
        for (column, &width) in self.columns.iter().zip(&widths) {
            right(column.name.as_bytes(), width, &mut heading);
        }
        heading.push(b'\n');
        console.print(heading)?;
        self.each(console, |_, group, out| {
            left(&name::in_messages(group.key), out);
            let mut text = Vec::new();
            for (column, &width) in self.columns.iter().zip(&widths) {
                text.clear();
                column.write(group, decimals, &mut text);
                right(&text, width, out);
            }
            out.push(b'\n');
        })
    }

    /// The format of the one-billion-row challenge.
    pub(super) fn challenge(&self, console: &mut Console) -> Result<(), Failure> {
        console.print("{")?;
        self.each(console, |at, group, out| {
            if at > 0 {
                out.extend(b", ");
            }
            out.extend_from_slice(group.key);
            for (before, value) in [(b'=', group.min), (b'/', group.mean(1)), (b'/', group.max)] {
                out.push(before);
                value.write(1, out);
            }
        })?;
        console.print("}\n")
    }

    /// One JSON object.
    pub(super) fn json(&self, totals: &Totals, console: &mut Console) -> Result<(), Failure> {
        let decimals = self.table.decimals();
        console.print("{\n  \"groups\": [")?;
        self.each(console, |at, group, out| {
            out.extend(if at > 0 { &b",\n    {"[..] } else { b"\n    {" });
            member("key", &String::from_utf8_lossy(group.key), out);
            if std::str::from_utf8(group.key).is_err() {
                out.extend(b", ");
                // The exact bytes of a key that is not UTF-8.
                member("key_hex", &name::hex(group.key), out);
            }
            for column in self.columns.iter() {
                out.extend(b", ");
                out.extend(format!("\"{}\": ", column.name).bytes());
                let before = out.len();
                // JSON numbers with all digits, which may exceed the 53 bits of a double.
                column.write(group, decimals, out);
                if out.len() == before {
                    out.extend(b"null");
                }
            }
            out.push(b'}');
        })?;
        let end = if self.table.is_empty() { "" } else { "\n  " };
        console.print(format!("{end}],\n  \"lines\": {},\n  \"skipped\": {}\n}}\n", totals.lines, totals.skipped))
    }
}

fn out_of_memory() -> Failure {
    let message = Message::new("stats", "standard output", "out of memory for the text of the keys");
    Failure::Trouble(message.cure(Some("use a machine with more memory, or process fewer keys at a time")).to_string())
}

/// A member of a JSON object.
fn member(name: &str, value: &impl Serialize, out: &mut Vec<u8>) {
    out.extend(format!("\"{name}\": ").bytes());
    // Writing text to memory cannot fail.
    let _ = serde_json::to_writer(out, value);
}

/// A CSV field, quoted if necessary.
fn quoted(field: &[u8], delimiter: u8, out: &mut Vec<u8>) {
    let special = |&byte: &u8| byte == delimiter || matches!(byte, b'"' | b'\n' | b'\r');
    if !field.iter().any(special) {
        return out.extend_from_slice(field);
    }
    out.push(b'"');
    for &byte in field {
        if byte == b'"' {
            out.push(b'"');
        }
        out.push(byte);
    }
    out.push(b'"');
}
