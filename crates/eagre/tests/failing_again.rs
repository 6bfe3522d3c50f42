//! Files that cannot be opened, or read or written to their ends, again and again, on every pair of trap and mover: of
//! what the process has, nothing is taken. A process of its own, with one test: it counts what others would take.
#![cfg(target_os = "linux")]

use eagre::file::{Caching, Engine, ReadOptions, WriteOptions};
#[cfg(feature = "sort")]
use eagre::partition::{Layout, PartitionError, Partitioner};
use eagre::probe::{self, Pair};
use eagre::scan::{self, Scan, Scanner};
use eagre::{BlockSize, Pipe, PipeBuilder, Pool};
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const BLOCK: usize = BlockSize::MIN.bytes();
/// What pools and caches may keep.
const KEPT: u64 = 64 << 20;

/// How often each thing fails on each pair: more than enough to see what it leaves. All rounds with `EAGRE_LONG`.
fn rounds() -> usize {
    if std::env::var_os("EAGRE_LONG").is_some() { 20_000 } else { 250 }
}

/// What this process has of everything that a stream takes.
#[derive(Debug)]
struct Taken {
    addresses: u64,
    mappings: usize,
    descriptors: usize,
    threads: usize,
    default_capacity: u64,
}

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

impl Taken {
    fn now() -> Taken {
        let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
        Taken {
            default_capacity: Pipe::open().unwrap().capacity(),
            addresses: pages.split(' ').next().unwrap().parse::<u64>().unwrap() * 4096,
            mappings: std::fs::read_to_string("/proc/self/maps").unwrap().lines().count(),
            descriptors: std::fs::read_dir("/proc/self/fd").unwrap().count(),
            threads: threads(),
        }
    }
}

/// Waits until threads that have done their work have ended, and others have not.
fn settle(lasting: usize) {
    let start = Instant::now();
    while threads() > lasting && start.elapsed() < Duration::from_secs(200) {
        std::thread::yield_now();
    }
}

/// Does something many times, and looks whether anything is left of it, beside so many threads.
fn again_and_again(what: &str, lasting: usize, mut once: impl FnMut(usize)) {
    // The first ones fill pools and caches that stay.
    (0..20).for_each(&mut once);
    settle(lasting);
    let before = Taken::now();
    (0..rounds()).for_each(&mut once);
    settle(lasting);
    let after = Taken::now();
    let told = format!("{what}: {before:?} {after:?}");
    assert_eq!(after.default_capacity, before.default_capacity, "{told}");
    assert_eq!((after.descriptors, after.threads), (before.descriptors, lasting), "{told}");
    assert!(after.addresses <= before.addresses + KEPT && after.mappings <= before.mappings + 100, "{told}");
}

/// A room with a small file in it.
struct Room(tempfile::TempDir);

impl Room {
    const SIZE: usize = 3 * BLOCK + 17;

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

/// A stream of small blocks for a pair.
fn small(pair: Pair) -> PipeBuilder {
    Pipe::builder().trap(pair.trap).mover(pair.mover).block_size(BlockSize::MIN).capacity(1 << 30)
}

fn reading(round: usize, pair: Pair) -> ReadOptions {
    let engine = if round % 4 == 3 { Engine::Uring } else { Engine::Blocking };
    ReadOptions::new().stream(small(pair)).caching([Caching::Unbuffered, Caching::Cached][round / 2 % 2]).engine(engine)
}

/// What must fail, each time: with the number of the round and the pair to use.
type Once = fn(&Room, usize, Pair);

const WAYS: &[(&str, Once)] = &[
    ("a file that is missing", |room, round, pair| {
        let error = reading(round, pair).open(room.path("missing")).map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
    }),
    ("a directory", |room, round, pair| {
        let read = reading(round, pair).open(room.0.path()).and_then(|mut reader| reader.read(&mut [0]));
        assert!(read.is_err());
    }),
    ("a file that ends too early", |room, round, pair| {
        let read = reading(round, pair).length(1 << 30).open(room.path("file"));
        // No io_uring, perhaps.
        let read = read.and_then(|mut reader| io::copy(&mut reader, &mut io::sink()));
        assert!(read.is_err_and(|error| round % 4 == 3 || error.kind() == ErrorKind::UnexpectedEof));
    }),
    ("a file that is left half-way", |room, round, pair| {
        if let Ok(mut reader) = reading(round, pair).open(room.path("file")) {
            let _ = reader.fill(1);
        }
    }),
    ("a file in a directory that is missing", |room, _, pair| {
        let created = WriteOptions::new().stream(small(pair)).create(room.path("missing/file"));
        assert_eq!(created.map(drop).unwrap_err().kind(), ErrorKind::NotFound);
    }),
    ("a file that is not finished", |room, round, pair| {
        let path = room.path("new");
        let mut writer = WriteOptions::new().stream(small(pair)).create(&path).unwrap();
        writer.write_all(&[1; 100]).unwrap();
        if round % 2 == 0 {
            writer.fail("as expected");
            assert!(writer.finish().is_err());
        } else {
            drop(writer);
        }
        assert!(!path.exists());
    }),
    ("a disk that is full", |_, _, pair| {
        let Ok(mut writer) = WriteOptions::new().stream(small(pair)).create("/dev/full") else { return };
        let wrote = writer.write_all(&[1; 100]);
        assert!(writer.finish().is_err() || wrote.is_err());
    }),
    ("a pool that is too small", |_, _, pair| {
        let pool = Pool::new(BlockSize::MIN, 2, Some(pair.trap), Some(pair.mover)).unwrap();
        let mut pipe = small(pair).pool(&pool).open().unwrap();
        assert_eq!(pipe.writer().copy_in(&[1]).unwrap_err().kind(), eagre::StreamErrorKind::OutOfBlocks);
    }),
    ("a scan of a file that is cut", |room, round, _| {
        let path = room.path("cut");
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&path).unwrap();
        file.set_len(4 << 20).unwrap();
        let plan = [scan::Plan::Map, scan::Plan::Read, scan::Plan::Direct][round % 3];
        let mut scanner = Scanner::new().threads(1 + round % 2).plan(plan);
        let scanned = scanner.input(File::open(&path).unwrap().into(), &Cut(&path), |_, ()| ControlFlow::Continue(()));
        // A stream may have read all of it before.
        let seen = scanned.is_err_and(|error| error.source.kind() == ErrorKind::UnexpectedEof);
        assert!(seen || plan == scan::Plan::Direct, "{plan:?}");
    }),
    #[cfg(feature = "compressed")]
    ("a compressed file that ends too early", |room, _, _| {
        let path = room.path("cut.gz");
        std::fs::write(&path, b"\x1f\x8b\x08\0\0\0\0\0\0\x03\x4b").unwrap();
        let scan::Input::Stream(mut reader) = eagre::compressed::open(&path).unwrap() else { panic!("not unpacked") };
        assert!(reader.read_to_end(&mut Vec::new()).is_err());
    }),
    #[cfg(feature = "external")]
    ("a sort of a record that is cut short", |room, round, _| {
        use eagre::external::{FileSorter, LEAST_MEMORY, Plan};
        use eagre::records::Fixed;
        let plan = [Plan::Classic, Plan::OnePass, Plan::MergePass][round % 3];
        let sorter = FileSorter::new().memory(LEAST_MEMORY).threads(1 + round % 2).temporary(room.0.path()).plan(plan);
        let error = sorter.sort_file(&Fixed::gensort(), room.path("file"), room.path("new")).unwrap_err();
        assert!(error.to_string().contains("cut short"), "{error}");
        assert!(!room.path("new").exists());
    }),
    #[cfg(feature = "sort")]
    ("more buckets than there is memory for", |_, _, pair| {
        let pool = Pool::new(BlockSize::MIN, 4, Some(pair.trap), Some(pair.mover)).unwrap();
        let items: Vec<u64> = (0..1000).map(|at: u64| at << 54).collect();
        let how = Partitioner::new().ways(64).threads(1).layout(Layout::Apart).slack(usize::MAX).pool(&pool);
        let parts = how.partition(&items);
        assert!(matches!(parts, Err(PartitionError::Memory(_))), "{:?}", parts.map(|parts| parts.len()));
    }),
];

/// Cuts the file that is scanned.
struct Cut<'p>(&'p Path);

impl Scan for Cut<'_> {
    type Worker = ();
    type Part = ();
    fn worker(&self) {}
    fn piece(&self, (): &mut (), _: u64, _: &[u8]) {
        File::options().write(true).open(self.0).unwrap().set_len(0).unwrap();
    }
}

#[test]
fn nothing_is_taken() {
    // What the allocator keeps for each new thread, 64 MiB of addresses, is not the stream's.
    // SAFETY: a plain setting.
    unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
    let room = Room(tempfile::tempdir().unwrap());
    std::fs::write(room.path("file"), vec![7; Room::SIZE]).unwrap();
    let pairs = probe::examine();
    // The default stream's pool, and the pager's thread, stay.
    for _ in 0..2 {
        Taken::now();
    }
    let lasting = threads();
    for status in pairs {
        let pair = status.pair;
        if let Some(why) = status.refusal {
            eprintln!("skipped: {pair}: {why}");
            continue;
        }
        for (what, once) in WAYS {
            again_and_again(&format!("{what} on {pair}"), lasting, |round| once(&room, round, pair));
        }
        // Nor a place each in the table of ranges (8192, two a stream).
        let pool = Pool::new(BlockSize::MIN, 4, Some(pair.trap), Some(pair.mover)).unwrap();
        let open =
            || small(pair).pool(&pool).capacity(1 << 20).open().unwrap_or_else(|error| panic!("{pair}: {error}"));
        drop((0..3900).map(|_| open()).collect::<Vec<Pipe>>());
    }
}
