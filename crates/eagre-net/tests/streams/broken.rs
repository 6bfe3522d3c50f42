//! Streams over connections that break.

use std::thread;
use std::time::Duration;

use eagre_net::{Connector, NetErrorKind, Options};

use crate::common::{Line, consume, expected, listener, open, patient, produce, securities};

#[test]
fn a_line_that_is_cut_again_and_again_loses_nothing() {
    for (name, here, there) in securities() {
        let (listener, _) = listener(&patient().security(here));
        let line = Line::to(listener.local_address());
        let options = patient().security(there).window(3 << 20);
        let connector = Connector::new(&line.address.to_string()).unwrap().options(options);
        for calls in [true, false] {
            let seed = fastrand::u64(..);
            let mut random = fastrand::Rng::with_seed(seed);
            let length = 24_000_000 + random.u64(..4_000_000);
            line.cut_after(0);
            let (mut writer, mut reader) = open(&listener, &connector, calls, "cut");
            let (written, read) = thread::scope(|scope| {
                let writing = scope.spawn(|| {
                    produce(&mut writer, length).unwrap();
                    writer.finish().unwrap()
                });
                let reading = scope.spawn(|| {
                    let read = consume(&mut reader).unwrap();
                    (read, reader.finish().unwrap())
                });
                while !reading.is_finished() {
                    let cuts = line.cuts();
                    line.cut_after(1 + random.u64(..4_000_000));
                    while line.cuts() == cuts && !reading.is_finished() {
                        thread::yield_now();
                    }
                }
                line.cut_after(0);
                let (read, summary) = reading.join().unwrap();
                assert_eq!(read, length, "{name}, seed {seed}");
                (writing.join().unwrap(), summary)
            });
            assert_eq!(written.digest, read.digest, "{name}, seed {seed}");
            assert_eq!(read.digest, *blake3::hash(&expected(0, length as usize)).as_bytes());
            assert!(written.reconnections > 0, "{name}, seed {seed}: it was never cut");
        }
    }
}

#[test]
fn bytes_that_change_on_the_way_are_sent_again() {
    for (_, here, there) in securities() {
        let (listener, _) = listener(&patient().security(here));
        let line = Line::to(listener.local_address());
        let connector = Connector::new(&line.address.to_string()).unwrap().options(patient().security(there));
        let (mut writer, mut reader) = open(&listener, &connector, true, "disturbed");
        line.disturb_after(5_000_000);
        thread::scope(|scope| {
            let writing = scope.spawn(|| {
                produce(&mut writer, 12_000_000).unwrap();
                writer.finish().unwrap()
            });
            assert_eq!(consume(&mut reader).unwrap(), 12_000_000);
            assert!(writing.join().unwrap().reconnections > 0);
        });
        reader.finish().unwrap();
    }
}

#[test]
fn a_line_that_goes_silent_is_given_up_and_made_again() {
    let short = || Options::new().retry(Duration::from_secs(60)).silence(Duration::from_secs(1));
    let (listener, _) = listener(&short());
    let line = Line::to(listener.local_address());
    let connector = Connector::new(&line.address.to_string()).unwrap().options(short());
    let (mut writer, mut reader) = open(&listener, &connector, true, "silent");
    produce(&mut writer, 3_000_000).unwrap();
    line.hold(true);
    thread::scope(|scope| {
        let writing = scope.spawn(move || {
            writer.copy_in(&expected(3_000_000, 3_000_000)).unwrap();
            writer.finish().unwrap()
        });
        // The caller has noticed when it calls again. The cut ends the wait of the other side, if that has not.
        while line.calls() < 2 {
            thread::yield_now();
        }
        line.cut();
        line.hold(false);
        assert_eq!(consume(&mut reader).unwrap(), 6_000_000);
        assert!(writing.join().unwrap().reconnections > 0);
    });
    reader.finish().unwrap();
}

#[test]
fn idle_streams_stay_open() {
    let short = || Options::new().retry(Duration::from_secs(60)).silence(Duration::from_secs(2));
    let (listener, _) = listener(&short());
    let line = Line::to(listener.local_address());
    let connector = Connector::new(&line.address.to_string()).unwrap().options(short());
    let (mut writer, mut reader) = open(&listener, &connector, true, "idle");
    produce(&mut writer, 1000).unwrap();
    // Both sides say eight times that they live, in 32 bytes each: that takes twice the time after which silence counts as a broken
    // line.
    let before = line.carried();
    while line.carried() < before + 16 * 32 {
        thread::yield_now();
    }
    thread::scope(|scope| {
        let writing = scope.spawn(move || writer.finish().unwrap());
        assert_eq!(consume(&mut reader).unwrap(), 1000);
        // A machine so busy that no beat came through in two seconds makes another connection, and loses nothing either.
        assert_eq!(writing.join().unwrap().bytes, 1000);
    });
    reader.finish().unwrap();
}

#[test]
fn a_line_that_stays_cut_is_an_error_on_both_ends() {
    let short = || Options::new().retry(Duration::from_secs(1)).silence(Duration::from_secs(30));
    for calls in [true, false] {
        let (listener, _) = listener(&short());
        let line = Line::to(listener.local_address());
        let patient = short().retry(Duration::from_secs(60));
        let connector = Connector::new(&line.address.to_string()).unwrap().options(patient);
        // Opened patiently: a busy machine may need more than a second to greet.
        let (mut writer, mut reader) = open(&listener, &connector, calls, "gone");
        produce(&mut writer, 3_000_000).unwrap();
        line.close();
        let writing = thread::spawn(move || {
            let written = produce(&mut writer, 100 << 20);
            (written, writer.finish())
        });
        // The side that is called has given up after a second, and forgets the stream. The one that calls is told when the line
        // is back.
        let called_gave_up = |error: &str| assert!(error.contains("gone at 127.0.0.1:"), "{error}");
        if calls {
            let error = consume(&mut reader).unwrap_err();
            called_gave_up(&error.to_string());
            assert_eq!(reader.finish().unwrap_err().kind(), NetErrorKind::Lost);
            line.open();
            let (written, finished) = writing.join().unwrap();
            called_gave_up(&written.unwrap_err().to_string());
            assert!(matches!(finished.unwrap_err().kind(), NetErrorKind::Refused | NetErrorKind::Lost));
        } else {
            let (written, finished) = writing.join().unwrap();
            called_gave_up(&written.unwrap_err().to_string());
            assert_eq!(finished.unwrap_err().kind(), NetErrorKind::Lost);
            line.open();
            called_gave_up(&consume(&mut reader).unwrap_err().to_string());
            assert!(matches!(reader.finish().unwrap_err().kind(), NetErrorKind::Refused | NetErrorKind::Lost));
        }
    }
}

#[test]
fn a_listener_that_is_dropped_lets_its_streams_go_on() {
    let (listener, _) = listener(&patient());
    let line = Line::to(listener.local_address());
    let connector = Connector::new(&line.address.to_string()).unwrap().options(patient());
    let (mut writer, mut reader) = open(&listener, &connector, true, "goes on");
    produce(&mut writer, 2_000_000).unwrap();
    drop(listener);
    line.cut();
    thread::scope(|scope| {
        let writing = scope.spawn(move || {
            writer.copy_in(&expected(2_000_000, 2_000_000)).unwrap();
            writer.finish().unwrap()
        });
        assert_eq!(consume(&mut reader).unwrap(), 4_000_000);
        writing.join().unwrap();
    });
    reader.finish().unwrap();
}
