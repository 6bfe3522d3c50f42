//! All cases of a row in one picture: who is how fast at which size, or on which kind of input.

use std::fmt::{self, Write};

use super::chart::{Scale, trimmed};
use super::escape;
use crate::catalogue::{Row, Sorting, Unit, Work};
use crate::outcome::{CaseResult, Standing};

/// Where things are, in the picture's own pixels.
const LEFT: f64 = 46.0;
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

/// Draws `results`, all of `row`.
pub(super) fn draw(out: &mut String, row: &Row, results: &[&CaseResult]) -> fmt::Result {
    let highs = results.iter().flat_map(|result| &result.standings).filter_map(|s| Some(s.shown?.high));
    let scale = Scale::new(0.0, highs.fold(0.0, f64::max) * 1.02, false);
    let y = |rate: f64| TOP + DEPTH * (1.0 - rate / scale.top);
    let x = |case: usize| LEFT + PLOT * (case as f64 + 0.5) / results.len() as f64;
    let (width, height) = (LEFT + PLOT + NAMES, TOP + DEPTH + 2.0 * LINE);
    writeln!(
        out,
        "<div class=\"scroll\"><svg viewBox=\"0 0 {width} {height}\" style=\"max-width:{width}px\" role=\"img\" \
         data-contenders=\"0\" aria-label=\"{}, all cases\">\n<text class=\"dim small\" x=\"0\" y=\"12\">{}</text>",
        escape(row.name),
        row.unit.name(),
    )?;
    for tick in scale.ticks() {
        let (at, right) = (y(tick), LEFT + PLOT);
        writeln!(
            out,
            "<path class=\"grid\" d=\"M{LEFT} {at:.1}H{right}\"/><text class=\"dim small end\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            LEFT - 6.0,
            at + 4.0,
            trimmed(tick),
        )?;
    }
    for (case, result) in results.iter().enumerate() {
        writeln!(
            out,
            "<text class=\"dim small middle\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            x(case),
            TOP + DEPTH + LINE,
            escape(result.case),
        )?;
    }
    let mut ends = Vec::new();
    let mut peers = 0;
    for entry in row.contenders {
        let points: Vec<_> = results
            .iter()
            .enumerate()
            .filter_map(|(case, result)| Some((x(case), standing(result, entry.name)?.shown?)))
            .collect();
        let Some((_, last)) = points.last() else { continue };
        let class = if entry.way.is_ours() { "ours".to_owned() } else { format!("peer-{}", peers % COLOURS) };
        peers += usize::from(!entry.way.is_ours());
        writeln!(out, "<g class=\"series {class}\">")?;
        if ordered(row) {
            let path: Vec<_> = points.iter().map(|(x, rate)| format!("{x:.1} {:.1}", y(rate.median))).collect();
            writeln!(out, "<path d=\"M{}\"/>", path.join("L"))?;
        }
        for (x, rate) in &points {
            let (middle, low, high) = (y(rate.median), y(rate.low), y(rate.high));
            writeln!(
                out,
                "<path d=\"M{x:.1} {low:.1}V{high:.1}\"/><circle cx=\"{x:.1}\" cy=\"{middle:.1}\" r=\"4\"/>"
            )?;
        }
        out.push_str("</g>\n");
        ends.push((y(last.median), class, entry.name));
    }
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let places = apart(&ends.iter().map(|end| end.0).collect::<Vec<_>>());
    for ((_, class, name), at) in ends.into_iter().zip(places) {
        let x = LEFT + PLOT + 10.0;
        writeln!(
            out,
            "<g class=\"series {class}\"><circle cx=\"{x}\" cy=\"{at:.1}\" r=\"4\"/></g>\
             <text{} x=\"{}\" y=\"{:.1}\">{}</text>",
            if class == "ours" { " class=\"strong\"" } else { "" },
            x + 9.0,
            at + 4.0,
            escape(name),
        )?;
    }
    out.push_str("</svg></div>\n");
    Ok(())
}

fn standing<'a>(result: &'a CaseResult, name: &str) -> Option<&'a Standing> {
    result.standings.iter().find(|standing| standing.contender == name)
}

/// Whether the cases differ in size alone: then a line leads from one to the next.
fn ordered(row: &Row) -> bool {
    let kind = |work| match work {
        Work::Sort(Sorting { keys, pattern, threads, .. }) => Some((keys, pattern, threads)),
        _ => None,
    };
    row.cases.windows(2).all(|two| kind(two[0].work) == kind(two[1].work))
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
