//! Checks records that are found only from those before them: one piece after the other, by one thread.

use eagre_mem::heap::Refused;

use super::checked::{Checked, Order, Walked, extend, walk};
use crate::records::{Format, Malformed};
use crate::scan::Scan;

/// So much more is tried if a format does not say how long its record is.
const STEP: usize = 64;

/// The question what records a file holds, for pieces that come in order.
pub(super) struct InOrder<'a, F: ?Sized> {
    pub(super) format: &'a F,
    pub(super) order: Order,
    /// The length of the input, if it is known.
    pub(super) length: Option<u64>,
}

/// What is kept from piece to piece.
#[derive(Default)]
pub(super) struct State {
    /// The record that has begun and not ended.
    pub(super) open: Vec<u8>,
    scratch: [Vec<u8>; 2],
}

impl<F: Format + ?Sized> Scan for InOrder<'_, F> {
    type Worker = State;
    type Part = Result<Walked, Refused>;

    fn worker(&self) -> State {
        State::default()
    }

    fn piece(&self, state: &mut State, offset: u64, bytes: &[u8]) -> Result<Walked, Refused> {
        let mut run = Checked::default();
        let mut rest = bytes;
        if !state.open.is_empty() {
            let taken = match self.complete(&mut state.open, offset, bytes)? {
                Open::Ended(taken) => taken,
                Open::Goes => return Ok(Walked { run, malformed: None }),
                Open::Malformed(why) => return Ok(Walked { run, malformed: Some(why) }),
            };
            run = walk(self.format, self.order, &state.open, false, &mut state.scratch)?.run;
            state.open.clear();
            rest = &bytes[taken..];
        }
        let walked = walk(self.format, self.order, rest, false, &mut state.scratch)?;
        let tail = &rest[walked.run.bytes as usize..];
        run.append(self.order, walked.run);
        extend(&mut state.open, tail)?;
        Ok(Walked { run, malformed: walked.malformed })
    }
}

/// What became of a record that had begun.
enum Open {
    /// It ended so many bytes into the piece.
    Ended(usize),
    /// All of the piece is in it.
    Goes,
    Malformed(Malformed),
}

impl<F: Format + ?Sized> InOrder<'_, F> {
    /// Adds bytes of the piece at `offset` to an open record, until that ends.
    fn complete(&self, open: &mut Vec<u8>, offset: u64, bytes: &[u8]) -> Result<Open, Refused> {
        let (before, mut taken) = (open.len(), 0);
        let start = offset - before as u64;
        loop {
            match self.format.length(open, false) {
                Err(why) => return Ok(Open::Malformed(why)),
                Ok(Some(length)) => {
                    open.truncate(length);
                    return Ok(Open::Ended(length - before));
                }
                Ok(None) => {}
            }
            // A record knows its length before all of it is there.
            let wanted = match self.format.length(open, true) {
                Err(Malformed::Truncated { wanted, .. }) => wanted,
                _ => None,
            };
            if let Some((length, wanted)) = self.length.zip(wanted)
                && wanted > length - start
            {
                return Ok(Open::Malformed(Malformed::Truncated { bytes: length - start, wanted: Some(wanted) }));
            }
            let more = wanted.map_or(STEP.max(open.len()), |wanted| {
                usize::try_from(wanted).unwrap_or(usize::MAX).saturating_sub(open.len()).max(1)
            });
            let more = more.min(bytes.len() - taken);
            if more == 0 {
                return Ok(Open::Goes);
            }
            extend(open, &bytes[taken..taken + more])?;
            taken += more;
        }
    }
}
