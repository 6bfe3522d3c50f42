//! One thing known about the machine, with a verdict and a cure.

use std::fmt;

/// What a [`Fact`] is about. Facts are shown group by group, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Group {
    /// What streams get by default.
    Streams,
    /// The running kernel.
    Kernel,
    /// What this user may do with page faults and asynchronous input and output.
    Faults,
    /// Physical memory and how the kernel promises it.
    Memory,
    /// Huge pages.
    HugePages,
    /// Limits of this process and of every process.
    Limits,
    /// The control group this process runs in.
    Cgroup,
    /// The processor.
    Cpu,
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Group::Streams => "streams",
            Group::Kernel => "kernel",
            Group::Faults => "faults and I/O",
            Group::Memory => "memory",
            Group::HugePages => "huge pages",
            Group::Limits => "limits",
            Group::Cgroup => "control group",
            Group::Cpu => "processor",
        })
    }
}

/// How good a fact is for Eagre, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// As good as Eagre can use.
    Ok,
    /// Works, but something is slower, smaller or narrower than it could be.
    Limited,
    /// Not there: what needs it does not work.
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

/// The value of a fact, typed so that a program need not parse what a person reads.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// Words.
    Text(String),
    /// A size in bytes.
    Bytes(u64),
    /// A number of things.
    Count(u64),
    /// A number of processors, which control groups hand out in fractions.
    Cpus(f64),
    /// Yes or no.
    Flag(bool),
    /// Several words.
    List(Vec<String>),
    /// No limit is set.
    Unlimited,
    /// The machine does not say.
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

/// One thing known about the machine.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Fact {
    /// What it is about.
    pub group: Group,
    /// A stable name for programs, such as `memory.total`.
    pub name: &'static str,
    /// A name for people.
    pub label: &'static str,
    /// What was found.
    pub value: Value,
    /// How good that is.
    pub verdict: Verdict,
    /// Why the verdict is not [`Verdict::Ok`].
    pub why: Option<String>,
    /// What would make it so, where something would.
    pub cure: Option<String>,
}

impl Fact {
    /// A fact that is as good as it can be.
    pub(super) fn new(group: Group, name: &'static str, label: &'static str, value: impl Into<Value>) -> Self {
        Self { group, name, label, value: value.into(), verdict: Verdict::Ok, why: None, cure: None }
    }

    /// The same fact, limited for this reason.
    pub(super) fn limited(self, why: impl Into<String>) -> Self {
        self.judged(Verdict::Limited, why.into())
    }

    /// The same fact, missing for this reason.
    pub(super) fn missing(self, why: impl Into<String>) -> Self {
        self.judged(Verdict::Missing, why.into())
    }

    /// The same fact with a cure.
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
