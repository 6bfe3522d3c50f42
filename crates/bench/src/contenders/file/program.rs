//! Other programs: their command lines, and what their output says.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::catalogue::{FileJob, Program, Task};
use crate::contenders::Trouble;
use crate::contenders::file::python::{self, Library};
use crate::contenders::file::{Answer, Done, Files, Launcher, fio};
use crate::corpus::keys::Figures;
use crate::corpus::{PATTERN, Store};
use crate::outcome::Identity;

/// `program` for `job`, if it is here.
pub(super) fn find(program: Program, job: FileJob, store: &Store) -> Result<Box<dyn Launcher>, Trouble> {
    let mut path = PathBuf::new();
    let version = match program {
        Program::Polars => Library::Polars.version()?,
        Program::Duckdb => Library::Duckdb.version()?,
        Program::Onebrc => {
            path = store.tool("onebrc")?;
            compile(&path)?
        }
        _ => {
            let (name, cure) = origin(program);
            path = locate(program, name, cure)?;
            if program == Program::Eagre {
                has_subcommand(&path, job.task)?;
            }
            version(&path)
        }
    };
    let other = Other { program, job, path, version };
    // Every job it may be given has a command line.
    other.commands(&Files { from: "FILE".as_ref(), to: "COPY".as_ref(), size: 0 })?;
    Ok(Box::new(other))
}

/// Builds the C program of the statistics at `path`, unless it is there; the version of the compiler.
fn compile(path: &Path) -> Result<String, Trouble> {
    const SOURCE: &str = include_str!("../../../peers/onebrc.c");
    const FLAGS: [&str; 5] = ["-O3", "-march=native", "-pthread", "-x", "c"];
    let unavailable = |why: String| Trouble::Unavailable(format!("onebrc: cc: {why}; install a C compiler"));
    if !path.is_file() {
        let mut command = Command::new("cc");
        command.args(FLAGS).arg("-").arg("-o").arg(path).stdin(Stdio::piped()).stderr(Stdio::piped());
        let mut compiler = command.spawn().map_err(|e| unavailable(e.to_string()))?;
        let written = compiler.stdin.take().map(|mut source| source.write_all(SOURCE.as_bytes()));
        let output = compiler.wait_with_output().map_err(|e| unavailable(e.to_string()))?;
        if !output.status.success() || !matches!(written, Some(Ok(()))) {
            let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(unavailable(complaints.lines().next().unwrap_or("failed").to_owned()));
        }
    }
    Ok(version(Path::new("cc")))
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
        // These are found in other ways.
        Program::Onebrc | Program::Polars | Program::Duckdb => ("", ""),
    }
}

/// Where the program is: the `eagre` command beside this program, all others on the path.
fn locate(program: Program, name: &str, cure: &str) -> Result<PathBuf, Trouble> {
    if program == Program::Eagre { beside(name, cure) } else { on_path(name, cure) }
}

/// The program `name` beside this program.
pub(in crate::contenders) fn beside(name: &str, cure: &str) -> Result<PathBuf, Trouble> {
    let folder = std::env::current_exe().ok().and_then(|path| Some(path.parent()?.to_owned()));
    within(folder, name, cure)
}

/// The program `name` on the path.
pub(in crate::contenders) fn on_path(name: &str, cure: &str) -> Result<PathBuf, Trouble> {
    within(std::env::var_os("PATH").iter().flat_map(std::env::split_paths), name, cure)
}

/// The program `name` in the first of the folders that has one.
fn within(folders: impl IntoIterator<Item = PathBuf>, name: &str, cure: &str) -> Result<PathBuf, Trouble> {
    let found = folders.into_iter().map(|folder| folder.join(name)).find(|path| path.is_file());
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
        Task::Stats | Task::Keys => "stats",
        Task::Copy => "copy",
        Task::Sum | Task::Write => "",
    }
}

/// The first line of `--version`.
pub(in crate::contenders) fn version(program: &Path) -> String {
    let output = Command::new(program).arg("--version").output();
    let output = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    output.lines().next().unwrap_or("version unknown").to_owned()
}

/// A program and its job.
struct Other {
    program: Program,
    job: FileJob,
    /// Where it is; empty of what is used from Python.
    path: PathBuf,
    version: String,
}

impl Launcher for Other {
    fn commands(&self, files: &Files) -> Result<Vec<Command>, Trouble> {
        let pattern = std::str::from_utf8(PATTERN).unwrap_or_default();
        let (from, to) = (files.from.as_os_str(), files.to.as_os_str());
        let (threads, task) = (self.job.threads, self.job.task);
        let one = |program: &dyn AsRef<OsStr>, arguments: &[&dyn AsRef<OsStr>]| {
            let mut command = Command::new(program);
            command.args(arguments.iter().map(|argument| argument.as_ref()));
            // Bytes, not characters: the fastest way all of them have.
            command.env("LC_ALL", "C");
            vec![command]
        };
        Ok(match (self.program, task) {
            (Program::Eagre, Task::Count) => self.eagre(&["-l", "--threads", &threads.to_string()], &[from]),
            (Program::Eagre, Task::Find) => self.eagre(&["-b", "--threads", &threads.to_string(), pattern], &[from]),
            (Program::Eagre, Task::Stats) => {
                self.eagre(&["--format", "1brc", "--threads", &threads.to_string()], &[from])
            }
            (Program::Eagre, Task::Keys) => self.eagre(&["--threads", &threads.to_string()], &[from]),
            (Program::Eagre, Task::Copy) => self.eagre(&[], &[from, to]),
            (Program::Wc, Task::Count) => one(&"wc", &[&"-l", &from]),
            (Program::Grep, Task::Find) => one(&"grep", &[&"-F", &"-o", &"-b", &pattern, &from]),
            (Program::Ripgrep, Task::Find) => one(&"rg", &[&"-j1", &"-F", &"-o", &"-b", &pattern, &from]),
            (Program::Cp { sync }, Task::Copy) => {
                let mut commands = one(&"cp", &[&from, &to]);
                if sync {
                    commands.extend(one(&"sync", &[&to]));
                }
                commands
            }
            (Program::Dd { direct }, Task::Copy) => {
                let (mut from, mut to) = (OsStr::new("if=").to_owned(), OsStr::new("of=").to_owned());
                from.push(files.from);
                to.push(files.to);
                let mut commands = one(&"dd", &[&"bs=2M", &"conv=fsync", &"status=none", &from, &to]);
                if direct {
                    commands[0].args(["iflag=direct", "oflag=direct"]);
                }
                commands
            }
            (Program::Onebrc, Task::Stats) => one(&self.path, &[&from, &threads.to_string()]),
            (Program::Fio { uring }, Task::Sum) => vec![fio::command(uring, files)],
            (Program::Polars, _) => vec![Library::Polars.command(task, threads, files)?],
            (Program::Duckdb, _) => vec![Library::Duckdb.command(task, threads, files)?],
            (program, task) => return Err(Trouble::Failed(format!("catalogue: {program:?} cannot do {task:?}"))),
        })
    }

    fn understand(&self, output: &[u8], seconds: f64, _ground: &Files) -> Result<Done, Trouble> {
        let answer = match (self.program, self.job.task) {
            (Program::Fio { .. }, _) => return fio::understand(output),
            (Program::Polars | Program::Duckdb, task) => return python::understand(task, output),
            (_, Task::Count) => Answer::Lines(first_number(output).ok_or_else(|| odd(output))?),
            (_, Task::Find) => {
                let lines = output.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
                let places = lines.map(|line| first_number(line).ok_or_else(|| odd(line)));
                Answer::Places(places.collect::<Result<_, _>>()?)
            }
            (_, Task::Stats) => Answer::Stations(stations(output)?),
            (_, Task::Keys) => Answer::Keys(figures(output)?),
            (_, Task::Copy) => Answer::File,
            (_, task) => return Err(Trouble::Failed(format!("catalogue: no way to understand {task:?}"))),
        };
        Ok(Done { seconds, processor: None, answer })
    }

    fn identity(&self) -> Identity {
        let files = Files { from: "FILE".as_ref(), to: "COPY".as_ref(), size: 0 };
        let commands = match self.program {
            // A script is not a line.
            Program::Polars | Program::Duckdb => None,
            _ => self.commands(&files).ok().map(|commands| commands.iter().map(line).collect::<Vec<_>>().join("; ")),
        };
        Identity { version: Some(self.version.clone()), command: commands }
    }
}

impl Other {
    /// The `eagre` command with the subcommand of the task, and files.
    fn eagre(&self, arguments: &[&str], files: &[&OsStr]) -> Vec<Command> {
        let mut command = Command::new(&self.path);
        command.arg(subcommand(self.job.task)).args(arguments).args(files);
        vec![command]
    }
}

/// A command as a line, the program by its name alone.
pub(in crate::contenders) fn line(command: &Command) -> String {
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

/// `{name=minimum/mean/maximum, ...}`, as the challenge wants it.
fn stations(output: &[u8]) -> Result<Vec<(String, f64, f64, f64)>, Trouble> {
    let row = |row: &str| {
        let (name, numbers) = row.rsplit_once('=')?;
        let mut numbers = numbers.split('/').map(|number| number.parse().ok());
        Some((name.to_owned(), numbers.next()??, numbers.next()??, numbers.next()??))
    };
    let text = std::str::from_utf8(output).map_err(|_| odd(output))?;
    let rows = text.trim().strip_prefix('{').and_then(|text| text.strip_suffix('}')).ok_or_else(|| odd(output))?;
    rows.split(", ").map(|text| row(text).ok_or_else(|| odd(text.as_bytes()))).collect()
}

/// Lines of key, minimum, mean, maximum and count, in the order of the keys, as what can be said of all of them.
fn figures(output: &[u8]) -> Result<Figures, Trouble> {
    let mut sum = Figures { keys: 0, rows: 0, min: 0, max: 0 };
    let mut before: &[u8] = b"";
    for line in output.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
        let mut fields = line.split(|&byte| byte == b';');
        let number = |field: Option<&[u8]>| {
            let text = std::str::from_utf8(field?).ok()?;
            text.replace('.', "").parse::<i64>().ok()
        };
        let key = fields.next().filter(|&key| key > before).ok_or_else(|| odd(line))?;
        let (min, _, max) = (number(fields.next()), fields.next(), number(fields.next()));
        let (Some(min), Some(max), Some(rows)) = (min, max, number(fields.next())) else { return Err(odd(line)) };
        before = key;
        sum = Figures { keys: sum.keys + 1, rows: sum.rows + rows as u64, min: sum.min + min, max: sum.max + max };
    }
    Ok(sum)
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
        Other { program, job: FileJob { task, ..JOB }, path: "/a/eagre".into(), version: String::new() }
    }

    #[test]
    fn outputs_of_the_programs_are_understood() {
        let files = Files { from: "f".as_ref(), to: "t".as_ref(), size: 0 };
        let answer = |program, task, output: &str| {
            other(program, task).understand(output.as_bytes(), 2.0, &files).map(|done| done.answer).ok()
        };
        assert_eq!(answer(Program::Wc, Task::Count, "17 /a/b\n"), Some(Answer::Lines(17)));
        assert_eq!(answer(Program::Wc, Task::Count, "  17 f"), Some(Answer::Lines(17)));
        assert_eq!(answer(Program::Wc, Task::Count, "wc: what\n"), None);
        let places: Places = [3, 40].into_iter().collect();
        assert_eq!(answer(Program::Grep, Task::Find, "3:x y\n40:x y\n"), Some(Answer::Places(places)));
        assert_eq!(answer(Program::Eagre, Task::Find, "3\n40\n"), Some(Answer::Places(places)));
        let rows = vec![("San José".to_owned(), -1.5, 0.2, 2.0), ("Rio".to_owned(), 3.0, 3.0, 3.0)];
        let text = "{San José=-1.5/0.2/2.0, Rio=3.0/3.0/3.0}\n";
        assert_eq!(answer(Program::Onebrc, Task::Stats, text), Some(Answer::Stations(rows)));
        assert_eq!(answer(Program::Onebrc, Task::Stats, "{Rio=1/2}\n"), None);
        assert_eq!(answer(Program::Grep, Task::Find, ""), Some(Answer::Places(Places::default())));
        assert_eq!(answer(Program::Grep, Task::Find, "binary file matches\n"), None);
    }

    #[test]
    fn commands_are_shown_as_one_would_type_them() {
        let identity = other(Program::Grep, Task::Find).identity();
        assert_eq!(identity.command.as_deref(), Some("grep -F -o -b 'rising tide wave' FILE"));
        let identity = other(Program::Eagre, Task::Copy).identity();
        assert_eq!(identity.command.as_deref(), Some("eagre copy FILE COPY"));
        let identity = other(Program::Cp { sync: true }, Task::Copy).identity();
        assert_eq!(identity.command.as_deref(), Some("cp FILE COPY; sync COPY"));
    }

    #[test]
    fn a_program_that_is_not_here_says_how_to_get_it() {
        let Err(Trouble::Unavailable(why)) = locate(Program::Wc, "nonesuch", "install it") else { panic!("found") };
        assert_eq!(why, "no nonesuch; install it");
    }
}
