//! Many streams at once, and many after each other: what they took is given back.

use crate::common::process::Footprint;
use crate::common::{SMALL, check_through, pattern, put_through};
use crate::peer::{Part, Peer};
use crate::watched;
use eagre_mem::BlockSize;
use eagre_mem::process::{Connection, Options, Reader, Writer};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

pub(crate) const PARTS: &[Part] = &[("many", many_part), ("flat", flat_part)];

const MANY: u64 = 100;

fn small() -> Options {
    Options::new().block_size(BlockSize::MIN)
}

fn length(number: u64) -> u64 {
    8 * SMALL as u64 + number * 1001
}

/// Each in a thread of its own; every other one through a pointer.
fn write(mut writer: Writer, number: u64) {
    if number % 4 < 2 {
        // SAFETY: forward, in small steps.
        writer.scope(|to| unsafe { put_through(to, 0, length(number), 10_000) }).unwrap();
    } else {
        let mut at = 0;
        while at < length(number) {
            let bytes = pattern(at, 30_000.min((length(number) - at) as usize));
            writer.write_all(bytes).unwrap();
            at += bytes.len() as u64;
        }
    }
    writer.finish_at(length(number)).unwrap();
}

fn read(mut reader: Reader, number: u64) {
    if number % 8 < 4 {
        // SAFETY: forward, in small steps.
        reader.scope(|from| unsafe { check_through(from, 0, length(number), 9_000) }).unwrap();
    } else {
        let mut all = Vec::new();
        reader.read_to_end(&mut all).unwrap();
        assert_eq!(all.len() as u64, length(number));
        crate::common::check(0, &all);
    }
}

fn many_part(connection: Connection, _: &str) {
    let socket = UnixStream::from(OwnedFd::from(connection));
    std::thread::scope(|scope| {
        for number in 0..MANY {
            let passed = Connection::receive_over(&socket).unwrap();
            scope.spawn(move || match number % 2 {
                0 => read(Reader::join(passed).unwrap(), number),
                _ => write(Writer::join(passed).unwrap(), number),
            });
        }
    });
}

#[test]
fn a_hundred_streams_at_once() {
    let _dog = watched("a_hundred_streams_at_once");
    let (control, theirs) = UnixStream::pair().unwrap();
    let peer = Peer::start_on("many", "", OwnedFd::from(theirs), &[]);
    std::thread::scope(|scope| {
        for number in 0..MANY {
            let (ours, theirs) = Connection::pair().unwrap();
            theirs.send_over(&control).unwrap();
            scope.spawn(move || match number % 2 {
                0 => write(small().writer(ours).unwrap(), number),
                _ => read(small().reader(ours).unwrap(), number),
            });
        }
    });
    peer.succeeds();
}

/// Streams after each other, both ends in this process, some of which fail.
fn flat_part(_: Connection, _: &str) {
    let stream = |number: u64| {
        let (ours, theirs) = Connection::pair().unwrap();
        let writer = small().writer(ours).unwrap();
        let reader = Reader::join(theirs).unwrap();
        match number % 5 {
            // Never begun.
            0 => drop((writer, reader)),
            1 => {
                let mut writer = writer;
                drop(reader);
                writer.copy_in(&vec![1; 6 * SMALL]).unwrap_err();
            }
            _ => std::thread::scope(|scope| {
                scope.spawn(|| write(writer, number));
                read(reader, number);
            }),
        }
    };
    (0..40).for_each(stream);
    let before = Footprint::now();
    (0..300).for_each(stream);
    let after = Footprint::now();
    assert_eq!(after.descriptors, before.descriptors);
    assert!(after.mappings <= before.mappings + 20, "{before:?} {after:?}");
    // Half a block a stream would be 9 MiB.
    assert!(after.rss <= before.rss + (4 << 10) && after.tables <= before.tables + 512, "{before:?} {after:?}");
    assert_eq!(shared_memory(), 0);
}

/// KiB of it.
fn shared_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("RssShmem:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn nothing_is_left_of_many_streams() {
    let _dog = watched("nothing_is_left_of_many_streams");
    let (peer, _connection) = Peer::start("flat", "");
    peer.succeeds();
}
