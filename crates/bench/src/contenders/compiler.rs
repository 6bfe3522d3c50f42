//! The C and C++ compilers, for peers that are built when they are asked for.

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

/// Builds a C program in the user's directory, unless this very one is there: with these flags before its text, and those after it.
pub(super) fn c_program(name: &str, source: &str, before: &[&str], after: &[&str]) -> Result<PathBuf, String> {
    let folder = cache().ok_or("no home directory")?.join("bin");
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let path = folder.join(format!("eagre-peer-{name}-{:016x}", xxhash_rust::xxh3::xxh3_64(source.as_bytes())));
    if !path.is_file() {
        // Others may want it at the same time.
        let fresh = folder.join(format!("{name}-{}", std::process::id()));
        run(Command::new("cc").args(before).args(["-x", "c", "-"]).arg("-o").arg(&fresh).args(after), source)?;
        std::fs::rename(&fresh, &path).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    Ok(path)
}
