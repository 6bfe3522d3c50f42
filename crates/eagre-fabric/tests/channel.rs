//! An inlet and an outlet, over every provider that works here: what arrives is what was sent, an end is an end, who has not the offer
//! is turned away, and who breaks the rules is told so.

use eagre_fabric::{
    Arrival, Calling, Fabric, FabricError, FabricErrorKind, Inlet, Memory, Offer, Outlet, Provider, Registering,
    Waiting,
};
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::{Duration, Instant};

const PIECE: usize = 64 << 10;
const PLACES: usize = 4;
const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const SOON: Duration = Duration::from_millis(50);

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

/// Runs a test over each provider that works, with memory registered in each way.
fn each(test: impl Fn(&Fabric, Provider, Registering)) {
    let found = Fabric::open().and_then(|fabric| Ok((fabric, fabric.devices()?)));
    let (fabric, devices) = match found {
        Ok(found) => found,
        Err(error) => {
            assert_eq!(error.kind(), FabricErrorKind::Missing, "{error}");
            eprintln!("skipped: {error}");
            return;
        }
    };
    for provider in [Provider::Tcp, Provider::Shm] {
        if !devices.iter().any(|device| device.provider == provider.name()) {
            eprintln!("skipped: libfabric has no provider {provider}");
            continue;
        }
        for registering in [Registering::Once, Registering::EachPiece] {
            test(&fabric, provider, registering);
        }
    }
}

fn memory() -> Arc<Memory> {
    Arc::new(Memory::new(PLACES * PIECE).unwrap())
}

/// Both ends, and their memory.
fn connected(fabric: &Fabric, provider: Provider, registering: Registering) -> (Outlet, Inlet, [Arc<Memory>; 2]) {
    let (there, here) = (memory(), memory());
    let waiting = Waiting::open(fabric, provider, HERE, here.clone(), registering, false).unwrap();
    let offer = Offer::from_bytes(&waiting.offer().to_bytes()).unwrap();
    let calling = Calling::open(fabric, offer, there.clone(), registering, false).unwrap();
    let answer = calling.answer().to_vec();
    let (outlet, inlet) = std::thread::scope(|scope| {
        let outlet = scope.spawn(|| calling.connect(soon(), &|| false));
        let inlet = waiting.accept(&answer, false, soon(), &|| false);
        (outlet.join().unwrap(), inlet)
    });
    (outlet.unwrap(), inlet.unwrap(), [there, here])
}

fn place(number: u64) -> usize {
    number as usize % PLACES * PIECE
}

/// The bytes of piece `number`: as many as a generator says, from it.
fn contents(number: u64) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(number);
    let len = if number.is_multiple_of(3) { PIECE } else { random.usize(1..=PIECE) };
    let mut bytes = vec![0; len];
    random.fill(&mut bytes);
    bytes
}

type Arrived = (Arrival, std::ops::Range<usize>);

/// Grants piece `number`. What arrives before that can be said is kept.
fn grant(inlet: &mut Inlet, number: u64, received: u64, early: &mut VecDeque<Arrived>) {
    let start = place(number);
    while !inlet.grant(start..start + PIECE, received).unwrap() {
        early.extend(inlet.next(Duration::ZERO).unwrap());
    }
}

/// Grants the first piece where nothing arrives.
fn grant_first(inlet: &mut Inlet, received: u64) {
    let mut early = VecDeque::new();
    grant(inlet, 0, received, &mut early);
    assert_eq!(early, []);
}

fn next(inlet: &mut Inlet) -> Result<Arrived, FabricError> {
    loop {
        if let Some(arrived) = inlet.next(SOON)? {
            return Ok(arrived);
        }
    }
}

/// Sends pieces, and at their end the end; the places of pieces that have not been written yet are left alone.
fn send(outlet: &mut Outlet, memory: &Memory, count: u64) -> u64 {
    let mut offset = 0;
    for number in 0..count {
        let bytes = contents(number);
        while outlet.room().is_none() || {
            let (posted, written) = outlet.posted_and_written();
            posted - written >= PLACES as u64
        } {
            outlet.look(SOON).unwrap();
        }
        memory.fill(place(number), &bytes);
        outlet
            .post(place(number)..place(number) + bytes.len(), offset, (number % 2 == 0).then_some(number * 7))
            .unwrap();
        offset += bytes.len() as u64;
    }
    outlet.end(offset, &[9; 32]).unwrap();
    offset
}

#[test]
fn what_arrives_is_what_was_sent() {
    each(|fabric, provider, registering| {
        for count in [0, 1, 300] {
            let (mut outlet, mut inlet, [there, here]) = connected(fabric, provider, registering);
            std::thread::scope(|scope| {
                let sender = scope.spawn(|| {
                    let sent = send(&mut outlet, &there, count);
                    while outlet.received() < sent {
                        outlet.look(SOON).unwrap();
                    }
                    sent
                });
                let (mut received, mut early) = (0, VecDeque::new());
                (0..PLACES as u64).for_each(|number| grant(&mut inlet, number, 0, &mut early));
                for number in 0..count {
                    let (arrived, range) = early.pop_front().unwrap_or_else(|| next(&mut inlet).unwrap());
                    let expected = contents(number);
                    let length = expected.len() as u64;
                    assert_eq!(
                        arrived,
                        Arrival::Piece {
                            offset: received,
                            length,
                            check: if number % 2 == 0 { number * 7 } else { 0 }
                        }
                    );
                    let mut bytes = vec![0; range.len()];
                    here.copy_out(range.start, &mut bytes);
                    assert!(bytes == expected, "{provider}: piece {number}");
                    received += length;
                    grant(&mut inlet, number + PLACES as u64, received, &mut early);
                }
                let (end, _) = early.pop_front().unwrap_or_else(|| next(&mut inlet).unwrap());
                assert_eq!(end, Arrival::End { length: received, digest: [9; 32] });
                // A provider that is driven by calls hands on what is on its way.
                while !sender.is_finished() {
                    let _ = inlet.next(Duration::from_millis(1));
                }
                assert_eq!(sender.join().unwrap(), received);
            });
            let once = registering == Registering::Once;
            let registered = if once { 2 } else { 1 + count };
            assert_eq!(outlet.registrations(), registered, "{provider}");
            assert_eq!(inlet.registrations(), if once { 3 } else { 2 + count + PLACES as u64 });
        }
    });
}

#[test]
fn an_end_that_goes_is_an_error_at_the_other() {
    each(|fabric, provider, registering| {
        if provider == Provider::Shm {
            return; // Its ends do not connect, so nobody sees them go.
        }
        let (outlet, mut inlet, _) = connected(fabric, provider, registering);
        drop(outlet);
        assert_eq!(next(&mut inlet).unwrap_err().kind(), FabricErrorKind::Gone);
        let (mut outlet, inlet, _) = connected(fabric, provider, registering);
        drop(inlet);
        let gone = loop {
            if let Err(error) = outlet.look(SOON) {
                break error;
            }
        };
        assert_eq!(gone.kind(), FabricErrorKind::Gone, "{gone}");
    });
}

#[test]
fn who_has_another_offer_is_turned_away() {
    each(|fabric, provider, registering| {
        if provider == Provider::Shm {
            return; // Its names are the keys: only this user's processes reach its memory.
        }
        let open = || Waiting::open(fabric, provider, HERE, memory(), registering, false).unwrap();
        let (waiting, other) = (open(), open());
        // The address of the one, and the rest of the other.
        let mut wrong = other.offer().to_bytes();
        let right = waiting.offer().to_bytes();
        wrong.truncate(1 + 32 + 16);
        wrong.extend(&right[1 + 32 + 16..]);
        let wrong = Offer::from_bytes(&wrong).unwrap();
        let call = |offer| Calling::open(fabric, offer, memory(), registering, false).unwrap();
        let right = waiting.offer().clone();
        std::thread::scope(|scope| {
            let accepting = scope.spawn(move || waiting.accept(&[], false, soon(), &|| false).map(drop));
            assert!(call(wrong).connect(soon(), &|| false).is_err());
            let outlet = call(right).connect(soon(), &|| false);
            accepting.join().unwrap().unwrap();
            drop(outlet);
        });
    });
}

#[test]
fn more_pieces_than_grants_are_never_sent() {
    each(|fabric, provider, registering| {
        let (mut outlet, mut inlet, [there, _]) = connected(fabric, provider, registering);
        assert_eq!(outlet.room(), None);
        std::thread::scope(|scope| {
            scope.spawn(|| grant_first(&mut inlet, 0));
            while outlet.room().is_none() {
                outlet.look(SOON).unwrap();
            }
        });
        there.fill(0, &[1; PIECE]);
        outlet.post(0..PIECE, 0, None).unwrap();
        assert_eq!(outlet.room(), None);
        let too_much = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| outlet.post(0..PIECE, 0, None)));
        assert!(too_much.is_err());
    });
}

#[test]
fn received_bytes_that_were_not_sent_are_an_error() {
    each(|fabric, provider, registering| {
        let (mut outlet, mut inlet, _) = connected(fabric, provider, registering);
        let error = std::thread::scope(|scope| {
            scope.spawn(|| grant_first(&mut inlet, 1 << 40));
            loop {
                if let Err(error) = outlet.look(SOON) {
                    break error;
                }
            }
        });
        assert_eq!(error.kind(), FabricErrorKind::Damaged, "{error}");
    });
}

/// Libraries that come with libfabric take over how a program breaks, and with it how streams notice touches.
#[test]
fn signals_stay_whose_they_are() {
    let actions = || {
        [libc::SIGSEGV, libc::SIGBUS, libc::SIGABRT].map(|signal| {
            // SAFETY: zeros are such a setting, and the call only fills it.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                assert_eq!(libc::sigaction(signal, std::ptr::null(), &raw mut action), 0);
                action.sa_sigaction
            }
        })
    };
    let before = actions();
    if Fabric::open().and_then(|fabric| fabric.devices()).is_ok() {
        assert_eq!(actions(), before);
    }
}

#[test]
fn nobody_is_waited_for_longer_than_said() {
    each(|fabric, provider, registering| {
        if provider == Provider::Shm {
            return;
        }
        let waiting = Waiting::open(fabric, provider, HERE, memory(), registering, false).unwrap();
        let late = waiting.accept(&[], false, Instant::now(), &|| false).map(drop).unwrap_err();
        assert_eq!(late.kind(), FabricErrorKind::Late);
    });
}

#[test]
fn nonsense_is_no_offer() {
    for bytes in [&b""[..], &[0; 64], &[1; 90], &[9; 200]] {
        assert_eq!(Offer::from_bytes(bytes).unwrap_err().kind(), FabricErrorKind::Setting);
    }
}

/// Ends that have met have nothing in `/dev/shm`, so that not even a killed process leaves something; nor does what others have left
/// stay.
#[test]
fn nothing_is_left_behind() {
    // No process has this number: they end at 4 194 304.
    let leftover = std::path::Path::new("/dev/shm/eagre-fabric-2000000000-0:0");
    each(|fabric, provider, registering| {
        if provider != Provider::Shm {
            return;
        }
        let files = || {
            let names =
                std::fs::read_dir("/dev/shm").unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
            names.filter(|name| name.starts_with("eagre-fabric-")).collect::<std::collections::BTreeSet<_>>()
        };
        std::fs::write(leftover, b"x").unwrap();
        let waiting = Waiting::open(fabric, provider, HERE, memory(), registering, false).unwrap();
        assert!(!leftover.exists());
        let before = files();
        let (mut outlet, mut inlet, _) = connected(fabric, provider, registering);
        let own: Vec<_> = files().difference(&before).cloned().collect();
        assert!(own.len() >= 2, "{own:?}");
        std::thread::scope(|scope| {
            scope.spawn(|| grant_first(&mut inlet, 0));
            while outlet.room().is_none() {
                outlet.look(SOON).unwrap();
            }
        });
        // Other tests of this process open ends too.
        let until = soon();
        while files().iter().any(|name| own.contains(name)) {
            assert!(Instant::now() < until, "{own:?} are still there");
            std::thread::yield_now();
        }
        drop(waiting);
    });
}
