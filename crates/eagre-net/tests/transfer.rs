//! Transfers by the library, and senders and receivers that do not keep to what is agreed.
#![forbid(unsafe_code)]

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::thread;

use eagre_net::transfer::{Compression, Event, Receiver, Sender, TransferError, Transferred};
use eagre_net::{Connector, Listener, NetworkReader, NetworkWriter, Options};

fn listener() -> (Listener, Connector) {
    let listener = Listener::bind("127.0.0.1:0", Options::new()).unwrap();
    let connector = Connector::new(&listener.local_address().to_string()).unwrap();
    (listener, connector)
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// More files than one round takes, in directories that go on from one round to the next.
#[test]
fn a_tree_of_several_rounds() {
    let [from, to] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let (folders, files, names) = (90, 4, 200);
    for folder in 0..folders {
        let folder = from.path().join(format!("t/{folder:03}"));
        fs::create_dir_all(&folder).unwrap();
        for file in 0..files {
            fs::write(folder.join(file.to_string()), "1234").unwrap();
        }
        for link in files..names {
            symlink("0", folder.join(link.to_string())).unwrap();
        }
    }
    let (listener, connector) = listener();
    let mut sender = Sender::new().compression(Compression::Auto);
    sender.add(from.path().join("t")).unwrap();
    let sent = thread::spawn(move || sender.send(&connector, &mut |_| ()));
    let (mut seen, mut last) = (0, 0);
    let receiver = Receiver::into_directory(to.path()).unwrap();
    let received = receiver
        .receive(&listener, &mut |event| match event {
            Event::File { .. } => seen += 1,
            Event::Progress(now) => {
                assert!(now >= last);
                last = now;
            }
            Event::Failed { error } => panic!("{error}"),
            _ => {}
        })
        .unwrap();
    let count = |done: Transferred| (done.files, done.bytes, done.failed);
    assert_eq!(count(received), (folders * files, folders * files * 4, 0));
    assert_eq!(count(sent.join().unwrap().unwrap()), count(received));
    assert_eq!((seen, last), (folders * files, folders * files * 4));
    for folder in 0..folders {
        let there = fs::read_dir(to.path().join(format!("t/{folder:03}"))).unwrap();
        assert_eq!(there.count() as u64, names);
    }
}

/// Files by the other way that streams have.
#[test]
fn a_tree_by_rdma() {
    if let Err(error) = eagre_net::Libfabric::find() {
        eprintln!("skipped: {error}");
        return;
    }
    for rdma in ["tcp", "tcp,pipelined-copy,unchecked"] {
        let [from, to] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        for (number, bytes) in [0, 1, 70_000, 9_000_001].into_iter().enumerate() {
            let contents: Vec<u8> = (0..bytes).map(|at: usize| (at * (number + 7) / 5) as u8).collect();
            fs::write(from.path().join(number.to_string()), contents).unwrap();
        }
        let options = Options::new().rdma(rdma.parse().unwrap());
        let listener = Listener::bind("127.0.0.1:0", options.clone()).unwrap();
        let connector = Connector::new(&listener.local_address().to_string()).unwrap().options(options);
        let mut sender = Sender::new();
        sender.add(from.path()).unwrap();
        let sent = thread::spawn(move || sender.send(&connector, &mut |_| ()));
        let received = Receiver::into_directory(to.path()).unwrap().receive(&listener, &mut |_| ()).unwrap();
        assert_eq!((received.files, received.failed), (4, 0));
        assert_eq!(sent.join().unwrap().unwrap().files, 4);
        let there = to.path().join(from.path().file_name().unwrap());
        for name in names(from.path()) {
            assert!(fs::read(from.path().join(&name)).unwrap() == fs::read(there.join(&name)).unwrap(), "{name}");
        }
    }
}

/// The streams of a sender that says what it wants.
struct Evil {
    list: NetworkWriter,
    have: NetworkReader,
    data: NetworkWriter,
    done: NetworkReader,
}

impl Evil {
    fn call(connector: &Connector) -> Evil {
        let name = |stream: &str| format!("{stream}:{}:0", "7".repeat(32));
        Evil {
            list: connector.writer(&name("list")).unwrap(),
            have: connector.reader(&name("have")).unwrap(),
            data: connector.writer(&name("data")).unwrap(),
            done: connector.reader(&name("done")).unwrap(),
        }
    }

    /// Sends a list and contents, and does not care for answers.
    fn say(mut self, list: &[u8], data: &[u8]) {
        let _ = self.list.write_all(&[b"eagre-t\x01", list].concat());
        let _ = self.list.finish();
        let mut answer = Vec::new();
        let _ = self.have.read_to_end(&mut answer);
        let _ = self.have.finish();
        let _ = self.data.write_all(data);
        let _ = self.data.finish();
        let _ = self.done.read_to_end(&mut answer);
        let _ = self.done.finish();
    }
}

fn text(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u16).to_le_bytes()[..], bytes].concat()
}

fn file(name: &[u8]) -> Vec<u8> {
    let size = 4_u64.to_le_bytes();
    let mode = 0o644_u32.to_le_bytes();
    [b"f", &text(name)[..], &size, &mode, &[0; 12]].concat()
}

fn directory(name: &[u8]) -> Vec<u8> {
    [b"d", &text(name)[..]].concat()
}

fn leave() -> Vec<u8> {
    [b"u", &0o755_u32.to_le_bytes()[..], &[0; 12]].concat()
}

fn link(name: &[u8], to: &[u8]) -> Vec<u8> {
    [b"l", &text(name)[..], &text(to)].concat()
}

/// The content "evil" of a file.
fn evil() -> Vec<u8> {
    let digest = blake3::hash(b"evil");
    [b"f", &[0; 8][..], b"r", &4_u32.to_le_bytes(), b"evil", b"e", digest.as_bytes()].concat()
}

fn received(room: &Path, resume: bool, list: &[u8], data: &[u8]) -> Result<(Transferred, Vec<String>), TransferError> {
    let (listener, connector) = listener();
    let (list, data) = (list.to_vec(), data.to_vec());
    let other = thread::spawn(move || Evil::call(&connector).say(&list, &data));
    let mut failures = Vec::new();
    let receiver = Receiver::into_directory(room).unwrap().resume(resume);
    let received = receiver.receive(&listener, &mut |event| {
        if let Event::Failed { error } = event {
            failures.push(error.to_string());
        }
    });
    drop(listener);
    other.join().unwrap();
    received.map(|received| (received, failures))
}

/// Whatever a sender says, nothing outside the directory changes.
#[test]
fn nothing_leaves_the_directory() {
    let room = tempfile::tempdir().unwrap();
    let inside = room.path().join("inside");
    fs::create_dir(&inside).unwrap();
    let absolute = room.path().join("absolute");
    for name in [&b"../x"[..], b"..", b".", b"", b"/x", b"a/b", b"a\0", absolute.as_os_str().as_encoded_bytes()] {
        for list in [file(name), [directory(name), file(b"x"), leave()].concat(), link(name, b"x")] {
            let data = [evil(), b".".to_vec()].concat();
            let error = received(&inside, false, &[list, b".".to_vec()].concat(), &data).unwrap_err();
            assert!(matches!(error, TransferError::Protocol("list", _)), "{error}");
        }
    }
    let leaves = [leave(), file(b"x"), b".".to_vec()].concat();
    assert!(matches!(received(&inside, false, &leaves, &evil()), Err(TransferError::Protocol("list", _))));
    assert_eq!(names(room.path()), ["inside"]);
    assert_eq!(names(&inside), [""; 0]);
}

#[test]
fn links_lead_nowhere() {
    let [room, outside] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    fs::write(outside.path().join("file"), "old").unwrap();
    fs::create_dir(outside.path().join("d")).unwrap();
    symlink(outside.path(), room.path().join("there")).unwrap();
    symlink(outside.path().join("file"), room.path().join("file")).unwrap();
    let far = outside.path().as_os_str().as_encoded_bytes();
    // A link that is sent, and then used; one that is there; one that goes up through another.
    let list = [
        link(b"sent", far),
        directory(b"sent"),
        file(b"x"),
        leave(),
        directory(b"there"),
        file(b"file"),
        directory(b"d"),
        file(b"x"),
        leave(),
        leave(),
        file(b"file"),
        directory(b"up"),
        link(b"top", b".."),
        leave(),
        link(b"further", b"up/top/../.."),
        b".".to_vec(),
    ]
    .concat();
    let data = [evil(), evil(), evil(), evil(), b".".to_vec()].concat();
    for resume in [false, true] {
        let (done, failures) = received(room.path(), resume, &list, &data).unwrap();
        // The directory "sent" is one, as its link was refused.
        assert_eq!((done.files, failures.len()), (1, 6), "{failures:?}");
        assert_eq!(fs::read(room.path().join("sent/x")).unwrap(), b"evil");
        assert_eq!(names(outside.path()), ["d", "file"]);
        assert_eq!(names(&outside.path().join("d")), [""; 0]);
        assert_eq!(fs::read(outside.path().join("file")).unwrap(), b"old");
        assert_eq!(names(room.path()), ["file", "sent", "there", "up"]);
        fs::remove_dir_all(room.path().join("sent")).unwrap();
    }
}

/// Contents that are not what was announced are errors, and nothing appears.
#[test]
fn contents_are_checked() {
    let room = tempfile::tempdir().unwrap();
    let list = [file(b"x"), b".".to_vec()].concat();
    let begin = [b"f", &[0; 8][..]].concat();
    let piece = |length: u32| [b"r", &length.to_le_bytes()[..], b"evil"].concat();
    let end = |digest: &[u8; 32]| [b"e", &digest[..]].concat();
    for data in [
        b".".to_vec(),
        evil(),
        [evil(), evil(), b".".to_vec()].concat(),
        [piece(4), end(&[0; 32]), b".".to_vec()].concat(),
        [begin.clone(), begin.clone()].concat(),
        [begin.clone(), piece(u32::MAX)].concat(),
        [begin.clone(), piece(5)].concat(),
        [begin.clone(), b"z\x04\0\0\0\x04\0\0\0evil".to_vec()].concat(),
        [begin.clone(), b"4\0\0\x10\0\x04\0\0\0evil".to_vec()].concat(),
        b"?".to_vec(),
    ] {
        let error = received(room.path(), false, &list, &data).unwrap_err();
        assert!(matches!(error, TransferError::Protocol("data", _)), "{error}");
        if data.starts_with(&evil()) {
            // This file was right; what follows is not.
            assert_eq!(fs::read(room.path().join("x")).unwrap(), b"evil");
            fs::remove_file(room.path().join("x")).unwrap();
        }
        assert_eq!(names(room.path()), [""; 0], "{data:?}");
    }
    // Damaged on the way between the file and the stream: that file alone is lost.
    let two = [file(b"x"), file(b"y"), b".".to_vec()].concat();
    let data = [begin, piece(4), end(&[0; 32]), evil(), b".".to_vec()].concat();
    for resume in [false, true] {
        let (done, failures) = received(room.path(), resume, &two, &data).unwrap();
        assert_eq!((done.files, done.failed), (1, 1));
        assert_eq!(failures, ["x: what arrived is not what was sent; send it again"]);
        assert_eq!(names(room.path()), ["y"]);
    }
}

/// Units of contents that lead to no stream, and lists that announce too many.
#[test]
fn stripes_are_checked() {
    let room = tempfile::tempdir().unwrap();
    for (streams, next, part) in [(2, 2, "data"), (2, 255, "data"), (17, 0, "list"), (0, 0, "list")] {
        let (listener, connector) = listener();
        let other = thread::spawn(move || {
            let mut streams_of = Evil::call(&connector);
            let _ = streams_of.list.write_all(&[b"eagre-t\x02", &file(b"x")[..], b".", &[streams]].concat());
            let _ = streams_of.list.finish();
            let mut answer = Vec::new();
            let _ = streams_of.have.read_to_end(&mut answer);
            let more = (streams == 2).then(|| connector.writer(&format!("data-1:{}:0", "7".repeat(32))).unwrap());
            let piece = [&[b"f"[0]][..], &[0; 8], b"r", &(1_u32 << 20).to_le_bytes()].concat();
            let mut unit = vec![0; 1 << 20];
            unit[..piece.len()].copy_from_slice(&piece);
            unit[(1 << 20) - 1] = next;
            let _ = streams_of.data.write_all(&unit);
            let _ = streams_of.data.finish();
            // Until the other side has looked at it, nothing else is wrong.
            let _ = streams_of.done.read_to_end(&mut answer);
            drop(more);
        });
        let receiver = Receiver::into_directory(room.path()).unwrap();
        let error = receiver.receive(&listener, &mut |_| ()).unwrap_err();
        drop(listener);
        other.join().unwrap();
        assert!(matches!(error, TransferError::Protocol(what, _) if what == part), "{part}: {error}");
        assert_eq!(names(room.path()), [""; 0]);
    }
}

/// A sender that gives up before it has opened all that it announced is quoted, and not waited for.
#[test]
fn whoever_gives_up_is_not_waited_for() {
    let room = tempfile::tempdir().unwrap();
    let (listener, connector) = listener();
    let other = thread::spawn(move || {
        let mut evil = Evil::call(&connector);
        let _ = evil.list.write_all(&[b"eagre-t\x02", &file(b"x")[..], b".\x03"].concat());
        let _ = evil.list.finish();
        let _ = evil.have.read_to_end(&mut Vec::new());
        evil.data.fail("no memory for more");
        drop(evil.data.finish());
    });
    let receiver = Receiver::into_directory(room.path()).unwrap();
    let error = receiver.receive(&listener, &mut |_| ()).unwrap_err().to_string();
    other.join().unwrap();
    assert!(error.contains("gave up: ") && error.contains("no memory for more"), "{error}");
}

/// A receiver that answers nonsense is an error of the sender.
#[test]
fn answers_are_checked() {
    let room = tempfile::tempdir().unwrap();
    fs::write(room.path().join("a"), "1").unwrap();
    let huge = [b"++", &u64::MAX.to_le_bytes()[..], &[0; 32]].concat();
    for (answer, end, part) in [
        (&b"?"[..], &b""[..], "answer"),
        (b"+", b"", "answer"),
        (b"--", b"", "answer"),
        (&huge, b"?", "end"),
        (b"-", &[1; 10], "end"),
    ] {
        let (listener, connector) = listener();
        let (answer, end) = (answer.to_vec(), end.to_vec());
        let other = thread::spawn(move || {
            let offer = listener.accept().unwrap();
            let id = offer.name().strip_prefix("list:").unwrap().to_owned();
            let mut list = offer.reader().unwrap();
            let mut have = listener.writer(&format!("have:{id}")).unwrap();
            let mut data = listener.reader(&format!("data:{id}")).unwrap();
            let mut done = listener.writer(&format!("done:{id}")).unwrap();
            let mut all = Vec::new();
            let _ = list.read_to_end(&mut all).map(|_| list.finish());
            let _ = have.write_all(&answer).map(|()| have.finish());
            let _ = data.read_to_end(&mut all).map(|_| data.finish());
            let _ = done.write_all(&end).map(|()| done.finish());
        });
        let mut sender = Sender::new();
        sender.add(room.path().join("a")).unwrap();
        let error = sender.send(&connector, &mut |_| ()).unwrap_err();
        assert!(matches!(error, TransferError::Protocol(what, _) if what == part), "{part}: {error}");
        other.join().unwrap();
    }
}
