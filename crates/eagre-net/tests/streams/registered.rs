//! Streams whose blocks travel by RDMA, by each algorithm and over each provider that works here without a card: they do what all
//! streams between two sides do.

use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use eagre::{BlockSize, Pipe};
use eagre_net::{Connector, Listener, NetErrorKind, Options, Rdma, RdmaAlgorithm, RdmaProvider, Summary};

use crate::common::{Line, consume, expected, listener, open, patient, produce, securities};

/// The ways that work here.
fn ways() -> Vec<Rdma> {
    let found = eagre_fabric::Fabric::open().and_then(|fabric| fabric.devices());
    let devices = match found {
        Ok(devices) => devices,
        Err(error) => {
            eprintln!("skipped: {error}");
            return Vec::new();
        }
    };
    let maps = eagre::probe::examine().into_iter().any(|pair| {
        pair.pair.trap == eagre::Trap::Signal && pair.pair.mover == eagre::Mover::Map && pair.refusal.is_none()
    });
    let mut ways = Vec::new();
    for provider in [RdmaProvider::Tcp, RdmaProvider::Shm] {
        if !devices.iter().any(|device| device.provider == provider.name()) {
            eprintln!("skipped: libfabric has no provider {provider}");
            continue;
        }
        for algorithm in RdmaAlgorithm::ALL {
            if !maps && [RdmaAlgorithm::Pool, RdmaAlgorithm::EachBlock].contains(&algorithm) {
                eprintln!("skipped: {algorithm}, since signal and map do not work here");
                continue;
            }
            ways.push(Rdma::new(provider).algorithm(algorithm));
        }
    }
    ways
}

fn sides(options: &Options) -> (Listener, Connector) {
    let (listener, address) = listener(options);
    (listener, Connector::new(&address).unwrap().options(options.clone()))
}

fn block(bytes: u64) -> BlockSize {
    BlockSize::new(bytes as usize).unwrap()
}

/// Sends so many bytes by `Write` and `Read`, and compares.
fn carry(listener: &Listener, connector: &Connector, calls: bool, length: u64) -> (Summary, Summary) {
    let (mut writer, mut reader) = open(listener, connector, calls, "stream");
    thread::scope(|scope| {
        let writing = scope.spawn(move || {
            produce(&mut writer, length).unwrap();
            writer.finish().unwrap()
        });
        assert_eq!(consume(&mut reader).unwrap(), length);
        (writing.join().unwrap(), reader.finish().unwrap())
    })
}

#[test]
fn every_length_arrives_both_ways() {
    for rdma in ways() {
        for (size, explicit) in [(1 << 16, true), (1 << 20, false)] {
            let stream = if explicit { Pipe::builder().explicit() } else { Pipe::builder() };
            let options = patient().block_size(block(size)).window(4 * size as usize).stream(stream).rdma(rdma);
            let (listener, connector) = sides(&options);
            for calls in [true, false] {
                for length in [0, 1, 31, size - 1, size, size + 1, 3 * size, 9 * size + 12345] {
                    let (written, read) = carry(&listener, &connector, calls, length);
                    assert_eq!((written.bytes, written.digest), (length, read.digest), "{rdma}, {length}");
                    assert_eq!(read.bytes, length, "{rdma}");
                    assert_eq!(read.digest, *blake3::hash(&expected(0, length as usize)).as_bytes());
                }
            }
        }
    }
}

#[test]
fn sides_may_have_other_blocks_and_securities() {
    for rdma in ways() {
        for (name, here, there) in securities() {
            let here = patient().security(here).block_size(block(1 << 18)).rdma(rdma.checks(false));
            let (listener, address) = listener(&here);
            let there = patient().security(there).block_size(block(2 << 20)).rdma(rdma);
            let connector = Connector::new(&address).unwrap().options(there);
            for calls in [true, false] {
                // One side wants checks: then they are made.
                let (written, read) = carry(&listener, &connector, calls, 7_000_001);
                assert_eq!((written.bytes, read.bytes), (7_000_001, 7_000_001), "{rdma}, {name}");
            }
        }
    }
}

#[test]
fn pointers_on_both_sides_and_what_it_costs() {
    for rdma in ways() {
        let costs = [3 << 20, 20 << 20].map(|length| {
            let (listener, connector) = sides(&patient().rdma(rdma.checks(false)));
            let (mut writer, mut reader) = open(&listener, &connector, true, "numbers");
            thread::scope(|scope| {
                let writing = scope.spawn(move || {
                    let bytes = expected(0, length);
                    let write = |pointer: *mut u8| {
                        for (number, part) in bytes.chunks(100_000).enumerate() {
                            // SAFETY: a pointer of a stream may be written to forwards, up to its capacity.
                            unsafe { pointer.add(number * 100_000).copy_from(part.as_ptr(), part.len()) };
                        }
                    };
                    writer.scope(write).unwrap();
                    writer.finish_at(length as u64).unwrap()
                });
                let bytes = expected(0, length);
                let same = reader.scope(|pointer| {
                    // SAFETY: a pointer of a stream may be read forwards, up to its end.
                    (0..length).all(|at| unsafe { *pointer.add(at) } == bytes[at])
                });
                assert!(same.unwrap(), "{rdma}");
                let (written, read) = (writing.join().unwrap(), reader.finish().unwrap());
                [written, read].map(|summary| (summary.bytes, summary.rdma.unwrap()))
            })
        });
        for side in [0, 1] {
            let [(less, few), (more, many)] = costs.map(|costs| costs[side]);
            let (registered, copied) = (many.registrations - few.registrations, many.copied - few.copied);
            match rdma.way() {
                RdmaAlgorithm::Pool => assert_eq!((registered, copied), (0, 0), "{rdma}: {few:?}, {many:?}"),
                RdmaAlgorithm::EachBlock => {
                    assert!(many.registrations >= more >> 20 && copied == 0, "{rdma}: {many:?}")
                }
                _ => assert_eq!((registered, copied), (0, more - less), "{rdma}: {few:?}, {many:?}"),
            }
        }
    }
}

/// Who has read all that there is may go before the end is told.
#[test]
fn a_pointer_that_has_read_everything_may_go() {
    for rdma in ways() {
        let (listener, connector) = sides(&patient().rdma(rdma).block_size(block(1 << 16)));
        for number in 0..4 {
            let (length, has_read) = (20 << 16, AtomicBool::new(false));
            let (mut writer, mut reader) = open(&listener, &connector, number % 2 == 0, "to the end");
            thread::scope(|scope| {
                let has_read = &has_read;
                let writing = scope.spawn(move || {
                    writer.copy_in(&expected(0, length)).unwrap();
                    while !has_read.load(SeqCst) {
                        thread::yield_now();
                    }
                    // The reader goes now, and this side goes on no sooner than it usually does.
                    (0..20).for_each(|_| thread::yield_now());
                    writer.finish().unwrap()
                });
                // SAFETY: a pointer of a stream may be read forwards, up to its end.
                let all =
                    |pointer: *const u8| (0..length).map(|at| u64::from(unsafe { *pointer.add(at) })).sum::<u64>();
                let sum = reader.scope(all).unwrap();
                assert_eq!(sum, expected(0, length).iter().map(|&byte| u64::from(byte)).sum());
                has_read.store(true, SeqCst);
                assert_eq!(reader.finish().unwrap().bytes, length as u64, "{rdma}");
                assert_eq!(writing.join().unwrap().bytes, length as u64, "{rdma}");
            });
        }
    }
}

#[test]
fn a_line_that_is_cut_again_and_again_loses_nothing() {
    for rdma in ways() {
        let (listener, _) = listener(&patient().rdma(rdma).window(3 << 20));
        let line = Line::to(listener.local_address());
        let connector = Connector::new(&line.address.to_string()).unwrap();
        let connector = connector.options(patient().rdma(rdma).window(3 << 20));
        for calls in [true, false] {
            let seed = fastrand::u64(..);
            let mut random = fastrand::Rng::with_seed(seed);
            let length = 12_000_000 + random.u64(..4_000_000);
            let (mut writer, mut reader) = open(&listener, &connector, calls, "cut");
            let (written, read) = thread::scope(|scope| {
                let writing = scope.spawn(|| {
                    for part in 0..4 {
                        let (from, to) = (length * part / 4, length * (part + 1) / 4);
                        writer.copy_in(&expected(from, (to - from) as usize)).unwrap();
                        if part < 3 {
                            // While blocks are on their way.
                            line.cut();
                        }
                    }
                    writer.finish().unwrap()
                });
                assert_eq!(consume(&mut reader).unwrap(), length, "{rdma}, seed {seed}");
                (writing.join().unwrap(), reader.finish().unwrap())
            });
            assert_eq!(written.digest, read.digest, "{rdma}, seed {seed}");
            assert_eq!(read.digest, *blake3::hash(&expected(0, length as usize)).as_bytes());
            assert!(written.reconnections > 0, "{rdma}, seed {seed}: it was never cut");
        }
    }
}

#[test]
fn who_gives_up_is_an_error_on_the_other_side() {
    for rdma in ways() {
        let options = patient().retry(Duration::from_secs(1)).rdma(rdma).window(2 << 20);
        let (listener, connector) = sides(&options);
        let both = [true, false];
        for &calls in if rdma.way() == RdmaAlgorithm::Pool { &both[..] } else { &both[..1] } {
            let (mut writer, reader) = open(&listener, &connector, calls, "given up");
            reader.control().cancel();
            assert_eq!(reader.finish().unwrap_err().kind(), NetErrorKind::Stream, "{rdma}");
            assert!(produce(&mut writer, 1 << 30).is_err(), "{rdma}");

            let (mut writer, mut reader) = open(&listener, &connector, calls, "given up");
            produce(&mut writer, 3_000_000).unwrap();
            writer.fail("enough of this");
            let error = consume(&mut reader).unwrap_err().to_string();
            assert!(error.contains("enough of this"), "{rdma}: {error}");
            drop(writer);

            // While the writer waits for a reader that does not read.
            let (mut writer, mut reader) = open(&listener, &connector, calls, "given up");
            let control = writer.control();
            let writing = thread::spawn(move || produce(&mut writer, 1 << 30));
            reader.read_exact(&mut [0; 1]).unwrap();
            control.cancel();
            assert!(writing.join().unwrap().is_err(), "{rdma}");
            assert!(std::io::copy(&mut reader, &mut std::io::sink()).is_err(), "{rdma}");
        }
    }
}

#[test]
fn a_slow_reader_stops_the_writer() {
    let differ = [RdmaAlgorithm::Pool, RdmaAlgorithm::Copy];
    for rdma in ways().into_iter().filter(|rdma| differ.contains(&rdma.way())) {
        let (listener, connector) = sides(&patient().rdma(rdma).window(4 << 20));
        let (mut writer, mut reader) = open(&listener, &connector, true, "slow");
        let control = writer.control();
        let writing = thread::spawn(move || {
            produce(&mut writer, 64 << 20).unwrap();
            writer.finish().unwrap()
        });
        reader.read_exact(&mut [0; 1]).unwrap();
        // The writer is stopped when both sides are full: nothing goes on although time passes.
        let far = || control.stats().writer.blocks;
        let (mut seen, mut since) = (far(), Instant::now());
        while since.elapsed() < Duration::from_millis(250) {
            thread::yield_now();
            if far() != seen {
                (seen, since) = (far(), Instant::now());
            }
        }
        assert!((1..=16).contains(&seen), "{rdma}: {seen} blocks");
        let mut rest = Vec::new();
        reader.read_to_end(&mut rest).unwrap();
        assert!(rest == expected(1, (64 << 20) - 1), "{rdma}");
        assert_eq!(writing.join().unwrap().bytes, 64 << 20);
    }
}

#[test]
fn both_sides_must_want_the_same() {
    let Some(rdma) = ways().pop() else { return };
    let other = rdma.algorithm(RdmaAlgorithm::PipelinedCopy);
    for (here, there) in [(Some(rdma), None), (None, Some(rdma)), (Some(rdma), Some(other))] {
        let with = |rdma: Option<Rdma>| rdma.map_or(patient(), |rdma| patient().rdma(rdma));
        let (listener, address) = listener(&with(here));
        let connector = Connector::new(&address).unwrap().options(with(there));
        thread::scope(|scope| {
            let calling = scope.spawn(|| connector.writer("differ").map(drop).unwrap_err());
            let error = listener.reader("differ").map(drop).unwrap_err();
            assert_eq!(error.kind(), NetErrorKind::Setting);
            let told = calling.join().unwrap();
            assert_eq!(told.kind(), NetErrorKind::Refused);
            assert!(told.to_string().contains("say the same on both sides"), "{told}");
        });
    }
}

#[test]
fn existing_streams_are_carried_if_their_memory_stays() {
    for rdma in ways() {
        let (listener, connector) = sides(&patient().rdma(rdma));
        let moves = || Pipe::builder().rewrite(4).lookback(4);
        let stays = || moves().on_fixed_pool().unwrap();
        let pooled = [RdmaAlgorithm::Pool, RdmaAlgorithm::EachBlock].contains(&rdma.way());
        let (mut writer, from) = (if pooled { stays() } else { moves() }).open().unwrap().split();
        let (into, mut reader) = (if pooled { stays() } else { moves() }).open().unwrap().split();
        thread::scope(|scope| {
            let sending = scope.spawn(|| connector.send_from("pipe", from).unwrap().join().unwrap());
            let receiving = scope.spawn(|| listener.receive_into("pipe", into).unwrap().join().unwrap());
            scope.spawn(move || {
                writer.copy_in(&expected(0, 30_000_001)).unwrap();
                writer.finish().unwrap();
            });
            let mut bytes = Vec::new();
            reader.read_to_end(&mut bytes).unwrap();
            assert!(bytes == expected(0, 30_000_001), "{rdma}");
            assert_eq!(sending.join().unwrap().digest, receiving.join().unwrap().digest);
        });
        if pooled {
            let (_writer, from) = moves().open().unwrap().split();
            thread::scope(|scope| {
                let sending = scope.spawn(|| connector.send_from("moves", from).unwrap().join().unwrap_err());
                let reader = listener.reader("moves").unwrap();
                let error = sending.join().unwrap();
                assert_eq!(error.kind(), NetErrorKind::Setting);
                assert!(error.to_string().contains("make a pool of its own"), "{error}");
                drop(reader);
            });
        }
    }
}
