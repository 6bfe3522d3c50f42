//! The explicit interface alone, small enough for Miri:
//! `MIRIFLAGS="-Zmiri-permissive-provenance -Zmiri-ignore-leaks" cargo +nightly miri test -p eagre-mem --test explicit_miri`
//! (the shared pool lives as long as the process, which Miri counts as a leak).

use eagre_mem::stream::{Pipe, PipeBuilder, StreamErrorKind};
use eagre_mem::{BlockSize, Mover, Pool, Trap};

const BLOCK: usize = BlockSize::MIN.bytes();

fn explicit() -> PipeBuilder {
    Pipe::builder().trap(Trap::Off).mover(Mover::Copy).block_size(BlockSize::MIN).capacity(1 << 24)
}

fn byte(at: usize) -> u8 {
    (at / 251 + at) as u8
}

/// Two threads, lengths that span borders, three blocks.
#[test]
fn bytes_arrive() {
    let (mut writer, mut reader) = explicit().rewrite(1).lookback(1).open().unwrap().split();
    let length = 3 * BLOCK + 17;
    let all: Vec<u8> = (0..length).map(byte).collect();
    std::thread::scope(|scope| {
        let all = &all;
        scope.spawn(move || {
            let mut at = 0;
            while at < length {
                let len = (BLOCK / 2 + 999).min(length - at);
                writer.reserve(len).unwrap()[..len].copy_from_slice(&all[at..at + len]);
                writer.commit(len);
                at += len;
            }
            writer.finish().unwrap();
        });
        let mut at = 0;
        loop {
            let bytes = reader.fill(BLOCK + 5).unwrap();
            let len = bytes.len().min(BLOCK - 77);
            assert_eq!(bytes[..len], all[at..at + len]);
            if len == 0 {
                break;
            }
            reader.consume(len);
            at += len;
        }
        assert_eq!(at, length);
    });
}

/// Blocks that travel to other threads and come back in another order.
#[test]
fn blocks_travel() {
    let (mut writer, mut reader) = explicit().rewrite(1).lookback(1).open().unwrap().split();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for _ in 0..2 {
                let (mut first, mut second) = (writer.take().unwrap(), writer.take().unwrap());
                let filled = std::thread::spawn(move || {
                    second.as_mut_slice()[..8].copy_from_slice(b"second--");
                    second
                });
                first.as_mut_slice()[..8].copy_from_slice(b"first---");
                writer.complete(filled.join().unwrap());
                writer.complete(first);
            }
            writer.finish().unwrap();
        });
        for _ in 0..2 {
            let (first, second) = (reader.take().unwrap().unwrap(), reader.take().unwrap().unwrap());
            assert_eq!((&first.as_slice()[..8], &second.as_slice()[..8]), (&b"first---"[..], &b"second--"[..]));
            reader.release_block(second);
            reader.release_block(first);
        }
        assert!(reader.take().unwrap().is_none());
    });
}

/// Memory comes back zeroed, and all of it comes back.
#[test]
fn one_pool_many_streams() {
    let pool = Pool::new(BlockSize::MIN, 4, Some(Trap::Off), Some(Mover::Copy)).unwrap();
    for round in 0..3u8 {
        let mut pipe = explicit().pool(&pool).rewrite(0).lookback(0).read_ahead(1).open().unwrap();
        let room = pipe.writer().reserve(1).unwrap();
        assert!(room[..100].iter().all(|&byte| byte == 0));
        room[..100].fill(round + 1);
        pipe.writer().commit(100);
        pipe.writer().finish().unwrap();
        assert_eq!(pipe.reader().fill(1).unwrap(), [round + 1; 100]);
    }
    assert_eq!((pool.stats().taken, pool.stats().committed), (0, 0));
}

#[test]
fn the_other_end_goes() {
    let (writer, mut reader) = explicit().open().unwrap().split();
    let reading = std::thread::spawn(move || reader.fill(1).map(<[u8]>::len));
    drop(writer);
    assert_eq!(reading.join().unwrap().unwrap_err().kind(), StreamErrorKind::WriterGone);

    let (mut writer, reader) = explicit().open().unwrap().split();
    let block = writer.take().unwrap();
    drop(block);
    drop(reader);
    assert_eq!(writer.reserve(1).unwrap_err().kind(), StreamErrorKind::WriterGone);
}
