//! The first messages on a connection: the caller says which stream it wants, the other side where that stream is.
//!
//! The caller sends a [`Hello`], the other side a [`Reply`]. Numbers are little-endian:
//!
//! ```text
//! Hello   0 "EAGRENET"   8 lowest, 9 highest version   10 role   11 resumes   12 length of the name (2)   14 zeros
//!        16 session (16)   32 state (32)   64 round trip, in microseconds (4)   68 zeros   72 XXH3 of all other bytes   80 name
//! Reply   0 "EAGRENET"   8 version   9 status   10 length of the text (2)   12 zeros
//!        16 state (32)   48 zeros   56 XXH3 of all other bytes   64 text
//! state   0 size of a block (4)   4 1: no digest of the whole (1)   5 by RDMA: how (1)   6 zeros   8 window   16 length, or 2^64 - 1   24 how much has been received
//! ```

use std::time::{Duration, Instant};

use xxhash_rust::xxh3::Xxh3;

use crate::error::{NetError, NetErrorKind, one_line, shortened};
use crate::link::{Broken, Link};
use crate::rdma::Rdma;

const MAGIC: [u8; 8] = *b"EAGRENET";
const VERSION: u8 = 1;
const HELLO: usize = 80;
const REPLY: usize = 64;
/// The longest name of a stream, in bytes.
pub(crate) const NAME: usize = 255;
/// The longest text of a reply.
const TEXT: usize = 1024;
/// "The length is not known."
const UNKNOWN: u64 = u64::MAX;

/// What the side that calls does with the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Writes = 1,
    Reads = 2,
}

/// What a side says of its end of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State {
    /// The size of its blocks, in bytes.
    pub(crate) block: u64,
    /// How many bytes it lets be on their way.
    pub(crate) window: u64,
    /// The length, if the writer knows it.
    pub(crate) length: Option<u64>,
    /// How many bytes the reader's side has, checked.
    pub(crate) received: u64,
    /// Whether it wants a digest of the whole stream. There is one if both sides do.
    pub(crate) digest: bool,
    /// How blocks travel, if not over the connection itself. Both sides must want the same.
    pub(crate) rdma: Option<Rdma>,
}

impl State {
    fn write(&self, bytes: &mut [u8]) {
        // Sizes of blocks have at most 31 bits.
        let rdma = self.rdma.map_or(0, Rdma::to_byte);
        let first = self.block | u64::from(!self.digest) << 32 | u64::from(rdma) << 40;
        let numbers = [first, self.window, self.length.unwrap_or(UNKNOWN), self.received];
        for (place, number) in bytes.chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
    }

    fn read(bytes: &[u8]) -> Option<State> {
        let [first, window, length, received] = [0, 8, 16, 24].map(|at| number(bytes, at));
        let (block, undigested) = (first & u64::from(u32::MAX), first >> 32 & 0xFF);
        let rdma = match first >> 40 {
            0 => None,
            byte => Some(Rdma::of_byte(u8::try_from(byte).ok()?)?),
        };
        let length = Some(length).filter(|&length| length != UNKNOWN);
        let state = State { block, window, length, received, digest: undigested == 0, rdma };
        (undigested <= 1 && block.is_power_of_two() && (1 << 12..=1 << 30).contains(&block) && window > 0)
            .then_some(state)
    }
}

/// What the caller wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hello {
    pub(crate) session: [u8; 16],
    pub(crate) role: Role,
    pub(crate) name: String,
    pub(crate) state: State,
    /// The stream has begun on another connection.
    pub(crate) resumes: bool,
    /// How long a round trip takes, as far as the caller knows.
    pub(crate) round_trip: Duration,
}

/// What the other side says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    Welcome(State),
    /// It does not know this stream any more: it has been restarted, or has given up.
    Forgotten,
    /// It does not want it, and says why.
    Refused(String),
    /// Too many wait already; try again.
    Busy,
    /// It speaks another version.
    Version(u8),
}

fn number(bytes: &[u8], at: usize) -> u64 {
    bytes[at..at + 8].try_into().map(u64::from_le_bytes).unwrap_or_default()
}

fn check(parts: &[&[u8]]) -> u64 {
    let mut hash = Xxh3::new();
    parts.iter().for_each(|part| hash.update(part));
    hash.digest()
}

/// Whether this may be the name of a stream.
///
/// # Errors
/// [`NetErrorKind::Setting`].
pub(crate) fn check_name(name: &str) -> Result<(), NetError> {
    if name.is_empty() || name.len() > NAME || name.contains(char::is_control) {
        let text = format_args!(
            "{}: no name of a stream: it has 1 to {NAME} bytes, and no control characters",
            name.escape_debug()
        );
        return Err(NetError::new(NetErrorKind::Setting, text));
    }
    Ok(())
}

impl Hello {
    pub(crate) fn write(&self) -> Vec<u8> {
        let mut bytes = vec![0; HELLO];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&[VERSION, VERSION, self.role as u8, u8::from(self.resumes)]);
        bytes[12..14].copy_from_slice(&(self.name.len() as u16).to_le_bytes());
        bytes[16..32].copy_from_slice(&self.session);
        self.state.write(&mut bytes[32..64]);
        let round_trip = u32::try_from(self.round_trip.as_micros()).unwrap_or(u32::MAX);
        bytes[64..68].copy_from_slice(&round_trip.to_le_bytes());
        let check = check(&[&bytes[..72], self.name.as_bytes()]);
        bytes[72..80].copy_from_slice(&check.to_le_bytes());
        bytes.extend_from_slice(self.name.as_bytes());
        bytes
    }

    /// How long the name is, if this is the beginning of a greeting. `Err`: a greeting of another version.
    fn name_length(fixed: &[u8; HELLO]) -> Result<Option<usize>, ()> {
        if fixed[..8] != MAGIC {
            return Ok(None);
        }
        if !(fixed[8]..=fixed[9]).contains(&VERSION) {
            return Err(());
        }
        let length = usize::from(u16::from_le_bytes([fixed[12], fixed[13]]));
        Ok((1..=NAME).contains(&length).then_some(length))
    }

    fn read(fixed: &[u8; HELLO], name: &[u8]) -> Option<Hello> {
        let role = match fixed[10] {
            1 => Role::Writes,
            2 => Role::Reads,
            _ => return None,
        };
        if check(&[&fixed[..72], name]) != number(fixed, 72) {
            return None;
        }
        let name = std::str::from_utf8(name).ok()?.to_owned();
        check_name(&name).ok()?;
        let mut session = [0; 16];
        session.copy_from_slice(&fixed[16..32]);
        let round_trip = Duration::from_micros(number(fixed, 64) & 0xFFFF_FFFF);
        Some(Hello { session, role, name, state: State::read(&fixed[32..64])?, resumes: fixed[11] == 1, round_trip })
    }

    /// Waits for the greeting of a caller.
    pub(crate) fn receive(link: &Link, deadline: Instant) -> Result<Hello, Broken> {
        let mut fixed = [0; HELLO];
        link.receive(&mut fixed, false, Some(deadline))?;
        let length = match Hello::name_length(&fixed) {
            Ok(Some(length)) => length,
            Ok(None) => return Err(Broken::Garbled("this is no greeting of eagre")),
            Err(()) => {
                Reply::Version(VERSION).send(link)?;
                link.close();
                return Err(Broken::Garbled("the other side speaks another version"));
            }
        };
        let mut name = [0; NAME];
        link.receive(&mut name[..length], false, Some(deadline))?;
        Hello::read(&fixed, &name[..length]).ok_or(Broken::Garbled("this is no greeting of eagre"))
    }
}

impl Reply {
    fn write(&self) -> Vec<u8> {
        let mut bytes = vec![0; REPLY];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8] = VERSION;
        let mut text = "";
        match self {
            Reply::Welcome(state) => state.write(&mut bytes[16..48]),
            Reply::Forgotten => bytes[9] = 1,
            Reply::Refused(why) => {
                (bytes[9], text) = (2, shortened(why, TEXT));
            }
            Reply::Busy => bytes[9] = 3,
            Reply::Version(version) => (bytes[8], bytes[9]) = (*version, 4),
        }
        bytes[10..12].copy_from_slice(&(text.len() as u16).to_le_bytes());
        let check = check(&[&bytes[..56], text.as_bytes()]);
        bytes[56..64].copy_from_slice(&check.to_le_bytes());
        bytes.extend_from_slice(text.as_bytes());
        bytes
    }

    pub(crate) fn send(&self, link: &Link) -> Result<(), Broken> {
        link.send_raw(&self.write(), &[])
    }

    /// How long the text is, if this is the beginning of a reply.
    fn text_length(fixed: &[u8; REPLY]) -> Option<usize> {
        let length = usize::from(u16::from_le_bytes([fixed[10], fixed[11]]));
        (fixed[..8] == MAGIC && length <= TEXT).then_some(length)
    }

    fn read(fixed: &[u8; REPLY], text: &[u8]) -> Option<Reply> {
        if check(&[&fixed[..56], text]) != number(fixed, 56) {
            return None;
        }
        Some(match fixed[9] {
            0 if fixed[8] == VERSION => Reply::Welcome(State::read(&fixed[16..48])?),
            1 => Reply::Forgotten,
            2 => Reply::Refused(one_line(text)),
            3 => Reply::Busy,
            4 => Reply::Version(fixed[8]),
            _ => return None,
        })
    }

    /// Waits for the reply.
    pub(crate) fn receive(link: &Link, deadline: Instant) -> Result<Reply, Broken> {
        let garbled = || Broken::Garbled("what answers there is not eagre, or the two sides are not equally secure");
        let mut fixed = [0; REPLY];
        link.receive(&mut fixed, false, Some(deadline))?;
        let length = Reply::text_length(&fixed).ok_or_else(garbled)?;
        let mut text = vec![0; length];
        link.receive(&mut text, false, Some(deadline))?;
        Reply::read(&fixed, &text).ok_or_else(garbled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rdma::RdmaProvider;

    fn hello() -> Hello {
        let state = State { block: 1 << 20, window: 16 << 20, length: Some(7), received: 3, digest: true, rdma: None };
        Hello {
            session: [9; 16],
            role: Role::Reads,
            name: "näme".into(),
            state,
            resumes: true,
            round_trip: Duration::from_micros(77),
        }
    }

    fn read_hello(bytes: &[u8]) -> Option<Hello> {
        let fixed = bytes[..HELLO].try_into().unwrap();
        let length = Hello::name_length(&fixed).ok()??;
        Hello::read(&fixed, bytes.get(HELLO..HELLO + length)?)
    }

    fn read_reply(bytes: &[u8]) -> Option<Reply> {
        let fixed = bytes[..REPLY].try_into().unwrap();
        Reply::read(&fixed, bytes.get(REPLY..REPLY + Reply::text_length(&fixed)?)?)
    }

    #[test]
    fn greetings_survive_the_wire_and_changes_do_not() {
        let bytes = hello().write();
        assert_eq!(read_hello(&bytes), Some(hello()));
        for bit in 0..8 * bytes.len() {
            let mut wrong = bytes.clone();
            wrong[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(read_hello(&wrong), None, "bit {bit}");
        }
        for reply in [
            Reply::Welcome(State { length: None, ..hello().state }),
            Reply::Welcome(State { digest: false, ..hello().state }),
            Reply::Welcome(State { rdma: Some(Rdma::new(RdmaProvider::Shm).checks(false)), ..hello().state }),
            Reply::Forgotten,
            Reply::Refused("no".into()),
            Reply::Busy,
            Reply::Version(1),
        ] {
            let bytes = reply.write();
            assert_eq!(read_reply(&bytes), Some(reply.clone()));
            for bit in 0..8 * bytes.len() {
                let mut wrong = bytes.clone();
                wrong[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(read_reply(&wrong), None, "{reply:?}: bit {bit}");
            }
        }
    }

    #[test]
    fn impossible_states_and_names_are_refused() {
        for block in [0, 3, 1 << 40] {
            let hello = Hello { state: State { block, ..hello().state }, ..hello() };
            assert_eq!(read_hello(&hello.write()), None);
        }
        for name in ["", "a\nb", &"x".repeat(256)] {
            assert!(check_name(name).is_err());
            assert_eq!(read_hello(&Hello { name: name.to_owned(), ..hello() }.write()), None);
        }
        assert_eq!(Reply::Refused("é".repeat(2000)).write().len(), REPLY + TEXT);
        let mut other = hello().write();
        (other[8], other[9]) = (2, 5);
        assert_eq!(Hello::name_length(&other[..HELLO].try_into().unwrap()), Err(()));
    }
}
