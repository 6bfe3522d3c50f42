//! Other programs: their command lines, and what their output says.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::catalogue::{Job, Program, Task};
use crate::contenders::Trouble;
use crate::contenders::file::python::{self, Library};
use crate::contenders::file::{Answer, Done, Ground, How, fio};
use crate::corpus::PATTERN;
use crate::outcome::Identity;

/// `program` for `job`, if it is here.
pub(super) fn find(program: Program, job: Job) -> Result<Box<dyn How>, Trouble> {
    let version = match program {
        Program::Polars => Library::Polars.version()?,
        Program::Duckdb => Library::Duckdb.version()?,
        _ => {
            let (name, cure) = origin(program);
            let path = locate(program, name, cure)?;
            if program == Program::Eagre {
                has_subcommand(&path, job.task)?;
            }
            version(&path)
        }
    };
    let other = Other { program, job, version };
    // Every job it may be given has a command line.
    other.commands(&Ground { from: "FILE".as_ref(), to: "COPY".as_ref(), size: 0 })?;
    Ok(Box::new(other))
}

/// What a program is called, and where to get it.
fn origin(program: Program) -> (&'static str, &'static str) {
    match program {
        Program::Eagre => ("eagre", "cargo build --release -p eagre-cli"),
        Program::Wc => ("wc", "install coreutils"),
        Program::Grep => ("grep", "install grep"),
        Program::Ripgrep => ("rg", "install ripgrep"),
        Program::Cp { .. } => ("cp", "install coreutils"),
        Program::Dd { .. } => ("dd", "install coreutils"),
        Program::Fio { .. } => ("fio", "install fio"),
        Program::Polars => ("polars", ""),
        Program::Duckdb => ("duckdb", ""),
    }
}

/// Where the program is: the `eagre` command beside this program, all others on the path.
fn locate(program: Program, name: &str, cure: &str) -> Result<PathBuf, Trouble> {
    let folders: Vec<PathBuf> = match program {
        Program::Eagre => {
            std::env::current_exe().ok().and_then(|path| Some(path.parent()?.to_owned())).into_iter().collect()
        }
        _ => std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default(),
    };
    let found = folders.iter().map(|folder| folder.join(name)).find(|path| path.is_file());
    found.ok_or_else(|| Trouble::Unavailable(format!("no {name}; {cure}")))
}

/// Whether the `eagre` at `path`, which may be older than this program, has the subcommand for `task`.
fn has_subcommand(path: &Path, task: Task) -> Result<(), Trouble> {
    let output = Command::new(path).args([subcommand(task), "--help"]).output();
    match output {
        Ok(output) if output.status.success() => Ok(()),
        _ => Err(Trouble::Unavailable(format!(
            "this eagre has no {}; cargo build --release -p eagre-cli",
            subcommand(task)
        ))),
    }
}

/// The subcommand of `eagre` that does `task`.
fn subcommand(task: Task) -> &'static str {
    match task {
        Task::Count => "count",
        Task::Find => "find",
        Task::Stats => "stats",
        Task::Copy => "copy",
        Task::Sum | Task::Write => "",
    }
}

/// The first line of `--version`.
fn version(program: &Path) -> String {
    let output = Command::new(program).arg("--version").output();
    let output = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    output.lines().next().unwrap_or("version unknown").to_owned()
}

/// A program and its job.
struct Other {
    program: Program,
    job: Job,
    version: String,
}

impl How for Other {
    fn commands(&self, ground: &Ground) -> Result<Vec<Command>, Trouble> {
        let pattern = std::str::from_utf8(PATTERN).unwrap_or_default();
        let (from, to) = (ground.from.as_os_str(), ground.to.as_os_str());
        let (threads, task) = (self.job.threads, self.job.task);
        let one = |program: &str, arguments: &[&dyn AsRef<OsStr>]| {
            let mut command = Command::new(program);
            command.args(arguments.iter().map(|argument| argument.as_ref()));
            // Bytes, not characters: the fastest way all of them have.
            command.env("LC_ALL", "C");
            vec![command]
        };
        Ok(match (self.program, task) {
            (Program::Eagre, Task::Count) => self.eagre(&["-l"], &[from]),
            (Program::Eagre, Task::Find) => self.eagre(&["-b", pattern], &[from]),
            (Program::Eagre, Task::Stats) => self.eagre(&[], &[from]),
            (Program::Eagre, Task::Copy) => self.eagre(&[], &[from, to]),
            (Program::Wc, Task::Count) => one("wc", &[&"-l", &from]),
            (Program::Grep, Task::Find) => one("grep", &[&"-F", &"-o", &"-b", &pattern, &from]),
            (Program::Ripgrep, Task::Find) => one("rg", &[&"-j1", &"-F", &"-o", &"-b", &pattern, &from]),
            (Program::Cp { sync }, Task::Copy) => {
                let mut commands = one("cp", &[&from, &to]);
                if sync {
                    commands.extend(one("sync", &[&to]));
                }
                commands
            }
            (Program::Dd { direct }, Task::Copy) => {
                let (mut from, mut to) = (OsStr::new("if=").to_owned(), OsStr::new("of=").to_owned());
                from.push(ground.from);
                to.push(ground.to);
                let mut commands = one("dd", &[&"bs=2M", &"conv=fsync", &"status=none", &from, &to]);
                if direct {
                    commands[0].args(["iflag=direct", "oflag=direct"]);
                }
                commands
            }
            (Program::Fio { uring }, Task::Sum) => vec![fio::command(uring, ground)],
            (Program::Polars, _) => vec![Library::Polars.command(task, threads, ground)?],
            (Program::Duckdb, _) => vec![Library::Duckdb.command(task, threads, ground)?],
            (program, task) => return Err(Trouble::Failed(format!("catalogue: {program:?} cannot do {task:?}"))),
        })
    }

    fn understand(&self, output: &[u8], seconds: f64, _ground: &Ground) -> Result<Done, Trouble> {
        let answer = match (self.program, self.job.task) {
            (Program::Fio { .. }, _) => return fio::understand(output),
            (Program::Polars | Program::Duckdb, task) => return python::understand(task, output),
            (_, Task::Count) => Answer::Lines(first_number(output).ok_or_else(|| odd(output))?),
            (_, Task::Find) => {
                let lines = output.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
                let places = lines.map(|line| first_number(line).ok_or_else(|| odd(line)));
                Answer::Places(places.collect::<Result<_, _>>()?)
            }
            (_, Task::Copy) => Answer::File,
            (_, task) => return Err(Trouble::Failed(format!("catalogue: no way to understand {task:?}"))),
        };
        Ok(Done { seconds, processor: None, answer })
    }

    fn identity(&self) -> Identity {
        let ground = Ground { from: "FILE".as_ref(), to: "COPY".as_ref(), size: 0 };
        let commands = match self.program {
            // A script is not a line.
            Program::Polars | Program::Duckdb => None,
            _ => self.commands(&ground).ok().map(|commands| commands.iter().map(line).collect::<Vec<_>>().join("; ")),
        };
        Identity { version: Some(self.version.clone()), command: commands }
    }
}

impl Other {
    /// The `eagre` command with the subcommand of the task, and files.
    fn eagre(&self, arguments: &[&str], files: &[&OsStr]) -> Vec<Command> {
        let path = locate(Program::Eagre, "eagre", "").unwrap_or_else(|_| "eagre".into());
        let mut command = Command::new(path);
        command.arg(subcommand(self.job.task)).args(arguments).args(files);
        vec![command]
    }
}

/// A command as a line, the program by its name alone.
fn line(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let arguments = command.get_args().map(|argument| {
        let argument = argument.to_string_lossy();
        if argument.contains(' ') { format!("'{argument}'") } else { argument.into_owned() }
    });
    std::iter::once(program).chain(arguments).collect::<Vec<_>>().join(" ")
}

/// The number a line begins with, blanks before it aside.
fn first_number(line: &[u8]) -> Option<u64> {
    let line = line.trim_ascii_start();
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(&line[..digits]).ok()?.parse().ok()
}

fn odd(line: &[u8]) -> Trouble {
    let line = &line[..line.len().min(60)];
    Trouble::Wrong(format!("the output {:?}", String::from_utf8_lossy(line)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contenders::file::tests::JOB;
    use crate::corpus::Places;

    fn other(program: Program, task: Task) -> Other {
        Other { program, job: Job { task, ..JOB }, version: String::new() }
    }

    #[test]
    fn outputs_of_the_programs_are_understood() {
        let ground = Ground { from: "f".as_ref(), to: "t".as_ref(), size: 0 };
        let answer = |program, task, output: &str| {
            other(program, task).understand(output.as_bytes(), 2.0, &ground).map(|done| done.answer).ok()
        };
        assert_eq!(answer(Program::Wc, Task::Count, "17 /a/b\n"), Some(Answer::Lines(17)));
        assert_eq!(answer(Program::Wc, Task::Count, "  17 f"), Some(Answer::Lines(17)));
        assert_eq!(answer(Program::Wc, Task::Count, "wc: what\n"), None);
        let places: Places = [3, 40].into_iter().collect();
        assert_eq!(answer(Program::Grep, Task::Find, "3:x y\n40:x y\n"), Some(Answer::Places(places)));
        assert_eq!(answer(Program::Eagre, Task::Find, "3\n40\n"), Some(Answer::Places(places)));
        assert_eq!(answer(Program::Grep, Task::Find, ""), Some(Answer::Places(Places::default())));
        assert_eq!(answer(Program::Grep, Task::Find, "binary file matches\n"), None);
    }

    #[test]
    fn commands_are_shown_as_one_would_type_them() {
        let identity = other(Program::Grep, Task::Find).identity();
        assert_eq!(identity.command.as_deref(), Some("grep -F -o -b 'rising tide wave' FILE"));
        let identity = other(Program::Cp { sync: true }, Task::Copy).identity();
        assert_eq!(identity.command.as_deref(), Some("cp FILE COPY; sync COPY"));
    }

    #[test]
    fn a_program_that_is_not_here_says_how_to_get_it() {
        let Err(Trouble::Unavailable(why)) = locate(Program::Wc, "nonesuch", "install it") else { panic!("found") };
        assert_eq!(why, "no nonesuch; install it");
    }
}
