//! Runs a row: every contender once a round, one after the other, for as many rounds as pairs.
//!
//! A contender and its peer meet in every round, so each round gives one ratio per target. The
//! order turns by one place a round and runs backwards in every second one, so nobody always
//! follows the same predecessor. A first round is not counted. Every answer is checked, in that
//! round too.
//!
//! Where there are many peers, a trial of all of them on a part of the work comes first, and only the strongest go on.
//!
//! A round during which others used the machine is run again while there is patience; see
//! [`crate::load`].

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::catalogue::{Against, Case, Entry, PEERS, Row, SHARE, Target, Unit};
use crate::contenders::{self, Contender, Measured, Trouble};
use crate::corpus::Store;
use crate::load::{Load, Patience, QUIET};
use crate::outcome::{CaseResult, Outcome, Standing};
use crate::roofline::{Gauge, Roofline};
use crate::stats;
use crate::text::number;
use crate::usage::Usage;

const MIB: f64 = 1024.0 * 1024.0;

/// How rows are run.
pub(crate) struct Plan {
    /// Rounds that count.
    pub pairs: usize,
    /// Small sizes, one round, answers only.
    pub quick: bool,
    /// At most so many keys are sorted at once.
    pub keys: u64,
    /// Only these contenders; empty: all.
    pub only: Vec<String>,
    /// Whether to say on standard error how far we are.
    pub progress: bool,
}

/// What a whole run shares.
pub(crate) struct Bench {
    /// Measures the roofline.
    pub gauge: Gauge,
    /// What is left of it.
    pub patience: Patience,
    /// Where files are kept.
    pub store: Arc<Store>,
}

/// A contender on the starting line.
struct Runner {
    entry: Entry,
    contender: Result<Box<dyn Contender>, String>,
    /// Why it does not take part after the trial.
    left_out: Option<String>,
    rates: Vec<f64>,
    processor: Vec<f64>,
    memory: Vec<f64>,
    resident: Vec<f64>,
    threads: usize,
    costs: BTreeMap<&'static str, f64>,
}

/// A case that has been run and not yet judged.
struct Ran<'a> {
    case: &'a Case,
    size: u64,
    foreign: f64,
    device: Option<f64>,
    runners: Vec<Runner>,
}

/// Runs all cases of `row`; an error is a wrong answer or a broken contender, with its place.
pub(crate) fn run(row: &Row, plan: &Plan, bench: &mut Bench) -> Result<Vec<CaseResult>, String> {
    bench.patience.wait_for_quiet();
    let before = bench.gauge.measure();
    let mut ran = Vec::new();
    for case in row.cases {
        let place = |name: &str, why: &str| format!("{}, {}: {name}: {why}", row.name, case.name);
        let mut runners = Vec::new();
        for entry in row.contenders {
            if !plan.only.is_empty() && !plan.only.iter().any(|name| name == entry.name) {
                continue;
            }
            let contender = match contenders::build(entry, case.work, &bench.store) {
                Ok(contender) => Ok(contender),
                Err(Trouble::Unavailable(why)) => Err(why),
                Err(Trouble::Wrong(why) | Trouble::Failed(why)) => {
                    return Err(place(entry.name, &why));
                }
            };
            runners.push(Runner::new(*entry, contender));
        }
        let size = if plan.quick { case.quick } else { case.work.limited(case.size, plan.keys) };
        if let Some(part) = case.work.trial().filter(|_| !plan.quick) {
            trial(row, size / part, &mut runners).map_err(|(name, why)| place(name, &why))?;
        }
        let foreign = rounds(row, case, size, plan, &mut bench.patience, &mut runners)
            .map_err(|(name, why)| place(name, &why))?;
        let device = if plan.quick { None } else { contenders::file::device(case, &bench.store) };
        ran.push(Ran { case, size, foreign, device, runners });
    }
    let after = if plan.quick {
        before
    } else {
        bench.patience.wait_for_quiet();
        bench.gauge.measure()
    };
    Ok(ran.into_iter().map(|ran| conclude(row, ran, plan, after)).collect())
}

/// The rounds of one case; the cores others used meanwhile, on average, or an error that names the
/// contender.
fn rounds(
    row: &Row,
    case: &Case,
    size: u64,
    plan: &Plan,
    patience: &mut Patience,
    runners: &mut [Runner],
) -> Result<f64, (&'static str, String)> {
    // A trial has warmed up what there is to warm up.
    let warm_up = usize::from(!plan.quick && case.work.trial().is_none());
    let pairs = case.work.rounds(plan.pairs);
    let (mut round, mut foreign) = (0, 0.0);
    while round < pairs + warm_up {
        if plan.progress {
            let (row, case) = (row.name, case.name);
            eprint!("\r\x1b[K{row}, {case}: round {round} of {pairs}");
        }
        patience.wait_for_quiet();
        let load = Load::start();
        let measured = one_round(size, round, runners)?;
        let noise = load.foreign();
        if noise > QUIET && patience.again(load.elapsed()) {
            continue;
        }
        if round >= warm_up {
            foreign += noise / pairs as f64;
            for (runner, measured) in runners.iter_mut().zip(measured) {
                if let Some((measured, usage)) = measured {
                    runner.count(row.unit, &measured, usage, pairs);
                }
            }
        }
        round += 1;
    }
    if plan.progress {
        eprint!("\r\x1b[K");
    }
    Ok(foreign)
}

/// Everybody with `size` of the work; peers that turn out weak are left out of what follows.
fn trial(row: &Row, size: u64, runners: &mut [Runner]) -> Result<(), (&'static str, String)> {
    let mut best = vec![0f64; runners.len()];
    // Twice: one bad moment leaves nobody out.
    for round in 0..2 {
        for (best, part) in best.iter_mut().zip(one_round(size.max(1), round, runners)?) {
            *best = best.max(part.map_or(0.0, |(measured, _)| row.unit.rate(&measured)));
        }
    }
    let peer = |(index, rate): &(usize, f64)| *rate > 0.0 && !runners[*index].entry.way.is_ours();
    let mut peers: Vec<(usize, f64)> = best.into_iter().enumerate().filter(peer).collect();
    peers.sort_by(|a, b| b.1.total_cmp(&a.1));
    let Some(&(_, best)) = peers.first() else { return Ok(()) };
    for (place, (index, rate)) in peers.into_iter().enumerate() {
        if place >= PEERS || rate < SHARE * best {
            let [rate, best] = [rate, best].map(number);
            runners[index].left_out = Some(format!("{rate} {} in the trial, the best peer {best}", row.unit.name()));
        }
    }
    Ok(())
}

/// One contender's part in a round, if it can run here.
type Part = Option<(Measured, Usage)>;

/// Everybody once; what came of it, in the order of `runners`.
fn one_round(size: u64, round: usize, runners: &mut [Runner]) -> Result<Vec<Part>, (&'static str, String)> {
    let mut results: Vec<_> = runners.iter().map(|_| None).collect();
    for place in 0..runners.len() {
        let mut index = (round + place) % runners.len();
        if round % 2 == 1 {
            index = runners.len() - 1 - index;
        }
        let runner = &mut runners[index];
        if runner.left_out.is_some() {
            continue;
        }
        let Ok(contender) = &mut runner.contender else {
            continue;
        };
        let before = Usage::now();
        match contender.run(size).and_then(Measured::verified) {
            Ok(measured) => results[index] = Some((measured, Usage::now().since(before))),
            Err(Trouble::Unavailable(why)) => runner.contender = Err(why),
            Err(Trouble::Wrong(why)) => {
                return Err((runner.entry.name, format!("wrong answer: {why}")));
            }
            Err(Trouble::Failed(why)) => return Err((runner.entry.name, why)),
        }
    }
    Ok(results)
}

impl Runner {
    fn new(entry: Entry, contender: Result<Box<dyn Contender>, String>) -> Runner {
        Runner {
            entry,
            contender,
            left_out: None,
            rates: vec![],
            processor: vec![],
            memory: vec![],
            resident: vec![],
            threads: 1,
            costs: BTreeMap::new(),
        }
    }

    /// Takes one round's result into account.
    fn count(&mut self, unit: Unit, measured: &Measured, usage: Usage, rounds: usize) {
        let rate = unit.rate(measured);
        self.rates.push(rate);
        self.threads = measured.threads;
        let used = measured.process.map_or(usage.user_seconds + usage.system_seconds, |process| process.processor);
        self.processor.push(used / unit.amount(measured));
        if let Some(process) = measured.process {
            self.memory.push(process.memory as f64 / MIB);
            self.resident.push(process.resident as f64 / MIB);
        }
        let amount = unit.amount(measured) * rounds as f64;
        // What this process used says nothing of work done in another one.
        let here = usage.fields().into_iter().filter(|_| measured.process.is_none());
        for (name, value) in here.chain(measured.counters.iter().copied()) {
            *self.costs.entry(name).or_default() += value / amount;
        }
    }
}

impl Unit {
    /// What `measured` did, in gigabytes, moves or accesses.
    fn amount(self, measured: &Measured) -> f64 {
        match self {
            Unit::MicrosecondsPerMove | Unit::NanosecondsPerAccess => measured.amount as f64,
            Unit::MegarowsPerSecondPerCore | Unit::MegakeysPerSecond => measured.amount as f64 / 1e6,
            _ => measured.amount as f64 / 1e9,
        }
    }

    /// Gigabytes or moves per second, or per second and core: more is better.
    fn rate(self, measured: &Measured) -> f64 {
        let rate = self.amount(measured) / measured.took.as_secs_f64().max(1e-9);
        match self {
            Unit::GigabytesPerSecondPerCore | Unit::MegarowsPerSecondPerCore => {
                let cores = std::thread::available_parallelism().map_or(1, usize::from);
                rate / measured.threads.min(cores) as f64
            }
            _ => rate,
        }
    }
}

/// What the rounds of a case say.
fn conclude(row: &Row, ran: Ran, plan: &Plan, roofline: Roofline) -> CaseResult {
    let Ran { case, size, foreign, device, runners } = ran;
    let pairs = case.work.rounds(plan.pairs);
    let roofline = Roofline { device, ..roofline };
    let standings: Vec<Standing> = runners
        .into_iter()
        .map(|runner| {
            let shown: Vec<f64> = runner.rates.iter().map(|rate| row.unit.shown(*rate)).collect();
            Standing {
                contender: runner.entry.name,
                identity: runner.contender.as_ref().map(|contender| contender.identity()).unwrap_or_default(),
                unavailable: runner.contender.err(),
                left_out: runner.left_out,
                shown: stats::estimate(&shown),
                rates: runner.rates,
                processor: runner.processor,
                memory: runner.memory,
                resident: runner.resident,
                threads: runner.threads,
                costs: runner.costs,
            }
        })
        .collect();
    let outcomes = row
        .targets
        .iter()
        .filter(|target| target.case.is_none_or(|name| name == case.name))
        .filter(|_| !plan.quick)
        .map(|target| {
            let enough = case.work.rounds(stats::MIN_PAIRS);
            // Of less work than the target is about nobody can tell.
            judge(target, &standings, &roofline, if size == case.size { enough } else { usize::MAX })
        })
        .collect();
    CaseResult {
        row: row.name,
        case: case.name,
        unit: row.unit.name(),
        size,
        reduced: !plan.quick && size != case.size,
        pairs,
        quick: plan.quick,
        foreign,
        standings,
        outcomes,
        roofline,
    }
}

/// The figure of a target, divided round by round by what it is held against, and the verdict on it, if there are
/// `enough` rounds.
fn judge(target: &Target, standings: &[Standing], roofline: &Roofline, enough: usize) -> Outcome {
    let standing = |name: &str| standings.iter().find(|standing| standing.contender == name);
    let figures = |name: &str| standing(name).map_or(&[][..], |standing| standing.figures(target.figure));
    let own = figures(target.contender);
    let mut chosen = None;
    let values: Vec<f64> = match target.against {
        Against::Itself => own.to_vec(),
        Against::MemoryReads => {
            let threads = standing(target.contender).map_or(1, |standing| standing.threads);
            own.iter().map(|rate| rate / roofline.reads(threads)).collect()
        }
        Against::Peer(_) | Against::Best(_) => {
            chosen = best(target, figures);
            let peer = chosen.map_or(&[][..], figures);
            own.iter().zip(peer).map(|(own, peer)| own / peer).collect()
        }
    };
    let value = stats::estimate(&values);
    let verdict =
        |goal: Option<f64>| goal.map(|goal| stats::verdict(value.as_ref(), target.figure.bound(), goal, enough));
    Outcome {
        contender: target.contender,
        subject: target.subject(chosen),
        goals: target.goals(),
        few: value.as_ref().map(|value| value.pairs).filter(|pairs| *pairs < stats::MIN_PAIRS),
        value,
        must: target.must,
        must_verdict: verdict(target.must),
        aim: target.aim,
        aim_verdict: verdict(target.aim),
    }
}

/// Of the target's peers that have figures, the one whose median is best.
fn best<'a>(target: &Target, figures: impl Fn(&str) -> &'a [f64]) -> Option<&'static str> {
    let medians =
        target.against.peers().iter().filter_map(|peer| Some((*peer, stats::estimate(figures(peer))?.median)));
    let better = |a: &(&str, f64), b: &(&str, f64)| target.figure.bound().better(a.1, b.1);
    medians.reduce(|best, peer| if better(&peer, &best) { peer } else { best }).map(|(peer, _)| peer)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::catalogue::{Figure, Keys, Pattern, Sorting, Way, Work, rows};
    use crate::kernels::expected_sum;
    use crate::memory::Pages;
    use crate::stats::Verdict;

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

    fn runner(name: &'static str, seconds: Vec<f64>, lies: bool) -> Runner {
        let entry = Entry { name, way: Way::Ring, about: "", one: false };
        let contender: Box<dyn Contender> = Box::new(Fake { seconds, lies });
        Runner::new(entry, Ok(contender))
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
        Plan { pairs, quick, keys: u64::MAX, only: vec![], progress: false }
    }

    /// The machine slows down to a tenth during the run; the paired ratio does not notice.
    #[test]
    fn ratios_are_formed_round_by_round() {
        let slow: Vec<f64> = (0..16).map(|i| 1.0 + f64::from(i)).collect();
        let fast = slow.iter().map(|s| s / 3.0).collect();
        let mut runners = vec![runner("slow", slow, false), runner("fast", fast, false)];
        rounds(&ROW, &CASE, CASE.size, &plan(false), &mut Patience::new(0), &mut runners).unwrap();
        let result = conclude(
            &ROW,
            Ran { case: &CASE, size: CASE.size, foreign: 0.0, device: None, runners },
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
        let mut runners = vec![runner("fast", vec![1.0; 16], true)];
        let (name, why) =
            rounds(&ROW, &CASE, CASE.size, &plan(false), &mut Patience::new(0), &mut runners).unwrap_err();
        assert_eq!(name, "fast");
        assert!(why.starts_with("wrong answer"), "{why}");
        let mut runners = vec![runner("fast", vec![1.0], true)];
        assert!(rounds(&ROW, &CASE, CASE.size, &plan(true), &mut Patience::new(0), &mut runners).is_err());
    }

    #[test]
    fn the_trial_leaves_out_who_is_weak() {
        // Rates of 10, 9, 8, 7 and 5 in the better of two rounds, one of them far slower in the other; nobody else's.
        let seconds = [[1.0, 1.0], [20.0, 1.0 / 0.9], [1.0 / 0.8, 1.0 / 0.8], [1.0 / 0.7, 1.0 / 0.7], [2.0, 2.0]];
        let mut runners: Vec<_> = seconds.map(|seconds| runner("peer", seconds.to_vec(), false)).into();
        runners.push(Runner { contender: Err("no kernel".into()), ..runner("absent", vec![], false) });
        let mut slow = runner("ours", vec![99.0, 99.0], false);
        slow.entry.way = Way::Grow(crate::contenders::grow::Growth::Rewired);
        runners.push(slow);
        trial(&ROW, 8000, &mut runners).unwrap();
        let out: Vec<_> = runners.iter().map(|runner| runner.left_out.is_some()).collect();
        assert_eq!(out, [false, false, false, true, true, false, false], "the three best, and ours");
        let mut runners = vec![runner("fast", vec![1.0; 2], false), runner("slow", vec![1.0 / 0.59; 2], false)];
        trial(&ROW, 8000, &mut runners).unwrap();
        assert!(runners[1].left_out.is_some(), "below the share of the best");
        // Whoever is left out has no turn, and its targets stay open.
        runners[0] = runner("fast", vec![1.0; 16], false);
        rounds(&ROW, &CASE, CASE.size, &plan(false), &mut Patience::new(0), &mut runners).unwrap();
        assert!(runners[1].rates.is_empty());
        let ran = Ran { case: &CASE, size: CASE.size, foreign: 0.0, device: None, runners };
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
            let mut runners = vec![runner("slow", vec![1.0; 16], false), runner("fast", vec![0.1; 16], false)];
            let plan = Plan { pairs, ..plan(false) };
            rounds(&ROW, case, size, &plan, &mut Patience::new(0), &mut runners).unwrap();
            let result =
                conclude(&ROW, Ran { case, size, foreign: 0.0, device: None, runners }, &plan, Roofline::default());
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
        let mut runners = vec![runner("slow", vec![1.0; 16], false)];
        runners.push(Runner { contender: Err("no kernel".into()), ..runner("fast", vec![], false) });
        rounds(&ROW, &CASE, CASE.size, &plan(false), &mut Patience::new(0), &mut runners).unwrap();
        let result = conclude(
            &ROW,
            Ran { case: &CASE, size: CASE.size, foreign: 0.0, device: None, runners },
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
            let outcome = judge(&target, &standings, &roofline, stats::MIN_PAIRS);
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
        let mut runners: Vec<_> = (0..5).map(|_| runner("x", vec![1.0; 16], false)).collect();
        rounds(&ROW, &CASE, CASE.size, &plan(false), &mut Patience::new(0), &mut runners).unwrap();
        assert!(runners.iter().all(|r| r.rates.len() == 15));
    }

    /// Whoever can be built, can be built for every case of the row that lists it.
    #[test]
    fn the_catalogue_fits_the_contenders() {
        let directory = tempfile::tempdir().unwrap();
        let store = Arc::new(Store::new(Some(directory.path().into()), false).unwrap());
        for row in rows() {
            for case in row.cases {
                for entry in row.contenders {
                    if let Err(Trouble::Failed(why) | Trouble::Wrong(why)) = contenders::build(entry, case.work, &store)
                    {
                        panic!("{}, {}: {}: {why}", row.name, case.name, entry.name);
                    }
                }
            }
        }
    }
}
