//! A run as one page of HTML that needs nothing beside itself: bars with their intervals, rooflines,
//! targets and verdicts, the machine and the command.

use std::fmt::{self, Write};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::catalogue::{Unit, row};
use crate::load::QUIET;
use crate::outcome::{CaseResult, Run};
use crate::stats::Verdict;
use crate::text::{interval, number};

/// Widths and heights of a chart, in pixels.
const LABELS: f64 = 150.0;
const BARS: f64 = 480.0;
const VALUES: f64 = 170.0;
const LINE: f64 = 24.0;

const STYLE: &str = "body{font:15px/1.45 system-ui,sans-serif;max-width:60em;margin:2em auto;padding:0 1em;\
color:#222;background:#fff}h1{font-size:1.5em}h2{font-size:1.15em;margin:2em 0 .2em}p{margin:.3em 0}\
table{border-collapse:collapse;margin:.6em 0}td,th{padding:.15em .8em .15em 0;text-align:left;\
border-bottom:1px solid #ddd}code{font:13px ui-monospace,monospace}.dim{color:#666}\
.pass{color:#17692c}.fail{color:#b3261e;font-weight:600}.cannot-tell{color:#8a6100}\
svg text{font:12px system-ui,sans-serif;fill:#222}svg .dim{fill:#666}.bar{fill:#3f7cac}\
.whisker{stroke:#10293d;stroke-width:1.5}.roof{stroke:#c0392b;stroke-dasharray:4 3}\
@media(prefers-color-scheme:dark){body{background:#161616;color:#ddd}svg text{fill:#ddd}\
svg .dim,.dim{fill:#999;color:#999}td,th{border-color:#333}.whisker{stroke:#eee}\
.pass{color:#6fcf87}.fail{color:#ff8a80}.cannot-tell{color:#e0b050}}";

/// Writes the page for `run` below `directory`; its path.
pub(crate) fn write(directory: &Path, run: &Run) -> io::Result<PathBuf> {
    fs::create_dir_all(directory)?;
    let path = directory.join("index.html");
    let mut page = String::new();
    compose(&mut page, run).map_err(io::Error::other)?;
    fs::write(&path, page)?;
    Ok(path)
}

fn compose(out: &mut String, run: &Run) -> fmt::Result {
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\">\
         <title>eagre-bench, {date}</title><style>{STYLE}</style></head><body>\n\
         <h1>eagre-bench, {date}</h1>\n<p>{machine}</p>\n<p><code>{command}</code> \
         <span class=\"dim\">version {version}</span></p>\n",
        date = escape(&run.date),
        machine = escape(&run.machine.line()),
        command = escape(&run.command),
        version = escape(run.version),
    )?;
    for result in &run.results {
        section(out, result)?;
    }
    out.push_str(
        "<p class=\"dim\">Bars are medians, whiskers 90 % intervals. Ratios are formed round by \
         round between neighbours; a target passes when the whole interval reaches it, fails when \
         the whole interval misses it. Dashed lines: memory bandwidth in the same run.</p>\n\
         </body></html>\n",
    );
    Ok(())
}

fn section(out: &mut String, result: &CaseResult) -> fmt::Result {
    let about = row(result.row).map_or("", |row| row.about);
    writeln!(
        out,
        "<h2 id=\"{0}\">{0}, {1}</h2>\n<p>{2}</p>\n<p class=\"dim\">{3} pairs; {4}</p>",
        escape(result.row),
        escape(result.case),
        escape(about),
        result.pairs,
        result.unit,
    )?;
    if result.foreign > QUIET {
        let cores = number(result.foreign);
        writeln!(out, "<p class=\"fail\">Noisy: other programs used {cores} cores meanwhile.</p>")?;
    }
    if result.quick {
        return writeln!(out, "<p>Quick: answers only, all of them right.</p>");
    }
    chart(out, result)?;
    targets(out, result)?;
    if row(result.row).is_some_and(|row| row.unit == Unit::Overhead) {
        costs(out, result)?;
    }
    Ok(())
}

/// Bars, whiskers and roofline.
fn chart(out: &mut String, result: &CaseResult) -> fmt::Result {
    let unit = row(result.row).map_or(Unit::GigabytesPerSecond, |row| row.unit);
    let roofs = roofs(result, unit);
    let highs = result.standings.iter().filter_map(|s| s.shown.map(|e| e.high));
    let lows = result.standings.iter().filter_map(|s| s.shown.map(|e| e.low));
    let (top, bottom) = (highs.fold(0.0, f64::max), lows.fold(f64::INFINITY, f64::min));
    // A roof far above all bars would squeeze them; it is then left to the table's words.
    let roof_top = roofs.iter().map(|r| r.1).filter(|r| *r < 3.0 * top).fold(0.0, f64::max);
    let scale = Scale::new(bottom, top.max(roof_top), unit == Unit::MicrosecondsPerMove);
    let height = LINE * result.standings.len() as f64 + 34.0;
    let width = LABELS + BARS + VALUES;
    writeln!(
        out,
        "<svg viewBox=\"0 0 {width} {height}\" width=\"{width}\" role=\"img\" \
         aria-label=\"{}, {}\">",
        escape(result.row),
        escape(result.case)
    )?;
    for (i, standing) in result.standings.iter().enumerate() {
        let y = LINE * i as f64 + 4.0;
        let name = escape(standing.contender);
        writeln!(out, "<text x=\"0\" y=\"{}\">{name}</text>", y + 13.0)?;
        let Some(shown) = &standing.shown else {
            let why = escape(standing.unavailable.as_deref().unwrap_or("no result"));
            writeln!(out, "<text class=\"dim\" x=\"{LABELS}\" y=\"{}\">{why}</text>", y + 13.0)?;
            continue;
        };
        let [median, low, high] = [shown.median, shown.low, shown.high].map(|v| scale.at(v));
        writeln!(
            out,
            "<rect class=\"bar\" x=\"{LABELS}\" y=\"{y}\" width=\"{:.1}\" height=\"17\"/>\
             <path class=\"whisker\" d=\"M{low:.1} {m}H{high:.1}M{low:.1} {a}V{b}M{high:.1} {a}V{b}\"/>\
             <text x=\"{:.1}\" y=\"{}\">{}</text>",
            median - LABELS,
            LABELS + BARS + 8.0,
            y + 13.0,
            interval(shown),
            m = y + 8.5,
            a = y + 4.5,
            b = y + 12.5,
        )?;
    }
    let floor = height - 30.0;
    for (i, (name, value)) in roofs.iter().enumerate() {
        let x = scale.at(*value);
        if x <= LABELS + BARS {
            let y = floor + 12.0 * (i % 2 + 1) as f64;
            writeln!(
                out,
                "<path class=\"roof\" d=\"M{x:.1} 0V{floor}\"/>\
                 <text class=\"dim\" x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{name} {}</text>",
                number(*value)
            )?;
        }
    }
    out.push_str("</svg>\n");
    words(out, result, unit)
}

/// The rooflines in words.
fn words(out: &mut String, result: &CaseResult, unit: Unit) -> fmt::Result {
    if unit == Unit::MicrosecondsPerMove {
        return Ok(());
    }
    let settings: Vec<_> = result
        .roofline
        .settings()
        .iter()
        .map(|(name, b)| {
            let [read, write, copy] = [b.read, b.write, b.copy].map(number);
            format!("{name}: read {read}, write {write}, copy {copy}")
        })
        .collect();
    writeln!(out, "<p class=\"dim\">Roofline, GB/s: {}.</p>", settings.join("; "))
}

/// The lines drawn into a chart of `unit`, from left to right: for times there are none.
fn roofs(result: &CaseResult, unit: Unit) -> Vec<(&'static str, f64)> {
    if unit == Unit::MicrosecondsPerMove {
        return Vec::new();
    }
    let (memory, cache) = (result.roofline.memory, result.roofline.cache);
    let mut roofs =
        vec![("copy", memory.copy), ("read", memory.read), ("write", memory.write), ("cache write", cache.write)];
    roofs.sort_by(|a, b| a.1.total_cmp(&b.1));
    roofs
}

/// From a value to a place on the page.
struct Scale {
    bottom: f64,
    top: f64,
    logarithmic: bool,
}

impl Scale {
    fn new(bottom: f64, top: f64, logarithmic: bool) -> Scale {
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
}

fn targets(out: &mut String, result: &CaseResult) -> fmt::Result {
    if result.outcomes.is_empty() {
        return Ok(());
    }
    out.push_str("<table><tr><th>target</th><th>ratio</th><th>verdict</th><th>aim</th></tr>\n");
    for outcome in &result.outcomes {
        let ratio = outcome.value.as_ref().map_or("not measured".into(), interval);
        writeln!(
            out,
            "<tr><td>{} {}</td><td>{ratio}</td><td>{}</td><td>{}</td></tr>",
            escape(&outcome.subject),
            escape(&outcome.goals),
            mark(outcome.must_verdict),
            mark(outcome.aim_verdict),
        )?;
    }
    out.push_str("</table>\n");
    Ok(())
}

fn mark(verdict: Option<Verdict>) -> String {
    let class = match verdict {
        None => return String::new(),
        Some(Verdict::Pass) => "pass",
        Some(Verdict::Fail) => "fail",
        Some(Verdict::CannotTell) => "cannot-tell",
    };
    let name = verdict.map_or("", Verdict::name);
    format!("<span class=\"{class}\">{name}</span>")
}

/// What the process used, contender by contender.
fn costs(out: &mut String, result: &CaseResult) -> fmt::Result {
    let mut names: Vec<&str> = result.standings.iter().flat_map(|s| s.costs.keys().copied()).collect();
    names.sort_unstable();
    names.dedup();
    out.push_str("<table><tr><th>per GB</th>");
    for standing in &result.standings {
        write!(out, "<th>{}</th>", escape(standing.contender))?;
    }
    out.push_str("</tr>\n");
    for name in names {
        write!(out, "<tr><td>{}</td>", escape(&name.replace('_', " ")))?;
        for standing in &result.standings {
            let value = standing.costs.get(name).map_or(String::new(), |v| number(*v));
            write!(out, "<td>{value}</td>")?;
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</table>\n");
    Ok(())
}

fn escape(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_start_at_the_labels_and_end_at_the_values() {
        let linear = Scale::new(1.0, 20.0, false);
        assert_eq!(linear.at(0.0), LABELS);
        assert_eq!(linear.at(20.0), LABELS + BARS);
        let log = Scale::new(2.0, 100.0, true);
        assert_eq!(log.at(1.0), LABELS);
        assert!((log.at(10.0) - LABELS - BARS / 2.0).abs() < 1e-9);
        assert_eq!(log.at(100.0), LABELS + BARS);
    }

    #[test]
    fn text_cannot_break_the_page() {
        assert_eq!(escape("<a & \"b\">"), "&lt;a &amp; &quot;b&quot;&gt;");
    }
}
