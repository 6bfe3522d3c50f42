//! Contenders of known speed, and the verdicts on them.

use std::collections::BTreeMap;
use std::time::Duration;

use super::judge::judge;
use super::*;
use crate::catalogue::{Against, Case, Entry, Figure, Growth, Keys, Pattern, Sorting, Target, Unit, Way, Work, rows};
use crate::contenders::{Contender, Measured};
use crate::kernels::expected_sum;
use crate::memory::Pages;
use crate::outcome::Standing;
use crate::roofline::Roofline;
use crate::verdict::{MIN_PAIRS, Verdict};

/// Takes the seconds it is told, in turn, and answers right or wrong.
struct Fake {
    seconds: Vec<f64>,
    lies: bool,
}

impl Contender for Fake {
    fn run(&mut self, size: u64) -> Result<Measured, Trouble> {
        let seconds = self.seconds.remove(0);
        let answer = expected_sum(size / 8) ^ u64::from(self.lies);
        Ok(Measured::alone(Duration::from_secs_f64(seconds), size, answer, size / 8))
    }
}

fn entrant(name: &'static str, seconds: Vec<f64>, lies: bool) -> Entrant {
    let entry = Entry { name, way: Way::Ring, about: "", one: false };
    let contender: Box<dyn Contender> = Box::new(Fake { seconds, lies });
    Entrant::new(entry, Ok(contender))
}

const CASE: Case = Case { name: "case", work: Work::Pipe { streams: 1 }, size: 8000, quick: 80 };
const TARGET: Target = Target {
    contender: "fast",
    figure: Figure::Rate,
    against: Against::Peer("slow"),
    case: None,
    must: Some(2.0),
    aim: Some(5.0),
};
const ROW: Row = Row {
    name: "row",
    about: "",
    source: "",
    unit: Unit::GigabytesPerSecond,
    cases: &[CASE],
    contenders: &[],
    targets: &[TARGET],
};

fn plan(quick: bool) -> Plan {
    let pairs = if quick { 1 } else { 15 };
    Plan { pairs, quick, keys: u64::MAX, bytes: u64::MAX, long: false, only: vec![], kept: vec![], progress: false }
}

/// The machine slows down to a tenth during the run; the paired ratio does not notice.
#[test]
fn ratios_are_formed_round_by_round() {
    let slow: Vec<f64> = (0..16).map(|i| 1.0 + f64::from(i)).collect();
    let fast = slow.iter().map(|s| s / 3.0).collect();
    let mut entrants = vec![entrant("slow", slow, false), entrant("fast", fast, false)];
    rounds(&ROW, &CASE, CASE.size, &plan(false), &mut Patience::new(0), &mut entrants).unwrap();
    let result = conclude(
        &ROW,
        Ran { case: &CASE, size: CASE.size, foreign: 0.0, device: None, entrants },
        &plan(false),
        Roofline::default(),
    );
    let outcome = &result.outcomes[0];
    let ratio = outcome.value.unwrap();
    assert!((ratio.low - 3.0).abs() < 1e-6 && (ratio.high - 3.0).abs() < 1e-6);
    assert_eq!(ratio.pairs, 15, "the warm-up round does not count");
    assert_eq!(outcome.must_verdict, Some(Verdict::Pass));
    assert_eq!(outcome.aim_verdict, Some(Verdict::Fail));
    assert!(result.must_failed().next().is_none());
}

#[test]
fn a_wrong_answer_is_an_error_even_in_the_first_round() {
    let mut entrants = vec![entrant("fast", vec![1.0; 16], true)];
    let (name, why) = rounds(&ROW, &CASE, CASE.size, &plan(false), &mut Patience::new(0), &mut entrants).unwrap_err();
    assert_eq!(name, "fast");
    assert!(why.starts_with("wrong answer"), "{why}");
    let mut entrants = vec![entrant("fast", vec![1.0], true)];
    assert!(rounds(&ROW, &CASE, CASE.size, &plan(true), &mut Patience::new(0), &mut entrants).is_err());
}

#[test]
fn the_trial_leaves_out_who_is_weak() {
    // Rates of 10, 9, 8, 7 and 5 in the better of two rounds, one of them far slower in the other; nobody else's.
    let seconds = [[1.0, 1.0], [20.0, 1.0 / 0.9], [1.0 / 0.8, 1.0 / 0.8], [1.0 / 0.7, 1.0 / 0.7], [2.0, 2.0]];
    let mut entrants: Vec<_> = seconds.map(|seconds| entrant("peer", seconds.to_vec(), false)).into();
    entrants.push(Entrant { contender: Err("no kernel".into()), ..entrant("absent", vec![], false) });
    let mut slow = entrant("ours", vec![99.0, 99.0], false);
    slow.entry.way = Way::Grow(Growth::Rewired);
    entrants.push(slow);
    trial(&ROW, 8000, &[], &mut entrants).unwrap();
    let out: Vec<_> = entrants.iter().map(|entrant| entrant.left_out.is_some()).collect();
    assert_eq!(out, [false, false, false, true, true, false, false], "the three best, and ours");
    let mut entrants = vec![entrant("fast", vec![1.0; 2], false), entrant("slow", vec![1.0 / 0.59; 2], false)];
    trial(&ROW, 8000, &[], &mut entrants).unwrap();
    assert!(entrants[1].left_out.is_some(), "below the share of the best");
    let mut compared =
        [("fast", 1.0), ("slow", 4.0), ("slower", 6.0)].map(|(name, seconds)| entrant(name, vec![seconds; 2], false));
    let kept = |row, peers| Kept { row, peers };
    trial(&ROW, 8000, &[kept(ROW.name, &["slower", "slow"]), kept("another", &["slower"])], &mut compared).unwrap();
    assert_eq!(
        compared.map(|entrant| entrant.left_out.is_some()),
        [false, false, true],
        "the best of those compared with"
    );
    // Whoever is left out has no turn, and its targets stay open.
    entrants[0] = entrant("fast", vec![1.0; 16], false);
    rounds(&ROW, &CASE, CASE.size, &plan(false), &mut Patience::new(0), &mut entrants).unwrap();
    assert!(entrants[1].rates.is_empty());
    let ran = Ran { case: &CASE, size: CASE.size, foreign: 0.0, device: None, entrants };
    let result = conclude(&ROW, ran, &plan(false), Roofline::default());
    assert_eq!(result.outcomes[0].must_verdict, Some(Verdict::CannotTell));
}

#[test]
fn fewer_rounds_are_enough_only_where_the_case_says_so_and_reduced_work_proves_nothing() {
    let sorting = Sorting {
        keys: Keys::U64,
        pattern: Pattern::Uniform,
        piece: u64::MAX,
        threads: 1,
        pages: Pages::Huge,
        rounds: Some(7),
    };
    let case = Case { name: "case", work: Work::Sort(sorting), size: 8000, quick: 80 };
    let verdict = |case: &Case, size, pairs| {
        let mut entrants = vec![entrant("slow", vec![1.0; 16], false), entrant("fast", vec![0.1; 16], false)];
        let plan = Plan { pairs, ..plan(false) };
        rounds(&ROW, case, size, &plan, &mut Patience::new(0), &mut entrants).unwrap();
        let result =
            conclude(&ROW, Ran { case, size, foreign: 0.0, device: None, entrants }, &plan, Roofline::default());
        assert_eq!(result.reduced, size != case.size);
        (result.outcomes[0].value.unwrap().pairs, result.outcomes[0].must_verdict.unwrap())
    };
    assert_eq!(verdict(&case, 8000, 15), (7, Verdict::Pass));
    assert_eq!(verdict(&case, 8000, 6), (6, Verdict::CannotTell));
    assert_eq!(verdict(&case, 4000, 15), (7, Verdict::CannotTell));
    assert_eq!(verdict(&CASE, 8000, 14), (14, Verdict::CannotTell));
}

#[test]
fn a_missing_contender_leaves_its_targets_open() {
    let mut entrants = vec![entrant("slow", vec![1.0; 16], false)];
    entrants.push(Entrant { contender: Err("no kernel".into()), ..entrant("fast", vec![], false) });
    rounds(&ROW, &CASE, CASE.size, &plan(false), &mut Patience::new(0), &mut entrants).unwrap();
    let result = conclude(
        &ROW,
        Ran { case: &CASE, size: CASE.size, foreign: 0.0, device: None, entrants },
        &plan(false),
        Roofline::default(),
    );
    assert_eq!(result.outcomes[0].must_verdict, Some(Verdict::CannotTell));
    assert_eq!(result.standings[1].unavailable.as_deref(), Some("no kernel"));
}

fn standing(contender: &'static str, rates: &[f64], processor: &[f64], memory: &[f64]) -> Standing {
    Standing {
        contender,
        unavailable: None,
        left_out: None,
        identity: Default::default(),
        rates: rates.to_vec(),
        processor: processor.to_vec(),
        memory: memory.to_vec(),
        resident: vec![],
        threads: 2,
        shown: None,
        costs: BTreeMap::new(),
        timeline: vec![],
    }
}

#[test]
fn targets_of_every_kind_look_at_what_they_say() {
    let we = standing("we", &[8.0; 15], &[0.9; 15], &[12.0; 15]);
    // The second peer has the best single round, the first the best median.
    let mut lucky = vec![4.0; 15];
    lucky[3] = 100.0;
    let peers = [standing("steady", &[10.0; 15], &[1.0; 15], &[]), standing("lucky", &lucky, &[0.5; 15], &[])];
    let [steady, lucky] = peers;
    let standings = [we, steady, lucky];
    let reads = |read| crate::roofline::Bandwidth { read, ..Default::default() };
    let roofline = Roofline { memory: reads(5.0), two_cores: reads(16.0), ..Default::default() };
    let judged = |figure, against, must| {
        let target = Target { contender: "we", figure, against, case: None, must: Some(must), aim: None };
        let outcome = judge(&target, &standings, &roofline, MIN_PAIRS);
        (outcome.value.map(|e| (e.median * 1e6).round() / 1e6), outcome.must_verdict.unwrap(), outcome.subject)
    };
    let best = Against::Best(&["lucky", "steady"]);
    let subject = "we / steady, the best of its peers".to_owned();
    assert_eq!(judged(Figure::Rate, best, 0.75), (Some(0.8), Verdict::Pass, subject.clone()));
    assert_eq!(judged(Figure::Rate, best, 0.85), (Some(0.8), Verdict::Fail, subject));
    assert_eq!(judged(Figure::Rate, Against::Itself, 8.0).1, Verdict::Pass);
    let (value, verdict, _) = judged(Figure::Rate, Against::MemoryReads, 0.5);
    assert_eq!((value, verdict), (Some(0.5), Verdict::Pass), "two threads, the roof of two");
    let (value, verdict, subject) = judged(Figure::Processor, best, 1.1);
    assert_eq!((value, verdict), (Some(1.8), Verdict::Fail), "the best of processor time is the least");
    assert!(subject.contains("lucky"));
    assert_eq!(judged(Figure::Memory, Against::Itself, 16.0).1, Verdict::Pass);
    assert_eq!(judged(Figure::Memory, Against::Itself, 11.0).1, Verdict::Fail);
    let (value, verdict, _) = judged(Figure::Rate, Against::Best(&["absent"]), 1.0);
    assert_eq!((value, verdict), (None, Verdict::CannotTell));
}

#[test]
fn everybody_runs_in_every_round() {
    let mut entrants: Vec<_> = (0..5).map(|_| entrant("x", vec![1.0; 16], false)).collect();
    rounds(&ROW, &CASE, CASE.size, &plan(false), &mut Patience::new(0), &mut entrants).unwrap();
    assert!(entrants.iter().all(|r| r.rates.len() == 15));
}

/// Whoever can be built, can be built for every case of the row that lists it.
#[test]
fn the_catalogue_fits_the_contenders() {
    let directory = tempfile::tempdir().unwrap();
    let store = Arc::new(Store::new(Some(directory.path().into()), false).unwrap());
    for row in rows() {
        for case in row.cases {
            for entry in row.contenders {
                if let Err(Trouble::Failed(why) | Trouble::Wrong(why)) = contenders::build(entry, case.work, &store) {
                    panic!("{}, {}: {}: {why}", row.name, case.name, entry.name);
                }
            }
        }
    }
}
