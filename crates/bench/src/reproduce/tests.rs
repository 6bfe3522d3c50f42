//! Pages and records with everything that can happen in them.

use super::finding::State;
use super::*;
use crate::catalogue;
use crate::interval::Estimate;
use crate::outcome::{CaseResult, Run};
use crate::papers::Claim;
use crate::report::tests::everything;
use crate::report::{self, browser};
use crate::verdict::MIN_PAIRS;

fn all() -> Vec<Chosen> {
    choose(&[]).unwrap()
}

fn evidence() -> Evidence {
    Evidence::of(record::of_run(everything()), &Machine::here())
}

#[test]
fn pages_show_every_section_and_a_browser_finds_nothing_wrong() {
    let directory = tempfile::tempdir().unwrap();
    let index = html::write(directory.path(), &all(), &evidence()).unwrap();
    let summary = fs::read_to_string(&index).unwrap();
    let markdown = page::markdown(&all(), &evidence());
    for paper in PAPERS {
        let path = directory.path().join(format!("{}.html", paper.name));
        let text = fs::read_to_string(&path).unwrap();
        for section in paper.sections {
            assert!(text.contains(&format!("<section id=\"{}\">", section.name)), "{}", section.title);
            assert!(summary.contains(&format!("{}.html#{}\"", paper.name, section.name)), "{}", section.title);
            assert!(markdown.contains(&format!("### {}\n", section.title)), "{}", section.title);
            let shown = !section.parts.is_empty() || section.found.or(section.without).is_some();
            assert!(shown && text.contains(section.title), "{}", section.title);
        }
        assert!(!text.contains(" src="), "needs something beside itself");
    }
    // On a telephone and on a desk.
    for width in [390, 1280] {
        for path in [&index, &directory.path().join("vortex.html"), &directory.path().join("wiscsort.html")] {
            browser::finds_nothing_wrong(path, width);
        }
    }
}

/// A run whose contenders differ by up to nine powers of ten, with intervals of any width, as on a machine that is busy. Of every
/// other run nobody knows what memory it took.
fn anything(seed: u64) -> Run {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut run = everything();
    for result in &mut run.results {
        let about = 10f64.powf(random.f64() * 9.0 - 4.0);
        let spread = 10f64.powf(random.f64() * 3.0);
        let mut some = || about * spread.powf(random.f64());
        for standing in &mut result.standings {
            let mut values = [some(), some(), some()];
            values.sort_by(f64::total_cmp);
            let [low, median, high] = values;
            standing.shown = standing.shown.map(|shown| Estimate { median, low, high, ..shown });
            if seed % 2 == 1 {
                (standing.processor, standing.memory) = (vec![], vec![]);
            }
            let mut start = 0.0;
            for span in &mut standing.timeline {
                (span.start, span.seconds) = (start, some() / 100.0);
                (span.read, span.written) = ((some() * 1e9) as u64, (some() * 1e9) as u64);
                start += span.seconds;
            }
        }
    }
    run
}

#[test]
fn pictures_have_room_for_any_numbers() {
    let directory = tempfile::tempdir().unwrap();
    for seed in 0..2 {
        let run = anything(seed);
        browser::finds_nothing_wrong(&report::write(&directory.path().join("run"), &run).unwrap(), 1100);
        let evidence = Evidence::of(record::of_run(run), &Machine::here());
        html::write(directory.path(), &all(), &evidence).unwrap();
        for paper in PAPERS {
            browser::finds_nothing_wrong(&directory.path().join(format!("{}.html", paper.name)), 390);
        }
    }
}

#[test]
fn a_record_gives_back_what_was_measured() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("record");
    let run = everything();
    record::append_to(&path, &run).unwrap();
    let recorded = load(&path).unwrap();
    assert_eq!(recorded.len(), run.results.len());
    for (recorded, result) in recorded.iter().zip(&run.results) {
        let value = |result: &CaseResult| {
            let mut value = serde_json::to_value(result).unwrap();
            // Judged anew, and estimated in the unit of the row.
            value["outcomes"].take();
            value["standings"].as_array_mut().unwrap().iter_mut().for_each(|standing| drop(standing["shown"].take()));
            value
        };
        assert_eq!(value(&recorded.result), value(result));
        let targets = catalogue::row(result.row).unwrap().targets.iter();
        let here = targets.filter(|target| target.case.is_none_or(|case| case == result.case)).count();
        assert_eq!(recorded.result.outcomes.len(), here);
        assert_eq!((&recorded.build, recorded.machine.line()), (&run.build, run.machine.line()));
    }
    fs::write(&path, "{\"row\": 1}\n").unwrap();
    let why = load(&path).unwrap_err();
    assert!(why.contains("line 1: not a record"), "{why}");
}

fn plan(pairs: usize, long: bool) -> Plan {
    Plan { pairs, quick: false, keys: u64::MAX, bytes: u64::MAX, long, only: vec![], kept: vec![], progress: false }
}

#[test]
fn what_is_recorded_is_not_measured_again() {
    let run = everything();
    let (machine, build) = (run.machine.clone(), run.build.clone());
    let recorded = record::of_run(run);
    let plan = |pairs| plan(pairs, true);
    let is = |plan: &Plan, machine: &Machine, build: &str, recorded: &[Recorded]| {
        rows().map(|row| resume::is_recorded(row, plan, recorded, machine, build)).collect::<Vec<_>>()
    };
    let none = |found: Vec<bool>| found.iter().all(|found| !found);
    assert!(is(&plan(MIN_PAIRS), &machine, &build, &recorded).iter().all(|found| *found));
    assert!(none(is(&plan(MIN_PAIRS), &machine, "another", &recorded)));
    let other = Machine { cores: machine.cores + 1, ..machine.clone() };
    assert!(none(is(&plan(MIN_PAIRS), &other, &build, &recorded)));
    assert!(none(is(&plan(MIN_PAIRS), &machine, &build, &[])));
    assert!(none(is(&Plan { quick: true, ..plan(1) }, &machine, &build, &recorded)));
    let missing = |found: Vec<bool>| -> Vec<_> {
        rows().zip(found).filter(|(_, found)| !found).map(|(row, _)| row.name).collect()
    };
    // More rounds than were run, but for cases that ask for fewer.
    let more = missing(is(&plan(MIN_PAIRS + 1), &machine, &build, &recorded));
    assert!(more.contains(&"pipe") && !more.contains(&"external-plans"), "{more:?}");
    let smaller = missing(is(&Plan { keys: 1 << 20, ..plan(MIN_PAIRS) }, &machine, &build, &recorded));
    assert!(smaller.contains(&"sort") && !smaller.contains(&"pipe"), "{smaller:?}");
    // One case of a row is not enough.
    let part: Vec<_> = recorded.into_iter().filter(|recorded| recorded.result.case != "4 streams").collect();
    assert_eq!(missing(is(&plan(MIN_PAIRS), &machine, &build, &part)), ["pipes"]);
}

/// A claim about the queue, and rates of ours and of the queue in each of so many rounds.
fn judged(goal: f64, ours: f64, rounds: usize) -> (State, String) {
    let (row, case) = ("pipe", "12 GiB");
    let claim = Claim {
        about: "a / b",
        on: "a machine",
        row,
        target: catalogue::Target::must("explicit", goal, "queue").at(case),
        up_to: None,
        cause: Some("Because."),
    };
    let mut run = everything();
    run.results.retain(|result| result.row == row);
    for standing in &mut run.results[0].standings {
        standing.unavailable = None;
        standing.left_out = None;
        standing.rates = vec![if standing.contender == "queue" { 10.0 } else { 10.0 * ours }; rounds];
    }
    let evidence = Evidence::of(record::of_run(run), &Machine::here());
    let finding = finding(&claim, &evidence);
    (finding.state, finding.sentence)
}

#[test]
fn findings_are_computed_from_the_rounds() {
    let (state, sentence) = judged(2.0, 2.5, 15);
    assert_eq!(state, State::Holds);
    assert_eq!(sentence, "a / b: 2 times in the work (a machine); here 2.50 [2.50, 2.50] times, explicit / queue.");
    let (state, sentence) = judged(2.0, 0.5, 15);
    assert_eq!(state, State::Differs);
    assert!(sentence.ends_with("here 0.50 [0.50, 0.50] times, explicit / queue. Because."), "{sentence}");
    assert_eq!(judged(2.0, 2.5, 3).0, State::CannotTell, "too few rounds");
    let (state, sentence) = judged(2.0, 0.5, 0);
    assert_eq!(state, State::NotMeasured);
    assert_eq!(sentence, "a / b: 2 times in the work (a machine); not measured here.");
}

#[test]
fn works_and_sections_are_chosen_by_name() {
    let names = |names: &[&str]| choose(&names.iter().map(|name| name.to_string()).collect::<Vec<_>>());
    let some = names(&["wiscsort/figure-9", "ruma"]).unwrap();
    assert_eq!(some.iter().map(|chosen| chosen.paper.name).collect::<Vec<_>>(), ["ruma", "wiscsort"]);
    assert_eq!(some[1].sections.len(), 1);
    assert_eq!(rows_of(&some[1..]).iter().map(|row| row.name).collect::<Vec<_>>(), ["external-ratios"]);
    assert!(names(&["vortex/table-99"]).is_err() && names(&["pipe"]).is_err());
}

#[test]
fn a_time_is_given_for_each_row_and_grows_with_the_rounds() {
    let plan = |pairs| plan(pairs, false);
    for row in rows() {
        let (few, many) = (time::seconds(row, &plan(1)), time::seconds(row, &plan(15)));
        assert!(few > 0.0 && many > few && many < 6.0 * 3600.0, "{}: {few} {many}", row.name);
    }
    let said = [5.0, 89.5, 600.0, 3600.0 * 7.2].map(time::about);
    assert_eq!(said, ["about 5 seconds", "about 90 seconds", "about 10 minutes", "about 8 hours"]);
}

/// The page in the documentation is what the kept record says.
#[test]
fn the_page_is_made_from_the_record() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let (record, written) = (docs.join("reproduction.jsonl"), docs.join("reproduction.md"));
    assert_eq!(record.exists(), written.exists(), "a record and its page");
    if !record.exists() {
        return;
    }
    let evidence = Evidence::of_last_machine(load(&record).unwrap()).unwrap();
    let same = page::markdown(&all(), &evidence) == fs::read_to_string(written).unwrap();
    assert!(same, "docs/reproduction.md is not what its record gives: './dev reproduce --page' writes it again");
}
