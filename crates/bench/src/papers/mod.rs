//! Published works that Eagre stands on, as data: their tables and figures, what is known of their numbers, and which rows of
//! the catalogue measure the same here.
//!
//! A *section* is a table or a figure. A number stands here only with its source; where the work's own number is not at hand,
//! the section says so and shows what this machine gives. A *claim* is a ratio (or a figure of its own) that follows from
//! published numbers and that a row can repeat; it is judged like a target, from the same rounds.

mod network;
mod newlines;
mod ruma;
mod vortex;
mod wiscsort;

use crate::catalogue::{Row, Target, row};

/// A published work.
pub(crate) struct Paper {
    /// Its name on the command line and of its page.
    pub name: &'static str,
    /// Its title.
    pub title: &'static str,
    /// Authors, place and year.
    pub cite: &'static str,
    /// Where it can be read.
    pub link: Option<&'static str>,
    /// Where the numbers come from that are ascribed to it here.
    pub numbers: &'static str,
    /// Its tables and figures, in its order.
    pub sections: &'static [Section],
}

/// A table or figure.
pub(crate) struct Section {
    /// Its name in links and on the command line: `table-4`.
    pub name: &'static str,
    /// Its title: `Table 4: producer and consumer`.
    pub title: &'static str,
    /// What was measured, on what, as far as it is known.
    pub asked: &'static str,
    /// The numbers of the work.
    pub published: &'static [Published],
    /// What measures it here.
    pub parts: &'static [Part],
    /// What is known here without a row.
    pub found: Option<&'static str>,
    /// What is not measured here, and why.
    pub without: Option<&'static str>,
    /// What can be compared.
    pub claims: &'static [Claim],
}

/// A table of the work's own numbers.
pub(crate) struct Published {
    /// What it shows, in which unit, and on which machine.
    pub about: &'static str,
    /// Where it stands.
    pub source: &'static str,
    /// The heads of the columns, that of the names first.
    pub columns: &'static [&'static str],
    /// The lines, the names first.
    pub lines: &'static [&'static [&'static str]],
}

/// A row of the catalogue, or some of its cases.
pub(crate) struct Part {
    /// The name of the row.
    pub row: &'static str,
    /// Its cases; all if empty.
    pub cases: &'static [&'static str],
    /// How it is drawn.
    pub plot: Plot,
}

/// How the cases of a part are drawn.
#[derive(Clone, Copy)]
pub(crate) enum Plot {
    /// Bars for each case.
    Bars,
    /// One picture of all cases, one beside the other.
    Beside,
    /// For each case, what everybody read and wrote at which time.
    OverTime,
    /// One picture of all cases, by a number each.
    Curve {
        /// What the number is.
        name: &'static str,
        /// The number of each case, in the order of the cases.
        x: &'static [f64],
        /// Whether equal steps are equal factors.
        logarithmic: bool,
    },
}

/// What follows from published numbers and can be measured here.
pub(crate) struct Claim {
    /// What it is about, in the words of the work.
    pub about: &'static str,
    /// On which machine.
    pub on: &'static str,
    /// The row that repeats it.
    pub row: &'static str,
    /// What is judged: its `must` is the published value. It names a case.
    pub target: Target,
    /// Where the published value is a range, its other end.
    pub up_to: Option<f64>,
    /// Why the outcome differs here, if it does, and what shows that.
    pub cause: Option<&'static str>,
}

impl Section {
    /// A section for which there is no row, with the reason.
    const fn missing(name: &'static str, title: &'static str, asked: &'static str, why: &'static str) -> Section {
        Section { name, title, asked, published: &[], parts: &[], found: None, without: Some(why), claims: &[] }
    }

    /// The rows it names, each once.
    pub(crate) fn rows(&self) -> Vec<&'static Row> {
        let mut rows: Vec<&'static Row> = Vec::new();
        for row in self.parts.iter().filter_map(|part| row(part.row)) {
            if !rows.iter().any(|other| other.name == row.name) {
                rows.push(row);
            }
        }
        rows
    }
}

impl Part {
    const fn bars(row: &'static str) -> Part {
        Part { row, cases: &[], plot: Plot::Bars }
    }

    const fn beside(row: &'static str) -> Part {
        Part { row, cases: &[], plot: Plot::Beside }
    }

    const fn over_time(row: &'static str, cases: &'static [&'static str]) -> Part {
        Part { row, cases, plot: Plot::OverTime }
    }

    const fn curve(row: &'static str, cases: &'static [&'static str], name: &'static str, x: &'static [f64]) -> Part {
        Part { row, cases, plot: Plot::Curve { name, x, logarithmic: true } }
    }

    const fn of(self, cases: &'static [&'static str]) -> Part {
        Part { cases, ..self }
    }
}

impl Claim {
    const fn new(about: &'static str, on: &'static str, row: &'static str, target: Target) -> Claim {
        Claim { about, on, row, target, up_to: None, cause: None }
    }

    const fn because(self, cause: &'static str) -> Claim {
        Claim { cause: Some(cause), ..self }
    }

    const fn up_to(self, value: f64) -> Claim {
        Claim { up_to: Some(value), ..self }
    }
}

/// All works.
pub(crate) const PAPERS: &[Paper] = &[vortex::PAPER, ruma::PAPER, wiscsort::PAPER, network::PAPER, newlines::PAPER];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn sections() -> impl Iterator<Item = (&'static Paper, &'static Section)> {
        PAPERS.iter().flat_map(|paper| paper.sections.iter().map(move |section| (paper, section)))
    }

    #[test]
    fn every_section_has_rows_of_the_catalogue_or_a_reason() {
        for (paper, section) in sections() {
            let place = format!("{}/{}", paper.name, section.name);
            assert!(!section.parts.is_empty() || section.found.or(section.without).is_some(), "{place}");
            for part in section.parts {
                let row = row(part.row).unwrap_or_else(|| panic!("{place}: {}", part.row));
                for case in part.cases {
                    assert!(row.cases.iter().any(|other| other.name == *case), "{place}: {}, {case}", row.name);
                }
                if let Plot::Curve { x, .. } = part.plot {
                    let cases = if part.cases.is_empty() { row.cases.len() } else { part.cases.len() };
                    assert_eq!(x.len(), cases, "{place}: {}", row.name);
                    assert!(x.windows(2).all(|two| two[0] < two[1]) && x[0] > 0.0, "{place}: {}", row.name);
                }
            }
        }
    }

    #[test]
    fn claims_can_be_judged_by_a_row_that_their_section_shows() {
        for (paper, section) in sections() {
            for claim in section.claims {
                let place = format!("{}/{}: {}", paper.name, section.name, claim.about);
                let row = row(claim.row).unwrap_or_else(|| panic!("{place}: {}", claim.row));
                assert!(section.parts.iter().any(|part| part.row == row.name), "{place}");
                let names = [claim.target.contender].into_iter().chain(claim.target.against.peers().iter().copied());
                for name in names {
                    assert!(row.contenders.iter().any(|entry| entry.name == name), "{place}: {name}");
                }
                let case = claim.target.case.unwrap_or_else(|| panic!("{place}: no case"));
                assert!(row.cases.iter().any(|other| other.name == case), "{place}: {case}");
                assert!(claim.target.must.is_some_and(|value| claim.up_to.is_none_or(|end| end > value)), "{place}");
                assert!(!section.published.is_empty() || !paper.numbers.is_empty(), "{place}: no source");
            }
        }
    }

    #[test]
    fn names_are_unique_and_tables_are_rectangles() {
        let papers: HashSet<_> = PAPERS.iter().map(|paper| paper.name).collect();
        assert_eq!(papers.len(), PAPERS.len());
        let names: HashSet<_> = sections().map(|(paper, section)| (paper.name, section.name)).collect();
        assert_eq!(names.len(), sections().count());
        for (_, section) in sections() {
            assert!(section.name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'), "{}", section.name);
            for table in section.published {
                assert!(table.lines.iter().all(|line| line.len() == table.columns.len()), "{}", section.title);
                assert!(!table.source.is_empty());
            }
        }
    }

    /// What the project promises to show, by number.
    #[test]
    fn no_table_or_figure_is_left_out() {
        for (paper, names) in [
            ("vortex", &["table-2", "table-3", "table-4", "table-5", "table-6", "table-7", "table-8", "table-9"][..]),
            ("vortex", &["table-10", "table-11"]),
            ("ruma", &["figure-5", "figure-6", "figure-8", "figure-10", "figure-11"]),
            ("ruma", &["table-1", "table-2", "table-3", "table-4"]),
            ("wiscsort", &["figure-1", "figure-4", "figure-5", "figure-6", "figure-7", "figure-8", "figure-9"]),
            ("wiscsort", &["figure-10", "figure-11", "table-1"]),
            ("network", &["tcp", "rdma", "lines"]),
            ("newlines", &["ladder", "1brc"]),
        ] {
            for name in names {
                assert!(sections().any(|(p, section)| (p.name, section.name) == (paper, name)), "{paper}/{name}");
            }
        }
    }
}
