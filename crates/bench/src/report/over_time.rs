//! What sorts did at which time: a band for each, with what was read above its line and what was written below.

use maud::{Markup, html};

use super::scale::{Scale, px, trimmed};
use crate::figures::number;
use crate::outcome::{CaseResult, Standing};
use crate::timeline::{Span, phases};

/// Where things are, in the picture's own pixels.
const NAMES: f64 = 125.0;
const PLOT: f64 = 680.0;
/// Half of the label at the end of the axis.
const HALF: f64 = 24.0;
/// The height of a band on each side of its line, and the room between two bands.
const SIDE: f64 = 40.0;
const BETWEEN: f64 = 18.0;
const TOP: f64 = 20.0;
/// A line of text.
const LINE: f64 = 16.0;
/// The width of one letter, on the wide side.
const LETTER: f64 = 6.2;

/// Who told what they did.
pub(crate) fn told(result: &CaseResult) -> Vec<&Standing> {
    result.standings.iter().filter(|standing| !standing.timeline.is_empty()).collect()
}

/// Draws the time lines of `result`, all to the same scales.
pub(crate) fn over_time(result: &CaseResult) -> Markup {
    let told = told(result);
    let spans = || told.iter().flat_map(|standing| &standing.timeline);
    let end = spans().map(|span| span.start + span.seconds).fold(0.0, f64::max);
    let most = spans().map(|span| span.reading().max(span.writing())).fold(0.0, f64::max);
    if most == 0.0 {
        return html! { p.note { "Nobody told what was read and written when." } };
    }
    let seconds = Scale::new(0.0, end, false);
    let x = |time: f64| NAMES + PLOT * seconds.share(time);
    let band = 2.0 * SIDE + BETWEEN;
    let floor = TOP + band * told.len() as f64;
    let (width, height) = (NAMES + PLOT + HALF, floor + 2.2 * LINE);
    html! {
        div.scroll {
            svg viewBox={ "0 0 " (width) " " (height) } style={ "max-width:" (width) "px" } role="img"
                data-contenders="0" aria-label={ (result.row) ", " (result.case) ", over time" } {
                text.dim.small x=(NAMES) y="12" {
                    "Above each line: read; below: written. A band's height is " (number(most)) " GB/s on each side."
                }
                @for tick in seconds.ticks() {
                    path.grid d=(format!("M{:.1} {TOP}V{floor:.1}", x(tick))) {}
                    text.dim.small.middle x=(px(x(tick))) y=(px(floor + LINE)) { (trimmed(tick)) }
                }
                text.dim.small.middle x=(px(NAMES + PLOT / 2.0)) y=(px(floor + 2.0 * LINE)) { "seconds" }
                @for (i, standing) in told.iter().enumerate() {
                    @let middle = TOP + band * i as f64 + SIDE;
                    text.strong x="0" y=(px(middle + 4.0)) { (standing.contender) }
                    @for span in &standing.timeline { (self::span(span, middle, most, x)) }
                    path.base d=(format!("M{NAMES} {middle:.1}H{:.1}", NAMES + PLOT)) {}
                }
            }
        }
    }
}

/// One phase: what was read and written in it, at which rate.
fn span(span: &Span, middle: f64, most: f64, x: impl Fn(f64) -> f64) -> Markup {
    let (left, right) = (x(span.start), x(span.start + span.seconds));
    let wide = (right - left).max(0.5);
    let [up, down] = [span.reading(), span.writing()].map(|rate| SIDE * rate / most);
    let hover = format!(
        "{}: {} s, read {} GB/s, written {} GB/s",
        span.phase,
        number(span.seconds),
        number(span.reading()),
        number(span.writing())
    );
    html! {
        g.span {
            title { (hover) }
            rect.reading x=(px(left)) y=(px(middle - up)) width=(px(wide)) height=(px(up)) {}
            rect.writing x=(px(left)) y=(px(middle)) width=(px(wide)) height=(px(down)) {}
            @if span.phase.chars().count() as f64 * LETTER + 6.0 < wide {
                text.small x=(px(left + 3.0)) y=(px(middle + SIDE + 12.0)) { (span.phase) }
            }
        }
    }
}

/// The phases of everybody, as a table.
pub(crate) fn phase_table(result: &CaseResult) -> Markup {
    html! {
        div.scroll {
            table.sortable {
                thead {
                    tr { th { "contender" } th { "phase" } th.number { "s" } th.number { "read, GB/s" } th.number { "written, GB/s" } }
                }
                tbody {
                    @for standing in told(result) {
                        @for phase in phases(&standing.timeline) {
                            tr {
                                td { (standing.contender) }
                                td { (phase.phase) }
                                @for value in [phase.seconds, phase.reading(), phase.writing()] {
                                    td.number data-value=(value) { (number(value)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
