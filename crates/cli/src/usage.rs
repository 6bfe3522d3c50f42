//! Wrong arguments, help and version.
//!
//! clap explains a wrong argument in a short paragraph. This module turns it into a message of one line with a cure:
//! `eagre: usage: count: unexpected argument '--byte' found, a similar argument exists: '--bytes'; see 'eagre count
//! --help'`.

use std::error::Error;
use std::ffi::OsStr;
use std::fmt;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::console::Console;
use crate::exit::{Exit, Failure, Run};
use crate::message::Message;

/// Prints clap's text about the arguments: help and version as results, everything else as an error. `first` is the first
/// argument, and `command` builds the whole command line.
pub(crate) fn explain(
    error: &clap::Error,
    first: Option<&OsStr>,
    command: fn() -> clap::Command,
    console: &mut Console,
) -> Run {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let text = error.render();
            if console.colours() {
                console.print(text.ansi().to_string())?;
            } else {
                console.print(text.to_string())?;
            }
            Ok(Exit::Yes)
        }
        // `eagre` without arguments prints the help.
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            console.complain(error.render().to_string().trim_end());
            Ok(Exit::Trouble)
        }
        _ => Err(Failure::Trouble(one_line(error, first, command))),
    }
}

/// The error of a value that a command cannot use. It holds the line to print.
#[derive(Debug)]
pub(crate) struct Unfit(pub(crate) String);

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Unfit {}

/// The message of one line.
pub(crate) fn one_line(error: &clap::Error, first: Option<&OsStr>, command: fn() -> clap::Command) -> String {
    if let Some(unfit) = error.source().and_then(|source| source.downcast_ref::<Unfit>()) {
        return unfit.to_string();
    }
    let misuse = command_path(error).unwrap_or_else(|| misused(first, &command()));
    let place = misuse.strip_prefix("eagre ").unwrap_or("arguments");
    Message::new("usage", place, reason(&error.render().to_string()))
        .cure(Some(format!("see '{misuse} --help'")))
        .to_string()
}

/// The command that was misused, such as `eagre count`, from the usage that clap attaches.
fn command_path(error: &clap::Error) -> Option<String> {
    let usage = match error.get(ContextKind::Usage)? {
        ContextValue::StyledStr(usage) => usage.to_string(),
        _ => return None,
    };
    let words: Vec<&str> = usage
        .split_whitespace()
        .skip_while(|&word| word != "eagre")
        .take_while(|word| word.chars().all(|c| c.is_ascii_lowercase()))
        .collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// The command that the first argument names. It is needed for invalid values, to which clap attaches no usage.
fn misused(first: Option<&OsStr>, command: &clap::Command) -> String {
    let named = first.and_then(|first| command.get_subcommands().find(|command| first == command.get_name()));
    named.map_or_else(|| "eagre".to_owned(), |command| format!("eagre {}", command.get_name()))
}

/// Rust's messages about numbers, and their plain equivalents.
const NUMBERS: [(&str, &str); 4] = [
    ("number would be zero for non-zero type", "it must be at least 1"),
    ("invalid digit found in string", "not a whole number"),
    ("cannot parse integer from empty string", "not a whole number"),
    ("number too large to fit in target type", "too large"),
];

/// The paragraph as one line, without its usage and its own hint to `--help`.
fn reason(paragraph: &str) -> String {
    let mut reason = String::new();
    for line in paragraph.lines().map(str::trim) {
        if line.starts_with("Usage:") || line.starts_with("For more information") {
            break;
        }
        let line = line.strip_prefix("error: ").unwrap_or(line);
        let line = line.strip_prefix("tip: ").unwrap_or(line);
        if line.is_empty() {
            continue;
        }
        if !reason.is_empty() {
            reason.push_str(if reason.ends_with(':') { " " } else { ", " });
        }
        reason.extend(line.chars().filter(|c| !c.is_control()));
    }
    for (said, meant) in NUMBERS {
        if let Some(before) = reason.strip_suffix(said) {
            reason = format!("{before}{meant}");
        }
    }
    reason
}
