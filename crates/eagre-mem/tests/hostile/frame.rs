//! The frame: runs each scenario in a child process, with a watchdog, and judges how it ended.
//!
//! The parent starts this same program again with `EAGRE_CHILD` naming the scenario and `EAGRE_TRAP`, `EAGRE_MOVER`
//! naming the pair. The child leads a process group of its own, so that the watchdog gets its children too, and dies
//! with its parent. It may end with [`skip`], which counts as skipped, with the reason told at the end.

use super::arguments::Arguments;
use std::fmt;
use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// A child hangs when it, and those it has waited for, have used so much processor time. On a busy machine that may take
/// long; a child that sleeps for ever hangs after ten times as long.
fn patience() -> Duration {
    Duration::from_secs(if std::env::var_os("EAGRE_LONG").is_some() { 3000 } else { 20 })
}
/// How a child says that it cannot do what it is for.
const SKIPPED: i32 = 77;

/// Which pairs of trap and mover a scenario is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum For {
    /// Every pair that works here.
    Every,
    /// Every pair with pointers that works here.
    Pointers,
    /// The pairs whose trap is a signal.
    Signals,
    /// The pager.
    Pager,
    /// It runs once, and chooses by itself.
    Once,
}

/// How the child must end.
#[derive(Clone, Copy)]
pub(crate) enum Ends {
    /// With exit status 0.
    Well,
    /// Killed by this signal.
    By(i32),
    /// Killed by one of the two signals that a bad touch of memory raises.
    ByFault,
}

/// One scenario.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) pairs: For,
    pub(crate) ends: Ends,
    /// What its standard error must contain; every one of them exactly once.
    pub(crate) says: &'static [&'static str],
    pub(crate) run: fn(),
}

impl Scenario {
    pub(crate) const fn new(name: &'static str, pairs: For, ends: Ends, run: fn()) -> Scenario {
        Scenario { name, pairs, ends, says: &[], run }
    }

    pub(crate) const fn says(self, says: &'static [&'static str]) -> Scenario {
        Scenario { says, ..self }
    }
}

/// A trap and a mover, as the environment names them.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Pair(&'static str, &'static str);

const PAIRS: [Pair; 5] = [
    Pair("pager", "move"),
    Pair("signal", "move"),
    Pair("signal", "remap"),
    Pair("signal", "map"),
    Pair("off", "copy"),
];

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} + {}", self.0, self.1)
    }
}

/// Ends a child that cannot do what it is for, and says why.
pub(crate) fn skip(why: &str) -> ! {
    println!("{why}");
    std::process::exit(SKIPPED)
}

/// What a test came to.
enum Verdict {
    Passed,
    Skipped(String),
    Failed(String),
}

pub(crate) fn main(themes: &[&[Scenario]]) {
    let scenarios = || themes.iter().copied().flatten();
    if let Some(name) = std::env::var_os("EAGRE_CHILD") {
        as_a_child_should_be();
        let scenario = scenarios().find(|scenario| *name == *scenario.name);
        return match scenario {
            Some(scenario) => (scenario.run)(),
            None => list_working_pairs(),
        };
    }
    let arguments = Arguments::of_this_program();
    let mut tests = Vec::new();
    let mut filtered = 0;
    for scenario in scenarios() {
        let pairs: Vec<Option<Pair>> = match scenario.pairs {
            For::Once => vec![None],
            For::Every => PAIRS.map(Some).into(),
            For::Pointers => PAIRS[..4].iter().copied().map(Some).collect(),
            For::Signals => PAIRS[1..4].iter().copied().map(Some).collect(),
            For::Pager => vec![Some(PAIRS[0])],
        };
        for pair in pairs {
            let name = pair.map_or(scenario.name.to_owned(), |pair| format!("{} ({pair})", scenario.name));
            if arguments.want(&name) { tests.push((name, scenario, pair)) } else { filtered += 1 }
        }
    }
    if arguments.list {
        tests.iter().for_each(|(name, ..)| println!("{name}: test"));
        return;
    }
    arguments.none_is_a_mistake(tests.len());
    let working = working_pairs();
    println!("\nrunning {} tests", tests.len());
    let (mut passed, mut skipped, mut failures) = (0, Vec::new(), Vec::new());
    for (name, scenario, pair) in tests {
        let verdict = match pair {
            Some(pair) if !working.contains(&pair) => Verdict::Skipped(format!("{pair} does not work here")),
            _ => run(scenario, pair),
        };
        let word = match verdict {
            Verdict::Passed => {
                passed += 1;
                "ok"
            }
            Verdict::Skipped(why) => {
                skipped.push(format!("{name}: {why}"));
                "skipped"
            }
            Verdict::Failed(why) => {
                failures.push(format!("{name}: {why}"));
                "FAILED"
            }
        };
        println!("test {name} ... {word}");
    }
    for (title, list) in [("skipped", &skipped), ("failures", &failures)] {
        if !list.is_empty() {
            println!("\n{title}:");
            list.iter().for_each(|line| println!("    {line}"));
        }
    }
    let result = if failures.is_empty() { "ok" } else { "FAILED" };
    println!(
        "\ntest result: {result}. {passed} passed; {} failed; {} ignored; 0 measured; {filtered} filtered out\n",
        failures.len(),
        skipped.len(),
    );
    std::process::exit(if failures.is_empty() { 0 } else { 101 });
}

fn run(scenario: &Scenario, pair: Option<Pair>) -> Verdict {
    let ended = watch(start(scenario.name, pair));
    let told = || format!("\n--- stdout\n{}--- stderr\n{}---", ended.stdout, ended.stderr);
    if ended.hung {
        return Verdict::Failed(format!("hung: {:?} of processor time, or ten times as long{}", patience(), told()));
    }
    if ended.status.code() == Some(SKIPPED) {
        return Verdict::Skipped(ended.stdout.trim().to_owned());
    }
    let as_wanted = match scenario.ends {
        Ends::Well => ended.status.success(),
        Ends::By(signal) => ended.status.signal() == Some(signal),
        Ends::ByFault => matches!(ended.status.signal(), Some(libc::SIGSEGV | libc::SIGBUS)),
    };
    if !as_wanted {
        return Verdict::Failed(format!("ended with {}{}", ended.status, told()));
    }
    for words in scenario.says {
        let times = ended.stderr.matches(words).count();
        if times != 1 {
            return Verdict::Failed(format!("said {words:?} {times} times{}", told()));
        }
    }
    Verdict::Passed
}

/// A child that has ended.
struct Ended {
    status: std::process::ExitStatus,
    stdout: String,
    stderr: String,
    hung: bool,
}

fn start(name: &str, pair: Option<Pair>) -> Child {
    let program = std::env::current_exe().expect("this program has a path");
    let mut command = Command::new(program);
    command.env("EAGRE_CHILD", name).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for name in ["EAGRE_TRAP", "EAGRE_MOVER", "EAGRE_POOL", "EAGRE_WAIT_REPORT", "RUST_BACKTRACE"] {
        command.env_remove(name);
    }
    if let Some(Pair(trap, mover)) = pair {
        command.env("EAGRE_TRAP", trap).env("EAGRE_MOVER", mover);
    }
    command.spawn().expect("a child process starts")
}

/// Waits for a child to end, or kills it and all it has started.
fn watch(mut child: Child) -> Ended {
    let group = child.id() as i32;
    let (ended, watchdog) = mpsc::channel::<()>();
    let watchdog = std::thread::spawn(move || {
        let started = Instant::now();
        let hung = loop {
            let waited = watchdog.recv_timeout(Duration::from_millis(500));
            if waited != Err(RecvTimeoutError::Timeout) {
                break false;
            }
            if processor_time(group) >= patience() || started.elapsed() >= 10 * patience() {
                break true;
            }
        };
        // Whatever the child started and left behind goes in any case.
        // SAFETY: the group was made for this child, and the child has not been waited for: its number is still its.
        unsafe { libc::kill(-group, libc::SIGKILL) };
        hung
    });
    let mut pipes = (child.stdout.take().expect("piped"), child.stderr.take().expect("piped"));
    let reader = std::thread::spawn(move || text(&mut pipes.1));
    let stdout = text(&mut pipes.0);
    let stderr = reader.join().expect("the reader ends");
    let status = wait_without_reaping(group);
    let _ = ended.send(());
    let hung = watchdog.join().expect("the watchdog ends");
    let status = child.wait().unwrap_or(status);
    Ended { status, stdout, stderr, hung }
}

/// The processor time that a process, and those it has waited for, have used.
fn processor_time(process: i32) -> Duration {
    let Ok(text) = std::fs::read_to_string(format!("/proc/{process}/stat")) else { return Duration::ZERO };
    // Behind the name, which may hold anything, the first of these is field 3; wanted are 14 to 17.
    let fields = text.rsplit(')').next().unwrap_or("").split_whitespace().skip(11).take(4);
    let ticks: u64 = fields.filter_map(|field| field.parse::<u64>().ok()).sum();
    // SAFETY: plain values.
    let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) } as u64;
    Duration::from_millis(ticks * 1000 / per_second)
}

/// Waits until a process has ended, and leaves it for `wait`.
fn wait_without_reaping(process: i32) -> std::process::ExitStatus {
    // SAFETY: an all-zero siginfo is valid, and the call fills it.
    unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        while libc::waitid(libc::P_PID, process as u32, &mut info, libc::WEXITED | libc::WNOWAIT) != 0
            && std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted
        {}
    }
    std::process::ExitStatus::from_raw(0)
}

/// What a child says, or the beginning of it: some of those that hang talk without end.
fn text(pipe: &mut impl Read) -> String {
    let mut bytes = Vec::new();
    let _ = pipe.take(2 << 10).read_to_end(&mut bytes);
    let _ = std::io::copy(pipe, &mut std::io::sink());
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A child that crashes on purpose leaves nothing on the disk, none outlives the parent, and none inherits deaf ears: a
/// shell starts its background jobs with SIGINT ignored.
fn as_a_child_should_be() {
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: all three calls take plain values.
    unsafe {
        libc::setrlimit(libc::RLIMIT_CORE, &none);
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
            libc::signal(signal, libc::SIG_DFL);
        }
    }
}

/// Asks a child, because asking starts the pager and installs handlers.
fn working_pairs() -> Vec<Pair> {
    let stdout = watch(start("which pairs work", None)).stdout;
    PAIRS.into_iter().filter(|pair| stdout.lines().any(|line| line == pair.to_string())).collect()
}

fn list_working_pairs() {
    for status in eagre_mem::probe::examine() {
        match status.refusal {
            None => println!("{}", status.pair),
            Some(why) => eprintln!("{}: {why}", status.pair),
        }
    }
}
