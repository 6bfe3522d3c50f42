//! Pages of HTML: a summary, and one page for each work.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use maud::{Markup, html};

use super::evidence::Evidence;
use super::finding::{Finding, State, finding};
use super::{Chosen, full_name};
use crate::catalogue::{Row, Unit};
use crate::figures::number;
use crate::interval;
use crate::load::QUIET;
use crate::outcome::{CaseResult, Outcome};
use crate::papers::{Paper, Part, Plot, Published, Section};
use crate::report::{
    self, Axis, HOW_TO_READ, chart, contenders, costs, draw, mark, named, over_time, phase_table, targets,
};
use crate::verdict::Verdict;

/// Writes the pages below `directory`; the path of the summary.
pub(super) fn write(directory: &Path, chosen: &[Chosen], evidence: &Evidence) -> io::Result<PathBuf> {
    fs::create_dir_all(directory)?;
    for Chosen { paper, sections } in chosen {
        fs::write(directory.join(format!("{}.html", paper.name)), work(paper, sections, evidence).into_string())?;
    }
    let path = directory.join("index.html");
    fs::write(&path, index(chosen, evidence).into_string())?;
    Ok(path)
}

fn index(chosen: &[Chosen], evidence: &Evidence) -> Markup {
    let body = html! {
        h1 { "Published works, measured here" }
        p { "Eagre stands on these works. Each of their tables and figures, what it claims, and what this machine says." }
        (facts(evidence))
        (totals(chosen, evidence))
        @for Chosen { paper, sections } in chosen {
            section {
                h2 { a href={ (paper.name) ".html" } { (paper.title) } }
                p.dim { (paper.cite) }
                div.scroll {
                    table.sortable.verdicts {
                        thead { tr { th { "table, figure" } th { "claim" } th { "the work" } th { "here" } th { "" } th { "targets" } } }
                        tbody { @for section in sections { (lines(paper, section, evidence)) } }
                    }
                }
                p.dim { "To repeat it: " code { "eagre-bench reproduce " (paper.name) " --report DIR" } }
            }
        }
        h3 { "How to read this" }
        p.dim {
            "A claim follows from the work's own numbers, on its machine. It holds here if the whole 90 % interval of the ratio \
            reaches the published value, and differs if the whole interval misses it. Targets are Eagre's own, beside peers of \
            today. " (HOW_TO_READ)
        }
    };
    report::shell("Published works, measured here", &body)
}

/// How many claims hold.
fn totals(chosen: &[Chosen], evidence: &Evidence) -> Markup {
    let claims = || chosen.iter().flat_map(|chosen| &chosen.sections).flat_map(|section| section.claims);
    let states: Vec<_> = claims().map(|claim| finding(claim, evidence).state).collect();
    html! {
        p {
            "Of " (states.len()) " claims: "
            @for state in [State::Holds, State::Differs, State::CannotTell, State::NotMeasured] {
                @let count = states.iter().filter(|other| **other == state).count();
                @if count > 0 { span.together { (count) " " (self::state(state)) } " " }
            }
        }
    }
}

/// A section in the summary: a line for each claim, or one if there are none.
fn lines(paper: &Paper, section: &Section, evidence: &Evidence) -> Markup {
    let results = evidence.section(section);
    let outcomes: Vec<_> = results.iter().flat_map(|result| &result.outcomes).collect();
    let name = html! { td { a href={ (paper.name) ".html#" (section.name) } { (section.title) } } };
    if section.claims.is_empty() {
        let measured = section.found.is_some() || !results.is_empty();
        return html! {
            tr {
                (name)
                td colspan="3" {
                    @if section.parts.is_empty() {
                        span.dim { (prose(section.found.or(section.without).unwrap_or_default())) }
                    } @else if let Some(best) = at_a_glance(section, evidence) {
                        span.dim { (best) }
                    }
                }
                td { @if !measured { (state(State::NotMeasured)) } }
                td { (counts(&outcomes)) }
            }
        };
    }
    html! {
        @for (i, claim) in section.claims.iter().enumerate() {
            @let finding = finding(claim, evidence);
            tr {
                (name)
                td { (claim.about) }
                td.number data-label="the work" { (finding.published) }
                td.number data-label="here" { (finding.here) }
                td { (state(finding.state)) }
                td { @if i == 0 { (counts(&outcomes)) } }
            }
        }
    }
}

/// The best of Eagre's and of the others, in the last case of the first part of a section in which Eagre took part.
fn at_a_glance(section: &Section, evidence: &Evidence) -> Option<String> {
    let (row, results) = evidence.part(section.parts.first()?)?;
    let ours = |result: &&&CaseResult| {
        let mut own = row.contenders.iter().filter(|entry| entry.way.is_ours());
        own.any(|entry| result.standing(entry.name).is_some_and(|standing| standing.shown.is_some()))
    };
    let result = results.iter().rev().find(ours).or(results.last()).filter(|result| !result.quick)?;
    let best = |ours: bool| {
        let entries = row.contenders.iter().filter(|entry| entry.way.is_ours() == ours);
        let rated = entries.filter_map(|entry| Some((entry.name, result.standing(entry.name)?.shown?.median)));
        let before = |a: f64, b: f64| if row.unit.is_time() { a < b } else { a > b };
        rated.reduce(|best, other| if before(other.1, best.1) { other } else { best })
    };
    let said: Vec<_> = [best(true), best(false)]
        .into_iter()
        .flatten()
        .map(|(name, rate)| format!("{name} {}", number(rate)))
        .collect();
    (!said.is_empty()).then(|| format!("{} {} ({}, {})", said.join(", "), row.unit.name(), row.name, result.case))
}

/// Text with `code` in it.
fn prose(text: &str) -> Markup {
    html! {
        @for (i, part) in text.split('`').enumerate() {
            @if i % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

/// How many targets passed and failed.
fn counts(outcomes: &[&Outcome]) -> Markup {
    html! {
        @for verdict in [Verdict::Pass, Verdict::Fail, Verdict::CannotTell] {
            // What a few rounds cannot tell says nothing.
            @let told = |outcome: &&&Outcome| verdict != Verdict::CannotTell || outcome.few.is_none();
            @let count = outcomes.iter().filter(|outcome| outcome.must_verdict == Some(verdict)).filter(told).count();
            @if count > 0 { span.together { (count) " " (mark(verdict)) } " " }
        }
    }
}

fn state(state: State) -> Markup {
    let class = match state {
        State::Holds => "pass",
        State::Differs => "fail",
        State::CannotTell => "cannot-tell",
        State::NotMeasured => "not-measured",
    };
    html! { span.verdict.(class) { (state.name()) } }
}

/// Where and when it was measured.
fn facts(evidence: &Evidence) -> Markup {
    let range = |(low, high): (&str, &str)| if low == high { low.to_owned() } else { format!("{low} to {high}") };
    let rounds = evidence.rounds().map(|(few, many)| range((&few.to_string(), &many.to_string())));
    let (cases, noisy) = evidence.noise();
    named(&[
        ("Machine", html! { (evidence.machine.line()) }),
        ("Days", html! { (evidence.days().map_or(String::new(), range)) }),
        ("Eagre", html! { (evidence.builds().join("; ")) }),
        ("Commands", html! { @for command in evidence.commands() { code { (command) } br; } }),
        ("Files", html! { (evidence.places().join("; ")) }),
        ("Rounds", html! { (rounds.unwrap_or_default()) }),
        ("Noise", html! { @if noisy > 0 { (noisy) " of " (cases) " cases were disturbed by other programs" } }),
    ])
}

/// The page of a work.
fn work(paper: &Paper, sections: &[&Section], evidence: &Evidence) -> Markup {
    let body = html! {
        p { a href="index.html" { "All works" } }
        h1 { (paper.title) }
        p.dim {
            (paper.cite)
            @if let Some(link) = paper.link { " · " a href=(link) { (link.split("//").last().unwrap_or(link)) } }
        }
        p { (paper.numbers) }
        (facts(evidence))
        nav {
            h3 { "Contents" }
            table.contents {
                @for section in sections {
                    tr {
                        td { a href={ "#" (section.name) } { (section.title) } }
                        td { @for claim in section.claims { (state(finding(claim, evidence).state)) " " } }
                    }
                }
            }
        }
        @for section in sections { (self::section(paper, section, evidence)) }
    };
    report::shell(paper.title, &body)
}

fn section(paper: &Paper, section: &Section, evidence: &Evidence) -> Markup {
    html! {
        section id=(section.name) {
            h2 { (section.title) }
            p { (prose(section.asked)) }
            @for table in section.published { (published(table)) }
            @if section.published.is_empty() && !section.parts.is_empty() && section.claims.is_empty() {
                p.dim { "The work's own numbers are not at hand." }
            }
            @for claim in section.claims { (told(&finding(claim, evidence))) }
            @for part in section.parts { (self::part(part, evidence)) }
            @if let Some(found) = section.found { p { (prose(found)) } }
            @if let Some(without) = section.without {
                h3 { "Not measured" }
                p { (prose(without)) }
            }
            @if !section.parts.is_empty() {
                p.dim { "To repeat it: " code { "eagre-bench reproduce " (full_name(paper, section)) " --report DIR" } }
            }
        }
    }
}

fn told(finding: &Finding) -> Markup {
    html! { p.finding { (state(finding.state)) " " (finding.sentence) } }
}

fn published(table: &Published) -> Markup {
    html! {
        div.scroll {
            table.published {
                caption { "The work's numbers: " (table.about) ". Source: " (table.source) "." }
                tr { @for (i, name) in table.columns.iter().enumerate() { th.number[i > 0] { (name) } } }
                @for line in table.lines {
                    tr { @for (i, cell) in line.iter().enumerate() { td.number[i > 0] { (cell) } } }
                }
            }
        }
    }
}

/// A row: its picture and its table.
fn part(part: &Part, evidence: &Evidence) -> Markup {
    let Some((row, results)) = evidence.part(part) else { return html! {} };
    let outcomes: Vec<_> = results.iter().flat_map(|result| &result.outcomes).collect();
    html! {
        h3 { (row.name) }
        p { (row.about) " (" (row.unit.name()) ")" }
        @if results.is_empty() {
            p.note { "Not measured yet." }
        } @else {
            @if results.iter().any(|result| result.quick) {
                p.note { "Quick: tiny sizes, one round. The answers are right; the rates mean nothing." }
            }
            @if results.iter().any(|result| result.foreign > QUIET) {
                p.note { "Noisy: other programs used the processor during some rounds." }
            }
            @if results.iter().any(|result| result.reduced) { p.note { "Reduced sizes: no verdicts." } }
            (picture(part, row, &results))
            @if let Plot::OverTime = part.plot {
                @for result in &results { (phase_table(result)) }
            } @else {
                (table(row, &results))
            }
            @if row.unit == Unit::Overhead { @for result in &results { (costs(result)) } }
            @if !outcomes.is_empty() {
                details {
                    summary { "Targets " (counts(&outcomes)) }
                    (targets(&outcomes))
                }
            }
            (contenders(row, results[0]))
        }
    }
}

fn picture(part: &Part, row: &Row, results: &[&CaseResult]) -> Markup {
    let axis = match part.plot {
        Plot::OverTime => return html! { @for result in results { p.dim { (result.case) } (over_time(result)) } },
        Plot::Bars => return html! { @for result in results { p.dim { (result.case) } (chart(row, result)) } },
        // A case that was not measured has no place on an axis of numbers.
        Plot::Curve { name, x, logarithmic } if x.len() == results.len() => Axis::Numbers { name, x, logarithmic },
        Plot::Curve { .. } | Plot::Beside => Axis::Beside,
    };
    draw(row, results, axis)
}

/// Everybody's rates, a column for each case.
fn table(row: &Row, results: &[&CaseResult]) -> Markup {
    let alone = results.len() == 1;
    let memory = alone && results[0].standings.iter().any(|standing| !standing.memory.is_empty());
    html! {
        div.scroll {
            table.sortable {
                thead {
                    tr {
                        th { "contender" }
                        @for result in results { th.number { (result.case) } }
                        @if memory { th.number { (row.unit.memory_column()) } }
                    }
                }
                tbody {
                    @for entry in row.contenders {
                        tr {
                            td title=(entry.about) { span.ours-name[entry.way.is_ours()] { (entry.name) } }
                            @for result in results { (cell(result, entry.name)) }
                            @if memory { (memory_cell(results[0], entry.name)) }
                        }
                    }
                }
            }
        }
    }
}

fn cell(result: &CaseResult, name: &str) -> Markup {
    let standing = result.standing(name);
    match standing.and_then(|standing| standing.shown) {
        Some(shown) => html! {
            td.number data-value=(shown.median) {
                (number(shown.median)) span.interval { (number(shown.low)) " to " (number(shown.high)) }
            }
        },
        None => {
            let why = standing.and_then(|standing| standing.absent()).unwrap_or_default();
            html! { td.number.dim title=(why) { "–" } }
        }
    }
}

fn memory_cell(result: &CaseResult, name: &str) -> Markup {
    match result.standing(name).and_then(|standing| interval::estimate(&standing.memory)) {
        Some(memory) => html! { td.number data-value=(memory.median) { (number(memory.median)) } },
        None => html! { td.number.dim { "–" } },
    }
}
