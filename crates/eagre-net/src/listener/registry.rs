//! Who has called, who waits for a call, and which streams are open.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::net::{SendFlags, send};

use crate::error::{NetError, NetErrorKind};
use crate::greeting::{Hello, Reply, Role};
use crate::link::Link;
use crate::session::Slot;

/// How many callers are greeted at once, and how many may wait for their stream.
const GREETED: usize = 64;
const WAITING: usize = 256;

/// What somebody here waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) name: String,
    pub(super) role: Role,
}

impl Wanted {
    fn is(&self, hello: &Hello) -> bool {
        self.role == hello.role && self.name == hello.name
    }
}

/// A caller that waits for its stream.
pub(super) struct Caller {
    pub(super) hello: Hello,
    pub(super) link: Arc<Link>,
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller").field("name", &self.hello.name).field("peer", &self.link.peer()).finish()
    }
}

/// All that a listener and its threads share.
pub(super) struct Registry {
    state: Mutex<State>,
    changed: Condvar,
    /// Wakes the thread that accepts.
    bell: UnixStream,
}

#[derive(Default)]
struct State {
    closed: bool,
    /// Streams that are open, by their sessions.
    open: HashMap<[u8; 16], Arc<Slot>>,
    callers: VecDeque<Caller>,
    wanted: Vec<Wanted>,
    /// Connections that are being greeted, with a number each; the oldest first.
    greeted: VecDeque<(u64, TcpStream)>,
    next: u64,
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.lock();
        f.debug_struct("Registry").field("open", &state.open.len()).field("callers", &state.callers).finish()
    }
}

impl Registry {
    pub(super) fn new(bell: UnixStream) -> Registry {
        Registry { state: Mutex::default(), changed: Condvar::new(), bell }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nobody can open a stream any more.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        let callers = std::mem::take(&mut state.callers);
        drop(state);
        self.changed.notify_all();
        self.ring();
        for caller in callers {
            caller.link.cut();
        }
    }

    fn ring(&self) {
        let _ = send(&self.bell, &[1], SendFlags::NOSIGNAL);
    }

    /// Whether connections may still be of use.
    pub(super) fn is_needed(&self) -> bool {
        let state = self.lock();
        !state.closed || !state.open.is_empty()
    }

    pub(super) fn begin_greeting(&self, caller: TcpStream) -> u64 {
        let mut state = self.lock();
        let number = state.next;
        state.next += 1;
        state.greeted.push_back((number, caller));
        if state.greeted.len() > GREETED
            && let Some((_, slowest)) = state.greeted.pop_front()
        {
            let _ = slowest.shutdown(Shutdown::Both);
        }
        number
    }

    pub(super) fn end_greeting(&self, number: u64) {
        self.lock().greeted.retain(|(other, _)| *other != number);
    }

    /// A caller has greeted.
    pub(super) fn arrive(&self, hello: Hello, link: Arc<Link>) {
        let mut state = self.lock();
        if let Some(slot) = state.open.get(&hello.session).cloned() {
            drop(state);
            return slot.put(link, &hello);
        }
        // A caller that calls again has given its last call up.
        state.callers.retain(|caller| caller.hello.session != hello.session);
        let answer = if state.closed || hello.resumes {
            Reply::Forgotten
        } else if state.callers.len() >= WAITING {
            Reply::Busy
        } else {
            state.callers.push_back(Caller { hello, link });
            return self.changed.notify_all();
        };
        drop(state);
        let _ = answer.send(&link);
        link.close();
    }

    /// Waits for a caller: of a wanted stream, or of any that nobody waits for by name and whose name suits.
    pub(super) fn take(
        &self,
        wanted: Option<Wanted>,
        suits: &dyn Fn(&str) -> bool,
        limit: Duration,
    ) -> Result<Option<Caller>, NetError> {
        let deadline = Instant::now() + limit;
        let mut state = self.lock();
        state.wanted.extend(wanted.clone());
        let taken = loop {
            if state.closed {
                break Err(NetError::new(NetErrorKind::Resources, "the listener is closed"));
            }
            let fits = |caller: &Caller| match &wanted {
                Some(wanted) => wanted.is(&caller.hello),
                None => suits(&caller.hello.name) && !state.wanted.iter().any(|wanted| wanted.is(&caller.hello)),
            };
            if let Some(found) = state.callers.iter().position(fits) {
                match state.callers.remove(found) {
                    Some(caller) if caller.link.is_quiet() => break Ok(Some(caller)),
                    // It has gone: it calls again, or not.
                    _ => continue,
                }
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break Ok(None);
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        };
        if let Some(wanted) = wanted
            && let Some(own) = state.wanted.iter().position(|other| *other == wanted)
        {
            state.wanted.swap_remove(own);
        }
        taken
    }

    /// Connections of this session go to `slot`, as long as what this returns lives.
    pub(super) fn enter(self: Arc<Registry>, session: [u8; 16], slot: &Arc<Slot>) -> Entry {
        self.lock().open.insert(session, slot.clone());
        Entry { registry: self, session }
    }
}

/// A stream that is open.
pub(super) struct Entry {
    registry: Arc<Registry>,
    session: [u8; 16],
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.registry.lock().open.remove(&self.session);
        self.registry.ring();
    }
}
