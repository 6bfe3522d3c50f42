//! The thread that empties a stream into connections, one after the other.
//!
//! It takes blocks from the stream's reader and keeps each until the other side says that it has it: the lookback of the reader is
//! the window. When a connection breaks, it goes on with the next one at the byte where the other side is. Beside it, a thread
//! listens to what the other side says.

mod registered;

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use eagre::{Control, ReadBlock, Reader, StreamErrorKind};

use crate::digest::Digest;
use crate::error::NetError;
use crate::frame::Kind;
use crate::greeting::State;
use crate::link::{Broken, Link, TICK};
use crate::pace::Pace;
use crate::rdma::RdmaCosts;
use crate::ring::{self, Out};
use crate::session::Session;
use crate::stop::Stop;

/// The largest piece. It is checked as a whole, and read while it is still in the cache of the processor that checked it.
pub(crate) const PIECE: u64 = 256 << 10;

/// What a stream has carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// The length of the stream, in bytes.
    pub bytes: u64,
    /// The BLAKE3 digest of all of them. Both sides have the same.
    pub digest: [u8; 32],
    /// How often another connection took over.
    pub reconnections: u32,
    /// What RDMA cost on this side, if the stream travelled that way.
    pub rdma: Option<RdmaCosts>,
}

/// A stream on its way out.
pub(crate) struct Sending {
    reader: Reader,
    session: Session,
    own: State,
    /// What has been taken from the stream and is not known to have arrived.
    kept: VecDeque<ReadBlock>,
    /// Up to where blocks have been taken.
    taken: u64,
    /// Whether the stream has been taken to its end.
    ended: bool,
    /// The digest of all bytes up to `digested`.
    digest: Digest,
    digested: u64,
    pace: Option<Arc<Pace>>,
    rdma: Option<RdmaCosts>,
}

impl Sending {
    pub(crate) fn new(reader: Reader, session: Session, own: State) -> Sending {
        let pace = session.options().pace.clone();
        let taken = reader.position();
        let (digest, kept) = (Digest::new(own.digest), VecDeque::new());
        Sending { reader, session, own, kept, taken, ended: false, digest, digested: taken, pace, rdma: None }
    }

    /// Carries the stream to its end. If that fails, so does the stream.
    pub(crate) fn run(mut self) -> Result<Summary, NetError> {
        let carried = self.carry();
        if let Err(error) = &carried {
            self.reader.fail_io(&io::Error::from(error.clone()), &error.to_string());
        }
        carried
    }

    fn carry(&mut self) -> Result<Summary, NetError> {
        let control = self.reader.control();
        loop {
            let next = self.session.next(self.own, &|| control.failure().is_some());
            // A stream that was given up meanwhile has its own reason.
            let (link, there) = next.map_err(|error| control.failure().map_or(error, NetError::from))?;
            let acks = Acks::at(there.received, control.clone());
            let mut way = match self.connect(&link, &there) {
                Ok(way) => way,
                Err(stop) => {
                    end_connection(&link, Some(&stop));
                    match stop {
                        Stop::Broken(broken) => self.session.broke(&broken, false),
                        Stop::Failed { error, .. } | Stop::Cut(error) => return Err(error),
                    }
                    continue;
                }
            };
            let outcome = thread::scope(|scope| {
                let listener = thread::Builder::new().name("eagre-acks".into());
                let spawned = listener.spawn_scoped(scope, || acks.listen(&link));
                if let Err(error) = spawned {
                    return Err(Stop::Failed { error: NetError::no_thread("a stream", &error), tell: true });
                }
                let outcome = match &mut way {
                    None => self.over(&link, &there, &acks),
                    Some(way) => self.through(&link, &there, &acks, way),
                };
                end_connection(&link, outcome.as_ref().err());
                outcome
            });
            if let Some(way) = way {
                self.rdma.get_or_insert_default().add(way.costs());
            }
            if let (Err(Stop::Broken(_)), Some(why)) = (&outcome, acks.gave_up()) {
                let told = Stop::told(self.session.place(), &why);
                let Stop::Failed { error, .. } = told else { continue };
                return Err(error);
            }
            match outcome {
                Ok(()) => {
                    let digest = self.digest.so_far();
                    let reconnections = self.session.reconnections();
                    return Ok(Summary { bytes: self.taken, digest, reconnections, rdma: self.rdma });
                }
                Err(Stop::Broken(broken)) => self.session.broke(&broken, acks.progress(there.received)),
                Err(Stop::Failed { error, .. } | Stop::Cut(error)) => return Err(error),
            }
        }
    }

    /// The way of blocks beside a connection, if they have one.
    fn connect(&self, link: &Link, there: &State) -> Result<Option<Out>, Stop> {
        let Some(rdma) = self.own.rdma else { return Ok(None) };
        let control = self.reader.control();
        let given_up = || control.failure().is_some();
        let way = ring::answer(rdma, (&self.own, there), link, &control, self.session.place(), &given_up);
        // The other side shall hear why.
        way.map(Some).map_err(|stop| control.failure().map_or(stop, Stop::from))
    }

    /// Carries what one connection does.
    fn over(&mut self, link: &Link, there: &State, acks: &Acks) -> Result<(), Stop> {
        link.listens_again();
        self.digest.unless(!there.digest);
        let place = self.session.place().to_owned();
        let mut position = self.start(there, &place)?;
        let piece = self.own.block.min(there.block).min(PIECE);
        let piece = self.pace.as_ref().map_or(piece, |pace| pace.piece(piece));
        let mut said_end = false;
        let control = self.reader.control();
        let given_up = || control.failure().is_some();
        loop {
            if let Some(failure) = control.failure() {
                return Err(failure.into());
            }
            let seen = acks.seen(&place)?;
            self.release(seen);
            if let Some(block) =
                self.kept.iter().find(|block| block.offset() + block.as_slice().len() as u64 > position)
            {
                let within = (position - block.offset()) as usize;
                let length = (block.as_slice().len() - within).min((piece - position % piece) as usize);
                let bytes = &block.as_slice()[within..within + length];
                if let Some(pace) = &self.pace {
                    pace.wait(length as u64, || link.beat().and_then(|()| acks.check()))?;
                }
                // A piece that is sent again has been digested, perhaps in part.
                let fresh = (position + length as u64).saturating_sub(self.digested);
                if fresh > 0 {
                    self.digest.add(&bytes[length - fresh as usize..]);
                    self.digested += fresh;
                }
                acks.may_hear_of(position + length as u64);
                link.send_unless(&given_up, Kind::Data, position, bytes).map_err(|broken| {
                    match (broken, control.failure()) {
                        (Broken::GivenUp, Some(failure)) => Stop::Cut(failure.into()),
                        (broken, _) => Stop::Broken(broken),
                    }
                })?;
                position += length as u64;
            } else if self.ended {
                if !said_end {
                    acks.may_hear_of_the_end();
                    link.send(Kind::End, position, &self.digest.so_far())?;
                    said_end = true;
                }
                if acks.is_done(position) {
                    // The other side may forget the stream.
                    return Ok(link.send(Kind::Done, position, &[])?);
                }
                acks.wait(seen, TICK);
                link.beat()?;
            } else if !self.take(acks, seen)? {
                link.beat()?;
            }
        }
    }

    /// Where the other side is: this one goes on there.
    fn start(&self, there: &State, place: &str) -> Result<u64, Stop> {
        let kept_from = self.kept.front().map_or(self.taken, ReadBlock::offset);
        match (kept_from..=self.taken).contains(&there.received) {
            true => Ok(there.received),
            false => Err(Stop::protocol(place, "the other side is where this one cannot go on")),
        }
    }

    /// Takes the next block. False if there is none yet, or no room, or more has arrived than was `seen`: if all blocks of the stream
    /// are on their way, the writer waits for those that have arrived.
    fn take(&mut self, acks: &Acks, seen: u64) -> Result<bool, Stop> {
        if !self.reader.wait_unless(TICK, &|| acks.has_more(seen)) {
            return acks.check().map(|()| false).map_err(Stop::from);
        }
        match self.take_now()? {
            true => Ok(true),
            // All blocks that the reader may hold are on their way.
            false => {
                acks.wait(seen, TICK);
                acks.check().map(|()| false).map_err(Stop::from)
            }
        }
    }

    /// Takes the next block, if it is there and the reader may hold another one.
    fn take_now(&mut self) -> Result<bool, Stop> {
        if !self.reader.wait(Duration::ZERO) {
            return Ok(false);
        }
        match self.reader.take() {
            Ok(Some(block)) => {
                self.taken += block.as_slice().len() as u64;
                self.kept.push_back(block);
                Ok(true)
            }
            Ok(None) => {
                self.ended = true;
                Ok(true)
            }
            Err(error) if error.kind() == StreamErrorKind::Busy && !self.kept.is_empty() => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Gives blocks back that have arrived.
    fn release(&mut self, arrived: u64) {
        while self.kept.front().is_some_and(|block| block.offset() + block.as_slice().len() as u64 <= arrived) {
            if let Some(block) = self.kept.pop_front() {
                self.reader.release_block(block);
            }
        }
    }
}

/// Ends a connection as its outcome demands.
pub(crate) fn end_connection(link: &Link, stop: Option<&Stop>) {
    match stop {
        None | Some(Stop::Failed { tell: false, .. }) => link.close(),
        Some(Stop::Failed { error, .. }) => link.abort(&error.to_string()),
        Some(Stop::Broken(_) | Stop::Cut(_)) => {}
    }
    link.cut();
}

/// What the other side has said on one connection.
struct Acks {
    heard: Mutex<Heard>,
    changed: Condvar,
    /// [`Heard::acked`], or [`u64::MAX`] when the connection has ended, for whoever waits for the stream.
    news: AtomicU64,
    stream: Control,
}

struct Heard {
    acked: u64,
    /// Up to where bytes have been sent, or are being sent.
    sent: u64,
    /// Whether the other side has been told, or is being told, that nothing follows.
    ended: bool,
    done: Option<u64>,
    end: Option<Ending>,
}

/// How the other side ended the connection.
enum Ending {
    Broken(Broken),
    GaveUp(String),
}

impl Acks {
    fn at(received: u64, stream: Control) -> Acks {
        Acks {
            heard: Mutex::new(Heard { acked: received, sent: received, ended: false, done: None, end: None }),
            changed: Condvar::new(),
            news: AtomicU64::new(received),
            stream,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Listens until the connection ends.
    fn listen(&self, link: &Link) {
        let ending = loop {
            match self.hear(link) {
                Ok(None) => {}
                Ok(Some(ending)) => break ending,
                Err(broken) => break Ending::Broken(broken),
            }
        };
        self.lock().end = Some(ending);
        self.tell(u64::MAX);
    }

    /// Wakes whoever waits for this.
    fn tell(&self, news: u64) {
        self.news.store(news, SeqCst);
        self.changed.notify_all();
        self.stream.look_again();
    }

    fn hear(&self, link: &Link) -> Result<Option<Ending>, Broken> {
        let header = link.receive_header(false, &|| false)?;
        match header.kind {
            Kind::Beat => Ok(None),
            Kind::Abort => link.receive_text(&header).map(|why| Some(Ending::GaveUp(why))),
            kind => self.heard(kind, header.offset).map(|()| None),
        }
    }

    /// The other side says that it has all bytes up to this one.
    fn heard(&self, kind: Kind, offset: u64) -> Result<(), Broken> {
        let mut heard = self.lock();
        match kind {
            Kind::Ack if (heard.acked..=heard.sent).contains(&offset) => heard.acked = offset,
            Kind::Done if heard.ended && offset == heard.sent => {
                heard.acked = offset;
                heard.done = Some(offset);
            }
            _ => return Err(Broken::Garbled("the other side speaks of bytes that were not sent")),
        }
        drop(heard);
        self.tell(offset);
        Ok(())
    }

    /// Whether more has arrived than was [seen](Acks::seen), or the connection has ended.
    fn has_more(&self, seen: u64) -> bool {
        self.news.load(SeqCst) > seen
    }

    /// Bytes up to this one are about to be sent.
    fn may_hear_of(&self, position: u64) {
        self.lock().sent = position;
    }

    fn may_hear_of_the_end(&self) {
        self.lock().ended = true;
    }

    /// How far the other side has got.
    fn seen(&self, place: &str) -> Result<u64, Stop> {
        let heard = self.lock();
        match &heard.end {
            Some(Ending::GaveUp(why)) => Err(Stop::told(place, why)),
            // What is done is done, even if the connection has ended since.
            Some(Ending::Broken(broken)) if heard.done.is_none() => Err(broken.clone().into()),
            _ => Ok(heard.acked),
        }
    }

    /// Why the other side gave up, if it did.
    fn gave_up(&self) -> Option<String> {
        match &self.lock().end {
            Some(Ending::GaveUp(why)) => Some(why.clone()),
            _ => None,
        }
    }

    /// Whether the connection lives.
    fn check(&self) -> Result<(), Broken> {
        match &self.lock().end {
            Some(Ending::Broken(broken)) => Err(broken.clone()),
            _ => Ok(()),
        }
    }

    fn is_done(&self, length: u64) -> bool {
        self.lock().done == Some(length)
    }

    /// Whether anything arrived on this connection.
    fn progress(&self, from: u64) -> bool {
        self.lock().acked > from
    }

    /// Waits until more has arrived than was [seen](Acks::seen), or all has, or the connection has ended.
    fn wait(&self, seen: u64, limit: Duration) {
        let nothing = |heard: &mut Heard| heard.end.is_none() && heard.done.is_none() && heard.acked <= seen;
        drop(self.changed.wait_timeout_while(self.lock(), limit, nothing));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    /// Whoever waits does so for what has not been seen, not for what comes next: that may never come.
    #[test]
    fn what_has_arrived_meanwhile_is_not_waited_for() {
        let (_writer, reader) = eagre::Pipe::open().unwrap().split();
        let acks = Acks::at(0, reader.control());
        let (began, for_ever) = (Instant::now(), Duration::from_secs(60));
        let seen = acks.seen("there").unwrap();
        acks.may_hear_of(8);
        acks.heard(Kind::Ack, 8).unwrap();
        assert!(!reader.wait_unless(for_ever, &|| acks.has_more(seen)));
        acks.wait(seen, for_ever);
        thread::scope(|scope| {
            scope.spawn(|| {
                acks.may_hear_of(16);
                acks.heard(Kind::Ack, 16).unwrap();
            });
            assert!(!reader.wait_unless(for_ever, &|| acks.has_more(8)));
        });
        assert!(began.elapsed() < for_ever);
    }

    /// The other side confirms what was sent, and the end if that was.
    #[test]
    fn nothing_is_confirmed_before_it_was_sent() {
        let (_writer, reader) = eagre::Pipe::open().unwrap().split();
        let acks = Acks::at(8, reader.control());
        for (kind, offset) in [(Kind::Ack, 9), (Kind::Ack, 7), (Kind::Done, 8), (Kind::Data, 8)] {
            assert!(matches!(acks.heard(kind, offset), Err(Broken::Garbled(_))), "{kind:?} {offset}");
        }
        acks.may_hear_of_the_end();
        acks.heard(Kind::Done, 8).unwrap();
        assert!(acks.is_done(8));
    }
}
