//! One case as a picture: a bar for each contender, whiskers for its interval, rooflines across, and what it used
//! beside it.

use maud::{Markup, html};

use super::scale::{Scale, px, trimmed};
use crate::catalogue::{Cache, Place, Row, Task, Unit, Work};
use crate::figures::{interval, number};
use crate::interval::{self, Estimate};
use crate::outcome::{CaseResult, Standing};

/// Where things are, in the picture's own pixels.
const LABELS: f64 = 150.0;
const BARS: f64 = 430.0;
const VALUES: f64 = 215.0;
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
pub(crate) fn chart(row: &Row, result: &CaseResult) -> Markup {
    let columns = columns(row, result);
    let width = LABELS + BARS + VALUES + COLUMN * columns.len() as f64;
    // What a quick run measured of the memory means as little as its bars.
    let roofs = if result.quick { vec![] } else { roofs(row, result) };
    let ends = |pick: fn(&Estimate) -> f64| result.standings.iter().filter_map(move |s| s.shown.as_ref().map(pick));
    let (top, bottom) = (ends(|e| e.high).fold(0.0, f64::max), ends(|e| e.low).fold(f64::INFINITY, f64::min));
    // A roof far above all bars would squeeze them; it is then left to the words below.
    let near = roofs.iter().map(|roof| roof.1).filter(|value| *value < 3.0 * top).fold(0.0, f64::max);
    let scale = Scale::new(bottom, top.max(near) * 1.02, row.unit.is_time());
    let at = |value: f64| LABELS + BARS * scale.share(value);
    let drawn: Vec<_> = roofs.into_iter().filter(|roof| roof.1 <= scale.top).collect();
    let lanes = lanes(&drawn, at);
    let floor = HEAD + LINE * result.standings.len() as f64;
    let height = floor + SMALL * (1.0 + lanes.iter().max().map_or(0.0, |lane| 1.0 + *lane as f64)) + 6.0;
    let down = |x: f64| format!("M{x:.1} {HEAD}V{floor}");

    html! {
        div.scroll {
            svg viewBox={ "0 0 " (width) " " (height) } style={ "max-width:" (width) "px" } role="img"
                data-contenders=(result.standings.len()) aria-label={ (result.row) ", " (result.case) } {
                (heads(result.unit, &columns))
                @for tick in scale.ticks() {
                    path.grid d=(down(at(tick))) {}
                    text.dim.small.middle x=(px(at(tick))) y=(px(floor + SMALL - 3.0)) { (trimmed(tick)) }
                }
                @for (i, standing) in result.standings.iter().enumerate() {
                    (bar(row, standing, HEAD + LINE * i as f64, at, &columns))
                }
                @for (roof, lane) in drawn.iter().zip(lanes) {
                    path.roof d=(down(at(roof.1))) {}
                    text.roof-name.middle x=(px(at(roof.1))) y=(px(floor + SMALL * (2.0 + lane as f64) - 1.0)) {
                        (label(roof))
                    }
                }
            }
        }
    }
}

/// One contender: its name, bar and whisker, or why it has none, and its columns.
fn bar(row: &Row, standing: &Standing, y: f64, at: impl Fn(f64) -> f64, columns: &[Column]) -> Markup {
    let ours = row.contenders.iter().any(|entry| entry.name == standing.contender && entry.way.is_ours());
    let text = y + BAR;
    let name = html! { text.strong[ours] x="0" y=(text) { (standing.contender) } };
    let Some(shown) = &standing.shown else {
        let why = standing.absent().unwrap_or_else(|| "no result".into());
        let room = ((BARS + VALUES + COLUMN * columns.len() as f64) / LETTER) as usize;
        return html! {
            (name)
            text.dim.absent x=(LABELS) y=(text) { (shortened(&why, room)) title { (why) } }
        };
    };
    let [median, low, high] = [shown.median, shown.low, shown.high].map(at);
    let top = y + (LINE - BAR) / 2.0 - 2.0;
    let (middle, up, down) = (top + BAR / 2.0, top + 3.0, top + BAR - 3.0);
    let whisker = format!("M{low:.1} {middle:.1}H{high:.1}M{low:.1} {up:.1}V{down:.1}M{high:.1} {up:.1}V{down:.1}");
    html! {
        (name)
        rect.bar.ours[ours] x=(LABELS) y=(px(top)) width=(px((median - LABELS).max(1.0))) height=(BAR) rx="2" {
            title { (standing.contender) ": " (interval(shown)) }
        }
        path.whisker d=(whisker) {}
        text.strong[ours] x=(LABELS + BARS + 14.0) y=(text) { (interval(shown)) }
        @for (i, column) in columns.iter().enumerate() {
            @if let Some(value) = interval::estimate((column.values)(standing)) {
                text.end x=(column_end(i)) y=(text) { (number(value.median)) }
            }
        }
    }
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

fn heads(unit: &str, columns: &[Column]) -> Markup {
    html! {
        text.dim.small x=(LABELS + BARS + 14.0) y=(SMALL) { (unit) " [90 %]" }
        @for (i, column) in columns.iter().enumerate() {
            text.dim.small.end x=(column_end(i)) y=(SMALL) { (column.name) }
        }
    }
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
fn lanes(roofs: &[Roof], at: impl Fn(f64) -> f64) -> Vec<usize> {
    let mut ends: Vec<f64> = Vec::new();
    let lane = |roof: &Roof| {
        let half = label(roof).chars().count() as f64 * LETTER / 2.0;
        let x = at(roof.1);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_that_would_cover_each_other_get_lanes() {
        let roof = |value| ("read".to_owned(), value);
        let at = |value| LABELS + BARS * value / 100.0;
        assert_eq!(lanes(&[roof(10.0), roof(11.0), roof(80.0)], at), [0, 1, 0]);
    }

    #[test]
    fn texts_are_cut_to_their_room() {
        assert_eq!(shortened("abcdef", 6), "abcdef");
        assert_eq!(shortened("abcdefg", 6), "abcde…");
    }
}
