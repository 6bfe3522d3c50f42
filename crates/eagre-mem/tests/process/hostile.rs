//! Another process may say anything. It gets an error, and this process's memory stays as it is.
//!
//! What honest ends say is recorded by a go-between and changed; what they share is overwritten.

use crate::common::{Rng, SMALL, say};
use crate::watched;
use eagre_mem::BlockSize;
use eagre_mem::process::{Connection, Options, Reader, Writer};
use eagre_mem::stream::StreamErrorKind;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering::*};

const PAGE: usize = 4096;

fn small() -> Options {
    Options::new().block_size(BlockSize::MIN)
}

/// The first packet of the process that makes a stream, and what came with it.
struct Hello {
    bytes: Vec<u8>,
    fds: Vec<OwnedFd>,
}

/// Receives a packet with descriptors.
fn receive(socket: &OwnedFd) -> Hello {
    let mut bytes = vec![0u8; 512];
    let mut control = [0u64; 16];
    let mut piece = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    // SAFETY: all zeros is a header without anything.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    (header.msg_iov, header.msg_iovlen) = (&raw mut piece, 1);
    header.msg_control = control.as_mut_ptr().cast();
    header.msg_controllen = size_of_val(&control) as _;
    // SAFETY: buffers of these lengths; the descriptors that come are ours.
    let fds = unsafe {
        let got = libc::recvmsg(socket.as_raw_fd(), &raw mut header, libc::MSG_CMSG_CLOEXEC);
        assert!(got > 0, "{}", io::Error::last_os_error());
        bytes.truncate(got as usize);
        let message = libc::CMSG_FIRSTHDR(&header);
        assert!(!message.is_null());
        let count = ((*message).cmsg_len as usize - libc::CMSG_LEN(0) as usize) / 4;
        let data = libc::CMSG_DATA(message).cast::<i32>();
        (0..count).map(|at| OwnedFd::from_raw_fd(data.add(at).read_unaligned())).collect()
    };
    Hello { bytes, fds }
}

/// Sends a packet with descriptors.
fn send(socket: &OwnedFd, bytes: &[u8], fds: &[&OwnedFd]) {
    let mut control = [0u64; 16];
    let mut piece = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    // SAFETY: all zeros is a header without anything; what it refers to is there during the call.
    unsafe {
        let mut header: libc::msghdr = std::mem::zeroed();
        (header.msg_iov, header.msg_iovlen) = (&raw mut piece, 1);
        if !fds.is_empty() {
            let len = 4 * fds.len() as u32;
            header.msg_control = control.as_mut_ptr().cast();
            header.msg_controllen = libc::CMSG_SPACE(len) as _;
            let message = libc::CMSG_FIRSTHDR(&header);
            (*message).cmsg_level = libc::SOL_SOCKET;
            (*message).cmsg_type = libc::SCM_RIGHTS;
            (*message).cmsg_len = libc::CMSG_LEN(len) as _;
            for (at, fd) in fds.iter().enumerate() {
                libc::CMSG_DATA(message).cast::<i32>().add(at).write_unaligned(fd.as_raw_fd());
            }
        }
        assert!(libc::sendmsg(socket.as_raw_fd(), &header, libc::MSG_NOSIGNAL) >= 0, "{}", io::Error::last_os_error());
    }
}

/// What a process that makes a stream to write says.
fn hello() -> (Writer, OwnedFd, Hello) {
    let (ours, theirs) = Connection::pair().unwrap();
    let writer = small().writer(ours).unwrap();
    let theirs = OwnedFd::from(theirs);
    let hello = receive(&theirs);
    (writer, theirs, hello)
}

/// Joins a stream that is described so.
fn join(bytes: &[u8], fds: &[&OwnedFd]) -> Result<Reader, String> {
    let (ours, theirs) = Connection::pair().unwrap();
    send(&ours.into(), bytes, fds);
    Reader::join(theirs).map_err(|error| error.to_string())
}

fn memfd(len: usize, sealed: bool) -> OwnedFd {
    // SAFETY: a name, and flags; the descriptor is ours.
    let fd = unsafe { libc::memfd_create(c"forged".as_ptr(), libc::MFD_ALLOW_SEALING | libc::MFD_CLOEXEC) };
    assert!(fd >= 0);
    // SAFETY: made above.
    unsafe {
        assert_eq!(libc::ftruncate(fd, len as i64), 0);
        if sealed {
            assert_eq!(libc::fcntl(fd, libc::F_ADD_SEALS, libc::F_SEAL_SHRINK), 0);
        }
        OwnedFd::from_raw_fd(fd)
    }
}

#[test]
fn memory_that_is_not_what_it_should_be_is_refused() {
    let _dog = watched("memory_that_is_not_what_it_should_be_is_refused");
    let (_writer, _socket, Hello { bytes, fds }) = hello();
    let [page, blocks] = &fds[..] else { panic!() };
    assert!(join(&bytes, &[page, blocks]).is_ok());
    let len = 5 * SMALL;
    let file = OwnedFd::from(std::fs::File::open("/proc/self/exe").unwrap());
    let short = memfd(len - SMALL, true);
    let unsealed = memfd(len, false);
    let fitting = memfd(len, true);
    assert!(join(&bytes, &[page, &fitting]).is_ok());
    for (what, page, blocks) in [
        ("short", page, &short),
        ("not sealed", page, &unsealed),
        ("a file", page, &file),
        ("the page twice", page, page),
        ("the other way round", blocks, page),
        ("an unsealed page", &memfd(PAGE, false), blocks),
        ("no page", &file, blocks),
    ] {
        let error = join(&bytes, &[page, blocks]).unwrap_err();
        assert!(error.contains("eagre") || error.starts_with("cannot open a stream"), "{what}: {error}");
    }
    for fds in [&[][..], &[page], &[page, blocks, page]] {
        assert!(join(&bytes, fds).is_err(), "{} descriptors", fds.len());
    }
}

#[test]
fn any_first_packet_is_a_stream_or_an_error() {
    let _dog = watched("any_first_packet_is_a_stream_or_an_error");
    let (_writer, _socket, Hello { bytes, fds }) = hello();
    let fds: Vec<&OwnedFd> = fds.iter().collect();
    let mut rng = Rng::new(2403);
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] = rng.next() as u8;
        // Where it makes no difference it is a stream.
        let _ = join(&changed, &fds);
    }
    for len in [1, 8, 12, 57, bytes.len() - 1] {
        assert!(join(&bytes[..len], &fds).is_err(), "{len} bytes");
    }
    assert!(join(&[&bytes[..], b"more"].concat(), &fds).is_err());
    let error = join(b"GET / HTTP/1.1\r\n\r\n", &[]).unwrap_err();
    assert!(error.contains("does not speak of a stream"), "{error}");
}

#[test]
fn a_capacity_that_no_end_may_have_is_refused() {
    let _dog = watched("a_capacity_that_no_end_may_have_is_refused");
    let (mut writer, _socket, Hello { bytes, fds }) = hello();
    let fds: Vec<&OwnedFd> = fds.iter().collect();
    let says = |capacity: u64| [&bytes[..120], &capacity.to_ne_bytes()].concat();
    for capacity in [(1 << 46) + 1, 1 << 63, u64::MAX] {
        let error = join(&says(capacity), &fds).unwrap_err();
        assert!(error.contains("does not speak of a stream"), "{error}");
    }
    let old = [&bytes[..7], b"\x01", &bytes[8..]].concat();
    assert!(join(&old, &fds).unwrap_err().contains("run the same version of Eagre in both"));
    // One that is too small is known before the pointer is used, and an error where it ends.
    writer.copy_in(&vec![7; 3 * SMALL]).unwrap();
    let mut reader = join(&says(0), &fds).unwrap();
    assert_eq!(reader.capacity(), SMALL as u64 - 1);
    // SAFETY: the guard behind the range is the pointer's as well.
    let error = reader.scope(|from| unsafe { from.add(SMALL).read_volatile() }).unwrap_err();
    assert_eq!(error.kind(), StreamErrorKind::CapacityExceeded, "{error}");
}

#[test]
fn two_of_a_kind_are_refused() {
    let _dog = watched("two_of_a_kind_are_refused");
    let (ours, theirs) = Connection::pair().unwrap();
    let mut writer = small().writer(ours).unwrap();
    let error = Writer::join(theirs).unwrap_err().to_string();
    assert!(error.contains("the other process is a writer as well; join its stream as a reader"), "{error}");
    // It has gone away.
    writer.copy_in(&vec![1; 6 * SMALL]).unwrap_err();
    let stdin_of_others = OwnedFd::from(std::fs::File::open("/dev/null").unwrap());
    let error = Reader::join(stdin_of_others.into()).unwrap_err().to_string();
    assert!(error.contains("pass a Connection to this process"), "{error}");
}

/// The shared page, as a process that means harm has it.
struct Page(*mut u8);

impl Page {
    fn map(fd: &OwnedFd) -> Page {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping.
        let page = unsafe { libc::mmap(ptr::null_mut(), PAGE, access, libc::MAP_SHARED, fd.as_raw_fd(), 0) };
        assert_ne!(page, libc::MAP_FAILED);
        Page(page.cast())
    }

    fn words(&self) -> &[AtomicU64] {
        // SAFETY: a page of atomic words, mapped as long as this lives.
        unsafe { std::slice::from_raw_parts(self.0.cast(), PAGE / 8) }
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // SAFETY: mapped above.
        unsafe { libc::munmap(self.0.cast(), PAGE) };
    }
}

/// What may be in a word: anything, and what is nearly right.
fn garbage(rng: &mut Rng) -> u64 {
    match rng.below(5) {
        0 => rng.below(12),
        1 => u64::MAX - rng.below(12),
        2 => 1 << rng.below(64),
        3 => rng.below(12 * SMALL as u64),
        _ => rng.next(),
    }
}

#[test]
fn garbage_in_the_shared_page_is_an_error() {
    let _dog = watched("garbage_in_the_shared_page_is_an_error");
    let mut rng = Rng::new(2404);
    let mut kinds = std::collections::HashSet::new();
    for round in 0..400 {
        let (ours, theirs) = Connection::pair().unwrap();
        let theirs = OwnedFd::from(theirs);
        let writes = round % 2 == 0;
        let (mut writer, mut reader) = match writes {
            true => (Some(small().writer(ours).unwrap()), None),
            false => (None, Some(small().reader(ours).unwrap())),
        };
        let page = Page::map(&receive(&theirs).fds[0]);
        let mut outcome = Ok(());
        for _ in 0..20 {
            // Mostly where it counts, and now and then everywhere.
            let words = page.words();
            match rng.below(4) {
                0 => words.iter().for_each(|word| word.store(garbage(&mut rng), SeqCst)),
                _ => words[[0, 1, 2, 3, 72, 73, 74, 75, 48, 49, 50, 51, 80, 81, 82, 83][rng.below(16) as usize]]
                    .store(garbage(&mut rng), SeqCst),
            }
            // Without waiting: what waits for this process would wait for ever.
            outcome = match (&mut writer, &mut reader) {
                (Some(writer), _) => writer.try_take().map(|block| block.map(|block| writer.complete(block))),
                (_, Some(reader)) => reader.try_take().map(|block| block.map(|block| reader.release_block(block))),
                _ => unreachable!(),
            }
            .map(drop);
            if outcome.is_err() {
                break;
            }
        }
        if let Err(error) = outcome {
            kinds.insert(error.kind());
            // A message may be anything, on one line.
            assert!(!error.to_string().contains('\n'), "{error:?}");
        }
        // With this process gone, it ends in any case.
        drop(theirs);
        let ended = match (&mut writer, &mut reader) {
            (Some(writer), _) => writer.copy_in(&vec![1; 10 * SMALL]).is_err(),
            (_, Some(reader)) => reader.copy_out(&mut vec![1; 10 * SMALL]).map_or(true, |got| got < 10 * SMALL),
            _ => unreachable!(),
        };
        assert!(ended, "round {round}");
    }
    assert!(kinds.contains(&StreamErrorKind::Damaged), "{kinds:?}");
}

#[test]
fn counters_that_go_back_or_too_far_are_an_error() {
    let _dog = watched("counters_that_go_back_or_too_far_are_an_error");
    // Where the halves are is found by watching an honest end.
    let (mut writer, socket, Hello { fds, .. }) = hello();
    let page = Page::map(&fds[0]);
    writer.copy_in(&vec![1; 3 * SMALL]).unwrap();
    let published = page.words().iter().position(|word| word.load(SeqCst) == 3).unwrap();
    let half = page.words().len().min(published + 512);
    drop((writer, socket));
    for (moved, length, right) in
        [(3, 0, true), (6, 0, false), (u64::MAX, 0, false), (2, SMALL as u64 * 8, true), (2, 5, false)]
    {
        let (ours, theirs) = Connection::pair().unwrap();
        let mut reader = small().reader(ours).unwrap();
        let theirs = OwnedFd::from(theirs);
        let page = Page::map(&receive(&theirs).fds[0]);
        page.words()[published + 1].store(length, SeqCst);
        page.words()[published].store(moved, SeqCst);
        match reader.fill(1) {
            Ok(bytes) => assert!(right && bytes.len() == SMALL, "{moved} {length}"),
            Err(error) => assert!(!right && error.kind() == StreamErrorKind::Damaged, "{moved} {length}: {error}"),
        }
        if right {
            page.words()[published].store(moved - 1, SeqCst);
            let read = (0..6).try_for_each(|_| reader.fill(1).map(<[u8]>::len).map(|all| reader.consume(all)));
            assert_eq!(read.unwrap_err().kind(), StreamErrorKind::Damaged);
        }
    }
    say(&format!("the halves begin at words {published} and before {half}"));
}

#[test]
fn holes_in_the_memory_read_as_zeros() {
    let _dog = watched("holes_in_the_memory_read_as_zeros");
    for pointer in [false, true] {
        let (mut writer, socket, Hello { bytes, fds }) = hello();
        let (ours, theirs) = Connection::pair().unwrap();
        let ours = OwnedFd::from(ours);
        send(&ours, &bytes, &[&fds[0], &fds[1]]);
        let mut reader = Reader::join(theirs).unwrap();
        writer.copy_in(&vec![7; 3 * SMALL]).unwrap();
        let punch = || {
            let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
            // SAFETY: a descriptor of ours.
            assert_eq!(unsafe { libc::fallocate(fds[1].as_raw_fd(), mode, 0, 5 * SMALL as i64) }, 0);
            // SAFETY: as above.
            assert_eq!(unsafe { libc::ftruncate(fds[1].as_raw_fd(), 0) }, -1);
        };
        if pointer {
            let read = reader.scope(|from| {
                // SAFETY: inside the blocks that are published.
                unsafe {
                    let before = from.add(100).read_volatile();
                    punch();
                    (before, from.add(100).read_volatile(), from.add(SMALL + 100).read_volatile())
                }
            });
            assert_eq!(read.unwrap(), (7, 0, 0));
        } else {
            punch();
            let mut all = vec![1; 3 * SMALL];
            assert_eq!(reader.copy_out(&mut all).unwrap(), all.len());
            assert!(all.iter().all(|&byte| byte == 0));
        }
        drop(socket);
    }
}
