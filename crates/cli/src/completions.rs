//! `eagre completions`: a script that completes `eagre` commands in a shell.

use clap_complete::Shell;

use crate::console::Console;
use crate::exit::{Exit, Run};

const AFTER: &str = "\
Examples:
  bash   eagre completions bash > ~/.local/share/bash-completion/completions/eagre
  zsh    eagre completions zsh > ~/.zfunc/_eagre        (with fpath+=~/.zfunc before compinit)
  fish   eagre completions fish > ~/.config/fish/completions/eagre.fish";

/// Print a completion script for a shell
#[derive(clap::Args)]
#[command(after_help = AFTER)]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

impl Args {
    pub(crate) fn run(self, mut eagre: clap::Command, console: &mut Console) -> Run {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut eagre, "eagre", &mut script);
        console.print(script)?;
        Ok(Exit::Yes)
    }
}
