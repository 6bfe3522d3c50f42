//! What unmodified code does on a stream pointer, as a table: `cargo test -p eagre-mem --test libc_table -- --nocapture`.
//!
//! Each cell is a process of its own, with the default stream: blocks of 2 MiB, L = M = N = 1. The other end is
//! explicit and checks every byte. A cell is `ok` (all bytes arrived) or `message`: the function went further back than
//! the window, and the process ended with the one line that says so. Nothing else is allowed: no hang, and no stream
//! that finishes with a wrong byte. (A long `memcpy` stores its first bytes last, so the reader has seen the first block
//! without them by the time the store comes and is caught.) A debug build leaves out the longest rows.
#![cfg(target_os = "linux")]

#[macro_use]
mod common;

use common::child::{self, Outcome};
use common::working_pointer_pairs;
use eagre_mem::probe::Pair;
use eagre_mem::stream::{Pipe, PipeBuilder, Reader, Writer};
use std::ffi::c_void;
use std::io::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

const ROW: &str = "EAGRE_TEST_ROW";
const MIB: usize = 1 << 20;
/// How soon the source repeats: a prime number of pages, so that no two blocks near one another are alike.
const PERIOD: usize = 131 * 4096;

/// One row: what is called, on which end, how many bytes, how far off alignment, and with how wide a window.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    function: &'static str,
    len: usize,
    skew: usize,
    window: u32,
}

const WRITERS: [&str; 3] = ["memcpy to", "memmove to", "memset"];
const READERS: [&str; 4] = ["memcpy from", "memcmp", "memmem", "strstr"];
const CODECS: [&str; 6] = [
    "inflate to",
    "inflate 1 MiB at a time to",
    "inflate from",
    "zstd decompress to",
    "zstd decompress from",
    "zstd compress from",
];

fn rows() -> Vec<Row> {
    let longest = if cfg!(debug_assertions) { 48 * MIB } else { 1024 * MIB };
    let mut rows = Vec::new();
    for function in WRITERS.into_iter().chain(READERS) {
        for len in [64 << 10, MIB, 4 * MIB, 16 * MIB, longest] {
            for skew in [0, 13] {
                rows.push(Row { function, len, skew, window: 1 });
            }
        }
    }
    rows.extend(CODECS.map(|function| Row { function, len: 8 * MIB, skew: 0, window: 1 }));
    // The cures: a window as wide as the copy, and the helper.
    rows.push(Row { function: "memcpy to", len: 16 * MIB, skew: 13, window: 9 });
    rows.push(Row { function: "memmove to", len: 16 * MIB, skew: 13, window: 9 });
    rows.push(Row { function: "copy_in", len: longest, skew: 13, window: 1 });
    rows.push(Row { function: "copy_out", len: longest, skew: 13, window: 1 });
    rows
}

#[test]
fn child() {
    child::serve(&[("row", |pair| {
        let number: usize = std::env::var(ROW).unwrap().parse().unwrap();
        cell(pair, &rows()[number]);
    })]);
}

#[test]
fn what_libc_does() {
    let _dog = common::Watchdog::new("what_libc_does");
    let (pairs, rows) = (working_pointer_pairs(), rows());
    let cells = Mutex::new(vec![vec!["?"; pairs.len()]; rows.len()]);
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, SeqCst);
                    let (row, column) = (at / pairs.len(), at % pairs.len());
                    let Some(what) = rows.get(row) else { return };
                    let outcome = child::run_with("row", pairs[column], &[(ROW, &row.to_string())]);
                    cells.lock().unwrap()[row][column] = verdict(what, pairs[column], &outcome);
                }
            });
        }
    });
    print!("{}", table(&pairs, &rows, &cells.lock().unwrap()));
}

fn verdict(row: &Row, pair: Pair, outcome: &Outcome) -> &'static str {
    let messages = outcome.messages();
    if outcome.success {
        assert!(messages.is_empty(), "{pair}, {row:?}: {outcome:?}");
        return "ok";
    }
    let fault = matches!(outcome.signal, Some(libc::SIGSEGV | libc::SIGBUS));
    let told = messages.len() == 1 && messages[0].contains("outside the window");
    assert!(fault && told, "{pair}, {row:?}: {outcome:?}");
    // What fits a window never needs the message.
    assert!(row.len > 2 * MIB && !row.function.starts_with("copy_"), "{pair}, {row:?}: {outcome:?}");
    assert!(row.window < 9, "{pair}, {row:?}: {outcome:?}");
    "message"
}

fn table(pairs: &[Pair], rows: &[Row], cells: &[Vec<&str>]) -> String {
    let head: Vec<_> = pairs.iter().map(Pair::to_string).collect();
    let mut text = format!("\n| call | bytes | alignment | L = M | {} |\n", head.join(" | "));
    text += &format!("|---|---|---|---|{}\n", "---|".repeat(pairs.len()));
    for (row, cells) in rows.iter().zip(cells) {
        let len = if row.len < MIB { format!("{} KiB", row.len >> 10) } else { format!("{} MiB", row.len / MIB) };
        let skew = if row.skew == 0 { "aligned" } else { "unaligned" };
        text += &format!("| {} | {len} | {skew} | {} | {} |\n", row.function, row.window, cells.join(" | "));
    }
    text
}

/// Letters without a `z`, in a mapping that repeats one file: as long as it likes and always in the cache.
fn letters(len: usize) -> *mut u8 {
    let (period, mut rng) = (PERIOD, common::Rng::new(3));
    let eight = || rng.next().to_le_bytes().map(|byte| b'a' + byte % 25);
    let once: Vec<u8> = std::iter::repeat_with(eight).take(period / 8).flatten().collect();
    // SAFETY: mappings of our own: addresses first, then the file over them again and again.
    unsafe {
        let file = libc::memfd_create(c"letters".as_ptr(), 0);
        assert!(file >= 0 && libc::write(file, once.as_ptr().cast(), period) == period as isize);
        let len = len.next_multiple_of(period) + period;
        let start =
            libc::mmap(std::ptr::null_mut(), len, libc::PROT_NONE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0);
        assert_ne!(start, libc::MAP_FAILED);
        for at in (0..len).step_by(period) {
            let flags = libc::MAP_SHARED | libc::MAP_FIXED;
            let piece = libc::mmap(start.byte_add(at), period, libc::PROT_READ | libc::PROT_WRITE, flags, file, 0);
            assert_ne!(piece, libc::MAP_FAILED);
        }
        start.cast()
    }
}

fn stream(pair: Pair, row: &Row) -> PipeBuilder {
    Pipe::builder().trap(pair.trap).mover(pair.mover).rewrite(row.window).lookback(row.window)
}

/// `len` bytes of the source, from `skew` on.
#[derive(Clone, Copy)]
struct Source(usize);

impl Source {
    fn pointer(self, at: usize) -> *mut u8 {
        std::ptr::with_exposed_provenance_mut(self.0 + at)
    }

    fn bytes<'a>(self, at: usize, len: usize) -> &'a [u8] {
        // SAFETY: mapped for good, and only ever overwritten by what it holds.
        unsafe { std::slice::from_raw_parts(self.pointer(at), len) }
    }
}

fn cell(pair: Pair, row: &Row) {
    let source = Source(letters(row.len + 64).expose_provenance());
    let (mut writer, mut reader) = stream(pair, row).open().unwrap().split();
    let packed = Arc::new(if row.function.contains(' ') { pack(row, source) } else { Vec::new() });
    let (row_w, packed_w) = (row.clone(), packed.clone());
    // The reader goes with the closure, so that a failure here cannot leave the writer waiting.
    std::thread::scope(move |scope| {
        scope.spawn(move || write(&mut writer, &row_w, source, &packed_w));
        read(&mut reader, row, source, &packed);
    });
}

/// What a codec's row begins with: the source, compressed.
fn pack(row: &Row, source: Source) -> Vec<u8> {
    let plain = source.bytes(0, row.len);
    if row.function.starts_with("inflate") {
        let mut packer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(plain).unwrap();
        return packer.finish().unwrap();
    }
    if row.function.starts_with("zstd decompress") { zstd::bulk::compress(plain, 3).unwrap() } else { Vec::new() }
}

fn inflate(from: &[u8], to: &mut [u8]) {
    let done = flate2::Decompress::new(true).decompress(from, to, flate2::FlushDecompress::Finish).unwrap();
    assert_eq!(done, flate2::Status::StreamEnd);
}

/// As most callers do it.
fn inflate_in_pieces(from: &[u8], to: &mut [u8]) {
    let mut unpacker = flate2::Decompress::new(true);
    for piece in to.chunks_mut(MIB) {
        let (read, before) = (unpacker.total_in() as usize, unpacker.total_out());
        unpacker.decompress(&from[read..], piece, flate2::FlushDecompress::None).unwrap();
        assert_eq!((unpacker.total_out() - before) as usize, piece.len());
    }
}

fn write(writer: &mut Writer, row: &Row, source: Source, packed: &[u8]) {
    let (len, skew) = (row.len, row.skew);
    let from = source.pointer(skew / 2);
    let run = |writer: &mut Writer, call: &dyn Fn(*mut u8)| {
        writer.scope(call).unwrap();
        writer.finish_at((skew + len) as u64).unwrap();
    };
    // SAFETY: writes of `len` bytes within the capacity; how far back they go is the question.
    let room = |to: *mut u8| unsafe { std::slice::from_raw_parts_mut(to, len) };
    match row.function {
        // SAFETY: `len` bytes are there to be read, and within the capacity to be written.
        "memcpy to" => run(writer, &|to| unsafe {
            libc::memcpy(to.add(skew).cast(), from.cast(), len);
        }),
        // SAFETY: as above.
        "memmove to" => run(writer, &|to| unsafe {
            libc::memmove(to.add(skew).cast(), from.cast(), len);
        }),
        // SAFETY: as above.
        "memset" => run(writer, &|to| unsafe {
            libc::memset(to.add(skew).cast(), i32::from(b'm'), len);
        }),
        "inflate to" => run(writer, &|to| inflate(packed, room(to))),
        "inflate 1 MiB at a time to" => run(writer, &|to| inflate_in_pieces(packed, room(to))),
        "zstd decompress to" => run(writer, &|to| {
            assert_eq!(zstd::bulk::decompress_to_buffer(packed, room(to)).unwrap(), len);
        }),
        "inflate from" | "zstd decompress from" => {
            writer.copy_in(packed).unwrap();
            writer.finish().unwrap();
        }
        _ => {
            writer.copy_in(&vec![b'-'; skew]).unwrap();
            writer.copy_in(source.bytes(skew / 2, len)).unwrap();
            if matches!(row.function, "memmem" | "strstr") {
                writer.copy_in(b"zebra").unwrap();
            }
            writer.finish().unwrap();
        }
    }
}

fn read(reader: &mut Reader, row: &Row, source: Source, packed: &[u8]) {
    let (len, skew) = (row.len, row.skew);
    let right = source.bytes(skew / 2, len);
    // SAFETY: the stream has this many bytes; how far back the function goes is the question.
    let there = |from: *const u8, len: usize| unsafe { std::slice::from_raw_parts(from, len) };
    match row.function {
        "memcpy from" => reader.scope(|from| {
            // The right bytes are written over the same ones, in a copy that starts out different.
            let to = letters(len + 64);
            // SAFETY: both have `len` bytes.
            unsafe {
                to.write_bytes(b'x', PERIOD.min(len));
                libc::memcpy(to.cast(), from.add(skew).cast(), len);
                let off = skew / 2;
                let tail = len.saturating_sub(MIB);
                let got = std::slice::from_raw_parts(to.add(tail), len - tail);
                assert!(got == source.bytes(off + tail, len - tail));
            }
        }),
        "memcmp" => reader.scope(|from| {
            // SAFETY: both have `len` bytes.
            let order = unsafe { libc::memcmp(from.add(skew).cast(), right.as_ptr().cast(), len) };
            assert_eq!(order, 0);
        }),
        "memmem" => reader.scope(|from| {
            // SAFETY: the stream has these bytes.
            let found: *mut c_void =
                unsafe { libc::memmem(from.add(skew).cast(), len + 5, c"zebra".as_ptr().cast(), 5) };
            assert_eq!(found.addr(), from.addr() + skew + len);
        }),
        "strstr" => reader.scope(|from| {
            // SAFETY: a zero byte follows the end.
            let found = unsafe { libc::strstr(from.add(skew).cast(), c"zebra".as_ptr()) };
            assert_eq!(found.addr(), from.addr() + skew + len);
        }),
        "inflate from" => reader.scope(|from| {
            let mut out = vec![0; len];
            inflate(there(from, packed.len()), &mut out);
            assert!(out == right);
        }),
        "zstd decompress from" => reader.scope(|from| {
            assert!(zstd::bulk::decompress(there(from, packed.len()), len).unwrap() == right);
        }),
        "zstd compress from" => reader.scope(|from| {
            let packed = zstd::bulk::compress(there(from, len), 3).unwrap();
            assert!(zstd::bulk::decompress(&packed, len).unwrap() == right);
        }),
        _ => return read_all(reader, row, right),
    }
    .unwrap();
    let length = match row.function {
        "inflate from" | "zstd decompress from" => packed.len(),
        "memmem" | "strstr" => skew + len + 5,
        _ => skew + len,
    };
    // A reader that went before the writer has finished would be an error to it.
    reader.advance_to(length as u64).unwrap();
    assert!(reader.fill(1).unwrap().is_empty());
}

/// The explicit reader, which checks everything, and complains at the end of the stream.
fn read_all(reader: &mut Reader, row: &Row, right: &[u8]) {
    let (mut at, mut all_right) = (0, true);
    let (mut buffer, ems) = (vec![0; 3 * MIB + 5], vec![b'm'; 3 * MIB]);
    loop {
        let got = if row.function == "copy_out" {
            let len = reader.copy_out(&mut buffer).unwrap();
            &buffer[..len]
        } else {
            reader.fill(0).unwrap()
        };
        let len = got.len();
        if len == 0 {
            break;
        }
        let skip = row.skew.saturating_sub(at).min(len);
        let from = (at + skip).saturating_sub(row.skew);
        if row.function == "memset" {
            all_right &= got[skip..] == ems[..len - skip];
        } else {
            all_right &= got[skip..] == right[from..from + len - skip];
        }
        at += len;
        if row.function != "copy_out" {
            reader.consume(len);
        }
    }
    assert!(all_right && at == row.skew + row.len);
}
