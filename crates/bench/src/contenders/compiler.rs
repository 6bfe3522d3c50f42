//! The C++ compiler, for peers that are built when they are asked for.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The user's directory for what it makes, and for headers that no package of the system has.
pub(super) fn cache() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    Some(set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))?.join("eagre/peers"))
}

/// Runs the compiler on `text`; an error is its first complaint.
pub(super) fn run(command: &mut Command, text: &str) -> Result<(), String> {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut compiler = command.spawn().map_err(|e| e.to_string())?;
    let written = compiler.stdin.take().map(|mut source| source.write_all(text.as_bytes()));
    let output = compiler.wait_with_output().map_err(|e| e.to_string())?;
    if output.status.success() && matches!(written, Some(Ok(()))) {
        return Ok(());
    }
    let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
    let first = complaints.lines().find(|line| line.contains("error")).or(complaints.lines().next());
    Err(first.unwrap_or("failed").trim_start_matches("<stdin>:").to_owned())
}
