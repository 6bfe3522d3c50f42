//! Which runs to merge if there are more than can be merged at once.

use std::ops::Range;

/// Chooses runs for the merges before the last one.
///
/// A merge takes as few runs as are needed for the rest to be merged at once. They are neighbours, and the longer run takes
/// their place: so records with equal keys keep their order. The next merge takes the next ones, so no record is
/// merged more often than others by more than once.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Passes {
    /// Runs before this one are longer.
    at: usize,
}

impl Passes {
    /// Which of `runs` runs to replace by one. `None` if all can be merged at once.
    pub(super) fn next(&mut self, runs: usize, at_once: usize) -> Option<Range<usize>> {
        let at_once = at_once.max(2);
        if runs <= at_once {
            return None;
        }
        let take = (runs - at_once + 1).min(at_once);
        if self.at + take > runs {
            self.at = 0;
        }
        self.at += 1;
        Some(self.at - 1..self.at - 1 + take)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_merged_until_all_fit() {
        for (runs, at_once) in [(0, 2), (1, 2), (2, 2), (3, 2), (9, 2), (10, 3), (100, 7), (129, 128), (1000, 128)] {
            // How often the records of each run were merged, and which first runs they hold.
            let mut all: Vec<(Range<usize>, u32)> = (0..runs).map(|run| (run..run + 1, 0)).collect();
            let mut passes = Passes::default();
            while let Some(group) = passes.next(all.len(), at_once) {
                assert!((2..=at_once).contains(&group.len()) && group.end <= all.len());
                let merged = &all[group.clone()];
                assert!(merged.windows(2).all(|two| two[0].0.end == two[1].0.start));
                let whole = merged[0].0.start..merged[merged.len() - 1].0.end;
                let times = merged.iter().map(|run| run.1).max().unwrap() + 1;
                all.splice(group, [(whole, times)]);
            }
            assert!(all.len() <= at_once && all.iter().map(|run| run.0.len()).sum::<usize>() == runs);
            let least = (runs.max(1) as f64).log(at_once as f64).ceil() as u32;
            let most = all.iter().map(|run| run.1 + 1).max().unwrap_or(0);
            assert!(most <= least + 1, "{runs} runs, {at_once} at once: {most} times");
        }
    }
}
