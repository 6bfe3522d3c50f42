//! The thread that fills a stream from connections, one after the other.
//!
//! Each piece goes from the socket into the block where it belongs, is checked there, and becomes the stream's when the block is
//! full. A reader that is slow leaves no block free: then nothing is taken from the connection, and the other side stops when its
//! window is full.

mod registered;

use std::collections::VecDeque;
use std::io;

use eagre::{StreamError, StreamErrorKind, WriteBlock, Writer};

use crate::digest::Digest;
use crate::error::NetError;
use crate::frame::{DIGEST, Header, Kind};
use crate::greeting::State;
use crate::link::{Broken, Link, TICK};
use crate::rdma::RdmaCosts;
use crate::sending::{PIECE, Summary, end_connection};
use crate::session::Session;
use crate::stop::Stop;

/// How much arrives until it is acknowledged, at most.
const ACKNOWLEDGED: u64 = 1 << 20;

/// A stream on its way in.
pub(crate) struct Receiving {
    writer: Writer,
    session: Session,
    own: State,
    /// The blocks that are being filled, in order. By RDMA the other side may write to several.
    blocks: VecDeque<WriteBlock>,
    /// How many bytes have arrived, and are right.
    received: u64,
    acknowledged: u64,
    digest: Digest,
    /// Whether the stream has arrived to its end.
    ended: bool,
    finished: bool,
    rdma: Option<RdmaCosts>,
}

impl Receiving {
    pub(crate) fn new(writer: Writer, session: Session, own: State) -> Receiving {
        let received = writer.position();
        let digest = Digest::new(own.digest);
        Receiving {
            writer,
            session,
            own,
            blocks: VecDeque::new(),
            rdma: None,
            received,
            acknowledged: received,
            digest,
            ended: false,
            finished: false,
        }
    }

    /// Carries the stream to its end. If that fails, so does the stream.
    pub(crate) fn run(mut self) -> Result<Summary, NetError> {
        let carried = self.carry();
        if let Err(error) = &carried {
            self.writer.fail_io(&io::Error::from(error.clone()), &error.to_string());
        }
        carried
    }

    fn carry(&mut self) -> Result<Summary, NetError> {
        let control = self.writer.control();
        loop {
            let own = State { received: self.received, ..self.own };
            let next = self.session.next(own, &|| !self.finished && control.failure().is_some());
            let (link, there) = match next {
                Ok(next) => next,
                // Everything has arrived, and whether the other side knows is not known.
                Err(_) if self.finished => return Ok(self.summary()),
                Err(error) => return Err(control.failure().map_or(error, NetError::from)),
            };
            let before = self.received;
            let outcome = match own.rdma {
                None => self.over(&link, &there),
                Some(rdma) => self.through(rdma, &link, &there),
            };
            match outcome {
                Ok(()) => return Ok(self.summary()),
                Err(Stop::Broken(broken)) => self.session.broke(&broken, self.received > before),
                Err(Stop::Failed { error, .. } | Stop::Cut(error)) => return Err(error),
            }
        }
    }

    fn summary(&self) -> Summary {
        let digest = self.digest.so_far();
        Summary { bytes: self.received, digest, reconnections: self.session.reconnections(), rdma: self.rdma }
    }

    /// Takes what one connection brings, and ends it.
    fn over(&mut self, link: &Link, there: &State) -> Result<(), Stop> {
        let outcome = self.take_from(link, there);
        end_connection(link, outcome.as_ref().err());
        outcome
    }

    /// Takes what one connection brings.
    fn take_from(&mut self, link: &Link, there: &State) -> Result<(), Stop> {
        link.listens_again();
        self.digest.unless(!there.digest);
        let place = self.session.place().to_owned();
        let largest = self.own.block.min(there.block).min(PIECE);
        let every = ACKNOWLEDGED.min(there.window / 4);
        self.acknowledged = self.received;
        loop {
            let header = self.next_header(link, there)?;
            match header.kind {
                Kind::Beat => {}
                Kind::Data => {
                    let length = u64::from(header.length);
                    let fits = header.offset == self.received
                        && length <= largest - self.received % largest
                        && there.length.is_none_or(|all| length <= all.saturating_sub(self.received));
                    if self.ended || !fits {
                        return Err(Stop::protocol(&place, "bytes arrived that do not belong there"));
                    }
                    self.piece(link, &header)?;
                    if self.received - self.acknowledged >= every {
                        link.send(Kind::Ack, self.received, &[])?;
                        self.acknowledged = self.received;
                    }
                }
                Kind::End => self.end(link, &header, there, &place)?,
                Kind::Abort => return Err(Stop::told(&place, &link.receive_text(&header)?)),
                // The other side knows.
                Kind::Done if self.finished && header.offset == self.received => return Ok(()),
                Kind::Offer | Kind::Answer => return Err(Stop::protocol(&place, "the other side wants to use RDMA")),
                Kind::Ack | Kind::Done => {
                    return Err(Stop::protocol(&place, "the other side confirms what it sends itself"));
                }
            }
        }
    }

    /// Why the stream of this side cannot go on, if it cannot. Whoever has read everything may go.
    fn failure(&self, there: &State) -> Option<StreamError> {
        let failure = self.writer.control().failure().filter(|_| !self.finished)?;
        let complete = there.length == Some(self.received);
        (failure.kind() != StreamErrorKind::ReaderGone || !complete).then_some(failure)
    }

    /// Waits for a message, unless the stream is given up.
    fn next_header(&self, link: &Link, there: &State) -> Result<Header, Stop> {
        match link.receive_header(true, &|| self.failure(there).is_some()) {
            Err(Broken::GivenUp) => Err(self.failure(there).map_or(Stop::Broken(Broken::GivenUp), Stop::from)),
            header => Ok(header?),
        }
    }

    /// Receives a piece into its block.
    fn piece(&mut self, link: &Link, header: &Header) -> Result<(), Stop> {
        let mut block = match self.blocks.pop_front() {
            Some(block) => block,
            None => self.next_block(link)?,
        };
        let start = (self.received - block.offset()) as usize;
        let bytes = &mut block.as_mut_slice()[start..start + header.length as usize];
        let arrived = link.receive(bytes, true, None).and_then(|()| match header.fits(bytes) {
            true => Ok(()),
            false => Err(Broken::Garbled("bytes arrived damaged")),
        });
        if arrived.is_ok() {
            self.digest.add(bytes);
            self.received += u64::from(header.length);
        }
        match self.received - block.offset() == self.own.block {
            true => self.writer.complete(block),
            false => self.blocks.push_front(block),
        }
        Ok(arrived?)
    }

    /// Waits until the stream has room for another block.
    fn next_block(&mut self, link: &Link) -> Result<WriteBlock, Stop> {
        while !self.writer.wait(TICK) {
            link.beat()?;
        }
        link.listens_again();
        Ok(self.writer.take()?)
    }

    /// The stream ends.
    fn end(&mut self, link: &Link, header: &Header, there: &State, place: &str) -> Result<(), Stop> {
        let mut digest = [0; DIGEST];
        link.receive(&mut digest, true, None)?;
        if !header.fits(&digest) {
            return Err(Broken::Garbled("a message arrived damaged").into());
        }
        let whole = header.offset == self.received && there.length.is_none_or(|all| all == self.received);
        if !whole {
            return Err(Stop::protocol(place, "the stream ended where it does not end"));
        }
        self.compare(&digest, link, place)
    }

    /// Everything has arrived: if it is what was sent, the other side hears it, and this side's stream ends.
    fn compare(&mut self, digest: &[u8; DIGEST], link: &Link, place: &str) -> Result<(), Stop> {
        if *digest != self.digest.so_far() {
            return Err(Stop::protocol(place, "the digest of the stream is not that of its bytes"));
        }
        self.ended = true;
        link.send(Kind::Done, self.received, &[])?;
        self.finish(link)
    }

    /// Ends this side's stream, if that has not been done on a connection before.
    fn finish(&mut self, link: &Link) -> Result<(), Stop> {
        if self.finished {
            return Ok(());
        }
        if self.blocks.is_empty() {
            // The zero byte behind the end is in another block.
            while !self.writer.wait(TICK) {
                // The other side may have gone: it knows all that it must.
                let _ = link.beat();
            }
        }
        while let Some(block) = self.blocks.pop_back() {
            self.writer.put_back(block);
        }
        match self.writer.finish_at(self.received) {
            Ok(()) => {}
            // Whoever has read everything may go.
            Err(error) if error.kind() == StreamErrorKind::ReaderGone => {}
            Err(error) => return Err(error.into()),
        }
        self.finished = true;
        Ok(())
    }
}
