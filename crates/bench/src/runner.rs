//! Runs a row: every contender once a round, one after the other, for as many rounds as pairs.
//!
//! A contender and its peer meet in every round, so each round gives one ratio per target. The
//! order turns by one place a round and runs backwards in every second one, so nobody always
//! follows the same predecessor. A first round is not counted. Every answer is checked, in that
//! round too.
//!
//! A round during which others used the machine is run again while there is patience; see
//! [`crate::load`].

use std::collections::BTreeMap;

use crate::catalogue::{Case, Entry, Row, Target, Unit};
use crate::contenders::{self, Contender, Measured, Trouble};
use crate::load::{Load, Patience, QUIET};
use crate::outcome::{CaseResult, Outcome, Standing};
use crate::roofline::Gauge;
use crate::stats;
use crate::usage::Usage;

/// How rows are run.
pub(crate) struct Plan {
    /// Rounds that count.
    pub pairs: usize,
    /// Small sizes, one round, answers only.
    pub quick: bool,
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
}

/// A contender on the starting line.
struct Runner {
    entry: Entry,
    contender: Result<Box<dyn Contender>, String>,
    rates: Vec<f64>,
    costs: BTreeMap<&'static str, f64>,
}

/// Runs all cases of `row`; an error is a wrong answer or a broken contender, with its place.
pub(crate) fn run(row: &Row, plan: &Plan, bench: &mut Bench) -> Result<Vec<CaseResult>, String> {
    bench.patience.wait_for_quiet();
    let before = bench.gauge.measure();
    let mut results = Vec::new();
    for case in row.cases {
        let place = |name: &str, why: &str| format!("{}, {}: {name}: {why}", row.name, case.name);
        let mut runners = Vec::new();
        for entry in row.contenders {
            if !plan.only.is_empty() && !plan.only.iter().any(|name| name == entry.name) {
                continue;
            }
            let contender = match contenders::build(entry, case.work) {
                Ok(contender) => Ok(contender),
                Err(Trouble::Unavailable(why)) => Err(why),
                Err(Trouble::Wrong(why) | Trouble::Failed(why)) => {
                    return Err(place(entry.name, &why));
                }
            };
            runners.push(Runner { entry: *entry, contender, rates: vec![], costs: BTreeMap::new() });
        }
        let foreign =
            rounds(row, case, plan, &mut bench.patience, &mut runners).map_err(|(name, why)| place(name, &why))?;
        results.push(conclude(row, case, plan, foreign, runners));
    }
    let after = if plan.quick {
        before
    } else {
        bench.patience.wait_for_quiet();
        bench.gauge.measure()
    };
    for result in &mut results {
        result.roofline = after;
    }
    Ok(results)
}

/// The rounds of one case; the cores others used meanwhile, on average, or an error that names the
/// contender.
fn rounds(
    row: &Row,
    case: &Case,
    plan: &Plan,
    patience: &mut Patience,
    runners: &mut [Runner],
) -> Result<f64, (&'static str, String)> {
    let size = if plan.quick { case.quick } else { case.size };
    let warm_up = usize::from(!plan.quick);
    let (mut round, mut foreign) = (0, 0.0);
    while round < plan.pairs + warm_up {
        if plan.progress {
            let (row, case, pairs) = (row.name, case.name, plan.pairs);
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
            foreign += noise / plan.pairs as f64;
            for (runner, measured) in runners.iter_mut().zip(measured) {
                if let Some((measured, usage)) = measured {
                    runner.count(row.unit, &measured, usage, plan.pairs);
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

/// One contender's part in a round, if it can run here.
type Ran = Option<(Measured, Usage)>;

/// Everybody once; what came of it, in the order of `runners`.
fn one_round(size: u64, round: usize, runners: &mut [Runner]) -> Result<Vec<Ran>, (&'static str, String)> {
    let mut results: Vec<_> = runners.iter().map(|_| None).collect();
    for place in 0..runners.len() {
        let mut index = (round + place) % runners.len();
        if round % 2 == 1 {
            index = runners.len() - 1 - index;
        }
        let runner = &mut runners[index];
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
    /// Takes one round's result into account.
    fn count(&mut self, unit: Unit, measured: &Measured, usage: Usage, rounds: usize) {
        let rate = unit.rate(measured);
        self.rates.push(rate);
        let amount = unit.amount(measured) * rounds as f64;
        let counted = measured.counters.iter().copied();
        for (name, value) in usage.fields().into_iter().chain(counted) {
            *self.costs.entry(name).or_default() += value / amount;
        }
    }
}

impl Unit {
    /// What `measured` did, in gigabytes or moves.
    fn amount(self, measured: &Measured) -> f64 {
        match self {
            Unit::MicrosecondsPerMove => measured.amount as f64,
            _ => measured.amount as f64 / 1e9,
        }
    }

    /// Gigabytes or moves per second, or per second and core: more is better.
    fn rate(self, measured: &Measured) -> f64 {
        let rate = self.amount(measured) / measured.took.as_secs_f64().max(1e-9);
        match self {
            Unit::GigabytesPerSecondPerCore => {
                let cores = std::thread::available_parallelism().map_or(1, usize::from);
                rate / measured.threads.min(cores) as f64
            }
            _ => rate,
        }
    }

    /// A rate as tables show it.
    fn shown(self, rate: f64) -> f64 {
        match self {
            Unit::MicrosecondsPerMove => 1e6 / rate,
            _ => rate,
        }
    }
}

/// What the rounds of a case say.
fn conclude(row: &Row, case: &Case, plan: &Plan, foreign: f64, runners: Vec<Runner>) -> CaseResult {
    let standings: Vec<Standing> = runners
        .into_iter()
        .map(|runner| {
            let shown: Vec<f64> = runner.rates.iter().map(|rate| row.unit.shown(*rate)).collect();
            Standing {
                contender: runner.entry.name,
                unavailable: runner.contender.err(),
                shown: stats::estimate(&shown),
                rates: runner.rates,
                costs: runner.costs,
            }
        })
        .collect();
    let outcomes = row
        .targets
        .iter()
        .filter(|target| target.case.is_none_or(|name| name == case.name))
        .filter(|_| !plan.quick)
        .map(|target| judge(target, &standings))
        .collect();
    CaseResult {
        row: row.name,
        case: case.name,
        unit: row.unit.name(),
        pairs: plan.pairs,
        quick: plan.quick,
        foreign,
        standings,
        outcomes,
        roofline: Default::default(),
    }
}

/// The ratio of two standings, round by round, and the verdict on it.
fn judge(target: &Target, standings: &[Standing]) -> Outcome {
    let rates = |name: &str| {
        let standing = standings.iter().find(|s| s.contender == name);
        standing.filter(|s| s.unavailable.is_none()).map_or(&[][..], |s| &s.rates)
    };
    let pairs = rates(target.contender).iter().zip(rates(target.peer));
    let ratios: Vec<f64> = pairs.map(|(contender, peer)| contender / peer).collect();
    let ratio = stats::estimate(&ratios);
    let verdict = |goal: Option<f64>| goal.map(|goal| stats::verdict(ratio.as_ref(), goal));
    Outcome {
        contender: target.contender,
        peer: target.peer,
        ratio,
        must: target.must,
        must_verdict: verdict(target.must),
        aim: target.aim,
        aim_verdict: verdict(target.aim),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::catalogue::{ROWS, Way, Work};
    use crate::kernels::expected_sum;
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
        Runner { entry, contender: Ok(contender), rates: vec![], costs: BTreeMap::new() }
    }

    const CASE: Case = Case { name: "case", work: Work::Pipe { streams: 1 }, size: 8000, quick: 80 };
    const ROW: Row = Row {
        name: "row",
        about: "",
        source: "",
        unit: Unit::GigabytesPerSecond,
        cases: &[CASE],
        contenders: &[],
        targets: &[Target { contender: "fast", peer: "slow", case: None, must: Some(2.0), aim: Some(5.0) }],
    };

    fn plan(quick: bool) -> Plan {
        let pairs = if quick { 1 } else { 15 };
        Plan { pairs, quick, only: vec![], progress: false }
    }

    /// The machine slows down to a tenth during the run; the paired ratio does not notice.
    #[test]
    fn ratios_are_formed_round_by_round() {
        let slow: Vec<f64> = (0..16).map(|i| 1.0 + f64::from(i)).collect();
        let fast = slow.iter().map(|s| s / 3.0).collect();
        let mut runners = vec![runner("slow", slow, false), runner("fast", fast, false)];
        rounds(&ROW, &CASE, &plan(false), &mut Patience::new(0), &mut runners).unwrap();
        let result = conclude(&ROW, &CASE, &plan(false), 0.0, runners);
        let outcome = &result.outcomes[0];
        let ratio = outcome.ratio.unwrap();
        assert!((ratio.low - 3.0).abs() < 1e-6 && (ratio.high - 3.0).abs() < 1e-6);
        assert_eq!(ratio.pairs, 15, "the warm-up round does not count");
        assert_eq!(outcome.must_verdict, Some(Verdict::Pass));
        assert_eq!(outcome.aim_verdict, Some(Verdict::Fail));
        assert!(result.must_failed().next().is_none());
    }

    #[test]
    fn a_wrong_answer_is_an_error_even_in_the_first_round() {
        let mut runners = vec![runner("fast", vec![1.0; 16], true)];
        let (name, why) = rounds(&ROW, &CASE, &plan(false), &mut Patience::new(0), &mut runners).unwrap_err();
        assert_eq!(name, "fast");
        assert!(why.starts_with("wrong answer"), "{why}");
        let mut runners = vec![runner("fast", vec![1.0], true)];
        assert!(rounds(&ROW, &CASE, &plan(true), &mut Patience::new(0), &mut runners).is_err());
    }

    #[test]
    fn a_missing_contender_leaves_its_targets_open() {
        let mut runners = vec![runner("slow", vec![1.0; 16], false)];
        runners.push(Runner { contender: Err("no kernel".into()), ..runner("fast", vec![], false) });
        rounds(&ROW, &CASE, &plan(false), &mut Patience::new(0), &mut runners).unwrap();
        let result = conclude(&ROW, &CASE, &plan(false), 0.0, runners);
        assert_eq!(result.outcomes[0].must_verdict, Some(Verdict::CannotTell));
        assert_eq!(result.standings[1].unavailable.as_deref(), Some("no kernel"));
    }

    #[test]
    fn everybody_runs_in_every_round() {
        let mut runners: Vec<_> = (0..5).map(|_| runner("x", vec![1.0; 16], false)).collect();
        rounds(&ROW, &CASE, &plan(false), &mut Patience::new(0), &mut runners).unwrap();
        assert!(runners.iter().all(|r| r.rates.len() == 15));
    }

    /// Whoever can be built, can be built for every case of the row that lists it.
    #[test]
    fn the_catalogue_fits_the_contenders() {
        for row in ROWS {
            for case in row.cases {
                for entry in row.contenders {
                    if let Err(Trouble::Failed(why) | Trouble::Wrong(why)) = contenders::build(entry, case.work) {
                        panic!("{}, {}: {}: {why}", row.name, case.name, entry.name);
                    }
                }
            }
        }
    }
}
