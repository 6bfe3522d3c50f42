//! What is particular to pointers between processes.

use crate::common::{SMALL, byte, check, check_through, put_through};
use crate::peer::{Part, Peer};
use crate::watched;
use eagre_mem::BlockSize;
use eagre_mem::process::{Connection, Options, Reader, Writer};
use eagre_mem::stream::StreamErrorKind;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

pub(crate) const PARTS: &[Part] = &[
    ("touch behind", touch_behind),
    ("without a trap", without_a_trap),
    ("limited", limited),
    ("few addresses", few_addresses),
];

fn small() -> Options {
    Options::new().block_size(BlockSize::MIN)
}

/// Both ends of a stream, in this process.
fn both(options: Options) -> (Writer, Reader) {
    let (ours, theirs) = Connection::pair().unwrap();
    (options.writer(ours).unwrap(), Reader::join(theirs).unwrap())
}

#[test]
fn windows_may_be_touched_again_and_skipped_blocks_are_zero() {
    let _dog = watched("windows_may_be_touched_again_and_skipped_blocks_are_zero");
    let block = SMALL;
    let (mut writer, mut reader) = both(small().rewrite(2).lookback(2));
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let written = writer.scope(|to| {
                let at = |number: usize, offset: usize| to.wrapping_add(number * block + offset);
                // SAFETY: within the window, or ahead of it.
                unsafe {
                    for number in 0..20 {
                        // Every third block is left out.
                        if number % 3 != 2 {
                            at(number, 0).write_bytes(number as u8 + 1, block);
                        }
                        if number >= 2 {
                            at(number - 2, 5).write_volatile(200);
                        }
                    }
                    // From block 19 to 40.
                    at(40, 0).write_volatile(9);
                }
            });
            written.unwrap();
            writer.finish_at(40 * block as u64 + 1).unwrap();
        });
        let read = reader.scope(|from| {
            // SAFETY: within the window, or ahead of it.
            let at = |number: usize, offset: usize| unsafe { from.add(number * block + offset).read_volatile() };
            for number in 0..20 {
                let filled = if number % 3 != 2 { number as u8 + 1 } else { 0 };
                assert_eq!((at(number, 0), at(number, block - 1)), (filled, filled), "block {number}");
                assert_eq!(at(number, 5), if number < 18 { 200 } else { filled });
                assert_eq!(at(number.saturating_sub(2), 5), 200);
            }
            assert!((20..40).all(|number| at(number, 7) == 0));
            assert_eq!((at(40, 0), at(40, 1)), (9, 0));
        });
        read.unwrap();
    });
}

#[test]
fn several_threads_share_a_pointer() {
    let _dog = watched("several_threads_share_a_pointer");
    let length = 64 * SMALL as u64;
    let (mut writer, mut reader) = both(small().rewrite(3).lookback(3));
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // SAFETY: forward, in small steps.
            writer.scope(|to| unsafe { put_through(to, 0, length, 10_000) }).unwrap();
            writer.finish_at(length).unwrap();
        });
        let read = reader.scope(|from| {
            let from = from as usize;
            let barrier = std::sync::Barrier::new(3);
            std::thread::scope(|scope| {
                for thread in 0..3 {
                    let barrier = &barrier;
                    scope.spawn(move || {
                        // All of them touch each block; then the next one.
                        for at in (0..length).step_by(SMALL) {
                            let offset = at + thread * 1000;
                            // SAFETY: ahead, and nobody is further ahead than one block.
                            let got = unsafe { (from as *const u8).add(offset as usize).read_volatile() };
                            assert_eq!(got, byte(offset));
                            barrier.wait();
                        }
                    });
                }
            });
        });
        read.unwrap();
    });
}

#[test]
fn a_pointer_and_then_explicit_calls() {
    let _dog = watched("a_pointer_and_then_explicit_calls");
    let (half, length) = (9 * SMALL as u64 + 100, 20 * SMALL as u64);
    let (mut writer, mut reader) = both(small());
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // SAFETY: forward, in small steps.
            writer.scope(|to| unsafe { put_through(to, 0, half, 10_000) }).unwrap();
            assert_eq!(writer.reserve(1).unwrap_err().kind(), StreamErrorKind::BehindWindow);
            writer.advance_to(half).unwrap();
            while writer.position() < length {
                let at = writer.position();
                let room = writer.reserve(1).unwrap();
                let now = room.len().min((length - at) as usize);
                crate::common::put(at, &mut room[..now]);
                writer.commit(now);
            }
            writer.finish().unwrap();
            assert_eq!(writer.advance_to(0).unwrap_err().kind(), StreamErrorKind::InvalidLength);
        });
        // SAFETY: forward, in small steps.
        reader.scope(|from| unsafe { check_through(from, 0, half, 9_000) }).unwrap();
        assert_eq!(reader.fill(1).unwrap_err().kind(), StreamErrorKind::BehindWindow);
        reader.advance_to(half).unwrap();
        let mut rest = vec![0; (length - half) as usize];
        assert_eq!(reader.copy_out(&mut rest).unwrap(), rest.len());
        check(half, &rest);
        assert_eq!(reader.advance_to(0).unwrap_err().kind(), StreamErrorKind::InvalidLength);
    });
}

#[test]
fn a_pointer_that_goes_too_far_gets_throw_away_pages() {
    let _dog = watched("a_pointer_that_goes_too_far_gets_throw_away_pages");
    let (mut writer, mut reader) = both(small().capacity(3 * SMALL as u64));
    std::thread::scope(|scope| {
        let reading = scope.spawn(move || {
            let mut all = Vec::new();
            std::io::Read::read_to_end(&mut reader, &mut all).unwrap_err()
        });
        // SAFETY: forward, in small steps; past the capacity it is for this test.
        let error = writer.scope(|to| unsafe { put_through(to, 0, 30 * SMALL as u64, 10_000) }).unwrap_err();
        assert_eq!(error.kind(), StreamErrorKind::CapacityExceeded, "{error}");
        assert!(error.to_string().contains("its pointer reaches 262143 bytes"), "{error}");
        assert!(reading.join().unwrap().to_string().contains("capacity"));
    });
    // Past the end.
    let (mut writer, mut reader) = both(small());
    writer.copy_in(&[1; 100]).unwrap();
    writer.finish().unwrap();
    // SAFETY: past the end, for this test.
    let error = reader.scope(|from| unsafe { from.add(3 * SMALL).read_volatile() }).unwrap_err();
    assert_eq!(error.kind(), StreamErrorKind::PastEnd, "{error}");
}

/// In the block five behind the furthest of thirty, and in the next one: a stream has five.
const NOTICED: usize = 24 * SMALL + 77;
const UNNOTICED: usize = 25 * SMALL + 77;

/// Touches a block that is closed for good; the argument says at which end.
fn touch_behind(connection: Connection, argument: &str) {
    // What is said goes to the parent.
    let parent = std::os::fd::OwnedFd::from(connection);
    // SAFETY: a descriptor of ours becomes standard error.
    unsafe { libc::dup2(std::os::fd::AsRawFd::as_raw_fd(&parent), 2) };
    let (mut writer, mut reader) = both(small().name("narrow"));
    let length = 30 * SMALL as u64;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _ = writer.scope(|to| {
                // SAFETY: forward, in small steps; then back, which is the crash.
                unsafe {
                    put_through(to, 0, length, 10_000);
                    if argument == "writer" {
                        to.add(UNNOTICED).read_volatile();
                        to.add(NOTICED).write_volatile(1);
                    }
                }
            });
            writer.finish_at(length).unwrap();
        });
        let _ = reader.scope(|from| {
            // SAFETY: as above.
            unsafe {
                check_through(from, 0, length, 9_000);
                from.add(UNNOTICED).read_volatile();
                from.add(NOTICED).read_volatile()
            }
        });
    });
}

#[test]
fn a_touch_behind_all_blocks_is_said_and_ends_the_process() {
    let _dog = watched("a_touch_behind_all_blocks_is_said_and_ends_the_process");
    for (end, word, cure) in [("writer", "write", "rewrite(L)"), ("reader", "read", "lookback(M)")] {
        let (peer, connection) = Peer::start("touch behind", end);
        let mut said = [0u8; 500];
        let mut child = std::fs::File::from(std::os::fd::OwnedFd::from(connection));
        let got = std::io::Read::read(&mut child, &mut said).unwrap();
        let said = String::from_utf8_lossy(&said[..got]).into_owned();
        let right = format!("eagre: stream narrow: {word} at offset {NOTICED}: outside the window, bytes ");
        assert!(said.starts_with(&right) && said.contains(cure), "{said}");
        assert_eq!(peer.ends(), Some(libc::SIGSEGV));
    }
}

fn without_a_trap(_: Connection, _: &str) {
    let (mut writer, mut reader) = both(small());
    assert_eq!(writer.as_mut_ptr().unwrap_err().kind(), StreamErrorKind::NoPointer);
    assert_eq!(reader.scope(|_| ()).unwrap_err().kind(), StreamErrorKind::NoPointer);
    writer.copy_in(b"explicit").unwrap();
    writer.finish().unwrap();
    assert_eq!(reader.fill(1).unwrap(), b"explicit");
}

#[test]
fn without_a_trap_there_are_explicit_calls() {
    let _dog = watched("without_a_trap_there_are_explicit_calls");
    let (ours, theirs) = Connection::pair().unwrap();
    Peer::start_on("without a trap", "", theirs, &[("EAGRE_TRAP", "off")]).succeeds();
    drop(ours);
}

#[test]
fn settings_out_of_range_are_refused() {
    let _dog = watched("settings_out_of_range_are_refused");
    let (ours, _theirs) = Connection::pair().unwrap();
    let error = small().read_ahead(0).writer(ours).unwrap_err().to_string();
    assert!(error.contains("read_ahead is 0 blocks: it must be 1 to 60"), "{error}");
    let (ours, theirs) = Connection::pair().unwrap();
    drop(theirs);
    let error = small().writer(ours).unwrap_err().to_string();
    assert!(error.contains("no connection to the other process"), "{error}");
}

/// Opens a stream where the argument's resource is short: an error, or a stream.
fn limited(_: Connection, argument: &str) {
    let (resource, most) = argument.split_once(' ').unwrap();
    let resource = match resource {
        "files" => libc::RLIMIT_FSIZE,
        _ => libc::RLIMIT_NOFILE,
    };
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the calls read and write the structure.
    unsafe {
        libc::getrlimit(resource, &mut limit);
        limit.rlim_cur = most.parse().unwrap();
        assert_eq!(libc::setrlimit(resource, &limit), 0);
    }
    let opened = Connection::pair().and_then(|(ours, theirs)| {
        let writer = small().writer(ours)?;
        Ok((writer, Reader::join(theirs)?))
    });
    let (mut writer, mut reader) = match opened {
        Ok(both) => both,
        Err(error) => return assert!(error.to_string().starts_with("cannot open a stream: "), "{error}"),
    };
    let length = 5 * SMALL as u64 / 2;
    // SAFETY: forward, in small steps.
    match writer.scope(|to| unsafe { put_through(to, 0, length, 10_000) }) {
        Ok(()) => writer.finish_at(length).unwrap(),
        Err(error) => return assert_eq!(error.kind(), StreamErrorKind::OutOfMemory, "{error}"),
    }
    let mut all = vec![0; length as usize];
    assert_eq!(reader.copy_out(&mut all).unwrap(), all.len());
    check(0, &all);
}

#[test]
fn where_something_is_short_there_is_an_error_or_a_stream() {
    let _dog = watched("where_something_is_short_there_is_an_error_or_a_stream");
    let files = [0, 4096, 100_000, 5 * SMALL].map(|most| format!("files {most}"));
    let descriptors = (3..16).map(|most| format!("descriptors {most}"));
    for argument in files.into_iter().chain(descriptors) {
        let (peer, _connection) = Peer::start("limited", &argument);
        peer.succeeds();
    }
}

#[test]
fn both_pointers_reach_what_the_maker_says() {
    let _dog = watched("both_pointers_reach_what_the_maker_says");
    // Neither is as much as an end would get that says nothing.
    for bytes in [100, 3 << 40] {
        let (mut writer, mut reader) = both(small().capacity(bytes));
        assert!(writer.as_mut_ptr().is_ok() && reader.as_ptr().is_ok());
        let blocks = bytes / SMALL as u64 + 1;
        assert_eq!((writer.capacity(), reader.capacity()), (blocks * SMALL as u64 - 1, blocks * SMALL as u64 - 1));
    }
    let (ours, theirs) = Connection::pair().unwrap();
    let mut reader = small().reader(ours).unwrap();
    let mut writer = Writer::join(theirs).unwrap();
    assert!(writer.as_mut_ptr().is_ok() && reader.as_ptr().is_ok());
    assert_eq!(reader.capacity(), writer.capacity());
    assert!((64 << 20..1 << 41).contains(&reader.capacity()));
}

/// What the process with few addresses has of them, beside those that it uses.
const FEW: u64 = 1 << 30;

/// Joins streams, and makes one, in a process with few addresses.
fn few_addresses(connection: Connection, _: &str) {
    let socket = UnixStream::from(OwnedFd::from(connection));
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    let used = pages.split(' ').next().unwrap().parse::<u64>().unwrap() * 4096;
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the calls read and write the structure.
    unsafe {
        libc::getrlimit(libc::RLIMIT_AS, &mut limit);
        limit.rlim_cur = used + FEW;
        assert_eq!(libc::setrlimit(libc::RLIMIT_AS, &limit), 0);
    }
    let next = || Connection::receive_over(&socket).unwrap();

    // One that is too long: no pointer at all, and explicit calls.
    let mut reader = Reader::join(next()).unwrap();
    let error = reader.as_ptr().unwrap_err();
    assert_eq!(error.kind(), StreamErrorKind::OutOfMemory);
    let text = error.to_string();
    assert!(text.starts_with("stream long: ") && text.contains(" of 2 GiB were refused: "), "{text}");
    assert!(
        text.contains("; name a smaller capacity in the process that makes the stream, ") && !text.contains('\n'),
        "{text}"
    );
    let mut all = Vec::new();
    reader.read_to_end(&mut all).unwrap();
    check(0, &all);
    assert_eq!(all.len() as u64, PASSED);

    // One that fits, to its last byte.
    let mut reader = Reader::join(next()).unwrap();
    // SAFETY: forward, in small steps.
    reader.scope(|from| unsafe { check_through(from, 0, PASSED, 9_000) }).unwrap();

    // One made here: the other process gets what there is here.
    let mut writer = small().writer(next()).unwrap();
    writer.as_mut_ptr().unwrap();
    writer.copy_in(&writer.capacity().to_ne_bytes()).unwrap();
    writer.finish().unwrap();
}

const PASSED: u64 = 20 * SMALL as u64 + 5;

/// With a limit of addresses there was a pointer that was shorter than the maker's, and who followed it past its end was killed.
#[test]
fn a_process_with_few_addresses_gets_a_whole_pointer_or_an_error() {
    let _dog = watched("a_process_with_few_addresses_gets_a_whole_pointer_or_an_error");
    let (control, theirs) = UnixStream::pair().unwrap();
    let peer = Peer::start_on("few addresses", "", OwnedFd::from(theirs), &[]);
    let pass = || {
        let (ours, theirs) = Connection::pair().unwrap();
        theirs.send_over(&control).unwrap();
        ours
    };
    for options in [small().name("long").capacity(2 * FEW), small().capacity(PASSED)] {
        let mut writer = options.writer(pass()).unwrap();
        // SAFETY: forward, in small steps.
        writer.scope(|to| unsafe { put_through(to, 0, PASSED, 10_000) }).unwrap();
        writer.finish_at(PASSED).unwrap();
    }
    let mut reader = Reader::join(pass()).unwrap();
    reader.as_ptr().unwrap();
    let theirs = u64::from_ne_bytes(reader.fill(8).unwrap().try_into().unwrap());
    assert_eq!(reader.capacity(), theirs);
    assert!(theirs < FEW, "{theirs}");
    peer.succeeds();
}
