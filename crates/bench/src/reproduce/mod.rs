//! `eagre-bench reproduce`: what published works measured, measured here, and their numbers beside ours.
//!
//! [`crate::papers`] says which rows of the catalogue repeat which table or figure. The rows run as always, each once however
//! many sections it serves, and what they measure goes to a record row by row ([`resume`] says which rows it has already).
//! From a record, [`evidence`] takes what belongs to a section and [`mod@finding`] judges what the work claims; [`html`] and
//! [`page`] show that to readers. Nothing that is shown depends on anything but the record and the catalogue.

mod evidence;
mod finding;
mod html;
mod page;
mod resume;
#[cfg(test)]
mod tests;
mod time;

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::catalogue::{Row, rows};
use crate::machine::{self, Machine};
use crate::options::{self, Options};
use crate::papers::{PAPERS, Paper, Section};
use crate::record::{self, Recorded};
use crate::runner::{self, Kept, Plan};
use evidence::Evidence;
use finding::finding;

#[derive(clap::Args)]
pub(crate) struct ReproduceArguments {
    /// Works, or tables and figures of one: `vortex`, `ruma/figure-5`; --list names them [default: all].
    papers: Vec<String>,
    /// Lists works, their tables and figures, and the rows that measure the same.
    #[arg(long)]
    list: bool,
    #[command(flatten)]
    options: Options,
    /// Writes pages of HTML to this directory: index.html, and one for each work.
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
    /// The record to go on from and to add to [default: reproduce.jsonl, beside the records of `run`].
    #[arg(long, value_name = "FILE")]
    records: Option<PathBuf>,
    /// Measures nothing: prints what is in this record as a page of Markdown, and writes that of --report.
    #[arg(long, value_name = "RECORD", conflicts_with_all = ["list", "quick", "records"])]
    page: Option<PathBuf>,
}

/// What was asked for of a work.
struct Chosen {
    paper: &'static Paper,
    sections: Vec<&'static Section>,
}

/// Does what the arguments say; whether any target was missed.
pub(crate) fn run(arguments: &ReproduceArguments, print: &dyn Fn(&str) -> Result<(), String>) -> Result<bool, String> {
    let chosen = choose(&arguments.papers)?;
    if arguments.list {
        return print(&list(&chosen)).map(|()| false);
    }
    if let Some(path) = &arguments.page {
        let evidence = Evidence::of_last_machine(load(path)?)
            .ok_or_else(|| format!("reproduce: {}: a record without results", path.display()))?;
        print(&page::markdown(&chosen, &evidence))?;
        write_report(arguments, &chosen, &evidence)?;
        return Ok(false);
    }
    let plan = Plan { kept: compared(&chosen), ..arguments.options.plan(&[]) };
    let rows = rows_of(&chosen);
    let file = || arguments.records.clone().unwrap_or_else(|| record::default_directory().join("reproduce.jsonl"));
    let path = (!plan.quick).then(file);
    let recorded = path.as_deref().filter(|file| file.exists()).map_or(Ok(Vec::new()), load)?;
    let here = (Machine::here(), machine::build());
    let (done, due): (Vec<_>, Vec<_>) =
        rows.into_iter().partition(|row| resume::is_recorded(row, &plan, &recorded, &here.0, &here.1));
    print(&format!("{}\n{}\n\n", here.0.line(), announcement(&done, &due, &plan, path.as_deref())))?;
    let (measured, troubles) =
        if due.is_empty() { (vec![], vec![]) } else { measure_all(arguments, &due, &plan, path.as_deref(), print)? };
    // As a reader of the record would see it.
    let evidence = match path.filter(|file| file.exists()) {
        Some(file) => Evidence::of(load(&file)?, &here.0),
        None => Evidence::of(measured, &here.0),
    };
    if !plan.quick {
        print(&summary(&chosen, &evidence))?;
    }
    write_report(arguments, &chosen, &evidence)?;
    if !troubles.is_empty() {
        return Err(format!("reproduce: no results of {}", troubles.join(", ")));
    }
    Ok(rows_of(&chosen).iter().any(|row| evidence.failed(row)))
}

/// The peers that claims are about: the best of each must run.
fn compared(chosen: &[Chosen]) -> Vec<Kept> {
    let claims = chosen.iter().flat_map(|chosen| &chosen.sections).flat_map(|section| section.claims);
    claims.map(|claim| Kept { row: claim.row, peers: claim.target.against.peers() }).collect()
}

/// Runs rows, and adds each to the record when it is done. Returns what was measured, and the names of the rows that failed:
/// a trouble with one says nothing about the others.
fn measure_all(
    arguments: &ReproduceArguments,
    due: &[&'static Row],
    plan: &Plan,
    path: Option<&Path>,
    print: &dyn Fn(&str) -> Result<(), String>,
) -> Result<(Vec<Recorded>, Vec<&'static str>), String> {
    arguments.options.with_store(|store| {
        let mut bench = arguments.options.bench(store)?;
        let (mut measured, mut troubles) = (Vec::new(), Vec::new());
        for row in due {
            match measure(row, plan, &mut bench, path) {
                Ok(results) => {
                    print(&format!("{}: {}\n", row.name, if plan.quick { "answers right" } else { "measured" }))?;
                    measured.extend(results);
                }
                Err(why) => {
                    eprintln!("eagre-bench: reproduce: {why}");
                    troubles.push(row.name);
                }
            }
        }
        Ok((measured, troubles))
    })
}

/// Runs a row and adds it to the record.
fn measure(
    row: &'static Row,
    plan: &Plan,
    bench: &mut runner::Bench,
    path: Option<&Path>,
) -> Result<Vec<Recorded>, String> {
    let mut run = options::begin();
    run.results = runner::run(row, plan, bench)?;
    run.places = bench.store.places();
    if let Some(path) = path {
        let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
        directory
            .map_or(Ok(()), fs::create_dir_all)
            .and_then(|()| record::append_to(path, &run))
            .map_err(|e| format!("records: {}: {e}; name another with --records", path.display()))?;
    }
    Ok(record::of_run(run))
}

/// What will be done, and how long it takes.
fn announcement(done: &[&Row], due: &[&Row], plan: &Plan, path: Option<&Path>) -> String {
    let Some(path) = path else { return format!("answers only: {}", names(due)) };
    let known = if done.is_empty() { String::new() } else { format!("; recorded already: {}", names(done)) };
    if due.is_empty() {
        return format!("nothing to measure{known}");
    }
    let time = time::about(due.iter().map(|row| time::seconds(row, plan)).sum());
    format!(
        "to measure: {}{known}\nThis takes {time}. It can be stopped: the same command goes on from {}.",
        names(due),
        path.display()
    )
}

fn names(rows: &[&Row]) -> String {
    rows.iter().map(|row| row.name).collect::<Vec<_>>().join(", ")
}

fn load(path: &Path) -> Result<Vec<Recorded>, String> {
    let failed = |why: String| format!("reproduce: {}: {why}", path.display());
    let text = fs::read_to_string(path).map_err(|e: io::Error| failed(e.to_string()))?;
    record::read(&text).map_err(failed)
}

fn write_report(arguments: &ReproduceArguments, chosen: &[Chosen], evidence: &Evidence) -> Result<(), String> {
    let Some(directory) = &arguments.report else { return Ok(()) };
    let index = html::write(directory, chosen, evidence)
        .map_err(|e| format!("report: {}: {e}; name a directory that can be written", directory.display()))?;
    eprintln!("report: {}", index.display());
    Ok(())
}

/// The works and sections of these names, in their own order; all if there are none.
fn choose(names: &[String]) -> Result<Vec<Chosen>, String> {
    let known = |name: &&String| {
        PAPERS.iter().any(|paper| {
            paper.name == *name || paper.sections.iter().any(|section| **name == full_name(paper, section))
        })
    };
    if let Some(name) = names.iter().find(|name| !known(name)) {
        return Err(format!(
            "reproduce: {name}: no such work, table or figure; 'eagre-bench reproduce --list' names them"
        ));
    }
    let wanted = |paper: &Paper, section: &Section| {
        let full = full_name(paper, section);
        names.is_empty() || names.iter().any(|name| name == paper.name || *name == full)
    };
    let sections = |paper: &'static Paper| paper.sections.iter().filter(|section| wanted(paper, section)).collect();
    let chosen = PAPERS.iter().map(|paper| Chosen { paper, sections: sections(paper) });
    Ok(chosen.filter(|chosen| !chosen.sections.is_empty()).collect())
}

/// As the command line has it: `vortex/table-4`.
fn full_name(paper: &Paper, section: &Section) -> String {
    format!("{}/{}", paper.name, section.name)
}

/// The rows of all sections, each once, in the order of the catalogue.
fn rows_of(chosen: &[Chosen]) -> Vec<&'static Row> {
    let named: Vec<_> = chosen.iter().flat_map(|chosen| &chosen.sections).flat_map(|section| section.rows()).collect();
    rows().filter(|row| named.iter().any(|other| other.name == row.name)).collect()
}

fn list(chosen: &[Chosen]) -> String {
    let mut out = String::new();
    for Chosen { paper, sections } in chosen {
        let _ = writeln!(out, "{}: {} ({})", paper.name, paper.title, paper.cite);
        for section in sections {
            let _ = writeln!(out, "  {}: {}", full_name(paper, section), section.title);
            let rows = section.rows();
            if rows.is_empty() {
                let _ = writeln!(out, "    no row: {}", section.found.or(section.without).unwrap_or_default());
            } else {
                let _ = writeln!(out, "    rows: {}", names(&rows));
            }
        }
        out.push('\n');
    }
    out
}

/// What came of each claim.
fn summary(chosen: &[Chosen], evidence: &Evidence) -> String {
    let mut out = String::new();
    for Chosen { paper, sections } in chosen {
        for section in sections.iter().filter(|section| !section.claims.is_empty()) {
            let _ = writeln!(out, "\n{}: {}", full_name(paper, section), section.title);
            for claim in section.claims {
                let finding = finding(claim, evidence);
                let _ = writeln!(out, "  {}: {}", finding.state.name(), finding.sentence);
            }
        }
    }
    out
}
