//! Debuggers and checkers: what the documentation says of them holds.

use super::frame::{Ends, For, Scenario, skip};
use super::util::*;
use eagre_mem::stream::Pipe;
use std::io::ErrorKind;
use std::process::{Command, Output, Stdio};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("tools::gdb", For::Pointers, Ends::Well, gdb),
    Scenario::new("tools::strace", For::Pointers, Ends::Well, strace),
    Scenario::new("tools::valgrind_with_explicit_calls", For::Once, Ends::Well, valgrind),
    Scenario::new("tools::valgrind_with_defaults", For::Once, Ends::Well, valgrind_by_default),
    Scenario::new("tools::valgrind_with_a_trap", For::Once, Ends::Well, valgrind_with_trap),
    Scenario::new("tools::what_opens", For::Once, Ends::Well, what_opens),
    Scenario::new("tools::qemu", For::Once, Ends::Well, qemu),
    Scenario::new("tools::a_flow", For::Pointers, Ends::Well, streams_work),
    Scenario::new("tools::an_explicit_flow", For::Once, Ends::Well, explicit),
];

/// Runs a tool on the child that runs `scenario`; skips where the tool is missing or may not trace.
fn tool(command: &[&str], scenario: &str) -> Output {
    let program = std::env::current_exe().unwrap();
    let mut tool = Command::new(command[0]);
    tool.args(&command[1..]).arg(program).env("EAGRE_CHILD", scenario).stdin(Stdio::null());
    // Some tools look for files of their own there, and an ordinary user may have no home.
    tool.env("HOME", std::env::temp_dir()).env_remove("DEBUGINFOD_URLS");
    // A folder of the path that this user may not read makes "permission denied" of "not found".
    match tool.output() {
        // What `env` says of what it was to start.
        Ok(output) if command[0] == "env" && matches!(output.status.code(), Some(126 | 127)) => {
            skip(&format!("not here, or not for this user: {}", told(&output).trim()))
        }
        Ok(output) => output,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied) => {
            skip(&format!("{} is not here, or not for this user: {error}", command[0]))
        }
        Err(error) => panic!("{}: {error}", command[0]),
    }
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn gdb() {
    let pass = |signal| format!("handle {signal} nostop noprint pass");
    let (segv, bus) = (pass("SIGSEGV"), pass("SIGBUS"));
    let command = ["gdb", "-nx", "-batch", "-ex", &segv, "-ex", &bus, "-ex", "run", "--args"];
    let told = told(&tool(&command, "tools::a_flow"));
    if told.contains("Operation not permitted") || told.contains("Could not trace") {
        skip("this process may not trace");
    }
    assert!(told.contains("exited normally"), "{told}");
}

fn strace() {
    let output = tool(&["strace", "-f", "-qq", "-o", "/dev/null"], "tools::a_flow");
    let told = told(&output);
    if told.contains("Operation not permitted") {
        skip("this process may not trace");
    }
    assert!(output.status.success(), "{told}");
}

fn valgrind() {
    // A small pool: valgrind keeps books on every byte that is open.
    let command = ["env", "EAGRE_POOL=64M", "valgrind", "--quiet", "--error-exitcode=9"];
    let output = tool(&command, "tools::an_explicit_flow");
    assert!(output.status.success(), "{}: {}", output.status, told(&output));
}

/// Opens a stream of whatever kind works, without a word of the tool's.
fn valgrind_by_default() {
    let command = ["env", "EAGRE_POOL=64M", "valgrind", "--quiet", "--error-exitcode=9"];
    let output = tool(&command, "tools::what_opens");
    assert!(output.status.success(), "{}: {}", output.status, told(&output));
    assert_eq!(told(&output), "off + copy\n");
}

/// What does not work there is refused at once.
fn valgrind_with_trap() {
    for trap in ["EAGRE_TRAP=pager", "EAGRE_TRAP=signal"] {
        let command = ["env", "EAGRE_POOL=64M", trap, "valgrind", "--quiet", "--error-exitcode=9"];
        let output = tool(&command, "tools::what_opens");
        assert!(output.status.code() == Some(101) && told(&output).contains(" Valgrind "), "{}", told(&output));
    }
}

/// An emulator whose kernel interface has no userfaultfd.
fn qemu() {
    let command = ["env", "EAGRE_POOL=64M", "qemu-x86_64"];
    let output = tool(&command, "tools::what_opens");
    assert!(output.status.success(), "{}: {}", output.status, told(&output));
    assert!(["signal + remap\n", "off + copy\n"].contains(&&*told(&output)), "{}", told(&output));
}

/// Opens a stream that asks for nothing in particular, says what it is, and sends something through it.
fn what_opens() {
    let pipe = Pipe::open().unwrap_or_else(|error| panic!("{error}"));
    say(&format!("{} + {}\n", pipe.trap(), pipe.mover()));
    explicit_flow(pipe);
}

/// Explicit calls on both ends, without faults.
fn explicit() {
    explicit_flow(small("explicit").trap(eagre_mem::Trap::Off).open().unwrap());
    let error = Pipe::builder().trap(eagre_mem::Trap::Off).open().unwrap().writer().as_mut_ptr().unwrap_err();
    assert!(error.to_string().contains("no pointers"), "{error}");
}

fn explicit_flow(pipe: Pipe) {
    let (mut writer, mut reader) = pipe.split();
    let sent: Vec<u8> = (0..10 * BLOCK + 7).map(|at| word(at) as u8).collect();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            writer.copy_in(&sent).unwrap();
            writer.finish().unwrap();
        });
        let mut got = vec![0; sent.len() + 1];
        assert_eq!(reader.copy_out(&mut got).unwrap(), sent.len());
        assert!(got[..sent.len()] == sent[..]);
    });
}
