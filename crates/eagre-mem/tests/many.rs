//! Many streams: a thousand open and idle, 64 at work at once, dropped in any order, opened and closed without end.
#![cfg(target_os = "linux")]

#[macro_use]
mod common;

use common::child::{self, Case};
use common::process::Footprint;
use common::{Rng, SMALL, check, check_through, put, put_through, sized, small};
use eagre_mem::probe::Pair;
use eagre_mem::stream::{Pipe, Reader, StreamErrorKind, Writer};
use eagre_mem::{BlockSize, Pool, Trap};

const CASES: &[Case] = &[("open_and_close", open_and_close), ("idle", idle), ("room", room)];

#[test]
fn child() {
    child::serve(CASES);
}

fn write(writer: &mut Writer, from: u64, until: u64, pointer: bool) {
    if pointer {
        // SAFETY: ascending copies.
        return writer.scope(|to| unsafe { put_through(to, from, until, 8192) }).unwrap();
    }
    while writer.position() < until {
        let at = writer.position();
        let room = writer.reserve(0).unwrap();
        let now = room.len().min((until - at) as usize);
        put(at, &mut room[..now]);
        writer.commit(now);
    }
}

fn read(reader: &mut Reader, until: u64, pointer: bool) {
    if pointer {
        // SAFETY: ascending loads within the length.
        reader.scope(|from| unsafe { check_through(from, 0, until, 8192) }).unwrap();
        return reader.advance_to(until).unwrap();
    }
    while reader.position() < until {
        let at = reader.position();
        let bytes = reader.fill(0).unwrap();
        let now = bytes.len().min((until - at) as usize);
        check(at, &bytes[..now]);
        reader.consume(now);
    }
}

each_pair! {
    /// 64 pairs of threads at work at the same time, on blocks of one pool, half of them on pointers.
    fn sixty_four_at_work(pair) {
        let pool = Pool::new(BlockSize::MIN, 64 * 4 + 8, Some(pair.trap), Some(pair.mover)).unwrap();
        std::thread::scope(|scope| {
            for number in 0..64u64 {
                let stream = small(pair).pool(&pool).rewrite(1).lookback(1).read_ahead(1);
                let (mut writer, mut reader) = stream.open().unwrap().split();
                let length = 20 * SMALL as u64 + 977 * number;
                let on = |bit: u64| pair.trap != Trap::Off && number & bit != 0;
                let (writes, reads) = (on(1), on(2));
                scope.spawn(move || {
                    write(&mut writer, 0, length, writes);
                    writer.finish_at(length).unwrap();
                });
                scope.spawn(move || {
                    read(&mut reader, length, reads);
                    assert!(reader.fill(1).unwrap().is_empty());
                });
            }
        });
        assert_eq!((pool.stats().taken, pool.stats().committed), (0, 0));
    }

    /// One thread for each core, each with a chain of streams: what one reads it writes to the next.
    fn chains(pair) {
        let length = 3_000_000u64;
        let links = 6;
        std::thread::scope(|scope| {
            for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
                let (mut first, mut before) = small(pair).open().unwrap().split();
                scope.spawn(move || {
                    write(&mut first, 0, length, pair.trap != Trap::Off);
                    first.finish_at(length).unwrap();
                });
                for _ in 0..links {
                    let (mut writer, reader) = small(pair).open().unwrap().split();
                    let mut reader = std::mem::replace(&mut before, reader);
                    scope.spawn(move || {
                        std::io::copy(&mut reader, &mut writer).unwrap();
                        writer.finish().unwrap();
                    });
                }
                scope.spawn(move || read(&mut before, length, pair.trap != Trap::Off));
            }
        });
    }

    /// Ends dropped in every order, before, during and after use; the survivors see what they should.
    fn dropped_in_any_order(pair) {
        let pool = Pool::new(BlockSize::MIN, 400, Some(pair.trap), Some(pair.mover)).unwrap();
        let mut rng = Rng::new(9);
        for _ in 0..6 {
            let mut ends: Vec<(Option<Writer>, Option<Reader>, bool)> = (0..30)
                .map(|_| {
                    let (mut writer, reader) = small(pair).pool(&pool).open().unwrap().split();
                    let finished = rng.one_in(2);
                    if rng.one_in(2) {
                        write(&mut writer, 0, 1000, pair.trap != Trap::Off && rng.one_in(2));
                    }
                    if finished {
                        writer.finish_at(1000).unwrap();
                    }
                    (Some(writer), Some(reader), finished)
                })
                .collect();
            for _ in 0..60 {
                let which = rng.below(30) as usize;
                let (writer, reader, finished) = &mut ends[which];
                match rng.one_in(2) {
                    true => drop(writer.take()),
                    false => drop(reader.take()),
                }
                match (writer, reader) {
                    (None, Some(reader)) if !*finished => {
                        assert_eq!(reader.fill(1).unwrap_err().kind(), StreamErrorKind::WriterGone);
                    }
                    (None, Some(reader)) => assert!(reader.fill(1).is_ok()),
                    (Some(writer), None) if !*finished => {
                        assert_eq!(writer.reserve(1).unwrap_err().kind(), StreamErrorKind::ReaderGone);
                    }
                    _ => {}
                }
            }
            drop(ends);
            assert_eq!((pool.stats().taken, pool.stats().committed), (0, 0));
        }
    }

    fn opened_and_closed_without_end(pair) {
        let outcome = child::run("open_and_close", pair);
        assert!(outcome.success, "{outcome:?}");
    }

    /// Streams that ask for nothing in particular leave addresses for each other and for the rest of the process.
    fn defaults_leave_room(pair) {
        let outcome = child::run("room", pair);
        assert!(outcome.success, "{outcome:?}");
    }

    fn a_thousand_idle(pair) {
        let outcome = child::run("idle", pair);
        assert!(outcome.success, "{outcome:?}");
    }
}

fn room(pair: Pair) {
    let open = || Pipe::builder().trap(pair.trap).mover(pair.mover).open().unwrap();
    let pipes: Vec<_> = (0..300).map(|_| open()).collect();
    assert!(pipes[0].capacity() >= 1 << 40);
    assert!(pipes.iter().all(|pipe| pipe.capacity() >= 64 << 20));
    // SAFETY: a new mapping without access, given back by the end of the process.
    let more = unsafe {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        libc::mmap(std::ptr::null_mut(), 8 << 40, libc::PROT_NONE, flags, -1, 0)
    };
    assert_ne!(more, libc::MAP_FAILED);
}

/// In a process of its own: 10,000 streams, one after the other, some used, some failed.
fn open_and_close(pair: Pair) {
    let pool = Pool::new(BlockSize::MIN, 8, Some(pair.trap), Some(pair.mover)).unwrap();
    let pointer = pair.trap != Trap::Off;
    let mut start = None;
    for round in 0..10_000u64 {
        let stream = small(pair).pool(&pool).capacity(if round % 2 == 0 { 1 << 40 } else { 1 << 20 });
        let (mut writer, mut reader) = stream.open().unwrap().split();
        match round % 4 {
            0 | 1 => {
                write(&mut writer, 0, 500, pointer);
                writer.finish_at(500).unwrap();
                read(&mut reader, 500, pointer);
            }
            2 => {
                drop(writer);
                if pointer {
                    // SAFETY: the first byte, of throw-away pages.
                    assert!(reader.scope(|from| unsafe { from.read() }).is_err());
                }
            }
            _ => {}
        }
        // What is there once and for all is there by now.
        if round == 1000 {
            start = Some(Footprint::now());
        }
    }
    let (before, after) = (start.unwrap(), Footprint::now());
    assert!(after.mappings <= before.mappings + 8, "{before:?}, {after:?}");
    assert!(after.descriptors == before.descriptors, "{before:?}, {after:?}");
    assert!(after.rss <= before.rss + 1024, "{before:?}, {after:?}");
    assert!(after.tables <= before.tables + 256, "{before:?}, {after:?}");
    assert_eq!((pool.stats().taken, pool.stats().committed), (0, 0));
}

/// In a process of its own: a thousand streams of default blocks that have not begun, and one at work among them.
fn idle(pair: Pair) {
    let pool = Pool::new(BlockSize::DEFAULT, 8, Some(pair.trap), Some(pair.mover)).unwrap();
    // Address space for a thousand: 16 GiB each.
    let open = || sized(pair, BlockSize::DEFAULT).pool(&pool).capacity(16 << 30).open().unwrap();
    drop(open());
    let before = Footprint::now();
    let idle: Vec<_> = (0..1000).map(|_| open().split()).collect();
    assert_eq!((pool.stats().taken, pool.stats().committed, pool.stats().resident), (0, 0, 0));
    assert!(idle.iter().all(|(writer, _)| writer.control().stats().held == 0));
    let after = Footprint::now();
    // A few KiB of bookkeeping each.
    assert!(after.rss <= before.rss + 8192, "{before:?}, {after:?}");
    let (mut writer, mut reader) = open().split();
    std::thread::scope(|scope| {
        let length = 30 << 20;
        scope.spawn(move || {
            write(&mut writer, 0, length, pair.trap != Trap::Off);
            writer.finish_at(length).unwrap();
        });
        read(&mut reader, length, pair.trap != Trap::Off);
    });
}
