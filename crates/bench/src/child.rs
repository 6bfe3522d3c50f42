//! Runs another process and measures what it uses.
//!
//! Its output goes to a file in memory, so that no reader takes one of the cores. Its memory is read from `/proc` every few
//! milliseconds while it runs: anonymous and shared pages and page tables. `getrusage` does not separate these from the
//! pages of mapped files.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, PidfdFlags, WaitId, WaitIdOptions, pidfd_open, waitid};

use crate::trouble::Trouble;

/// How often the memory of the process is read.
const PERIOD: Timespec = Timespec { tv_sec: 0, tv_nsec: 5_000_000 };

/// What the process of a contender used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Process {
    /// Seconds of processor time, user and system, for the work.
    pub processor: f64,
    /// Peak memory in bytes: anonymous and shared pages, and page tables. Pages of mapped files belong to the page cache.
    pub memory: u64,
    /// Peak resident memory in bytes, with mapped files.
    pub resident: u64,
}

/// A process that has ended with success.
pub(crate) struct Ended {
    /// From before its start to after its end.
    pub took: Duration,
    /// What it used, processes it waited for included.
    pub process: Process,
    /// What it wrote to its standard output.
    pub output: Vec<u8>,
}

/// Runs `command` to its end. It is an error if it cannot be started or reports failure.
pub(crate) fn run(command: &mut Command) -> Result<Ended, Trouble> {
    Running::start(command)?.end()
}

/// A process that runs. It is killed if nobody waits for its end.
pub(crate) struct Running {
    name: String,
    child: Child,
    began: Instant,
    output: File,
    complaints: File,
    reaped: bool,
}

impl Running {
    /// Starts it.
    pub(crate) fn start(command: &mut Command) -> Result<Running, Trouble> {
        let name = command.get_program().to_string_lossy().into_owned();
        let failed = |e: io::Error| Trouble::Failed(format!("{name}: {e}"));
        let (output, complaints) = (memory_file().map_err(failed)?, memory_file().map_err(failed)?);
        command.stdin(Stdio::null());
        command.stdout(output.try_clone().map_err(failed)?);
        command.stderr(complaints.try_clone().map_err(failed)?);
        let began = Instant::now();
        let child = command.spawn().map_err(failed)?;
        Ok(Running { name, child, began, output, complaints, reaped: false })
    }

    pub(crate) fn pid(&self) -> Option<Pid> {
        Pid::from_raw(self.child.id().cast_signed())
    }

    /// Whether it has ended. It is still there to be waited for.
    pub(crate) fn has_ended(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        self.pid().is_none_or(|pid| !matches!(waitid(WaitId::Pid(pid), options), Ok(None)))
    }

    /// Whether it has written this to its standard error.
    pub(crate) fn has_complained_of(&self, text: &str) -> bool {
        let mut bytes = vec![0; 1 << 16];
        let length = self.complaints.read_at(&mut bytes, 0).unwrap_or(0);
        String::from_utf8_lossy(&bytes[..length]).contains(text)
    }

    /// Waits for its end. It is an error if it reports failure.
    pub(crate) fn end(self) -> Result<Ended, Trouble> {
        let name = self.name.clone();
        let (status, ended, last) = self.end_anyhow()?;
        if status.success() { Ok(ended) } else { Err(Trouble::Failed(format!("{name}: {status}: {last}"))) }
    }

    /// Waits for its end, whatever it is, and returns the last line of its complaints, too.
    pub(crate) fn end_anyhow(mut self) -> Result<(ExitStatus, Ended, String), Trouble> {
        let name = self.name.clone();
        let failed = |e: io::Error| Trouble::Failed(format!("{name}: {e}"));
        let peak = watch(&self.child).map_err(failed)?;
        let took = self.began.elapsed();
        self.reaped = true;
        let (status, processor) = reap(&self.child).map_err(failed)?;
        let read = |file: &mut File| {
            let mut bytes = Vec::new();
            file.rewind().and_then(|()| file.read_to_end(&mut bytes)).map_err(failed)?;
            Ok(bytes)
        };
        let (output, complaints) = (read(&mut self.output)?, read(&mut self.complaints)?);
        let complaints = String::from_utf8_lossy(&complaints);
        let last = complaints.trim().lines().last().unwrap_or("no message").to_owned();
        Ok((status, Ended { took, process: Process { processor, ..peak }, output }, last))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.reaped {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn memory_file() -> io::Result<File> {
    Ok(memfd_create("output", MemfdFlags::CLOEXEC)?.into())
}

/// Waits until `child` has ended, without reaping it. Returns the peaks of its memory.
fn watch(child: &Child) -> io::Result<Process> {
    let pid = Pid::from_raw(child.id().cast_signed()).ok_or(io::ErrorKind::InvalidInput)?;
    let end = pidfd_open(pid, PidfdFlags::empty())?;
    let status = File::open(format!("/proc/{}/status", child.id()))?;
    let mut peak = Process::default();
    let mut text = [0; 4096];
    loop {
        // Nothing to read of a process that has just ended.
        let length = status.read_at(&mut text, 0).unwrap_or(0);
        let now = memory(&String::from_utf8_lossy(&text[..length]));
        peak = Process { memory: peak.memory.max(now.memory), resident: peak.resident.max(now.resident), ..peak };
        match poll(&mut [PollFd::new(&end, PollFlags::IN)], Some(&PERIOD)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) => return Ok(peak),
            Err(e) => return Err(e.into()),
        }
    }
}

/// Its own memory and all it has resident, from `/proc/PID/status`.
fn memory(status: &str) -> Process {
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let kibibytes = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
        kibibytes.unwrap_or(0) << 10
    };
    let memory = field("RssAnon") + field("RssShmem") + field("VmPTE");
    Process { processor: 0.0, memory, resident: field("VmHWM") }
}

/// Takes note of the end of `child`: its status, and the seconds of processor time it used.
fn reap(child: &Child) -> io::Result<(ExitStatus, f64)> {
    let mut status = 0;
    let mut raw = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the call fills the two places it is given; zeroes are a valid `rusage`. The child has not been waited
    // for: `Child::wait` is only called where this is not.
    let raw = unsafe {
        if libc::wait4(child.id().cast_signed(), &raw mut status, 0, raw.as_mut_ptr()) < 0 {
            return Err(io::Error::last_os_error());
        }
        raw.assume_init()
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
    Ok((ExitStatus::from_raw(status), seconds(raw.ru_utime) + seconds(raw.ru_stime)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn output_time_and_processor_time_are_those_of_the_child() {
        let ended = run(&mut shell("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo done")).unwrap();
        assert_eq!(ended.output, b"done\n");
        assert!(ended.process.processor > 0.0 && ended.process.processor <= ended.took.as_secs_f64() * 2.0 + 0.1);
        assert!(ended.process.memory > 0 && ended.process.resident >= ended.process.memory / 2);
    }

    #[test]
    fn a_child_that_fails_is_quoted() {
        let Err(Trouble::Failed(why)) = run(&mut shell("echo one >&2; echo two >&2; exit 3")) else {
            panic!("it failed");
        };
        assert!(why.contains("exit status: 3") && why.ends_with("two"), "{why}");
        assert!(matches!(run(&mut Command::new("/nonesuch")), Err(Trouble::Failed(_))));
    }

    #[test]
    fn memory_is_what_the_process_took_for_itself() {
        let status =
            "Name:\tx\nVmHWM:\t  9000 kB\nRssAnon:\t 100 kB\nRssFile:\t 8000 kB\nRssShmem:\t 20 kB\nVmPTE:\t 4 kB\n";
        let process = memory(status);
        assert_eq!((process.memory, process.resident), (124 << 10, 9000 << 10));
        assert_eq!(memory(""), Process::default());
    }
}
