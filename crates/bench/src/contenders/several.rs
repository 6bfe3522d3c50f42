//! Several streams of one kind side by side, each between two threads of its own.

use std::time::Instant;

use crate::catalogue::Way;
use crate::contenders::{Contender, Measured, Trouble, pipe};

/// One contender per stream.
pub(crate) struct Several(Vec<Box<dyn Contender>>);

impl Several {
    /// `streams` contenders that go `way`.
    pub(crate) fn new(way: Way, streams: u32) -> Result<Several, Trouble> {
        (0..streams).map(|_| pipe(way)).collect::<Result<_, _>>().map(Several)
    }
}

impl Contender for Several {
    /// `size` bytes through each; the time is from before the first to after the last.
    fn run(&mut self, size: u64) -> Result<Measured, Trouble> {
        let start = Instant::now();
        let results: Vec<_> = std::thread::scope(|scope| {
            let runs: Vec<_> = self.0.iter_mut().map(|stream| scope.spawn(|| stream.run(size)?.verified())).collect();
            runs.into_iter()
                .map(|run| run.join().unwrap_or_else(|_| Err(Trouble::Failed("a stream panicked".into()))))
                .collect()
        });
        let took = start.elapsed();
        let mut total: Option<Measured> = None;
        for result in results {
            let one = result?;
            total = Some(match total {
                None => Measured { took, ..one },
                Some(sum) => sum.beside(one),
            });
        }
        total.ok_or_else(|| Trouble::Failed("no streams".into()))
    }
}
