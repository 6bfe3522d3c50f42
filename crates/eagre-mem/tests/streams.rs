//! The protocol and the stream types: every small window, every block size, limits, known lengths, callbacks.
//!
//! Random traffic does most of the work (`common/traffic.rs`); what it cannot draw is written out here.
#![cfg(target_os = "linux")]

#[macro_use]
mod common;

use common::traffic::{Shape, WAYS, run};
use common::{SMALL, byte, check, check_through, pattern, put, put_through, sized, small};
use eagre_mem::stream::{OpenError, Pipe, StreamErrorKind};
use eagre_mem::{BlockSize, Mover, Pool, Trap};
use std::io::{BufRead, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

each_pair! {
    /// L and M from 0 to 3, N from 1 to 3. Pointers keep to whole words where the window is one block.
    fn every_window(pair) {
        for rewrite in 0..4 {
            for lookback in 0..4 {
                for read_ahead in 1..4 {
                    let seed = u64::from(rewrite * 100 + lookback * 10 + read_ahead);
                    run(pair, Shape { blocks: 14, ..Shape::new(rewrite, lookback, read_ahead, seed) });
                    let (writer, reader) = (WAYS[(rewrite % 4) as usize], WAYS[(lookback % 4) as usize]);
                    run(pair, Shape { blocks: 14, writer, reader, ..Shape::new(rewrite, lookback, read_ahead, seed) });
                }
            }
        }
    }

    fn every_block_size(pair) {
        for shift in 16..=22 {
            let block = BlockSize::new(1 << shift).unwrap();
            let blocks = (24 << 16 >> shift).max(6);
            run(pair, Shape { block, blocks, ..Shape::new(1, 1, 1, shift) });
            run(pair, Shape { block, blocks, ..Shape::new(1, 2, 2, shift + 7) });
        }
    }

    fn without_recycling(pair) {
        for seed in 300..308 {
            run(pair, Shape { recycle: false, ..Shape::new(1, 1, 1, seed) });
        }
    }

    /// A reader that has read everything may go before the writer says that this was all.
    fn a_reader_that_had_it_all_may_go_first(pair) {
        for blocks in [0, 1, 3] {
            let length = blocks * SMALL;
            for by_pointer in [false, true] {
                if by_pointer && pair.trap == Trap::Off {
                    continue;
                }
                let (mut writer, mut reader) = small(pair).read_ahead(4).open().unwrap().split();
                let mut all = vec![0; length];
                put(0, &mut all);
                writer.copy_in(&all).unwrap();
                if by_pointer {
                    // SAFETY: the bytes that were written.
                    reader.scope(|from| unsafe { check(0, std::slice::from_raw_parts(from, length)) }).unwrap();
                } else {
                    assert_eq!(reader.copy_out(&mut all).unwrap(), length);
                }
                drop(reader);
                writer.finish().unwrap();
                assert_eq!(writer.control().failure(), None);
            }
        }
    }

    /// One that has not is an error, and so is one that says why it goes.
    fn a_reader_that_had_less_is_missed(pair) {
        for by_pointer in [false, true] {
            if by_pointer && pair.trap == Trap::Off {
                continue;
            }
            let (mut writer, mut reader) = small(pair).read_ahead(4).open().unwrap().split();
            writer.copy_in(&vec![1; 2 * SMALL]).unwrap();
            if by_pointer {
                // SAFETY: the first byte of the stream.
                reader.scope(|from| unsafe { from.read_volatile() }).unwrap();
            } else {
                let there = reader.fill(0).unwrap().len();
                reader.consume(there);
            }
            drop(reader);
            assert_eq!(writer.finish().unwrap_err().kind(), StreamErrorKind::ReaderGone);
        }
        let (mut writer, mut reader) = small(pair).open().unwrap().split();
        writer.copy_in(&vec![1; SMALL]).unwrap();
        assert_eq!(reader.copy_out(&mut vec![0; SMALL]).unwrap(), SMALL);
        reader.fail("not what was asked for");
        let error = writer.finish().unwrap_err();
        assert!(error.to_string().contains("not what was asked for"), "{error}");
    }

    fn pointers_can_be_demanded(pair) {
        let opened = small(pair).pointers().open();
        match pair.trap {
            Trap::Off => assert!(matches!(opened, Err(OpenError::Unavailable(_))), "{opened:?}"),
            _ => assert!(opened.unwrap().writer().as_mut_ptr().is_ok()),
        }
    }

    fn a_size_that_was_named_is_had_or_refused(pair) {
        let named = small(pair).capacity(3 << 40).open().unwrap();
        assert!(named.capacity() >= 3 << 40);
        assert_eq!(named.control().stats().capacity, named.capacity());
        assert!(small(pair).capacity(1 << 47).open().is_err());
    }

    fn the_capacity_is_a_limit(pair) {
        let blocks = 4;
        let (mut writer, mut reader) = small(pair).capacity((blocks * SMALL) as u64).open().unwrap().split();
        let capacity = writer.control().capacity();
        assert!(capacity >= (blocks * SMALL) as u64);
        std::thread::scope(move |scope| {
            scope.spawn(move || {
                writer.copy_in(&vec![1; capacity as usize]).unwrap();
                let error = writer.copy_in(&[1; 2]).unwrap_err();
                assert_eq!(error.kind(), StreamErrorKind::CapacityExceeded);
            });
            let mut all = vec![0; capacity as usize + 10];
            assert_eq!(reader.copy_out(&mut all).unwrap_err().kind(), StreamErrorKind::CapacityExceeded);
        });
    }

    /// Exactly as much as fits, with the zero byte behind it.
    fn the_capacity_can_be_filled(pair) {
        for bytes in [1, SMALL - 1, SMALL, SMALL + 1, 5 * SMALL] {
            let (mut writer, mut reader) = small(pair).capacity(bytes as u64).open().unwrap().split();
            std::thread::scope(move |scope| {
                scope.spawn(move || {
                    let mut all = vec![0; bytes];
                    put(0, &mut all);
                    writer.copy_in(&all).unwrap();
                    writer.finish().unwrap();
                });
                let mut all = vec![0; bytes + 1];
                assert_eq!(reader.copy_out(&mut all).unwrap(), bytes);
                check(0, &all[..bytes]);
            });
        }
    }

    fn an_announced_length_binds(pair) {
        let (mut writer, mut reader) = small(pair).length(1000).open().unwrap().split();
        assert_eq!(reader.length(), Some(1000));
        writer.copy_in(&[1; 999]).unwrap();
        assert_eq!(writer.finish().unwrap_err().kind(), StreamErrorKind::InvalidLength);
        assert_eq!(reader.fill(1).unwrap_err().kind(), StreamErrorKind::InvalidLength);
        let refused = small(pair).length(1000).capacity(999).open().unwrap_err();
        assert!(matches!(refused, OpenError::Setting(_)), "{refused}");
    }

    fn more_than_a_window_at_once_is_refused(pair) {
        let (mut writer, mut reader) = small(pair).rewrite(1).lookback(1).open().unwrap().split();
        assert_eq!(writer.reserve(2 * SMALL).unwrap().len(), 2 * SMALL);
        writer.commit(SMALL);
        assert_eq!(writer.reserve(2 * SMALL + 1).unwrap_err().kind(), StreamErrorKind::TooLarge);
        assert_eq!(reader.fill(2 * SMALL + 1).unwrap_err().kind(), StreamErrorKind::TooLarge);
        // Neither has failed the stream.
        assert_eq!(reader.fill(SMALL).unwrap().len(), SMALL);
        writer.commit(0);
        writer.finish().unwrap();
    }

    /// Stretches that span a border are one slice, whatever lies behind them.
    fn slices_span_borders(pair) {
        for start in [1, 100, SMALL / 2, SMALL - 1] {
            let (mut writer, mut reader) = small(pair).rewrite(2).lookback(2).open().unwrap().split();
            std::thread::scope(move |scope| {
                scope.spawn(move || {
                    let mut at = 0;
                    for len in std::iter::once(start).chain(std::iter::repeat_n(2 * SMALL, 12)) {
                        let room = writer.reserve(len).unwrap();
                        assert!(room.len() >= len);
                        put(at, &mut room[..len]);
                        writer.commit(len);
                        at += len as u64;
                    }
                    writer.finish().unwrap();
                });
                let mut at = 0;
                loop {
                    let bytes = reader.fill(2 * SMALL - 3).unwrap();
                    check(at, bytes);
                    let now = bytes.len().min(SMALL + 11);
                    if now == 0 {
                        break;
                    }
                    reader.consume(now);
                    at += now as u64;
                }
                assert_eq!(at, (start + 24 * SMALL) as u64);
            });
        }
    }

    /// The reader may be anywhere in its call when it becomes known that the stream ends just here.
    fn the_end_may_come_at_any_moment(pair) {
        for round in 0..600u64 {
            let length = (round % 3 * SMALL as u64).saturating_sub(round % 2);
            let (mut writer, mut reader) = small(pair).open().unwrap().split();
            std::thread::scope(move |scope| {
                scope.spawn(move || {
                    let mut all = vec![0; length as usize];
                    put(0, &mut all);
                    writer.copy_in(&all).unwrap();
                    writer.finish().unwrap();
                });
                loop {
                    let at = reader.position();
                    let bytes = reader.fill(0).unwrap();
                    check(at, bytes);
                    match bytes.len() {
                        0 => return assert_eq!(at, length),
                        len => reader.consume(len),
                    }
                }
            });
        }
    }

    /// The standard traits, with lengths of their own choosing.
    fn as_read_and_write(pair) {
        let text: &str = & (0..60_000).map(|line| format!("line {line}\n")).collect::<String>();
        let (mut writer, reader) = small(pair).open().unwrap().split();
        std::thread::scope(move |scope| {
            scope.spawn(move || {
                writer.write_all(text.as_bytes()).unwrap();
                writer.flush().unwrap();
                writer.finish().unwrap();
            });
            let lines = std::io::BufReader::with_capacity(777, reader).lines();
            lines.enumerate().for_each(|(at, line)| assert_eq!(line.unwrap(), format!("line {at}")));
        });
        let (mut writer, mut reader) = small(pair).open().unwrap().split();
        std::thread::scope(move |scope| {
            scope.spawn(move || {
                std::io::copy(&mut text.as_bytes(), &mut writer).unwrap();
                writer.finish().unwrap();
            });
            let mut all = String::new();
            reader.read_to_string(&mut all).unwrap();
            assert!(all == text);
        });
    }

    fn a_source_fills(pair) {
        for on_demand in [false, true] {
            let length = 9 * SMALL as u64 + 17;
            let fill = move |offset: u64, block: &mut [u8]| {
                let now = ((length - offset) as usize).min(block.len()).min(10_000);
                put(offset, &mut block[..now]);
                Ok(now)
            };
            let mut reader = small(pair).on_demand(on_demand).source(fill).unwrap();
            let mut all = vec![0; length as usize + 1];
            assert_eq!(reader.copy_out(&mut all).unwrap() as u64, length);
            check(0, &all[..length as usize]);
        }
    }

    /// Nothing is asked for ahead of the reader's touch.
    fn on_demand_is_not_ahead(pair) {
        let asked = Arc::new(AtomicU64::new(0));
        let seen = asked.clone();
        let fill = move |offset: u64, block: &mut [u8]| {
            seen.fetch_max(offset + 1, SeqCst);
            block.fill(byte(offset));
            Ok(block.len())
        };
        let mut reader = small(pair).on_demand(true).read_ahead(3).source(fill).unwrap();
        for number in 0..20 {
            assert!(asked.load(SeqCst) <= number * SMALL as u64, "asked ahead of block {number}");
            assert_eq!(reader.fill(1).unwrap()[0], byte(number * SMALL as u64));
            reader.consume(SMALL);
        }
    }

    fn a_failing_source_says_why(pair) {
        let fail = |_: u64, _: &mut [u8]| Err(std::io::Error::other("the tape is torn"));
        let error = small(pair).source(fail).unwrap().fill(1).unwrap_err();
        assert_eq!((error.kind(), error.detail()), (StreamErrorKind::WriterFailed, Some("the tape is torn")));
        let panics = |_: u64, _: &mut [u8]| std::panic::resume_unwind(Box::new("on purpose"));
        let error = small(pair).source(panics).unwrap().fill(1).unwrap_err();
        assert_eq!(error.kind(), StreamErrorKind::WriterFailed);
    }

    fn a_sink_empties(pair) {
        let length = 9 * SMALL + 17;
        let got = Arc::new(AtomicU64::new(0));
        let count = got.clone();
        let empty = move |offset: u64, bytes: &[u8]| {
            check(offset, bytes);
            count.fetch_add(bytes.len() as u64, SeqCst);
            Ok(())
        };
        let mut writer = small(pair).sink(empty).unwrap();
        let mut all = vec![0; length];
        put(0, &mut all);
        writer.copy_in(&all).unwrap();
        writer.finish().unwrap();
        assert_eq!(got.load(SeqCst), length as u64);

        let mut writer = small(pair).sink(|_: u64, _: &[u8]| Err(std::io::Error::other("no paper"))).unwrap();
        let wrote = writer.copy_in(&all);
        let finished = writer.finish();
        assert!(wrote.is_err() || finished.is_err());
        assert!(finished.unwrap_err().to_string().contains("no paper"));
    }

    fn a_pool_too_small_says_so(pair) {
        let pool = Pool::new(BlockSize::MIN, 3, Some(pair.trap), Some(pair.mover)).unwrap();
        let mut pipe = small(pair).pool(&pool).open().unwrap();
        let error = pipe.writer().copy_in(&[1]).unwrap_err();
        assert_eq!(error.kind(), StreamErrorKind::OutOfBlocks);
        assert!(error.to_string().contains("EAGRE_POOL"), "{error}");
        drop(pipe);
        let wrong = sized(pair, BlockSize::DEFAULT).pool(&pool).open().unwrap_err();
        assert!(matches!(wrong, OpenError::Setting(_)), "{wrong}");
    }

    /// Streams for explicit calls use the blocks of any pool, in turns with streams whose blocks move.
    /// Blocks of a pool come home by its mover. So only a stream with the same one, or one that leaves them at home, has a place there.
    fn a_pool_of_another_mover_is_refused(pair) {
        for trap in [Trap::Pager, Trap::Signal, Trap::Off] {
            for mover in [Mover::Move, Mover::Remap, Mover::Copy] {
                let Ok(pool) = Pool::new(BlockSize::MIN, 8, Some(trap), Some(mover)) else { continue };
                let fits = pair.mover == Mover::Copy || (trap, mover) == (pair.trap, pair.mover);
                match small(pair).pool(&pool).open() {
                    Ok(_) => assert!(fits, "{trap} + {mover}"),
                    Err(OpenError::Setting(_)) => assert!(!fits, "{trap} + {mover}"),
                    Err(error) => panic!("{error}"),
                }
            }
        }
    }

    fn streams_for_explicit_calls_in_any_pool(pair) {
        let pool = Pool::new(BlockSize::MIN, 5, Some(pair.trap), Some(pair.mover)).unwrap();
        let explicit = || Pipe::builder().block_size(BlockSize::MIN).explicit();
        for (turn, builder) in [explicit(), small(pair), explicit().recycle(false), small(pair), explicit().sparse(true)]
            .into_iter()
            .enumerate()
        {
            let (mut writer, mut reader) = builder.pool(&pool).open().unwrap().split();
            assert_eq!(writer.as_mut_ptr().is_ok(), turn % 2 == 1 && pair.trap != Trap::Off);
            let sent: Vec<u8> = (0..20 * SMALL + 5).map(|at| (at * 31 + at / SMALL + turn) as u8).collect();
            std::thread::scope(|scope| {
                let helper = scope.spawn(|| {
                    writer.copy_in(&sent).unwrap();
                    writer.finish().unwrap();
                });
                let mut got = Vec::new();
                reader.read_to_end(&mut got).unwrap();
                assert!(got == sent, "turn {turn}");
                helper.join().unwrap();
            });
            drop(reader);
            drop(writer);
            assert_eq!((pool.stats().taken, pool.stats().committed), (0, 0), "turn {turn}");
        }
        pool.trim();
        assert_eq!(pool.stats().resident, 0);
    }
}

/// Any length, and no addresses for it; as long as nobody asks for what it has not.
#[test]
fn streams_for_explicit_calls() {
    let explicit = || Pipe::builder().block_size(BlockSize::MIN).explicit();
    let (mut writer, mut reader) = explicit().length(3 << 50).open().unwrap().split();
    assert_eq!(reader.length(), Some(3 << 50));
    for error in [writer.as_mut_ptr().unwrap_err(), reader.as_ptr().unwrap_err()] {
        assert_eq!(error.kind(), StreamErrorKind::NoPointer);
        assert!(error.to_string().contains("it was opened for explicit calls only; "), "{error}");
    }
    let mut pipe = explicit().open().unwrap();
    assert_eq!((pipe.trap(), pipe.mover()), (Trap::Off, eagre_mem::Mover::Copy));
    assert!(pipe.capacity() > i64::MAX as u64, "{}", pipe.capacity());
    pipe.writer().copy_in(b"some bytes").unwrap();
    pipe.writer().finish().unwrap();
    assert_eq!(pipe.reader().fill(0).unwrap(), b"some bytes");

    let contradictions =
        [explicit().pointers(), explicit().trap(Trap::Signal), explicit().mover(eagre_mem::Mover::Move)];
    for builder in contradictions {
        assert!(matches!(builder.open(), Err(OpenError::Setting(_))));
    }
    assert!(explicit().trap(Trap::Off).mover(eagre_mem::Mover::Copy).open().is_ok());
}

#[test]
fn settings_out_of_range_are_refused() {
    for builder in [
        Pipe::builder().read_ahead(0),
        Pipe::builder().rewrite(61),
        Pipe::builder().lookback(61),
        Pipe::builder().capacity(1 << 50),
    ] {
        assert!(matches!(builder.open(), Err(OpenError::Setting(_))));
    }
    // No setting: a stream without addresses carries so much.
    assert!(matches!(Pipe::builder().at_least(1 << 50).open(), Err(OpenError::Resources(_))));
    assert!(Pipe::builder().at_least(1 << 50).explicit().open().is_ok());
    let no_pair = Pipe::builder().trap(Trap::Off).mover(eagre_mem::Mover::Move).open();
    assert!(matches!(no_pair, Err(OpenError::Unavailable(_))));
}

each_pointer_pair! {
    /// A pointer that has gone far ahead says so before explicit calls go on; else they ask for bytes that are gone.
    fn explicit_calls_behind_a_pointer(pair) {
        const LENGTH: u64 = 6 * SMALL as u64;
        let (mut writer, mut reader) = small(pair).open().unwrap().split();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // SAFETY: ascending stores within the capacity.
                writer.scope(|to| unsafe { put_through(to, 0, LENGTH, SMALL) }).unwrap();
                assert_eq!(writer.reserve(1).unwrap_err().kind(), StreamErrorKind::BehindWindow);
                writer.advance_to(LENGTH).unwrap();
                writer.copy_in(pattern(LENGTH, 10)).unwrap();
                writer.finish().unwrap();
            });
            // SAFETY: ascending loads within the length.
            reader.scope(|from| unsafe { check_through(from, 0, LENGTH, SMALL) }).unwrap();
            let error = reader.fill(1).unwrap_err();
            assert_eq!(error.kind(), StreamErrorKind::BehindWindow);
            assert!(error.to_string().contains("advance_to"), "{error}");
            assert_eq!(reader.try_take().unwrap_err().kind(), StreamErrorKind::BehindWindow);
            // The stream has not failed.
            reader.advance_to(LENGTH).unwrap();
            check(LENGTH, reader.fill(10).unwrap());
        });
    }
}
