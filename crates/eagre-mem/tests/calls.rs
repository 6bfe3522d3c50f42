//! Random calls of the explicit interface, right and wrong ones, on one handle, against a model that foresees every
//! answer: the bytes, how many, `TooLarge`, `Busy`, and the `Deadlock` of a handle that would wait for itself.
//!
//! `EAGRE_SEED=n` starts from another seed; `EAGRE_ROUNDS=n` goes on for longer.
#![cfg(target_os = "linux")]

#[macro_use]
mod common;

use common::{Rng, SMALL, check, put, small};
use eagre_mem::probe::Pair;
use eagre_mem::stream::{Pipe, ReadBlock, StreamErrorKind, WriteBlock};

const BLOCK: u64 = SMALL as u64;

each_pair! {
    fn every_answer_is_foreseen(pair) {
        let number = |name: &str, default: u64| std::env::var(name).ok().map_or(default, |text| text.parse().unwrap());
        let first = number("EAGRE_SEED", 0);
        for seed in first..first + number("EAGRE_ROUNDS", 300) {
            let _failing = Failing(seed, pair);
            Calls::new(pair, seed).run();
        }
    }
}

/// Says which calls these were, if the test fails.
struct Failing(u64, Pair);

impl Drop for Failing {
    fn drop(&mut self) {
        if std::thread::panicking() {
            common::say(&format!("failing: {}: EAGRE_SEED={} EAGRE_ROUNDS=1", self.1, self.0));
        }
    }
}

/// Where a stream is, in blocks.
#[derive(Clone, Copy, Default)]
struct Counters {
    taken: u64,
    published: u64,
    seen: u64,
    released: u64,
}

/// The stream, and the model's view of it in blocks and bytes.
struct Calls {
    pipe: Pipe,
    rng: Rng,
    rewrite: u64,
    lookback: u64,
    most: u64,
    at: Counters,
    end: Option<u64>,
    written: u64,
    read: u64,
    length: Option<u64>,
    writing: Vec<WriteBlock>,
    reading: Vec<ReadBlock>,
    dead: bool,
}

impl Calls {
    fn new(pair: Pair, seed: u64) -> Calls {
        let mut rng = Rng::new(seed);
        let (l, m, n) = (rng.below(4), rng.below(4), rng.below(3) + 1);
        let builder = small(pair).rewrite(l as u32).lookback(m as u32).read_ahead(n as u32).capacity(1 << 26);
        Calls {
            pipe: builder.open().unwrap(),
            rng,
            rewrite: l,
            lookback: m,
            most: l + m + n + 1,
            at: Counters::default(),
            end: None,
            written: 0,
            read: 0,
            length: None,
            writing: Vec::new(),
            reading: Vec::new(),
            dead: false,
        }
    }

    fn run(mut self) {
        for _ in 0..400 {
            match self.rng.below(12) {
                0..=3 if self.length.is_none() => self.reserve(),
                4 if self.length.is_none() => self.take_to_write(),
                5 if self.rng.one_in(12) && self.length.is_none() => self.finish(),
                6..=9 => self.fill(),
                10 => self.take_to_read(),
                _ => self.complete(),
            }
            if self.dead {
                return self.all_is_over();
            }
            if self.length == Some(self.read) {
                return;
            }
            let stats = self.pipe.control().stats();
            assert!(
                stats.held <= self.most && stats.published == self.at.published && stats.released == self.at.released
            );
        }
    }

    /// Whether to leave out a call that would wait for ever, as most of them are: they end the run.
    fn leave_out(&mut self, before: Counters) -> bool {
        let out = self.dead && !self.rng.one_in(100);
        if out {
            (self.at, self.dead) = (before, false);
        }
        out
    }

    /// Whether the writer can have this block, as the protocol says. Both ends are here: waiting is for ever.
    fn writer_gets(&mut self, block: u64) -> bool {
        while block >= self.at.taken {
            self.at.published = self.at.published.max(self.at.taken.saturating_sub(self.rewrite));
            if self.at.taken - self.at.released >= self.most {
                self.dead = true;
                return false;
            }
            self.at.taken += 1;
        }
        true
    }

    /// `None` if the reader would wait for ever, false if the stream ends before this block.
    fn reader_gets(&mut self, block: u64) -> Option<bool> {
        while block >= self.at.seen {
            if self.end.is_some_and(|end| block >= end) {
                return Some(false);
            }
            self.at.released = self.at.released.max(self.at.seen.saturating_sub(self.lookback));
            if self.at.seen >= self.at.published {
                self.dead = true;
                return None;
            }
            self.at.seen += 1;
        }
        Some(true)
    }

    fn reserve(&mut self) {
        let want = self.rng.length(((self.rewrite + 2) * BLOCK) as usize);
        let (first, last) = (self.written / BLOCK, (self.written + want as u64 - 1) / BLOCK);
        let before = self.at;
        let expected = match () {
            () if !self.writing.is_empty() => Some(StreamErrorKind::Busy),
            () if last - first > self.rewrite => Some(StreamErrorKind::TooLarge),
            () if !(first..=last).all(|block| self.writer_gets(block)) => Some(StreamErrorKind::Deadlock),
            () => None,
        };
        if self.leave_out(before) {
            return;
        }
        let writer = self.pipe.writer();
        match writer.reserve(want) {
            Err(error) => assert_eq!(Some(error.kind()), expected),
            Ok(room) => {
                assert_eq!(expected, None);
                assert!(room.len() >= want);
                let now = if self.rng.one_in(2) { want } else { self.rng.below(want as u64 + 1) as usize };
                put(self.written, &mut room[..now]);
                writer.commit(now);
                self.written += now as u64;
                self.at.published = self.at.published.max((self.written / BLOCK).min(self.at.taken));
            }
        }
        assert_eq!(self.pipe.writer().position(), self.written);
    }

    fn take_to_write(&mut self) {
        let out = self.writing.len() as u64;
        let next = self.written / BLOCK + out;
        let before = self.at;
        let expected = match () {
            () if !self.written.is_multiple_of(BLOCK) || out > self.rewrite => Some(StreamErrorKind::Busy),
            () if !self.writer_gets(next) => Some(StreamErrorKind::Deadlock),
            () => None,
        };
        if self.leave_out(before) {
            return;
        }
        match self.pipe.writer().take() {
            Err(error) => assert_eq!(Some(error.kind()), expected),
            Ok(mut block) => {
                assert_eq!((expected, block.offset()), (None, next * BLOCK));
                put(block.offset(), block.as_mut_slice());
                self.writing.push(block);
            }
        }
    }

    /// Gives all blocks back, in any order.
    fn complete(&mut self) {
        if !self.writing.is_empty() {
            while !self.writing.is_empty() {
                let which = self.rng.below(self.writing.len() as u64) as usize;
                let block = self.writing.swap_remove(which);
                self.written += BLOCK;
                self.pipe.writer().complete(block);
            }
            self.at.published = self.at.published.max(self.written / BLOCK);
        }
        while !self.reading.is_empty() {
            let which = self.rng.below(self.reading.len() as u64) as usize;
            let block = self.reading.swap_remove(which);
            check(block.offset(), block.as_slice());
            self.read = self.read.max(block.offset() + block.as_slice().len() as u64);
            self.pipe.reader().release_block(block);
            if self.reading.is_empty() {
                self.at.released = self.at.released.max(self.read.div_ceil(BLOCK));
            }
        }
    }

    fn finish(&mut self) {
        let before = self.at;
        let expected = match () {
            () if !self.writing.is_empty() => Some(StreamErrorKind::Busy),
            () if !self.writer_gets(self.written / BLOCK) => Some(StreamErrorKind::Deadlock),
            () => None,
        };
        if self.leave_out(before) {
            return;
        }
        match self.pipe.writer().finish() {
            Err(error) => assert_eq!(Some(error.kind()), expected),
            Ok(()) => {
                assert_eq!(expected, None);
                self.length = Some(self.written);
                self.end = Some(self.written / BLOCK + 1);
                self.at.published = self.written / BLOCK + 1;
            }
        }
    }

    fn fill(&mut self) {
        let want = self.rng.length(((self.lookback + 2) * BLOCK) as usize) as u64;
        let left = self.length.map_or(u64::MAX, |length| length - self.read);
        let least = want.min(left);
        let (first, last) = (self.read / BLOCK, (self.read + least.max(1) - 1) / BLOCK);
        let before = self.at;
        let expected = match () {
            () if !self.reading.is_empty() => Some(StreamErrorKind::Busy),
            () if least == 0 => None,
            () if last - first > self.lookback => Some(StreamErrorKind::TooLarge),
            () if !(first..=last).all(|block| self.reader_gets(block).is_some()) => Some(StreamErrorKind::Deadlock),
            () => None,
        };
        if self.leave_out(before) {
            return;
        }
        let reader = self.pipe.reader();
        match reader.fill(want as usize) {
            Err(error) => assert_eq!(Some(error.kind()), expected),
            Ok(bytes) => {
                assert_eq!(expected, None);
                assert!(bytes.len() as u64 >= least && bytes.len() as u64 <= left);
                // What lies in a block behind the last byte committed has no meaning, and is not there to be seen yet.
                let there = (bytes.len() as u64).min(self.written - self.read) as usize;
                assert_eq!(there, bytes.len(), "bytes that nobody committed");
                check(self.read, &bytes[..there]);
                let now = if self.rng.one_in(2) { there as u64 } else { self.rng.below(there as u64 + 1) };
                reader.consume(now as usize);
                self.read += now;
                self.at.released = self.at.released.max((self.read / BLOCK).min(self.at.seen));
            }
        }
        assert_eq!(self.pipe.reader().position(), self.read);
    }

    fn take_to_read(&mut self) {
        let out = self.reading.len() as u64;
        let next = self.read / BLOCK + out;
        let before = self.at;
        let expected = match () {
            () if out == 0 && self.length == Some(self.read) => Ok(false),
            () if out > self.lookback || (out == 0 && !self.read.is_multiple_of(BLOCK)) => Err(StreamErrorKind::Busy),
            () if self.length.is_some_and(|length| next * BLOCK >= length) => Ok(false),
            () => self.reader_gets(next).ok_or(StreamErrorKind::Deadlock),
        };
        if self.leave_out(before) {
            return;
        }
        match self.pipe.reader().take() {
            Err(error) => assert_eq!(Err(error.kind()), expected),
            Ok(block) => {
                assert_eq!(Ok(block.is_some()), expected);
                self.reading.extend(block);
            }
        }
    }

    /// After a deadlock every call says so.
    fn all_is_over(mut self) {
        assert_eq!(self.pipe.control().failure().unwrap().kind(), StreamErrorKind::Deadlock);
        assert_eq!(self.pipe.writer().take().unwrap_err().kind(), StreamErrorKind::Deadlock);
        if self.length.is_none() {
            assert_eq!(self.pipe.reader().fill(1).unwrap_err().kind(), StreamErrorKind::Deadlock);
        }
    }
}
