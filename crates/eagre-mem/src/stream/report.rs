//! Reports: touches outside the window, poison, and who waits for whom.

#![forbid(unsafe_code)]

use super::core::Core;
use super::error::Failure;
use super::lifecycle;
use crate::sys::futex;
use crate::sys::report::Line;
use crate::trap::End;
use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::*;
use std::time::Duration;

impl Core {
    /// Says once, in one line, that a pointer was touched outside of its window, and what to do about it.
    pub(crate) fn report_outside(&self, end: End, address: usize) {
        if self.reported.swap(true, SeqCst) {
            return;
        }
        let block = self.config.block.bytes() as u64;
        let Some(offset) = self.offset(end, address) else { return self.report_before(end, address) };
        let flow = self.flow.load();
        let windows = self.flow.windows();
        let (next, behind, word, cure) = match end {
            End::Writer => (
                flow.taken,
                windows.rewrite,
                "write",
                "; memcpy stores its first bytes last when a copy is longer than the window: copy with copy_in, or \
                 widen the window with rewrite(L)",
            ),
            End::Reader => (
                flow.seen,
                windows.lookback,
                "read",
                "; functions that look back read again what they passed: widen the window with lookback(M)",
            ),
        };
        let oldest = next.saturating_sub(u64::from(behind) + 1);
        Line::new()
            .text("eagre: stream ")
            .text(&self.config.name)
            .text(": ")
            .text(word)
            .text(" at offset ")
            .number(offset)
            .text(": outside the window, bytes ")
            .number(oldest * block)
            .text(" to ")
            .number(next * block)
            .text(cure)
            .send();
    }

    /// The byte of the stream at an address. `None`: in front of the first one.
    fn offset(&self, end: End, address: usize) -> Option<u64> {
        let start = self.ranges.as_ref()?.of[end as usize].start();
        address.checked_sub(start).map(|offset| offset as u64)
    }

    fn report_before(&self, end: End, address: usize) {
        let start = self.ranges.as_ref().map_or(0, |ranges| ranges.of[end as usize].start());
        Line::new()
            .text("eagre: stream ")
            .text(&self.config.name)
            .text(if end == End::Writer { ": write " } else { ": read " })
            .number((start - address) as u64)
            .text(" bytes before byte 0; a pointer of a stream has nothing in front of it: look for a negative index")
            .send();
    }

    /// Says once why the next touch is fatal.
    pub(crate) fn report_poison(&self, end: End, address: usize, failure: Failure) {
        if self.reported.swap(true, SeqCst) {
            return;
        }
        Line::new()
            .text("eagre: stream ")
            .text(&self.config.name)
            .text(if end == End::Writer { ": written to after it failed: " } else { ": read after it failed: " })
            .text(super::error::brief(failure.kind))
            .text("; on_failure(Drain) lets the code on the pointer run to its end (offset ")
            .number(self.offset(end, address).unwrap_or(0))
            .text(")")
            .send();
    }

    /// Says once that a pointer was used after both ends were closed.
    pub(crate) fn report_stale(&self, end: End, address: usize) {
        if self.reported.swap(true, SeqCst) {
            return;
        }
        Line::new()
            .text("eagre: stream ")
            .text(&self.config.name)
            .text(if end == End::Writer { ": written to at offset " } else { ": read at offset " })
            .number(self.offset(end, address).unwrap_or(0))
            .text(" after both ends were closed; keep an end as long as its pointer is in use")
            .send();
    }

    /// Says once that a fault which goes on to others was close to the stream's addresses.
    pub(crate) fn report_near_miss(&self, end: End, address: usize) {
        let Some(ranges) = &self.ranges else { return };
        if self.reported_near.swap(true, SeqCst) {
            return;
        }
        let start = ranges.of[end as usize].start();
        let capacity = self.capacity() as usize;
        let (distance, of, cure) = match address < start {
            true => (start - address, " bytes before byte 0 of stream ", "look for a negative index"),
            false => {
                let past = address.saturating_sub(start + capacity);
                (past, " bytes past the capacity of stream ", "open it with a larger capacity")
            }
        };
        Line::new()
            .text("eagre: a fault ")
            .number(distance as u64)
            .text(of)
            .text(&self.config.name)
            .text(" (")
            .number(capacity as u64)
            .text(" bytes) is outside of its addresses and goes on to whoever handles it; if it came of the ")
            .text(if end == End::Writer { "writer" } else { "reader" })
            .text("'s pointer, ")
            .text(cure)
            .send();
    }
}

/// One end of one stream waiting for the other.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Wait {
    /// The stream's name.
    pub stream: String,
    /// The end that waits.
    pub waiting: End,
    /// The block it wants.
    pub block: u64,
    /// For how long.
    pub since: Duration,
    /// Whether the other end waits too (for a pinned block, say), or its handle is gone.
    pub other_waits: bool,
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.waiting {
            End::Writer => "to be released by the reader",
            End::Reader => "to be published by the writer",
        };
        let both = if self.other_waits { "; the other end waits as well" } else { "" };
        write!(
            f,
            "stream {}: the {} has waited {:.1} s for block {} {what}{both}",
            self.stream,
            self.waiting,
            self.since.as_secs_f64(),
            self.block,
        )
    }
}

/// Who else knows of waits: streams whose other end is not in this process.
static OTHERS: OnceLock<fn(&mut Vec<Wait>)> = OnceLock::new();

/// Has `others` add waits to every report from here on.
pub(crate) fn ask_also(others: fn(&mut Vec<Wait>)) {
    let _ = OTHERS.set(others);
}

/// Who waits for whom, in every open stream of this process.
pub fn wait_report() -> Vec<Wait> {
    let now = futex::now();
    let mut waits = Vec::new();
    lifecycle::for_each_open(|core| {
        for end in End::BOTH {
            let side = core.side(end);
            let Some(block) = side.waits_for.load(Relaxed).checked_sub(1) else { continue };
            waits.push(Wait {
                stream: core.config.name.to_string(),
                waiting: end,
                // The writer waits for the block that must come back, the reader for the one it will read.
                block: if end == End::Writer { block.saturating_sub(core.flow.windows().blocks()) } else { block },
                since: Duration::from_nanos(now.saturating_sub(side.waits_since.load(Relaxed))),
                other_waits: core.side(end.peer()).waits_for.load(Relaxed) != 0,
            });
        }
    });
    if let Some(add_others) = OTHERS.get() {
        add_others(&mut waits);
    }
    waits
}

/// Starts the thread that reports long waits, if `EAGRE_WAIT_REPORT` asks for one.
pub(crate) fn start_watching() {
    static WATCH: std::sync::Once = std::sync::Once::new();
    let Some(limit) = crate::options::wait_report() else { return };
    WATCH.call_once(|| {
        let watch = move || {
            loop {
                std::thread::sleep(limit.max(Duration::from_millis(50)));
                for wait in wait_report().into_iter().filter(|wait| wait.since >= limit) {
                    eprintln!("eagre: {wait}");
                }
            }
        };
        // Without the thread there are no reports, which is no reason to refuse the stream.
        let _ = std::thread::Builder::new().name("eagre-watch".into()).stack_size(256 << 10).spawn(watch);
    });
}
