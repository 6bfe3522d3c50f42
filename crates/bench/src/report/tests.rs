//! The page in a browser, with everything that can happen on it.

use std::collections::BTreeMap;

use super::*;
use crate::catalogue::rows;
use crate::interval::{Estimate, estimate};
use crate::machine::Machine;
use crate::outcome::{Identity, Standing};
use crate::roofline::{Bandwidth, Roofline};
use crate::timeline::Span;

/// Phases that follow each other, with and without reads and writes, some of them short.
fn spans(rate: f64) -> Vec<Span> {
    let span = |(i, phase): (usize, &str)| Span {
        phase: phase.into(),
        start: i as f64 * 0.25 * rate,
        seconds: if i == 1 { 0.0078125 } else { 0.125 * rate },
        read: if i % 2 == 0 { 1_000_000_000 } else { 0 },
        written: if i > 0 { 500_000_000 } else { 0 },
    };
    ["read keys", "sort", "write runs", "gather"].into_iter().enumerate().map(span).collect()
}

/// A run of all rows in which contenders are slow, fast, noisy and absent, and verdicts of every kind occur.
pub(crate) fn everything() -> Run {
    let read = |read| Bandwidth { read, write: read * 0.9, copy: read * 0.5 };
    let roofline = Roofline {
        cache: read(120.0),
        memory: read(20.0),
        two_cores: read(29.0),
        all_cores: read(29.0),
        device: Some(2.4),
    };
    let cases = rows().flat_map(|row| row.cases.iter().map(move |case| (row, case)));
    let results = cases.map(|(row, case)| {
        let standing = |(i, entry): (usize, &crate::catalogue::Entry)| {
            // Numbers that decimals write exactly.
            let rate = 0.75 + i as f64 * 3.125;
            let rates = [rate, rate * 1.25, rate * 0.875].to_vec();
            let absent = i == 4;
            let nothing = i == 4 || i == 5;
            Standing {
                contender: entry.name,
                left_out: (i == 5).then(|| "12 M keys/s in the trial, the best peer 24".into()),
                unavailable: absent.then(|| "no such thing <on> this \"machine\"; ".repeat(8)),
                identity: Identity {
                    version: Some("thing 1.2 & more".into()),
                    command: Some("thing -l 'a b' FILE".into()),
                },
                shown: if nothing { None } else { estimate(&rates) },
                processor: rates.clone(),
                memory: rates.clone(),
                resident: rates.clone(),
                rates,
                threads: 1,
                costs: BTreeMap::from([("minor_faults".into(), rate)]),
                timeline: if nothing { vec![] } else { spans(rate) },
            }
        };
        let verdicts = [Verdict::Pass, Verdict::Fail, Verdict::CannotTell];
        let outcome = |(i, target): (usize, &crate::catalogue::Target)| Outcome {
            contender: target.contender,
            subject: target.subject(target.against.peers().first().copied()),
            goals: target.goals(),
            few: None,
            value: Some(Estimate { median: 1.0, low: 0.9, high: 1234.5, pairs: 15 }),
            must: target.must,
            must_verdict: target.must.map(|_| verdicts[i % 3]),
            aim: target.aim,
            aim_verdict: target.aim.map(|_| verdicts[(i + 1) % 3]),
        };
        CaseResult {
            row: row.name,
            case: case.name,
            unit: row.unit.name(),
            size: case.size,
            reduced: false,
            pairs: 15,
            quick: false,
            foreign: 0.5,
            standings: row.contenders.iter().enumerate().map(standing).collect(),
            outcomes: row.targets.iter().enumerate().map(outcome).collect(),
            roofline,
        }
    });
    Run {
        date: "2026-01-02T03:04:05Z".into(),
        version: "1".into(),
        build: "b".into(),
        command: "eagre-bench run --report 'a b'".into(),
        machine: Machine::here(),
        places: vec!["/var/tmp/eagre-bench (ext4)".into()],
        results: results.collect(),
    }
}

#[test]
fn a_browser_finds_nothing_wrong() {
    let directory = tempfile::tempdir().unwrap();
    let run = everything();
    let page = write(directory.path(), &run).unwrap();
    let text = fs::read_to_string(&page).unwrap();
    for words in ["pass", "FAIL", "cannot tell", "not here: no such thing", "Noisy"] {
        assert!(text.contains(words), "{words}");
    }
    assert!(!text.contains("http") && !text.contains(" src="), "needs something beside itself");
    let Some(found) = browser::finds_nothing_wrong(&page, 1100) else { return };
    let of = |row: &Row| run.results.iter().filter(|result| result.row == row.name).collect::<Vec<_>>();
    let pictures = rows().filter(|row| across::has(row, &of(row))).count();
    assert!(pictures >= 7, "sorting has a picture a row");
    assert_eq!(found["charts"], run.results.len() + pictures);
    let bars = run.results.iter().flat_map(|result| &result.standings).filter(|s| s.shown.is_some()).count();
    assert_eq!(found["bars"], bars);
}

#[test]
fn the_check_sees_what_is_wrong() {
    let directory = tempfile::tempdir().unwrap();
    let page = write(directory.path(), &everything()).unwrap();
    let text = fs::read_to_string(&page).unwrap();
    let troubles = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        fs::write(&page, text.replacen(from, to, 1)).unwrap();
        Some(browser::look(&page, 1100)?["troubles"].to_string())
    };
    let Some(outside) =
        troubles(">memcpy-warm</text>", ">a name that is far too long for its place, and longer</text>")
    else {
        return;
    };
    assert!(outside.contains("overlap"), "{outside}");
    let missing = troubles("<rect class=\"bar\"", "<rect class=\"gone\"").unwrap();
    assert!(missing.contains("bars and"), "{missing}");
    let beyond = troubles("x=\"0\" y=\"39\"", "x=\"0\" y=\"3900\"").unwrap();
    assert!(beyond.contains("outside"), "{beyond}");
    let nowhere = troubles("href=\"#", "href=\"#x").unwrap();
    assert!(nowhere.contains("a link to nowhere"), "{nowhere}");
    let error = troubles("<script>", "<script>nonesuch();</script><script>").unwrap();
    assert!(error.contains("nonesuch"), "{error}");
}

#[test]
fn text_cannot_break_the_page() {
    let mut run = everything();
    run.command = "eagre-bench </code><script>\"".into();
    let text = page(&run).into_string();
    assert!(text.contains("eagre-bench &lt;/code&gt;&lt;script&gt;&quot;"));
    assert_eq!(text.matches("<script>").count(), 1);
}
