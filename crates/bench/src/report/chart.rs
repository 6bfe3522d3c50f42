//! One case as a picture: a bar for each contender, whiskers for its interval, rooflines across, and what it used
//! beside it.

use std::fmt::{self, Write};

use super::escape;
use crate::catalogue::{Cache, Place, Row, Task, Unit, Work};
use crate::outcome::{CaseResult, Standing};
use crate::stats;
use crate::text::{interval, number};

/// Where things are, in the picture's own pixels.
const LABELS: f64 = 150.0;
const BARS: f64 = 430.0;
const VALUES: f64 = 165.0;
const COLUMN: f64 = 95.0;
const LINE: f64 = 27.0;
const BAR: f64 = 15.0;
/// Room above the first bar, for the names of columns.
const HEAD: f64 = 24.0;
/// The height of a line of small text.
const SMALL: f64 = 15.0;

/// The width of one letter, on the wide side: what decides whether a text fits.
const LETTER: f64 = 6.9;

/// Draws `result`, a case of `row`.
pub(super) fn chart(out: &mut String, row: &Row, result: &CaseResult) -> fmt::Result {
    let columns = columns(row, result);
    let width = LABELS + BARS + VALUES + COLUMN * columns.len() as f64;
    // What a quick run measured of the memory means as little as its bars.
    let roofs = if result.quick { vec![] } else { roofs(row, result) };
    let ends =
        |pick: fn(&stats::Estimate) -> f64| result.standings.iter().filter_map(move |s| s.shown.as_ref().map(pick));
    let (top, bottom) = (ends(|e| e.high).fold(0.0, f64::max), ends(|e| e.low).fold(f64::INFINITY, f64::min));
    // A roof far above all bars would squeeze them; it is then left to the words below.
    let near = roofs.iter().map(|roof| roof.1).filter(|value| *value < 3.0 * top).fold(0.0, f64::max);
    let scale = Scale::new(bottom, top.max(near) * 1.02, row.unit.is_time());
    let drawn: Vec<_> = roofs.into_iter().filter(|roof| roof.1 <= scale.top).collect();
    let lanes = lanes(&drawn, &scale);
    let floor = HEAD + LINE * result.standings.len() as f64;
    let height = floor + SMALL * (1.0 + lanes.iter().max().map_or(0.0, |lane| 1.0 + *lane as f64)) + 6.0;

    writeln!(
        out,
        "<div class=\"scroll\"><svg viewBox=\"0 0 {width} {height}\" style=\"max-width:{width}px\" role=\"img\" data-contenders=\"{}\" \
         aria-label=\"{}, {}\">",
        result.standings.len(),
        escape(result.row),
        escape(result.case),
    )?;
    heads(out, result.unit, &columns)?;
    for tick in scale.ticks() {
        let x = scale.at(tick);
        writeln!(
            out,
            "<path class=\"grid\" d=\"M{x:.1} {HEAD}V{floor}\"/><text class=\"dim small middle\" x=\"{x:.1}\" \
             y=\"{:.1}\">{}</text>",
            floor + SMALL - 3.0,
            trimmed(tick),
        )?;
    }
    for (i, standing) in result.standings.iter().enumerate() {
        bar(out, row, standing, HEAD + LINE * i as f64, &scale, &columns)?;
    }
    for (roof, lane) in drawn.iter().zip(lanes) {
        let x = scale.at(roof.1);
        writeln!(
            out,
            "<path class=\"roof\" d=\"M{x:.1} {HEAD}V{floor}\"/><text class=\"roof-name middle\" x=\"{x:.1}\" \
             y=\"{:.1}\">{}</text>",
            floor + SMALL * (2.0 + lane as f64) - 1.0,
            label(roof),
        )?;
    }
    out.push_str("</svg></div>\n");
    Ok(())
}

/// One contender: its name, bar and whisker, or why it has none, and its columns.
fn bar(out: &mut String, row: &Row, standing: &Standing, y: f64, scale: &Scale, columns: &[Column]) -> fmt::Result {
    let ours = row.contenders.iter().any(|entry| entry.name == standing.contender && entry.way.is_ours());
    let text = y + BAR;
    let weight = if ours { " class=\"strong\"" } else { "" };
    writeln!(out, "<text{weight} x=\"0\" y=\"{text}\">{}</text>", escape(standing.contender))?;
    let Some(shown) = &standing.shown else {
        let why = standing.absent().unwrap_or_else(|| "no result".into());
        let room = ((BARS + VALUES + COLUMN * columns.len() as f64) / LETTER) as usize;
        return writeln!(
            out,
            "<text class=\"dim absent\" x=\"{LABELS}\" y=\"{text}\">{}<title>{}</title></text>",
            escape(&shortened(&why, room)),
            escape(&why),
        );
    };
    let [median, low, high] = [shown.median, shown.low, shown.high].map(|value| scale.at(value));
    let top = y + (LINE - BAR) / 2.0 - 2.0;
    let (middle, up, down) = (top + BAR / 2.0, top + 3.0, top + BAR - 3.0);
    writeln!(
        out,
        "<rect class=\"bar{}\" x=\"{LABELS}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{BAR}\" rx=\"2\"/>\
         <path class=\"whisker\" d=\"M{low:.1} {middle:.1}H{high:.1}M{low:.1} {up:.1}V{down:.1}M{high:.1} {up:.1}V{down:.1}\"/>\
         <text{weight} x=\"{}\" y=\"{text}\">{}</text>",
        if ours { " ours" } else { "" },
        (median - LABELS).max(1.0),
        LABELS + BARS + 14.0,
        interval(shown),
    )?;
    for (i, column) in columns.iter().enumerate() {
        let Some(value) = stats::estimate((column.values)(standing)) else { continue };
        writeln!(out, "<text class=\"end\" x=\"{}\" y=\"{text}\">{}</text>", column_end(i), number(value.median))?;
    }
    Ok(())
}

/// A column of figures beside the bars.
struct Column {
    name: String,
    values: fn(&Standing) -> &[f64],
}

/// The columns of a row: of work in processes of their own, what they used.
fn columns(row: &Row, result: &CaseResult) -> Vec<Column> {
    if result.standings.iter().all(|standing| standing.memory.is_empty()) {
        return Vec::new();
    }
    vec![
        Column { name: format!("CPU s/{}", row.unit.amount_name()), values: |standing| &standing.processor },
        Column { name: row.unit.memory_column().into(), values: |standing| &standing.memory },
    ]
}

/// Where column `i` ends.
fn column_end(i: usize) -> f64 {
    LABELS + BARS + VALUES + COLUMN * (i + 1) as f64 - 4.0
}

fn heads(out: &mut String, unit: &str, columns: &[Column]) -> fmt::Result {
    let unit_head = format!("{unit} [90 %]");
    writeln!(out, "<text class=\"dim small\" x=\"{}\" y=\"{SMALL}\">{unit_head}</text>", LABELS + BARS + 14.0)?;
    for (i, column) in columns.iter().enumerate() {
        writeln!(out, "<text class=\"dim small end\" x=\"{}\" y=\"{SMALL}\">{}</text>", column_end(i), column.name)?;
    }
    Ok(())
}

/// A line across the bars: what it is, and where.
type Roof = (String, f64);

fn label(roof: &Roof) -> String {
    format!("{} {}", roof.0, number(roof.1))
}

/// The rooflines that mean something for `row`, from left to right.
fn roofs(row: &Row, result: &CaseResult) -> Vec<Roof> {
    let roofline = &result.roofline;
    let work = row.cases.iter().find(|case| case.name == result.case).map(|case| case.work);
    let mut roofs: Vec<(&str, f64)> = match (row.unit, work) {
        (Unit::GigabytesPerSecond, Some(Work::File(job))) => match (job.task, job.cache, job.place) {
            (Task::Copy, _, Place::Memory) => vec![("memory copy", roofline.memory.copy)],
            (_, Cache::Warm, _) if job.threads > 1 => vec![("memory read, 2 threads", roofline.reads(job.threads))],
            (_, Cache::Warm, _) => vec![("memory read", roofline.memory.read)],
            _ => roofline.device.map(|device| ("device read", device)).into_iter().collect(),
        },
        (unit, _) if !unit.has_roofline() => vec![],
        _ => vec![
            ("copy", roofline.memory.copy),
            ("read", roofline.memory.read),
            ("write", roofline.memory.write),
            ("cache write", roofline.cache.write),
        ],
    };
    roofs.sort_by(|a, b| a.1.total_cmp(&b.1));
    roofs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// A lane for each label, so that none covers another.
fn lanes(roofs: &[Roof], scale: &Scale) -> Vec<usize> {
    let mut ends: Vec<f64> = Vec::new();
    let lane = |roof: &Roof| {
        let half = label(roof).chars().count() as f64 * LETTER / 2.0;
        let x = scale.at(roof.1);
        let free = ends.iter().position(|end| *end < x - half).unwrap_or_else(|| {
            ends.push(0.0);
            ends.len() - 1
        });
        ends[free] = x + half;
        free
    };
    roofs.iter().map(lane).collect()
}

/// `text` cut to `room` letters.
fn shortened(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    text.chars().take(room.saturating_sub(1)).chain(['…']).collect()
}

/// A round number as an axis shows it.
pub(super) fn trimmed(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// From a value to a place in the picture.
pub(super) struct Scale {
    bottom: f64,
    pub top: f64,
    logarithmic: bool,
}

impl Scale {
    pub(super) fn new(bottom: f64, top: f64, logarithmic: bool) -> Scale {
        let bottom = if bottom.is_finite() { bottom.max(1e-6) / 2.0 } else { 0.5 };
        Scale { bottom, top: top.max(bottom * 2.0), logarithmic }
    }

    fn at(&self, value: f64) -> f64 {
        let share = if self.logarithmic {
            (value.max(self.bottom) / self.bottom).ln() / (self.top / self.bottom).ln()
        } else {
            value / self.top
        };
        LABELS + BARS * share
    }

    /// Round numbers on the axis.
    pub(super) fn ticks(&self) -> Vec<f64> {
        if self.logarithmic {
            let decades = self.bottom.log10().floor() as i32..=self.top.log10().floor() as i32;
            let few = decades.clone().count() < 3;
            let within: &[f64] = if few { &[1.0, 2.0, 5.0] } else { &[1.0] };
            let ticks = decades.flat_map(|decade| within.iter().map(move |n| n * 10f64.powi(decade)));
            return ticks.filter(|tick| (self.bottom..=self.top).contains(tick)).collect();
        }
        let rough = self.top / 5.0;
        let unit = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|n| n * unit).into_iter().find(|step| *step >= rough).unwrap_or(rough);
        (0..).map(|i| f64::from(i) * step).take_while(|tick| *tick <= self.top).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_start_at_the_labels_and_end_at_the_values() {
        let linear = Scale::new(1.0, 20.0, false);
        assert_eq!(linear.at(0.0), LABELS);
        assert_eq!(linear.at(20.0), LABELS + BARS);
        assert_eq!(linear.ticks(), [0.0, 5.0, 10.0, 15.0, 20.0]);
        let log = Scale::new(2.0, 100.0, true);
        assert_eq!(log.at(1.0), LABELS);
        assert!((log.at(10.0) - LABELS - BARS / 2.0).abs() < 1e-9);
        assert_eq!(log.at(100.0), LABELS + BARS);
        assert_eq!(log.ticks(), [1.0, 10.0, 100.0]);
        assert_eq!(Scale::new(6.0, 60.0, true).ticks(), [5.0, 10.0, 20.0, 50.0]);
    }

    #[test]
    fn labels_that_would_cover_each_other_get_lanes() {
        let scale = Scale::new(1.0, 100.0, false);
        let roof = |value| ("read".to_owned(), value);
        assert_eq!(lanes(&[roof(10.0), roof(11.0), roof(80.0)], &scale), [0, 1, 0]);
    }

    #[test]
    fn texts_are_cut_to_their_room() {
        assert_eq!(shortened("abcdef", 6), "abcdef");
        assert_eq!(shortened("abcdefg", 6), "abcde…");
        assert_eq!((trimmed(0.5), trimmed(20.0), trimmed(0.0)), ("0.5".into(), "20".into(), "0".into()));
    }
}
