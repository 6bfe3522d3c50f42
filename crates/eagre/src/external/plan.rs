//! Which way to sort is the fastest here.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::str::FromStr;

use super::FileSorter;
use super::budget::Budget;
use super::inputs::Input;
use crate::device::cost::{self, Devices, Estimate, Processor, Way};
use crate::device::{Identity, Profile};
use crate::doctor::{Available, Bound, available_memory};
use crate::file::{Output, cache};
use crate::records::Format;
use crate::scan;

/// A way to sort a file (WiscSort, PVLDB 16, 2023, sections 3 and 4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Plan {
    /// What is expected to be the fastest.
    #[default]
    Auto,
    /// All records are read into memory and sorted there.
    InMemory,
    /// Keys and pointers are sorted in memory. Then records are fetched from the input in their order.
    OnePass,
    /// Keys and pointers are sorted in runs, and the runs merged. Then records are fetched from the input in their order.
    MergePass,
    /// Whole records are sorted in runs, and the runs merged.
    Classic,
}

impl Plan {
    const NAMES: [(Plan, &'static str); 5] = [
        (Plan::Auto, "auto"),
        (Plan::InMemory, "in-memory"),
        (Plan::OnePass, "one-pass"),
        (Plan::MergePass, "merge-pass"),
        (Plan::Classic, "classic"),
    ];
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Plan::NAMES.iter().find(|(plan, _)| plan == self);
        f.pad(name.map_or("", |(_, name)| name))
    }
}

impl FromStr for Plan {
    type Err = String;

    fn from_str(text: &str) -> Result<Plan, String> {
        let found = Plan::NAMES.iter().find(|(_, name)| *name == text);
        found
            .map(|(plan, _)| *plan)
            .ok_or_else(|| "not a plan; there are auto, in-memory, one-pass, merge-pass and classic".to_owned())
    }
}

/// A plan, and why it was chosen.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Choice {
    /// The plan.
    pub plan: Plan,
    /// The reason, in a line.
    pub reason: String,
    /// What is expected of the plans that were considered, the best first.
    pub estimates: Vec<Estimate>,
}

impl Choice {
    fn new(plan: Plan, reason: impl Into<String>) -> Choice {
        Choice { plan, reason: reason.into(), estimates: Vec::new() }
    }

    /// How long the plan is expected to take, in seconds.
    #[must_use]
    pub fn seconds(&self) -> Option<f64> {
        let mut own = self.estimates.iter().filter(|estimate| Plan::from(estimate.way) == self.plan);
        own.next().map(Estimate::seconds)
    }
}

impl From<Way> for Plan {
    fn from(way: Way) -> Plan {
        match way {
            Way::InMemory => Plan::InMemory,
            Way::OnePass => Plan::OnePass,
            Way::MergePass => Plan::MergePass,
            Way::Classic => Plan::Classic,
        }
    }
}

/// The addresses that stacks and guards of threads take, and what else is not memory of the sort.
const AROUND: u64 = 32 << 20;
/// Inputs below this size are not worth a probe of their device.
const LEAST_TO_PROBE: u64 = 1 << 30;

/// What was chosen, and the profiles of the devices of the input, of temporary files and of the output, if they were needed.
pub(super) struct Chosen {
    pub(super) choice: Choice,
    pub(super) profiles: Option<[Profile; 3]>,
}

impl From<Choice> for Chosen {
    fn from(choice: Choice) -> Chosen {
        Chosen { choice, profiles: None }
    }
}

/// Chooses the plan of a sort.
///
/// # Errors
/// The plan that was asked for is not possible.
pub(super) fn choose<F: Format>(
    settings: &FileSorter<'_>,
    format: &F,
    budget: &Budget,
    inputs: &[Input],
    output: Option<&Output>,
) -> io::Result<Chosen> {
    let pointers = pointable(settings, format, inputs);
    let wanted = settings.plan;
    if let (Plan::OnePass | Plan::MergePass, Err(why)) = (wanted, &pointers) {
        let text = format!("sort: --plan {wanted}: {why}; use another plan");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    let file = match pointers {
        Ok(file) => file,
        Err(why) => return Ok(Choice::new(Plan::Classic, format!("records are read once: {why}")).into()),
    };
    let facts = look(format, budget, file).map_err(|error| {
        let name = inputs.first().map_or("", |input| &input.name);
        crate::file::failure::Task::of("read", Path::new(name)).error(&error)
    })?;
    let devices = match profiles(settings, file, output, facts.input >= LEAST_TO_PROBE && facts.cached < 1.0) {
        Ok(devices) => devices,
        Err(error) if wanted == Plan::Auto => {
            return Ok(Choice::new(Plan::Classic, format!("nothing is known about the device ({error})")).into());
        }
        Err(_) => return Ok(Choice::new(wanted, "it was asked for").into()),
    };
    let profiles = match settings.device {
        Some(device) => devices.map(|profile| device.profile(&profile)),
        None => devices,
    };
    let devices = Devices { input: &profiles[0], temporary: &profiles[1], output: &profiles[2] };
    let estimates = cost::rank(&facts, &devices, &Processor::default());
    let best = estimates.first().map_or(Plan::Classic, |best| Plan::from(best.way));
    let (plan, reason) = match wanted {
        // Addresses may be limited.
        Plan::Auto if matches!(best, Plan::OnePass | Plan::MergePass) && !is_mappable(file, facts.input, budget) => {
            (Plan::Classic, "there are no addresses for the input beside the memory of the sort".to_owned())
        }
        Plan::Auto => (best, reason(&facts, best)),
        wanted => (wanted, "it was asked for".to_owned()),
    };
    Ok(Chosen { choice: Choice { plan, reason, estimates }, profiles: Some(profiles) })
}

fn reason(facts: &cost::Job, plan: Plan) -> String {
    let cached = facts.cached * 100.0;
    match plan {
        Plan::InMemory => "all records fit into memory".to_owned(),
        Plan::OnePass => {
            format!("keys and pointers fit into memory, and records are fetched fast ({cached:.0} % are cached)")
        }
        Plan::MergePass => format!("records are fetched fast ({cached:.0} % are cached), but their keys need runs"),
        _ => format!(
            "records are read in order: fetching {:.0} bytes each is slower ({cached:.0} % are cached)",
            facts.record
        ),
    }
}

/// The file to whose records pointers may point, or why there is none.
fn pointable<'i, F: Format>(
    settings: &FileSorter<'_>,
    format: &F,
    inputs: &'i [Input],
) -> Result<&'i File, &'static str> {
    let [Input { from: scan::Input::File(file), .. }] = inputs else {
        return Err("the input is not a single file");
    };
    let metadata = file.metadata().map_err(|_| "the input cannot be looked at")?;
    if !metadata.is_file() {
        return Err("the input is not a regular file");
    }
    if metadata.blocks() == 0 {
        return Err("the input is empty, or is made while it is read");
    }
    if rustix::fs::tell(file).is_ok_and(|at| at > 0) {
        return Err("the input is not read from its beginning");
    }
    if settings.unique {
        return Err("repeated records are left out");
    }
    if let Some(end) = format.terminator() {
        let mut last = [0];
        let read = std::os::unix::fs::FileExt::read_at(file, &mut last, metadata.len() - 1);
        if !matches!(read, Ok(1)) || last[0] != end {
            return Err("the last line lacks its end");
        }
    }
    Ok(file)
}

/// What is known about the records of a file.
fn look<F: Format>(format: &F, budget: &Budget, file: &File) -> io::Result<cost::Job> {
    const SAMPLE: usize = 64 << 10;
    let input = file.metadata()?.len();
    let mut sample = vec![0; SAMPLE.min(usize::try_from(input).unwrap_or(SAMPLE))];
    let read = std::os::unix::fs::FileExt::read_at(file, &mut sample, 0)?;
    let (mut at, mut records) = (0, 0_u32);
    while at < read {
        match format.length(&sample[at..read], false) {
            Ok(Some(length)) => (at, records) = (at + length, records + 1),
            _ => break,
        }
    }
    let record =
        format.record_size().map_or(at.max(read.min(1)) as f64 / f64::from(records.max(1)), |size| size as f64);
    let cached = cache::warmth(file, 0, input).map_or(0.0, |warmth| match warmth {
        cache::Warmth::Warm(part) | cache::Warmth::Half(part) | cache::Warmth::Cold(part) => part,
    });
    Ok(cost::Job {
        input,
        record,
        key: format.key_size().unwrap_or(16) as u64,
        memory: budget.total,
        threads: budget.threads as u32,
        cached,
        page_cache: page_cache(budget.total),
        strided: format.record_size().is_some(),
        text: format.terminator().is_some(),
    })
}

/// Whether there are addresses for the input, and for all that the sort takes beside it.
fn is_mappable(file: &File, bytes: u64, budget: &Budget) -> bool {
    let (Ok(bytes), Ok(beside)) = (usize::try_from(bytes), usize::try_from(budget.total + AROUND)) else {
        return false;
    };
    let mapping = eagre_mem::Mapping::new(file, 0, bytes);
    mapping.is_ok_and(|_mapped| eagre_mem::heap::list::<u8>(beside).is_ok())
}

/// How much of a file the page cache keeps, beside the memory of the sort.
fn page_cache(memory: u64) -> u64 {
    /// For other programs.
    const SPARE: u64 = 512 << 20;
    match available_memory() {
        Some(Available { bytes, bound: Bound::Machine | Bound::ControlGroup, .. }) => {
            bytes.saturating_sub(memory.saturating_add(SPARE))
        }
        _ => 0,
    }
}

/// The profiles of the devices of the input, of temporary files and of the output.
fn profiles(settings: &FileSorter<'_>, input: &File, output: Option<&Output>, probe: bool) -> io::Result<[Profile; 3]> {
    let temporary = super::run::Temporary::new(&settings.temporary);
    let input = place(input);
    // A stream goes where nothing is known of: that is taken to be as fast as temporary files.
    let output = output.map_or_else(|| temporary.first().to_path_buf(), |output| place(output.file()));
    let mut known: Vec<Profile> = Vec::new();
    let mut find = |path: &Path| -> io::Result<Profile> {
        let identity = Identity::of(path)?;
        if let Some(same) = known.iter().find(|profile| profile.identity.is_same_device(&identity)) {
            return Ok(same.clone());
        }
        let cached = Profile::load(path).ok().flatten();
        let profile = match cached {
            Some(profile) => profile,
            None if probe && !identity.is_byte_addressable() => Profile::probe(path)?,
            None => Profile::expected(identity),
        };
        known.push(profile.clone());
        Ok(profile)
    };
    Ok([find(&input)?, find(temporary.first())?, find(&output)?])
}

/// The directory of an open file, with a name or without.
fn place(file: &File) -> std::path::PathBuf {
    use std::os::fd::AsRawFd;
    let path = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap_or_default();
    path.parent().filter(|parent| parent.is_absolute()).unwrap_or(Path::new("/")).to_path_buf()
}
