//! What comes out of compressed files is what their own tools put in.
#![forbid(unsafe_code)]

use fastrand::Rng;
use std::fs;
use std::io::{self, BufRead, Cursor, Read, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use eagre::compressed::{self, Format, decompress};
use eagre::probe;
use eagre::scan::Input;

const FORMATS: [(Format, &str); 3] = [(Format::Gzip, "gzip"), (Format::Zstd, "zstd"), (Format::Lz4, "lz4")];

/// Runs a tool as a filter. `None`, with a word about it, if there is no such tool.
fn filter(tool: &str, arguments: &[&str], input: &[u8]) -> Option<Vec<u8>> {
    let spawned = Command::new(tool).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let Ok(mut child) = spawned else {
        eprintln!("skipped: no {tool} here");
        return None;
    };
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|threads| {
        threads.spawn(move || stdin.write_all(input).unwrap());
        let mut output = Vec::new();
        child.stdout.take().unwrap().read_to_end(&mut output).unwrap();
        assert!(child.wait().unwrap().success(), "{tool} {arguments:?}");
        Some(output)
    })
}

/// Numbers that only look random, the same for the same seed. A test that fails shows its seeds.
fn seeded(seed: u64) -> Rng {
    eprintln!("seed: {seed}");
    Rng::with_seed(seed)
}

/// Text of words, which compresses, with references from near and far.
fn words(length: usize) -> Vec<u8> {
    let mut random = seeded(length as u64);
    let mut text = Vec::with_capacity(length + 20);
    while text.len() < length {
        text.extend(format!("word{} ", random.usize(..5000)).as_bytes());
        if random.usize(..40) == 0 {
            text.push(b'\n');
        }
    }
    text.truncate(length);
    text
}

fn noise(length: usize) -> Vec<u8> {
    let mut random = seeded(99);
    (0..length).map(|_| random.u8(..)).collect()
}

/// Everything a packed file gives: on pointers if its length is told, on blocks otherwise.
fn unpack(format: Format, packed: &[u8], tell_length: bool) -> io::Result<Vec<u8>> {
    let length = tell_length.then_some(packed.len() as u64);
    let mut reader = decompress(format, "name", length, Cursor::new(packed.to_vec()))?;
    let mut content = Vec::new();
    loop {
        let piece = reader.fill_buf()?;
        if piece.is_empty() {
            // However much came out: N + L + M + 1 blocks.
            assert!(reader.control().stats().most <= 6);
            return Ok(content);
        }
        content.extend_from_slice(piece);
        let length = piece.len();
        BufRead::consume(&mut reader, length);
    }
}

#[track_caller]
fn assert_gives(format: Format, packed: &[u8], content: &[u8]) {
    for tell_length in [true, false] {
        let got = unpack(format, packed, tell_length).unwrap();
        assert!(got == content, "{format}, {} bytes for {}, length told: {tell_length}", got.len(), content.len());
    }
}

#[track_caller]
fn assert_refused(format: Format, packed: &[u8], why: &str) {
    for tell_length in [true, false] {
        let error = unpack(format, packed, tell_length).unwrap_err().to_string();
        assert!(error.contains(why) && error.contains("stream name"), "{error}, not {why}");
    }
}

/// Tool, format and options of packed files that differ in what a decoder has to do.
const LEVELS: [(&str, Format, &[&str]); 8] = [
    ("gzip", Format::Gzip, &["-1"]),
    ("gzip", Format::Gzip, &["-9"]),
    ("zstd", Format::Zstd, &["--fast=3"]),
    ("zstd", Format::Zstd, &["-3", "--check"]),
    ("zstd", Format::Zstd, &["-12", "--no-check", "--long=27"]),
    ("lz4", Format::Lz4, &["-q", "-1", "-B4"]),
    ("lz4", Format::Lz4, &["-q", "-1", "-B7", "-BX"]),
    ("lz4", Format::Lz4, &["-q", "-9", "-BD", "-B5", "--no-frame-crc"]),
];

fn unpacks(levels: &[(&str, Format, &[&str])], contents: impl IntoIterator<Item = Vec<u8>>) {
    for content in contents {
        for &(tool, format, arguments) in levels {
            let arguments = [arguments, &["-c"]].concat();
            let Some(packed) = filter(tool, &arguments, &content) else { continue };
            assert_eq!(Format::of_bytes(&packed), Some(format));
            assert_gives(format, &packed, &content);
        }
    }
}

#[test]
fn every_level_of_every_tool() {
    let texts = [0, 1, 70_000, 300_000, 9 << 20].map(words);
    unpacks(&LEVELS, texts.into_iter().chain([noise(5 << 20), vec![0; 40 << 20]]));
}

/// Contents of more than one window of a stream, in blocks of each size that decoders ask for: what a trap sees.
#[test]
fn large_contents() {
    unpacks(&[LEVELS[0], LEVELS[4], LEVELS[6]], [words(9 << 20), vec![0; 40 << 20]]);
}

/// The test above once more with every trap and mover that works here.
#[test]
fn every_trap() {
    for status in probe::examine().iter().filter(|status| status.refusal.is_none()) {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "large_contents"])
            .env("EAGRE_TRAP", status.pair.trap.to_string())
            .env("EAGRE_MOVER", status.pair.mover.to_string())
            .output()
            .unwrap();
        assert!(output.status.success(), "{:?}: {}", status.pair, String::from_utf8_lossy(&output.stdout));
    }
}

#[test]
fn members_and_frames_that_follow_one_another() {
    // The last two: zstd walks over a whole frame before it decodes it, here across two borders of blocks.
    let parts = [words(100_000), Vec::new(), noise(10), words(5_000_000), noise(3 << 19), noise((4 << 20) - 10)];
    let content = parts.concat();
    for (format, tool) in FORMATS {
        let packed: Option<Vec<_>> = parts.iter().map(|part| filter(tool, &["-c"], part)).collect();
        let Some(mut packed) = packed else { continue };
        assert_gives(format, &packed.concat(), &content);
        // Frames to be skipped: a number from a range, a length, and so many bytes.
        if format != Format::Gzip {
            packed.insert(1, b"\x5a\x2a\x4d\x18\x05\0\0\0hello".to_vec());
            assert_gives(format, &packed.concat(), &content);
        }
    }
}

#[test]
fn many_small_members() {
    let content = words(64 << 10);
    let Some(member) = filter("gzip", &["-1", "-c"], &content) else { return };
    assert_gives(Format::Gzip, &member.repeat(300), &content.repeat(300));
}

#[test]
fn what_follows_the_content() {
    for (format, tool) in FORMATS {
        let Some(packed) = filter(tool, &["-c"], b"content\n") else { continue };
        let followed = |by: &[u8]| [&packed[..], by].concat();
        if format == Format::Gzip {
            assert_gives(format, &followed(&[0; 5000]), b"content\n");
            assert_refused(format, &followed(b"\0\0x"), "trailing garbage");
        }
        let place = format!("{format}: after byte {}: ", packed.len());
        assert_refused(format, &followed(b"garbage"), &place);
    }
}

#[test]
fn cut_at_every_byte() {
    let content = words(700);
    for (format, tool) in FORMATS {
        let Some(packed) = filter(tool, &["-c"], &content) else { continue };
        for cut in 0..packed.len() {
            assert_refused(format, &packed[..cut], &format!("{format}: ends in the middle, at byte {cut}: "));
        }
    }
}

#[test]
fn damage_is_seen_by_the_checksum_and_ends() {
    let content = words(3000);
    let mut random = seeded(5);
    for (format, tool) in FORMATS {
        let arguments: &[&str] = if tool == "zstd" { &["-c", "--check"] } else { &["-c"] };
        let Some(packed) = filter(tool, arguments, &content) else { continue };
        for round in 0..400 {
            let mut packed = packed.clone();
            for _ in 0..1 + random.usize(..3) {
                let at = random.usize(..packed.len());
                packed[at] ^= 1 << random.usize(..8);
            }
            // Some bits have no meaning (the time in a gzip header, say).
            if let Ok(got) = unpack(format, &packed, round % 2 == 0) {
                assert!(got == content, "{format}, round {round}: {} bytes", got.len());
            }
        }
    }
}

#[test]
fn large_windows_of_zstd() {
    // A frame without content that wants a window of 2^log bytes.
    let frame = |log: u8| [&b"\x28\xb5\x2f\xfd\0"[..], &[(log - 10) << 3], b"\x01\0\0"].concat();
    assert_gives(Format::Zstd, &frame(27), b"");
    assert_refused(Format::Zstd, &frame(28), "unpack it with 'zstd -d --long=31'");
}

#[test]
fn the_old_format_of_lz4_is_refused_by_name() {
    let Some(packed) = filter("lz4", &["-l", "-c"], b"content") else { return };
    assert_eq!(Format::of_bytes(&packed), Some(Format::Lz4));
    assert_refused(Format::Lz4, &packed, "legacy format of lz4");
}

/// Endless input that tells when it is dropped.
struct Endless(Vec<u8>, usize, mpsc::Sender<()>);

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let rest = &self.0[self.1..];
        let now = rest.len().min(buffer.len());
        buffer[..now].copy_from_slice(&rest[..now]);
        self.1 = (self.1 + now) % self.0.len();
        Ok(now)
    }
}

impl Drop for Endless {
    fn drop(&mut self) {
        self.2.send(()).unwrap();
    }
}

#[test]
fn everything_ends_when_nobody_reads_any_more() {
    for (format, tool) in FORMATS {
        let Some(packed) = filter(tool, &["-c"], &words(1 << 20)) else { continue };
        for length in [None, Some(1 << 40)] {
            let (dropped, wait) = mpsc::channel();
            let mut reader = decompress(format, "name", length, Endless(packed.clone(), 0, dropped)).unwrap();
            assert!(!reader.fill_buf().unwrap().is_empty());
            drop(reader);
            wait.recv_timeout(Duration::from_secs(600)).expect("the source is still in use");
        }
    }
}

/// Gives its bytes, and fails then.
struct Broken(Cursor<Vec<u8>>);

impl Read for Broken {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer)? {
            0 => Err(io::Error::from_raw_os_error(5)),
            n => Ok(n),
        }
    }
}

#[test]
fn a_source_that_fails_or_shrinks() {
    for (format, tool) in FORMATS {
        let Some(packed) = filter(tool, &["-c"], &noise(8 << 20)) else { continue };
        let told = Some(packed.len() as u64);
        let half = || Cursor::new(packed[..packed.len() / 2].to_vec());
        let error = |length, source: Box<dyn Read + Send>| {
            let mut reader = decompress(format, "name", length, source).unwrap();
            io::copy(&mut reader, &mut io::sink()).unwrap_err().to_string()
        };
        for length in [None, told] {
            let error = error(length, Box::new(Broken(half())));
            assert!(error.contains("cannot be read: Input/output error"), "{error}");
        }
        let error = error(told, Box::new(half()));
        assert!(error.contains("shrank while it was read"), "{error}");
    }
}

/// A file opened for a scan, as its content and whether it was unpacked.
fn opened(input: Input) -> (Vec<u8>, bool) {
    let mut content = Vec::new();
    match input {
        Input::File(mut file) => file.read_to_end(&mut content).map(|_| (content, false)).unwrap(),
        Input::Stream(mut reader) => reader.read_to_end(&mut content).map(|_| (content, true)).unwrap(),
        _ => unreachable!(),
    }
}

#[test]
fn name_and_first_bytes_must_agree() {
    let folder = tempfile::tempdir().unwrap();
    let Some(packed) = filter("gzip", &["-c"], b"content\n") else { return };
    for (name, bytes, expected, unpacked) in [
        ("right.gz", &packed[..], &b"content\n"[..], true),
        ("right.tgz", &packed, b"content\n", true),
        ("no suffix", &packed, &packed, false),
        ("wrong.zst", &packed, &packed, false),
        ("plain.gz", b"plain text\n", b"plain text\n", false),
        ("short.gz", b"\x1f", b"\x1f", false),
        ("empty.gz", b"", b"", false),
    ] {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        assert_eq!(opened(compressed::open(&path).unwrap()), (expected.to_vec(), unpacked), "{name}");
    }
    let any = |name: &str| compressed::open_any(fs::File::open(folder.path().join(name)).unwrap(), "any").unwrap();
    assert_eq!(opened(any("no suffix")), (b"content\n".to_vec(), true));
    assert_eq!(opened(any("plain.gz")), (b"plain text\n".to_vec(), false));
    assert_eq!(compressed::open(folder.path().join("missing.gz")).unwrap_err().kind(), io::ErrorKind::NotFound);
}

#[test]
fn pipes_are_looked_at_without_losing_anything() {
    let Some(packed) = filter("zstd", &["-c"], &words(100_000)) else { return };
    for (bytes, expected) in [(packed, words(100_000)), (words(50_000), words(50_000)), (vec![7], vec![7])] {
        let (reader, mut writer) = io::pipe().unwrap();
        let feeder = std::thread::spawn(move || writer.write_all(&bytes).unwrap());
        let file = fs::File::from(std::os::fd::OwnedFd::from(reader));
        assert!(opened(compressed::open_any(file, "pipe").unwrap()).0 == expected);
        feeder.join().unwrap();
    }
}
