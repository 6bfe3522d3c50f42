//! Wrong arguments, help and version.
//!
//! clap explains a wrong argument in a small paragraph. We say it as we say everything, in one line with
//! a cure: `eagre: usage: count: unexpected argument '--byte' found, a similar argument exists: '--bytes';
//! see 'eagre count --help'`.

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::cli::{Exit, Failure, Run};
use crate::console::Console;
use crate::message::Message;

/// Prints what clap has to say: help and version as results, anything else as trouble.
pub(crate) fn explain(error: &clap::Error, console: &mut Console) -> Run {
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
        _ => Err(Failure::Trouble(one_line(error))),
    }
}

fn one_line(error: &clap::Error) -> String {
    let command = command_path(error);
    let place = command.strip_prefix("eagre ").unwrap_or("arguments");
    Message::new("usage", place, reason(&error.render().to_string()))
        .cure(Some(format!("see '{command} --help'")))
        .to_string()
}

/// The command that was misused, such as `eagre count`, from the usage clap attaches.
fn command_path(error: &clap::Error) -> String {
    let usage = match error.get(ContextKind::Usage) {
        Some(ContextValue::StyledStr(usage)) => usage.to_string(),
        _ => String::new(),
    };
    let words: Vec<&str> = usage
        .split_whitespace()
        .skip_while(|&word| word != "eagre")
        .take_while(|word| word.chars().all(|c| c.is_ascii_lowercase()))
        .collect();
    if words.is_empty() { "eagre".to_owned() } else { words.join(" ") }
}

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
    reason
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(arguments: &[&str]) -> String {
        one_line(&crate::cli::command().try_get_matches_from(arguments).unwrap_err())
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
