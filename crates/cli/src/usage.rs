//! Wrong arguments, help and version.
//!
//! clap explains a wrong argument in a small paragraph. We say it as we say everything, in one line with
//! a cure: `eagre: usage: count: unexpected argument '--byte' found, a similar argument exists: '--bytes';
//! see 'eagre count --help'`.

use std::error::Error;
use std::ffi::OsStr;
use std::fmt;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::cli::{Exit, Failure, Run};
use crate::console::Console;
use crate::message::Message;

/// Prints what clap has to say of the arguments, of which `first` is the first: help and version as results, anything else
/// as trouble.
pub(crate) fn explain(error: &clap::Error, first: Option<&OsStr>, console: &mut Console) -> Run {
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
        // `eagre` alone: whoever types it wants to know what can follow.
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            console.complain(error.render().to_string().trim_end());
            Ok(Exit::Trouble)
        }
        _ => Err(Failure::Trouble(one_line(error, first))),
    }
}

/// A value that a command cannot use, as the line to be printed.
#[derive(Debug)]
pub(crate) struct Unfit(pub(crate) String);

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Unfit {}

fn one_line(error: &clap::Error, first: Option<&OsStr>) -> String {
    if let Some(unfit) = error.source().and_then(|source| source.downcast_ref::<Unfit>()) {
        return unfit.to_string();
    }
    let command = command_path(error).unwrap_or_else(|| misused(first));
    let place = command.strip_prefix("eagre ").unwrap_or("arguments");
    Message::new("usage", place, reason(&error.render().to_string()))
        .cure(Some(format!("see '{command} --help'")))
        .to_string()
}

/// The command that was misused, such as `eagre count`, from the usage clap attaches.
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

/// The command that the first argument names: clap attaches no usage to a value that it cannot take.
fn misused(first: Option<&OsStr>) -> String {
    let command = crate::cli::command();
    let named = first.and_then(|first| command.get_subcommands().find(|command| first == command.get_name()));
    named.map_or_else(|| "eagre".to_owned(), |command| format!("eagre {}", command.get_name()))
}

/// What Rust says of numbers, and what it means to people.
const NUMBERS: [(&str, &str); 4] = [
    ("number would be zero for non-zero type", "it must be at least 1"),
    ("invalid digit found in string", "not a whole number"),
    ("cannot parse integer from empty string", "not a whole number"),
    ("number too large to fit in target type", "too large"),
];

/// The paragraph without its usage and its own hint to `--help`, in one line.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(arguments: &[&str]) -> String {
        let first = arguments.get(1).map(OsStr::new);
        one_line(&crate::cli::command().try_get_matches_from(arguments).unwrap_err(), first)
    }

    #[test]
    fn values_that_cannot_be_taken_point_to_the_command() {
        for (arguments, said) in [
            (&["eagre", "count", "-j0"][..], "count: invalid value '0' for '--threads <N>': it must be at least 1"),
            (&["eagre", "find", "-m", "x"], "find: invalid value 'x' for '--max-count <N>': not a whole number"),
            (
                &["eagre", "stats", "-k", "0"],
                "stats: invalid value '0' for '--key <COLUMN>': columns are counted from 1",
            ),
            (
                &["eagre", "partition", "--keys", "x"],
                "partition: invalid value 'x' for '--keys <TYPE>', [possible values: u8, i8, u16, i16, u32, i32, f32, \
                 u64, i64, f64, u32:u32, u64:u64]",
            ),
        ] {
            let line = explained(arguments);
            assert_eq!(line, format!("eagre: usage: {said}; see 'eagre {} --help'", arguments[1]));
        }
        // Whatever else is missing.
        assert_eq!(
            explained(&["eagre", "partition", "--keys", "u128"]),
            "eagre: partition: --keys: keys of u128 can be sorted, but not partitioned; name a type of up to 64 bits, or pairs"
        );
    }

    #[test]
    fn one_line_for_every_mistake() {
        assert_eq!(
            explained(&["eagre", "count", "--byte"]),
            "eagre: usage: count: unexpected argument '--byte' found, a similar argument exists: '--bytes'; \
             see 'eagre count --help'"
        );
        for wrong in [
            &["eagre", "cuont"][..],
            &["eagre", "--wrong"],
            &["eagre", "count", "--total=perhaps"],
            &["eagre", "count", "--total"],
            &["eagre", "completions"],
            &["eagre", "doctor", "a\nb"],
        ] {
            let line = explained(wrong);
            assert!(line.starts_with("eagre: usage: "), "{line}");
            assert!(line.contains("; see 'eagre"), "{line}");
            assert!(!line.contains('\n'), "{line}");
        }
    }

    #[test]
    fn the_command_line_is_well_formed() {
        crate::cli::command().debug_assert();
    }
}
