//! The way in by RDMA: the other side writes into the blocks of the stream, as far as they are granted to it.

use std::ops::Range;
use std::time::{Duration, Instant};

use eagre::{StreamError, StreamErrorKind};
use eagre_fabric::{Arrival, Inlet};

use super::Receiving;
use crate::frame::{self, DIGEST, Kind};
use crate::greeting::State;
use crate::link::{Broken, Link};
use crate::rdma::Rdma;
use crate::ring::{self, In};
use crate::sending::end_connection;
use crate::stop::Stop;

/// How often this side looks at the connection.
const LOOK: Duration = Duration::from_millis(100);
/// How long to wait for a piece while the stream may get room.
const MOMENT: Duration = Duration::from_millis(1);
/// How long the other side may take to say why it went, or that the stream ends with what has come.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// What one connection has brought so far.
struct Progress {
    /// Up to where the other side may write.
    granted: u64,
    /// How much the other side knows to be here.
    told: u64,
    /// A short piece is the last one.
    short: bool,
    /// What the other side has said of the end.
    end: Option<(u64, [u8; DIGEST])>,
    looked: Instant,
    /// When something came last.
    heard: Instant,
}

/// How far the other side's grants are.
enum Granting {
    /// It has all that it may.
    Done,
    /// The stream has no room for more.
    Full,
    /// Nothing can be said to it at this moment.
    NotNow,
}

impl Receiving {
    /// Takes what comes by RDMA, as long as the connection beside it lives, and ends both.
    pub(super) fn through(&mut self, rdma: Rdma, link: &Link, there: &State) -> Result<(), Stop> {
        let mut way = None;
        let outcome = self.come_in(rdma, link, there, &mut way);
        // Before the other way ends: who sees that end must be able to hear why.
        end_connection(link, outcome.as_ref().err());
        if let Some(way) = way {
            self.rdma.get_or_insert_default().add(way.costs());
        }
        outcome
    }

    fn come_in(&mut self, rdma: Rdma, link: &Link, there: &State, way: &mut Option<In>) -> Result<(), Stop> {
        let place = self.session.place().to_owned();
        let control = self.writer.control();
        let given_up = || self.failure(there).is_some();
        let opened = ring::offer(rdma, (&self.own, there), link, &control, &place, &given_up);
        let opened = opened.map_err(|stop| match self.failure(there) {
            // The other side shall hear why.
            Some(failure) => failure.into(),
            None => self.last_words(stop, link, &place),
        })?;
        let way = way.insert(opened);
        way.inlet.begin_at(self.received);
        self.take_pieces(way, link, there, &place)?;
        // Until the other side knows that it has been heard to the end.
        loop {
            let header = link.receive_header(true, &|| false)?;
            match header.kind {
                Kind::Beat => {}
                Kind::Done if header.offset == self.received => return Ok(()),
                Kind::Abort => return Err(Stop::told(&place, &link.receive_text(&header)?)),
                _ => return Err(Stop::protocol(&place, "the other side goes on behind the end")),
            }
        }
    }

    fn take_pieces(&mut self, way: &mut In, link: &Link, there: &State, place: &str) -> Result<(), Stop> {
        link.listens_again();
        self.digest.unless(!there.digest);
        let now = Instant::now();
        let mut progress =
            Progress { granted: self.received, told: self.received, short: false, end: None, looked: now, heard: now };
        loop {
            if progress.looked.elapsed() >= LOOK {
                self.look_at(link, there, &progress, place)?;
                progress.looked = Instant::now();
            }
            let granting = self.grant(way, &mut progress, there).map_err(|stop| self.last_words(stop, link, place))?;
            if progress.told < self.received && way.inlet.acknowledge(self.received)? {
                progress.told = self.received;
            }
            let limit = match granting {
                Granting::Done => LOOK / 2,
                Granting::Full if way.inlet.outstanding() == 0 => Duration::ZERO,
                Granting::Full | Granting::NotNow => MOMENT,
            };
            match way.inlet.next(limit) {
                Ok(Some((arrival, range))) => {
                    progress.heard = Instant::now();
                    self.arrived(way, &mut progress, (arrival, range), there, place)?;
                }
                Ok(None) if limit.is_zero() => {
                    self.writer.wait(LOOK);
                }
                Ok(None) => {}
                Err(error) => return Err(self.last_words(error.into(), link, place)),
            }
            if let Some((length, digest)) = progress.end
                && length == self.received
            {
                return self.compare(&digest, link, place);
            }
        }
    }

    /// Looks at what the connection says, and says that this side lives.
    fn look_at(&self, link: &Link, there: &State, progress: &Progress, place: &str) -> Result<(), Stop> {
        while link.has_news() {
            ring::reason(link, place)?;
        }
        link.beat()?;
        link.check_silence()?;
        if progress.end.is_some() && progress.heard.elapsed() >= self.session.options().silence {
            return Err(Stop::protocol(place, "the stream ended where it does not end"));
        }
        // A reader that has gone may have read everything: then the end is about to come.
        let is_over = |failure: &StreamError| {
            failure.kind() != StreamErrorKind::ReaderGone || progress.heard.elapsed() >= LAST_WORDS
        };
        self.failure(there).filter(is_over).map_or(Ok(()), |failure| Err(failure.into()))
    }

    /// Where the way ended: whether the other side has said why, on the connection.
    fn last_words(&self, stop: Stop, link: &Link, place: &str) -> Stop {
        if !matches!(stop, Stop::Broken(_)) {
            return stop;
        }
        let until = Instant::now() + LAST_WORDS;
        loop {
            match link.receive_header(false, &|| Instant::now() >= until) {
                Ok(header) if header.kind == Kind::Beat => {}
                Ok(header) if header.kind == Kind::Abort => match link.receive_text(&header) {
                    Ok(why) => return Stop::told(place, &why),
                    Err(_) => return stop,
                },
                Ok(_) | Err(_) => return stop,
            }
        }
    }

    /// Grants the other side what there is room for.
    fn grant(&mut self, way: &mut In, progress: &mut Progress, there: &State) -> Result<Granting, Stop> {
        let most = way.route.buffers.unwrap_or(Inlet::MOST).min(Inlet::MOST);
        let block_size = self.own.block;
        while way.inlet.outstanding() < most {
            if self.finished || progress.end.is_some() || there.length.is_some_and(|all| progress.granted >= all) {
                return Ok(Granting::Done);
            }
            let at = progress.granted;
            let index = match self.blocks.iter().position(|block| at < block.offset() + block_size) {
                Some(index) => index,
                None => match self.writer.try_take() {
                    Ok(Some(block)) => {
                        self.blocks.push_back(block);
                        self.blocks.len() - 1
                    }
                    Ok(None) => return Ok(Granting::Full),
                    Err(error) if [StreamErrorKind::Busy, StreamErrorKind::ReaderGone].contains(&error.kind()) => {
                        return Ok(Granting::Full);
                    }
                    Err(error) => return Err(error.into()),
                },
            };
            let (block, piece) = (&mut self.blocks[index], way.route.piece);
            let (start, length) = ((at - block.offset()) as usize, (piece - at % piece) as usize);
            let to = match way.route.buffers {
                // Pieces take turns.
                Some(buffers) => {
                    let number = (at / piece) as usize % buffers;
                    number * piece as usize..number * piece as usize + length
                }
                None => way.route.memory.place_of(&block.as_mut_slice()[start..start + length]),
            };
            if !way.inlet.grant(to, self.received)? {
                return Ok(Granting::NotNow);
            }
            progress.granted += length as u64;
            progress.told = self.received;
        }
        Ok(Granting::Done)
    }

    /// Something has come.
    fn arrived(
        &mut self,
        way: &mut In,
        progress: &mut Progress,
        (arrival, from): (Arrival, Range<usize>),
        there: &State,
        place: &str,
    ) -> Result<(), Stop> {
        let (offset, length, check) = match arrival {
            Arrival::Piece { offset, length, check } => (offset, length, check),
            Arrival::End { length, digest } => {
                if length < self.received || there.length.is_some_and(|all| all != length) {
                    return Err(Stop::protocol(place, "the stream ended where it does not end"));
                }
                progress.end = Some((length, digest));
                return Ok(());
            }
        };
        let whole = way.route.piece - self.received % way.route.piece;
        let fits = offset == self.received
            && length <= whole
            && !progress.short
            && there.length.is_none_or(|all| length <= all.saturating_sub(self.received));
        let Some(mut block) = self.blocks.pop_front().filter(|_| fits) else {
            return Err(Stop::protocol(place, "bytes arrived that do not belong there"));
        };
        progress.short = length < whole;
        let start = (offset - block.offset()) as usize;
        let bytes = &mut block.as_mut_slice()[start..start + length as usize];
        if way.route.buffers.is_some() {
            way.route.memory.copy_out(from.start, bytes);
            way.route.copied += length;
        }
        let right = !way.route.checks || frame::check(Kind::Data, offset, bytes) == check;
        if right {
            self.digest.add(bytes);
            self.received += length;
        }
        match self.received - block.offset() == self.own.block {
            true => self.writer.complete(block),
            false => self.blocks.push_front(block),
        }
        if right { Ok(()) } else { Err(Broken::Garbled("bytes arrived damaged").into()) }
    }
}
