//! One case of a row: its bars, its targets and who took part.

use std::collections::BTreeSet;

use maud::{Markup, html};

use super::{anchor, chart, mark};
use crate::catalogue::{Row, Unit};
use crate::figures::{interval, number};
use crate::load::QUIET;
use crate::outcome::{CaseResult, Outcome};

pub(super) fn section(row: &Row, result: &CaseResult) -> Markup {
    html! {
        section id=(anchor(result)) {
            h2 { (result.row) " " span.case { (result.case) } }
            p { (row.about) }
            @if result.quick {
                p.note { "Quick: tiny sizes, one round. The answers are right; the bars mean nothing." }
            } @else if result.foreign > QUIET {
                p.note { "Noisy: other programs used " (number(result.foreign)) " cores meanwhile." }
            }
            @if result.reduced { p.note { "Reduced to " (result.size) ": no verdicts." } }
            (chart::chart(row, result))
            (words(row, result))
            @if !result.outcomes.is_empty() { (targets(&result.outcomes.iter().collect::<Vec<_>>())) }
            @if row.unit == Unit::Overhead { (costs(result)) }
            (contenders(row, result))
        }
    }
}

/// Rounds, and the rooflines in words.
fn words(row: &Row, result: &CaseResult) -> Markup {
    let mut words = vec![format!("{} round{}", result.pairs, if result.pairs == 1 { "" } else { "s" })];
    if !result.quick && row.unit.has_roofline() {
        let memory = result.roofline.settings().into_iter().map(|(name, b)| {
            let [read, write, copy] = [b.read, b.write, b.copy].map(number);
            format!("{name}: read {read}, write {write}, copy {copy} GB/s")
        });
        words.extend(memory);
        words.extend(result.roofline.device.map(|device| format!("device: read {} GB/s", number(device))));
    }
    html! { p.dim { (words.join("; ")) "." } }
}

pub(crate) fn targets(outcomes: &[&Outcome]) -> Markup {
    let value = |outcome: &Outcome| outcome.value.as_ref().map_or("not measured".into(), interval);
    html! {
        table {
            tr { th { "target" } th { "asked" } th.number { "measured" } th { "verdict" } th { "aim" } }
            @for outcome in outcomes {
                tr {
                    td { (outcome.subject) }
                    td { (outcome.goals) }
                    td.number { (value(outcome)) @if let Some(pairs) = outcome.few { " of " (pairs) " pairs" } }
                    td { @if let Some(verdict) = outcome.must_verdict { (mark(verdict)) } }
                    td { @if let Some(verdict) = outcome.aim_verdict { (mark(verdict)) } }
                }
            }
        }
    }
}

/// What the process used, contender by contender.
pub(crate) fn costs(result: &CaseResult) -> Markup {
    let names: BTreeSet<&str> = result.standings.iter().flat_map(|s| s.costs.keys().map(AsRef::as_ref)).collect();
    html! {
        div.scroll {
            table {
                tr { th { "per GB" } @for standing in &result.standings { th.number { (standing.contender) } } }
                @for name in names {
                    tr {
                        td { (name.replace('_', " ")) }
                        @for standing in &result.standings {
                            td.number { @if let Some(value) = standing.costs.get(name) { (number(*value)) } }
                        }
                    }
                }
            }
        }
    }
}

/// Who took part, with command and version.
pub(crate) fn contenders(row: &Row, result: &CaseResult) -> Markup {
    let about = |name: &str| row.contenders.iter().find(|entry| entry.name == name).map_or("", |entry| entry.about);
    html! {
        details {
            summary { "Contenders" }
            table {
                @for standing in &result.standings {
                    tr {
                        td { (standing.contender) }
                        td { (about(standing.contender)) }
                        td { @if let Some(command) = &standing.identity.command { code { (command) } } }
                        td.dim { (standing.identity.version.as_deref().unwrap_or_default()) }
                    }
                }
            }
        }
    }
}
