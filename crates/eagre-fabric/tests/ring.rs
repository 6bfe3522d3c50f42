//! A ring between two processes: what arrives is what was sent, its end is an end, and a death is an error.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

use eagre_fabric::{Fabric, FabricErrorKind, Offer, Receiver, Ring, Sender};
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);
const BLOCK: u64 = 64 << 10;

fn fabric() -> Option<Fabric> {
    let found = Fabric::open().and_then(|fabric| fabric.providers().map(|providers| (fabric, providers)));
    match found {
        Ok((fabric, providers)) if providers.iter().any(|provider| provider.name == "tcp") => Some(fabric),
        Ok(_) => {
            eprintln!("skipped: libfabric has no provider tcp");
            None
        }
        Err(error) => {
            assert_eq!(error.kind(), FabricErrorKind::Missing, "{error}");
            eprintln!("skipped: {error}");
            None
        }
    }
}

fn ring(fabric: &Fabric, blocks: u64) -> Ring {
    Ring::new(fabric, "127.0.0.1:0".parse().unwrap(), BLOCK, blocks).unwrap()
}

/// The bytes of block `number`: as many as a generator says, from it.
fn contents(number: u64) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(number);
    let len = if number.is_multiple_of(3) { BLOCK as usize } else { random.usize(1..=BLOCK as usize) };
    let mut bytes = vec![0; len];
    random.fill(&mut bytes);
    bytes
}

fn send(sender: &mut Sender, number: u64) {
    let bytes = contents(number);
    sender.block().unwrap()[..bytes.len()].copy_from_slice(&bytes);
    sender.send(bytes.len()).unwrap();
}

fn receive(receiver: &mut Receiver, number: u64) {
    let block = receiver.next_block().unwrap().expect("a block");
    assert!(block == contents(number), "block {number}");
}

/// This program again, as the process that sends: it reads an offer and sends so many blocks. Without an end, it then waits for its
/// own.
fn sending_process(offer: &Offer, blocks: u64, ends: bool) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_process_that_sends", "--nocapture"])
        .env("EAGRE_TEST_RING", format!("{blocks} {ends}"))
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&offer.to_bytes()).unwrap();
    child
}

#[test]
fn the_process_that_sends() {
    let Ok(task) = std::env::var("EAGRE_TEST_RING") else { return };
    let (blocks, ends) = task.split_once(' ').unwrap();
    let mut offer = Vec::new();
    std::io::stdin().read_to_end(&mut offer).unwrap();
    let mut sender = Sender::connect(&Fabric::open().unwrap(), &Offer::from_bytes(&offer).unwrap(), PATIENCE).unwrap();
    (0..blocks.parse().unwrap()).for_each(|number| send(&mut sender, number));
    match ends {
        "true" => drop(sender.finish().unwrap()),
        _ => loop {
            std::thread::park();
        },
    }
}

#[test]
fn what_arrives_from_another_process_is_what_was_sent() {
    let Some(fabric) = fabric() else { return };
    for (blocks, ring_blocks) in [(0, 4), (1, 1), (100, 1), (300, 7), (300, 256)] {
        let ring = ring(&fabric, ring_blocks);
        let mut child = sending_process(ring.offer(), blocks, true);
        let mut receiver = ring.accept(PATIENCE).unwrap();
        let mut digest = blake3::Hasher::new();
        for number in 0..blocks {
            receive(&mut receiver, number);
            digest.update(&contents(number));
        }
        assert!(receiver.next_block().unwrap().is_none());
        assert_eq!(receiver.digest(), *digest.finalize().as_bytes());
        assert!(child.wait().unwrap().success());
    }
}

#[test]
fn a_killed_sender_is_an_error() {
    let Some(fabric) = fabric() else { return };
    let ring = ring(&fabric, 4);
    let mut child = sending_process(ring.offer(), 3, false);
    let mut receiver = ring.accept(PATIENCE).unwrap();
    (0..3).for_each(|number| receive(&mut receiver, number));
    child.kill().unwrap();
    child.wait().unwrap();
    let error = receiver.next_block().unwrap_err();
    assert_eq!(error.kind(), FabricErrorKind::Gone, "{error}");
}

#[test]
fn a_receiver_that_goes_is_an_error() {
    let Some(fabric) = fabric() else { return };
    let ring = ring(&fabric, 2);
    let offer = ring.offer().clone();
    let receiving = std::thread::spawn(move || {
        let mut receiver = ring.accept(PATIENCE).unwrap();
        receive(&mut receiver, 0);
    });
    let mut sender = Sender::connect(&fabric, &offer, PATIENCE).unwrap();
    send(&mut sender, 0);
    receiving.join().unwrap();
    let error = sender.finish().unwrap_err();
    assert_eq!(error.kind(), FabricErrorKind::Gone, "{error}");
}

#[test]
fn who_has_another_offer_is_turned_away() {
    let Some(fabric) = fabric() else { return };
    let (ring, other) = (ring(&fabric, 2), ring(&fabric, 2));
    let mut wrong = other.offer().to_bytes();
    // The token of the one, and the address of the other.
    let right = ring.offer().to_bytes();
    wrong.truncate(32);
    wrong.extend(&right[32..]);
    let wrong = Offer::from_bytes(&wrong).unwrap();
    let offer = ring.offer().clone();
    let receiving = std::thread::spawn(move || {
        let mut receiver = ring.accept(PATIENCE).unwrap();
        receive(&mut receiver, 0);
        assert!(receiver.next_block().unwrap().is_none());
    });
    assert!(Sender::connect(&fabric, &wrong, PATIENCE).is_err());
    let mut sender = Sender::connect(&fabric, &offer, PATIENCE).unwrap();
    send(&mut sender, 0);
    sender.finish().unwrap();
    receiving.join().unwrap();
}

#[test]
fn nonsense_is_no_offer() {
    for bytes in [&b""[..], &[0; 64], &[1; 90]] {
        assert_eq!(Offer::from_bytes(bytes).unwrap_err().kind(), FabricErrorKind::Setting);
    }
}
