//! Transfers whose contents go over several streams.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::thread;

use eagre_net::transfer::{Compression, Event, Peer, Receiver, Sender, Stop, TransferError, Transferred};
use eagre_net::{Connector, Listener, NetErrorKind};

use crate::common::{Line, expected, listener, patient};

const MIB: u64 = 1 << 20;
/// The streams beside the contents.
const OTHERS: u64 = 3;

/// A listener, and a connector that reaches it over a line.
fn sides() -> (Listener, Connector, Line) {
    let (listener, _) = listener(&patient());
    let line = Line::to(listener.local_address());
    let connector = Connector::new(&line.address.to_string()).unwrap().options(patient());
    (listener, connector, line)
}

fn file(folder: &Path, name: &str, bytes: u64) {
    fs::write(folder.join(name), expected(0, bytes as usize)).unwrap();
}

fn is_there(folder: &Path, name: &str, bytes: u64) {
    assert!(fs::read(folder.join(name)).unwrap() == expected(0, bytes as usize), "{name}");
}

fn both(
    sender: Sender,
    from: Peer<'_>,
    receiver: &Receiver,
    to: Peer<'_>,
) -> (Result<Transferred, TransferError>, Result<Transferred, TransferError>) {
    let ignore = |event: Event<'_>| {
        if let Event::Failed { error } = event {
            panic!("{error}");
        }
    };
    thread::scope(|scope| {
        let sent = scope.spawn(move || sender.send(from, &mut { ignore }));
        let received = receiver.receive(to, &mut { ignore });
        (sent.join().unwrap(), received)
    })
}

/// Whoever calls, packed or not.
#[test]
fn contents_arrive_in_order() {
    for (calls, compression) in [(true, Compression::None), (false, Compression::Lz4)] {
        let [from, to] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let sizes = [("a", 3 * MIB), ("b", MIB - 10), ("c", 0), ("d", 20 * MIB + 1), ("e", 1), ("f", 2 * MIB)];
        sizes.iter().for_each(|(name, bytes)| file(from.path(), name, *bytes));
        let (listener, connector, line) = sides();
        let mut sender = Sender::new().streams(4).compression(compression);
        sender.add(from.path().join(".")).unwrap();
        let receiver = Receiver::into_directory(to.path()).unwrap();
        let (here, there) = (Peer::from(&connector), Peer::from(&listener));
        let (from, into) = if calls { (here, there) } else { (there, here) };
        let (sent, received) = both(sender, from, &receiver, into);
        assert_eq!(sent.unwrap().files, 6);
        assert_eq!(received.unwrap().bytes, sizes.iter().map(|(_, bytes)| bytes).sum::<u64>());
        sizes.iter().for_each(|(name, bytes)| is_there(to.path(), name, *bytes));
        assert_eq!(line.calls(), OTHERS + 4);
    }
}

#[test]
fn little_goes_over_one() {
    let [from, to] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    file(from.path(), "a", MIB);
    let (listener, connector, line) = sides();
    let mut sender = Sender::new().streams(16);
    sender.add(from.path().join("a")).unwrap();
    let receiver = Receiver::into_directory(to.path()).unwrap();
    let (sent, received) = both(sender, (&connector).into(), &receiver, (&listener).into());
    assert_eq!((sent.unwrap().files, received.unwrap().files), (1, 1));
    assert_eq!(line.calls(), OTHERS + 1);
}

/// All connections break on the way, and what was there of the file before does not come.
#[test]
fn broken_connections_and_unfinished_files_go_on() {
    let [from, to] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    file(from.path(), "a", 40 * MIB);
    file(to.path(), ".a.eagre-part", 7 * MIB + 7);
    let (listener, connector, line) = sides();
    line.cut_after(15 * MIB);
    let mut sender = Sender::new().streams(3);
    sender.add(from.path().join("a")).unwrap();
    let receiver = Receiver::into_directory(to.path()).unwrap().resume(true);
    let (sent, received) = both(sender, (&connector).into(), &receiver, (&listener).into());
    assert_eq!((sent.unwrap().before, received.unwrap().before), (7 * MIB + 7, 7 * MIB + 7));
    is_there(to.path(), "a", 40 * MIB);
    assert_eq!(line.cuts(), 1);
    assert!(line.calls() > OTHERS + 3, "{}", line.calls());
}

/// The other side hears why, on whatever stream it is.
#[test]
fn a_side_that_cannot_go_on_says_why() {
    let from = tempfile::tempdir().unwrap();
    file(from.path(), "a", 40 * MIB);
    let (listener, connector, _line) = sides();
    let (reader, writer) = std::io::pipe().unwrap();
    let reader = thread::spawn(move || {
        let mut reader = reader;
        reader.read_exact(&mut vec![0; 9 * MIB as usize]).unwrap();
    });
    let mut sender = Sender::new().streams(4);
    sender.add(from.path().join("a")).unwrap();
    let receiver = Receiver::into_pipe(File::from(std::os::fd::OwnedFd::from(writer)));
    let (sent, received) = both(sender, (&connector).into(), &receiver, (&listener).into());
    reader.join().unwrap();
    assert!(matches!(received.unwrap_err(), TransferError::Here(..)));
    let why = sent.unwrap_err().to_string();
    assert!(why.contains("standard output: Broken pipe"), "{why}");
}

/// A transfer that is stopped ends on both sides, whatever is on its way on any stream.
#[test]
fn all_streams_are_stopped() {
    let [from, to] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    file(from.path(), "a", 60 * MIB);
    let (listener, connector, _line) = sides();
    let stop = Stop::new();
    let mut sender = Sender::new().streams(4).stop_by(&stop);
    sender.add(from.path().join("a")).unwrap();
    let receiver = Receiver::into_directory(to.path()).unwrap();
    let received = thread::scope(|scope| {
        let sent = scope.spawn(move || {
            sender.send(&connector, &mut |event| {
                if matches!(event, Event::Progress(done) if done > 10 * MIB) {
                    stop.stop();
                }
            })
        });
        let received = receiver.receive(&listener, &mut |_| ());
        let error = sent.join().unwrap().unwrap_err();
        assert!(matches!(&error, TransferError::Net(net) if net.kind() == NetErrorKind::Stream), "{error}");
        received.unwrap_err().to_string()
    });
    assert!(received.contains("cancelled"), "{received}");
    assert_eq!(fs::read_dir(to.path()).unwrap().count(), 0);
}
