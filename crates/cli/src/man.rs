//! `eagre man`: manual pages, made from the texts of `--help`.
//!
//! After the options, a help text has sections. A section is either a heading such as `Examples:` with lines that are
//! shown as they are, or a paragraph that begins with its heading, such as `Exit status: …`.

use clap_mangen::Man;

use crate::console::Console;
use crate::exit::{Exit, Failure, Run};
use crate::message::Message;
use crate::name;

const AFTER: &str = "\
Examples:
  eagre man | man -l -              show the manual page of eagre
  eagre man count > eagre-count.1   write the manual page of one command to a file";

/// Print the manual page of eagre or of one of its commands
#[derive(clap::Args)]
#[command(after_help = AFTER)]
pub(crate) struct Args {
    /// The command whose page is printed [default: eagre itself]
    command: Option<String>,
}

impl Args {
    pub(crate) fn run(self, mut eagre: clap::Command, console: &mut Console) -> Run {
        eagre.build();
        let command = match &self.command {
            None => eagre,
            Some(wanted) => find(&eagre, wanted)?,
        };
        console.print(page(command))?;
        Ok(Exit::Yes)
    }
}

fn find(eagre: &clap::Command, wanted: &str) -> Result<clap::Command, Failure> {
    if let Some(found) = eagre.find_subcommand(wanted) {
        return Ok(found.clone());
    }
    let names: Vec<_> = eagre.get_subcommands().map(clap::Command::get_name).collect();
    let message = Message::new("man", name::in_messages(wanted.as_bytes()), "no such command")
        .cure(Some(format!("name one of {}", names.join(", "))));
    Err(Failure::Trouble(message.to_string()))
}

fn page(command: clap::Command) -> Vec<u8> {
    let after = command.get_after_help().map(ToString::to_string);
    let commands = command.has_subcommands();
    // Subcommands have no version of their own.
    let man = Man::new(command.version(env!("CARGO_PKG_VERSION")));
    let mut text = Vec::new();
    // Writing to memory cannot fail.
    let _ = man.render_title(&mut text);
    let _ = man.render_name_section(&mut text);
    let _ = man.render_synopsis_section(&mut text);
    let _ = man.render_description_section(&mut text);
    let _ = man.render_options_section(&mut text);
    if commands {
        let _ = man.render_subcommands_section(&mut text);
    }
    text.extend(sections(&after.unwrap_or_default()).as_bytes());
    let _ = man.render_version_section(&mut text);
    text
}

/// The sections after the options as roff.
fn sections(after: &str) -> String {
    let mut roff = String::new();
    for section in after.split("\n\n") {
        let Some((heading, body)) = section.split_once(':') else {
            continue;
        };
        roff += &format!(".SH \"{}\"\n", heading.to_uppercase());
        match body.strip_prefix('\n') {
            // `.nf`: lines stay as they are.
            Some(lines) => roff += &format!(".nf\n{}\n.fi\n", escaped(lines)),
            None => roff += &format!("{}\n", escaped(body.trim_start())),
        }
    }
    roff
}

fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    // A dot or a quote at the start of a line would be a roff command.
    text.lines()
        .map(|line| match line.starts_with(['.', '\'']) {
            true => format!("\\&{line}"),
            false => line.to_owned(),
        })
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_becomes_sections() {
        assert_eq!(
            sections("Examples:\n  a -b\n.c\n\nExit status: 0."),
            ".SH \"EXAMPLES\"\n.nf\n  a \\-b\n\\&.c\n.fi\n.SH \"EXIT STATUS\"\n0.\n"
        );
    }
}
