//! A run as one page of HTML that needs nothing beside itself: bars with their intervals, rooflines, targets and
//! verdicts, the machine, the commands and the versions of everybody.
//!
//! `maud` writes the markup and escapes all text. [`mod@chart`], [`across`] and [`mod@over_time`] place what is drawn themselves: colours and
//! fonts come from the style sheet, so that the pictures follow the reader's light or dark theme, and each contender has a
//! line of figures beside its bar. The plotting crates write fixed colours into their SVG, or need a script library.
//!
//! Opened with `?check`, the page looks at itself ([`check.js`](../../src/report/check.js)); the tests let a browser do
//! that.

mod across;
mod chart;
mod over_time;
mod scale;
mod section;

pub(crate) use across::{Axis, draw};
pub(crate) use chart::chart;
pub(crate) use over_time::{over_time, phase_table, told};
pub(crate) use section::{contenders, costs, targets};

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::catalogue::{Row, row};
use crate::outcome::{CaseResult, Outcome, Run};
use crate::verdict::Verdict;

const STYLE: PreEscaped<&str> = PreEscaped(include_str!("style.css"));
const SORT: PreEscaped<&str> = PreEscaped(include_str!("sort.js"));
const CHECK: PreEscaped<&str> = PreEscaped(include_str!("check.js"));

/// More sections than this have a table of contents.
const FEW: usize = 2;

pub(crate) const HOW_TO_READ: &str = "Bars are medians, whiskers are 90 % intervals; Eagre's own are coloured. Each ratio is formed \
    within one round, between neighbours in time. A target passes if the whole interval keeps to it and fails if the whole \
    interval misses it; otherwise the run cannot tell. The best of several peers is the one with the best median in this \
    run. Dashed lines are bandwidths measured in the same run. CPU is user and system time. Memory is the peak of what a \
    process took for itself, without pages of mapped files; for sorts it is what they took beside the keys. Where there are \
    many peers, a trial on a part of the work comes first, and only the strongest run the rounds.";

/// Writes the page for `run` below `directory`; its path.
pub(crate) fn write(directory: &Path, run: &Run) -> io::Result<PathBuf> {
    fs::create_dir_all(directory)?;
    let path = directory.join("index.html");
    fs::write(&path, page(run).into_string())?;
    Ok(path)
}

fn page(run: &Run) -> Markup {
    let date = run.date.replace('T', " ").replace('Z', " UTC");
    let results = run.results.iter().filter_map(|result| Some((row(result.row)?, result)));
    // The first result of a row comes behind the picture of all its cases.
    let first = |result: &CaseResult| run.results.iter().find(|other| other.row == result.row);
    let body = html! {
        h1 { "Eagre beside its peers" }
        p.dim { (date) }
        (facts(run))
        (summary(run))
        @for (row, result) in results {
            @if first(result).is_some_and(|first| std::ptr::eq(first, result)) { (together(row, run)) }
            (section::section(row, result))
        }
        h3 { "How to read this" }
        p.dim { (HOW_TO_READ) }
    };
    shell(&format!("eagre-bench, {date}"), &body)
}

/// A page of HTML that needs nothing beside itself, and can check itself.
pub(crate) fn shell(title: &str, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width";
                title { (title) }
                style { (STYLE) }
            }
            body {
                (body)
                script { (SORT) (CHECK) }
            }
        }
    }
}

/// The machine, the command, and everybody's version.
fn facts(run: &Run) -> Markup {
    let standings = run.results.iter().flat_map(|result| &result.standings);
    let versions: BTreeSet<&str> = standings.filter_map(|standing| standing.identity.version.as_deref()).collect();
    let versions: Vec<_> = versions.into_iter().collect();
    let facts = [
        ("Machine", html! { (run.machine.line()) }),
        ("Command", html! { code { (run.command) } }),
        ("Version", html! { (run.version) }),
        ("Files", html! { (run.places.join("; ")) }),
        ("Others", html! { (versions.join(" · ")) }),
    ];
    named(&facts)
}

/// Facts with their names; those that are empty are left out.
pub(crate) fn named(facts: &[(&str, Markup)]) -> Markup {
    html! {
        dl.facts {
            @for (name, fact) in facts {
                @if !fact.0.is_empty() { dt { (name) } dd { (fact) } }
            }
        }
    }
}

/// All verdicts, each with a link to its chart; without targets, just the links.
fn summary(run: &Run) -> Markup {
    let outcomes: Vec<&Outcome> = run.results.iter().flat_map(|result| &result.outcomes).collect();
    let count = |verdict| outcomes.iter().filter(|outcome| outcome.must_verdict == Some(verdict)).count();
    // A row's name stands once, with its first case.
    let name = |i: usize| if i > 0 && run.results[i - 1].row == run.results[i].row { "" } else { run.results[i].row };
    html! {
        @if !outcomes.is_empty() {
            p {
                @for (i, verdict) in [Verdict::Pass, Verdict::Fail, Verdict::CannotTell].into_iter().enumerate() {
                    @if i > 0 { " · " }
                    (count(verdict)) " " (mark(verdict))
                }
            }
        }
        @if run.results.len() > FEW {
            nav {
                h3 { "Contents" }
                table.contents {
                    @for (i, result) in run.results.iter().enumerate() {
                        tr {
                            td { (name(i)) }
                            td { a href={ "#" (anchor(result)) } { (result.case) } }
                            td {
                                @for verdict in result.outcomes.iter().filter_map(|outcome| outcome.must_verdict) {
                                    (mark(verdict)) " "
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// All cases of `row` in one picture, where that says something.
fn together(row: &Row, run: &Run) -> Markup {
    let results: Vec<_> = run.results.iter().filter(|result| result.row == row.name).collect();
    html! {
        @if across::has(row, &results) {
            section {
                h2 { (row.name) " " span.case { "all cases" } }
                p { (row.about) }
                (draw(row, &results, Axis::Beside))
            }
        }
    }
}

/// The name of a section in links.
fn anchor(result: &CaseResult) -> String {
    let text = format!("{} {}", result.row, result.case);
    text.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect()
}

/// A verdict as a coloured word.
pub(crate) fn mark(verdict: Verdict) -> Markup {
    let class = match verdict {
        Verdict::Pass => "pass",
        Verdict::Fail => "fail",
        Verdict::CannotTell => "cannot-tell",
    };
    html! { span.verdict.(class) { (verdict.name()) } }
}

#[cfg(test)]
#[path = "../../tests/browser/mod.rs"]
pub(crate) mod browser;

#[cfg(test)]
pub(crate) mod tests;
