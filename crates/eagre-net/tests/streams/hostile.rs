//! Callers and listeners that nobody should trust.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use eagre_net::{Connector, Identity, Listener, NetErrorKind, Options, Security};

use crate::common::{consume, listener, open, patient, produce};

fn token(byte: u8) -> Security {
    Security::token(&[byte; 32]).unwrap()
}

#[test]
fn strangers_are_refused_at_once() {
    let keys = |own: &Identity, peer: &Identity| Security::keys(own, &[peer.fingerprint()]).unwrap();
    let (a, b, c) = (Identity::generate().unwrap(), Identity::generate().unwrap(), Identity::generate().unwrap());
    for (here, there) in [
        (token(1), token(2)),
        (keys(&a, &b), keys(&c, &a)), // The listener does not know the caller.
        (keys(&a, &b), keys(&b, &c)), // The caller does not know the listener.
        (token(1), Security::loopback()),
        (Security::loopback(), token(1)),
    ] {
        let (listener, address) = listener(&patient().security(here));
        let connector = Connector::new(&address).unwrap().options(patient().security(there));
        for error in [connector.writer("x").unwrap_err(), connector.reader("x").unwrap_err()] {
            assert_eq!(error.kind(), NetErrorKind::Untrusted, "{error}");
            assert!(error.to_string().contains("same token"), "{error}");
        }
        assert!(listener.accept_within(Duration::ZERO).unwrap().is_none());
    }
}

#[test]
fn off_loopback_a_key_is_needed() {
    let error = Listener::bind("0.0.0.0:0", Options::new()).unwrap_err();
    assert_eq!(error.kind(), NetErrorKind::Setting);
    let error = Connector::new("192.0.2.1").unwrap().writer("x").unwrap_err();
    assert_eq!(error.kind(), NetErrorKind::Setting, "{error}");
    Listener::bind("0.0.0.0:0", Options::new().security(token(1))).unwrap();
    Listener::bind("0.0.0.0:0", Options::new().security(Security::insecure_plain())).unwrap();
}

#[test]
fn garbage_and_silence_disturb_nobody() {
    for security in [Security::loopback(), token(1)] {
        let options = patient().security(security);
        let (listener, address) = listener(&options);
        let target: SocketAddr = address.parse().unwrap();
        // More than are greeted at once say nothing; others talk nonsense.
        let silent: Vec<TcpStream> = (0..80).map_while(|_| TcpStream::connect(target).ok()).collect();
        let mut random = fastrand::Rng::with_seed(7);
        for length in [1, 7, 64, 80, 100_000] {
            let mut garbage: Vec<u8> = (0..length).map(|_| random.u8(..)).collect();
            if length == 100_000 {
                garbage[..8].copy_from_slice(b"EAGRENET");
            }
            let mut caller = TcpStream::connect(target).unwrap();
            let _ = caller.write_all(&garbage);
        }
        let connector = Connector::new(&address).unwrap().options(options);
        let (mut writer, mut reader) = open(&listener, &connector, true, "good");
        thread::scope(|scope| {
            scope.spawn(move || {
                produce(&mut writer, 3_000_000).unwrap();
                writer.finish().unwrap();
            });
            assert_eq!(consume(&mut reader).unwrap(), 3_000_000);
        });
        drop(silent);
    }
}

/// Greets as a caller that writes the stream `x` would.
fn greeting_of_a_writer(caller: &mut TcpStream) {
    greeting(caller, 0);
}

/// The same, with a number that says how blocks travel by RDMA.
fn greeting(caller: &mut TcpStream, rdma: u64) {
    let mut hello = [0_u8; 80];
    hello[..8].copy_from_slice(b"EAGRENET");
    hello[8..11].copy_from_slice(&[1, 1, 1]);
    hello[12] = 1;
    hello[16..32].copy_from_slice(&[5; 16]);
    for (at, number) in [(32, 1_u64 << 20 | rdma << 40), (40, 1 << 24), (48, u64::MAX), (56, 0)] {
        hello[at..at + 8].copy_from_slice(&number.to_le_bytes());
    }
    let check = xxhash_rust::xxh3::xxh3_64(&[&hello[..72], b"x"].concat());
    hello[72..].copy_from_slice(&check.to_le_bytes());
    caller.write_all(&[&hello[..], b"x"].concat()).unwrap();
}

fn message(kind: u8, length: u32, offset: u64, bytes: &[u8]) -> Vec<u8> {
    let mut seed = vec![kind];
    seed.extend_from_slice(&length.to_le_bytes());
    seed.extend_from_slice(&offset.to_le_bytes());
    let check = xxhash_rust::xxh3::xxh3_64_with_seed(bytes, xxhash_rust::xxh3::xxh3_64(&seed));
    let mut message = vec![kind, 0, 0, 0];
    message.extend_from_slice(&length.to_le_bytes());
    message.extend_from_slice(&offset.to_le_bytes());
    message.extend_from_slice(&check.to_le_bytes());
    message.extend_from_slice(&[0; 8]);
    message.extend_from_slice(bytes);
    message
}

#[test]
fn messages_that_do_not_belong_there_end_the_stream() {
    let data = |offset, length: usize| message(1, length as u32, offset, &vec![7; length]);
    for (what, messages) in [
        ("bytes of elsewhere", data(5, 10)),
        ("bytes a second time", [data(0, 10), data(0, 10)].concat()),
        ("a piece that is too large", data(0, (256 << 10) + 1)),
        ("a piece of 4 GiB", message(1, u32::MAX, 0, b"")),
        ("a piece across blocks", [data(0, 10), data(10, 256 << 10)].concat()),
        ("an end that is none", message(2, 32, 9, &[0; 32])),
        ("a wrong digest", message(2, 32, 0, &[0; 32])),
        ("a confirmation", message(3, 0, 0, b"")),
        ("the end of an end", message(4, 0, 0, b"")),
    ] {
        let (listener, address) = listener(&patient());
        let mut caller = TcpStream::connect(&address).unwrap();
        greeting_of_a_writer(&mut caller);
        let mut reader = listener.reader("x").unwrap();
        let mut reply = [0; 64];
        caller.read_exact(&mut reply).unwrap();
        caller.write_all(&messages).unwrap();
        let error = consume_any(&mut reader).unwrap_err().to_string();
        assert!(error.contains("x at 127.0.0.1:"), "{what}: {error}");
        assert_eq!(reader.finish().unwrap_err().kind(), NetErrorKind::Protocol, "{what}");
    }
}

fn consume_any(reader: &mut impl Read) -> std::io::Result<usize> {
    reader.read_to_end(&mut Vec::new())
}

#[test]
fn a_caller_that_gives_up_is_quoted_in_one_line() {
    let (listener, address) = listener(&patient());
    let mut caller = TcpStream::connect(&address).unwrap();
    greeting_of_a_writer(&mut caller);
    let mut reader = listener.reader("x").unwrap();
    caller.read_exact(&mut [0; 64]).unwrap();
    let text = b"two\nlines \x1b[31m\xFF";
    caller.write_all(&message(6, text.len() as u32, 0, text)).unwrap();
    let error = consume_any(&mut reader).unwrap_err().to_string();
    assert!(error.contains("two lines  [31m"), "{error:?}");
}

#[test]
fn what_answers_and_is_not_eagre_is_told() {
    let answers = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = answers.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for mut caller in answers.incoming().map_while(Result::ok) {
            thread::spawn(move || {
                let _ = caller.write_all(&b"HTTP/1.1 400 Bad Request\r\n\r\n".repeat(10));
                let _ = caller.read_to_end(&mut Vec::new());
            });
        }
    });
    for security in [Security::loopback(), token(1)] {
        let error = Connector::new(&address).unwrap().options(patient().security(security)).writer("x").unwrap_err();
        assert_eq!(error.kind(), NetErrorKind::Untrusted, "{error}");
    }
}

#[test]
fn nobody_there_is_an_error_when_the_time_is_up() {
    let unused = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let options = Options::new().retry(Duration::from_millis(300));
    let error = Connector::new(&unused.to_string()).unwrap().options(options.clone()).writer("x").unwrap_err();
    assert_eq!(error.kind(), NetErrorKind::Unreachable);
    // Somebody is there, and does not want this stream.
    let (_listener, address) = listener(&options);
    let error = Connector::new(&address).unwrap().options(options).writer("x").unwrap_err();
    assert!(error.to_string().contains("nobody there asked for the stream x"), "{error}");
}

/// What a writer sends by RDMA is checked: each piece, the whole, and how long that is.
#[test]
fn what_travels_by_rdma_is_checked() {
    use eagre_fabric::{Calling, Fabric, Memory, Offer, Registering};
    use std::time::Instant;

    let fabric = match Fabric::open() {
        Ok(fabric) => fabric,
        Err(error) => return eprintln!("skipped: {error}"),
    };
    // Provider tcp, algorithm copy.
    const RDMA: u64 = 1 | 3 << 2;
    let digest = |bytes: &[u8]| *blake3::hash(bytes).as_bytes();
    let right = u64::from_le_bytes(message(1, 100, 0, &[7; 100])[16..24].try_into().unwrap());
    for (check, length, says, expected) in [
        (right, 100, digest(&[7; 100]), None),
        (right ^ 1, 100, digest(&[7; 100]), Some("bytes arrived damaged")),
        (right, 100, digest(&[8; 100]), Some("digest")),
        (right, 99, digest(&[7; 100]), Some("ended where it does not end")),
        (right, 101, digest(&[7; 100]), Some("ended where it does not end")),
    ] {
        let rdma = "tcp,copy".parse().unwrap();
        let short = Options::new().retry(Duration::from_secs(1)).silence(Duration::from_secs(3)).rdma(rdma);
        let (listener, address) = listener(&short);
        thread::scope(|scope| {
            let reading = scope.spawn(|| {
                let mut bytes = Vec::new();
                let read = listener.reader("x").unwrap().read_to_end(&mut bytes);
                read.map(|_| bytes).map_err(|error| error.to_string())
            });
            let mut caller = TcpStream::connect(&*address).unwrap();
            greeting(&mut caller, RDMA);
            let mut head = [0; 64 + 32];
            caller.read_exact(&mut head).unwrap();
            let mut offer = vec![0; u32::from_le_bytes(head[68..72].try_into().unwrap()) as usize];
            caller.read_exact(&mut offer).unwrap();
            caller.write_all(&message(8, 0, 0, b"")).unwrap();

            let memory = std::sync::Arc::new(Memory::new(4096).unwrap());
            memory.fill(0, &[7; 100]);
            let offer = Offer::from_bytes(&offer).unwrap();
            let calling = Calling::open(&fabric, offer, memory, Registering::Once, false).unwrap();
            let mut outlet = calling.connect(Instant::now() + Duration::from_secs(30), &|| false).unwrap();
            while outlet.room().is_none() {
                outlet.look(Duration::from_millis(10)).unwrap();
            }
            outlet.post(0..100, 0, Some(check)).unwrap();
            outlet.end(length, &says).unwrap();
            // This side says that it lives as long as the other one listens.
            while !reading.is_finished() && outlet.look(Duration::from_millis(100)).is_ok() {
                let _ = caller.write_all(&message(5, 0, 0, b""));
            }
            drop((outlet, caller));
            match (reading.join().unwrap(), expected) {
                (Ok(bytes), None) => assert_eq!(bytes, [7; 100]),
                (Err(error), Some(expected)) => assert!(error.contains(expected), "{error}"),
                (read, expected) => panic!("{read:?}, and not {expected:?}"),
            }
        });
    }
}
