//! What a sort did at which time, as `eagre sort --json` tells it.

use serde::{Deserialize, Serialize};

use crate::trouble::Trouble;

/// A time in which a sort was in one phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Span {
    /// The name of the phase.
    pub phase: String,
    /// When it began, in seconds from the beginning of the sort.
    pub start: f64,
    /// How long it took.
    pub seconds: f64,
    /// The bytes read from files.
    pub read: u64,
    /// The bytes written to files.
    pub written: u64,
}

impl Span {
    /// Gigabytes read per second.
    pub(crate) fn reading(&self) -> f64 {
        self.read as f64 / 1e9 / self.seconds.max(1e-9)
    }

    /// Gigabytes written per second.
    pub(crate) fn writing(&self) -> f64 {
        self.written as f64 / 1e9 / self.seconds.max(1e-9)
    }
}

/// The time line in what the command prints.
pub(crate) fn of_json(output: &[u8]) -> Result<Vec<Span>, Trouble> {
    #[derive(Deserialize)]
    struct Report {
        timeline: Vec<Span>,
    }
    let report: Report = serde_json::from_slice(output).map_err(|e| Trouble::failed("eagre sort --json", e))?;
    Ok(report.timeline)
}

/// The phases of a time line, those of one name together, in the order in which they began. A moment in which nothing was read
/// or written is none.
pub(crate) fn phases(timeline: &[Span]) -> Vec<Span> {
    /// In seconds.
    const MOMENT: f64 = 0.001;
    let mut phases: Vec<Span> = Vec::new();
    for span in timeline {
        match phases.iter_mut().find(|phase| phase.phase == span.phase) {
            Some(phase) => {
                phase.seconds += span.seconds;
                phase.read += span.read;
                phase.written += span.written;
            }
            None => phases.push(span.clone()),
        }
    }
    phases.retain(|phase| phase.seconds >= MOMENT || phase.read + phase.written > 0);
    phases
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_are_the_sums_of_their_spans() {
        let json = br#"{"plan": "classic", "timeline": [
            {"start": 0, "phase": "read", "seconds": 1, "read": 3000000000, "written": 0, "threads": 2},
            {"start": 1, "phase": "write runs", "seconds": 2, "read": 0, "written": 2000000000, "threads": 1},
            {"start": 3, "phase": "read", "seconds": 1, "read": 1000000000, "written": 0, "threads": 2},
            {"start": 4, "phase": "sync", "seconds": 0.0001, "read": 0, "written": 0, "threads": 1}]}"#;
        let timeline = of_json(json).unwrap();
        assert_eq!(timeline.len(), 4);
        let phases = phases(&timeline);
        let of = |phase: &Span| (phase.phase.clone(), phase.seconds, phase.reading(), phase.writing());
        assert_eq!(of(&phases[0]), ("read".into(), 2.0, 2.0, 0.0));
        assert_eq!(of(&phases[1]), ("write runs".into(), 2.0, 0.0, 1.0));
        assert_eq!(phases.len(), 2);
        assert!(matches!(of_json(b"{}"), Err(Trouble::Failed(_))));
    }
}
