//! Code of this program in a process of its own: this program once more, with a [`Job`].

use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::catalogue::{FileJob, Loop, Method, Task};
use crate::contenders::Trouble;
use crate::contenders::file::{Answer, Done, Files, Launcher, counting, finding, library, reading, writing};
use crate::outcome::Identity;
use crate::usage::Usage;

/// The hidden subcommand that takes a job.
pub(crate) const COMMAND: &str = "file-job";

/// What the process is told.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    /// Launcher to do it.
    pub method: Method,
    /// What to do.
    pub task: Task,
    /// The file to read.
    pub from: PathBuf,
    /// The file to write.
    pub to: PathBuf,
    /// Launcher much, in bytes or rows.
    pub size: u64,
    /// With how many threads.
    pub threads: usize,
}

/// What the process answers.
#[derive(Debug, Serialize, Deserialize)]
enum Reply {
    Done(Done),
    Unavailable(String),
    Wrong(String),
    Failed(String),
}

/// A way to do a file job within this program.
pub(super) struct Own {
    pub method: Method,
    pub job: FileJob,
}

impl Launcher for Own {
    fn commands(&self, files: &Files) -> Result<Vec<Command>, Trouble> {
        let job = Job {
            method: self.method,
            task: self.job.task,
            from: files.from.to_owned(),
            to: files.to.to_owned(),
            size: files.size,
            threads: self.job.threads,
        };
        let program = std::env::current_exe().map_err(|e| Trouble::failed("this program", e))?;
        let job = serde_json::to_string(&job).map_err(|e| Trouble::failed("job", e))?;
        let mut command = Command::new(program);
        command.args([COMMAND, &job]);
        Ok(vec![command])
    }

    fn understand(&self, output: &[u8], _seconds: f64, _ground: &Files) -> Result<Done, Trouble> {
        match serde_json::from_slice(output).map_err(|e| Trouble::failed("reply", e))? {
            Reply::Done(done) => Ok(done),
            Reply::Unavailable(why) => Err(Trouble::Unavailable(why)),
            Reply::Wrong(why) => Err(Trouble::Wrong(why)),
            Reply::Failed(why) => Err(Trouble::Failed(why)),
        }
    }

    fn identity(&self) -> Identity {
        let version = match (self.method, self.job.task) {
            (Method::Eagre | Method::EagrePointer, _) => Some(format!("eagre {}", env!("CARGO_PKG_VERSION"))),
            (Method::Mapped, Task::Count) | (Method::Loop(Loop::Bytecount), _) => locked("bytecount"),
            (Method::Mapped, Task::Find) | (Method::Loop(Loop::Memchr), _) => locked("memchr"),
            (Method::Buffered | Method::Loop(_), _) => Some("Rust's standard library".into()),
            _ => None,
        };
        Identity { version, command: None }
    }
}

/// Name and version of a crate this program was built with.
pub(crate) fn locked(name: &str) -> Option<String> {
    const LOCK: &str = include_str!("../../../../../Cargo.lock");
    let version = LOCK.split("[[package]]").find_map(|package| {
        let mut lines = package.trim().lines();
        (lines.next()? == format!("name = \"{name}\"")).then(|| lines.next()).flatten()
    })?;
    Some(format!("{name} {}", version.trim_start_matches("version = ").trim_matches('"')))
}

/// Runs the job that `text` describes; the reply to print.
pub(crate) fn run(text: &str) -> Result<String, String> {
    let job: Job = serde_json::from_str(text).map_err(|e| format!("job: {e}"))?;
    let before = Usage::now();
    let start = Instant::now();
    let answer = do_it(&job);
    let seconds = start.elapsed().as_secs_f64();
    let used = Usage::now().since(before);
    let reply = match answer {
        Ok(answer) => Reply::Done(Done { seconds, processor: Some(used.user_seconds + used.system_seconds), answer }),
        Err(Trouble::Unavailable(why)) => Reply::Unavailable(why),
        Err(Trouble::Wrong(why)) => Reply::Wrong(why),
        Err(Trouble::Failed(why)) => Reply::Failed(why),
    };
    serde_json::to_string(&reply).map_err(|e| format!("job: {e}"))
}

/// Everything from opening the files to closing them.
fn do_it(job: &Job) -> Result<Answer, Trouble> {
    let Job { from, to, size, threads, .. } = job;
    match (job.task, job.method) {
        (Task::Sum, Method::Eagre) => library::sum(from),
        (Task::Sum, Method::EagrePointer) => library::sum_pointer(from, *size),
        (Task::Sum, Method::Buffered) => reading::buffered(from),
        (Task::Sum, Method::Mapped) => reading::mapped(from),
        (Task::Sum, Method::Direct) => reading::direct(from),
        (Task::Write, Method::Eagre) => library::write(to, *size),
        (Task::Write, Method::EagrePointer) => library::write_pointer(to, *size),
        (Task::Write, Method::Buffered) => writing::buffered(to, *size),
        (Task::Write, Method::Mapped) => writing::mapped(to, *size),
        (Task::Write, Method::Direct) => writing::direct(to, *size),
        (Task::Count, Method::Eagre) => library::count(from, *threads),
        (Task::Count, Method::Mapped) => counting::mapped(from),
        (Task::Count, Method::Direct) => counting::direct(from),
        (Task::Count, Method::Loop(how)) => counting::looped(from, how),
        (Task::Count, Method::MappedSum) => counting::mapped_sum(from, *threads),
        (Task::Find, Method::Eagre) => library::find(from, *threads),
        (Task::Find, Method::Mapped) => finding::mapped(from),
        (Task::Stats, Method::Eagre) => library::stats(from, *threads),
        (Task::Keys, Method::Eagre) => library::keys(from, *threads),
        (Task::Copy, Method::Eagre) => library::copy(from, to),
        (task, method) => Err(Trouble::Failed(format!("catalogue: {method:?} cannot do {task:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_those_of_the_build() {
        assert!(locked("memchr").is_some_and(|version| version.starts_with("memchr 2.")));
        assert_eq!(locked("nonesuch"), None);
    }

    #[test]
    fn a_job_is_understood_and_its_failure_is_told() {
        let job = r#"{"method":"Mapped","task":"Count","from":"/nonesuch","to":"","size":0,"threads":1}"#;
        let reply = run(job).unwrap();
        let own = Own { method: Method::Mapped, job: crate::contenders::file::tests::JOB };
        let files = Files { from: "/nonesuch".as_ref(), to: "".as_ref(), size: 0 };
        let Err(Trouble::Failed(why)) = own.understand(reply.as_bytes(), 1.0, &files) else { panic!("{reply}") };
        assert!(why.contains("No such file"), "{why}");
        assert!(run("{}").is_err());
    }
}
