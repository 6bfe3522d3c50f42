//! `eagre doctor DIR`: what the file system of a directory can do, as tables or as JSON.

use std::ffi::OsStr;
use std::fmt::Write;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use eagre::device::{Access, Identity, Measured, Profile, Thoroughness};
use serde::Serialize;

use crate::console::Console;
use crate::exit::{Exit, Failure, Run};
use crate::progress::Progress;
use crate::{message, units};

/// What the arguments ask for.
pub(crate) struct Request<'a> {
    pub(crate) directory: &'a OsStr,
    /// Measure again, whatever is known.
    pub(crate) measure: bool,
    /// How long that takes.
    pub(crate) budget: Duration,
    pub(crate) progress: bool,
}

impl Request<'_> {
    pub(crate) fn run(&self, json: bool, console: &mut Console) -> Run {
        let (profile, known) = self.profile(console)?;
        if json {
            console.print_json(&Report::new(&profile, known))?;
        } else {
            console.print(table(&profile, known))?;
        }
        Ok(Exit::Yes)
    }

    /// The profile, and whether it was known.
    fn profile(&self, console: &mut Console) -> Result<(Profile, bool), Failure> {
        let directory = Path::new(self.directory);
        if !self.measure
            && let Some(profile) = Profile::load(directory).map_err(trouble)?
            && profile.thoroughness == Thoroughness::Full
        {
            return Ok((profile, true));
        }
        if self.progress {
            console.watch(Progress::new("doctor", None));
        }
        let gauge = console.gauge();
        let profile = Profile::measure(directory, self.budget, &mut |step| {
            let what =
                format!("{}, {} at a time, {} in flight", name(step.next), units::bytes(step.request), step.depth);
            gauge.step(step.done, step.of, &what);
            ControlFlow::Continue(())
        });
        let profile = profile.map_err(trouble)?;
        // It has been measured, and can be shown.
        if let Err(error) = profile.save() {
            console.remark(&message::of_file(&error));
        }
        Ok((profile, false))
    }
}

fn trouble(error: io::Error) -> Failure {
    let message = message::of_file(&error);
    Failure::Trouble(match error.kind() {
        io::ErrorKind::NotADirectory => format!("{message}; name a directory"),
        _ => message,
    })
}

/// What is done, for people.
fn name(access: Access) -> &'static str {
    match access {
        Access::SequentialRead => "sequential reads",
        Access::SequentialWrite => "sequential writes",
        Access::RandomRead => "random reads",
        Access::RandomWrite => "random writes",
        Access::DurableWrite => "writes through the page cache, and fsync",
        Access::CachedRead => "sequential reads from the page cache",
        Access::CachedGather => "random reads from the page cache",
        Access::ReadBesideWrite => "sequential reads during writes",
        Access::WriteBesideRead => "sequential writes during reads",
        _ => access.name(),
    }
}

fn table(profile: &Profile, known: bool) -> String {
    let mut text = heading(profile, known);
    for access in Access::ALL {
        let of = |measured: &&Measured| measured.access == access;
        text += &grid(access, &profile.measured.iter().filter(of).copied().collect::<Vec<_>>());
    }
    text.push('\n');
    text += &findings(profile);
    text
}

fn heading(profile: &Profile, known: bool) -> String {
    let Identity { major, minor, filesystem, bytes, .. } = &profile.identity;
    let size = if *bytes > 0 { format!(", {}", units::bytes(*bytes)) } else { String::new() };
    let when = match known {
        true => format!("measured {} ago; --measure measures again", units::time(profile.age())),
        false => "measured now".to_owned(),
    };
    format!("device {major}:{minor}, {filesystem}{size}, Linux {}\n{when}; all speeds in MB/s\n", profile.kernel)
}

/// The measurements of one kind: a row for each size of requests, a column for each number of them.
fn grid(access: Access, measured: &[Measured]) -> String {
    let mut depths: Vec<u32> = measured.iter().map(|measured| measured.depth).collect();
    depths.sort_unstable();
    depths.dedup();
    let mut text = String::new();
    if depths.is_empty() {
        return text;
    }
    let _ = write!(text, "\n{}\n  {:>9}", name(access), "in flight");
    for depth in &depths {
        let _ = write!(text, " {depth:>7}");
    }
    text.push('\n');
    for row in measured.chunk_by(|a, b| a.request == b.request) {
        let _ = write!(text, "  {:>9}", units::bytes(row[0].request));
        for &depth in &depths {
            let rate = row.iter().find(|measured| measured.depth == depth).map(|measured| measured.rate);
            let _ = write!(text, " {:>7}", rate.map_or("-".to_owned(), megabytes));
        }
        text.push('\n');
    }
    text
}

fn megabytes(rate: f64) -> String {
    let rate = rate / 1e6;
    if rate < 10.0 { format!("{rate:.1}") } else { format!("{rate:.0}") }
}

/// What follows from the numbers.
fn findings(profile: &Profile) -> String {
    let identity = &profile.identity;
    let access = match (identity.in_memory, identity.dax, identity.direct) {
        (true, ..) => "files live in memory: byte-addressable".to_owned(),
        (_, true, _) => "files are mapped without a page cache (DAX): byte-addressable".to_owned(),
        (.., Some(block)) => {
            format!("blocks of {}; transfers can bypass the page cache (O_DIRECT)", units::bytes(block.into()))
        }
        (.., None) => "no transfers past the page cache (O_DIRECT): cold reads may be faster than they are".to_owned(),
    };
    let mut text = format!("{access}\n");
    if profile.thoroughness == Thoroughness::Full {
        let overlap = profile.overlap();
        let verdict = if overlap < 1.2 { "gains nothing" } else { "pays" };
        let _ =
            writeln!(text, "reading while writing {verdict}: together {overlap:.2} of what one of them reaches alone");
        let least = units::bytes(profile.least_random_read());
        let _ = writeln!(text, "random reads reach half of the sequential speed with {least} or more at a time");
    }
    text
}

/// The JSON object. Rates are in bytes per second.
#[derive(Serialize)]
struct Report<'a> {
    device: String,
    filesystem: &'a str,
    bytes: u64,
    in_memory: bool,
    dax: bool,
    byte_addressable: bool,
    direct_alignment: Option<u32>,
    kernel: &'a str,
    taken: u64,
    age_seconds: u64,
    cached: bool,
    threads: u32,
    overlap: f64,
    least_random_read: u64,
    measured: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    access: &'static str,
    request: u64,
    depth: u32,
    rate: u64,
}

impl<'a> Report<'a> {
    fn new(profile: &'a Profile, known: bool) -> Self {
        let identity = &profile.identity;
        let row = |&Measured { access, request, depth, rate, .. }: &Measured| Row {
            access: access.name(),
            request,
            depth,
            rate: rate as u64,
        };
        Self {
            device: format!("{}:{}", identity.major, identity.minor),
            filesystem: &identity.filesystem,
            bytes: identity.bytes,
            in_memory: identity.in_memory,
            dax: identity.dax,
            byte_addressable: identity.is_byte_addressable(),
            direct_alignment: identity.direct,
            kernel: &profile.kernel,
            taken: profile.taken,
            age_seconds: profile.age().as_secs(),
            cached: known,
            threads: profile.threads,
            overlap: profile.overlap(),
            least_random_read: profile.least_random_read(),
            measured: profile.measured.iter().map(row).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_for_each_size_and_a_column_for_each_depth() {
        let of = |request, depth, rate| Measured::new(Access::RandomRead, request, depth, rate);
        let measured = [of(512, 1, 4.21e6), of(4096, 1, 33e6), of(4096, 16, 294e6)];
        let expected =
            "\nrandom reads\n  in flight       1      16\n      512 B     4.2       -\n      4 KiB      33     294\n";
        assert_eq!(grid(Access::RandomRead, &measured), expected);
        assert_eq!(grid(Access::RandomRead, &[]), "");
    }
}
