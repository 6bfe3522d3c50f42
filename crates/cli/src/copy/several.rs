//! Copying several files, or directories. Errors are reported, and the rest is copied.

use std::io::IsTerminal;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use eagre::copy::tree::{self, Event, TreeCopier};
use serde::Serialize;

use super::unkept::Unkepts;
use super::{Args, failure};
use crate::console::Console;
use crate::exit::{Exit, Failure, Run};
use crate::name;
use crate::progress::Progress;
use crate::target::Target;

impl Args {
    /// Copies each source to its target.
    pub(super) fn several(&self, pairs: &[(PathBuf, PathBuf)], console: &mut Console) -> Run {
        let started = Instant::now();
        if !self.no_progress && std::io::stderr().is_terminal() {
            let total = pairs.iter().map(|(from, _)| tree::measure(from, self.recursive)).fold(0, u64::saturating_add);
            console.watch(Progress::new("copy", Some(total)));
        }
        let mut trees = TreeCopier::new(self.copier()).recursive(self.recursive).keep_existing(self.no_clobber);
        let mut tally =
            Tally { report: Report { verified: self.verify, ..Report::default() }, unkepts: Unkepts::default() };
        for (from, to) in pairs {
            trees.copy(from, to, &mut |event| tally.take(event, self.explain, console));
        }
        trees.finish(&mut |event| tally.take(event, self.explain, console));
        let Tally { mut report, unkepts } = tally;
        if let Some((_, to)) = pairs.first() {
            let above = to.parent().filter(|above| pairs.len() > 1 && !above.as_os_str().is_empty());
            let place = above.unwrap_or(to);
            unkepts.tell(&place_of(place), console);
        }
        if self.json {
            report.unkept = unkepts.names();
            report.seconds = started.elapsed().as_secs_f64();
            console.print_json(&report)?;
        }
        Ok(Exit::Yes)
    }
}

fn place_of(path: &Path) -> String {
    name::in_messages(path.as_os_str().as_bytes())
}

struct Tally {
    report: Report,
    unkepts: Unkepts,
}

impl Tally {
    fn take(&mut self, event: Event<'_>, explain: bool, console: &mut Console) {
        let report = &mut self.report;
        match event {
            Event::Progress(done) => console.advance(done),
            Event::File { to, copied, .. } => {
                report.files += 1;
                report.bytes += copied.bytes;
                report.data += copied.data;
                report.verified &= copied.verified;
                self.unkepts.add(&copied.unkept);
                if explain {
                    console.remark(&format!("eagre: copy: {}: {}", place_of(to), copied.method));
                }
            }
            Event::Directory(_) => report.directories += 1,
            Event::Other(_) => report.others += 1,
            Event::Unkept(_, unkept) => self.unkepts.add(unkept),
            Event::Failed { at, error, .. } => {
                report.failed += 1;
                // `at` is the source or the target, whichever failed.
                let line = match failure(error, place_of(at), &Target::File(at.to_owned())) {
                    Failure::Trouble(line) => line,
                    Failure::Unheard => format!("eagre: copy: {}: the reader has gone", place_of(at)),
                };
                console.complain(&line);
            }
            _ => {}
        }
    }
}

/// The JSON object.
#[derive(Default, Serialize)]
struct Report {
    files: u64,
    directories: u64,
    others: u64,
    failed: u64,
    bytes: u64,
    data: u64,
    verified: bool,
    unkept: Vec<String>,
    seconds: f64,
}
