//! What callers may say to a listener: anything, before and after a greeting. Messages whose header and check are right, too, in any
//! order. A stream that ends well has exactly the bytes that were sent in order, and the digest of them.
#![no_main]

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::LazyLock;
use std::time::Duration;

use eagre_mem::BlockSize;
use eagre_net::{Listener, NetErrorKind, Options};
use libfuzzer_sys::fuzz_target;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

static LISTENER: LazyLock<Listener> = LazyLock::new(|| {
    let options = Options::new().retry(Duration::ZERO).block_size(BlockSize::MIN).window(1 << 17);
    Listener::bind("127.0.0.1:0", options).expect("loopback is there")
});

/// A greeting of a caller that writes the stream `x`.
fn greeting() -> Vec<u8> {
    let mut hello = vec![0; 80];
    hello[..8].copy_from_slice(b"EAGRENET");
    hello[8..11].copy_from_slice(&[1, 1, 1]);
    hello[12] = 1;
    hello[16..32].copy_from_slice(&[5; 16]);
    for (at, number) in [(32, 1_u64 << 16), (40, 1 << 20), (48, u64::MAX), (56, 0)] {
        hello[at..at + 8].copy_from_slice(&number.to_le_bytes());
    }
    let check = xxh3_64(&[&hello[..72], b"x"].concat());
    hello[72..].copy_from_slice(&check.to_le_bytes());
    hello.push(b'x');
    hello
}

fn message(kind: u8, offset: u64, bytes: &[u8]) -> Vec<u8> {
    let mut seed = vec![kind];
    seed.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    seed.extend_from_slice(&offset.to_le_bytes());
    let mut message = vec![kind, 0, 0, 0];
    message.extend_from_slice(&seed[1..]);
    message.extend_from_slice(&xxh3_64_with_seed(bytes, xxh3_64(&seed)).to_le_bytes());
    message.extend_from_slice(&[0; 8]);
    message.extend_from_slice(bytes);
    message
}

fuzz_target!(|input: (bool, Vec<(u8, u16, Vec<u8>)>)| {
    let (greets, parts) = input;
    let mut caller = TcpStream::connect(LISTENER.local_address()).expect("the listener listens");
    if !greets {
        for (_, _, bytes) in &parts {
            let _ = caller.write_all(bytes);
        }
        let _ = caller.shutdown(Shutdown::Write);
        let _ = caller.read_to_end(&mut Vec::new());
        return;
    }
    caller.write_all(&greeting()).expect("the listener reads");
    let offer = LISTENER.accept_within(Duration::from_secs(20)).expect("it listens").expect("a caller has greeted");
    let mut reader = offer.reader().expect("a stream can be opened");
    let mut sent = Vec::new();
    let mut digest = blake3::Hasher::new();
    for (what, number, bytes) in &parts {
        let in_order = match what % 8 {
            0 | 1 => {
                let at = sent.len() as u64;
                sent.extend_from_slice(bytes);
                digest.update(bytes);
                message(1, at, bytes)
            }
            2 => message(2, sent.len() as u64, digest.finalize().as_bytes()),
            3 => message(1, u64::from(*number), bytes),
            4 => message(what >> 5, u64::from(*number), bytes),
            5 => message(5, 0, b""),
            6 => message(6, 0, bytes),
            _ => bytes.clone(),
        };
        let _ = caller.write_all(&in_order);
    }
    let _ = caller.shutdown(Shutdown::Write);
    let mut got = Vec::new();
    let read = reader.read_to_end(&mut got);
    match (read, reader.finish()) {
        (Ok(_), Ok(summary)) => {
            assert!(sent.starts_with(&got));
            assert_eq!(summary.digest, *blake3::hash(&got).as_bytes());
        }
        // The stream had ended well, and then came something else.
        (Ok(_), Err(error)) => {
            assert!(matches!(error.kind(), NetErrorKind::Protocol | NetErrorKind::Stream), "{error}");
            assert!(sent.starts_with(&got));
        }
        (Err(_), _) => {}
    }
});
