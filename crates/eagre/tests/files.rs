//! Files as streams, against the standard library and the tools of the system.
//!
//! Runs as root and as anyone else, in the directory for temporary files: what file system that is on decides whether
//! the page cache can be left aside, so a second room in the current directory's tree would teach no more.

use eagre::file::{self, Caching, Engine, ReadOptions, WriteOptions};
use eagre::{BlockSize, Pipe, Reader, StreamErrorKind};
use std::fs::File;
use std::io::{self, BufRead, Read, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

const MIB: usize = 1 << 20;

fn pattern(len: usize) -> Vec<u8> {
    (0..len as u64).map(|at| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect()
}

/// Every way a file can be read or written, cold.
fn ways() -> [(Caching, Engine); 4] {
    [
        (Caching::Unbuffered, Engine::Uring),
        (Caching::Unbuffered, Engine::Blocking),
        (Caching::Cached, Engine::Blocking),
        (Caching::Auto, Engine::Uring),
    ]
}

/// Whether io_uring works here; says so if it does not.
fn works((caching, engine): (Caching, Engine)) -> bool {
    let room = tempfile::tempdir().unwrap();
    let path = room.path().join("probe");
    std::fs::write(&path, pattern(5 * MIB)).unwrap();
    let opened = ReadOptions::new().caching(caching).engine(engine).open(&path);
    let read = opened.and_then(|mut reader| io::copy(&mut reader, &mut io::sink()));
    match read {
        Err(error) if engine == Engine::Uring => {
            eprintln!("skipped: {engine:?}: {error}");
            false
        }
        _ => true,
    }
}

fn all(mut reader: Reader) -> Vec<u8> {
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).unwrap();
    bytes
}

const SIZES: [usize; 9] = [0, 1, 4095, 512 << 10, 2 * MIB - 1, 2 * MIB, 2 * MIB + 1, 4 * MIB, 13 * MIB + 4097];

#[test]
fn a_file_is_what_the_standard_library_reads() {
    let room = tempfile::tempdir().unwrap();
    let path = room.path().join("file");
    for way in ways().into_iter().filter(|&way| works(way)) {
        for size in SIZES {
            std::fs::write(&path, pattern(size)).unwrap();
            let options = ReadOptions::new().caching(way.0).engine(way.1);
            assert!(all(options.clone().open(&path).unwrap()) == std::fs::read(&path).unwrap(), "{way:?} {size}");
            // And with the length known beforehand.
            let reader = options.length(size as u64).open(&path).unwrap();
            assert_eq!(reader.length(), Some(size as u64));
            assert!(all(reader) == pattern(size), "{way:?} {size}");
        }
    }
}

#[test]
fn a_pointer_reads_a_file() {
    let room = tempfile::tempdir().unwrap();
    let path = room.path().join("file");
    let mut bytes = pattern(9 * MIB + 5);
    bytes.iter_mut().for_each(|byte| *byte |= 1);
    std::fs::write(&path, &bytes).unwrap();
    for way in ways().into_iter().filter(|&way| works(way)) {
        let mut reader = ReadOptions::new().caching(way.0).engine(way.1).open(&path).unwrap();
        // SAFETY: one forward scan; a zero byte follows the stream.
        match reader.scope(|from| unsafe { libc::strlen(from.cast()) }) {
            Ok(length) => assert_eq!(length, bytes.len()),
            Err(error) if error.kind() == StreamErrorKind::NoPointer => eprintln!("skipped: {error}"),
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn lines_blocks_and_parts() {
    let room = tempfile::tempdir().unwrap();
    let path = room.path().join("file");
    let text: String = (0..600_000).map(|line| format!("line {line}\n")).collect();
    std::fs::write(&path, &text).unwrap();
    assert!(file::open(&path).unwrap().lines().map(Result::unwrap).eq(text.lines()));

    let mut reader = file::open(&path).unwrap();
    let mut at = 0;
    while let Some(block) = Reader::take(&mut reader).unwrap() {
        assert!(text.as_bytes()[at..].starts_with(block.as_slice()));
        at += block.as_slice().len();
        reader.release_block(block);
    }
    assert_eq!(at, text.len());

    for from in [0, 1, 4096, 5_000_001, text.len() as u64, text.len() as u64 + 10] {
        let options = || ReadOptions::new().caching(Caching::Unbuffered).from(from);
        let rest = text.as_bytes().get(from as usize..).unwrap_or_default();
        assert!(all(options().open(&path).unwrap()) == rest, "from {from}");
        let some = rest.len() / 2;
        assert!(all(options().length(some as u64).open(&path).unwrap()) == rest[..some], "from {from}");
    }
    let error = io::copy(&mut ReadOptions::new().length(1 << 40).open(&path).unwrap(), &mut io::sink()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    let (name, size) = (path.display(), text.len());
    assert_eq!(error.to_string(), format!("read: {name}: ends at byte {size}, {} were expected", 1u64 << 40));
}

#[test]
fn an_open_file_is_read_from_where_it_stands() {
    let mut file = tempfile::tempfile().unwrap();
    let bytes = pattern(6 * MIB);
    file.write_all(&bytes).unwrap();
    for at in [0, 4096, 100_001] {
        file.seek(SeekFrom::Start(at)).unwrap();
        let again = file.try_clone().unwrap();
        let reader = ReadOptions::new().caching(Caching::Unbuffered).read(again, "it").unwrap();
        assert!(all(reader) == bytes[at as usize..]);
        assert_eq!(file.stream_position().unwrap(), at);
    }
}

#[test]
fn holes_are_zeros() {
    let file = tempfile::tempfile().unwrap();
    file.set_len(20 * MIB as u64 + 3).unwrap();
    file.write_all_at(b"island", 11 * MIB as u64 - 3).unwrap();
    let mut expected = vec![0; 20 * MIB + 3];
    expected[11 * MIB - 3..][..6].copy_from_slice(b"island");
    for caching in [Caching::Unbuffered, Caching::Cached] {
        assert!(all(ReadOptions::new().caching(caching).read(file.try_clone().unwrap(), "holes").unwrap()) == expected);
    }
}

#[test]
fn what_has_no_size_or_no_position() {
    for path in ["/proc/cpuinfo", "/proc/self/status", "/sys/kernel/mm/transparent_hugepage/enabled", "/dev/null"] {
        if !Path::new(path).exists() {
            eprintln!("skipped: {path}: there is none here");
            continue;
        }
        for caching in [Caching::Auto, Caching::Unbuffered] {
            let text = String::from_utf8(all(ReadOptions::new().caching(caching).open(path).unwrap())).unwrap();
            let there = std::fs::read_to_string(path).unwrap();
            // Some of the numbers change all the time.
            let words = |text: &str| text.replace(|c: char| c.is_ascii_digit() || c == '.' || c == ' ', "");
            assert_eq!(words(&text), words(&there), "{path}");
        }
    }
    let zeros = all(ReadOptions::new().length(3 * MIB as u64 + 1).open("/dev/zero").unwrap());
    assert!(zeros == vec![0; 3 * MIB + 1]);

    let mut child = Command::new("seq").args(["1", "700000"]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let pipe: std::os::fd::OwnedFd = child.stdout.take().unwrap().into();
    let reader = ReadOptions::new().read(pipe.into(), "seq").unwrap();
    assert!(reader.lines().map(Result::unwrap).eq((1..=700_000).map(|number| number.to_string())));
    assert!(child.wait().unwrap().success());
}

/// A reader that leaves does not keep a silent pipe's writer waiting for ever.
#[test]
fn a_pipe_that_nobody_reads_any_more() {
    let (read, mut write) = io::pipe().unwrap();
    write.write_all(b"some").unwrap();
    drop(ReadOptions::new().read(std::os::fd::OwnedFd::from(read).into(), "pipe").unwrap());
    let error = loop {
        if let Err(error) = write.write_all(b"more") {
            break error;
        }
        std::thread::yield_now();
    };
    assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
}

#[test]
fn refusals_name_the_file() {
    let room = tempfile::tempdir().unwrap();
    let missing = room.path().join("missing");
    let error = file::open(&missing).unwrap_err();
    assert_eq!(error.to_string(), format!("read: {}: No such file or directory", missing.display()));
    assert_eq!(file::open(room.path()).unwrap_err().kind(), io::ErrorKind::IsADirectory);
    assert_eq!(file::create(room.path()).unwrap_err().kind(), io::ErrorKind::IsADirectory);
    let error = file::create(missing.join("x")).unwrap_err();
    assert_eq!(error.to_string(), format!("write: {}/x: No such file or directory", missing.display()));
}

/// Cut while it is being read: an error that names the file and the byte, or, if it was read before, all of it.
#[test]
fn a_file_that_shrinks_while_it_is_read() {
    let room = tempfile::tempdir().unwrap();
    let path = room.path().join("file");
    for caching in [Caching::Unbuffered, Caching::Cached] {
        std::fs::write(&path, pattern(40 * MIB)).unwrap();
        let mut reader = ReadOptions::new().caching(caching).open(&path).unwrap();
        let first = reader.fill(1).unwrap().len();
        reader.consume(first);
        File::options().write(true).open(&path).unwrap().set_len(30 * MIB as u64 + 5).unwrap();
        let error = io::copy(&mut reader, &mut io::sink()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        let text = format!("read: {}: ends at byte {}, {} were expected", path.display(), 30 * MIB + 5, 40 * MIB);
        assert_eq!(error.to_string(), text);
    }
}

#[test]
fn a_file_is_what_was_written() {
    let room = tempfile::tempdir().unwrap();
    let path = room.path().join("file");
    for way in ways().into_iter().filter(|&way| works(way)) {
        for size in SIZES {
            for known in [false, true] {
                let mut options = WriteOptions::new().caching(way.0).engine(way.1);
                if known {
                    options = options.length(size as u64);
                }
                let mut writer = options.create(&path).unwrap();
                writer.write_all(&pattern(size)).unwrap();
                writer.finish().unwrap();
                assert!(std::fs::read(&path).unwrap() == pattern(size), "{way:?} {size}");
                assert_eq!(std::fs::read_dir(room.path()).unwrap().count(), 1);
            }
        }
    }
}

#[test]
fn a_pointer_writes_a_file() {
    let room = tempfile::tempdir().unwrap();
    let path = room.path().join("file");
    let length = 9 * MIB + 5;
    let mut writer = file::create(&path).unwrap();
    // SAFETY: ascending writes, within the capacity.
    match writer.scope(|to| unsafe { libc::memset(to.cast(), 7, length) }) {
        Ok(_) => writer.finish_at(length as u64).unwrap(),
        Err(error) if error.kind() == StreamErrorKind::NoPointer => return eprintln!("skipped: {error}"),
        Err(error) => panic!("{error}"),
    }
    assert!(std::fs::read(&path).unwrap() == vec![7; length]);
}

#[test]
fn what_fails_leaves_what_was_there() {
    let room = tempfile::tempdir().unwrap();
    let path = room.path().join("file");
    std::fs::write(&path, "old").unwrap();
    let untouched = || {
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(std::fs::read_dir(room.path()).unwrap().count(), 1);
    };
    // Another length than announced.
    let mut writer = WriteOptions::new().length(100).create(&path).unwrap();
    writer.write_all(b"too short").unwrap();
    assert_eq!(writer.finish().unwrap_err().kind(), io::ErrorKind::InvalidInput);
    untouched();
    // No room, known at once.
    let error = WriteOptions::new().length(1 << 45).create(&path).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull, "{error}");
    untouched();
    // Cancelled.
    let mut writer = file::create(&path).unwrap();
    writer.write_all(&pattern(5 * MIB)).unwrap();
    writer.control().cancel();
    assert!(writer.finish().is_err());
    untouched();
    // A block that never came back.
    let mut writer = file::create(&path).unwrap();
    let block = writer.take().unwrap();
    assert!(writer.finish().is_err());
    drop(block);
    untouched();
}

#[test]
fn a_device_that_is_full() {
    let mut writer = file::create("/dev/full").unwrap();
    // The helper may find out at any time before the end.
    let written = writer.write_all(&pattern(3 * MIB));
    let error = written.and_then(|()| writer.finish()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    assert_eq!(error.to_string(), "write: /dev/full: No space left on device at byte 0");
}

#[test]
fn windows_and_blocks_of_ones_own() {
    let room = tempfile::tempdir().unwrap();
    let path = room.path().join("file");
    let bytes = pattern(7 * MIB + 1);
    for (block, window) in [(BlockSize::MIN, 0), (BlockSize::MIN, 5), (BlockSize::new(8 * MIB).unwrap(), 1)] {
        let stream = || Pipe::builder().block_size(block).rewrite(window).lookback(window);
        let mut writer = WriteOptions::new().stream(stream()).request_size(100_000).create(&path).unwrap();
        writer.write_all(&bytes).unwrap();
        writer.finish().unwrap();
        let options = ReadOptions::new().stream(stream()).request_size(100_000).caching(Caching::Unbuffered);
        assert!(all(options.open(&path).unwrap()) == bytes);
    }
}

#[test]
fn the_environment_chooses_the_engine() {
    const ASKED: &str = "EAGRE_TEST_FILE";
    if let Some(path) = std::env::var_os(ASKED) {
        match ReadOptions::new().caching(Caching::Unbuffered).open(path) {
            Ok(reader) => println!("read {} bytes", all(reader).len()),
            Err(error) => println!("error: {error}"),
        }
        return;
    }
    let room = tempfile::tempdir().unwrap();
    let path = room.path().join("file");
    std::fs::write(&path, pattern(5 * MIB)).unwrap();
    for (value, said) in [("blocking", "read 5242880 bytes"), ("uring", "read 5242880 bytes"), ("fast", "error: ")] {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "the_environment_chooses_the_engine", "--nocapture"])
            .env(ASKED, &path)
            .env("EAGRE_IO", value)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&child.stdout).into_owned();
        if value == "uring" && !works((Caching::Unbuffered, Engine::Uring)) {
            continue;
        }
        assert!(text.contains(said), "EAGRE_IO={value}: {text}");
        assert_eq!(text.contains("EAGRE_IO=fast"), value == "fast", "{text}");
    }
}

/// A process of its own that reads or writes a file of 256 MiB stays small, page tables included.
#[test]
fn memory_does_not_grow_with_the_file() {
    const READ: &str = "EAGRE_TEST_READ";
    const WRITE: &str = "EAGRE_TEST_WRITE";
    const SIZE: u64 = 256 << 20;
    let (read, write) = (std::env::var_os(READ), std::env::var_os(WRITE));
    if let Some(path) = &read {
        let mut reader = ReadOptions::new().caching(Caching::Unbuffered).open(path).unwrap();
        assert_eq!(io::copy(&mut reader, &mut io::sink()).unwrap(), SIZE);
    }
    if let Some(path) = &write {
        let mut writer = file::create(path).unwrap();
        io::copy(&mut io::repeat(7).take(SIZE), &mut writer).unwrap();
        writer.finish().unwrap();
    }
    if read.or(write).is_some() {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let kib = |key: &str| -> u64 {
            let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap();
            line.split_whitespace().next().unwrap().parse().unwrap()
        };
        return println!("{} KiB", kib("VmHWM:") + kib("VmPTE:"));
    }
    let room = tempfile::tempdir().unwrap();
    let path = room.path().join("file");
    for errand in [WRITE, READ] {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "memory_does_not_grow_with_the_file", "--nocapture"])
            .env(errand, &path)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&child.stdout).into_owned();
        let line = text.lines().find_map(|line| line.strip_suffix(" KiB")).expect(&text);
        let kib: u64 = line.trim().parse().unwrap();
        // Ten MiB of blocks; the rest is the test program itself, unoptimised.
        assert!(kib < 20 << 10, "{errand}: {kib} KiB");
    }
    assert_eq!(std::fs::metadata(&path).unwrap().len(), SIZE);
}

/// Sizes that are claimed, not there: more than there are addresses for.
#[test]
fn a_file_may_claim_more_than_there_are_addresses() {
    for claimed in [(64 << 40) + 1, 1 << 60, (1 << 62) + 1, i64::MAX as u64] {
        // A file in memory, because few file systems on disks take such sizes.
        let memory = rustix::fs::memfd_create("claims", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        let mut file = File::from(memory);
        file.write_all(b"the beginning\n").unwrap();
        file.set_len(claimed).unwrap();
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        for options in [ReadOptions::new(), ReadOptions::new().explicit()] {
            let mut reader = options.open(&path).unwrap();
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            assert_eq!(line, "the beginning\n");
        }
        let pointers = ReadOptions::new().stream(Pipe::builder().pointers()).open(&path).unwrap_err();
        assert!(pointers.to_string().contains("addresses"), "{pointers}");
    }
}

/// In a process of its own, under `ulimit -v`: a file larger than there are addresses is read all the same, through whichever
/// calls need none.
#[test]
fn addresses_do_not_limit_files() {
    const INSIDE: &str = "EAGRE_TEST_UNDER_A_LIMIT";
    if let Some(path) = std::env::var_os(INSIDE) {
        let sum = |mut reader: Reader| io::copy(&mut reader, &mut io::sink()).unwrap();
        for caching in [Caching::Auto, Caching::Cached, Caching::Unbuffered] {
            assert_eq!(sum(ReadOptions::new().caching(caching).open(&path).unwrap()), 300 * MIB as u64 + 1);
            assert_eq!(sum(ReadOptions::new().caching(caching).explicit().open(&path).unwrap()), 300 * MIB as u64 + 1);
        }
        let pointers = ReadOptions::new().stream(Pipe::builder().pointers()).open(&path).unwrap_err();
        assert!(pointers.to_string().contains("ulimit -v"), "{pointers}");
        let mut writer = WriteOptions::new().explicit().create(Path::new(&path).with_extension("new")).unwrap();
        (0..300).for_each(|_| writer.write_all(&[7; MIB]).unwrap());
        writer.finish().unwrap();
        return;
    }
    let room = tempfile::tempdir().unwrap();
    let path = room.path().join("large");
    File::create(&path).unwrap().set_len(300 * MIB as u64 + 1).unwrap();
    let script = "ulimit -v 400000 && exec \"$0\" --exact addresses_do_not_limit_files --nocapture";
    let mut again = Command::new("sh");
    again.args(["-c", script]).arg(std::env::current_exe().unwrap()).env(INSIDE, &path);
    let output = again.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(path.with_extension("new").metadata().unwrap().len(), 300 * MIB as u64);
}
