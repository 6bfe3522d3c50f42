//! A page of Markdown, made from a record.

use std::collections::BTreeSet;
use std::fmt::{self, Write};

use super::evidence::Evidence;
use super::finding::finding;
use super::{Chosen, full_name};
use crate::catalogue::{Row, Unit};
use crate::figures::number;
use crate::interval::{self, FEWEST};
use crate::outcome::CaseResult;
use crate::papers::{Paper, Part, Plot, Published, Section};
use crate::report::told;
use crate::timeline::phases;

/// The page.
pub(super) fn markdown(chosen: &[Chosen], evidence: &Evidence) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = all(&mut out, chosen, evidence);
    out
}

fn all(out: &mut String, chosen: &[Chosen], evidence: &Evidence) -> fmt::Result {
    writeln!(out, "# Published works, measured here\n")?;
    writeln!(
        out,
        "Eagre stands on these works. Each of their tables and figures, what it claims, and what one machine says. `eagre-bench \
        reproduce`\nmade this page from the record of a run; nobody edits it. The same command measures another machine, and \
        draws pages with plots:\n"
    )?;
    writeln!(out, "```sh\ncargo build --release -p eagre-cli -p eagre-bench")?;
    writeln!(out, "target/release/eagre-bench reproduce --list                  # works, tables, figures, rows")?;
    writeln!(
        out,
        "target/release/eagre-bench reproduce --report out            # all of it; can be stopped and goes on"
    )?;
    writeln!(out, "target/release/eagre-bench reproduce vortex ruma/figure-5    # some of it\n```\n")?;
    writeln!(out, "- **Machine**: {}", evidence.machine.line())?;
    if let Some((first, last)) = evidence.days() {
        writeln!(out, "- **Days**: {first}{}", if first == last { String::new() } else { format!(" to {last}") })?;
    }
    writeln!(out, "- **Eagre**: {}", evidence.builds().join("; "))?;
    for command in evidence.commands() {
        writeln!(out, "- **Command**: `{command}`")?;
    }
    if let Some((few, many)) = evidence.rounds() {
        let rounds = if few == many { format!("{few}") } else { format!("{few} to {many}") };
        writeln!(out, "- **Rounds**: {rounds}; an interval takes {FEWEST}")?;
    }
    let (cases, noisy) = evidence.noise();
    writeln!(out, "- **Noise**: other programs disturbed {noisy} of {cases} cases\n")?;
    writeln!(
        out,
        "Numbers are medians; bold ones are Eagre's. A claim follows from a work's own numbers, on its machine. It *holds here* if \
        the whole 90 %\ninterval of the ratio, formed round by round, reaches the published value, and *differs here* if the \
        whole interval misses it.\n"
    )?;
    let mut shown = Vec::new();
    for Chosen { paper, sections } in chosen {
        work(out, paper, sections, evidence, &mut shown)?;
    }
    // One line end is enough.
    out.truncate(out.trim_end().len());
    out.push('\n');
    Ok(())
}

/// What stands on the page already, and in which section.
type Shown = Vec<(&'static Part, &'static str)>;

fn work(
    out: &mut String,
    paper: &Paper,
    sections: &[&'static Section],
    evidence: &Evidence,
    shown: &mut Shown,
) -> fmt::Result {
    writeln!(out, "## {}\n", paper.title)?;
    let link = paper.link.map_or(String::new(), |link| format!(" [Text]({link})."));
    writeln!(out, "{}.{link} {}\n", paper.cite, paper.numbers)?;
    for section in sections {
        writeln!(out, "### {}\n\n{}\n", section.title, section.asked)?;
        for table in section.published {
            published(out, table)?;
        }
        for claim in section.claims {
            let finding = finding(claim, evidence);
            writeln!(out, "- *{}*: {}", finding.state.name(), finding.sentence)?;
        }
        if !section.claims.is_empty() {
            out.push('\n');
        }
        for part in section.parts {
            let same = |other: &Part| {
                (other.row, other.cases) == (part.row, part.cases)
                    && matches!(other.plot, Plot::OverTime) == matches!(part.plot, Plot::OverTime)
            };
            match shown.iter().find(|(other, _)| same(other)) {
                Some((_, place)) => writeln!(out, "Here (`{}`): as above, in *{place}*.\n", part.row)?,
                None => self::part(out, part, evidence)?,
            }
            shown.push((part, section.title));
        }
        if let Some(found) = section.found {
            writeln!(out, "{found}\n")?;
        }
        if let Some(without) = section.without {
            writeln!(out, "Not measured: {without}\n")?;
        }
        if !section.parts.is_empty() {
            writeln!(out, "`eagre-bench reproduce {}`\n", full_name(paper, section))?;
        }
    }
    Ok(())
}

fn published(out: &mut String, table: &Published) -> fmt::Result {
    writeln!(out, "The work's numbers: {}. Source: {}.\n", table.about, table.source)?;
    head(out, table.columns)?;
    for line in table.lines {
        writeln!(out, "| {} |", line.join(" | "))?;
    }
    writeln!(out)
}

fn head(out: &mut String, columns: &[&str]) -> fmt::Result {
    writeln!(out, "| {} |", columns.join(" | "))?;
    writeln!(out, "|---|{}", "---:|".repeat(columns.len() - 1))
}

fn part(out: &mut String, part: &Part, evidence: &Evidence) -> fmt::Result {
    let Some((row, results)) = evidence.part(part) else { return Ok(()) };
    writeln!(out, "Here (`{}`): {}.", row.name, row.about)?;
    if results.is_empty() {
        return writeln!(out, "Not measured yet.\n");
    }
    if let Some(reduced) = results.iter().filter(|result| result.reduced).map(|result| result.size).max() {
        let what = if row.unit == Unit::MegakeysPerSecond { "keys" } else { "bytes" };
        writeln!(out, "The sizes are smaller than the names of the cases say: {reduced} {what} at most.")?;
    }
    writeln!(out)?;
    if let Plot::OverTime = part.plot {
        return results.into_iter().try_for_each(|result| over_time(out, result));
    }
    let unit = row.unit.name();
    let mut columns: Vec<&str> = [unit].into_iter().chain(results.iter().map(|result| result.case)).collect();
    // What processes of their own took, beside one case.
    let memory = |name: &str| match results[..] {
        [result] => result.standing(name).and_then(|standing| interval::estimate(&standing.memory)),
        _ => None,
    };
    let has_memory = row.contenders.iter().any(|entry| memory(entry.name).is_some());
    if has_memory {
        columns.push(row.unit.memory_column());
    }
    head(out, &columns)?;
    for entry in row.contenders {
        let name = if entry.way.is_ours() { format!("**{}**", entry.name) } else { entry.name.to_owned() };
        let mut cells: Vec<String> = results.iter().map(|result| cell(row, result, entry.name)).collect();
        if has_memory {
            cells.push(memory(entry.name).map_or(String::new(), |memory| number(memory.median)));
        }
        if cells.iter().any(|cell| !cell.is_empty()) {
            writeln!(out, "| {name} | {} |", cells.join(" | "))?;
        }
    }
    writeln!(out)?;
    if row.unit == Unit::Overhead {
        results.into_iter().try_for_each(|result| costs(out, result))?;
    }
    Ok(())
}

/// What everybody read and wrote in which phase.
fn over_time(out: &mut String, result: &CaseResult) -> fmt::Result {
    head(out, &[result.case, "phase, s", "read, GB/s", "written, GB/s"])?;
    for standing in told(result) {
        for phase in phases(&standing.timeline) {
            let [seconds, read, written] = [phase.seconds, phase.reading(), phase.writing()].map(number);
            writeln!(out, "| **{}**, {} | {seconds} | {read} | {written} |", standing.contender, phase.phase)?;
        }
    }
    writeln!(out)
}

/// What everybody cost, for each gigabyte.
fn costs(out: &mut String, result: &CaseResult) -> fmt::Result {
    let there: Vec<_> = result.standings.iter().filter(|standing| !standing.costs.is_empty()).collect();
    let names: BTreeSet<&str> = there.iter().flat_map(|standing| standing.costs.keys().map(AsRef::as_ref)).collect();
    let columns: Vec<&str> =
        ["for each GB"].into_iter().chain(there.iter().map(|standing| standing.contender)).collect();
    head(out, &columns)?;
    for name in names {
        let cells = there.iter().map(|standing| standing.costs.get(name).map_or(String::new(), |value| number(*value)));
        writeln!(out, "| {} | {} |", name.replace('_', " "), cells.collect::<Vec<_>>().join(" | "))?;
    }
    writeln!(out)
}

/// A rate, or nothing.
fn cell(row: &Row, result: &CaseResult, name: &str) -> String {
    let standing = result.standing(name);
    let ours = row.contenders.iter().any(|entry| entry.name == name && entry.way.is_ours());
    let shown = standing.and_then(|standing| standing.shown).map(|shown| number(shown.median));
    match shown {
        Some(shown) if ours => format!("**{shown}**"),
        Some(shown) => shown,
        None => String::new(),
    }
}
