//! A fact about the machine, with a verdict and a cure.

use std::fmt;

/// The subject of a [`Fact`]. Facts are shown group by group, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Group {
    /// The streams that a program gets by default.
    Streams,
    /// Streams between processes.
    Processes,
    /// The running kernel.
    Kernel,
    /// What this user may do with page faults and asynchronous I/O.
    Faults,
    /// Physical memory, and the overcommit policy.
    Memory,
    /// Huge pages.
    HugePages,
    /// Limits of this process, and limits of every process.
    Limits,
    /// Connections to other hosts.
    Network,
    /// The control group this process runs in.
    Cgroup,
    /// The processor.
    Cpu,
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Group::Streams => "streams",
            Group::Processes => "streams between processes",
            Group::Kernel => "kernel",
            Group::Faults => "faults and I/O",
            Group::Memory => "memory",
            Group::HugePages => "huge pages",
            Group::Limits => "limits",
            Group::Network => "network",
            Group::Cgroup => "control group",
            Group::Cpu => "processor",
        })
    }
}

/// How good a fact is for Eagre. The best verdict comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Eagre could not use anything better.
    Ok,
    /// It works, but something is slower or smaller than it could be.
    Limited,
    /// It is missing, and what needs it does not work.
    Missing,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Verdict::Ok => "ok",
            Verdict::Limited => "limited",
            Verdict::Missing => "missing",
        })
    }
}

/// The value of a fact. It has a type, so that programs need not parse text.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// A text.
    Text(String),
    /// A size in bytes.
    Bytes(u64),
    /// A number.
    Count(u64),
    /// A number of processors. Control groups grant fractions.
    Cpus(f64),
    /// Yes or no.
    Flag(bool),
    /// A list of words.
    List(Vec<String>),
    /// No limit.
    Unlimited,
    /// Unknown: the machine does not tell.
    Unknown,
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::Text(text)
    }
}

/// A fact about the machine.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Fact {
    /// The subject.
    pub group: Group,
    /// A stable name for programs, such as `memory.total`.
    pub name: &'static str,
    /// The name to display.
    pub label: &'static str,
    /// The value.
    pub value: Value,
    /// How good the value is.
    pub verdict: Verdict,
    /// The reason, if the verdict is not [`Verdict::Ok`].
    pub why: Option<String>,
    /// What would improve it, if anything would.
    pub cure: Option<String>,
}

impl Fact {
    /// A fact with the verdict [`Verdict::Ok`].
    pub(super) fn new(group: Group, name: &'static str, label: &'static str, value: impl Into<Value>) -> Self {
        Self { group, name, label, value: value.into(), verdict: Verdict::Ok, why: None, cure: None }
    }

    /// The fact with the verdict [`Verdict::Limited`], for this reason.
    pub(super) fn limited(self, why: impl Into<String>) -> Self {
        self.judged(Verdict::Limited, why.into())
    }

    /// The fact with the verdict [`Verdict::Missing`], for this reason.
    pub(super) fn missing(self, why: impl Into<String>) -> Self {
        self.judged(Verdict::Missing, why.into())
    }

    /// The fact with a cure.
    pub(super) fn cure(mut self, cure: impl Into<String>) -> Self {
        self.cure = Some(cure.into());
        self
    }

    fn judged(mut self, verdict: Verdict, why: String) -> Self {
        self.verdict = verdict;
        self.why = Some(why);
        self
    }
}
