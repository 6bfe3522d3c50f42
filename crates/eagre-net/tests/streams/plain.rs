//! Streams over a connection that holds.

use std::io::{Read, Write};
use std::thread;
use std::time::Duration;

use eagre::{BlockSize, Pipe, StreamErrorKind};
use eagre_net::{Connector, NetErrorKind};

use crate::common::{consume, expected, listener, open, patient, produce, securities};

#[test]
fn every_length_arrives_both_ways_however_secure() {
    for (name, here, there) in securities() {
        for block in [1 << 16, 1 << 20] {
            let block = BlockSize::new(block).unwrap();
            let here = patient().security(here.clone()).block_size(block).window(4 * block.bytes());
            let there = patient().security(there.clone());
            let (listener, address) = listener(&here);
            let connector = Connector::new(&address).unwrap().options(there);
            for calls in [true, false] {
                let block = block.bytes() as u64;
                for length in [0, 1, 31, block - 1, block, block + 1, 3 * block, 9 * block + 12345] {
                    let (mut writer, mut reader) = open(&listener, &connector, calls, "stream");
                    let (written, read) = thread::scope(|scope| {
                        let writing = scope.spawn(move || {
                            produce(&mut writer, length).unwrap();
                            writer.finish().unwrap()
                        });
                        assert_eq!(consume(&mut reader).unwrap(), length, "{name}, {calls}");
                        (writing.join().unwrap(), reader.finish().unwrap())
                    });
                    assert_eq!(written, read, "{name}, {calls}, {length}");
                    assert_eq!(read.bytes, length);
                    assert_eq!(read.digest, *blake3::hash(&expected(0, length as usize)).as_bytes());
                    assert_eq!(read.reconnections, 0);
                }
            }
        }
    }
}

#[test]
fn pointers_on_both_sides() {
    let (listener, address) = listener(&patient());
    let connector = Connector::new(&address).unwrap().options(patient());
    let (mut writer, mut reader) = open(&listener, &connector, true, "numbers");
    let length = 20_000_003;
    thread::scope(|scope| {
        scope.spawn(move || {
            let bytes = expected(0, length);
            let write = |pointer: *mut u8| {
                for (at, byte) in bytes.iter().enumerate() {
                    // SAFETY: a pointer of a stream may be written to forwards, up to its capacity.
                    unsafe { pointer.add(at).write(*byte) };
                }
            };
            writer.scope(write).unwrap();
            assert_eq!(writer.finish_at(length as u64).unwrap().bytes, length as u64);
        });
        let sum = reader.scope(|pointer| {
            // SAFETY: a pointer of a stream may be read forwards, up to its end and a zero byte behind it.
            (0..=length).map(|at| u64::from(unsafe { *pointer.add(at) })).sum::<u64>()
        });
        assert_eq!(sum.unwrap(), expected(0, length).iter().map(|&byte| u64::from(byte)).sum::<u64>());
        assert_eq!(reader.finish().unwrap().bytes, length as u64);
    });
}

#[test]
fn streams_by_name_over_one_listener() {
    let (listener, address) = listener(&patient());
    let connector = Connector::new(&address).unwrap().options(patient());
    thread::scope(|scope| {
        for number in 0..6_u64 {
            let (listener, connector) = (&listener, &connector);
            let name = format!("stream {number}");
            let other = name.clone();
            scope.spawn(move || {
                let mut writer = connector.writer(&name).unwrap();
                produce(&mut writer, 100_000 * number).unwrap();
                writer.finish().unwrap();
            });
            scope.spawn(move || {
                let mut reader = listener.reader(&other).unwrap();
                assert_eq!(consume(&mut reader).unwrap(), 100_000 * number);
                reader.finish().unwrap();
            });
        }
    });
}

#[test]
fn what_comes_can_be_taken_or_refused() {
    let (listener, address) = listener(&patient());
    let connector = Connector::new(&address).unwrap().options(patient());
    thread::scope(|scope| {
        let wanted = scope.spawn(|| connector.reader("first"));
        let offer = listener.accept().unwrap();
        assert_eq!((offer.name(), offer.peer_writes()), ("first", false));
        offer.refuse("not today");
        let error = wanted.join().unwrap().unwrap_err();
        assert_eq!(error.kind(), NetErrorKind::Refused);
        assert!(error.to_string().ends_with("not today"), "{error}");
        // A name that is waited for is not offered to others.
        let named = scope.spawn(|| listener.reader("named").unwrap().finish());
        let writing = scope.spawn(|| connector.writer("named").unwrap().finish().unwrap());
        named.join().unwrap().unwrap();
        writing.join().unwrap();
        assert!(listener.accept_within(Duration::ZERO).unwrap().is_none());
    });
}

#[test]
fn existing_streams_are_carried() {
    let (listener, address) = listener(&patient());
    let connector = Connector::new(&address).unwrap().options(patient());
    let (mut writer, from) = Pipe::open().unwrap().split();
    let (into, mut reader) = Pipe::open().unwrap().split();
    let length = 30_000_001;
    thread::scope(|scope| {
        let sending = scope.spawn(|| connector.send_from("pipe", from).unwrap().join().unwrap());
        let receiving = scope.spawn(|| listener.receive_into("pipe", into).unwrap().join().unwrap());
        scope.spawn(move || {
            writer.copy_in(&expected(0, length)).unwrap();
            writer.finish().unwrap();
        });
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).unwrap();
        assert!(bytes == expected(0, length));
        assert_eq!(sending.join().unwrap(), receiving.join().unwrap());
    });
    let mut used = Pipe::open().unwrap().filled_by(|_, block: &mut [u8]| Ok(block.len())).unwrap();
    let mut some = [0; 10];
    used.read_exact(&mut some).unwrap();
    thread::scope(|scope| {
        let sending = scope.spawn(|| connector.send_from("used", used).map(drop));
        drop(listener.accept().unwrap().reader().unwrap());
        assert_eq!(sending.join().unwrap().unwrap_err().kind(), NetErrorKind::Setting);
    });
}

#[test]
fn a_length_that_is_known_is_told() {
    let (listener, address) = listener(&patient());
    let connector = Connector::new(&address).unwrap().options(patient().length(1000));
    let (mut writer, mut reader) = open(&listener, &connector, true, "known");
    assert_eq!(reader.length(), Some(1000));
    produce(&mut writer, 999).unwrap();
    let short = writer.finish().unwrap_err();
    assert_eq!(short.kind(), NetErrorKind::Stream);
    assert!(consume(&mut reader).is_err());
    let (mut writer, mut reader) = open(&listener, &connector, true, "known");
    produce(&mut writer, 1000).unwrap();
    thread::scope(|scope| {
        let read = scope.spawn(move || consume(&mut reader).unwrap());
        writer.finish().unwrap();
        assert_eq!(read.join().unwrap(), 1000);
    });
}

#[test]
fn a_writer_that_fails_tells_the_reader_why() {
    let (listener, address) = listener(&patient());
    let connector = Connector::new(&address).unwrap().options(patient());
    for calls in [true, false] {
        let (mut writer, mut reader) = open(&listener, &connector, calls, "fails");
        produce(&mut writer, 5_000_000).unwrap();
        writer.fail("the disk is on fire");
        drop(writer);
        let error = consume(&mut reader).unwrap_err().to_string();
        assert!(error.contains("the other side gave up") && error.contains("the disk is on fire"), "{error}");
        assert_eq!(reader.finish().unwrap_err().kind(), NetErrorKind::Stream);
        // One that is dropped has not finished: that is no end of the stream.
        let (mut writer, mut reader) = open(&listener, &connector, calls, "dropped");
        writer.write_all(b"half").unwrap();
        drop(writer);
        assert!(consume(&mut reader).is_err());
    }
}

#[test]
fn a_reader_that_goes_tells_the_writer() {
    let (listener, address) = listener(&patient());
    let connector = Connector::new(&address).unwrap().options(patient());
    for calls in [true, false] {
        let (mut writer, mut reader) = open(&listener, &connector, calls, "goes");
        let writing = thread::spawn(move || {
            // More than any window holds.
            let written = produce(&mut writer, 200 << 20);
            (written, writer.finish())
        });
        reader.read_exact(&mut [0; 100]).unwrap();
        drop(reader);
        let (written, finished) = writing.join().unwrap();
        let error = written.unwrap_err().to_string();
        assert!(error.contains("the other side gave up"), "{error}");
        assert_eq!(finished.unwrap_err().kind(), NetErrorKind::Stream);
    }
}

#[test]
fn a_slow_reader_stops_the_writer() {
    let (listener, address) = listener(&patient());
    let options = patient().window(4 << 20).no_progress(Duration::from_secs(2));
    let connector = Connector::new(&address).unwrap().options(options);
    let (mut writer, mut reader) = open(&listener, &connector, true, "slow");
    // Nobody reads: what the windows and the sockets do not hold waits, until the limit.
    let error = produce(&mut writer, 1 << 30).unwrap_err();
    let stream = error.get_ref().and_then(|inner| inner.downcast_ref::<eagre::StreamError>()).unwrap();
    assert_eq!(stream.kind(), StreamErrorKind::TimedOut, "{error}");
    assert!(writer.position() < 200 << 20);
    drop(writer);
    assert!(consume(&mut reader).is_err());
}

#[test]
fn a_limit_of_the_rate_holds() {
    let (listener, address) = listener(&patient());
    let connector = Connector::new(&address).unwrap().options(patient().limit(1 << 20));
    let (mut writer, mut reader) = open(&listener, &connector, true, "limited");
    let began = std::time::Instant::now();
    thread::scope(|scope| {
        scope.spawn(move || consume(&mut reader).unwrap());
        produce(&mut writer, 2 << 20).unwrap();
        writer.finish().unwrap();
    });
    // The first piece does not wait. A slow machine makes it longer, and nothing makes it shorter.
    assert!(began.elapsed() >= Duration::from_millis(1700), "{:?}", began.elapsed());
}
