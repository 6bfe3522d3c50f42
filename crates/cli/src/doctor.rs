//! `eagre doctor`: what Eagre can do on this machine, as a table or as JSON.

use std::ffi::OsString;
use std::fmt::Write;
use std::time::Duration;

use eagre::doctor::{self, Diagnosis, Fact, PairStatus, SettingValue, Value, Verdict};
use eagre_net::{Libfabric, RdmaProvider};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use crate::console::Console;
use crate::exit::{Exit, Run};
use crate::{device, units};

const LONG: &str = "\
Show what Eagre can do on this machine, and how it could do more.

The output begins with the pairs of trap (how an access through a stream pointer is noticed) and mover (how a \
block of memory gets to that address). The best pair comes first. Each pair is tested with a small stream and \
real page faults. Then come the facts that the pairs depend on: kernel, permissions, memory, huge pages, limits, \
control groups and processor. Then come the libraries and devices of RDMA, and the environment variables that Eagre reads.

Each line is 'ok', 'limited' (it works, but slower or smaller than it could be) or 'missing'. If it is not ok, \
the reason follows, and a cure if there is one. The command changes nothing.

With DIR, the command shows what the file system of that directory can do instead: the speed of sequential and random \
reads and writes by size and number of requests, how they slow each other down, and the speed of reading small pieces \
from the page cache. The measurement takes less than 30 seconds and needs 192 MiB of room. It uses files without a \
name, so nothing is left behind. The result is kept in $XDG_CACHE_HOME/eagre or ~/.cache/eagre for 30 days, and shown \
at once the next time. 'eagre sort' chooses its plan by it.";

const AFTER: &str = "\
Examples:
  eagre doctor                    the whole table
  sudo eagre doctor               the same for root, to see what more permissions would change
  EAGRE_TRAP=signal eagre doctor  the same with another trap
  eagre doctor --json | jq '.pairs[] | select(.selected)'
  eagre doctor --json | jq '.facts[\"memory.total\"].value'
  eagre doctor /var/tmp           what the disk under /var/tmp can do
  eagre doctor --measure .        measure again, whatever is known

Exit status: 0 if streams can be used through pointers, 1 if only through explicit calls, 2 if no stream can be opened. \
With DIR: 0 on success, 2 on error.";

/// Show what works on this machine, and cures for what does not
#[derive(clap::Args)]
#[command(long_about = LONG, after_help = AFTER)]
pub(crate) struct Args {
    /// Show the speed of the file system of this directory instead; it is measured unless that is known
    #[arg(value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    directory: Option<OsString>,

    /// Measure DIR again, whatever is known
    #[arg(long, visible_alias = "refresh", requires = "directory")]
    measure: bool,

    /// Measure for about S seconds; less is less exact
    #[arg(long, value_name = "S", default_value_t = 25, requires = "directory",
          value_parser = clap::value_parser!(u8).range(..=29))]
    seconds: u8,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    /// Show no progress (it is shown only on a terminal)
    #[arg(long)]
    no_progress: bool,
}

impl Args {
    pub(crate) fn run(self, console: &mut Console) -> Run {
        if let Some(directory) = &self.directory {
            let budget = Duration::from_secs(self.seconds.into());
            let device = device::Request { directory, measure: self.measure, budget, progress: !self.no_progress };
            return device.run(self.json, console);
        }
        let (diagnosis, rdma) = (doctor::examine(), rdma());
        if self.json {
            console.print_json(&Report::new(&diagnosis, &rdma))?;
        } else {
            console.print(table(&diagnosis, &rdma, Style { colours: console.colours() }))?;
        }
        match diagnosis.default {
            None => Ok(Exit::Trouble),
            Some(_) if diagnosis.has_pointers() => Ok(Exit::Yes),
            Some(_) => Ok(Exit::No),
        }
    }
}

/// A fact about a library that only streams between hosts use. Without it nothing else is missing.
struct Extra {
    name: &'static str,
    label: &'static str,
    value: Value,
    verdict: Verdict,
    why: Option<String>,
}

/// What streams may use besides sockets: libfabric, and the devices of each provider.
fn rdma() -> Vec<Extra> {
    let fact = |name, label, value| Extra { name, label, value, verdict: Verdict::Ok, why: None };
    let found = match Libfabric::find() {
        Ok(found) => found,
        Err(error) => {
            let none = fact("libfabric", "libfabric", Value::Text("none".into()));
            return vec![Extra { verdict: Verdict::Limited, why: Some(error.to_string()), ..none }];
        }
    };
    let version = format!("{}.{}", found.version.0, found.version.1);
    let devices = |provider: RdmaProvider| {
        let of = found.devices.iter().filter(|device| device.provider == provider.name());
        Value::List(of.map(|device| device.name.clone()).collect())
    };
    let providers = [
        ("libfabric.tcp", "devices of tcp", RdmaProvider::Tcp),
        ("libfabric.verbs", "devices of verbs", RdmaProvider::Verbs),
        ("libfabric.shm", "devices of shm", RdmaProvider::Shm),
    ];
    let providers = providers.into_iter().map(|(name, label, provider)| fact(name, label, devices(provider)));
    std::iter::once(fact("libfabric", "libfabric", Value::Text(version))).chain(providers).collect()
}

/// The style of the table.
#[derive(Clone, Copy)]
struct Style {
    colours: bool,
}

impl Style {
    /// The verdict, padded to a column.
    fn verdict(self, verdict: Verdict) -> String {
        let colour = match verdict {
            Verdict::Ok => "32",
            Verdict::Limited => "33",
            Verdict::Missing => "31",
        };
        if self.colours { format!("\x1b[{colour}m{verdict:7}\x1b[0m") } else { format!("{verdict:7}") }
    }

    fn heading(self, heading: &str) -> String {
        if self.colours { format!("\x1b[1m{heading}\x1b[0m\n") } else { format!("{heading}\n") }
    }
}

fn table(diagnosis: &Diagnosis, rdma: &[Extra], style: Style) -> String {
    let mut text = format!("eagre {}\n\n", env!("CARGO_PKG_VERSION"));
    text += &style.heading("trap + mover, tested with real page faults");
    let facts = &diagnosis.facts;
    let widest = facts.iter().map(|fact| fact.label.len()).max().unwrap_or(0);
    for status in &diagnosis.pairs {
        text += &pair(status, widest, style);
    }
    for group in facts.chunk_by(|a, b| a.group == b.group) {
        text.push('\n');
        text += &style.heading(&group[0].group.to_string());
        for fact in group {
            text += &row(fact.verdict, fact.label, &shown(&fact.value), widest, style);
            text += &reasons(fact.why.as_deref(), fact.cure.as_deref());
        }
    }
    text.push('\n');
    text += &style.heading("RDMA");
    for fact in rdma {
        text += &row(fact.verdict, fact.label, &shown(&fact.value), widest, style);
        text += &reasons(fact.why.as_deref(), None);
    }
    text.push('\n');
    text += &style.heading("environment");
    for setting in &diagnosis.settings {
        text += &environment(setting);
    }
    text.push('\n');
    text += &closing(diagnosis, rdma);
    text
}

fn pair(status: &PairStatus, widest: usize, style: Style) -> String {
    let selected = if status.selected { "selected; " } else { "" };
    let calls = format!("{selected}{}", doctor::system_calls(status.pair));
    let row = row(verdict(status), &status.pair.to_string(), &calls, widest, style);
    row + &reasons(status.refusal.as_deref(), status.cure.as_deref())
}

fn verdict(status: &PairStatus) -> Verdict {
    if status.refusal.is_none() { Verdict::Ok } else { Verdict::Missing }
}

fn row(verdict: Verdict, label: &str, value: &str, widest: usize, style: Style) -> String {
    format!("  {}  {label:widest$}  {value}\n", style.verdict(verdict))
}

fn reasons(why: Option<&str>, cure: Option<&str>) -> String {
    let mut text = String::new();
    for (word, reason) in [("why", why), ("cure", cure)] {
        if let Some(reason) = reason {
            let _ = writeln!(text, "           {word}: {reason}");
        }
    }
    text
}

fn environment(value: &SettingValue) -> String {
    let setting = value.setting;
    let says = value.value().unwrap_or_else(|| format!("not set: {}", setting.default));
    let (name, doc, values) = (setting.name, setting.doc, setting.values);
    format!("  {name}: {says}\n           {doc} ({values})\n")
}

fn shown(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        Value::Bytes(bytes) => units::bytes(*bytes),
        Value::Count(count) => count.to_string(),
        Value::Cpus(cpus) => format!("{cpus:.2}"),
        Value::Flag(yes) => if *yes { "yes" } else { "no" }.to_owned(),
        Value::List(words) if words.is_empty() => "none".to_owned(),
        Value::List(words) => words.join(", "),
        Value::Unlimited => "unlimited".to_owned(),
        _ => "unknown".to_owned(),
    }
}

fn closing(diagnosis: &Diagnosis, rdma: &[Extra]) -> String {
    let facts = diagnosis.facts.iter().map(|fact| fact.verdict);
    let rdma = rdma.iter().map(|fact| fact.verdict);
    let verdicts: Vec<_> = facts.chain(rdma).chain(diagnosis.pairs.iter().map(verdict)).collect();
    let count = |wanted| verdicts.iter().filter(|&&verdict| verdict == wanted).count();
    match (count(Verdict::Limited), count(Verdict::Missing)) {
        (0, 0) => "Everything is ok.\n".to_owned(),
        (limited, missing) => format!("{limited} limited, {missing} missing; the rest is ok.\n"),
    }
}

/// The JSON object. Facts and settings are keyed by name, in order.
#[derive(Serialize)]
struct Report<'a> {
    eagre: &'static str,
    pairs: Vec<PairEntry<'a>>,
    facts: Facts<'a>,
    settings: Settings<'a>,
}

impl<'a> Report<'a> {
    fn new(diagnosis: &'a Diagnosis, rdma: &'a [Extra]) -> Self {
        Self {
            eagre: env!("CARGO_PKG_VERSION"),
            pairs: diagnosis.pairs.iter().map(PairEntry::new).collect(),
            facts: Facts(&diagnosis.facts, rdma),
            settings: Settings(&diagnosis.settings),
        }
    }
}

#[derive(Serialize)]
struct PairEntry<'a> {
    trap: String,
    mover: String,
    verdict: String,
    selected: bool,
    system_calls: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cure: Option<&'a str>,
}

impl<'a> PairEntry<'a> {
    fn new(status: &'a PairStatus) -> Self {
        Self {
            trap: status.pair.trap.to_string(),
            mover: status.pair.mover.to_string(),
            verdict: verdict(status).to_string(),
            selected: status.selected,
            system_calls: doctor::system_calls(status.pair),
            why: status.refusal.as_deref(),
            cure: status.cure.as_deref(),
        }
    }
}

struct Settings<'a>(&'a [SettingValue]);

impl Serialize for Settings<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|value| (value.setting.name, value.value())))
    }
}

struct Facts<'a>(&'a [Fact], &'a [Extra]);

impl Serialize for Facts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len() + self.1.len()))?;
        for fact in self.0 {
            map.serialize_entry(fact.name, &Entry::new(fact))?;
        }
        for Extra { name, value, verdict, why, .. } in self.1 {
            let entry = Entry { value: json(value), verdict: verdict.to_string(), why: why.as_deref(), cure: None };
            map.serialize_entry(name, &entry)?;
        }
        map.end()
    }
}

#[derive(Serialize)]
struct Entry<'a> {
    value: serde_json::Value,
    verdict: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cure: Option<&'a str>,
}

impl<'a> Entry<'a> {
    fn new(fact: &'a Fact) -> Self {
        Self {
            value: json(&fact.value),
            verdict: fact.verdict.to_string(),
            why: fact.why.as_deref(),
            cure: fact.cure.as_deref(),
        }
    }
}

/// A value in JSON. Sizes are in bytes. The absence of a limit is the text `unlimited`.
fn json(value: &Value) -> serde_json::Value {
    match value {
        Value::Text(text) => text.as_str().into(),
        Value::Bytes(number) | Value::Count(number) => (*number).into(),
        Value::Cpus(cpus) => (*cpus).into(),
        Value::Flag(yes) => (*yes).into(),
        Value::List(words) => words.as_slice().into(),
        Value::Unlimited => "unlimited".into(),
        _ => serde_json::Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_for_people_and_programs() {
        for (value, person, program) in [
            (Value::Bytes(2 << 20), "2 MiB", serde_json::json!(2 << 20)),
            (Value::Cpus(1.5), "1.50", serde_json::json!(1.5)),
            (Value::List(Vec::new()), "none", serde_json::json!([])),
            (Value::Unlimited, "unlimited", serde_json::json!("unlimited")),
            (Value::Unknown, "unknown", serde_json::json!(null)),
            (Value::Flag(true), "yes", serde_json::json!(true)),
        ] {
            assert_eq!(shown(&value), person);
            assert_eq!(json(&value), program);
        }
    }
}
