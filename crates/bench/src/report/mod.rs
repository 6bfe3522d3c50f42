//! A run as one page of HTML that needs nothing beside itself: bars with their intervals, rooflines, targets and
//! verdicts, the machine, the commands and the versions of everybody.
//!
//! Opened with `?check`, the page looks at itself ([`check.js`](../../src/report/check.js)); the tests let a browser do
//! that.

mod across;
mod chart;

use std::collections::BTreeSet;
use std::fmt::{self, Write};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::catalogue::{Row, Unit, row};
use crate::load::QUIET;
use crate::outcome::{CaseResult, Outcome, Run};
use crate::stats::Verdict;
use crate::text::{interval, number};

const STYLE: &str = include_str!("style.css");
const CHECK: &str = include_str!("check.js");

/// More sections than this have a table of contents.
const FEW: usize = 2;

/// Writes the page for `run` below `directory`; its path.
pub(crate) fn write(directory: &Path, run: &Run) -> io::Result<PathBuf> {
    fs::create_dir_all(directory)?;
    let path = directory.join("index.html");
    let mut page = String::new();
    compose(&mut page, run).map_err(io::Error::other)?;
    fs::write(&path, page)?;
    Ok(path)
}

fn compose(out: &mut String, run: &Run) -> fmt::Result {
    let date = escape(&run.date.replace('T', " ").replace('Z', " UTC"));
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>eagre-bench, {date}</title>\n<style>\n{STYLE}</style></head><body>\n\
         <h1>Eagre beside its peers</h1>\n<p class=\"dim\">{date}</p>\n"
    )?;
    facts(out, run)?;
    summary(out, run)?;
    let mut before = "";
    for result in &run.results {
        let Some(row) = row(result.row) else { continue };
        if row.name != before {
            together(out, row, run)?;
        }
        before = row.name;
        section(out, row, result)?;
    }
    write!(
        out,
        "<h3>How to read this</h3>\n<p class=\"dim\">Bars are medians, whiskers 90 % intervals; Eagre's own are \
         coloured. Ratios are formed round by round between neighbours in time. A target is passed when the whole \
         interval keeps to it, failed when the whole interval misses it; else nobody can tell. The best of several \
         peers is the one with the best median in this run. Dashed lines are bandwidths measured in the same run. \
         CPU is user and system time; memory is the peak of what a process took for itself, without pages of mapped \
         files; of sorts, what they took beside the keys. Where there are many peers a trial on a part of the work \
         comes first, and only the strongest run the rounds.</p>\n<script>\n{CHECK}</script>\n</body></html>\n"
    )
}

/// The machine, the command, and everybody's version.
fn facts(out: &mut String, run: &Run) -> fmt::Result {
    let versions: BTreeSet<&str> = run
        .results
        .iter()
        .flat_map(|result| result.standings.iter().filter_map(|standing| standing.identity.version.as_deref()))
        .collect();
    let versions: Vec<_> = versions.into_iter().map(escape).collect();
    let mut facts = vec![
        ("Machine", escape(&run.machine.line())),
        ("Command", format!("<code>{}</code>", escape(&run.command))),
        ("Version", escape(run.version)),
        ("Files", run.places.iter().map(|place| escape(place)).collect::<Vec<_>>().join("; ")),
        ("Others", versions.join(" · ")),
    ];
    facts.retain(|(_, text)| !text.is_empty());
    out.push_str("<dl class=\"facts\">\n");
    for (name, text) in facts {
        writeln!(out, "<dt>{name}</dt><dd>{text}</dd>")?;
    }
    out.push_str("</dl>\n");
    Ok(())
}

/// All verdicts, each with a link to its chart; without targets, just the links.
fn summary(out: &mut String, run: &Run) -> fmt::Result {
    let outcomes: Vec<(&CaseResult, &Outcome)> =
        run.results.iter().flat_map(|result| result.outcomes.iter().map(move |outcome| (result, outcome))).collect();
    let count = |verdict| outcomes.iter().filter(|(_, outcome)| outcome.must_verdict == Some(verdict)).count();
    if !outcomes.is_empty() {
        writeln!(
            out,
            "<p>{} {} · {} {} · {} {}</p>",
            count(Verdict::Pass),
            mark(Some(Verdict::Pass)),
            count(Verdict::Fail),
            mark(Some(Verdict::Fail)),
            count(Verdict::CannotTell),
            mark(Some(Verdict::CannotTell)),
        )?;
    }
    if run.results.len() <= FEW {
        return Ok(());
    }
    out.push_str("<nav><h3>Contents</h3>\n<table class=\"contents\">\n");
    let mut before = "";
    for result in &run.results {
        // A row's name stands once, with its first case.
        let name = if result.row == before { String::new() } else { escape(result.row) };
        before = result.row;
        let verdicts: Vec<_> = result.outcomes.iter().map(|outcome| mark(outcome.must_verdict)).collect();
        writeln!(
            out,
            "<tr><td>{name}</td><td><a href=\"#{}\">{}</a></td><td>{}</td></tr>",
            anchor(result),
            escape(result.case),
            verdicts.join(" "),
        )?;
    }
    out.push_str("</table></nav>\n");
    Ok(())
}

/// All cases of `row` in one picture, where that says something.
fn together(out: &mut String, row: &Row, run: &Run) -> fmt::Result {
    let results: Vec<_> = run.results.iter().filter(|result| result.row == row.name).collect();
    if !across::has(row, &results) {
        return Ok(());
    }
    let name = escape(row.name);
    writeln!(out, "<section><h2>{name} <span class=\"case\">all cases</span></h2>\n<p>{}</p>", escape(row.about))?;
    across::draw(out, row, &results)?;
    out.push_str("</section>\n");
    Ok(())
}

/// The name of a section in links.
fn anchor(result: &CaseResult) -> String {
    let text = format!("{} {}", result.row, result.case);
    text.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect()
}

fn section(out: &mut String, row: &Row, result: &CaseResult) -> fmt::Result {
    writeln!(
        out,
        "<section id=\"{}\"><h2>{} <span class=\"case\">{}</span></h2>\n<p>{}</p>",
        anchor(result),
        escape(result.row),
        escape(result.case),
        escape(row.about),
    )?;
    if result.quick {
        out.push_str("<p class=\"note\">Quick: tiny, one round. The answers are right; the bars mean nothing.</p>\n");
    } else if result.foreign > QUIET {
        let cores = number(result.foreign);
        writeln!(out, "<p class=\"note\">Noisy: other programs used {cores} cores meanwhile.</p>")?;
    }
    if result.reduced {
        writeln!(out, "<p class=\"note\">Reduced to {}: no verdicts.</p>", result.size)?;
    }
    chart::chart(out, row, result)?;
    words(out, row, result)?;
    targets(out, result)?;
    if row.unit == Unit::Overhead {
        costs(out, result)?;
    }
    contenders(out, row, result)?;
    out.push_str("</section>\n");
    Ok(())
}

/// Rounds, and the rooflines in words.
fn words(out: &mut String, row: &Row, result: &CaseResult) -> fmt::Result {
    let mut words = vec![format!("{} round{}", result.pairs, if result.pairs == 1 { "" } else { "s" })];
    if !result.quick && row.unit.has_roofline() {
        let memory = result.roofline.settings().into_iter().map(|(name, b)| {
            let [read, write, copy] = [b.read, b.write, b.copy].map(number);
            format!("{name}: read {read}, write {write}, copy {copy} GB/s")
        });
        words.extend(memory);
        words.extend(result.roofline.device.map(|device| format!("device: read {} GB/s", number(device))));
    }
    writeln!(out, "<p class=\"dim\">{}.</p>", words.join("; "))
}

fn targets(out: &mut String, result: &CaseResult) -> fmt::Result {
    if result.outcomes.is_empty() {
        return Ok(());
    }
    out.push_str(
        "<table><tr><th>target</th><th>asked</th><th class=\"number\">measured</th><th>verdict</th><th>aim</th></tr>\n",
    );
    for outcome in &result.outcomes {
        let mut value = outcome.value.as_ref().map_or("not measured".into(), interval);
        if let Some(pairs) = outcome.few {
            write!(value, " of {pairs} pairs")?;
        }
        writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td class=\"number\">{value}</td><td>{}</td><td>{}</td></tr>",
            escape(&outcome.subject),
            escape(&outcome.goals),
            mark(outcome.must_verdict),
            mark(outcome.aim_verdict),
        )?;
    }
    out.push_str("</table>\n");
    Ok(())
}

fn mark(verdict: Option<Verdict>) -> String {
    let Some(verdict) = verdict else {
        return String::new();
    };
    let class = match verdict {
        Verdict::Pass => "pass",
        Verdict::Fail => "fail",
        Verdict::CannotTell => "cannot-tell",
    };
    format!("<span class=\"verdict {class}\">{}</span>", verdict.name())
}

/// What the process used, contender by contender.
fn costs(out: &mut String, result: &CaseResult) -> fmt::Result {
    let names: BTreeSet<&str> = result.standings.iter().flat_map(|s| s.costs.keys().copied()).collect();
    out.push_str("<div class=\"scroll\"><table><tr><th>per GB</th>");
    for standing in &result.standings {
        write!(out, "<th class=\"number\">{}</th>", escape(standing.contender))?;
    }
    out.push_str("</tr>\n");
    for name in names {
        write!(out, "<tr><td>{}</td>", escape(&name.replace('_', " ")))?;
        for standing in &result.standings {
            let value = standing.costs.get(name).map_or(String::new(), |v| number(*v));
            write!(out, "<td class=\"number\">{value}</td>")?;
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</table></div>\n");
    Ok(())
}

/// Who took part, with command and version.
fn contenders(out: &mut String, row: &Row, result: &CaseResult) -> fmt::Result {
    out.push_str("<details><summary>Contenders</summary><table>\n");
    for standing in &result.standings {
        let about =
            row.contenders.iter().find(|entry| entry.name == standing.contender).map_or("", |entry| entry.about);
        let command = standing.identity.command.as_deref().map(|command| format!("<code>{}</code>", escape(command)));
        writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td class=\"dim\">{}</td></tr>",
            escape(standing.contender),
            escape(about),
            command.unwrap_or_default(),
            escape(standing.identity.version.as_deref().unwrap_or_default()),
        )?;
    }
    out.push_str("</table></details>\n");
    Ok(())
}

fn escape(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;")
}

#[cfg(test)]
#[path = "../../tests/browser/mod.rs"]
mod browser;

#[cfg(test)]
mod tests;
