//! STXXL: a program in C++, built when it is asked for and kept in the user's cache.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::contenders::Trouble;
use crate::contenders::compiler::{cache, run};
use crate::corpus::Store;

const SOURCE: &str = include_str!("../../../peers/external/stxxl.cpp");

const FLAGS: [&str; 5] = ["-std=c++17", "-O3", "-march=native", "-fopenmp", "-pthread"];

/// Where its headers say which version they are of.
const CONFIG: &str = "/usr/include/stxxl/bits/config.h";

/// Its version, by its headers.
pub(super) fn version() -> String {
    let config = std::fs::read_to_string(CONFIG).unwrap_or_default();
    let version = config.split_once("STXXL_VERSION_STRING \"").and_then(|(_, rest)| rest.split('"').next());
    format!("stxxl {}", version.unwrap_or("of an unknown version"))
}

/// The program, built if it is not there. What failed once is not tried again.
pub(super) fn program(store: &Store) -> Result<PathBuf, Trouble> {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let built = BUILT.get_or_init(|| build(store));
    built.clone().map_err(|why| Trouble::Unavailable(format!("stxxl: c++: {why}; apt-get install g++ libstxxl-dev")))
}

fn build(store: &Store) -> Result<PathBuf, String> {
    if !Path::new(CONFIG).is_file() {
        return Err("no headers".into());
    }
    let mut hasher = DefaultHasher::new();
    (SOURCE, FLAGS, crate::machine::Machine::here().cpu).hash(&mut hasher);
    let name = format!("stxxl-{:016x}", hasher.finish());
    let path = match cache().filter(|cache| std::fs::create_dir_all(cache).is_ok()) {
        Some(cache) => cache.join(&name),
        None => store.tool(&name).map_err(|_| "no place for what it makes".to_owned())?,
    };
    if path.is_file() {
        return Ok(path);
    }
    let room = path.with_extension(format!("{}.new", std::process::id()));
    let mut command = Command::new("c++");
    command.args(FLAGS).args(["-x", "c++", "-", "-lstxxl", "-o"]).arg(&room);
    let made = run(&mut command, SOURCE).and_then(|()| std::fs::rename(&room, &path).map_err(|e| e.to_string()));
    let _ = std::fs::remove_file(&room);
    made.map(|()| path)
}
