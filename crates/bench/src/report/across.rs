//! All cases of a row in one picture: who is how fast at which size, or on which kind of input.

use maud::{Markup, html};

use super::scale::{Scale, px, trimmed};
use crate::catalogue::{Row, Sorting, Unit, Work};
use crate::figures::interval;
use crate::interval::Estimate;
use crate::outcome::CaseResult;

/// Where things are, in the picture's own pixels.
const LEFT: f64 = 56.0;
const PLOT: f64 = 640.0;
const NAMES: f64 = 150.0;
const TOP: f64 = 24.0;
const DEPTH: f64 = 260.0;
/// A line of text.
const LINE: f64 = 16.0;

/// Contenders have this many colours beside Eagre's.
const COLOURS: usize = 8;

/// Whether there is such a picture of these, the results of `row`.
pub(super) fn has(row: &Row, results: &[&CaseResult]) -> bool {
    row.unit == Unit::MegakeysPerSecond
        && results.len() > 1
        && results.iter().all(|result| !result.quick && result.standings.iter().any(|s| s.shown.is_some()))
}

/// One contender's marks and where they stand.
struct Series<'a> {
    name: &'static str,
    class: String,
    ours: bool,
    /// Where on the axis of cases, the rate there, and the name of the case.
    points: Vec<(f64, Estimate, &'a str)>,
}

/// Whether the label of a case does not cover that of the next.
fn apart_from_next(axis: &Axis, case: usize, cases: usize) -> bool {
    case + 1 == cases || (axis.place(case + 1, cases) - axis.place(case, cases)) * PLOT > 2.0 * LINE
}

/// Where cases lie on the horizontal axis.
#[derive(Clone, Copy)]
pub(crate) enum Axis<'a> {
    /// One beside the other.
    Beside,
    /// By a number each, whose meaning is the name.
    Numbers { name: &'a str, x: &'a [f64], logarithmic: bool },
}

impl Axis<'_> {
    /// The place of a case of so many: 0 is the start of the axis, 1 its end.
    fn place(&self, case: usize, cases: usize) -> f64 {
        match self {
            Axis::Numbers { x: all @ [first, .., last], logarithmic, .. } => {
                let on = |x: f64| if *logarithmic { x.ln() } else { x };
                0.06 + 0.88 * (on(all[case]) - on(*first)) / (on(*last) - on(*first))
            }
            _ => (case as f64 + 0.5) / cases as f64,
        }
    }

    fn name(&self) -> Option<&str> {
        match self {
            Axis::Beside => None,
            Axis::Numbers { name, .. } => Some(name),
        }
    }

    /// What stands below a case.
    fn label(&self, case: usize, result: &CaseResult) -> String {
        match self {
            Axis::Beside => result.case.to_owned(),
            Axis::Numbers { x, .. } => trimmed(x[case]),
        }
    }
}

/// Draws `results`, all of `row`. Times have a logarithmic axis, rates a linear one.
pub(crate) fn draw(row: &Row, results: &[&CaseResult], axis: Axis) -> Markup {
    let shown = || results.iter().flat_map(|result| &result.standings).filter_map(|standing| standing.shown);
    let (top, bottom) =
        (shown().fold(0.0, |top, s| s.high.max(top)), shown().fold(f64::INFINITY, |low, s| s.low.min(low)));
    let scale = Scale::new(bottom, top * 1.02, row.unit.is_time());
    let y = |rate: f64| TOP + DEPTH * (1.0 - scale.share(rate));
    let x = |case: usize| LEFT + PLOT * axis.place(case, results.len());
    let (width, height) = (LEFT + PLOT + NAMES, TOP + DEPTH + 3.0 * LINE);
    let series = series(row, results, x);
    let joined = axis.name().is_some() || ordered(row);
    html! {
        div.scroll {
            svg viewBox={ "0 0 " (width) " " (height) } style={ "max-width:" (width) "px" } role="img"
                data-contenders="0" aria-label={ (row.name) ", all cases" } {
                text.dim.small x="0" y="12" { (row.unit.name()) }
                @for tick in scale.ticks() {
                    path.grid d=(format!("M{LEFT} {:.1}H{}", y(tick), LEFT + PLOT)) {}
                    text.dim.small.end x=(px(LEFT - 6.0)) y=(px(y(tick) + 4.0)) { (trimmed(tick)) }
                }
                @for (case, result) in results.iter().enumerate() {
                    @if apart_from_next(&axis, case, results.len()) {
                        text.dim.small.middle x=(px(x(case))) y=(px(TOP + DEPTH + LINE)) { (axis.label(case, result)) }
                    }
                }
                @if let Some(name) = axis.name() {
                    text.dim.small.middle x=(px(LEFT + PLOT / 2.0)) y=(px(TOP + DEPTH + 2.2 * LINE)) { (name) }
                }
                @for series in &series { (marks(series, joined, y)) }
                (names(&series, y))
            }
        }
    }
}

/// Who has a rate in any case.
fn series<'a>(row: &Row, results: &[&'a CaseResult], x: impl Fn(usize) -> f64) -> Vec<Series<'a>> {
    let mut all = Vec::new();
    let (mut own, mut peers) = (0, 0);
    for entry in row.contenders {
        let points: Vec<_> = results
            .iter()
            .enumerate()
            .filter_map(|(case, result)| Some((x(case), result.standing(entry.name)?.shown?, result.case)))
            .collect();
        if points.is_empty() {
            continue;
        }
        let ours = entry.way.is_ours();
        let class = if ours { format!("ours ours-{}", own % 4) } else { format!("peer-{}", peers % COLOURS) };
        own += usize::from(ours);
        peers += usize::from(!ours);
        all.push(Series { name: entry.name, class, ours, points });
    }
    all
}

/// A dot and a whisker for each case; a line from one to the next where cases are `ordered`.
fn marks(series: &Series, ordered: bool, y: impl Fn(f64) -> f64) -> Markup {
    let line: Vec<_> = series.points.iter().map(|(x, rate, _)| format!("{x:.1} {:.1}", y(rate.median))).collect();
    html! {
        g.series.(series.class) {
            @if ordered { path d={ "M" (line.join("L")) } {} }
            @for (x, rate, case) in &series.points {
                path d=(format!("M{x:.1} {:.1}V{:.1}", y(rate.low), y(rate.high))) {}
                circle cx=(px(*x)) cy=(px(y(rate.median))) r="4" {
                    title { (series.name) ", " (case) ": " (interval(rate)) }
                }
            }
        }
    }
}

/// The names, each beside the end of its series.
fn names(series: &[Series], y: impl Fn(f64) -> f64) -> Markup {
    let end = |series: &Series| series.points.last().map_or(0.0, |(_, rate, _)| y(rate.median));
    let mut ends: Vec<_> = series.iter().map(|series| (end(series), series)).collect();
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let places = apart(&ends.iter().map(|end| end.0).collect::<Vec<_>>());
    let x = LEFT + PLOT + 10.0;
    html! {
        @for ((_, series), at) in ends.into_iter().zip(places) {
            g.series.(series.class) { circle cx=(x) cy=(px(at)) r="4" {} }
            text.strong[series.ours] x=(x + 9.0) y=(px(at + 4.0)) { (series.name) }
        }
    }
}

/// Whether the cases differ in size alone: then a line leads from one to the next.
fn ordered(row: &Row) -> bool {
    let kind = |work| match work {
        Work::Sort(Sorting { keys, pattern, threads, .. }) => Some((keys, pattern, threads)),
        _ => None,
    };
    row.cases.windows(2).all(|two| kind(two[0].work).is_some() && kind(two[0].work) == kind(two[1].work))
}

/// Places for names that belong at `wanted`, in ascending order, a line apart at least and within the picture.
fn apart(wanted: &[f64]) -> Vec<f64> {
    let mut places = wanted.to_vec();
    for i in 1..places.len() {
        places[i] = places[i].max(places[i - 1] + LINE);
    }
    let mut limit = TOP + DEPTH + LINE;
    for place in places.iter_mut().rev() {
        *place = place.min(limit);
        limit = *place - LINE;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_apart_and_within_the_picture() {
        assert_eq!(apart(&[50.0, 100.0]), [50.0, 100.0]);
        assert_eq!(apart(&[50.0, 51.0, 52.0, 90.0]), [50.0, 66.0, 82.0, 98.0]);
        let low = TOP + DEPTH + LINE;
        assert_eq!(apart(&[low - 1.0, low]), [low - LINE, low]);
    }
}
