//! What one process writes the other reads, whatever calls they use, and whichever of them makes the stream.

use crate::common::{SMALL, check, check_through, pattern, put, put_through};
use crate::peer::{Part, Peer};
use crate::watched;
use eagre_mem::BlockSize;
use eagre_mem::process::{Connection, Options, Reader, Writer};
use std::io::{Read, Write};

pub(crate) const PARTS: &[Part] = &[("write", write_part), ("read", read_part)];

/// How an end does it.
const WAYS: [&str; 4] = ["explicit", "pointer", "taken", "io"];

/// Writes the first `length` bytes of the oracle.
fn write(writer: &mut Writer, way: &str, length: u64) {
    let block = writer.block_size().bytes();
    match way {
        "explicit" => {
            while writer.position() < length {
                let at = writer.position();
                // Now and then more than a block, over its border.
                let wanted = 1 + (at as usize * 7919) % block;
                let room = writer.reserve(wanted).unwrap();
                assert!(room.len() >= wanted);
                let now = room.len().min((length - at) as usize).min(wanted + 5);
                put(at, &mut room[..now]);
                writer.commit(now);
            }
            writer.finish().unwrap();
        }
        "pointer" => {
            // SAFETY: forward, and no step is longer than the window.
            writer.scope(|to| unsafe { put_through(to, 0, length, 10_007) }).unwrap();
            writer.finish_at(length).unwrap();
        }
        "taken" => {
            let mut at = 0;
            while at < length {
                // The second of two is completed first.
                let mut blocks = vec![writer.take().unwrap()];
                if at + (block as u64) < length {
                    blocks.push(writer.take().unwrap());
                }
                for mut taken in blocks.into_iter().rev() {
                    put(taken.offset(), taken.as_mut_slice());
                    at += block as u64;
                    if taken.offset() + block as u64 > length {
                        writer.put_back(taken);
                    } else {
                        writer.complete(taken);
                    }
                }
            }
            writer.finish_at(length).unwrap();
        }
        _ => {
            let mut at = 0;
            while at < length {
                let bytes = pattern(at, 50_000.min((length - at) as usize));
                writer.write_all(bytes).unwrap();
                at += bytes.len() as u64;
            }
            writer.finish().unwrap();
        }
    }
}

/// Reads to the end, and checks every byte.
fn read(reader: &mut Reader, way: &str, length: u64) {
    match way {
        "explicit" => {
            loop {
                let at = reader.position();
                let wanted = 1 + (at as usize * 104_729) % reader.block_size().bytes();
                let bytes = reader.fill(wanted).unwrap();
                assert!(bytes.len() >= wanted.min((length - at) as usize));
                if bytes.is_empty() {
                    break;
                }
                check(at, bytes);
                let now = bytes.len().min(wanted + 3);
                reader.consume(now);
            }
            assert_eq!(reader.position(), length);
        }
        "pointer" => {
            reader
                .scope(|from| {
                    // SAFETY: forward, and no step is longer than the window.
                    unsafe { check_through(from, 0, length, 9_001) };
                    // SAFETY: a zero byte follows the last one.
                    assert_eq!(unsafe { from.add(length as usize).read_volatile() }, 0);
                })
                .unwrap();
        }
        "taken" => {
            let mut at = 0;
            while let Some(first) = reader.take().unwrap() {
                let second = reader.take().unwrap();
                assert_eq!(first.offset(), at);
                for block in [Some(first), second].into_iter().flatten().rev() {
                    check(block.offset(), block.as_slice());
                    at += block.as_slice().len() as u64;
                    reader.release_block(block);
                }
            }
            assert_eq!(at, length);
        }
        _ => {
            let (mut at, mut buffer) = (0, vec![0; 33_333]);
            loop {
                let got = reader.read(&mut buffer).unwrap();
                if got == 0 {
                    break;
                }
                check(at, &buffer[..got]);
                at += got as u64;
            }
            assert_eq!(at, length);
        }
    }
    assert_eq!(reader.length(), Some(length));
}

fn parse(argument: &str) -> (&str, u64) {
    let (way, length) = argument.split_once(' ').unwrap();
    (way, length.parse().unwrap())
}

fn write_part(connection: Connection, argument: &str) {
    let (way, length) = parse(argument);
    write(&mut Writer::join(connection).unwrap(), way, length);
}

fn read_part(connection: Connection, argument: &str) {
    let (way, length) = parse(argument);
    read(&mut Reader::join(connection).unwrap(), way, length);
}

fn options(block: usize) -> Options {
    Options::new().block_size(BlockSize::new(block).unwrap())
}

#[test]
fn every_way_to_write_meets_every_way_to_read() {
    let _dog = watched("every_way_to_write_meets_every_way_to_read");
    let length = 40 * SMALL as u64 + 12_345;
    for ours in WAYS {
        for theirs in WAYS {
            let (peer, connection) = Peer::start("read", &format!("{theirs} {length}"));
            write(&mut options(SMALL).writer(connection).unwrap(), ours, length);
            peer.succeeds();
            let (peer, connection) = Peer::start("write", &format!("{theirs} {length}"));
            read(&mut options(SMALL).reader(connection).unwrap(), ours, length);
            peer.succeeds();
        }
    }
}

#[test]
fn any_length_ends_where_it_should() {
    let _dog = watched("any_length_ends_where_it_should");
    let block = SMALL as u64;
    for length in [0, 1, block - 1, block, block + 1, 5 * block, 11 * block - 1, 12 * block] {
        for (ours, theirs) in [("explicit", "pointer"), ("pointer", "explicit"), ("io", "taken"), ("taken", "io")] {
            let (peer, connection) = Peer::start("read", &format!("{theirs} {length}"));
            write(&mut options(SMALL).writer(connection).unwrap(), ours, length);
            peer.succeeds();
        }
    }
}

#[test]
fn blocks_of_any_size_and_windows_of_any_width() {
    let _dog = watched("blocks_of_any_size_and_windows_of_any_width");
    for (block, rewrite, lookback, read_ahead) in
        [(SMALL, 1, 1, 1), (1 << 20, 1, 1, 2), (2 << 20, 1, 1, 2), (2 << 20, 3, 2, 1), (SMALL, 17, 1, 60)]
    {
        let length = 3 * u64::from(rewrite + lookback + read_ahead + 1) * block as u64 + 4321;
        for way in ["pointer", "explicit"] {
            let (peer, connection) = Peer::start("read", &format!("{way} {length}"));
            let options = options(block).rewrite(rewrite).lookback(lookback).read_ahead(read_ahead);
            write(&mut options.writer(connection).unwrap(), way, length);
            peer.succeeds();
        }
    }
}
