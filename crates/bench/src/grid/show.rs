//! The grid as text and as a page.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use maud::{DOCTYPE, PreEscaped, html};

use super::cell::Cell;
use crate::machine::Machine;

/// So many of the worst cells are named.
const WORST: usize = 10;

/// One map: everything of one kind of keys and number of threads.
struct Map<'a> {
    title: String,
    cells: Vec<&'a Cell>,
    sizes: Vec<usize>,
    patterns: Vec<&'static str>,
}

impl Map<'_> {
    fn ratio(&self, pattern: &str, keys: usize) -> Option<f64> {
        self.cells.iter().find(|cell| cell.pattern == pattern && cell.keys == keys).map(|cell| cell.ratio)
    }
}

fn maps(cells: &[Cell]) -> Vec<Map<'_>> {
    let mut maps: Vec<Map<'_>> = Vec::new();
    for cell in cells {
        let title = format!("{}, {} thread{}", cell.kind, cell.threads, if cell.threads == 1 { "" } else { "s" });
        let at = maps.iter().position(|map| map.title == title).unwrap_or_else(|| {
            maps.push(Map { title, cells: vec![], sizes: vec![], patterns: vec![] });
            maps.len() - 1
        });
        let map = &mut maps[at];
        map.cells.push(cell);
        if !map.sizes.contains(&cell.keys) {
            map.sizes.push(cell.keys);
        }
        if !map.patterns.contains(&cell.pattern) {
            map.patterns.push(cell.pattern);
        }
    }
    maps
}

/// The geometric mean of the ratios.
fn mean(cells: &[Cell]) -> f64 {
    (cells.iter().map(|cell| cell.ratio.ln()).sum::<f64>() / cells.len() as f64).exp()
}

/// The worst cells, the worst first.
fn worst(cells: &[Cell]) -> Vec<&Cell> {
    let mut worst: Vec<&Cell> = cells.iter().collect();
    worst.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
    worst.truncate(WORST);
    worst
}

fn size(keys: usize) -> String {
    if keys.is_power_of_two() { format!("2^{}", keys.ilog2()) } else { keys.to_string() }
}

fn headline(cells: &[Cell], seed: u64) -> String {
    let below = |limit: f64| cells.iter().filter(|cell| cell.ratio < limit).count();
    format!(
        "{} cells, seed {seed}: geometric mean {:.2}, worst {:.2}; {} below 1.00, {} below 0.95, {} below 0.90",
        cells.len(),
        mean(cells),
        worst(cells).first().map_or(1.0, |cell| cell.ratio),
        below(1.0),
        below(0.95),
        below(0.9)
    )
}

/// All maps, the worst cells and the mean.
pub(super) fn text(cells: &[Cell], seed: u64) -> String {
    let mut text = String::from("speed of eagre divided by that of the best peer\n");
    for map in maps(cells) {
        text += &format!("\n{:16}", map.title);
        map.sizes.iter().for_each(|&keys| text += &format!("{:>6}", size(keys)));
        for &pattern in &map.patterns {
            text += &format!("\n  {pattern:14}");
            for &keys in &map.sizes {
                text += &map.ratio(pattern, keys).map_or("      ".into(), |ratio| format!("{ratio:6.2}"));
            }
        }
        text.push('\n');
    }
    text += "\nworst cells             keys  threads  eagre, best peer in ns a key\n";
    for cell in worst(cells) {
        text += &format!(
            "{:5.2} {:8} {:14} {:>5} {:>2} {:8.2} {:8.2} {} ({} rounds)\n",
            cell.ratio,
            cell.kind,
            cell.pattern,
            size(cell.keys),
            cell.threads,
            cell.own,
            cell.best,
            cell.peer,
            cell.rounds
        );
    }
    text + &headline(cells, seed) + "\n"
}

const STYLE: PreEscaped<&str> = PreEscaped(
    "body{font:14px system-ui,sans-serif;margin:2em;color-scheme:light dark}
     table{border-collapse:collapse;display:inline-table;margin:0 2em 2em 0}
     th{font-weight:normal;text-align:left;padding:1px 8px}td{text-align:right;padding:1px 6px;color:#000}
     caption{text-align:left;font-weight:600;padding:4px 8px}",
);

/// From red at a half by white at one to blue at twice the speed.
fn colour(ratio: f64) -> String {
    let depth = (ratio.log2().abs().min(1.0) * 45.0).round();
    format!("background:hsl({} 80% {}%)", if ratio < 1.0 { 8 } else { 212 }, 97.0 - depth)
}

/// Writes `grid.html` below `directory`; its path.
pub(super) fn page(directory: &Path, cells: &[Cell], seed: u64) -> io::Result<PathBuf> {
    fs::create_dir_all(directory)?;
    let path = directory.join("grid.html");
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                title { "eagre-bench sort-grid" }
                style { (STYLE) }
            }
            body {
                h1 { "Sorting: Eagre beside the best peer of each cell" }
                p { (Machine::here().line()) }
                p { (headline(cells, seed)) }
                p { "Speed of Eagre divided by that of the best peer: blue is faster, red slower." }
                @for map in maps(cells) {
                    table {
                        caption { (map.title) }
                        tr { th {} @for &keys in &map.sizes { th { (size(keys)) } } }
                        @for &pattern in &map.patterns {
                            tr {
                                th { (pattern) }
                                @for &keys in &map.sizes {
                                    @if let Some(ratio) = map.ratio(pattern, keys) {
                                        td style=(colour(ratio)) { (format!("{ratio:.2}")) }
                                    } @else { td {} }
                                }
                            }
                        }
                    }
                }
            }
        }
    };
    fs::write(&path, page.into_string())?;
    Ok(path)
}
