//! The other process: this program again, with its side of a connection as standard input.

use crate::common::Watchdog;
use eagre_mem::process::Connection;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};

const PART: &str = "EAGRE_TEST_PART";
const ARGUMENT: &str = "EAGRE_TEST_ARGUMENT";

/// A part that a child may play, and its name. It gets its connection and its argument.
pub(crate) type Part = (&'static str, fn(Connection, &str));

/// A child that plays a part. Dropped, it is killed.
pub(crate) struct Peer(Child);

impl Peer {
    /// Starts a child; the other side of its connection is for the caller.
    pub(crate) fn start(part: &str, argument: &str) -> (Peer, Connection) {
        let (ours, theirs) = Connection::pair().unwrap();
        (Peer::start_on(part, argument, theirs, &[]), ours)
    }

    pub(crate) fn start_on(part: &str, argument: &str, theirs: impl Into<Stdio>, environment: &[(&str, &str)]) -> Peer {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["child", "--exact", "--nocapture", "--test-threads=1"]);
        command.env(PART, part).env(ARGUMENT, argument).envs(environment.iter().copied());
        command.stdin(theirs).stdout(Stdio::null());
        // SAFETY: between fork and exec only setrlimit is called, which is a system call and no more.
        unsafe {
            command.pre_exec(|| {
                let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
                libc::setrlimit(libc::RLIMIT_CORE, &none);
                Ok(())
            });
        }
        Peer(command.spawn().unwrap())
    }

    /// Sends a signal, unless it has ended.
    pub(crate) fn signal(&self, signal: i32) {
        // SAFETY: a child of ours that has not been waited for.
        unsafe { libc::kill(self.0.id() as i32, signal) };
    }

    /// Stops it, and returns when it has stopped.
    pub(crate) fn stop(&self) {
        self.signal(libc::SIGSTOP);
        let mut status = 0;
        // SAFETY: a child of ours; the call fills the status.
        let waited = unsafe { libc::waitpid(self.0.id() as i32, &mut status, libc::WUNTRACED) };
        assert!(waited > 0 && libc::WIFSTOPPED(status));
    }

    /// Whether it has not ended.
    pub(crate) fn lives(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }

    /// Waits for its end, which must be a good one.
    #[track_caller]
    pub(crate) fn succeeds(mut self) {
        let status = self.0.wait().unwrap();
        assert!(status.success(), "the other process: {status}");
    }

    /// Waits for its end: the signal that caused it, if one did.
    pub(crate) fn ends(mut self) -> Option<i32> {
        self.0.wait().unwrap().signal()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The child's side: plays the part that the environment names.
pub(crate) fn serve(parts: &[Part]) {
    let Ok(wanted) = std::env::var(PART) else { return };
    // SAFETY: of this process only. It does not outlive a parent that is killed.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    let argument = std::env::var(ARGUMENT).unwrap();
    let _dog = Watchdog::new(&format!("the other process, {wanted} {argument}"));
    let (_, part) = parts.iter().find(|(name, _)| *name == wanted).unwrap();
    part(Connection::from_stdin().unwrap(), &argument);
}
