//! Two sides, bytes that tell where they are, and a line between the sides that can be cut.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use eagre_net::{Connector, Identity, Listener, NetworkReader, NetworkWriter, Options, Security};

/// How the sides know each other, by name.
pub(crate) fn securities() -> Vec<(&'static str, Security, Security)> {
    let (one, other) = (Identity::generate().unwrap(), Identity::generate().unwrap());
    let keys = |own: &Identity, peer: &Identity| Security::keys(own, &[peer.fingerprint()]).unwrap();
    let token = || Security::token(b"not a secret, but long enough").unwrap();
    vec![
        ("loopback", Security::loopback(), Security::loopback()),
        ("token", token(), token()),
        ("keys", keys(&one, &other), keys(&other, &one)),
    ]
}

/// Settings under which a test is over soon, and a busy machine is not mistaken for a dead one.
pub(crate) fn patient() -> Options {
    Options::new().retry(Duration::from_secs(60)).silence(Duration::from_secs(30))
}

pub(crate) fn listener(options: &Options) -> (Listener, String) {
    let listener = Listener::bind("127.0.0.1:0", options.clone()).unwrap();
    let address = listener.local_address().to_string();
    (listener, address)
}

/// Opens a stream: its writer on the calling side or the other.
pub(crate) fn open(
    listener: &Listener,
    connector: &Connector,
    calls: bool,
    name: &str,
) -> (NetworkWriter, NetworkReader) {
    thread::scope(|scope| {
        if calls {
            let writer = scope.spawn(|| connector.writer(name).unwrap());
            let reader = listener.reader(name).unwrap();
            (writer.join().unwrap(), reader)
        } else {
            let reader = scope.spawn(|| connector.reader(name).unwrap());
            let writer = listener.writer(name).unwrap();
            (writer, reader.join().unwrap())
        }
    })
}

/// The byte of a stream at `offset`: no two stretches of it are alike.
fn word(index: u64) -> [u8; 8] {
    index.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(23).to_le_bytes()
}

/// The bytes of a stream from `offset` on.
pub(crate) fn expected(offset: u64, length: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(length + 16);
    let mut index = offset / 8;
    while bytes.len() < length + 8 {
        bytes.extend_from_slice(&word(index));
        index += 1;
    }
    let within = (offset % 8) as usize;
    bytes[within..within + length].to_vec()
}

/// Writes `length` bytes by `Write`, in pieces of odd sizes.
pub(crate) fn produce(writer: &mut NetworkWriter, length: u64) -> std::io::Result<()> {
    let mut done = 0;
    while done < length {
        let piece = (100_003 + done % 7919).min(length - done);
        writer.write_all(&expected(done, piece as usize))?;
        done += piece;
    }
    Ok(())
}

/// Reads to the end, and compares. Returns how many bytes there were.
pub(crate) fn consume(reader: &mut NetworkReader) -> std::io::Result<u64> {
    let (mut done, mut bytes) = (0, vec![0; 70_001]);
    loop {
        let read = reader.read(&mut bytes)?;
        if read == 0 {
            return Ok(done);
        }
        assert!(bytes[..read] == expected(done, read)[..], "wrong bytes between {done} and {}", done + read as u64);
        done += read as u64;
    }
}

/// A line to `target` that a test can cut, hold up and disturb.
pub(crate) struct Line {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// Nobody gets through.
    closed: AtomicBool,
    /// Nothing flows, and nothing is cut.
    held: AtomicBool,
    /// The line is cut after so many more bytes; 0: not at all.
    cut_after: AtomicU64,
    /// One bit is turned after so many more bytes; 0: not at all.
    disturb_after: AtomicU64,
    cuts: AtomicU64,
    /// How many connections were made.
    calls: AtomicU64,
    /// How many bytes were carried, in both directions.
    carried: AtomicU64,
    sockets: Mutex<Vec<TcpStream>>,
}

impl Line {
    pub(crate) fn to(target: SocketAddr) -> Line {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let line = Line { address: listener.local_addr().unwrap(), shared: Arc::default() };
        let shared = line.shared.clone();
        thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                if shared.closed.load(SeqCst) {
                    continue;
                }
                let Ok(far) = TcpStream::connect(target) else { continue };
                shared.calls.fetch_add(1, SeqCst);
                let mut sockets = shared.sockets.lock().unwrap();
                for (from, to) in [(&near, &far), (&far, &near)] {
                    sockets.push(from.try_clone().unwrap());
                    let (from, to, shared) = (from.try_clone().unwrap(), to.try_clone().unwrap(), shared.clone());
                    thread::spawn(move || shared.carry(from, to));
                }
            }
        });
        line
    }

    /// Cuts what is connected now.
    pub(crate) fn cut(&self) {
        self.shared.cut();
    }

    /// Cuts what is connected, and lets nobody through.
    pub(crate) fn close(&self) {
        self.shared.closed.store(true, SeqCst);
        self.cut();
    }

    pub(crate) fn open(&self) {
        self.shared.closed.store(false, SeqCst);
    }

    pub(crate) fn hold(&self, held: bool) {
        self.shared.held.store(held, SeqCst);
    }

    pub(crate) fn cut_after(&self, bytes: u64) {
        self.shared.cut_after.store(bytes, SeqCst);
    }

    pub(crate) fn disturb_after(&self, bytes: u64) {
        self.shared.disturb_after.store(bytes, SeqCst);
    }

    /// How many connections were made.
    pub(crate) fn calls(&self) -> u64 {
        self.shared.calls.load(SeqCst)
    }

    /// How many bytes were carried, in both directions.
    pub(crate) fn carried(&self) -> u64 {
        self.shared.carried.load(SeqCst)
    }

    /// How often it was cut by itself.
    pub(crate) fn cuts(&self) -> u64 {
        self.shared.cuts.load(SeqCst)
    }
}

impl Shared {
    fn cut(&self) {
        for socket in self.sockets.lock().unwrap().drain(..) {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    /// Takes `bytes` off a counter. Whether it has come down to zero.
    fn count_down(counter: &AtomicU64, bytes: usize) -> bool {
        let before = counter.load(SeqCst);
        if before == 0 {
            return false;
        }
        counter.store(before.saturating_sub(bytes as u64), SeqCst);
        before <= bytes as u64
    }

    fn carry(&self, mut from: TcpStream, mut to: TcpStream) {
        let mut bytes = vec![0; 32 << 10];
        while let Ok(read) = from.read(&mut bytes) {
            while self.held.load(SeqCst) {
                thread::yield_now();
            }
            if read == 0 {
                let _ = to.shutdown(Shutdown::Write);
                return;
            }
            self.carried.fetch_add(read as u64, SeqCst);
            if Shared::count_down(&self.disturb_after, read) {
                bytes[read / 2] ^= 0x10;
            }
            if Shared::count_down(&self.cut_after, read) {
                let _ = to.write_all(&bytes[..read / 2]);
                self.cuts.fetch_add(1, SeqCst);
                return self.cut();
            }
            if to.write_all(&bytes[..read]).is_err() {
                let _ = from.shutdown(Shutdown::Both);
                return;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
    }
}
