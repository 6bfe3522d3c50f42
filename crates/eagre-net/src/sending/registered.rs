//! The way out by RDMA: blocks are written from where they are into the other side's memory.

use std::collections::VecDeque;
use std::time::Duration;

use eagre::ReadBlock;

use super::{Acks, Sending};
use crate::frame::{self, Kind};
use crate::greeting::State;
use crate::link::{Link, TICK};
use crate::ring::Out;
use crate::stop::Stop;

/// How long to wait for one thing while another one may come as well.
const MOMENT: Duration = Duration::from_millis(1);

impl Sending {
    /// Carries the stream by RDMA, as long as the connection beside it lives.
    pub(super) fn through(&mut self, link: &Link, there: &State, acks: &Acks, way: &mut Out) -> Result<(), Stop> {
        let carried = self.write_out(link, there, acks, way);
        if matches!(carried, Err(Stop::Broken(_))) {
            // The other side may have said why it went, on the connection.
            acks.wait(u64::MAX, TICK);
        }
        carried
    }

    fn write_out(&mut self, link: &Link, there: &State, acks: &Acks, way: &mut Out) -> Result<(), Stop> {
        link.listens_again();
        self.digest.unless(!there.digest);
        let place = self.session.place().to_owned();
        let mut position = self.start(there, &place)?;
        let control = self.reader.control();
        let mut said_end = false;
        // Up to where pieces go whose writes have not ended.
        let mut on_their_way = VecDeque::new();
        let mut written = position;
        loop {
            if let Some(failure) = control.failure() {
                return Err(failure.into());
            }
            let seen = acks.seen(&place)?;
            if !acks.is_done(position) {
                way.outlet.look(Duration::ZERO)?;
            }
            let (posted, done) = way.outlet.posted_and_written();
            while on_their_way.len() as u64 > posted - done {
                written = on_their_way.pop_front().unwrap_or(written);
            }
            if way.outlet.received() > seen {
                acks.heard(Kind::Ack, way.outlet.received())?;
            }
            self.release(seen.min(written));
            if position < self.taken {
                // A buffer is filled again when its write has ended.
                let free = way.route.buffers.is_none_or(|buffers| posted - done < buffers as u64);
                if way.outlet.room().is_some() && free {
                    position = self.post(way, position, link, acks)?;
                    on_their_way.push_back(position);
                } else {
                    way.outlet.look(TICK / 4)?;
                }
                link.beat()?;
            } else if self.ended {
                if !said_end {
                    acks.may_hear_of_the_end();
                    way.outlet.end(position, &self.digest.so_far())?;
                    said_end = true;
                }
                if acks.is_done(position) {
                    // The other side may forget the stream.
                    return Ok(link.send(Kind::Done, position, &[])?);
                }
                acks.wait(seen, MOMENT);
                link.beat()?;
            } else if posted > done || way.outlet.received() < position {
                // What is on its way must be driven, with some providers, and blocks that have arrived are waited for.
                if !self.take_now()? {
                    way.outlet.look(MOMENT)?;
                }
            } else if !self.take(acks, seen)? {
                link.beat()?;
            }
        }
    }
    /// Posts the piece that begins at `position`, and tells where it ends.
    fn post(&mut self, way: &mut Out, position: u64, link: &Link, acks: &Acks) -> Result<u64, Stop> {
        let end_of = |block: &ReadBlock| block.offset() + block.as_slice().len() as u64;
        let Some(block) = self.kept.iter().find(|block| end_of(block) > position) else { return Ok(position) };
        let within = (position - block.offset()) as usize;
        let whole = way.route.piece - position % way.route.piece;
        let length = (block.as_slice().len() - within).min(whole as usize);
        if way.outlet.room().is_some_and(|room| room < length as u64) {
            return Err(Stop::protocol(self.session.place(), "the other side has room for less than a piece"));
        }
        let bytes = &block.as_slice()[within..within + length];
        if let Some(pace) = &self.pace {
            pace.wait(length as u64, || link.beat().and_then(|()| acks.check()))?;
        }
        let end = position + length as u64;
        // A piece that is sent again has been digested, perhaps in part.
        let fresh = end.saturating_sub(self.digested);
        if fresh > 0 {
            self.digest.add(&bytes[length - fresh as usize..]);
            self.digested = end;
        }
        let check = way.route.checks.then(|| frame::check(Kind::Data, position, bytes));
        let from = match way.route.buffers {
            Some(buffers) => {
                let (posted, _) = way.outlet.posted_and_written();
                let start = posted as usize % buffers * way.route.piece as usize;
                way.route.memory.fill(start, bytes);
                way.route.copied += length as u64;
                start..start + length
            }
            None => way.route.memory.place_of(bytes),
        };
        acks.may_hear_of(end);
        way.outlet.post(from, position, check)?;
        Ok(end)
    }
}
